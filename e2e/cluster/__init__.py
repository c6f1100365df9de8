"""A real Kubernetes control plane on this machine, with simulated GPU nodes and nothing left behind.

    with Cluster.up(name="mine", nodes={"NVIDIA-L4": 2}, audit=True) as cluster:
        cluster.kubectl("get", "nodes")

etcd, kube-apiserver, kube-controller-manager and kube-scheduler are the real ones; kwok plays the kubelets.
`python -m e2e.cluster up` does the same for a person, and leaves the cluster running until `down`.
"""

from e2e.cluster.cluster import Cluster
from e2e.cluster.errors import ClusterError
from e2e.cluster.s3 import S3

__all__ = ["S3", "Cluster", "ClusterError"]
