"""Sets of values that a chart is really installed with; every general test renders them all."""

from typing import Any

GPU = {
    "name": "H20",
    "vendor": "nvidia",
    "product": "NVIDIA-H20",
    "memoryGiB": 95.0,
    "computeCapability": "9.0",
    "bf16": True,
    "fp8": True,
    "gpusPerNode": 8,
}

EVERYTHING: dict[str, Any] = {
    "global": {"imageRegistry": "mirror.local/x/", "imagePullSecrets": [{"name": "corp"}], "of": "the parent chart"},
    "imagePullSecrets": ["reg", {"name": "corp"}],
    "image": {"repository": "fleet/operator", "tag": "1.2.3", "digest": f"sha256:{'a' * 64}", "pullPolicy": "Always"},
    "allowedStoreNetworks": ["169.254.20.0/24", "fd00::/8"],
    "gpuCatalog": [GPU],
    "nodeCache": {"path": "/mnt/nvme/models", "prepare": {"nodeSelector": {"nvidia.com/gpu.present": "true"}}},
    "serviceAccount": {"name": "fleet", "annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/x"}},
    "nodeSelector": {"pool": "system"},
    "tolerations": [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "team", "operator": "Equal", "value": "a", "effect": "NoExecute"},
    ],
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["system"]}]}]
            }
        }
    },
    "priorityClassName": "system-cluster-critical",
    "podAnnotations": {"a": "b"},
    "podLabels": {"c": "d"},
    "networkPolicy": {"enabled": True},
}

LISTED_NAMESPACES: dict[str, Any] = {
    "watch": {"namespaces": ["team-a", "team-b"]},
    "secrets": {"namespaces": ["team-a"]},
}

MINIMAL: dict[str, Any] = {
    "crds": {"enabled": False},
    "nodeCache": {"prepare": {"enabled": False}},
    "rbac": {"aggregateRoles": False},
    "serviceAccount": {"create": False, "name": "given"},
    "resources": {"limits": None},
}

ALL = {
    "defaults": {},
    "everything": EVERYTHING,
    "listed-namespaces": LISTED_NAMESPACES,
    "minimal": MINIMAL,
}
