"""Specs that are admitted and specs that are refused: one table for the models and for the real API server."""

import copy
from dataclasses import dataclass
from typing import Any

SMALLEST: dict[str, Any] = {
    "model": {"name": "m", "uri": "s3://b"},
    "pools": [{"name": "a", "gpu": "NVIDIA-L4", "replicas": {"min": 0, "max": 1}}],
}

_ENGINE: dict[str, Any] = {
    "image": "vllm/vllm-openai:v0.33.0",
    "maxModelLen": 16384,
    "maxNumSeqs": 128,
    "gpuMemoryUtilization": 0.92,
    "enablePrefixCaching": True,
    "kvCacheDtype": "auto",
    "extraArgs": [],
    "resources": {"cpu": "1000m", "memory": "64Gi"},
}

LARGEST: dict[str, Any] = {
    "model": {
        "name": "Meta-Llama/Llama-3.2_3B.Instruct",
        "uri": "s3://models/llama-3.3-70b-fp8",
        "store": {
            "endpoint": "https://minio.storage:9000",
            "region": "us-east-1",
            "credentialsSecret": "models-s3",
            "caConfigMap": "corp-ca",
        },
    },
    "engine": _ENGINE,
    "pools": [
        {
            "name": f"p{number}",
            "gpu": "NVIDIA-H100-80GB-HBM3",
            "tensorParallelSize": 2,
            "replicas": {"min": 2, "max": 20},
            "costPerGPUHour": 3.2,
            "engine": _ENGINE,
            "nodeSelector": {"topology.kubernetes.io/zone": "a", "disk": ""},
            "tolerations": [
                {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
                {"key": "team", "value": "a", "effect": "NoExecute", "tolerationSeconds": 60},
                {"operator": "Exists"},
            ],
            "resourceName": "nvidia.com/gpu",
            "priorityClassName": "serving",
        }
        for number in range(16)
    ],
    "workload": {"inputTokens": 1000, "outputTokens": 250},
    "warmPool": {"percent": 25, "min": 1},
    "scaling": {
        "targetUtilization": 0.7,
        "predictive": {"mode": "Auto", "leadTime": "20m", "timezone": "Asia/Shanghai"},
        "reclaim": {"stabilization": "1h30m", "maxPercentPerStep": 10},
    },
    "disruption": {"maxUnavailable": 1},
    "drainSeconds": 300,
    "cache": {"type": "Node"},
    "imagePullSecrets": ["registry", "mirror"],
}


@dataclass(frozen=True)
class Example:
    """SMALLEST with `value` at `path` (dots; a number is an index)."""

    path: str
    value: Any
    says: str = ""
    """What the refusal says, to the user of the API server and of the command line."""
    beside: tuple[tuple[str, Any], ...] = ()
    """More fields of the spec."""

    @property
    def spec(self) -> dict[str, Any]:
        """The whole spec."""
        spec = copy.deepcopy(SMALLEST) | dict(self.beside)
        parent: Any = spec
        *parents, last = self.path.split(".")
        for key in parents:
            parent = parent[int(key)] if key.isdigit() else parent.setdefault(key, {})
        parent[last] = self.value
        return spec

    def __str__(self) -> str:
        return f"{self.path}={self.value!r:.60}"


def pool(name: str = "a", **fields: Any) -> dict[str, Any]:
    """A pool, small but for these fields."""
    return {"name": name, "gpu": "NVIDIA-L4", "replicas": {"min": 0, "max": 1}, **fields}


_LONG = (("workload", {"inputTokens": 4000, "outputTokens": 200}),)

ADMITTED = [
    Example("model.uri", "pvc://models/llama-3.3-70b"),
    Example("model.uri", "pvc://models"),
    Example("model.uri", "s3://models/a..b/v1.0+cu12/x_y=(1)"),
    Example("model.store", {"endpoint": "http://[fd00::1]:9000/"}),
    Example("pools.0.replicas", {"min": 4, "max": 4}),
    Example("pools", [pool("a"), pool("b")]),
    Example("engine.resources", {"cpu": 8, "memory": "64Gi"}),
    Example("engine.resources", {"cpu": "0.5", "memory": 1}),
    Example("engine.gpuMemoryUtilization", 0.9),
    Example("scaling.targetUtilization", 1),
    Example("scaling.predictive", {"leadTime": "1h30m", "timezone": "America/Argentina/Buenos_Aires"}),
    Example("warmPool", {"percent": 100, "min": 0}),
    Example("disruption.maxUnavailable", 0),
    Example("pools.0.nodeSelector", {"topology.kubernetes.io/zone": "a"}),
    Example("engine.maxModelLen", 4200, beside=_LONG),
    Example("cache.type", "Ephemeral", beside=_LONG),
    Example("pools", [pool(engine={"maxModelLen": 8192}), pool("b")], beside=_LONG),
    Example(
        "engine.extraArgs",
        [
            "--speculative-config",
            '{"method":"ngram","num_speculative_tokens":3}',
            "--chat-template",
            "/t/tool use.jinja",
            "--hf-overrides={'a': 1, 'b=c': 2}",
            "--enable-auto-tool-choice",
            "-O3",
            "--rope-theta",
            "-1",
        ],
    ),
    Example(
        "engine.extraArgs", ["--model-impl", "transformers", "--max-num-batched-tokens=8192", "--kv-transfer-config"]
    ),
    Example("engine.extraArgs", []),
]

_NO_LINE_BREAK = "an item of extraArgs may not hold a line break"
_TWO_ITEMS = "a flag and its value are two items of extraArgs"
_LONE = "an item of extraArgs may not be a lone dash or '--'"
_DURATION = "a duration is written like"
_ENDPOINT = "an endpoint is http://HOST:PORT or https://HOST:PORT"
_URI = "a model's uri is s3://BUCKET/PREFIX or pvc://CLAIM/PATH"
_MEMORY_SHARE = "a share is a fraction between 0.1 and 0.99"
_CPU = "cpu is a number of cores above zero"
_MEMORY = "memory is a number of bytes above zero"
_NAME = "the name of an object is of lower-case letters, digits, dashes and dots"
_TOO_LONG = "workload.inputTokens + workload.outputTokens may not be above maxModelLen"

REFUSED_BY_RULE = [
    Example("pools.0.replicas", {"min": 50, "max": 10}, "replicas.min may not be above replicas.max"),
    Example("model.uri", "hf://meta-llama/Llama-3.3-70B", _URI),
    Example("model.uri", "/models/llama", _URI),
    Example("model.uri", "s3://models/a b", _URI),
    Example("model.uri", "s3://models/x?versionId=1", _URI),
    Example("model.uri", "pvc://Models/x", _URI),
    Example("model.uri", "s3://models/x\n", _URI),
    Example("model.uri", "pvc://models/../other", "may not hold a '..' segment"),
    Example("model.uri", "s3://models/x/..", "may not hold a '..' segment"),
    Example("model", {"name": "m", "uri": "pvc://models/x", "store": {"region": "eu"}}, "belongs to an s3:// uri"),
    Example("model.store", {"endpoint": "minio:9000"}, _ENDPOINT),
    Example("model.store", {"endpoint": "https://user:word@minio:9000"}, _ENDPOINT),
    Example("model.store", {"endpoint": "https://minio:9000/bucket"}, _ENDPOINT),
    Example("model.store", {"endpoint": "file:///etc/passwd"}, _ENDPOINT),
    Example("engine.image", "vllm/vllm openai", "an image is written like"),
    Example("scaling.predictive", {"leadTime": "20 min"}, _DURATION),
    Example("scaling.predictive", {"leadTime": "PT20M"}, _DURATION),
    Example("scaling.reclaim", {"stabilization": "1d"}, _DURATION),
    Example("scaling.predictive", {"timezone": "UTC+8 (Beijing)"}, "a time zone is an IANA name"),
    Example("pools.0.tolerations", [{"effect": "NoSchedule"}], "a toleration without a key needs operator: Exists"),
    Example("pools.0.tolerations", [{"key": "a", "operator": "Exists", "value": "b"}], "operator: Exists has no value"),
    Example("pools.0.tolerations", [{"key": "a", "tolerationSeconds": 5}], "tolerationSeconds needs effect: NoExecute"),
    Example("pools.0.nodeSelector", {"a key": "b"}, "a key of nodeSelector is a label key"),
    Example("pools.0.nodeSelector", {"": "b"}, "a key of nodeSelector is a label key"),
    Example("engine.extraArgs", ["x\n"], _NO_LINE_BREAK),
    Example("engine.extraArgs", ["--chat-template", "a\r\nb"], _NO_LINE_BREAK),
    Example("pools.0.engine", {"extraArgs": ["--a", "b\nc"]}, _NO_LINE_BREAK),
    Example("engine.extraArgs", ["--a b"], _TWO_ITEMS),
    Example("engine.extraArgs", ['--hf-overrides {"a": 1}'], _TWO_ITEMS),
    Example("engine.extraArgs", ["--seed", "--"], _LONE),
    Example("engine.extraArgs", ["-"], _LONE),
    Example("engine.extraArgs", ["8192", "--seed"], "extraArgs must begin with a flag"),
    Example("engine.maxModelLen", 4199, _TOO_LONG, _LONG),
    Example("pools", [pool(engine={"maxModelLen": 1024}), pool("b")], _TOO_LONG, _LONG),
    Example("pools.0.gpu", "NVIDIA H100", "gpu is what nodes are labelled with (nvidia.com/gpu.product)"),
    Example("pools.0.name", "H100", "the name of a pool is of lower-case letters, digits and dashes"),
    Example("pools.0.resourceName", "gpu", "resourceName is an extended resource, such as nvidia.com/gpu"),
    Example("pools", [], "a service needs at least one pool"),
    Example("engine.gpuMemoryUtilization", 1, _MEMORY_SHARE),
    Example("engine.gpuMemoryUtilization", 0, _MEMORY_SHARE),
    Example("engine.gpuMemoryUtilization", 92, _MEMORY_SHARE),
    Example("engine.gpuMemoryUtilization", 0.995, _MEMORY_SHARE),
    Example("scaling.targetUtilization", 0, "a share is a fraction between 0.05 and 1.0"),
    Example("engine.resources", {"cpu": 0}, _CPU),
    Example("engine.resources", {"cpu": "0"}, _CPU),
    Example("engine.resources", {"cpu": -1}, _CPU),
    Example("engine.resources", {"cpu": "8 cores"}, _CPU),
    Example("engine.resources", {"memory": "64m"}, _MEMORY),
    Example("engine.resources", {"memory": "64GB"}, _MEMORY),
    Example("engine.resources", {"memory": "0.0Gi"}, _MEMORY),
    Example("scaling.targetUtilization", 1.5, "a share is a fraction between 0.05 and 1.0"),
    Example("model.name", "a model", "a model's name is of letters, digits and _./:@+-"),
    Example("model.store", {"credentialsSecret": "other/secret"}, _NAME),
    Example("model.store", {"region": "US East"}, "a region is written like us-east-1"),
    Example("imagePullSecrets", ["Registry"], _NAME),
    Example("pools.0.nodeSelector", {"disk": "fast one"}, "a label's value is of letters"),
    Example("pools.0.tolerations", [{"key": "a b"}], "a taint's key is written like a label key"),
]

REFUSED_BY_SCHEMA = [
    Example("pools.0.replicas", {"min": 0, "max": 0}, "greater than or equal to 1"),
    Example("pools.0.replicas", {"min": -1, "max": 1}, "greater than or equal to 0"),
    Example("pools.0.replicas", {"min": 0, "max": 1001}, "less than or equal to 1000"),
    Example("pools.0.replicas", {"max": 1}, "equired"),
    Example("pools.0.replicas", {"min": "0", "max": 1}, "integer"),
    Example("pools.0.tensorParallelSize", 3, "1"),
    Example("pools.0.tensorParallelSize", 0, "16"),
    Example("pools.0.gpu", "", "at least 1"),
    Example("pools.0.name", "a" * 33, "32"),
    Example("pools.0.costPerGPUHour", -1, "greater than or equal to 0"),
    Example("pools.0.gpusPerReplica", 1, "gpusPerReplica"),
    Example("pools", [pool(f"p{number}") for number in range(17)], "at most 16 items"),
    Example("warmPool.percent", 130, "less than or equal to 100"),
    Example("warmPool.percent", -1, "greater than or equal to 0"),
    Example("engine.maxModelLen", 0, "greater than or equal to 1"),
    Example("engine.maxNumSeqs", 0, "greater than or equal to 1"),
    Example("engine.enablePrefixCaching", "true", "boolean"),
    Example("engine.kvCacheDtype", "int3", "fp8_e4m3"),
    Example("engine.extraArgs", "--seed 1", ""),
    Example("engine.extraArgs", [""], "at least 1"),
    Example("engine.extraArgs", [1], "string"),
    Example("engine.extraArgs", ["--a=" + "x" * 2045], "2048"),
    Example("engine.extraArgs", ["--a"] * 65, "64"),
    Example("engine.resources", {"cpu": 0.5}, "string"),
    Example("scaling.predictive", {"mode": "On"}, "ForecastOnly"),
    Example("drainSeconds", 0, "greater than or equal to 10"),
    Example("cache.type", "HostPath", "PersistentVolumeClaim"),
    Example("cache", {"hostPath": "/"}, "hostPath"),
    Example("workload", {"inputTokens": 10}, "equired"),
    Example("securityContext", {"privileged": True}, "securityContext"),
]

TWICE = [
    Example("pools", [pool("a"), pool("a")], "pool names must differ from each other"),
    Example("imagePullSecrets", ["registry", "registry"], "imagePullSecrets must differ from each other"),
]
"""The API server says `Duplicate value` in its own words."""


def _locked(item: str, field: str) -> Example:
    return Example("pools.0.engine", {"extraArgs": [item]}, f"follows from {field}")


LOCKED_FLAGS = [
    _locked("-tp", "tensorParallelSize"),
    _locked("-tp=1", "tensorParallelSize"),
    _locked("-t", "tensorParallelSize"),
    _locked("--tensor-parallel-size", "tensorParallelSize"),
    _locked("--tensor_parallel_size", "tensorParallelSize"),
    _locked("--tensor-parallel-size=8", "tensorParallelSize"),
    _locked("--tensor_parallel-s=8", "tensorParallelSize"),
    _locked("--gpu-memory-utilization", "engine.gpuMemoryUtilization"),
    _locked("--gpu-memory-util", "engine.gpuMemoryUtilization"),
    _locked("--gpu_memory_util=0.99", "engine.gpuMemoryUtilization"),
    _locked("--enable-prefix-caching", "engine.enablePrefixCaching"),
    _locked("--no-enable-prefix-caching", "engine.enablePrefixCaching"),
    _locked("--no_enable_prefix_cach", "engine.enablePrefixCaching"),
    _locked("--kv-cache-dtype=fp8", "engine.kvCacheDtype"),
    _locked("--max_model_len", "engine.maxModelLen"),
    _locked("--max-model-len 4096", "engine.maxModelLen"),
    _locked("--max-num-seqs", "engine.maxNumSeqs"),
    _locked("--max-num", "engine.maxNumSeqs"),
    _locked("--served-model-name", "spec.model.name"),
    _locked("--model", "spec.model.uri"),
    _locked("--model=/other", "spec.model.uri"),
    _locked("--host", "the operator's Service"),
    _locked("--port=80", "the operator's Service"),
    _locked("--shutdown-timeout", "spec.drainSeconds"),
    Example("engine.extraArgs", ["--seed", "1", "--max_model_len", "4096"], "follows from engine.maxModelLen"),
]
"""Refused by the API server as it stands, and by the planner: the models know no engine flags."""
