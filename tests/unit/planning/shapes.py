"""Model configurations and services that planner tests are made of."""

from typing import Any

from inference_fleet.api.v1alpha1.spec import InferenceServiceSpec
from inference_fleet.catalog.models import ModelFacts, model_facts

IMAGE = "vllm/vllm-openai:v0.33.0"
H100 = "NVIDIA-H100-80GB-HBM3"


def config(**changes: Any) -> dict[str, Any]:
    """A dense 8B model: 32 layers of 32 heads, 8 KV heads of 128."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "max_position_embeddings": 131072,
        "torch_dtype": "bfloat16",
        "tie_word_embeddings": False,
        "hidden_act": "silu",
        **changes,
    }


def large(**changes: Any) -> dict[str, Any]:
    """A dense 70B model."""
    shape = {"hidden_size": 8192, "intermediate_size": 28672, "num_hidden_layers": 80, "num_attention_heads": 64}
    return config(**{**shape, **changes})


def facts(shape: dict[str, Any] | None = None, *, weights: int | None = None) -> ModelFacts:
    """Facts of a shape; with `weights` bytes as an index would state them."""
    index = None if weights is None else {"metadata": {"total_size": weights}}
    return model_facts(shape or config(), index, {})


def spec(
    gpu: str = H100, *, engine: dict[str, Any] | None = None, workload: Any = None, **pool: Any
) -> InferenceServiceSpec:
    """A service of one pool."""
    return InferenceServiceSpec.model_validate(
        {
            "model": {"name": "m", "uri": "s3://models/m"},
            "engine": engine,
            "pools": [{"name": "a", "gpu": gpu, "replicas": {"min": 1, "max": 2}, **pool}],
            "workload": workload,
        }
    )
