"""kwok in the role of every kubelet: what pods do, and how a node goes away and comes back.

A pod's annotations steer it, and may be set at any time, also on a running pod:

- `sim.inferencefleet.io/load-seconds`: from the start of its containers to Ready (default: the cluster's)
- `sim.inferencefleet.io/init-seconds`: how long the init containers take (default 0)
- `sim.inferencefleet.io/drain-seconds`: from the delete call to the end (default 1)
- `sim.inferencefleet.io/fail`: CrashLoopBackOff, OOMKilled, ErrImagePull, ImagePullBackOff or InitCrashLoopBackOff;
  removing it heals the pod
- `sim.inferencefleet.io/fail-message`: the engine's last words, or the registry's answer

An image whose name contains `does-not-exist` fails to be pulled without any annotation.
"""

from pathlib import Path
from typing import Any

from e2e.cluster.api import MERGE_PATCH, Api, ApiError
from e2e.cluster.nodes import KWOK_ANNOTATION

LOAD_SECONDS = "sim.inferencefleet.io/load-seconds"
INIT_SECONDS = "sim.inferencefleet.io/init-seconds"
DRAIN_SECONDS = "sim.inferencefleet.io/drain-seconds"
FAIL = "sim.inferencefleet.io/fail"
FAIL_MESSAGE = "sim.inferencefleet.io/fail-message"

STAGES = Path(__file__).with_name("stages.yaml")
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
NOBODY = "switched-off"
_FAILURE = (
    f'.metadata.annotations["{FAIL}"]'
    ' // (if any(.spec.containers[].image; contains("does-not-exist")) then "ErrImagePull" else "none" end)'
)


def stages(load_seconds: float) -> str:
    """Give the stages with this cluster's default load time."""
    return STAGES.read_text().replace("@LOAD_SECONDS@", f"{load_seconds:g}").replace("@FAILURE@", _FAILURE)


def command(kwok: Path, kubeconfig: Path, stages_file: Path, lease_seconds: int) -> list[str | Path]:
    """Manage the nodes that carry our annotation, renewing each lease every quarter of its duration."""
    return [
        kwok,
        "--v=WARN",  # at INFO it tells every lease renewal
        "--kubeconfig",
        kubeconfig,
        "--config",
        stages_file,
        f"--manage-nodes-with-annotation-selector={KWOK_ANNOTATION}=fake",
        f"--node-lease-duration-seconds={lease_seconds}",
    ]


def switch_off(api: Api, node: str) -> None:
    """Stop a node's heartbeats, as a power cut does.

    The lease gets a holder that never renews it and never expires for kwok, which then leaves the node and its pods
    alone; the node controller sees no renewal, and after its grace period does what it does for a real lost node.
    """
    spec = {"holderIdentity": NOBODY, "leaseDurationSeconds": 10 * 365 * 24 * 3600}
    api.request("PATCH", f"{LEASES}/{node}", {"spec": spec}, MERGE_PATCH)


def switch_on(api: Api, node: str, lease_seconds: int) -> None:
    """Give the lease back: kwok takes it within a quarter of its duration and reports the node Ready."""
    spec = {"holderIdentity": None, "leaseDurationSeconds": lease_seconds}
    api.request("PATCH", f"{LEASES}/{node}", {"spec": spec}, MERGE_PATCH)


def node_ready(node: dict[str, Any]) -> bool:
    """Tell whether a Node object says Ready."""
    conditions = node.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def nodes_ready(api: Api) -> int:
    """Count the nodes that are Ready and whose lease is held, so that a switch-off finds a lease to take."""
    try:
        ready = {n["metadata"]["name"] for n in api.request("GET", "/api/v1/nodes")["items"] if node_ready(n)}
        held = {lease["metadata"]["name"] for lease in api.request("GET", LEASES)["items"]}
    except ApiError:
        return 0
    return len(ready & held)
