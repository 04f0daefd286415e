"""The choice of the traffic's duration and of the number of replicates, from a pilot.

A trial of the duration d takes the time c + d, where c is its overhead, and its value has the variance b +
w/d: b differs between trials, and w/d is what is left of the variation within one after averaging over it.
For a given time, the mean is known best at d = √(c · w / b), whatever the time is (T. Kalibera and R. Jones,
"Rigorous benchmarking in reasonable time", ISMM 2013, section 8: the optimal number of repetitions at a lower
level). The pilot runs trials of two durations in the same blocks, so that both variances follow from the
difference of the variances of their values, for any metric. Durations are chosen between these two: beyond
them, nothing was measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from nettrial.analysis.intervals import CONFIDENCE, quantile
from nettrial.analysis.planning import fewest
from nettrial.analysis.sequential import widening

FEWEST_REPLICATES = 2
"""The fewest replicates from which a deviation follows."""


@dataclass(frozen=True)
class PilotVariation:
    """The variation of a response in a pilot, relative to its mean."""

    response: str
    """The response's name."""
    between: float
    """The variance between trials that does not depend on their duration."""
    within: float
    """The variance within trials: that of the mean over a second."""
    shift: float | None
    """The change of the mean from the longest to the shortest duration, in percent, if the pilot shows one
    that is not smaller than the smallest effect of interest; otherwise None."""

    def deviation(self, seconds: float) -> float:
        """Returns the standard deviation of trials of that duration, relative to the mean."""
        return math.sqrt(self.between + self.within / seconds)

    def optimum(self, overhead: float) -> float:
        """Returns the best duration in seconds for trials with that overhead; infinite if trials differ only
        because they are short."""
        return math.sqrt(overhead * self.within / self.between) if self.between > 0 else math.inf


def variation(
    response: str, values: Mapping[float, Sequence[Sequence[float]]], smallest_effect: float
) -> PilotVariation | None:
    """Returns the variation of a response, whose `values` by duration in seconds are, for each treatment,
    those of the blocks. Returns None if there are too few values above 0. `smallest_effect` is in percent."""
    variances = {seconds: _variance(groups) for seconds, groups in values.items()}
    if not values or any(of_values is None for of_values in variances.values()):
        return None
    known = {seconds: of_values for seconds, of_values in variances.items() if of_values is not None}
    short, long = min(known), max(known)
    if short == long:
        return PilotVariation(response, known[long], 0.0, None)
    slope = (known[short] - known[long]) / (1 / short - 1 / long)
    within = min(max(slope, 0.0), known[long] * long)
    between = max(known[long] - within / long, 0.0)
    return PilotVariation(response, between, within, _shift(values[short], values[long], smallest_effect))


def _variance(groups: Sequence[Sequence[float]]) -> float | None:
    """Returns the variance of the logarithms within groups, which for small variations is that relative to
    the mean; None without two values above 0 in a group."""
    usable = [group for group in groups if len(group) > 1 and min(group) > 0]
    freedom = sum(len(group) - 1 for group in usable)
    if not freedom:
        return None
    logs = [[math.log(value) for value in group] for group in usable]
    return sum((len(group) - 1) * variance(group) for group in logs) / freedom


def _shift(
    short: Sequence[Sequence[float]], long: Sequence[Sequence[float]], smallest_effect: float
) -> float | None:
    ratios = [
        math.log(one / other)
        for some, others in zip(short, long, strict=True)
        for one, other in zip(some, others, strict=False)
        if one > 0 and other > 0
    ]
    if len(ratios) < 2:
        return None
    half = quantile(len(ratios) - 1) * math.sqrt(variance(ratios) / len(ratios))
    middle = fmean(ratios)
    percent = 100 * math.expm1(middle)
    return percent if abs(middle) > half and abs(percent) >= smallest_effect else None


@dataclass(frozen=True)
class DesignChoice:
    """The duration and the number of replicates of a run."""

    seconds: float
    """The duration of the traffic."""
    replicates: int
    """The number of replicates that fit; with a desired precision, the number that it takes."""
    fitting: int
    """The number of replicates that fit into the budget."""
    widths: Mapping[str, float]
    """The expected half-width of the interval of each response's mean, in percent."""
    shifted: Sequence[float] = ()
    """The shorter durations that were not taken because values at them differ."""


def choose(
    variations: Sequence[PilotVariation],
    durations: Sequence[float],
    overhead: float,
    treatments: int,
    budget: float,
    wanted: Mapping[str, float] | None = None,
) -> DesignChoice | None:
    """Returns the choice with the narrowest expected intervals of the least precise response within `budget`
    seconds, or the one that reaches the `wanted` half-widths (percent by response) soonest. Returns None if
    not even two blocks of the shortest traffic fit.

    Shorter traffic at which the pilot shows other values is not taken, unless nothing else fits."""
    fitting = {seconds: _blocks(seconds, overhead, treatments, budget) for seconds in sorted(durations)}
    fitting = {seconds: blocks for seconds, blocks in fitting.items() if blocks >= FEWEST_REPLICATES}
    if not fitting:
        return None
    shifted = []
    if any(each.shift is not None for each in variations) and max(durations) in fitting:
        shifted = [seconds for seconds in fitting if seconds < max(durations)]
        fitting = {max(durations): fitting[max(durations)]}
    choices = [
        DesignChoice(seconds, blocks, blocks, _widths(variations, seconds, blocks), shifted)
        for seconds, blocks in fitting.items()
    ]
    if wanted:
        return _soonest(choices, variations, overhead, wanted)
    # Of equal ones, that with the longest traffic is closest to the study.
    return min(choices, key=lambda each: (max(each.widths.values(), default=0.0), -each.seconds))


def _blocks(seconds: float, overhead: float, treatments: int, budget: float) -> int:
    return int(budget / (treatments * (seconds + overhead)))


def _widths(variations: Sequence[PilotVariation], seconds: float, blocks: int) -> dict[str, float]:
    factor = quantile(blocks - 1) / math.sqrt(blocks)
    return {each.response: 100 * factor * each.deviation(seconds) for each in variations}


def _soonest(
    choices: Sequence[DesignChoice],
    variations: Sequence[PilotVariation],
    overhead: float,
    wanted: Mapping[str, float],
) -> DesignChoice:
    """Returns the choice that needs the least time for the precision, with the number of blocks that it
    takes, up to those that fit."""

    def factor(count: int) -> float:
        return widening(count, CONFIDENCE)

    def needed(choice: DesignChoice) -> float:
        blocks: list[float] = [FEWEST_REPLICATES]
        for each in variations:
            if each.response in wanted:
                count = _fewest(factor, 100 * each.deviation(choice.seconds), wanted[each.response])
                blocks.append(count)
        return max(blocks)

    best = min(choices, key=lambda each: (needed(each) * (each.seconds + overhead), -each.seconds))
    blocks = int(min(needed(best), best.replicates))
    widths = _widths(variations, best.seconds, blocks)
    return DesignChoice(best.seconds, blocks, best.replicates, widths, best.shifted)


def _fewest(factor: Callable[[int], float], deviation: float, wanted: float) -> float:
    blocks = fewest(factor, deviation, wanted)
    return math.inf if blocks is None else blocks
