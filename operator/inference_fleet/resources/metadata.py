"""What every child carries: where it belongs, what it is, and a hash of how it was last applied."""

import hashlib
import json
from typing import Any

from inference_fleet.api import labels
from inference_fleet.resources.inputs import Fleet, Manifest, Owner

_HASH_LENGTH = 16


def child(
    fleet: Fleet,
    api_version: str,
    kind: str,
    name: str,
    child_labels: dict[str, str],
    spec: dict[str, Any],
    *,
    annotations: dict[str, str] | None = None,
) -> Manifest:
    """A child of the fleet's InferenceService.

    Without a cluster the owner has no uid: the object then carries neither an owner reference nor the applied hash,
    which covers it.
    """
    metadata: dict[str, Any] = {"name": name, "namespace": fleet.owner.namespace, "labels": child_labels}
    if annotations:
        metadata["annotations"] = annotations
    manifest: Manifest = {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}
    if fleet.owner.uid is None:
        return manifest
    metadata["ownerReferences"] = [_owner_reference(fleet.owner, fleet.owner.uid)]
    metadata["annotations"] = {**(annotations or {}), labels.APPLIED_HASH: manifest_hash(manifest)}
    return manifest


def manifest_hash(manifest: Manifest) -> str:
    """A hash of the meaning of a manifest: the order of keys does not matter, that of lists does."""
    canonical = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:_HASH_LENGTH]


def _owner_reference(owner: Owner, uid: str) -> dict[str, Any]:
    return {
        "apiVersion": labels.API_VERSION,
        "kind": labels.KIND,
        "name": owner.name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
