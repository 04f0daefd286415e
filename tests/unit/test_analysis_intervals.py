"""Intervals against values computed by hand, and the frequency with which they contain the true value."""

import math

import numpy as np
import pytest

from nettrial.analysis import Interval, change, corrected, mean_interval, unpaired_change
from nettrial.analysis.changes import ALIKE, EQUAL


def test_mean_interval_of_one_to_five() -> None:
    # The mean is 3, the standard error is sqrt(2.5/5) = 0.7071068, and t(0.975; 4) = 2.7764451, which gives 3
    # ± 1.9632432.
    interval = mean_interval([1, 2, 3, 4, 5])
    assert interval is not None
    assert interval.low == pytest.approx(1.0367568, abs=1e-6)
    assert interval.high == pytest.approx(4.9632432, abs=1e-6)
    assert interval.half_width == pytest.approx(1.9632432, abs=1e-6)


@pytest.mark.parametrize("values", [[], [7.0]])
def test_fewer_than_two_values_give_no_interval(values: list[float]) -> None:
    assert mean_interval(values) is None


def test_equal_values_give_an_interval_without_width() -> None:
    assert mean_interval([0.1, 0.1, 0.1]) == Interval(0.1, 0.1)


def test_change_of_ratios_1_1_and_1_2_and_1_3() -> None:
    # The logarithms are 0.0953102, 0.1823216 and 0.2623643; their mean is 0.1799987, the standard error
    # 0.0482383, and t(0.975; 2) = 4.3026527. This gives 0.1799987 ± 0.2075528, which is exponentiated.
    found = change([(100, 110), (10, 12), (1000, 1300)])
    assert found.percent == pytest.approx(19.7216, abs=1e-3)
    assert found.interval is not None
    assert found.interval.low == pytest.approx(-2.7178, abs=1e-3)
    assert found.interval.high == pytest.approx(47.3368, abs=1e-3)
    assert (found.pairs, found.absent) == (3, None)


def test_pairing_takes_out_what_a_block_does_to_both() -> None:
    """Blocks differ by a factor of ten, but the ratio within a block varies little, so the interval of the
    change stays narrow."""
    found = change([(1, 1.2), (10, 12.1), (100, 119)])
    assert found.interval is not None
    assert found.interval.half_width < 3
    assert found.interval.contains(20)


def test_a_change_and_its_reverse_cancel() -> None:
    there, back = change([(4, 5), (6, 8), (5, 6)]), change([(5, 4), (8, 6), (6, 5)])
    assert there.percent is not None
    assert back.percent is not None
    assert (1 + there.percent / 100) * (1 + back.percent / 100) == pytest.approx(1)


def test_one_pair_has_a_change_without_an_interval() -> None:
    found = change([(200, 210)])
    assert found.percent == pytest.approx(5)
    assert found.interval is None
    assert found.absent == "one block gives no interval"


@pytest.mark.parametrize("pair", [(0.0, 1.0), (1.0, 0.0), (-1.0, 2.0)])
def test_zero_or_less_has_no_ratio(pair: tuple[float, float]) -> None:
    found = change([(1.0, 2.0), pair])
    assert (found.percent, found.interval, found.pairs) == (None, None, 2)
    alike = found.difference == 1
    assert found.absent == (ALIKE if alike else "a value of 0 or less has no ratio")
    assert (found.difference_interval is None) == alike


@pytest.mark.parametrize("pairs", [[(2, 3), (2, 3)], [(0.1, 0.3)] * 9, [(1.0, 1.1), (3.0, 3.3)]])
def test_blocks_that_are_all_alike_are_no_evidence(pairs: list[tuple[float, float]]) -> None:
    """The last pairs differ by rounding only. Of a deterministic backend, the same values are exact."""
    (found,) = corrected([change(pairs)])
    assert found.percent == pytest.approx(100 * (pairs[0][1] / pairs[0][0] - 1))
    assert (found.interval, found.simultaneous, found.log_error) == (None, None, None)
    assert found.absent == ALIKE
    assert found.shown == 0
    (exact,) = corrected([change(pairs, exact=True)])
    assert exact.shown == 1
    assert exact.absent is None


def test_equal_values_of_two_runs_are_no_evidence() -> None:
    (found,) = corrected([unpaired_change([2, 2, 2], [3, 3])])
    assert (found.interval, found.p_value, found.shown, found.absent) == (None, None, 0, EQUAL)
    (one_varies,) = corrected([unpaired_change([2, 2, 2], [3, 3.01])])
    assert one_varies.shown == 1


def test_no_pair_says_so() -> None:
    found = change([])
    assert found.percent is None
    assert found.absent == "it was not measured here and at the baseline in the same block"


@pytest.mark.parametrize(
    "blocks", [3, pytest.param(5, marks=pytest.mark.slow), pytest.param(20, marks=pytest.mark.slow)]
)
def test_intervals_hold_the_truth_19_times_of_20(blocks: int) -> None:
    """The coverage in 2000 simulated experiments with log-normal values and block effects must be within four
    standard errors of 95%."""
    generator = np.random.default_rng(20190201)
    held_change = held_mean = 0
    rounds = 2000
    for _ in range(rounds):
        block = generator.normal(0, 0.3, blocks)
        base = 50 * np.exp(block + generator.normal(0, 0.05, blocks))
        value = 50 * 1.1 * np.exp(block + generator.normal(0, 0.05, blocks))
        interval = change(list(zip(base.tolist(), value.tolist(), strict=True))).interval
        assert interval is not None
        held_change += interval.contains(10)
        plain = mean_interval(generator.normal(7, 2, blocks).tolist())
        assert plain is not None
        held_mean += plain.contains(7)
    error = 4 * math.sqrt(0.95 * 0.05 / rounds)
    assert abs(held_change / rounds - 0.95) < error
    assert abs(held_mean / rounds - 0.95) < error
