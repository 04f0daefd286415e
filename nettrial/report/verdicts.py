"""The source's conclusions and the verdicts of the run on them, as text."""

from __future__ import annotations

from collections.abc import Sequence

from nettrial.analysis import VERDICTS, Compared, Verdict
from nettrial.report import numbers
from nettrial.report.tables import UNCLEAR
from nettrial.study import Study

COLUMNS = ("conclusion", "the source says", "verdict", "comparison", "expected")
"""The columns of the table of verdicts."""
CAPTION = (
    "Each conclusion of the source with the comparison that tests it. A conclusion is confirmed if the whole "
    "95% interval of every comparison agrees with it, and contradicted if that of any comparison disagrees."
)
"""The caption of the table of conclusions."""


def counted(found: Sequence[Verdict]) -> str:
    """Returns a sentence with the number of conclusions that have each verdict."""
    judged = [each.judged for each in found]
    counts = [f"{judged.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in judged]
    return f"Of {numbers.counted(len(found), 'conclusion')} of the source: {numbers.listed(counts)}."


def lines(study: Study, found: Sequence[Verdict]) -> list[tuple[str, ...]]:
    """Returns a row for each conclusion, in the columns of COLUMNS."""
    return [
        (each.conclusion.name, _source(each), each.judged, comparison(study, each), expected(each))
        for each in found
    ]


def told(study: Study, found: Verdict) -> str:
    """Returns a conclusion with its comparison, in sentences."""
    wanted = expected(found)
    said = comparison(study, found)
    return f"{_source(found)} {said[:1].upper()}{said[1:]}{f' (expected: {wanted})' if wanted else ''}."


def _source(found: Verdict) -> str:
    """Returns the conclusion with its place in the source."""
    place = found.conclusion.place
    text = found.conclusion.says.rstrip(".")
    return f"{text} ({place})." if place else f"{text}."


def expected(found: Verdict) -> str:
    """Returns the difference that the conclusion expects, such as "higher by 10% or more"; empty if it is not
    testable."""
    conclusion = found.conclusion
    if conclusion.expect is None:
        return ""
    if conclusion.expect == "same":
        return f"the same within {conclusion.by:g}%"
    return f"{conclusion.expect} by {conclusion.by:g}% or more" if conclusion.by else conclusion.expect


def comparison(study: Study, found: Verdict) -> str:
    """Returns the comparisons that test a conclusion, with their intervals, or the reason why there are
    none."""
    if not found.compared:
        return found.absent or ""
    conclusion = found.conclusion
    title = next(each.title for each in study.responses if each.name == conclusion.response)
    where = ", ".join(f"{study.factors[name].title} {level}" for name, level in conclusion.where.items())
    subject = found.compared[0].subject
    of = title if conclusion.factor is None else f"{title}, {subject}"
    said = "; ".join(f"against {each.against} {_change(each, found.unit)}" for each in found.compared)
    reason = f" ({found.absent})" if found.absent else ""
    return f"{of}{f' at {where}' if where else ''} {said}{reason}"


def _change(compared: Compared, unit: str) -> str:
    """Returns a change with its simultaneous interval: in percent, or as a difference if there is no
    ratio."""
    change = compared.change
    middle, bounds, mark = change.percent, change.simultaneous, "%"
    if middle is None:
        middle, bounds, mark = change.difference, change.simultaneous_difference, f" {unit}"
    if middle is None:
        return "absent"
    if bounds is None:
        return f"{numbers.signed(middle, 1)}{mark}"
    decimals = numbers.decimals_of(bounds)
    is_unclear = mark == "%" and change.relative is None
    shown = UNCLEAR if is_unclear else f"{numbers.signed(middle, decimals)}{mark}"
    return f"{shown} {numbers.bounds(bounds, decimals)}"
