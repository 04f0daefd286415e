"""Warnings about patterns in a run's order and values that make intervals less reliable than they look.

Each finding states the observation and a remedy, in the form of a warning; none is part of a record."""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from scipy import special

from nettrial.analysis.intervals import holm
from nettrial.analysis.run_order import Order
from nettrial.analysis.summary import Cell, ResponseSummary, Summary
from nettrial.analysis.warning_groups import WarningGroup, merge, pattern

LEVEL = 0.01
"""The significance level of the p-values, which are corrected for all tests of order, or of skewness, of the
run (Holm)."""
AUTOCORRELATION = 0.2
"""The least autocorrelation for a warning: less hardly affects an interval."""
HALVES = 0.5
"""The least distance of the run's halves for a warning, in standard deviations within treatments."""
SKEWNESS = 0.5
"""The least mean skewness of the treatments for a warning."""


NOISY = 3.0
"""The least ratio of the deviation of a treatment's values to that of all others for a warning."""
FEWEST_TREATMENTS = 3
"""The number of treatments from which on the spread of one is compared with that of the others: changes
between two depend on their own spread alone."""


@dataclass(frozen=True)
class _Seen:
    """A finding about one response, in the trials of `cells`."""

    code: str
    response: ResponseSummary
    message: str
    consequence: str
    cells: Sequence[Cell]


def noise(summary: Summary, orders: Sequence[Order], simulated: bool = False) -> list[WarningGroup]:
    """Returns warnings about drift, correlated neighbours, skewed values and values without spread; responses
    with the same finding share a warning. For simulated trials it only checks skewness: the time and the
    order in which they ran don't matter, and values without spread are not a fault of the measurement."""
    of_order = [p for each in orders for p in (each.autocorrelation_p, each.drift_p, each.halves_p)]
    corrected = iter(holm([p for p in of_order if p is not None]))
    skewed = iter(holm([each.skewness_p for each in orders if each.skewness_p is not None]))
    seen: list[_Seen] = []
    for response, each in zip(summary.responses, orders, strict=True):
        if each.drift_p is not None:
            alike, drift, halves = next(corrected), next(corrected), next(corrected)
            seen += [] if simulated else _of_order(response, each, alike, min(drift, halves))
        if each.skewness_p is not None:
            seen += _of_skewness(response, each, next(skewed))
        seen += [] if simulated else _of_equal_values(response)
        seen += _of_split_blocks(response, summary)
    seen += _of_noisy_treatments(summary)
    return _together(seen)


def _of_order(response: ResponseSummary, order: Order, alike: float, moved: float) -> list[_Seen]:
    """Returns the warnings about drift or, without drift, about correlated neighbours, which drift also
    causes."""
    assert order.autocorrelation is not None
    assert order.halves is not None
    assert order.drift is not None
    if moved < LEVEL and max(abs(order.halves), abs(order.drift) / 2) >= HALVES:
        way = "rose" if order.drift > 0 else "fell"
        message = f"values {way} from the start to the end of the run"
        if order.drift_percent is not None and order.halves_percent is not None:
            message += (
                f" by {abs(order.drift_percent):.2g}% of the mean (second half of the run against the "
                f"first: {order.halves_percent:+.2g}%)"
            )
        consequence = (
            "changes are compared within blocks and hardly affected, but means and their intervals are: "
            "let the machine warm up longer (warmup), stop other work, and look at the run order"
        )
        return [_Seen("drift", response, message, consequence, response.cells)]
    if alike < LEVEL and order.autocorrelation >= AUTOCORRELATION:
        consequence = (
            "trials close in time are correlated, so the intervals of means may be too narrow; changes are "
            "compared within blocks: rely on those, use more blocks, and stop other work on the machine"
        )
        message = (
            f"neighbouring trials have a correlation of {order.autocorrelation:.2f} beyond that of their "
            "treatments"
        )
        return [_Seen("autocorrelation", response, message, consequence, response.cells)]
    return []


def _of_skewness(response: ResponseSummary, order: Order, skewed: float) -> list[_Seen]:
    assert order.skewness is not None
    if skewed >= LEVEL or abs(order.skewness) < SKEWNESS:
        return []
    consequence = (
        "with few skewed values, Student's t interval contains the true mean in less than 95% of runs: "
        "look at the medians and their intervals, or use more replicates"
    )
    side = "high" if order.skewness > 0 else "low"
    message = f"values within treatments are skewed, with a tail of {side} values ({abs(order.skewness):.1f})"
    return [_Seen("skewed_values", response, message, consequence, response.cells)]


