"""The story, step by step: a cluster, an operator, two services, a lost node, and where to look next."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import yaml

from e2e.cluster import Cluster, ClusterError
from e2e.cluster.errors import wait_for
from e2e.cluster.paths import cluster_dir
from e2e.cluster.processes import is_up
from e2e.demo import fleet, nodeloss, views
from e2e.demo.models import LLAMA_8B, LLAMA_70B, MODELS
from e2e.demo.show import Screen, Step
from e2e.demo.stage import BUCKET, FOLDER, NAME, ROOT, Hints, Stage, Store

SAMPLES = ROOT / "manifests" / "samples"
SERVICES = {"llama-70b": LLAMA_70B, "llama-8b": LLAMA_8B}
"""The sample and the InferenceService of that name, with the model that it serves."""
SECRET = "models-s3"  # noqa: S105 - the name of a Secret
MARK = "demo.json"
"""In the cluster's folder once the story is told: a cluster without it is still being set up, or is somebody else's."""
READY_SECONDS = 120.0


def tell(screen: Screen, stage: Stage) -> None:
    """Tell the whole story and leave everything running; where it fails, everything is ended."""
    write_models()
    with screen.step("Cluster") as step, explained("the cluster did not come up"):
        cluster = stage.start(step)
    try:
        with screen.step("Operator") as step, explained("the operator did not start", stage, cluster):
            hints = stage.operator(cluster, step)
        with screen.step("Store") as step, explained("the model store could not be filled"):
            store = stage.store(cluster, step, bucket_files())
            step.done(f"{step.outcome}\nbucket {BUCKET}: {', '.join(model.name for model in MODELS)}")
        with screen.step("Services") as step, explained("the services did not become Ready", stage, cluster):
            apply_services(cluster, store, step)
            until_ready(cluster, step)
        views.show(screen, cluster, SERVICES)
        with explained("the loss of a node did not go as it should", stage, cluster):
            nodeloss.show(screen, cluster, "llama-70b")
        (cluster.state / MARK).write_text(json.dumps({"log": hints.log, "metrics": hints.metrics}))
        cluster.detach()
    except BaseException:
        stage.end(cluster)
        raise
    with cluster:
        look_further(screen, cluster, hints)


def show_again(screen: Screen) -> None:
    """What a demo that is up looks like now; nothing is changed."""
    with Cluster.attach(NAME) as cluster:
        try:
            hints = Hints(**json.loads((cluster.state / MARK).read_text()))
        except FileNotFoundError:
            raise ClusterError(
                f"a cluster {NAME} is up that is no finished demo: another `make demo` may be running; "
                "`make demo-down` ends it"
            ) from None
        screen.say("The demo is already up: this is how it looks now. `make demo-down` ends it.")
        if gone := ended(cluster):
            raise ClusterError(f"the demo is broken, `make demo-down` and `make demo` start afresh: {gone}")
        write_models()
        views.show(screen, cluster, SERVICES)
        look_further(screen, cluster, hints)


def up() -> bool:
    """Whether there is a demo, or one that is being set up."""
    return is_up(cluster_dir(NAME))


@contextmanager
def explained(what: str, stage: Stage | None = None, cluster: Cluster | None = None) -> Iterator[None]:
    """Turn whatever goes wrong into one sentence; the operator's last lines follow where it is concerned."""
    try:
        yield
    except Exception as error:
        told = str(error) if isinstance(error, ClusterError) else f"{type(error).__name__}: {error}"
        if stage and cluster and "last lines of" not in told:
            told = f"{told}\n{ended(cluster) or stage.operator_log(cluster)}"
        raise ClusterError(f"{what}: {told}") from error


def ended(cluster: Cluster) -> str:
    """A process of this machine that has ended though nobody stopped it, with its last lines; empty if all run."""
    for process in cluster.processes.list():
        if process.exit is not None:
            return f"{process.name} ended with exit code {process.exit}\n{cluster.processes.tail(process.name)}"
    return ""


def bucket_files() -> dict[str, bytes]:
    """What lies in the bucket, by key."""
    return {f"{model.name}/{name}": content for model in MODELS for name, content in model.files().items()}


def write_models() -> None:
    """The same files in a folder, for `inference-fleet plan --model-config`."""
    for key, content in bucket_files().items():
        path = FOLDER / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def apply_services(cluster: Cluster, store: Store, step: Step) -> None:
    """The Secret, then the samples with the address of this store in place of theirs."""
    step.note("applying the credentials and two InferenceServices")
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET},
        "stringData": {"AWS_ACCESS_KEY_ID": store.access_key, "AWS_SECRET_ACCESS_KEY": store.secret_key},
    }
    cluster.kubectl("apply", "-n", fleet.NAMESPACE, "-f", "-", stdin=json.dumps(secret))
    for name in SERVICES:
        body = yaml.safe_load((SAMPLES / f"{name}.yaml").read_text())
        body["spec"]["model"]["store"] = {"endpoint": store.endpoint, "credentialsSecret": SECRET}
        applied = FOLDER / f"{name}.yaml"
        applied.write_text(yaml.safe_dump(body, sort_keys=False))
        cluster.kubectl("apply", "-n", fleet.NAMESPACE, "-f", str(applied))


def until_ready(cluster: Cluster, step: Step) -> None:
    """Wait for both services, standby included, and show how far they are."""

    def ready() -> bool:
        bodies = [fleet.service(cluster, name) for name in SERVICES]
        step.show(views.loading(bodies), "; ".join(f"{b['metadata']['name']}: {fleet.progress(b)}" for b in bodies))
        return all(map(fleet.settled, bodies))

    def why() -> str:
        bodies = [fleet.service(cluster, name) for name in SERVICES]
        return "\n".join(f"{b['metadata']['name']}: {fleet.condition(b, 'Ready')['message']}" for b in bodies)

    wait_for(" and ".join(SERVICES) + " becoming Ready", ready, seconds=READY_SECONDS, every=0.25, on_timeout=why)
    step.done("llama-70b over H100 and A100, llama-8b over L40S and L4: Ready, standby loaded")


def look_further(screen: Screen, cluster: Cluster, hints: Hints) -> None:
    """Commands to go on with; the cluster and the operator stay."""
    model = LLAMA_70B.name
    screen.heading("Look further", "The cluster and the operator go on running; their credentials are good for a day.")
    if shutil.which("kubectl") is None:
        screen.command("export PATH=$PWD/.venv/bin:$PATH", "kubectl is there")
    screen.command(f"export KUBECONFIG={cluster.kubeconfig}")
    screen.command("kubectl get ifs -w", "the services as they change")
    screen.command("kubectl describe ifs llama-70b", "plan, lock, conditions, events")
    screen.command("kubectl get pods -o wide -L inferencefleet.io/role", "serving and warm pods")
    screen.command(f".venv/bin/inference-fleet plan -f .demo/llama-70b.yaml --model-config .demo/{model}")
    screen.command("kubectl edit ifs llama-70b", "more replicas, another length")
    screen.command(hints.log, "the operator's log")
    screen.command(hints.metrics, "its metrics")
    screen.command("make demo-down", "ends it all")


def remove_folder() -> None:
    """Remove what was written into the repository's folder."""
    shutil.rmtree(FOLDER, ignore_errors=True)
