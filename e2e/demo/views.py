"""The fleet as tables: how far it is loaded, its memory bill, its Deployments."""

from collections.abc import Iterable, Mapping

from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from e2e.cluster import Cluster
from e2e.demo import fleet
from e2e.demo.fleet import Json, Pod
from e2e.demo.models import Llama
from e2e.demo.show import Screen
from e2e.demo.stage import FOLDER
from inference_fleet.api import labels
from inference_fleet.api.v1alpha1.spec import InferenceServiceSpec
from inference_fleet.catalog.gpus import GpuCatalog
from inference_fleet.cli.bill import bill_lines
from inference_fleet.cli.input import load_model_facts
from inference_fleet.cli.table import print_pool
from inference_fleet.planning.planner import plan_service
from inference_fleet.resources.inputs import RenderSettings


def show(screen: Screen, cluster: Cluster, services: Mapping[str, Llama]) -> None:
    """Bill, Deployments, and what kubectl says."""
    there = [name for name in services if fleet.exists(cluster, name)]
    for name in there:
        model = services[name]
        screen.heading(
            f"{name}: the memory of one GPU, per pool",
            f"As `inference-fleet plan` prints it, from config.json and index of {model.name}. What the service leaves "
            "out is planned;\nthe lock covers the model's digest in the store, too.",
        )
        bill(fleet.service(cluster, name), model)
    screen.heading(
        "One Deployment and one PodDisruptionBudget per GPU type",
        "A warm pod is loaded and gets no requests. The budget counts serving pods only; warm ones may always go.",
    )
    deployments(screen, cluster, there)
    screen.heading("What kubectl shows")
    screen.verbatim("kubectl get ifs -o wide", cluster.kubectl("get", "ifs", "-n", fleet.NAMESPACE, "-o", "wide"))


def bill(service: Json, model: Llama) -> None:
    """The plan of each pool, made by the operator's own planner from the live object."""
    spec = InferenceServiceSpec.model_validate(service["spec"])
    facts, catalog = load_model_facts(FOLDER / model.name), GpuCatalog.builtin()
    plans = plan_service(
        spec,
        facts,
        catalog,
        default_image=RenderSettings(operator_image="").default_engine_image,
        model_digest=(service.get("status", {}).get("model") or {}).get("digest"),
    )
    for plan in plans:
        print_pool(plan, bill_lines(spec, plan, facts, catalog))


def deployments(screen: Screen, cluster: Cluster, services: Iterable[str]) -> None:
    """Every pool of the services."""
    screen.table(
        ("DEPLOYMENT", "GPU", "GPUS/POD", "SERVING", "WARM", "PDB MIN", "MAY EVICT"),
        [
            (
                pool.deployment,
                pool.gpu,
                str(pool.gpus_per_pod),
                _where(pool.with_role(labels.ROLE_SERVING)),
                _where(pool.with_role(labels.ROLE_WARM)),
                str(pool.min_available),
                str(pool.evictions_allowed),
            )
            for service in services
            for pool in fleet.pools(cluster, service)
        ],
    )


def _where(pods: list[Pod]) -> str:
    return f"{len(pods)} on {','.join(pod.node for pod in pods)}" if pods else "0"


def loading(services: Iterable[Json]) -> Table:
    """A bar per pool: how many of the wanted pods are loaded."""
    table = Table.grid(padding=(0, 2))
    for service in services:
        pools = service.get("status", {}).get("pools") or ()
        name, reason = service["metadata"]["name"], fleet.condition(service, "Ready")["reason"]
        if not pools:
            table.add_row(Text(name, "bold"), "", "", Text(reason or "waiting for the operator", "dim"))
        for pool in pools:
            wanted, ready = pool.get("desired", 0), pool.get("ready", 0)
            table.add_row(
                Text(name, "bold"),
                pool["name"],
                ProgressBar(total=max(1, wanted), completed=ready, width=24),
                Text(
                    f"{ready} of {wanted} loaded, {pool.get('serving', 0)} serving, {pool.get('warm', 0)} warm", "dim"
                ),
            )
            name = ""
    return table