def _of_noisy_treatments(summary: Summary) -> list[_Seen]:
    """Returns the warnings about treatments whose values vary much more than those of all others, by F
    tests."""
    noisier = [(response, *each) for response in summary.responses for each in _noisier(response.cells)]
    corrected = holm([p for *_, p in noisier])
    consequence = (
        "the intervals of its changes use the spread of all treatments, too, and contain the true change in "
        "less than 95% of runs: in 81% of those with 2 blocks, 89% with 3 and 93% with 5; use more blocks"
    )
    return [
        _Seen(
            "noisy_treatment",
            response,
            f"values under a treatment vary {ratio:.2g} times as much as under the others",
            consequence,
            [cell],
        )
        for (response, cell, ratio, _), p in zip(noisier, corrected, strict=True)
        if p < LEVEL and ratio >= NOISY
    ]


def _noisier(cells: Sequence[Cell]) -> list[tuple[Cell, float, float]]:
    """Returns each treatment with the ratio of the deviation of its values to that of all others, and its
    p-value by an F test. Those with too few or equal values are left out. Values above 0 are compared as
    logarithms, as changes are."""
    positive = all(value > 0 for each in cells for value in each.values.values())
    varied = [
        (each, np.log(values) if positive else np.asarray(values, dtype=float))
        for each in cells
        if len(values := list(each.values.values())) > 1 and min(values) < max(values)
    ]
    if len(varied) < FEWEST_TREATMENTS:
        return []
    variances = [float(np.var(values, ddof=1)) for _, values in varied]
    freedoms = [len(values) - 1 for _, values in varied]
    all_freedoms = sum(freedoms)
    squares = [variance * freedom for variance, freedom in zip(variances, freedoms, strict=True)]
    before = [0.0, *accumulate(squares)]
    after = [*reversed([*accumulate(reversed(squares))]), 0.0]
    ratios = []
    for number, (cell, _) in enumerate(varied):
        others, freedom = before[number] + after[number + 1], all_freedoms - freedoms[number]
        if others:
            ratio = variances[number] * freedom / others
            ratios.append((cell, math.sqrt(ratio), float(special.fdtrc(cell.n - 1, freedom, ratio))))
    return ratios


def _of_equal_values(response: ResponseSummary) -> list[_Seen]:
    equal = [cell for cell in response.cells if cell.n > 1 and cell.deviation == 0]
    if not equal:
        return []
    consequence = (
        "equal values are no evidence of their spread, so their mean has no interval, and the interval of a "
        "change from or to them may be too narrow: the metric's resolution may be coarser than its "
        "variation, or the trials may not be independent"
    )
    message = "all values of a treatment are equal"
    return [_Seen("equal_values", response, message, consequence, equal)]


def _of_split_blocks(response: ResponseSummary, summary: Summary) -> list[_Seen]:
    """Returns a warning about the blocks whose trials did not all run on one set of machines."""
    if not summary.sets:
        return []
    sets: dict[int, set[str]] = {}
    for cell in response.cells:
        for block, trial in cell.trials.items():
            sets.setdefault(block, set()).add(summary.sets.get(trial, "none"))
    split = {block: names for block, names in sorted(sets.items()) if len(names) > 1}
    if not split:
        return []
    names = ", ".join(sorted(set().union(*split.values())))
    blocks = ("block " if len(split) == 1 else "blocks ") + ", ".join(map(str, split))
    consequence = (
        "changes are compared within blocks, and in these they include the difference between the sets' "
        "machines: resume a run with the sets that began it"
    )
    message = f"{blocks} ran on several sets of machines: {names}"
    return [
        _Seen(
            "split_block",
            response,
            message,
            consequence,
            [_only(cell, split.keys()) for cell in response.cells],
        )
    ]


def _only(cell: Cell, blocks: Set[int]) -> Cell:
    """Returns a cell with the values of these blocks alone."""
    kept = blocks & cell.values.keys()
    return replace(
        cell,
        values={block: cell.values[block] for block in sorted(kept)},
        trials={block: cell.trials[block] for block in sorted(kept)},
    )


def _together(signs: Sequence[_Seen]) -> list[WarningGroup]:
    """Merges findings that differ only in numbers, in the order of their first occurrences."""
    alike: dict[tuple[str, str, str], list[_Seen]] = {}
    for seen in signs:
        alike.setdefault((seen.code, pattern(seen.message), seen.consequence), []).append(seen)
    return [_group(group) for group in alike.values()]


def _group(signs: Sequence[_Seen]) -> WarningGroup:
    concerned = [cell for seen in signs for cell in seen.cells if cell.n]
    treatments = {tuple(cell.treatment.items()): cell.treatment for cell in concerned}
    first, about = signs[0], [seen.response.response for seen in signs]
    return WarningGroup(
        first.code,
        "; ".join(each.title for each in about),
        merge([seen.message for seen in signs]),
        first.consequence,
        frozenset(trial for cell in concerned for trial in cell.trials.values()),
        tuple(treatments.values()),
        tuple(each.name for each in about),
    )
