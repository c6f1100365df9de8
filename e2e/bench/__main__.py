"""`python -m e2e.bench [NAME ...] [--services N] [--output json]`: measure, show, and fail where a target is missed."""

import argparse
import sys
from collections.abc import Callable, Mapping

from e2e.bench import create, latency, plan, pull, report, rest
from e2e.bench.report import Figure
from e2e.bench.stage import Stage
from e2e.cluster import ClusterError
from e2e.cluster.cluster import to_stderr

BENCHMARKS: Mapping[str, Callable[[Stage], list[Figure]]] = {
    plan.NAME: plan.run,
    pull.NAME: pull.run,
    create.NAME: create.run,
    rest.NAME: rest.run,
    latency.NAME: latency.run,
}
"""In the order in which they run: `create` needs a fleet that does not exist yet."""


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    described = argparse.ArgumentParser(prog="python -m e2e.bench", description=__doc__)
    described.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(BENCHMARKS)} (default: all)")
    described.add_argument("--services", type=int, default=1000, metavar="N", help="default: %(default)s")
    described.add_argument("--output", choices=("table", "json"), default="table")
    return described


def main() -> int:
    """Run what was named; 0 all targets met, 1 one was missed or could not be measured, 2 bad arguments."""
    described = parser()
    arguments = described.parse_args()
    unknown = set(arguments.names) - set(BENCHMARKS)
    if unknown:
        described.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(BENCHMARKS)}")
    if not 1 <= arguments.services <= 9999:
        described.error(f"--services {arguments.services}: give 1 to 9999")
    names = arguments.names or list(BENCHMARKS)
    figures: list[Figure] = []
    try:
        with Stage(arguments.services) as stage:
            for name, run in BENCHMARKS.items():
                if name in names:
                    figures += run(stage)
    except ClusterError as error:
        to_stderr(f"error: {error}")
        return 1
    finally:
        if figures:
            _tell(arguments.output, arguments.services, figures)
    return 1 if report.missed(figures) else 0


def _tell(output: str, services: int, figures: list[Figure]) -> None:
    if output == "json":
        print(report.as_json(services, figures))
    else:
        report.show(services, figures)


if __name__ == "__main__":
    sys.exit(main())
