"""The comparison that answers the study's question, between the levels of a factor or between responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from nettrial.analysis.changes import Change, averaged_change, change
from nettrial.analysis.level_effects import Finding, LevelEffect, SimpleEffect
from nettrial.analysis.run_model import paired
from nettrial.analysis.sequential import family
from nettrial.analysis.summary import Levels, ResponseSummary, Summary
from nettrial.study import Response, Study


@dataclass(frozen=True)
class Contrast:
    """A change in the headline."""

    response: Response
    """The response that changes."""
    subject: str
    """The level with its factor's title, such as "MTU 9000 B"; if responses are compared, the response's
    title."""
    against: str
    """The baseline, or the title of the response with which it is compared."""
    change: Change
    """The change averaged over the other factors, with each block counted once, or, if places differ, that at
    one place; corrected for all changes of its family."""
    rises: int = 0
    """The number of combinations of the other factors' levels at which a rise is shown."""
    falls: int = 0
    """The number of combinations of the other factors' levels at which a fall is shown."""
    places: int = 1
    """The number of combinations of the other factors' levels."""
    values: tuple[float, float] | None = None
    """The means before and after the change, in the response's unit; None if either is absent."""
    at: Levels = field(default_factory=dict)
    """The levels of the other factors with several levels, if `change` is that of one place; empty if it is
    an average over all places, or if there is only one."""
    ends: tuple[SimpleEffect, SimpleEffect] | None = None
    """The places with the smallest and the largest change, if places differ, so that nothing is averaged over
    them."""

    @property
    def is_mixed(self) -> bool:
        """Returns whether the change is an average of opposite changes."""
        return bool(self.rises and self.falls)


def headline(
    study: Study, summary: Summary, findings: Mapping[str, tuple[Finding, ...]]
) -> tuple[Contrast, ...]:
    """Returns the contrasts of the study's headline, level by level; empty if there is nothing to compare. If
    `--set` reduced the headline's factor to one level, the rows' factor replaces it."""
    if study.headline is not None and study.headline.pairs:
        return _of_responses(study, summary, study.headline.pairs)
    name = (study.headline and study.headline.factor) or study.layout.rows
    if len(study.factors[name].levels) < 2:
        name = study.layout.rows
    wanted = (study.headline and study.headline.responses) or [response.name for response in study.responses]
    known = {each.response.name: each for each in summary.responses}
    chosen_findings = [each for wants in wanted for each in findings.get(wants, ()) if each.factor == name]
    levels = range(max((len(each.effects) for each in chosen_findings), default=0))
    contrasts = [
        _of_level(study, known[each.response.name], each, each.effects[number])
        for number in levels
        for each in chosen_findings
    ]
    level = study.headline.level if study.headline else None
    chosen = [each for each in contrasts if each.subject == f"{study.factors[name].title} {level}"]
    return tuple(chosen or contrasts)


def _of_level(study: Study, summary: ResponseSummary, finding: Finding, effect: LevelEffect) -> Contrast:
    """Returns the contrast of a level: at the study's place, over all places if they agree, or else at the
    baseline's place."""
    wanted = study.headline.place if study.headline else {}
    differ = effect.is_mixed or bool(effect.exceptions)
    place = _place(study, finding, effect, wanted) if wanted or differ else None
    places = [place] if place else list(effect.places)
    shown = place.change if place else effect.overall
    ordered = sorted((each for each in effect.places if each.change.percent is not None), key=_percent)
    return Contrast(
        response=finding.response,
        subject=f"{study.factors[finding.factor].title} {effect.level}",
        against=finding.baseline,
        change=shown,
        rises=effect.rises,
        falls=effect.falls,
        places=len(effect.places),
        values=_values(summary, finding, effect, places),
        at={name: place.others[name] for name in finding.others} if place else {},
        ends=(ordered[0], ordered[-1]) if place and differ and not wanted and len(ordered) > 1 else None,
    )


def _percent(place: SimpleEffect) -> float:
    assert place.change.percent is not None
    return place.change.percent


def _place(study: Study, finding: Finding, effect: LevelEffect, wanted: Levels) -> SimpleEffect | None:
    """Returns the place with the `wanted` levels, and the baselines of all other factors; None if the run
    lacks it."""
    bases = {name: factor.baseline or factor.levels[0] for name, factor in study.factors.items()}
    levels = {**bases, **wanted}
    fitting = (each for each in effect.places if all(levels[name] == on for name, on in each.others.items()))
    return next(fitting, None)


def _values(
    summary: ResponseSummary, finding: Finding, effect: LevelEffect, places: Sequence[SimpleEffect]
) -> tuple[float, float] | None:
    """Returns the means before and after a change, over places; None if one is absent."""
    means = {tuple(sorted(cell.treatment.items())): cell.mean for cell in summary.cells}
    sides = [
        [means.get(tuple(sorted({**place.others, finding.factor: level}.items()))) for place in places]
        for level in (finding.baseline, effect.level)
    ]
    before, after = ([mean for mean in side if mean is not None] for side in sides)
    if len(before) < len(places) or len(after) < len(places):
        return None
    return fmean(before), fmean(after)


def _of_responses(study: Study, summary: Summary, compared: Mapping[str, str]) -> tuple[Contrast, ...]:
    """Returns the contrasts between responses of the same trials, which form one family."""
    known = {each.response.name: each for each in summary.responses}
    pairs = [(known[mine], known[other]) for mine, other in compared.items() if {mine, other} <= known.keys()]
    exact, sequential = study.capabilities.deterministic, study.until is not None
    by_place = [
        [paired(base.values, cell.values) for base, cell in zip(other.cells, mine.cells, strict=True)]
        for mine, other in pairs
    ]
    changes = family([averaged_change(places, exact) for places in by_place], sequential)
    alone = [change(list(pair.values()), exact) for places in by_place for pair in places]
    signs = iter(each.shown for each in family(alone, sequential))
    shown = [[next(signs) for _ in places] for places in by_place]
    return tuple(
        Contrast(
            mine.response,
            mine.response.title,
            other.response.title,
            whole,
            at.count(1),
            at.count(-1),
            len(at),
            _both_means(other, mine),
        )
        for (mine, other), whole, at in zip(pairs, changes, shown, strict=True)
    )


def _both_means(before: ResponseSummary, after: ResponseSummary) -> tuple[float, float] | None:
    """Returns the means of two responses over all treatments; None if one is absent."""
    sides = [[cell.mean for cell in each.cells if cell.mean is not None] for each in (before, after)]
    if any(len(side) < len(before.cells) for side in sides):
        return None
    return fmean(sides[0]), fmean(sides[1])
