"""The simulated GPU machines: their labels as NVIDIA's GPU feature discovery writes them, and their capacity."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from e2e.cluster.errors import ClusterError

GPUS_PER_NODE = 8
KWOK_ANNOTATION = "kwok.x-k8s.io/node"
ZONES = ("zone-a", "zone-b")


@dataclass(frozen=True)
class Machine:
    """What a node of one GPU product looks like."""

    short: str
    gpu_memory_mib: int
    family: str
    cpu: int = 192
    memory: str = "2Ti"


# nvidia.com/gpu.memory as reported by nvidia-smi on these products, in MiB.
MACHINES: Mapping[str, Machine] = {
    "NVIDIA-H200": Machine("h200", 143771, "hopper"),
    "NVIDIA-H100-80GB-HBM3": Machine("h100", 81559, "hopper"),
    "NVIDIA-A100-SXM4-80GB": Machine("a100", 81920, "ampere", cpu=128),
    "NVIDIA-L40S": Machine("l40s", 46068, "ada-lovelace", cpu=128, memory="1Ti"),
    "NVIDIA-L4": Machine("l4", 23034, "ada-lovelace", cpu=128, memory="1Ti"),
}
DEFAULT_FLEET: Mapping[str, int] = {
    "NVIDIA-H100-80GB-HBM3": 4,
    "NVIDIA-A100-SXM4-80GB": 4,
    "NVIDIA-L40S": 4,
    "NVIDIA-L4": 4,
}


def machine_for(product: str) -> Machine:
    """Describe a product; one that is not in the table gets plausible values, so that any label can be tried."""
    if product in MACHINES:
        return MACHINES[product]
    short = re.sub(r"[^a-z0-9]+", "-", product.lower().removeprefix("nvidia-")).strip("-")
    if not short:
        raise ClusterError(f"{product!r} is no GPU product name")
    return Machine(short, 81920, "unknown")


def fleet(counts: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Give every Node object of a fleet; the zones take turns, so that each product is in both."""
    index = 0
    for product, count in counts.items():
        for number in range(count):
            yield node(product, number, index)
            index += 1


def node(product: str, number: int, index: int) -> dict[str, Any]:
    """Describe one machine; `index` counts over the whole fleet and gives it a pod network of its own."""
    machine = machine_for(product)
    name = f"{machine.short}-{number}"
    capacity = {
        "cpu": str(machine.cpu),
        "memory": machine.memory,
        "ephemeral-storage": "4Ti",
        "pods": "110",
        "nvidia.com/gpu": str(GPUS_PER_NODE),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {KWOK_ANNOTATION: "fake"},
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": f"{machine.short}x{GPUS_PER_NODE}",
                "topology.kubernetes.io/region": "local",
                "topology.kubernetes.io/zone": ZONES[number % len(ZONES)],
                "nvidia.com/gpu.present": "true",
                "nvidia.com/gpu.product": product,
                "nvidia.com/gpu.family": machine.family,
                "nvidia.com/gpu.count": str(GPUS_PER_NODE),
                "nvidia.com/gpu.memory": str(machine.gpu_memory_mib),
            },
        },
        "spec": {"podCIDR": f"10.{64 + index // 256}.{index % 256}.0/24"},
        "status": {"capacity": capacity, "allocatable": capacity, "nodeInfo": {"kubeletVersion": "v1.35.4"}},
    }
