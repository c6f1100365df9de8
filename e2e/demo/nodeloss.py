"""A node loses its power under a serving pod: what happens, with the time of each moment as it arrives here."""

import time
from datetime import UTC, datetime

from e2e.cluster import Cluster, ClusterError, kwok
from e2e.demo import fleet, views
from e2e.demo.fleet import NAMESPACE, Pod
from e2e.demo.loss import Moment, NodeLoss, promotion_seconds
from e2e.demo.show import Screen
from e2e.demo.watch import Watch
from e2e.operator_process import USER
from inference_fleet.api import labels

MARGIN_SECONDS = 90.0
UNREACHABLE = "node.kubernetes.io/unreachable"


def show(screen: Screen, cluster: Cluster, service: str) -> None:
    """Take the node of a serving pod away, follow the standby's promotion and the refill, bring the node back."""
    victim, loss = choose(cluster, service)
    patience = toleration_seconds(cluster, victim)
    screen.heading(
        f"Losing {victim.node}, which runs {victim.name}, a serving pod",
        f"Kubernetes takes a node for lost after {cluster.node_grace_seconds} s without a heartbeat and replaces its "
        f"pods {patience} s later{'' if patience == 300 else ' (300 by default)'}.",
    )
    since = datetime.now(UTC)
    follow(screen, cluster, loss, service, patience)
    seconds, how = promotion(cluster, loss, since)
    load = loss.between(Moment.REPLACED, Moment.REFILLED)
    screen.gap()
    screen.say(f"Promotion: {seconds * 1000:.0f} ms from the node's condition to the pod's label. No pod was started.")
    screen.say(f"Measured on this machine, {how}.")
    screen.say(
        f"A new pod took {load:.1f} s to load (simulated; a real 70B takes minutes). No serving slot waited for it."
    )
    screen.gap()
    views.deployments(screen, cluster, [service])
    screen.gap()
    with screen.step("Node back") as step:
        cluster.start_node(victim.node)
        step.done(f"{victim.node} has its power again")


def choose(cluster: Cluster, service: str) -> tuple[Pod, NodeLoss]:
    """A serving pod of the first pool that has a standby, and what its pool looks like before."""
    for pool in fleet.pools(cluster, service):
        homes = {pod.node for pod in pool.with_role(labels.ROLE_WARM)}
        for pod in pool.with_role(labels.ROLE_SERVING):
            if homes - {pod.node}:
                before = {p.name: p.role for p in pool.pods}
                return pod, NodeLoss(node=pod.node, pool=pod.pool, lost=pod.name, pods=before)
    raise ClusterError(f"{service} has no serving pod with a standby on another node")


def promotion(cluster: Cluster, loss: NodeLoss, since: datetime) -> tuple[float, str]:
    """How long it took, and how that was measured: kind keeps no audit log."""
    if (cluster.state / "audit.log").exists():
        seconds = promotion_seconds(cluster.audit_events(), loss, since, USER)
        if seconds is not None:
            return seconds, "between the two writes in the API server's audit log"
    seconds = loss.between(Moment.NODE_NOT_READY, Moment.PROMOTED)
    return seconds, "between the arrival of the two events at one client's watches"


def toleration_seconds(cluster: Cluster, pod: Pod) -> int:
    """How long this pod stays bound to a silent node."""
    body = cluster.api.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods/{pod.name}")
    tolerations = body["spec"].get("tolerations") or ()
    return next((t["tolerationSeconds"] for t in tolerations if t.get("key") == UNREACHABLE), 300)


def follow(screen: Screen, cluster: Cluster, loss: NodeLoss, service: str, patience: int) -> None:
    """Cut the power and tell each moment as it comes."""
    paths = [
        f"/api/v1/nodes?fieldSelector=metadata.name={loss.node}",
        f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector={labels.SERVICE}={service},{labels.POOL}={loss.pool}",
    ]
    limit = 2 * cluster.node_grace_seconds + patience + MARGIN_SECONDS
    with Watch(cluster, paths) as watch, screen.waiting() as waiting:
        cut = time.monotonic()
        kwok.switch_off(cluster.api, loss.node)
        screen.moment(0.0, f"the power of {loss.node} is cut")
        while not loss.over:
            waiting(waiting_for(loss, time.monotonic() - cut))
            left = cut + limit - time.monotonic()
            if left <= 0:
                raise ClusterError(f"within {limit:.0f} s there was no {missing(loss)}")
            event = watch.next(min(left, 0.2))
            if event is None:
                continue
            for moment in loss.see(event.at, event.object):
                screen.moment(event.at - cut, sentence(loss, moment))


def sentence(loss: NodeLoss, moment: Moment) -> str:
    """A moment in words."""
    return {
        Moment.NODE_NOT_READY: f"{loss.node} is no longer Ready",
        Moment.PROMOTED: f"{loss.promoted} is promoted: its role is serving, the Services send requests to it",
        Moment.EVICTED: f"{loss.lost} is given up by Kubernetes: its node is still silent",
        Moment.REPLACED: f"{loss.replacement} is created by the Deployment to be the new standby",
        Moment.REFILLED: f"{loss.replacement} is loaded and warm: the standby is full again",
    }[moment]


def missing(loss: NodeLoss) -> str:
    """The first moment that has not come."""
    return next(f'event for "{moment}"' for moment in Moment if moment not in loss.reached)


def waiting_for(loss: NodeLoss, elapsed: float) -> str:
    """What is awaited."""
    if Moment.NODE_NOT_READY not in loss.reached:
        what = "the node controller waits for a heartbeat"
    elif Moment.EVICTED not in loss.reached:
        what = "Kubernetes waits whether the node comes back"
    else:
        what = "the replacement loads, as standby"
    return f"{elapsed:5.1f} s  {what}"
