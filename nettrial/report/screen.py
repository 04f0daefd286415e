"""The report on one screen of a terminal: the answer, the effects, the gravest warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from nettrial.analysis import Finding, HarmOfWarnings, LevelEffect, Merit, merit
from nettrial.analysis.detectable import Detectable, detectable
from nettrial.report import conclusions, numbers, response_warnings, verdicts
from nettrial.report.change_words import verdict_in_words
from nettrial.report.content import Report

EFFECTS_SHOWN = 12
"""The largest number of rows in the table of effects; further effects are only counted."""
WARNINGS_SHOWN = 4
"""The largest number of warnings shown, one in a line; further warnings are only counted."""
_SHORT = {
    HarmOfWarnings.BIAS: "bias",
    HarmOfWarnings.NARROWER: "narrower",
    HarmOfWarnings.WIDER: "wider",
    HarmOfWarnings.NOTHING: "harmless",
}
"""The word before a warning for its effect."""
ARROWS = {1: "▲", -1: "▼", 0: "·"}
"""The arrow for an effect by its sign, or 0 if no effect is shown."""
STYLES: dict[str, str] = {Merit.BETTER: "green", Merit.WORSE: "red"}
"""The colour of each verdict on a terminal."""
MIXED_NOTE = "mixed: an average of rises and falls at different levels of the other factors (see all tables)"
"""The note on averages of opposite changes."""
WIDE = 1000
"""A width at which no table is folded."""


def render(report: Report, console: Console) -> None:
    """Prints a run's answer, one table of effects, and a line for each of the gravest warnings."""
    study = report.run.study
    console.print(Text(f"{study.study}: {study.title}", style="bold"))
    console.print(Text(study.question))
    console.print(Text(", ".join(report.facts), style="dim"))
    console.print()
    for sentence in conclusions.sentences(report):
        console.print(Text(sentence))
    _effects(report, console)
    if report.answers.verdicts:
        console.print(Text(verdicts.counted(report.answers.verdicts)))
    for sentence in (*report.disturbed, *report.stopping):
        console.print(Text(sentence))
    _warnings(report, console)
    _absent(report, console)
    for group in report.failures:
        trials = numbers.numbered(group.trials, "trial")
        console.print(Text.assemble(("failed ", "bold red"), f"{group.message} ({trials})"))
    console.print()
    console.print(Text(f"All tables: nettrial report --tables {report.run.directory}", style="dim"))


def effects(report: Report) -> list[tuple[Finding, LevelEffect]]:
    """Returns the effects to show: those of each factor on each response that has values."""
    return [
        (finding, effect)
        for section in report.sections
        for finding in report.answers.findings[section.name]
        for effect in finding.effects
        if effect.overall.percent is not None or section.title not in {item.title for item in report.absent}
    ]


@dataclass(frozen=True)
class EffectWords:
    """An effect in words."""

    shown: int
    """1 or -1 if a rise or a fall is shown that may have the smallest size of interest, otherwise 0."""
    change: str
    """The change with its unit; "absent" if there is none."""
    interval: str
    """The 95% interval of the change; empty if there is none."""
    verdict: str
    """The verdict: better, worse, no change shown and the change that would have been, below the smallest
    size of interest, or mixed if opposite changes were averaged; or the reason why the change is absent."""


def effect_words(finding: Finding, effect: LevelEffect) -> EffectWords:
    """Returns an effect in words: in percent or, if that is unclear, as a difference."""
    change = effect.overall
    judged = merit(finding.response, change, change.shown, effect.is_mixed)
    verdict = verdict_in_words(judged, change, finding.response.smallest_effect)
    shown = 0 if change.is_smaller_than(finding.response.smallest_effect) else change.shown
    bounds, middle, unit = change.relative, change.percent, "%"
    if bounds is None:
        bounds, middle = change.simultaneous_difference, change.difference
        unit = " points" if finding.response.unit == "%" else f" {finding.response.unit}"
    if middle is None or bounds is None:
        return EffectWords(0, "absent", "", change.absent or "")
    decimals = numbers.decimals_of(bounds)
    text = f"{numbers.signed(middle, decimals)}{unit}"
    return EffectWords(shown, text, numbers.bounds(bounds, decimals), verdict)


