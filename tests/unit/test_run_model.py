"""The intervals of changes within blocks: how often they contain the true values, in simulated runs.

Each kind of run is one that occurs: values with rare outliers, skewed, rounded, or with treatments whose
deviations differ, by chance or by level; blocks that affect each level differently; and values that depend
on the value before. The slow test prints the figures of docs/explanation/coverage.md: run pytest -s -m
slow."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest
from scipy import special, stats

from nettrial.analysis.changes import change, corrected
from nettrial.analysis.run_model import changes, errors, overall_changes

Floats = npt.NDArray[np.float64]
KINDS = (
    *("normal", "outliers", "log-normal", "rounded", "dependent", "block by level", "block by place"),
    *("unequal", "noisy level", "noisy baseline", "quiet level"),
)
SHAPES = ((2, 6), (3, 4), (6, 2), (12, 1))
"""The levels of a factor and the places at which each is compared with the first."""


@dataclass(frozen=True)
class Held:
    """Shares of experiments, of 1."""

    places: float
    """The share of intervals of single changes that contain the true change."""
    worst: float
    """This share at the place where it is smallest."""
    joint: float
    """The share of runs in which all simultaneous intervals do."""
    overall: float
    """The share of intervals of changes over all places that do."""
    seen: float
    """The share of changes of four deviations that simultaneous intervals show."""
    width: float
    """The median half-width of simultaneous intervals, of that of each pair alone."""


def values(draw: np.random.Generator, kind: str, shape: tuple[int, ...]) -> Floats:
    """Returns values without any effect, by experiment, level, place and block, with block effects as large
    as their deviation."""
    experiments, levels, places, blocks = shape
    noise = draw.normal(size=shape)
    level = np.arange(levels)[None, :, None, None]
    block = draw.normal(size=(experiments, 1, 1, blocks))
    if kind == "outliers":
        noise = noise * np.where(draw.random(shape) < 0.05, 5, 1)
    elif kind == "log-normal":
        noise = np.exp(noise)
    elif kind == "dependent":
        noise = _dependent(draw, shape)
    elif kind == "block by level":
        noise = noise + draw.normal(size=(experiments, levels, 1, blocks))
    elif kind == "block by place":
        noise = noise + draw.normal(size=(experiments, 1, places, blocks))
    elif kind == "unequal":
        noise = noise * 10 ** draw.random((experiments, levels, places, 1))
    elif kind == "noisy level":
        noise = noise * np.where(level == levels - 1, 10, 1)
    elif kind == "noisy baseline":
        noise = noise * np.where(level == 0, 10, 1)
    elif kind == "quiet level":
        noise = noise * np.where(level == levels - 1, 0.1, 1)
    elif kind == "one noisy treatment":
        noise = noise * np.where(np.arange(levels * places) == levels * places - 1, 10, 1).reshape(
            1, levels, places, 1
        )
    return np.round(noise + block) if kind == "rounded" else noise + block


def _dependent(draw: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    """Returns values whose neighbours in the random order of each block have a correlation of 0.5."""
    experiments, levels, places, blocks = shape
    steps = draw.normal(size=(experiments, blocks * levels * places))
    series = np.empty_like(steps)
    series[:, 0] = steps[:, 0]
    for number in range(1, series.shape[1]):
        series[:, number] = 0.5 * series[:, number - 1] + math.sqrt(0.75) * steps[:, number]
    by_block = series.reshape(experiments, blocks, levels * places)
    ordered = np.empty_like(by_block)
    np.put_along_axis(ordered, draw.random(by_block.shape).argsort(-1), by_block, -1)
    return np.moveaxis(ordered, 1, 2).reshape(shape)


def reach(error: Floats, freedom: Floats, comparisons: int = 1) -> Floats:
    half: Floats = special.stdtrit(freedom, 1 - 0.025 / comparisons) * error
    return half


def held(kind: str, levels: int, places: int, blocks: int, experiments: int, seed: int = 37) -> Held:
    """Returns how often the intervals of a family hold."""
    made = values(np.random.default_rng(seed), kind, (experiments, levels, places, blocks))
    rows = made.reshape(experiments, levels * places, blocks)
    here = np.arange(places, levels * places)
    step = 1 / 12 if kind == "rounded" else 0.0
    found = errors(rows, here % places, here, step)
    middle = (rows[:, here] - rows[:, here % places]).mean(-1)
    single = np.abs(middle) <= reach(found.error, found.freedom)
    together = reach(found.error, found.freedom, len(here))
    alone = (rows[:, here] - rows[:, here % places]).std(-1, ddof=1) / math.sqrt(blocks)
    over = made.mean(2)
    of_levels = errors(over, np.zeros(levels - 1, dtype=int), np.arange(1, levels), step / places)
    change_of_level = (over[:, 1:] - over[:, :1]).mean(-1)
    return Held(
        places=float(single.mean()),
        worst=float(single.mean(0).min()),
        joint=float((np.abs(middle) <= together).all(-1).mean()),
        overall=float((np.abs(change_of_level) <= reach(of_levels.error, of_levels.freedom)).mean()),
        seen=float((middle + 4 > together).mean()),
        width=float(np.median(together) / np.median(reach(alone, np.array(blocks - 1.0), len(here)))),
    )


def least(nominal: float, experiments: int) -> float:
    """Returns a nominal share less four standard errors."""
    return nominal - 4 * math.sqrt(nominal * (1 - nominal) / experiments)


def bounds(kind: str, levels: int, places: int, blocks: int) -> tuple[float, float, float]:
    """Returns the documented coverage of places, of families and over all places."""
    if kind == "noisy baseline" and levels > 2:
        return (0.90 if places > 1 else 0.83), 0.90, (0.80 if blocks < 5 else 0.89)
    if kind == "noisy level" and levels > 2:
        return 0.95, (0.94 if blocks > 2 else 0.91), 0.91
    if kind in ("noisy level", "noisy baseline", "quiet level", "block by level", "unequal"):
        return 0.94, 0.94, 0.93
    return 0.95, 0.95, 0.94


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_of_a_family_hold(kind: str) -> None:
    """This is the quick version of the slow test below; its experiments are always the same."""
    found = held(kind, 3, 4, 3, 400)
    places, joint, overall = bounds(kind, 3, 4, 3)
    assert found.places >= least(places, 400)
    assert found.joint >= least(joint, 400)
    assert found.overall >= least(overall, 400)


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [2, 3, 5, 10])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_intervals_of_families_hold_whatever_the_noise(shape: tuple[int, int], blocks: int) -> None:
    experiments = 3000
    for kind in KINDS:
        found = held(kind, *shape, blocks, experiments)
        print(
            f"\n{shape[0]} levels, {shape[1]} places, {blocks} blocks, {kind}: places {found.places:.1%} "
            f"(worst {found.worst:.1%}), joint {found.joint:.1%}, overall {found.overall:.1%}; "
            f"4 deviations seen {found.seen:.0%}; width {found.width:.2f}",
            end="",
        )
        for share, nominal in zip(
            (found.places, found.joint, found.overall), bounds(kind, *shape, blocks), strict=True
        ):
            assert share >= least(nominal, experiments), (kind, share, nominal)


WORST = {2: 0.79, 3: 0.87, 5: 0.91, 10: 0.935}
"""The coverage at the place of one treatment that is ten times as noisy as all others, by blocks."""


@pytest.mark.slow
@pytest.mark.parametrize("blocks", list(WORST))
def test_a_place_that_is_much_noisier_than_all_others_holds_less_often(blocks: int) -> None:
    found = held("one noisy treatment", 2, 6, blocks, 3000)
    print(f"\n{blocks} blocks: the noisy place {found.worst:.1%}, joint {found.joint:.1%}")
    assert found.worst >= least(WORST[blocks], 3000)
    assert found.joint >= least(0.90, 3000)


@pytest.mark.parametrize(("blocks", "seen", "width"), [(2, 0.20, 0.14), (3, 0.60, 0.5), (5, 0.97, 0.8)])
def test_more_is_shown_than_by_each_pair_alone(blocks: int, seen: float, width: float) -> None:
    """Each pair alone shows 4%, 14% and 76% of changes of four deviations."""
    found = held("normal", 2, 6, blocks, 2000)
    assert found.seen >= seen
    assert found.width <= width


@pytest.mark.parametrize(("blocks", "times"), [(3, 4.5), (5, 2.7), (10, 2)])
def test_treatments_a_hundred_times_as_noisy_widen_the_interval_of_a_quiet_pair_little(
    blocks: int, times: float
) -> None:
    """Without a bound, its interval would be 30 times as wide as that of the pair alone."""
    draw = np.random.default_rng(6)
    rows = draw.normal(size=(500, 4, blocks)) * np.array([1, 1, 100, 100])[None, :, None]
    found = errors(rows, np.array([0, 2]), np.array([1, 3]))
    wide = reach(found.error, found.freedom)[:, 0]
    alone = (rows[:, 1] - rows[:, 0]).std(-1, ddof=1) / math.sqrt(blocks)
    assert np.median(wide / reach(alone, np.array(blocks - 1.0))) <= times
    middle = (rows[:, 1] - rows[:, 0]).mean(-1)
    assert (np.abs(middle) <= wide).mean() >= 0.95


def test_two_treatments_have_students_t_of_their_pairs() -> None:
    rows = np.random.default_rng(1).normal(size=(2, 6))
    found = errors(rows, np.array([0]), np.array([1]))
    theirs = stats.ttest_rel(rows[1], rows[0])
    assert found.error[0] == pytest.approx(float((rows[1] - rows[0]).mean() / theirs.statistic))
    assert found.freedom[0] == 5


def test_the_variances_of_many_blocks_are_those_of_the_treatments() -> None:
    """Grubbs' estimate does not mix the treatments' variances, though the blocks' means contain them all."""
    deviations = np.array([1.0, 2.0, 3.0, 4.0])
    draw = np.random.default_rng(2)
    rows = draw.normal(size=(4, 40_000)) * deviations[:, None] + draw.normal(size=40_000) * 5
    found = errors(rows, np.array([0, 0, 0]), np.array([1, 2, 3]))
    expected = np.sqrt((1 + deviations[1:] ** 2) / 40_000)
    assert found.error == pytest.approx(expected, rel=0.02)


