"""What cannot be read off shapes or source and was fitted on public start-up logs, by `e2e/bench/plannerfit.py`.

The fit minimises the error of the available KV memory over the logs that print it; it knows shapes and versions, never
a model's name. Errors are in docs/how-the-plan-is-made.md.
"""

from dataclasses import dataclass

GIB = 1 << 30
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Coefficients:
    """Bytes, or factors on bytes that follow from shapes."""

    context: int = int(0.60 * GIB)
    """CUDA context, cuBLAS and attention workspaces, slack of the allocator."""
    forward: float = 1.0
    """Live copies of a layer's activations over the minimum that its operations need."""
    sort_workspace: float = 14.0
    """Bytes per entry that sorting a large array of logits takes besides its tensors."""
    encoder: float = 1.0
    """As `forward`, of an encoder's layer."""
    graph: int = 7 * MIB // 16
    """One CUDA graph of one layer, as the engine's estimator counts it since 0.21."""
    shared_host: int = int(1.5 * GIB)
    """What the host's processes move within a memory that GPU and host share."""
    margin: int = int(0.1 * GIB)
    """Kept back: drivers differ by 0.3 GiB in the total, ranks of one replica by 0.1 GiB."""


FITTED = Coefficients()
