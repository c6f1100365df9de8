import sys
from pathlib import Path

import numpy as np
import pytest

from e2e.bench import scaling
from inference_fleet.scaling.grid import Demand
from tests.unit.scaling.traffic import MONDAY, days


@pytest.fixture
def traffic(tmp_path: Path) -> Path:
    demand = days(3)
    lines = ["t_s,rate", *(f"{600 * index},{value}" for index, value in enumerate(demand.values.tolist()))]
    (tmp_path / "daily.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "broken.csv").write_text("t_s,rate\n0,1\n")
    return tmp_path


def test_every_series_of_a_folder_gets_its_rows(
    traffic: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(scaling, "PEAKS", (20,))
    monkeypatch.setattr(scaling, "COLD_STARTS", (300.0,))
    monkeypatch.setattr(sys, "argv", ["scaling", str(traffic)])
    assert scaling.main() in (0, 1)
    printed = capsys.readouterr()
    assert sum(line.startswith("daily") for line in printed.out.splitlines()) == 1
    assert "mean, cold start 5 min" in printed.out
    assert "skipped" in printed.err and "broken.csv" in printed.err


def test_coarse_series_get_minutes_with_noise_and_fine_ones_stay(traffic: Path) -> None:
    demand = scaling.load(traffic / "daily.csv", None)
    assert demand.step == 60
    assert demand.values.size == 3 * 1440
    assert 0.04 < np.std(demand.values[:10]) / np.mean(demand.values[:10]) * 3 < 0.3


def test_the_crowd_is_three_times_the_usual_for_an_hour() -> None:
    demand = Demand(MONDAY, 60, np.full(3 * 1440, 10.0))
    surged, begin = scaling._flash(demand)
    first = int((begin - MONDAY) // 60)
    assert surged.values[first - 1 : first + 4].tolist() == [10, 20, 20, 30, 30]
    assert (surged.values > 10).sum() == 60
    assert begin % 86_400 == 43_200
