"""Fit the planner's coefficients on start-up logs, and say how far off they are on models they were not fitted on.

`python -m e2e.bench.plannerfit LOGS.csv [--models CSV] [--gpus CSV]` prints the coefficients of
`planning/coefficients.py` and the error of the overhead and of the available KV memory: fitted on all logs, and each
model predicted by a fit without any log of it (leave one model out).

The loss is the error relative to the available memory, a single log counting at most a third: some logs have settings
that nobody wrote down, and are then asked with the engine's defaults. Two dozen logs do not carry six numbers on their
own: each is held to what single logs show directly. Coordinate search over a grid.
"""

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, median

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from e2e.bench.planner import judge, predict
from e2e.bench.plannerrows import Log, read_logs
from inference_fleet.planning.coefficients import GIB, MIB, Coefficients

_MOST = 1 / 3
_HELD = 0.05
"""What a factor of e between a coefficient and its prior costs."""
_PRIOR = Coefficients(
    context=int(0.6 * GIB),  # 0.76 to 0.80 GiB of a 7B on an A10G, of which 0.2 are activations; llava-7b alike
    forward=1.0,
    sort_workspace=12.0,  # key and index twice; 5.6 GiB of activations in a log of 1024 x 151,936 logits: 16
    encoder=1.0,
    graph=7 * MIB // 16,  # 1.55 GiB estimated for 64 layers and 51 sizes, 0.06 GiB for 78 and 2
    shared_host=int(1.5 * GIB),
    margin=0,
)
_SWEEPS = 6
_GRID: dict[str, tuple[float, ...]] = {
    "context": tuple(share / 20 * GIB for share in range(6, 27)),
    "forward": (1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.75, 2.0),
    "sort_workspace": tuple(range(4, 25, 2)),
    "encoder": (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0),
    "graph": tuple(part / 16 * MIB for part in range(1, 17)),
    "shared_host": tuple(share / 4 * GIB for share in range(1, 13)),
}


def usable(log: Log) -> bool:
    """Whether a log says what the fit needs: a known model and GPU, and nothing that a pool cannot have."""
    return log.facts is not None and log.gpu is not None and not log.special


def loss(logs: Sequence[tuple[Log, float]], by: Coefficients) -> float:
    """Mean error relative to the printed memory, and what it costs to leave the priors."""
    left = sum(abs(math.log(max(getattr(by, name), 1e-9) / getattr(_PRIOR, name))) for name in _GRID)
    return mean(min(abs(_error(log, printed, by)) / printed, _MOST) for log, printed in logs) + _HELD * left


def _error(log: Log, printed: float, by: Coefficients) -> float:
    """Bytes by which the plan promises too much. The margin is not part of what is fitted."""
    sizing = predict(log, replace(by, margin=0))
    if sizing is None:
        return 0.0
    weights = sizing.bill.weights_bytes if log.load is None else log.load
    return sizing.bill.kv_cache_bytes - sizing.shortfall + sizing.bill.weights_bytes - weights - printed


def fit(logs: Sequence[tuple[Log, float]]) -> Coefficients:
    """The best coefficients by coordinate search."""
    best = _PRIOR
    for _ in range(_SWEEPS):
        before = best
        for name, values in _GRID.items():
            candidates = [replace(best, **{name: type(getattr(best, name))(value)}) for value in values]
            best = min([best, *candidates], key=lambda by: loss(logs, by))
        if best == before:
            break
    return best


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the fit and its errors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=Path)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--gpus", type=Path)
    given = parser.parse_args(arguments)
    models, gpus = given.models or given.logs.with_name("models.csv"), given.gpus or given.logs.with_name("gpus.csv")
    judged = [judge(log) for log in read_logs(given.logs, models, gpus) if usable(log)]
    logs = [(result.log, result.printed) for result in judged if result.printed]
    by = fit(logs)
    print(by)
    _report("fitted on all", [(log, printed, by) for log, printed in logs])
    names = sorted({log.model for log, _ in logs})
    without = {name: fit([pair for pair in logs if pair[0].model != name]) for name in names}
    _report("leave one model out", [(log, printed, without[log.model]) for log, printed in logs])
    return 0


def _report(title: str, cases: Sequence[tuple[Log, float, Coefficients]]) -> None:
    errors = [_error(log, printed, by) for log, printed, by in cases]
    relative = [abs(error) / printed for error, (_, printed, _) in zip(errors, cases, strict=True)]
    within = ", ".join(f"{sum(error <= bound for error in relative)} within {bound:.0%}" for bound in (0.01, 0.1, 0.2))
    print(
        f"{title}: {len(cases)} logs, overhead off by {median(map(abs, errors)) / GIB:.2f} GiB (median), "
        f"{mean(map(abs, errors)) / GIB:.2f} GiB (mean); KV memory {within}"
    )
    for (log, printed, _), error in zip(cases, errors, strict=True):
        print(f"  {log.id} {log.model[:40]:40} {error / GIB:+6.2f} of {printed / GIB:6.2f} GiB")


if __name__ == "__main__":
    raise SystemExit(main())