def _effects(report: Report, console: Console) -> None:
    """Prints the table of the effects of each factor on each response."""
    rows = effects(report)
    if not rows:
        return
    console.print()
    baselines = dict.fromkeys(
        f"{report.run.study.factors[finding.factor].title} {finding.baseline}" for finding, _ in rows
    )
    over = ", averaged over the other factors" if any(finding.others for finding, _ in rows) else ""
    console.print(Text(f"Changes from {', '.join(baselines)}{over}:"))
    cells = [_row(report, finding, effect) for finding, effect in rows[:EFFECTS_SHOWN]]
    grid = _grid(("response", "level", "", "change", "95% interval", ""), cells, 2)
    if grid.__rich_measure__(console, console.options.update(width=WIDE)).maximum > console.width:
        grid = _grid(("response", "", "change", "95% interval", ""), list(_folded(cells)), 1)
    console.print(grid)
    if any(effect.is_mixed for _, effect in rows[:EFFECTS_SHOWN]):
        console.print(Text(MIXED_NOTE))
    could = [
        could.percent for finding, effect in rows[:EFFECTS_SHOWN] if (could := _could_show(finding, effect))
    ]
    if could:
        ends = dict.fromkeys(numbers.two(percent) for percent in (min(could), max(could)))
        console.print(
            Text(f"no change shown: one above {' to '.join(ends)}% would have been in 80% of such runs")
        )
    if len(rows) > EFFECTS_SHOWN:
        console.print(Text(f"and {numbers.counted(len(rows) - EFFECTS_SHOWN, 'more effect')}", style="dim"))


def _grid(titles: Sequence[str], rows: Sequence[Sequence[Text]], gap: int) -> Grid:
    """Returns a table with that many spaces between columns."""
    grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, gap, 0, 0), header_style="")
    for title in titles:
        grid.add_column(Text(title), justify="right" if title in ("change", "95% interval") else "left")
    for row in rows:
        grid.add_row(*row)
    return grid


def _folded(rows: Sequence[Sequence[Text]]) -> Iterator[list[Text]]:
    """Yields the rows of a narrow table, in which the levels stand below their response."""
    last = None
    for response, level, *rest in rows:
        if response != last:
            yield [response]
        last = response
        yield [Text("  ") + level, *rest]


def _row(report: Report, finding: Finding, effect: LevelEffect) -> list[Text]:
    factor = report.run.study.factors[finding.factor].title
    said = effect_words(finding, effect)
    style = STYLES.get(said.verdict, "")
    return [
        Text(finding.response.title),
        Text(f"{factor} {effect.level}"),
        Text(ARROWS[said.shown] if said.interval else "", style=style),
        Text(said.change, style=style),
        Text(said.interval),
        Text(said.verdict.partition("; ")[0] if said.interval else said.verdict, style=style or "dim"),
    ]


def _could_show(finding: Finding, effect: LevelEffect) -> Detectable | None:
    """Returns the change that would have been shown where none is."""
    judged = merit(finding.response, effect.overall, effect.overall.shown, effect.is_mixed)
    return detectable(effect.overall, finding.response.smallest_effect) if judged is Merit.NONE else None


def _warnings(report: Report, console: Console) -> None:
    """Prints the effect of the warnings in one line, and each of the gravest."""
    groups = report.warnings
    if not groups:
        return
    console.print()
    console.print(Text(f"{response_warnings.summary(groups)}:"))
    for group in groups[:WARNINGS_SHOWN]:
        trials = numbers.counted(group.trials, "trial")
        said = f"{group.object}: {group.message} ({trials})"
        console.print(Text.assemble((f"{_SHORT[group.effect]} ", "yellow"), said))
    if len(groups) > WARNINGS_SHOWN:
        console.print(
            Text(f"and {numbers.counted(len(groups) - WARNINGS_SHOWN, 'more warning')}", style="dim")
        )


def _absent(report: Report, console: Console) -> None:
    """Prints a line for each reason why responses were not measured."""
    titles: dict[str, list[str]] = {}
    for item in report.absent:
        titles.setdefault(item.reason, []).append(item.title)
    for reason, named in titles.items():
        console.print(Text.assemble(("absent ", "yellow"), f"{'; '.join(named)}: {reason}"))
