"""The source's conclusions and the verdicts of the run on them, as text."""

from __future__ import annotations

from collections.abc import Sequence

from nettrial.analysis import VERDICTS, Compared, HarmOfWarnings, Verdict
from nettrial.analysis.detectable import detectable
from nettrial.analysis.outcomes import Outcome
from nettrial.analysis.study_verdicts import JudgedPlace, of_published_size
from nettrial.report import numbers
from nettrial.report.tables import UNCLEAR, label
from nettrial.study import Study
from nettrial.study.source_levels import levels_in_words

COLUMNS = ("conclusion", "the source says", "verdict", "comparison", "expected")
"""The columns of the table of verdicts."""
CAPTION = (
    "Each conclusion of the source with the comparison that tests it, at each level of the factors that the "
    "source does not name. At a level, a conclusion is confirmed if the whole 95% interval of every "
    "comparison agrees with it, and contradicted if no part of the interval of one does. It is mixed if it "
    "is confirmed at some levels and contradicted at others. Where the whole interval is within the smallest "
    "effect of interest (1%, unless the study states another one), there is no change of that size."
)
"""The caption of the table of conclusions."""


MOST_PLACES = 6
"""The largest number of levels of which a comparison gives each change; further ones are only counted."""
_OUTCOMES = {
    Outcome.DOES_NOT_HOLD: "contradicted",
    Outcome.NO_CHANGE: "no change of interest",
    Outcome.UNKNOWN: "not shown",
    Outcome.HOLDS: "confirmed",
}
"""The verdict at one level, in the order in which changes are given."""
_COUNTED = {"no change": "with no change of interest"}
"""The verdicts whose words differ where they are counted."""
_DOUBTS = {HarmOfWarnings.BIAS: "may be biased", HarmOfWarnings.NARROWER: "intervals may be too narrow"}
"""The doubt about a verdict for each effect of warnings."""


def counted(verdicts: Sequence[Verdict]) -> str:
    """Returns the number of conclusions that have each verdict, and of the verdicts in doubt, in
    sentences."""
    outcomes = [each.judged for each in verdicts]
    counts = [
        f"{outcomes.count(verdict)} {_COUNTED.get(verdict, verdict)}"
        for verdict in VERDICTS
        if verdict in outcomes
    ]
    said = f"Of {numbers.counted(len(verdicts), 'conclusion')} of the source: {numbers.listed(counts)}."
    biased = sum(each.doubt is not None and each.doubt.effect is HarmOfWarnings.BIAS for each in verdicts)
    if biased:
        said += f" {numbers.counted(biased, 'verdict')} may be biased: see the warnings."
    return said


def judged(verdict: Verdict) -> str:
    """Returns the verdict in words, with its size and its doubt: "confirmed, may be biased", "no change of 1%
    or more", "confirmed in direction, 0.02 of the published size"."""
    said: str = verdict.judged
    if verdict.judged == "no change":
        said = f"no change of {verdict.smallest:g}% or more"
    parts = of_published_size(verdict) if verdict.judged == "confirmed" else None
    if parts is not None:
        least, most = (numbers.two(part) for part in parts)
        size = least if least == most else f"{least} to {most}"
        said = f"confirmed in direction, {size} of the published size"
    if verdict.doubt is None or (
        verdict.doubt.effect is HarmOfWarnings.NARROWER and verdict.judged == "not shown"
    ):
        return said
    return f"{said}, {_DOUBTS[verdict.doubt.effect]}"


def lines(study: Study, verdicts: Sequence[Verdict]) -> list[tuple[str, ...]]:
    """Returns a row for each conclusion, in the columns of COLUMNS."""
    return [
        (each.conclusion.name, _source(each), judged(each), comparison(study, each), expected(each))
        for each in verdicts
    ]


def in_words(study: Study, verdict: Verdict) -> str:
    """Returns a conclusion with its comparison, in sentences."""
    wanted = expected(verdict)
    said = comparison(study, verdict)
    return f"{_source(verdict)} {said[:1].upper()}{said[1:]}{f' (expected: {wanted})' if wanted else ''}."


def _source(verdict: Verdict) -> str:
    """Returns the conclusion with its place in the source."""
    place = verdict.conclusion.place
    text = verdict.conclusion.says.rstrip(".")
    return f"{text} ({place})." if place else f"{text}."


def expected(verdict: Verdict) -> str:
    """Returns the difference that the conclusion expects, such as "higher by 10% or more"; empty if it is not
    testable."""
    conclusion = verdict.conclusion
    if conclusion.expect is None:
        return ""
    if conclusion.expect == "same":
        return f"the same within {conclusion.by:g}%"
    return f"{conclusion.expect} by {conclusion.by:g}% or more" if conclusion.by else conclusion.expect


def comparison(study: Study, verdict: Verdict) -> str:
    """Returns the comparisons that test a conclusion, with their intervals, and the warnings of their trials;
    or the reason why there are none."""
    if not verdict.places:
        return verdict.absent or ""
    conclusion = verdict.conclusion
    title = next(each.title for each in study.responses if each.name == conclusion.response)
    where = levels_in_words(study, conclusion.where)
    subject = verdict.places[0].compared[0].subject
    of = title if conclusion.factor is None else f"{title}, {subject}"
    reason = f" ({verdict.absent})" if verdict.absent else ""
    return f"{of}{f' at {where}' if where else ''} {_by_place(study, verdict)}{reason}{_doubt(verdict)}"


def _doubt(verdict: Verdict) -> str:
    """Returns the warnings that may make a verdict wrong in words; empty if there are none."""
    if verdict.doubt is None:
        return ""
    if verdict.doubt.effect is HarmOfWarnings.NARROWER:
        return "; a warning says that intervals of this response may be too narrow"
    have = "has" if verdict.doubt.warned == 1 else "have"
    trials = f"{verdict.doubt.warned} of {numbers.counted(verdict.doubt.trials, 'trial')}"
    return f"; {trials} {have} a warning that may bias this"


def _by_place(study: Study, verdict: Verdict) -> str:
    """Returns the comparisons at each level of the factors that the conclusion does not name. If there are
    several, their outcomes are counted, and those that disagree come first."""
    if len(verdict.places) == 1:
        return _at_place(verdict, verdict.places[0])
    titles = numbers.listed(study.factors[name].title for name in verdict.places[0].levels)
    kind = "level" if len(verdict.places[0].levels) == 1 else "combination"
    ordered = sorted(verdict.places, key=lambda place: list(_OUTCOMES).index(place.outcome))
    outcomes = [place.outcome for place in ordered]
    counts = [f"{word} at {outcomes.count(each)}" for each, word in _OUTCOMES.items() if each in outcomes]
    said = [f"by {kind} of {titles}: {numbers.listed(counts)} of {len(ordered)}"]
    said += [f"{label(study, place.levels)} {_at_place(verdict, place)}" for place in ordered[:MOST_PLACES]]
    more = len(ordered) - MOST_PLACES
    return "; ".join([*said, *([f"and {more} more"] if more > 0 else [])])


def _at_place(verdict: Verdict, place: JudgedPlace) -> str:
    """Returns the comparisons at one place and, if they show nothing, the change that they could have
    shown."""
    said = ", ".join(f"against {each.against} {_change(each, verdict.unit)}" for each in place.compared)
    still = [each.change for each in place.compared if not each.change.shown]
    could = [each.percent for change in still if (each := detectable(change, verdict.smallest))]
    if place.outcome is not Outcome.UNKNOWN or not could or len(could) < len(still):
        return said
    return f"{said} (changes above {numbers.two(max(could))}% would have been seen)"


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
