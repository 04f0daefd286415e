"""Verdicts on the conclusions of a study's source, by the run's own comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from nettrial.analysis.changes import Change, averaged_change
from nettrial.analysis.intervals import Interval
from nettrial.analysis.sequential import family
from nettrial.analysis.summary import ResponseSummary, Summary, pairs
from nettrial.study import Conclusion, Study

Judged: TypeAlias = Literal["confirmed", "contradicted", "not shown", "not testable"]
"""The verdict: all intervals lie where the conclusion expects them; the whole interval of one comparison lies
elsewhere; neither; or there is no comparison."""
VERDICTS: tuple[Judged, ...] = ("confirmed", "contradicted", "not shown", "not testable")
"""All verdicts, in the order in which reports count them."""


@dataclass(frozen=True)
class Compared:
    """One comparison of a conclusion."""

    subject: str
    """The level with its factor's title, or the response's title."""
    against: str
    """The level, or the response's title, with which it is compared."""
    change: Change
    """The change averaged over all factors that `where` does not name, with each block counted once, and
    corrected for all comparisons of the conclusion."""


@dataclass(frozen=True)
class Verdict:
    """The verdict on a conclusion."""

    conclusion: Conclusion
    """The source's conclusion."""
    judged: Judged
    """The verdict in a word."""
    compared: tuple[Compared, ...]
    """The comparisons; empty if the conclusion is not testable."""
    unit: str
    """The response's unit."""
    absent: str | None
    """The reason why it is not testable, or not shown."""


def verdicts(study: Study, summary: Summary) -> tuple[Verdict, ...]:
    """Returns the verdicts on the conclusions of a run's study, in the study's order; empty before a trial
    has finished."""
    if not any(cell.n for response in summary.responses for cell in response.cells):
        return ()
    return tuple(_verdict(study, summary, each) for each in study.conclusions)


def _verdict(study: Study, summary: Summary, conclusion: Conclusion) -> Verdict:
    missing = conclusion.not_testable or _missing(study, conclusion)
    if missing is not None:
        return Verdict(conclusion, "not testable", (), "", missing)
    known = {each.response.name: each for each in summary.responses}
    response = known[conclusion.response or ""]
    title = response.response.title
    if conclusion.than_response is not None:
        other = known[conclusion.than_response]
        if other.response.unit != response.response.unit:
            units = [f"{each.response.title} in {each.response.unit}" for each in (response, other)]
            reason = f"the units differ: {', '.join(units)}"
            return Verdict(conclusion, "not testable", (), "", reason)
        sides = [(other.response.title, _of_responses(conclusion, response, other))]
        subject = title
    else:
        assert conclusion.factor is not None
        factor = study.factors[conclusion.factor]
        sides = [(level, _of_levels(conclusion, response, level)) for level in conclusion.than]
        subject = f"{factor.title} {conclusion.level}"
    exact = study.capabilities.deterministic
    changes = family([averaged_change(places, exact) for _, places in sides], study.until is not None)
    compared = tuple(
        Compared(subject, other, change) for (other, _), change in zip(sides, changes, strict=True)
    )
    judged, absent = _judged(conclusion, changes)
    return Verdict(conclusion, judged, compared, response.response.unit, absent)


def _missing(study: Study, conclusion: Conclusion) -> str | None:
    """Returns a sentence about the level that the run lacks for the comparison; None if it has all."""
    wanted = list(conclusion.where.items())
    if conclusion.factor is not None:
        wanted += [(conclusion.factor, level) for level in [conclusion.level or "", *conclusion.than]]
    for name, level in wanted:
        if level not in study.factors[name].levels:
            return f"this run has no {study.factors[name].title} {level}"
    return None


Places: TypeAlias = list[dict[int, tuple[float, float]]]
"""Pairs of (reference value, value) by block, for each combination of the factors that are not named."""


def _of_levels(conclusion: Conclusion, response: ResponseSummary, against: str) -> Places:
    assert conclusion.factor is not None
    found: Places = []
    for cell in response.cells:
        if not _fits(cell.treatment, {**conclusion.where, conclusion.factor: conclusion.level or ""}):
            continue
        other = response.cell({**cell.treatment, conclusion.factor: against})
        found.append(_by_block(other.values if other else {}, cell.values))
    return found


def _of_responses(conclusion: Conclusion, response: ResponseSummary, other: ResponseSummary) -> Places:
    return [
        _by_block(theirs.values, ours.values)
        for theirs, ours in zip(other.cells, response.cells, strict=True)
        if _fits(ours.treatment, conclusion.where)
    ]


def _fits(treatment: Mapping[str, str], levels: Mapping[str, str]) -> bool:
    return all(treatment[name] == level for name, level in levels.items())


def _by_block(base: Mapping[int, float], values: Mapping[int, float]) -> dict[int, tuple[float, float]]:
    return dict(zip(sorted(base.keys() & values.keys()), pairs(base, values), strict=True))


def _judged(conclusion: Conclusion, changes: list[Change]) -> tuple[Judged, str | None]:
    """Returns the verdict by the simultaneous intervals, and the reason if nothing is shown."""
    signs = []
    for change in changes:
        bounds = change.simultaneous
        if bounds is None and not conclusion.by:
            bounds = change.simultaneous_difference
        if bounds is None:
            missing = change.absent or "there is no interval"
            return ("not testable" if change.difference is None else "not shown"), missing
        signs.append(_sign(conclusion, bounds))
    if any(sign < 0 for sign in signs):
        return "contradicted", None
    return ("confirmed", None) if all(sign > 0 for sign in signs) else ("not shown", None)


def _sign(conclusion: Conclusion, bounds: Interval) -> int:
    """Returns 1 if the whole interval lies where the conclusion expects it, -1 if all of it lies elsewhere,
    and otherwise 0."""
    low, high, by = bounds.low, bounds.high, conclusion.by
    if conclusion.expect == "same":
        inside, outside = -by <= low and high <= by, low > by or high < -by
    elif conclusion.expect == "higher":
        inside, outside = low > by, high < by or low == high == by
    else:
        inside, outside = high < -by, low > -by or low == high == -by
    return 1 if inside else -1 if outside else 0
