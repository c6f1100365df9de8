"""`python -m e2e.bench.throughput CSV --models CSV --gpus CSV`: estimates against measurements, by GPU and by model.

`--leave-one-out` fits anew without each group (model, GPU, tensor parallel size) and estimates it with that fit: what
the method is worth on models it has not seen. `--fit` prints the coefficients that the package ships.
"""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import yaml

from e2e.bench.throughput import fit, show
from e2e.bench.throughput.cases import Case, Families, make_cases, read_labels
from e2e.bench.throughput.rows import Group, read_rows
from e2e.bench.throughput.shapes import Shapes
from inference_fleet.throughput.coefficients import read_families, shipped_families
from inference_fleet.throughput.estimate import Point

PRIOR = Path(__file__).with_name("prior.yaml")
_ROUNDS, _ROUNDS_WITHOUT = 10, 2


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    described = argparse.ArgumentParser(prog="python -m e2e.bench.throughput", description=__doc__)
    described.add_argument("csv", type=Path, help="the measurements")
    described.add_argument("--models", type=Path, required=True, metavar="CSV", help="the models' shapes")
    described.add_argument("--gpus", type=Path, required=True, metavar="CSV", help="the GPUs' node labels")
    described.add_argument("--leave-one-out", action="store_true", help="fit anew without each group (minutes)")
    described.add_argument("--fit", action="store_true", help="print fitted coefficients as YAML (a minute)")
    return described


def main() -> int:
    """Print the table; 0, or 2 for files that cannot be used."""
    arguments = parser().parse_args()
    try:
        labels = read_labels(arguments.gpus)
        cases, skipped = make_cases(read_rows(arguments.csv), Shapes(arguments.models), labels)
    except (OSError, KeyError, ValueError) as error:
        print(f"error: {error!r}", file=sys.stderr)
        return 2
    prior = read_families(yaml.safe_load(PRIOR.read_text(encoding="utf-8")))
    if arguments.fit:
        families = fit.fitted(cases, prior, _ROUNDS)
        print(fit.as_yaml(families, cases))
        return 0
    show.tables("Shipped coefficients", cases, Case.point)
    if arguments.leave_one_out:
        without = _without_each(cases, prior)
        show.tables("Each group left out of the fit", cases, partial(_point_without, without))
    show.left_out(skipped)
    return 0


def _point_without(without: dict[Group, Families], case: Case) -> Point:
    return case.point(without[case.row.group])


def _without_each(cases: Sequence[Case], prior: Families) -> dict[Group, Families]:
    start = shipped_families()
    found: dict[Group, Families] = {}
    for group in sorted({case.row.group for case in cases}):
        print(f"without {group}", file=sys.stderr)
        rest = [case for case in cases if case.row.group != group]
        found[group] = fit.fitted(rest, prior, _ROUNDS_WITHOUT, start)
    return found


if __name__ == "__main__":
    sys.exit(main())
