"""Coefficients from measurements: least squares on the logarithm of TPOT, output tokens per second and TTFT.

Levenberg-Marquardt on the logarithms of the coefficients, held to where they start by a weak prior: a family of few
rows keeps what all families have in common. Groups weigh by a root of their rows, so that no one model decides; a
residual counts less the larger it is (soft L1), as sources differ in engine version and client.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from e2e.bench.throughput.cases import Case, Families
from inference_fleet.throughput.coefficients import Coefficients

OWN = ("memory", "memory_experts", "compute", "unpacked", "latency")
"""Coefficients that each family has for itself; the others are common."""
COMMON = tuple(field.name for field in fields(Coefficients) if field.name not in OWN)
_PRIOR = {
    "memory": 0.08,
    "memory_experts": 0.2,
    "compute": 0.3,
    "unpacked": 0.1,
    "latency": 0.2,
    "request": 0.2,
    "memory_narrow": 0.1,
}
_PRIOR_ELSE = 0.6
_STEP = 1e-4
_SOFT = 0.25
_TTFT, _TTFT_UNLOADED = 0.3, 0.8
"""TTFT counts less than TPOT: clients and hosts are in it, and above a few requests how the client starts them."""
UNLOADED = 8
"""Concurrency up to which TTFT is the prompt's own time."""
_OLD = 0.3
"""Engines before 0.8 count less: they are slower for reasons that no engine of today has."""

Vector = NDArray[np.float64]


def fitted(
    cases: Sequence[Case], prior: Families, rounds: int, start: Families | None = None
) -> dict[str, Coefficients]:
    """Coefficients that fit the cases below the knee best, near `prior`; the search begins at `start`."""
    used = [case for case in cases if case.below_knee]
    families = sorted(prior)
    names: list[tuple[str | None, str]] = [(None, name) for name in COMMON] + [
        (family, name) for family in families for name in OWN
    ]

    def pack(given: Families) -> Vector:
        return np.array([math.log(getattr(given[family or families[0]], name)) for family, name in names])

    origin = pack(prior)
    widths = np.array([_PRIOR.get(name, _PRIOR_ELSE) for _, name in names])
    weights = _weights(used)

    def unpack(vector: Vector) -> dict[str, Coefficients]:
        found = {key: math.exp(value) for key, value in zip(names, vector, strict=True)}
        shared: dict[str, Any] = {name: found[None, name] for name in COMMON}
        return {family: Coefficients(**shared, **{name: found[family, name] for name in OWN}) for family in families}

    def residuals(vector: Vector, only: str | None = None, known: Vector | None = None) -> Vector:
        """Weighted errors and distances from the prior; with `only`, other families' errors are those `known`."""
        coefficients = unpack(vector)
        errors = np.zeros(3 * len(used)) if known is None else known[: 3 * len(used)].copy()
        for number, case in enumerate(used):
            if only is None or case.family == only:
                at = slice(3 * number, 3 * number + 3)
                errors[at] = _soft(_errors(case, coefficients)) * weights[number]
        return np.concatenate([errors, (vector - origin) / widths])

    def slopes(vector: Vector, value: Vector) -> Vector:
        columns = []
        for unit, (family, _) in zip(np.eye(len(names)), names, strict=True):
            columns.append((residuals(vector + _STEP * unit, family, value) - value) / _STEP)
        return np.stack(columns, axis=1)

    return unpack(_levenberg(residuals, slopes, pack(start or prior), rounds))


def _errors(case: Case, families: Families) -> Vector:
    point, row = case.point(families), case.row
    ttft = _TTFT_UNLOADED if row.concurrency <= UNLOADED else _TTFT
    return np.array(
        [
            math.log(point.tpot / row.tpot) if row.tpot else 0.0,
            math.log(point.output_tokens / row.output_rate) if row.output_rate else 0.0,
            ttft * math.log(point.ttft / row.ttft) if row.ttft else 0.0,
        ]
    )


def _weights(cases: Sequence[Case]) -> list[float]:
    sizes = Counter(case.row.group for case in cases)
    return [4.0 / sizes[case.row.group] ** 0.3 * (_OLD if case.row.old else 1.0) for case in cases]


def _soft(errors: Vector) -> Vector:
    soft: Vector = np.sign(errors) * np.sqrt(2 * (np.sqrt(1 + (errors / _SOFT) ** 2) - 1)) * _SOFT
    return soft


def _levenberg(
    residuals: Callable[[Vector], Vector], slopes: Callable[[Vector, Vector], Vector], start: Vector, rounds: int
) -> Vector:
    best, damping = start, 1e-2
    value = residuals(best)
    for _ in range(rounds):
        jacobian = slopes(best, value)
        normal, gradient = jacobian.T @ jacobian, jacobian.T @ value
        before = value @ value
        for _ in range(6):
            moved = best - np.linalg.solve(normal + damping * np.diag(np.diag(normal)), gradient)
            found = residuals(moved)
            if found @ found < before:
                best, value, damping = moved, found, damping / 5
                break
            damping *= 4
        if before - value @ value < 1e-4 * before:
            break
    return best


def as_yaml(families: Families, cases: Sequence[Case]) -> str:
    """The coefficients as the package keeps them; families of which no row was measured keep the prior."""
    used = [case for case in cases if case.below_knee]
    groups = len({case.row.group for case in used})
    any_family = next(iter(families.values()))
    lines = [f"# Fitted on {len(used)} rows of {groups} groups.", "all:"]
    lines += [f"  {name}: {getattr(any_family, name):.4g}" for name in COMMON]
    lines.append("families:")
    for family, values in families.items():
        rows = [case for case in used if case.family == family]
        lines.append(f"  {family}:  # {len(rows)} rows of {len({case.row.group for case in rows})} groups")
        lines += [f"    {name}: {getattr(values, name):.4g}" for name in OWN]
    return "\n".join(lines)
