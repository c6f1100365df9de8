"""`python -m e2e.faults [--runs N] [--seed N] [NAME ...]`: run, show a table, fail where anything broke."""

import argparse
import sys

from rich.console import Console
from rich.table import Table

from e2e.cluster import S3
from e2e.cluster.cluster import to_stderr
from e2e.faults.runs import Tally, run
from e2e.faults.scenarios import SCENARIOS


def main() -> int:
    """0 nothing broke, 1 something did, 2 bad arguments."""
    described = argparse.ArgumentParser(prog="python -m e2e.faults", description=__doc__)
    described.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(SCENARIOS)} (default: all in turn)")
    described.add_argument("--runs", type=int, default=1000, metavar="N", help="default: %(default)s")
    described.add_argument("--seed", type=int, default=0, metavar="N", help="default: %(default)s")
    arguments = described.parse_args()
    if unknown := set(arguments.names) - set(SCENARIOS):
        described.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(SCENARIOS)}")
    with S3.up() as s3:
        tallies = run(s3, arguments.runs, arguments.seed, arguments.names, to_stderr)
    show(tallies)
    return 1 if any(tally.broken for tally in tallies.values()) else 0


def show(tallies: dict[str, Tally]) -> None:
    """The table, and what broke."""
    table = Table(title=f"{sum(tally.runs for tally in tallies.values()):,} runs")
    for column in ("what went wrong", "runs", "how its pulls ended", "fetched", "resumed", "retries", "broken"):
        table.add_column(column, justify="left" if column in ("what went wrong", "how its pulls ended") else "right")
    for name, tally in tallies.items():
        ends = ", ".join(f"{count} {kind}" for kind, count in tally.outcomes.most_common())
        sizes = (f"{tally.totals[key] / 1e6:,.0f} MB" for key in ("fetchedBytes", "resumedBytes"))
        numbers = (*sizes, str(tally.totals["retries"]), str(len(tally.broken)))
        table.add_row(name, str(tally.runs), ends, *numbers)
    Console().print(table)
    for tally in tallies.values():
        for line in tally.broken:
            print(line)


if __name__ == "__main__":
    sys.exit(main())
