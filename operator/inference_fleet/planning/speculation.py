"""Speculative decoding, read from extraArgs: its layers share the KV cache and its weights share the GPU."""

import json
from dataclasses import dataclass

from inference_fleet.catalog.extra_args import flag_value, size_value

_MOST_TOKENS = 64
_OWN_LAYERS = ("mtp", "eagle", "eagle3", "deepseek_mtp", "draft_model", "medusa", "dflash")


@dataclass(frozen=True, slots=True)
class Speculation:
    """A drafter. `layers` of attention that it adds, and the tokens that it proposes."""

    method: str
    tokens: int
    layers: int

    @property
    def own_weights(self) -> bool:
        """Whether the drafter's weights are layers of the model's own checkpoint."""
        return "mtp" in self.method


def read_speculation(extra_args: tuple[str, ...]) -> Speculation | None:
    """The drafter that --speculative-config or the --spec-* flags ask for; None without, or if it is no JSON."""
    method, tokens = flag_value(extra_args, "--spec-method"), size_value(extra_args, "--spec-tokens")
    text = flag_value(extra_args, "--speculative-config", "-sc")
    if text:
        try:
            given = json.loads(text)
        except (ValueError, RecursionError):
            return None
        if not isinstance(given, dict):
            return None
        method = str(given.get("method") or ("draft_model" if given.get("model") else ""))
        tokens = given.get("num_speculative_tokens")
    if not method:
        return None
    proposed = tokens if isinstance(tokens, int) and 0 < tokens <= _MOST_TOKENS else 1
    layers = 1 if any(method.startswith(name) for name in _OWN_LAYERS) or "mtp" in method else 0
    return Speculation(method, proposed, layers)
