import numpy as np
import pytest

from inference_fleet.scaling.grid import Demand, bin_of, bins, known


def test_what_is_not_a_measurement_is_unknown_and_zero_is_one() -> None:
    values = known(np.array([0.0, 3.0, np.nan, np.inf, -np.inf, -1.0]))
    assert values[:2].tolist() == [0.0, 3.0]
    assert np.isnan(values[2:]).all()


def test_a_bin_is_the_mean_of_its_real_samples() -> None:
    observed = bin_of(7, np.array([10.0, np.nan, 20.0, 30.0]))
    assert (observed.index, observed.mean, observed.high) == (7, 20.0, 30.0)


@pytest.mark.parametrize("samples", [[], [np.nan] * 10, [5.0] * 4 + [np.nan] * 6])
def test_a_bin_with_too_few_samples_is_unknown_not_zero(samples: list[float]) -> None:
    assert np.isnan(bin_of(1, np.array(samples)).mean)


def test_only_whole_bins_are_made() -> None:
    found = list(bins(Demand(300.0, 60, np.arange(40.0))))
    # From 300 s to 2700 s: bins 1, 2 and 3 are whole.
    assert [observed.index for observed in found] == [1, 2, 3]
    assert found[0].mean == np.arange(5, 15).mean()


def test_coarse_samples_hold_for_all_their_bins() -> None:
    found = list(bins(Demand(0.0, 1800, np.array([4.0, 9.0]))))
    assert [observed.mean for observed in found] == [4.0] * 3 + [9.0] * 3
