"""Models pulled through everything that goes wrong; the scenarios are those of `e2e/faults/scenarios.py`."""

import pytest

from e2e.cluster import S3
from e2e.faults.runs import run
from e2e.faults.scenarios import SCENARIOS


def test_fifty_runs(s3: S3) -> None:
    tallies = run(s3, runs=50, seed=1)

    assert [line for tally in tallies.values() for line in tally.broken] == []
    assert sum(tally.runs for tally in tallies.values()) == 50
    for kind in ("killed", "NoSpace"):
        assert any(tally.outcomes[kind] for tally in tallies.values()), f"no pull was ever {kind}"
    assert sum(tally.totals["retries"] for tally in tallies.values()) > 0
    assert sum(tally.totals["resumedBytes"] for tally in tallies.values()) > 0


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_thousand_runs(s3: S3, request: pytest.FixtureRequest) -> None:
    if "slow" not in request.config.option.markexpr:
        pytest.skip("run with -m slow")
    tallies = run(s3, runs=1000, seed=0)

    assert [line for tally in tallies.values() for line in tally.broken] == []
    assert set(tallies) >= set(SCENARIOS) - {"full disk"}
