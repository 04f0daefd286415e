"""The comparison that answers the study's question, between the levels of a factor or between responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nettrial.analysis.changes import Change, averaged_change, change
from nettrial.analysis.level_effects import Finding
from nettrial.analysis.run_model import paired
from nettrial.analysis.sequential import family
from nettrial.analysis.summary import Summary
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
    """The change averaged over the other factors, with each block counted once; corrected for all contrasts
    of its family."""
    rises: int = 0
    """The number of combinations of the other factors' levels at which a rise is shown."""
    falls: int = 0
    """The number of combinations of the other factors' levels at which a fall is shown."""
    places: int = 1
    """The number of combinations of the other factors' levels."""

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
    title = study.factors[name].title
    found = [each for wants in wanted for each in findings.get(wants, ()) if each.factor == name]
    levels = range(max((len(each.effects) for each in found), default=0))
    return tuple(
        Contrast(
            each.response,
            f"{title} {effect.level}",
            each.baseline,
            effect.overall,
            effect.rises,
            effect.falls,
            len(effect.places),
        )
        for number in levels
        for each in found
        for effect in [each.effects[number]]
    )


def _of_responses(study: Study, summary: Summary, compared: Mapping[str, str]) -> tuple[Contrast, ...]:
    """Returns the contrasts between responses of the same trials, which form one family."""
    known = {each.response.name: each for each in summary.responses}
    found = [(known[mine], known[other]) for mine, other in compared.items() if {mine, other} <= known.keys()]
    exact, sequential = study.capabilities.deterministic, study.until is not None
    by_place = [
        [paired(base.values, cell.values) for base, cell in zip(other.cells, mine.cells, strict=True)]
        for mine, other in found
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
        )
        for (mine, other), whole, at in zip(found, changes, shown, strict=True)
    )
