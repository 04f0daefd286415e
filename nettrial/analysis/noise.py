"""Warnings of what makes intervals less sure than they look, in a run's order and in its values.

Each finding says what was seen and what to do, in the form of a warning; none is part of a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nettrial.analysis.intervals import holm
from nettrial.analysis.run_order import Order
from nettrial.analysis.summary import Cell, ResponseSummary, Summary
from nettrial.analysis.warning_groups import WarningGroup, merge, pattern

LEVEL = 0.01
"""A test counts where its p-value is below, corrected for every test of order, or of skewness, of the run
(Holm)."""
AUTOCORRELATION = 0.2
"""Neighbours less alike than that hardly touch an interval."""
HALVES = 0.5
"""The halves' distance, in standard deviations within treatments, from which it counts."""
SKEWNESS = 0.5
"""The mean of the treatments' skewness, from which it counts."""


@dataclass(frozen=True)
class _Seen:
    """A finding about one response, seen in the trials of `cells`."""

    code: str
    response: ResponseSummary
    message: str
    consequence: str
    cells: Sequence[Cell]


def noise(summary: Summary, found: Sequence[Order], simulated: bool = False) -> list[WarningGroup]:
    """Warnings of drift, of neighbours alike, of skewed values and of values without spread; responses
    of which the same is to be said have one together. Of simulated trials skewness alone: neither when nor
    after which others they ran can matter, and values without spread are no fault of measuring."""
    of_order = [p for each in found for p in (each.autocorrelation_p, each.drift_p, each.halves_p)]
    corrected = iter(holm([p for p in of_order if p is not None]))
    skewed = iter(holm([each.skewness_p for each in found if each.skewness_p is not None]))
    seen: list[_Seen] = []
    for response, each in zip(summary.responses, found, strict=True):
        if each.drift_p is not None:
            alike, drift, halves = next(corrected), next(corrected), next(corrected)
            seen += [] if simulated else _of_order(response, each, alike, min(drift, halves))
        if each.skewness_p is not None:
            seen += _of_skewness(response, each, next(skewed))
        seen += [] if simulated else _of_equal_values(response)
    return _together(seen)


def _of_order(response: ResponseSummary, found: Order, alike: float, moved: float) -> list[_Seen]:
    """The warnings of drift, or else of neighbours alike, which drift makes, too."""
    assert found.autocorrelation is not None
    assert found.halves is not None
    assert found.drift is not None
    if moved < LEVEL and max(abs(found.halves), abs(found.drift) / 2) >= HALVES:
        way = "rose" if found.drift > 0 else "fell"
        message = f"values {way} from the run's start to its end"
        if found.drift_percent is not None and found.halves_percent is not None:
            message += (
                f" by {abs(found.drift_percent):.2g}% of the mean (the second half of the run against the "
                f"first: {found.halves_percent:+.2g}%)"
            )
        consequence = (
            "changes are compared within blocks and hardly touched, but means and their intervals are not: "
            "let the machine warm up longer (warmup), stop other work, and look at the run's order"
        )
        return [_Seen("drift", response, message, consequence, response.cells)]
    if alike < LEVEL and found.autocorrelation >= AUTOCORRELATION:
        consequence = (
            "trials close in time are alike, so the intervals of means may be too narrow; changes are "
            "compared within blocks: rest on those, use more blocks, and stop other work on the machine"
        )
        message = f"neighbouring trials correlate by {found.autocorrelation:.2f} beyond their treatments"
        return [_Seen("autocorrelation", response, message, consequence, response.cells)]
    return []


def _of_skewness(response: ResponseSummary, found: Order, skewed: float) -> list[_Seen]:
    assert found.skewness is not None
    if skewed >= LEVEL or abs(found.skewness) < SKEWNESS:
        return []
    consequence = (
        "with few skewed values, Student's t interval contains the true mean in less than 95% of runs: "
        "look at the medians and their intervals, or use more replicates"
    )
    side = "high" if found.skewness > 0 else "low"
    message = f"values within treatments are skewed, with a tail of {side} ones ({abs(found.skewness):.1f})"
    return [_Seen("skewed_values", response, message, consequence, response.cells)]


def _of_equal_values(response: ResponseSummary) -> list[_Seen]:
    equal = [cell for cell in response.cells if cell.n > 1 and cell.deviation == 0]
    if not equal:
        return []
    consequence = (
        "an interval without width is no evidence of precision: the metric may be coarser than it varies, or "
        "the trials are no independent repeats"
    )
    message = "all values of a treatment are equal"
    return [_Seen("equal_values", response, message, consequence, equal)]


def _together(found: Sequence[_Seen]) -> list[WarningGroup]:
    """Findings that differ in numbers only as one, in the order of each one's first."""
    alike: dict[tuple[str, str, str], list[_Seen]] = {}
    for seen in found:
        alike.setdefault((seen.code, pattern(seen.message), seen.consequence), []).append(seen)
    return [_group(group) for group in alike.values()]


def _group(found: Sequence[_Seen]) -> WarningGroup:
    concerned = [cell for seen in found for cell in seen.cells if cell.n]
    treatments = {tuple(cell.treatment.items()): cell.treatment for cell in concerned}
    first, about = found[0], [seen.response.response for seen in found]
    return WarningGroup(
        first.code,
        "; ".join(each.title for each in about),
        merge([seen.message for seen in found]),
        first.consequence,
        len({trial for cell in concerned for trial in cell.trials.values()}),
        tuple(treatments.values()),
        tuple(each.name for each in about),
    )