def test_absent_values_leave_the_model_as_the_others_have_it() -> None:
    """Residuals of incomplete blocks are those of least squares: a missing value changes little."""
    rows = np.random.default_rng(3).normal(size=(12, 10)) + 100 * np.arange(10)
    base, here = np.arange(6), np.arange(6, 12)
    whole = errors(rows, base, here)
    rows[0, 3] = rows[7, 5] = np.nan
    broken = errors(rows, base, here)
    assert broken.error == pytest.approx(whole.error, rel=0.5)
    assert broken.error[2:] == pytest.approx(whole.error[2:], rel=0.1)


@pytest.mark.slow
def test_intervals_hold_with_absent_values() -> None:
    draw, hit, count = np.random.default_rng(4), 0, 0
    for _ in range(2000):
        rows = values(draw, "normal", (1, 2, 6, 4)).reshape(12, 4)
        rows[draw.random(rows.shape) < 0.1] = np.nan
        found = errors(rows, np.arange(6), np.arange(6, 12))
        middle = np.array([np.nan if np.isnan(row).all() else np.nanmean(row) for row in rows[6:] - rows[:6]])
        known = np.isfinite(found.error)
        hit += int((np.abs(middle) <= reach(found.error, found.freedom))[known].sum())
        count += int(known.sum())
    assert hit / count >= 0.95


