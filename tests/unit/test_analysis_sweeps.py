"""Curves, ratios and steps, against records whose curves are known."""

import itertools
import random
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.formula.api import ols

from nettrial.analysis import Curve, boundaries, curves, estimate, mean_interval, ratios, steps
from nettrial.store import Run
from tests.unit.sweeps import PACKET_US, PAGE_BYTES, PAGE_US, make_sweep_run, mss
from tests.unit.synthetic import make_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_sweep_run(tmp_path_factory.mktemp("runs") / "run", step=20)


def curve_of(values: list[list[float]], sizes: list[int], transport: str = "udp", mtu: int = 1500) -> Curve:
    rows = np.array(values)
    blocks = tuple(range(1, len(rows) + 1))
    return Curve(
        "sweep", {}, transport, 4, mtu, mss(mtu), np.array(sizes, dtype=float), blocks, rows, rows, rows
    )


def packets(size: int, transport: str, ip: int, mtu: int) -> int:
    """Returns the number of packets of a message, by fragmenting it as RFCs 791, 8200 and 9293 and Linux
    prescribe."""
    if transport == "tcp":
        return -(-size // mss(mtu))
    header, fragment = (20, 0) if ip == 4 else (40, 8)
    left, count = size + 8, 1
    if left <= mtu - header:
        return 1
    piece = (mtu - header - fragment) // 8 * 8
    while left > (mtu - header if ip == 4 else piece):
        left -= piece
        count += 1
    return count


@given(
    transport=st.sampled_from(["udp", "tcp"]),
    ip=st.sampled_from([4, 6]),
    mtu=st.integers(1280, 9000),
    last=st.integers(1000, 65_507),
)
def test_boundaries_are_where_one_packet_more_is_taken(transport: str, ip: int, mtu: int, last: int) -> None:
    none = np.zeros((1, 1))
    curve = Curve("sweep", {}, transport, ip, mtu, mss(mtu), np.array([float(last)]), (1,), none, none, none)
    found = boundaries(curve)
    for number, place in enumerate(found, start=1):
        assert packets(place, transport, ip, mtu) == number
        assert packets(place + 1, transport, ip, mtu) == number + 1
    assert packets(last, transport, ip, mtu) == len(found) + 1


def test_the_papers_mtus_have_these_boundaries(run: Run) -> None:
    udp, _, large, _ = curves(run)
    assert boundaries(udp)[:3] == [1472, 2952, 4432]
    assert boundaries(large) == [8972, 17_948, 26_924, 35_900, 44_876, 53_852, 62_828]


def test_curves_are_those_of_the_records(run: Run) -> None:
    found = curves(run)
    assert [tuple(curve.treatment.values()) for curve in found] == [
        ("1500 B", "udp"),
        ("1500 B", "tcp"),
        ("9000 B", "udp"),
        ("9000 B", "tcp"),
    ]
    first = found[0]
    trials = [trial for trial in run.trials() if trial.planned.treatment == first.treatment]
    assert first.blocks == tuple(trial.planned.block for trial in trials)
    at = 123
    values = [trial.record.flows[0].sizes[at].rtt_us[0] for trial in trials]
    assert first.sizes[at] == trials[0].record.flows[0].sizes[at].size_bytes
    assert first.rtt_us[:, at].tolist() == values
    assert first.minimum_us[:, at] == pytest.approx(np.array(values) / 1.1)
    shown = estimate(first.sizes, first.rtt_us)
    expected = mean_interval(values)
    assert shown.mean[at] == pytest.approx(np.mean(values))
    assert (shown.low[at], shown.high[at]) == pytest.approx((expected.low, expected.high))


def test_groups_of_sizes_keep_the_mean_and_its_interval_over_trials(run: Run) -> None:
    curve = curves(run)[0]
    shown = estimate(curve.sizes, curve.rtt_us, groups=10)
    first = curve.sizes <= shown.sizes[0] * 2 - 1000
    values = curve.rtt_us[:, first].mean(axis=1).tolist()
    assert len(shown.sizes) == 10
    assert shown.mean[0] == pytest.approx(np.mean(values))
    assert shown.low[0] == pytest.approx(mean_interval(values).low)


def test_ratios_are_paired_by_block(run: Run) -> None:
    found = curves(run)
    udp, tcp = ratios(run.study, found)
    assert (udp.treatment, udp.baseline) == ({"mtu": "9000 B", "transport": "udp"}, "1500 B")
    assert tcp.treatment["transport"] == "tcp"
    here = dict(zip(found[2].blocks, found[2].rtt_us, strict=True))
    base = dict(zip(found[0].blocks, found[0].rtt_us, strict=True))
    logs = [float(np.log(here[block][7] / base[block][7])) for block in sorted(here)]
    assert udp.pairs == 5
    assert np.log(udp.ratio.mean[7]) == pytest.approx(np.mean(logs))
    assert np.log(udp.ratio.low[7]) == pytest.approx(mean_interval(logs).low)


def test_every_step_is_found_with_its_height(run: Run) -> None:
    for found in steps(curves(run)):
        assert found.expected
        assert all(step.is_shown for step in found.expected)
        heights = [step.height_us for step in found.expected]
        assert np.mean(heights) == pytest.approx(PACKET_US, abs=0.1)
        cost = mean_interval(found.packet_us)
        assert cost is not None
        assert cost.low - 0.1 < PACKET_US < cost.high + 0.1
        covered = [step.interval.contains(PACKET_US) for step in found.expected]
        assert sum(covered) >= stats.binom.ppf(1e-4, len(covered), 0.95)
        assert sum(step.seen for step in found.in_reach) > 0.8 * len(found.in_reach)


def test_a_step_that_no_boundary_explains_is_found_too(run: Run) -> None:
    for found in steps(curves(run)):
        (other,) = found.other
        assert other.after_bytes == pytest.approx(PAGE_BYTES, abs=100)
        assert other.interval.low - 0.3 < PAGE_US < other.interval.high + 0.3
        assert other.packets is None


def noise(seed: int, trials: int = 5, step: int = 10) -> Curve:
    """Returns a noisy line without a step."""
    draw = random.Random(seed)
    sizes = list(range(1000, 30_001, step))
    return curve_of([[10 + size / 1000 + draw.gauss(0, 0.5) for size in sizes] for _ in range(trials)], sizes)


def test_without_steps_hardly_any_is_found() -> None:
    found = steps([noise(seed) for seed in range(10)])
    wrong = [step for each in found for step in each.expected if step.is_shown]
    assert len(wrong) <= 2
    searched = sum(bool(each.other) or any(step.seen for step in each.expected) for each in found)
    assert searched <= stats.binom.ppf(1 - 1e-4, 10, 0.01)


def test_a_step_down_is_no_boundary_found() -> None:
    sizes = list(range(500, 4000, 10))
    draw = random.Random(1)
    rows = [[30 - 5 * (size > 1472) + draw.gauss(0, 0.1) for size in sizes] for _ in range(5)]
    (found,) = steps([curve_of(rows, sizes)])
    first = found.expected[0]
    assert first.height_us == pytest.approx(-5, abs=0.2)
    assert not first.is_shown
    assert first.seen


def test_one_trial_has_heights_and_no_judgement() -> None:
    (found,) = steps([noise(1, trials=1)])
    assert all(
        (step.interval, step.probability, step.is_shown) == (None, None, False) for step in found.expected
    )


@pytest.mark.parametrize("height_us", [0.464, 0.01])
def test_a_step_of_trials_that_are_exactly_equal_is_found(height_us: float) -> None:
    """A simulated curve is exact to the nanosecond, and the same in every trial."""
    sizes = list(range(1000, 4000, 10))
    row = [round(10 + 0.008 * size + height_us * (size > 1472), 3) for size in sizes]
    (found,) = steps([curve_of([row] * 3, sizes)])
    first, *rest = found.expected
    assert first.height_us == pytest.approx(height_us, abs=1e-3)
    assert first.is_shown
    assert not any(step.is_shown for step in rest)


def test_a_bend_of_a_simulated_curve_is_no_step() -> None:
    """Up to one segment, a byte takes its time on two links, and then on one."""
    sizes = list(range(1000, 3644))
    row = [
        round(3.264 + 0.016 * min(size, 1448) + 1.44 * (size > 1448) + 0.008 * max(size - 1448, 0), 3)
        for size in sizes
    ]
    (found,) = steps([curve_of([row] * 2, sizes, "tcp")])
    assert [(step.is_shown, round(step.height_us, 2)) for step in found.expected] == [
        (True, 1.44),
        (False, 0.0),
    ]
    assert found.other == ()


def test_the_judgement_by_sizes_is_that_of_statsmodels() -> None:
    draw = np.random.default_rng(5)
    sizes = np.arange(1000, 2000, 10)
    row = (10 + 0.008 * sizes + 0.3 * (sizes > 1472) + draw.normal(0, 0.3, len(sizes))).tolist()
    (found,) = steps([curve_of([row] * 2, sizes.tolist())])
    (step,) = found.expected
    at = sizes - 1472
    table = pd.DataFrame({"y": row, "at": at, "step": (at > 0).astype(float)})
    fitted = ols("y ~ at + step", data=table).fit()
    assert step.height_us == pytest.approx(fitted.params["step"])
    assert step.probability == pytest.approx(fitted.pvalues["step"])


def test_equal_trials_are_no_evidence() -> None:
    sizes = list(range(1000, 4000, 10))
    (found,) = steps([curve_of([[float(size) for size in sizes]] * 5, sizes)])
    assert found.expected
    assert not any(step.is_shown for step in found.expected)


def test_sizes_that_are_far_apart_say_so() -> None:
    (found,) = steps([noise(1, step=500)])
    assert found.expected == ()
    assert found.skipped == len(boundaries(found.curve))
    assert found.unsearched == "sizes 500 B apart are too far from each other for a search"
    uneven = curve_of([[1.0, 2.0, 3.0]], [1000, 1010, 1030])
    assert steps([uneven])[0].unsearched == "the sizes are not evenly spaced"


def test_probabilities_are_adjusted_for_all_boundaries() -> None:
    made = [noise(1), noise(2)]
    together = [step.probability for each in steps(made) for step in each.expected]
    raw = []
    for curve, each in zip(made, steps(made), strict=True):
        for step in each.expected:
            around = [place for place in boundaries(curve) if place != step.after_bytes]
            width = min(2000, *(abs(step.after_bytes - place) for place in around))
            at = curve.sizes - step.after_bytes
            inside = (at > -width) & (at <= width)
            model = np.column_stack([np.ones(inside.sum()), at[inside], at[inside] > 0])
            heights = np.linalg.lstsq(model, curve.minimum_us[:, inside].T, rcond=None)[0][2]
            raw.append(stats.ttest_1samp(heights, 0).pvalue)
    assert together == pytest.approx(stats.false_discovery_control(raw).tolist())


def test_a_study_without_a_sweep_has_no_curves(tmp_path: Path) -> None:
    assert curves(make_run(tmp_path / "run", trials=1, replicates=1)) == []


def test_a_run_that_has_just_begun_has_what_there_is(tmp_path: Path) -> None:
    begun = make_sweep_run(tmp_path / "run", trials=1, step=500)
    (only,) = curves(begun)
    assert only.rtt_us.shape == (1, 130)
    assert ratios(begun.study, [only]) == []
    assert make_sweep_run(tmp_path / "none", trials=0).trials() == []
    assert list(itertools.chain(curves(Run.open(tmp_path / "none")))) == []
