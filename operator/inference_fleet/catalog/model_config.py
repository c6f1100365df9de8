"""Reading a model's `config.json`: nested text parts, the aliases of old architectures, sentences for bad values."""

import re
from collections.abc import Mapping
from typing import Any

_NESTED = ("text_config", "llm_config", "language_config", "thinker_config")
_UNGATED = frozenset({"gelu", "gelu_new", "gelu_fast", "relu", "relu2"})
_TIED_BY_DEFAULT = frozenset({"opt", "gpt2", "bloom", "falcon", "mpt", "cohere", "cohere2"})
_MOST = 10**9
"""No dimension of a model is larger: a file may hold anything."""
_DEEPEST = 8
"""Text parts are nested twice at most in any known model."""
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
                numbers = [item for item in value if isinstance(item, int) and not isinstance(item, bool)]
                value = max(numbers) if numbers else None
            if value is None or value is False or value in (0, -1):
                continue
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= _MOST:
                raise ModelConfigError(f"config.json: {name} is {repr(value)[:80]}; a positive whole number is right.")
            return value
        return None

    def count(self, *names: str) -> int:
        """As `optional`, but one of the fields must be there."""
        value = self.optional(*names)
        if value is None:
            raise ModelConfigError(f"config.json: {names[0]} is missing; a positive whole number is right.")
        return value

    def part(self, name: str) -> Mapping[str, Any]:
        """A nested object, empty if there is none."""
        value = self.get(name)
        return value if isinstance(value, Mapping) else {}

    def sub(self, name: str) -> "Config":
        """A nested object as a configuration of its own."""
        return Config(self.part(name))

    @property
    def architecture(self) -> str:
        """The class that the engine loads, or the model type where that is not named."""
        names = self._top.get("architectures")
        if isinstance(names, list) and names:
            return str(names[0])[:80]
        return self.model_type or "unknown"

    @property
    def model_type(self) -> str:
        """The family."""
        return str(self.get("model_type") or "")[:80]

    @property
    def family(self) -> str:
        """Model type, or class where that is not named, in small letters and digits alone."""
        return re.sub(r"[^a-z0-9]", "", (self.model_type or self.architecture).lower())

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
        names = ("mlp_hidden_act", "hidden_act", "activation_function", "hidden_activation")
        activation = next((value for name in names if (value := self.get(name))), "silu")
        return str(activation) not in _UNGATED


def _text_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    for _ in range(_DEEPEST):
        part = next((config[name] for name in _NESTED if isinstance(config.get(name), Mapping)), None)
        if part is None:
            break
        config = part
    return config
