"""Warnings of what makes intervals less sure than they look, in a run's order and in its values.

Each finding says what was seen and what to do, in the form of a warning; none is part of a record."""

from __future__ import annotations

from collections.abc import Sequence

from nettrial.analysis.intervals import holm
from nettrial.analysis.run_order import Order
from nettrial.analysis.summary import Cell, ResponseSummary, Summary
from nettrial.analysis.warning_groups import WarningGroup

LEVEL = 0.01
"""A test counts where its p-value is below, corrected for every test of order, or of skewness, of the run
(Holm)."""
AUTOCORRELATION = 0.2
"""Neighbours less alike than that hardly touch an interval."""
HALVES = 0.5
"""The halves' distance, in standard deviations within treatments, from which it counts."""
SKEWNESS = 0.5
"""The mean of the treatments' skewness, from which it counts."""


def noise(summary: Summary, found: Sequence[Order], simulated: bool = False) -> list[WarningGroup]:
    """Warnings of drift, of neighbours alike, of skewed values and of values without spread; each about one
    response, in the order of responses. Of simulated trials skewness alone: neither when nor after which
    others they ran can matter, and values without spread are no fault of measuring."""
    of_order = [p for each in found for p in (each.autocorrelation_p, each.drift_p, each.halves_p)]
    corrected = iter(holm([p for p in of_order if p is not None]))
    skewed = iter(holm([each.skewness_p for each in found if each.skewness_p is not None]))
    warned = []
    for response, each in zip(summary.responses, found, strict=True):
        if each.drift_p is not None:
            alike, drift, halves = next(corrected), next(corrected), next(corrected)
            warned += [] if simulated else _of_order(response, each, alike, min(drift, halves))
        if each.skewness_p is not None:
            warned += _of_skewness(response, each, next(skewed))
        warned += [] if simulated else _of_equal_values(response)
    return warned


def _of_order(response: ResponseSummary, found: Order, alike: float, moved: float) -> list[WarningGroup]:
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
        return [_group("drift", response, message, consequence)]
    if alike < LEVEL and found.autocorrelation >= AUTOCORRELATION:
        consequence = (
            "trials close in time are alike, so the intervals of means may be too narrow; changes are "
            "compared within blocks: rest on those, use more blocks, and stop other work on the machine"
        )
        message = f"neighbouring trials correlate by {found.autocorrelation:.2f} beyond their treatments"
        return [_group("autocorrelation", response, message, consequence)]
    return []


def _of_skewness(response: ResponseSummary, found: Order, skewed: float) -> list[WarningGroup]:
    assert found.skewness is not None
    if skewed >= LEVEL or abs(found.skewness) < SKEWNESS:
        return []
    consequence = (
        "Student's t interval of a mean holds the truth less often than 95% where few values are skewed: "
        "look at the medians and their intervals, or use more replicates"
    )
    message = f"values within treatments are skewed ({found.skewness:+.1f})"
    return [_group("skewed_values", response, message, consequence)]


def _of_equal_values(response: ResponseSummary) -> list[WarningGroup]:
    equal = [cell for cell in response.cells if cell.n > 1 and cell.deviation == 0]
    if not equal:
        return []
    consequence = (
        "an interval without width is no evidence of precision: the metric may be coarser than it varies, or "
        "the trials are no independent repeats"
    )
    message = "all values of a treatment are equal"
    return [_group("equal_values", response, message, consequence, equal)]


def _group(
    code: str,
    response: ResponseSummary,
    message: str,
    consequence: str,
    cells: Sequence[Cell] | None = None,
) -> WarningGroup:
    """A warning about a response, seen over the trials of `cells`, or of all."""
    concerned = [cell for cell in (response.cells if cells is None else cells) if cell.n]
    treatments = tuple(cell.treatment for cell in concerned)
    trials = sum(cell.n for cell in concerned)
    about = response.response
    return WarningGroup(code, about.title, message, consequence, trials, treatments, about.name)
