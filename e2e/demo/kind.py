"""The stage on kind: the operator from its image and chart, the store as a pod, the GPU nodes simulated by kwok.

Not exercised by our own tests, which run where there is no container engine. What really runs is pinned to kind's own
node: the scheduler would as well take a simulated one, where nothing is executed.
"""

import json
import subprocess

from e2e.cluster import S3, Cluster, ClusterError, kind
from e2e.cluster.binaries import ensure, from_wheel
from e2e.cluster.credentials import write_private
from e2e.cluster.errors import wait_for
from e2e.demo.show import Step
from e2e.demo.stage import BUCKET, NAME, ROOT, Hints, Store
from e2e.operator_process import ACCOUNT, NAMESPACE

IMAGE, TAG = "ghcr.io/inference-fleet/operator", "demo"
STORE_IMAGE = "docker.io/chrislusf/seaweedfs:4.48"
STORE, STORE_PORT = "seaweedfs", 8333
REAL_NODE = {"kubernetes.io/hostname": f"{NAME}-control-plane"}
LOAD_SECONDS = 8.0


class Kind:
    """kind's containers outlive a killed demo; `make demo-down` ends them."""

    still = True

    def start(self, step: Step) -> Cluster:
        """See `Stage`."""
        cluster = kind.up(name=NAME, load_seconds=LOAD_SECONDS, report=step.note)
        step.done(f"kind cluster {NAME} at {cluster.server}, 16 simulated nodes of 8 GPUs")
        return cluster

    def operator(self, cluster: Cluster, step: Step) -> Hints:
        """See `Stage`."""
        step.note(f"building {IMAGE}:{TAG}")
        _run("docker", "build", "--tag", f"{IMAGE}:{TAG}", str(ROOT))
        kind.kind("load", "docker-image", f"{IMAGE}:{TAG}", "--name", NAME)
        step.note("installing charts/inference-fleet")
        values = {"image": {"tag": TAG}, "log": {"format": "text"}, "nodeSelector": REAL_NODE}
        values_file = write_private(cluster.state / "values.json", json.dumps(values))
        _run(
            str(ensure(["helm"], step.note)["helm"]),
            *("--kubeconfig", str(cluster.kubeconfig), "--namespace", NAMESPACE),
            *("install", "inference-fleet", str(ROOT / "charts" / "inference-fleet"), "--create-namespace"),
            *("--values", str(values_file), "--wait", "--timeout", "5m"),
        )
        step.done(f"{IMAGE}:{TAG}, installed with Helm into {NAMESPACE}")
        forward = f"kubectl -n {NAMESPACE} port-forward deployment/{ACCOUNT} 8080"
        return Hints(
            log=f"kubectl -n {NAMESPACE} logs -f deployment/{ACCOUNT}",
            metrics=f"{forward} & curl http://127.0.0.1:8080/metrics",
        )

    def operator_log(self, cluster: Cluster) -> str:
        """See `Stage`."""
        try:
            lines = cluster.kubectl("-n", NAMESPACE, "logs", f"deployment/{ACCOUNT}", "--tail=15")
        except ClusterError as error:
            return f"its log could not be read: {error}"
        return f"last lines of the operator:\n{lines}"

    def store(self, cluster: Cluster, step: Step, files: dict[str, bytes]) -> Store:
        """See `Stage`. The upload goes through a port-forward that ends with the cluster."""
        step.note(f"starting {STORE_IMAGE}")
        here = S3(cluster.processes, owned=False)
        manifests = {"apiVersion": "v1", "kind": "List", "items": store_manifests(here.access_key, here.secret_key)}
        cluster.kubectl("apply", "-f", "-", stdin=json.dumps(manifests))
        cluster.kubectl("rollout", "status", f"deployment/{STORE}", "--timeout=300s", timeout=310)
        command = [str(from_wheel("kubectl")), "port-forward", f"service/{STORE}", f"{here.port}:{STORE_PORT}"]
        cluster.processes.start("store-forward", command, env={"KUBECONFIG": str(cluster.kubeconfig)})
        step.note(f"uploading {len(files)} files")

        def uploaded() -> bool:
            try:
                here.put(BUCKET, files)
            except Exception:  # noqa: BLE001 - the forward, or a volume, is not there yet; the deadline tells
                return False
            return True

        wait_for("the upload", uploaded, seconds=60, on_timeout=lambda: cluster.processes.tail("store-forward"))
        endpoint = f"http://{STORE}.default.svc:{STORE_PORT}"
        step.done(f"SeaweedFS S3 at {endpoint}")
        return Store(endpoint, here.access_key, here.secret_key)

    def end(self, cluster: Cluster) -> None:
        """See `Stage`."""
        cluster.api.close()
        kind.down(NAME)


def store_manifests(access_key: str, secret_key: str) -> list[dict[str, object]]:
    """Secret, Deployment and Service of the store."""
    identity = {
        "name": "admin",
        "credentials": [{"accessKey": access_key, "secretKey": secret_key}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    label = {"app": STORE}
    container = {
        "name": STORE,
        "image": STORE_IMAGE,
        "args": ["server", "-dir=/data", "-s3", f"-s3.port={STORE_PORT}", "-s3.config=/etc/s3/s3.json"],
        "ports": [{"containerPort": STORE_PORT}],
        "readinessProbe": {"tcpSocket": {"port": STORE_PORT}},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/s3"}, {"name": "data", "mountPath": "/data"}],
    }
    pod = {
        "nodeSelector": REAL_NODE,
        "containers": [container],
        "volumes": [{"name": "config", "secret": {"secretName": STORE}}, {"name": "data", "emptyDir": {}}],
    }
    return [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": STORE},
            "stringData": {"s3.json": json.dumps({"identities": [identity]})},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": STORE},
            "spec": {"selector": {"matchLabels": label}, "template": {"metadata": {"labels": label}, "spec": pod}},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": STORE},
            "spec": {"selector": label, "ports": [{"port": STORE_PORT}]},
        },
    ]


def _run(*command: str) -> None:
    """Run a program whose own progress belongs on the screen."""
    if subprocess.run(command, check=False).returncode != 0:
        raise ClusterError(f"{' '.join(command[:2])} failed; its own message stands above")
