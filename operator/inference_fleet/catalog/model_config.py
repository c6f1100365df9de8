"""Reading a model's `config.json`: nested text parts, the aliases of old architectures, sentences for bad values."""

from collections.abc import Mapping
from typing import Any

_NESTED = ("text_config", "llm_config", "language_config", "thinker_config")
_UNGATED = frozenset({"gelu", "gelu_new", "gelu_fast", "relu", "relu2"})
_TIED_BY_DEFAULT = frozenset({"opt", "gpt2", "bloom", "falcon", "mpt", "cohere", "cohere2"})
_LINEAR_KINDS = frozenset({"linear_attention", "mamba", "mamba2", "kda", "gdn", "recurrent", "m"})
_WINDOWED_KINDS = frozenset({"sliding_attention", "chunked_attention"})
_MOST = 10**9
"""No dimension of a model is larger: a file may hold anything."""
_LEFT_OUT: dict[str, dict[str, int]] = {
    "llama": {"hidden_size": 4096, "intermediate_size": 11_008, "num_hidden_layers": 32, "num_attention_heads": 32},
    "mistral": {
        "hidden_size": 4096,
        "intermediate_size": 14_336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
    },
    "gemma3_text": {
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "vocab_size": 262_208,
        "max_position_embeddings": 131_072,
        "sliding_window_pattern": 6,
    },
}
"""Defaults of the configuration classes whose checkpoints leave fields out of a nested text part."""


class ModelConfigError(ValueError):
    """A sentence that names the field of a `config.json` which cannot be a model's."""


class Config:
    """A parsed `config.json`, looked up in its text part first and then at the top."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        if not isinstance(config, Mapping):
            raise ModelConfigError(f"config.json: expected an object, got {type(config).__name__}.")
        self._top = config
        self._text = _text_part(config)

    def get(self, name: str) -> Any:
        """The value of a field, None if it is absent or null."""
        value = self._text.get(name)
        if value is None:
            value = self._top.get(name)
        if value is None and self._text is not self._top:
            value = _LEFT_OUT.get(str(self._text.get("model_type")), {}).get(name)
        return value

    def flag(self, name: str) -> bool:
        """Whether a field is true."""
        return self.get(name) is True

    def optional(self, *names: str) -> int | None:
        """The first of the fields that is given: a positive whole number, or a list of which the largest counts."""
        for name in names:
            value = self.get(name)
            if isinstance(value, list) and value:
                numbers = [item for item in value if isinstance(item, int)]
                value = max(numbers) if numbers else None
            if value is None or value is False or value in (0, -1):
                continue
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= _MOST:
                raise ModelConfigError(f"config.json: {name} is {value!r}; a positive whole number is right.")
            return value
        return None

    def count(self, *names: str) -> int:
        """As `optional`, but one of the fields must be there."""
        value = self.optional(*names)
        if value is None:
            raise ModelConfigError(f"config.json: {names[0]} is missing; a positive whole number is right.")
        return value

    @property
    def architecture(self) -> str:
        """The class that the engine loads, or the model type where that is not named."""
        names = self._top.get("architectures")
        if isinstance(names, list) and names:
            return str(names[0])
        return str(self.get("model_type") or "unknown")

    @property
    def model_type(self) -> str:
        """The family."""
        return str(self.get("model_type") or "")

    @property
    def dtype(self) -> str:
        """The type of unquantised weights; the engine takes 16 bits for a model that says nothing."""
        value = self.get("dtype") or self.get("torch_dtype") or "bfloat16"
        return str(value).removeprefix("torch.")

    @property
    def multimodal(self) -> bool:
        """Whether there are encoders for images, sound or video."""
        return any(isinstance(self._top.get(key), Mapping) for key in ("vision_config", "audio_config", "visual"))

    @property
    def tied_embeddings(self) -> bool:
        """Whether the output layer is the embedding. Left out, the family's own default holds."""
        value = self.get("tie_word_embeddings")
        if isinstance(value, bool):
            return value
        return self.model_type.startswith("gemma") or self.model_type in _TIED_BY_DEFAULT

    @property
    def gated_mlp(self) -> bool:
        """Whether the MLP has a gate: three matrices instead of two."""
        activation = self.get("hidden_act") or self.get("activation_function") or self.get("hidden_activation")
        return str(activation or "silu") not in _UNGATED

    def linear_layers(self, total: int) -> int:
        """Layers that keep a constant state instead of a KV cache."""
        kinds = self._kinds(total)
        if kinds:
            return sum(kind in _LINEAR_KINDS for kind in kinds)
        pattern = self.get("hybrid_override_pattern")
        if isinstance(pattern, str):
            return max(0, total - pattern.count("*"))
        every = self.optional("full_attention_interval", "attn_layer_period")
        return total - total // every if every else 0

    def sliding_layers(self, total: int, attention: int) -> int:
        """Layers that see a window only, where `attention` of `total` have a KV cache."""
        kinds = self._kinds(total)
        if kinds:
            return sum(kind in _WINDOWED_KINDS for kind in kinds)
        if self.get("use_sliding_window") is False:
            return 0
        every = self.optional("sliding_window_pattern", "no_rope_layer_interval")
        if every:
            return attention - attention // every
        if self.model_type == "gemma2":
            return attention - attention // 2
        return attention

    def _kinds(self, total: int) -> list[str]:
        for name in ("layer_types", "layers_block_type"):
            kinds = self.get(name)
            if isinstance(kinds, list) and kinds:
                return [str(kind) for kind in kinds[:total]]
        return []


def _text_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in _NESTED:
        part = config.get(name)
        if isinstance(part, Mapping):
            return _text_part(part)
    return config
