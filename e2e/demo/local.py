"""The stage on this machine: real control plane, operator and store as supervised processes."""

from e2e.cluster import S3, Cluster
from e2e.demo.show import Step
from e2e.demo.stage import BUCKET, NAME, Hints, Store
from e2e.operator_process import USER, OperatorProcess, install

LOAD_SECONDS = 8.0
"""Start of an engine to Ready, simulated: long enough to be seen, far below the minutes of a real 70B."""
GIVE_UP_SECONDS = 10
"""How long pods stay bound to a silent node; 300 is Kubernetes' default, and too long to watch."""


class Local:
    """Everything ends with the supervisor of the cluster: see `e2e/cluster/supervisor.py`."""

    still = False

    def start(self, step: Step) -> Cluster:
        """See `Stage`."""
        cluster = Cluster.up(
            name=NAME,
            load_seconds=LOAD_SECONDS,
            audit=True,
            apiserver_args=[
                "--audit-log-maxsize=20",  # MB: heartbeats fill it while the demo stands
                "--audit-log-maxbackup=1",
                f"--default-not-ready-toleration-seconds={GIVE_UP_SECONDS}",
                f"--default-unreachable-toleration-seconds={GIVE_UP_SECONDS}",
            ],
            report=step.note,
        )
        step.done(
            f"real etcd, kube-apiserver, controller-manager, scheduler at {cluster.server}\n"
            "16 simulated nodes of 8 GPUs: 4 each of H100, A100, L40S, L4"
        )
        return cluster

    def operator(self, cluster: Cluster, step: Step) -> Hints:
        """See `Stage`."""
        step.note("applying crds/ and manifests/install.yaml")
        install(cluster)
        step.note("starting `inference-fleet run`")
        operator = OperatorProcess(cluster)
        operator.start()
        step.done(f"definition and rights applied; `inference-fleet run` as\n{USER}")
        return Hints(
            log=f"tail -f $(dirname $KUBECONFIG)/{cluster.processes.log_file(operator.name).name}",
            metrics=f"curl http://127.0.0.1:{operator.port}/metrics",
        )

    def operator_log(self, cluster: Cluster) -> str:
        """See `Stage`."""
        return cluster.processes.tail("operator")

    def store(self, cluster: Cluster, step: Step, files: dict[str, bytes]) -> Store:
        """See `Stage`."""
        step.note("starting SeaweedFS")
        server = S3.start(cluster.processes)
        step.note(f"uploading {len(files)} files")
        server.put(BUCKET, files)
        step.done(f"SeaweedFS S3 at {server.endpoint}")
        return Store(server.endpoint, server.access_key, server.secret_key)

    def end(self, cluster: Cluster) -> None:
        """See `Stage`."""
        cluster.stop()