def blocks_of(*numbers: float) -> dict[int, float]:
    return dict(enumerate(numbers, start=1))


def test_a_change_that_is_the_same_in_every_block_has_the_spread_of_the_others() -> None:
    """Three equal pairs of counts are no proof; the others vary."""
    rows = [blocks_of(3, 3, 3), blocks_of(5, 5, 5), blocks_of(3, 2, 5), blocks_of(4, 6, 2)]
    same, other = changes(rows, [(0, 1), (2, 3)], exact=False, sequential=False)
    assert same.interval is not None
    assert same.interval.half_width > 10
    assert same.shown == 0
    assert other.interval is not None


def test_rounding_is_a_floor_of_the_spread() -> None:
    """Within blocks the ratios agree to 1 in 10^5, but the values are rounded to 1."""
    rows = [blocks_of(100, 200, 300), blocks_of(101, 202, 303.0)]
    (found,) = changes([*rows, blocks_of(7, 7, 7)], [(0, 1)], exact=False, sequential=False)
    assert found.interval is not None
    assert found.interval.half_width > 0.5


def test_exact_values_without_spread_neither_lend_nor_borrow_any() -> None:
    rows = [blocks_of(3, 3, 3), blocks_of(5, 5, 5), blocks_of(3, 2, 5), blocks_of(4, 6, 2)]
    same, other = changes(rows, [(0, 1), (2, 3)], exact=True, sequential=False)
    assert same.interval is not None
    assert same.interval.half_width == pytest.approx(0)
    (alone,) = corrected([change([(3, 4), (2, 6), (5, 2)])])
    assert other.interval is not None
    assert alone.interval is not None
    assert other.interval.half_width == pytest.approx(alone.interval.half_width)


def test_values_that_never_vary_have_no_interval() -> None:
    rows = [blocks_of(3, 3), blocks_of(5, 5), blocks_of(7, 7)]
    for found in changes(rows, [(0, 1), (0, 2)], exact=False, sequential=False):
        assert (found.interval, found.p_value, found.shown) == (None, None, 0)


@pytest.mark.parametrize("kind", ["counts", "rounded"])
@pytest.mark.parametrize("blocks", [2, 3])
def test_families_of_counts_and_rounded_values_show_no_false_change(kind: str, blocks: int) -> None:
    """Equal pairs gave 56% of families of counts and 62% of rounded values a false change."""
    draw = np.random.default_rng(5)
    false, experiments = 0, 120
    for _ in range(experiments):
        made = (
            draw.poisson(3, (12, blocks))
            if kind == "counts"
            else np.round(draw.normal(20, 0.6, (12, blocks)))
        )
        rows = [blocks_of(*map(float, row)) for row in made]
        compared = [(number, number + 6) for number in range(6)]
        false += any(found.shown for found in changes(rows, compared, exact=False, sequential=False))
    assert false / experiments <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / experiments)


def test_a_level_over_all_places_counts_a_block_once() -> None:
    """Two places that are copies of each other are no more evidence than one."""
    one = [blocks_of(10, 12, 11), blocks_of(11, 13, 13)]
    (once,) = overall_changes(one, [[(0, 1)]], exact=False, sequential=False)
    (twice,) = overall_changes([*one, *one], [[(0, 1), (2, 3)]], exact=False, sequential=False)
    assert once.interval is not None
    assert twice.interval is not None
    assert twice.interval.half_width == pytest.approx(once.interval.half_width)
