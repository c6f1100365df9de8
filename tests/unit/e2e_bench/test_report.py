import json

from e2e.bench.report import Figure, as_json, missed


def test_a_bound_is_missed_when_reached_and_a_limit_when_passed() -> None:
    bound = Figure("rest", "CPU", 1.0, "%", 1)
    limit = Figure("rest", "writes", 0, "", 0, below=False)
    told = Figure("rest", "scrape", 99, "s")
    assert (bound.met, limit.met, told.met) == (False, True, None)
    assert missed([bound, limit, told]) == [bound]


def test_json_says_whether_all_was_met() -> None:
    found = json.loads(as_json(10, [Figure("create", "ratio", 1.2, "x", 1.3)]))
    assert found["met"] is True
    assert found["figures"][0] == {
        "benchmark": "create",
        "what": "ratio",
        "measured": 1.2,
        "unit": "x",
        "target": 1.3,
        "met": True,
    }
