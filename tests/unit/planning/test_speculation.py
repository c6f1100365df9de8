import pytest

from inference_fleet.planning.speculation import Speculation, read_speculation


@pytest.mark.parametrize(
    ("args", "found"),
    [
        ((), None),
        (("--speculative-config", '{"method":"mtp","num_speculative_tokens":3}'), Speculation("mtp", 3, 1)),
        (('--speculative_config={"method":"ngram","num_speculative_tokens":5}',), Speculation("ngram", 5, 0)),
        (("--speculative-config", '{"model":"x","num_speculative_tokens":2}'), Speculation("draft_model", 2, 1)),
        (("--spec-method", "eagle3", "--spec-tokens", "4"), Speculation("eagle3", 4, 1)),
        (("--speculative-config", "{"), None),
        (("--speculative-config", "[1]"), None),
        (("--speculative-config", '{"method":"mtp","num_speculative_tokens":"many"}'), Speculation("mtp", 1, 1)),
    ],
)
def test_drafters_are_read_from_extra_args(args: tuple[str, ...], found: Speculation | None) -> None:
    assert read_speculation(args) == found
