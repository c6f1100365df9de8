"""Two model folders as a store holds them: true configurations and tensor lists, weights that are stand-ins.

The operator plans from `config.json` and from `total_size` of the index, so the bill is that of the real models. The
shards themselves are valid safetensors files without tensors: no engine runs here that would load them.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

SHARD_BYTES = 5_000_000_000
"""What `save_pretrained` puts into one file."""

_BF16, _FP8 = 2, 1


@dataclass(frozen=True)
class Llama:
    """The shape of a Llama 3 model. `fp8`: linear weights of one byte with a scale per output channel."""

    name: str
    hidden: int
    intermediate: int
    layers: int
    heads: int
    fp8: bool = False

    VOCABULARY = 128_256
    KV_HEADS = 8
    HEAD_DIM = 128

    def config(self) -> dict[str, Any]:
        """`config.json` as published, without what only training reads."""
        rope = {
            "factor": 8.0,
            "high_freq_factor": 4.0,
            "low_freq_factor": 1.0,
            "original_max_position_embeddings": 8192,
            "rope_type": "llama3",
        }
        config = {
            "architectures": ["LlamaForCausalLM"],
            "attention_bias": False,
            "bos_token_id": 128_000,
            "eos_token_id": [128_001, 128_008, 128_009],
            "head_dim": self.HEAD_DIM,
            "hidden_act": "silu",
            "hidden_size": self.hidden,
            "intermediate_size": self.intermediate,
            "max_position_embeddings": 131_072,
            "mlp_bias": False,
            "model_type": "llama",
            "num_attention_heads": self.heads,
            "num_hidden_layers": self.layers,
            "num_key_value_heads": self.KV_HEADS,
            "rms_norm_eps": 1e-05,
            "rope_scaling": rope,
            "rope_theta": 500_000.0,
            "tie_word_embeddings": False,
            "torch_dtype": "bfloat16",
            "vocab_size": self.VOCABULARY,
        }
        return config | ({"quantization_config": _FP8_DYNAMIC} if self.fp8 else {})

    def tensors(self) -> Iterator[tuple[str, int]]:
        """Every tensor of the checkpoint with its bytes."""
        table = self.VOCABULARY * self.hidden * _BF16
        norm = self.hidden * _BF16
        yield "model.embed_tokens.weight", table
        for layer in range(self.layers):
            prefix = f"model.layers.{layer}"
            yield f"{prefix}.input_layernorm.weight", norm
            for name, rows, columns in self._linears():
                yield f"{prefix}.{name}.weight", rows * columns * (_FP8 if self.fp8 else _BF16)
                if self.fp8:
                    yield f"{prefix}.{name}.weight_scale", rows * _BF16
            yield f"{prefix}.post_attention_layernorm.weight", norm
        yield "model.norm.weight", norm
        yield "lm_head.weight", table

    def _linears(self) -> tuple[tuple[str, int, int], ...]:
        queries, keys = self.heads * self.HEAD_DIM, self.KV_HEADS * self.HEAD_DIM
        return (
            ("self_attn.q_proj", queries, self.hidden),
            ("self_attn.k_proj", keys, self.hidden),
            ("self_attn.v_proj", keys, self.hidden),
            ("self_attn.o_proj", self.hidden, queries),
            ("mlp.gate_proj", self.intermediate, self.hidden),
            ("mlp.up_proj", self.intermediate, self.hidden),
            ("mlp.down_proj", self.hidden, self.intermediate),
        )

    def index(self) -> dict[str, Any]:
        """`model.safetensors.index.json`: the true size, and which shard holds which tensor."""
        shards: list[list[str]] = [[]]
        total = filled = 0
        for name, size in self.tensors():
            if filled and filled + size > SHARD_BYTES:
                shards.append([])
                filled = 0
            shards[-1].append(name)
            filled += size
            total += size
        files = {
            name: f"model-{number:05}-of-{len(shards):05}.safetensors"
            for number, names in enumerate(shards, start=1)
            for name in names
        }
        return {"metadata": {"total_size": total}, "weight_map": dict(sorted(files.items()))}

    def files(self) -> dict[str, bytes]:
        """The folder: name to content."""
        index = self.index()
        shards = sorted(set(index["weight_map"].values()))
        return {
            "config.json": _json(self.config()),
            "model.safetensors.index.json": _json(index),
            **{shard: _stand_in(f"stands in for {shard} of {self.name}") for shard in shards},
        }


_FP8_DYNAMIC: dict[str, Any] = {
    "config_groups": {
        "group_0": {
            "input_activations": {"dynamic": True, "num_bits": 8, "strategy": "token", "type": "float"},
            "targets": ["Linear"],
            "weights": {"dynamic": False, "num_bits": 8, "strategy": "channel", "symmetric": True, "type": "float"},
        }
    },
    "format": "float-quantized",
    "ignore": ["lm_head"],
    "quant_method": "compressed-tensors",
    "quantization_status": "compressed",
}

LLAMA_70B = Llama("llama-3.3-70b-fp8", hidden=8192, intermediate=28_672, layers=80, heads=64, fp8=True)
LLAMA_8B = Llama("llama-3.1-8b", hidden=4096, intermediate=14_336, layers=32, heads=32)
MODELS = (LLAMA_70B, LLAMA_8B)


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, indent=2).encode() + b"\n"


def _stand_in(note: str) -> bytes:
    """A safetensors file of a header alone: its length in 8 bytes, then JSON padded to a multiple of 8."""
    header = json.dumps({"__metadata__": {"format": "pt", "note": note}}).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header
