"""The number of blocks needed for a desired precision, and their duration, estimated from the variation in
earlier runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance

from scipy import special

from nettrial.analysis.intervals import CONFIDENCE, quantile
from nettrial.analysis.run_digest import digest, trial_responses
from nettrial.analysis.sequential import widening
from nettrial.analysis.summary import Levels
from nettrial.store import Run

ASSURANCE = 0.9
"""The probability with which the larger estimate covers the true spread."""
MOST_BLOCKS = 10**6
"""The limit of the search."""


@dataclass(frozen=True)
class Blocks:
    """The number of blocks until an interval is narrow enough; None for more than `MOST_BLOCKS`."""

    expected: int | None
    """The number if values vary as they did."""
    assured: int | None
    """The number with the largest variation compatible with the earlier trials at `ASSURANCE`."""


@dataclass(frozen=True)
class Need:
    """The trials needed for the mean of a response under a treatment."""

    response: str
    """The response's name."""
    treatment: Levels
    """The level of each factor."""
    wanted: float
    """The desired half-width of the interval, in percent of the mean."""
    trials: int
    """The number of earlier trials that gave a value."""
    variation: float | None
    """The standard deviation of the earlier trials within a run, in percent of the mean."""
    fixed: Blocks | None
    """The blocks for an interval by Student's t, with a number of trials fixed beforehand."""
    sequential: Blocks | None
    """The blocks for an interval of a confidence sequence, for `nettrial run --until`."""
    absent: str | None
    """The reason why the number is unknown."""


def needs(runs: Sequence[Run], treatments: Iterable[Levels], wanted: Mapping[str, float]) -> list[Need]:
    """Returns the trials needed for each response with a desired precision (percent), under each
    treatment."""
    tables = [_values(run) for run in runs]
    chosen = list(treatments)
    return [
        _need(
            response,
            treatment,
            percent,
            [table.get((response, *sorted(treatment.items())), []) for table in tables],
        )
        for response, percent in wanted.items()
        for treatment in chosen
    ]


def seconds(runs: Sequence[Run]) -> dict[tuple[tuple[str, str], ...], float]:
    """Returns the mean duration of a trial in seconds, by the sorted levels of its treatment."""
    spans: dict[tuple[tuple[str, str], ...], list[float]] = {}
    for run in runs:
        read = digest(run)
        for planned, (_, total_ns) in zip(read.finished, read.spans, strict=True):
            spans.setdefault(tuple(sorted(planned.treatment.items())), []).append(total_ns / 1e9)
    return {treatment: fmean(durations) for treatment, durations in spans.items()}


def _values(run: Run) -> dict[tuple[object, ...], list[float]]:
    """Returns the values by response and levels."""
    values: dict[tuple[object, ...], list[float]] = {}
    factors = sorted(run.study.factors)
    for each in trial_responses(run):
        if each.value is not None:
            key = (each.response, *((name, each.trial.treatment[name]) for name in factors))
            values.setdefault(key, []).append(each.value)
    return values


def _need(response: str, treatment: Levels, wanted: float, samples: Sequence[Sequence[float]]) -> Need:
    """Returns the estimate for a response under a treatment. Spreads are pooled over runs, whose means may
    differ."""
    values = [value for sample in samples for value in sample]
    several = [sample for sample in samples if len(sample) > 1]
    unknown = Need(response, treatment, wanted, len(values), None, None, None, None)
    if not values:
        return _because(unknown, "no earlier trial gave a value")
    if not several:
        return _because(unknown, "one earlier trial shows no spread")
    freedom = sum(len(sample) - 1 for sample in several)
    spread = math.sqrt(sum((len(sample) - 1) * variance(sample) for sample in several) / freedom)
    mean = abs(fmean(values))
    if all(min(sample) == max(sample) for sample in several):
        return _because(unknown, "all earlier values are equal: they show no spread")
    if not mean:
        return _because(unknown, "the mean is 0, so that there is no relative precision")
    # The spread's upper bound (R. H. Browne, On the use of a pilot sample for sample size determination,
    # Statistics in Medicine 14, 1995).
    larger = spread * math.sqrt(freedom / float(special.chdtri(freedom, ASSURANCE)))

    def blocks(factor: Callable[[int], float]) -> Blocks:
        return Blocks(
            fewest(factor, 100 * spread / mean, wanted), fewest(factor, 100 * larger / mean, wanted)
        )

    return Need(
        response=response,
        treatment=treatment,
        wanted=wanted,
        trials=len(values),
        variation=100 * spread / mean,
        fixed=blocks(lambda count: quantile(count - 1)),
        sequential=blocks(lambda count: widening(count, CONFIDENCE)),
        absent=None,
    )


def _because(need: Need, absent: str) -> Need:
    return Need(need.response, need.treatment, need.wanted, need.trials, None, None, None, absent)


def fewest(factor: Callable[[int], float], variation: float, wanted: float) -> int | None:
    """Returns the smallest number of trials whose interval has a half-width (`factor` standard errors) of at
    most `wanted`, if values have the standard deviation `variation` (both in percent of the mean); None for
    more than `MOST_BLOCKS`. It is found by search, because the factor depends on the number."""

    def narrow(count: int) -> bool:
        return factor(count) * variation / math.sqrt(count) <= wanted

    high = 2
    while not narrow(high):
        high *= 2
        if high > 2 * MOST_BLOCKS:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if narrow(middle) else (middle, high)
    return high if high <= MOST_BLOCKS else None
