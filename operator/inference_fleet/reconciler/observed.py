"""What the loop keeps of the cluster: the few fields it decides on, taken from raw objects.

Raw objects are not kept: a thousand services with their children would be hundreds of megabytes of dictionaries.
A child keeps a hash of itself and, until it was found in sync with what is desired, its compressed body.
"""

import hashlib
import json
import zlib
from dataclasses import dataclass, replace
from typing import Any

from inference_fleet.api import labels
from inference_fleet.api.names import label_value
from inference_fleet.reconciler import podhealth
from inference_fleet.resources.modelpull import recorded_pull_image
from inference_fleet.warmpool.pods import PodView

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ServiceKey:
    """Namespace and name of an InferenceService."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class ServiceView:
    """An InferenceService as the API server has it. Spec and status stay JSON text until they are needed."""

    key: ServiceKey
    uid: str
    version: int
    generation: int
    deleting: bool
    spec_json: bytes
    status_json: bytes

    @property
    def spec(self) -> Any:
        """The raw spec: whatever was stored."""
        return json.loads(self.spec_json)

    @property
    def status(self) -> Any:
        """The raw status: whatever was stored."""
        return json.loads(self.status_json)


@dataclass(frozen=True, slots=True)
class DeploymentProgress:
    """How far the Deployment controller is."""

    observed_current: bool
    """Whether the controller has seen the newest generation."""
    replicas: int
    updated: int
    available: int
    refusal: str | None
    """Why pods could not be created (quota, admission), in the server's words."""


@dataclass(frozen=True, slots=True)
class TemplateView:
    """What a Deployment's pods are made with now."""

    lock: str | None
    pull_image: str | None


@dataclass(frozen=True, slots=True)
class ChildView:
    """A Deployment, Service or budget that carries our labels."""

    kind: str
    namespace: str
    name: str
    uid: str
    version: int
    service_label: str
    owner_uid: str | None
    pool: str | None
    applied: str | None
    """Hash of the manifest last applied."""
    content: bytes
    """Hash of the object without its status: what drift would change."""
    body: bytes | None
    """The compressed object, until it was compared."""
    progress: DeploymentProgress | None
    template: TemplateView | None = None
    verified: str | None = None
    """Hash of the manifest that this content was found in sync with."""

    def live(self) -> Json:
        """The object as the server has it."""
        body: Json = json.loads(zlib.decompress(self.body or b""))
        return body

    def as_verified(self, desired: str) -> "ChildView":
        """This child, found in sync with the manifest of this hash; its body is no longer needed."""
        return replace(self, verified=desired, body=None)


@dataclass(frozen=True, slots=True)
class PodState:
    """An engine pod: what roles are decided on, and what is wrong with it."""

    namespace: str
    service_label: str
    pool: str
    version: int
    node: str | None
    view: PodView
    trouble: podhealth.Trouble | None


def service_view(body: Json) -> ServiceView:
    """Read an InferenceService."""
    meta = body["metadata"]
    return ServiceView(
        key=ServiceKey(meta["namespace"], meta["name"]),
        uid=meta["uid"],
        version=int(meta["resourceVersion"]),
        generation=meta.get("generation", 0),
        deleting="deletionTimestamp" in meta,
        spec_json=_text(body.get("spec")),
        status_json=_text(body.get("status")),
    )


def child_view(kind: str, body: Json) -> ChildView:
    """Read a child. Of its metadata only labels, annotations and owners count as content."""
    meta = body["metadata"]
    annotations = meta.get("annotations") or {}
    content = {
        "metadata": {key: meta.get(key) for key in ("name", "namespace", "labels", "ownerReferences")}
        # The Deployment controller stamps its revision at each rollout: no drift, so not worth a comparison.
        | {"annotations": {k: v for k, v in annotations.items() if not k.startswith("deployment.kubernetes.io/")}},
        "spec": body.get("spec"),
    }
    text = _text(content)
    owner = next((ref for ref in meta.get("ownerReferences", ()) if ref.get("controller")), None)
    return ChildView(
        kind=kind,
        namespace=meta["namespace"],
        name=meta["name"],
        uid=meta["uid"],
        version=int(meta["resourceVersion"]),
        service_label=_service_label(meta, owner),
        owner_uid=owner["uid"] if owner else None,
        pool=(meta.get("labels") or {}).get(labels.POOL),
        applied=annotations.get(labels.APPLIED_HASH),
        content=hashlib.blake2b(text, digest_size=12).digest(),
        body=zlib.compress(text, 1),
        progress=_progress(body) if kind == "Deployment" else None,
        template=_template(body) if kind == "Deployment" else None,
    )


def pod_state(body: Json) -> PodState:
    """Read an engine pod."""
    meta = body["metadata"]
    status = body.get("status") or {}
    pod_labels = meta.get("labels") or {}
    ready: Json = next((c for c in status.get("conditions") or () if c.get("type") == "Ready"), {})
    is_ready = ready.get("status") == "True"
    view = PodView(
        name=meta["name"],
        uid=meta["uid"],
        role=pod_labels.get(labels.ROLE, ""),
        ready=is_ready,
        ready_since=ready.get("lastTransitionTime") if is_ready else None,
        created=meta.get("creationTimestamp", ""),
        deleting="deletionTimestamp" in meta,
        failed=status.get("phase") in ("Failed", "Succeeded"),
        lock=pod_labels.get(labels.LOCK, ""),
        deletion_cost=(meta.get("annotations") or {}).get(labels.POD_DELETION_COST),
    )
    return PodState(
        namespace=meta["namespace"],
        service_label=pod_labels.get(labels.SERVICE, ""),
        pool=pod_labels.get(labels.POOL, ""),
        version=int(meta["resourceVersion"]),
        node=(body.get("spec") or {}).get("nodeName"),
        view=view,
        trouble=podhealth.trouble(status),
    )


def _service_label(meta: Json, owner: Json | None) -> str:
    """By the owner, which is there even where the label was taken away by hand; by the label for what has none."""
    if owner is not None and owner["kind"] == labels.KIND:
        return label_value(owner["name"])
    label: str = (meta.get("labels") or {}).get(labels.SERVICE, "")
    return label


def _template(body: Json) -> TemplateView:
    template_labels = body["spec"]["template"]["metadata"].get("labels") or {}
    return TemplateView(lock=template_labels.get(labels.LOCK), pull_image=recorded_pull_image(body))


def _progress(body: Json) -> DeploymentProgress:
    status = body.get("status") or {}
    failure = next(
        (c for c in status.get("conditions") or () if c.get("type") == "ReplicaFailure" and c.get("status") == "True"),
        None,
    )
    return DeploymentProgress(
        observed_current=status.get("observedGeneration", 0) >= body["metadata"].get("generation", 0),
        replicas=status.get("replicas", 0),
        updated=status.get("updatedReplicas", 0),
        available=status.get("availableReplicas", 0),
        refusal=failure.get("message", "") if failure else None,
    )


def _text(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
