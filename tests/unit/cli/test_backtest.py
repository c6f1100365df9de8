import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from inference_fleet.cli import main
from tests.unit.scaling.traffic import MONDAY, days

FIGURES = ["gpu_hours", "gpu_hours_over_oracle", "violation_minutes_pct", "unserved_pct", "scale_actions_per_day"]
BASELINES = ["static_peak", "reactive", "reactive_warm_pool", "last_value_floor", "seasonal_naive_floor"]


def write(path: Path, times: list[Any], values: list[Any], header: str = "time,value") -> Path:
    lines = [header, *(f"{time},{value}" for time, value in zip(times, values, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    demand = days(3)
    times = [MONDAY + 600 * index for index in range(demand.values.size)]
    return write(tmp_path_factory.mktemp("traffic") / "traffic.csv", times, demand.values.tolist())


def run(file: Path, *options: object) -> Result:
    return CliRunner().invoke(main, ["backtest", "--traffic", str(file), *map(str, options)])


def as_json(file: Path, *options: object) -> dict[str, Any]:
    result = run(file, "--output", "json", *options)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_json_is_the_contract(traffic: Path) -> None:
    found = as_json(traffic, "--capacity", 50, "--cold-start", "5m")
    assert list(found) == ["policy", "baselines", "forecast"]
    assert list(found["policy"]) == FIGURES
    assert list(found["baselines"]) == BASELINES
    assert all(list(figures) == FIGURES for figures in found["baselines"].values())
    assert list(found["forecast"])[:3] == ["wape", "coverage_p90", "skill"]
    assert 0 < found["forecast"]["wape"] < 0.1
    assert 0.8 < found["forecast"]["coverage_p90"] <= 1
    assert found["policy"]["violation_minutes_pct"] < found["baselines"]["reactive"]["violation_minutes_pct"]


def test_the_ways_to_write_time_mean_the_same(tmp_path: Path, traffic: Path) -> None:
    rows = [line.split(",") for line in traffic.read_text().splitlines()[1:]]
    values = [row[1] for row in rows]
    iso = [datetime.fromtimestamp(float(row[0]), UTC).isoformat() for row in rows]
    naive = [text.removesuffix("+00:00").replace("T", " ") for text in iso]
    expected = as_json(traffic)
    assert as_json(write(tmp_path / "iso.csv", iso, values)) == expected
    assert as_json(write(tmp_path / "naive.csv", naive, values)) == expected
    # From zero: the first day is a Thursday then, which three days of one shape do not notice.
    zero = [float(row[0]) - MONDAY for row in rows]
    found = as_json(
        write(tmp_path / "zero.csv", zero, values, "t_s,rate"), "--time-column", "t_s", "--value-column", "rate"
    )
    assert found["baselines"] == expected["baselines"]


def test_the_table_names_what_is_compared_and_what_was_assumed(traffic: Path) -> None:
    result = run(traffic)
    assert result.exit_code == 0
    for text in ("this scaler", "static peak", "over oracle", "violation minutes", "assumed", "next peak"):
        assert text in result.stdout
    assert not any(line != line.rstrip() for line in result.stdout.splitlines())


def test_gaps_are_said_and_zeros_amid_high_demand_are_gaps(tmp_path: Path) -> None:
    demand = days(3)
    values: list[Any] = (demand.values + 500).tolist()
    values[200], values[201], values[300:306] = "", "NaN", [0] * 6
    times = [600 * index for index in range(len(values))]
    result = run(write(tmp_path / "gaps.csv", times, values))
    assert result.exit_code == 0
    assert "6 samples of 0 amid demand that is never low are read as gaps." in result.stdout
    assert "8 of 432 samples are unknown" in result.stdout
    for_machines = run(tmp_path / "gaps.csv", "--output", "json")
    assert "6 samples of 0" in for_machines.stderr
    json.loads(for_machines.stdout)


def test_a_service_that_idles_at_night_has_real_zeros(tmp_path: Path) -> None:
    values = np.maximum(days(3, noise=0.0).values - 300, 0)
    times = [600 * index for index in range(values.size)]
    result = run(write(tmp_path / "idle.csv", times, values.tolist()), "--min", 0)
    assert result.exit_code == 0
    assert "gaps" not in result.stdout
    assert "unknown" not in result.stdout


def test_bounds_are_kept(traffic: Path) -> None:
    found = as_json(traffic, "--capacity", 50, "--min", 8, "--max", 8, "--warm-percent", 0)
    assert found["policy"]["scale_actions_per_day"] == 0
    assert found["policy"]["gpu_hours"] == pytest.approx(8 * 54)


def test_a_picture_is_drawn(tmp_path: Path, traffic: Path) -> None:
    picture = tmp_path / "backtest.png"
    assert run(traffic, "--plot", picture, "--timezone", "Europe/Berlin").exit_code == 0
    content = picture.read_bytes()
    assert content.startswith(b"\x89PNG")
    assert len(content) > 20_000


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--time-column", "when"], "no column 'when'; --time-column may be one of time, value."),
        (["--value-column", "rate"], "no column 'rate'; --value-column may be one of time, value."),
        (["--cold-start", "soon"], "--cold-start 'soon'; a duration like 90s, 5m or 1h30m is right."),
        (["--cold-start", "3h"], "--cold-start '3h'; between 1s and 2h is right."),
        (["--capacity", "0"], "--capacity 0; a number above 0, in the unit of the traffic, is right."),
        (["--min", "5", "--max", "4"], "--max 4 is below --min 5; at least 5 is right."),
        (["--timezone", "Mars/Olympus"], "--timezone 'Mars/Olympus'; an IANA name like Europe/Berlin is right."),
        (["--plot", "/nowhere/x.png"], "--plot /nowhere/x.png: cannot be written"),
    ],
)
def test_a_bad_option_gets_one_sentence(traffic: Path, options: list[str], sentence: str) -> None:
    result = run(traffic, *options)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "no column 'time'"),
        ("time,value\n", "0 rows of traffic; at least two hours of it are right."),
        ("time,value\n0,1\n60,2\n120,3\n", "3 minutes of traffic; at least two hours are right."),
        ("time,value\nyesterday,1\n", "line 2: time 'yesterday'; seconds or a time like"),
        ("time,value\n0,many\n", "line 2: value 'many'; a number, or nothing where it is unknown, is right."),
        ("time,value\n0,1\n0,2\n", "all rows have the same time"),
        ("time,value\n0,1\n86400,2\n172800,3\n", "rows are 24 hours apart; at most one hour is right."),
        ("time,value\n" + "".join(f"{index * index * 7},1\n" for index in range(200)), "at no regular step"),
        ("time,value\n" + "".join(f"{index * 60},0\n" for index in range(200)), "value is never above 0"),
    ],
)
def test_a_bad_file_gets_one_sentence(tmp_path: Path, content: str, sentence: str) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(content)
    result = run(file)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_missing_file_gets_one_sentence(tmp_path: Path) -> None:
    result = run(tmp_path / "none.csv")
    assert result.exit_code == 2
    assert "none.csv: cannot be read: No such file or directory." in result.stderr
