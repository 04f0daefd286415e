"""Tables of the changes from one run to another, as texts, for terminals and pages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nettrial.analysis import Merit, merit
from nettrial.analysis.changes import BANERJEE, SESSIONS
from nettrial.analysis.compare import Difference, RunComparison
from nettrial.analysis.intervals import CONFIDENCE
from nettrial.design.trial_order import in_words
from nettrial.report import numbers
from nettrial.report.change_words import verdict_in_words
from nettrial.report.tables import UNCLEAR

BIASED = "may be biased"
"""The words about a change from trials with warnings that may bias it."""
DIGITS = 5
"""The number of digits shown of a response's largest mean."""
CHANGES = ("response", "treatment", "n", "mean A", "mean B", "unit", "change", "interval", "")
"""The columns of the table of changes."""


TWO_SESSIONS = (
    "The intervals hold for these two sessions. Two sessions of an unchanged system also differ, and by how "
    "much is not known here"
)
"""The beginning of a sentence on two runs whose sessions are not known to be alike."""


@dataclass(frozen=True)
class Table:
    """A table of texts below a heading."""

    heading: str
    """The heading."""
    columns: Sequence[str]
    """The columns' titles."""
    rows: Sequence[Sequence[str]]
    """The rows, each with a text for each column."""


def changes(compared: RunComparison, heading: str) -> Table:
    """Returns a table with a row for each response under each treatment, in the columns of CHANGES."""
    rows: list[list[str]] = []
    for response in dict.fromkeys(difference.response.name for difference in compared.differences):
        rows += _rows([each for each in compared.differences if each.response.name == response])
    return Table(heading, CHANGES, rows)


def method(compared: RunComparison) -> str:
    """Returns sentences about the method of the intervals, and the level at which they hold."""
    if compared.sessions == 1:
        said = f"Change from A to B in percent, by {BANERJEE} on logarithms, unpaired."
    else:
        said = (
            f"Change in percent to B from A and its history, {compared.sessions} sessions in all, each of "
            f"which counts once, by {SESSIONS} on logarithms."
        )
    return f"{said} {_corrected(compared.intervals, 100 * CONFIDENCE)}"


def _corrected(intervals: int, level: float) -> str:
    if intervals < 2:
        return f"The confidence level is {level:g}%."
    return f"All {intervals} intervals hold together at {level:g}% (Bonferroni)."


def _rows(differences: Sequence[Difference]) -> list[list[str]]:
    """Returns the table rows of one response, with as many decimals as its intervals justify."""
    percent = percent_decimals(differences)
    largest = max((abs(mean) for each in differences for mean in each.means if mean), default=1.0)
    decimals = max(0, DIGITS - 1 - math.floor(math.log10(largest)))
    return [
        [
            each.response.name,
            in_words(each.treatment),
            f"{each.counts[0]}, {each.counts[1]}",
            *("absent" if mean is None else numbers.fixed(mean, decimals) for mean in each.means),
            each.response.unit,
            *change_and_interval(each, percent),
            _verdict(each),
        ]
        for each in differences
    ]


def percent_decimals(differences: Sequence[Difference]) -> int:
    """Returns the decimals of changes in percent, as many as their intervals justify."""
    return numbers.percent_decimals([replace(each.change, interval=each.interval) for each in differences])


def change_and_interval(difference: Difference, decimals: int) -> tuple[str, str]:
    """Returns the change in percent and its interval as texts, which are empty where they are absent."""
    bounds = difference.interval
    return _percent(difference, decimals), numbers.bounds(bounds, decimals) if bounds else ""


def _percent(difference: Difference, decimals: int) -> str:
    """Returns the change in percent as text; `UNCLEAR` if it is too uncertain to be a result."""
    if difference.percent is None:
        return ""
    is_unclear = difference.interval is not None and difference.change.relative is None
    return UNCLEAR if is_unclear else numbers.signed(difference.percent, decimals)


def _verdict(difference: Difference) -> str:
    """Returns the verdict on a change, with the doubt if warnings may bias it, or the reason why there is
    none."""
    if difference.interval is None and not difference.shown:
        return difference.absent or ""
    doubt = f", {BIASED}" if sum(difference.biased) else ""
    judged = merit(difference.response, difference.change, difference.shown)
    said = verdict_in_words(judged, difference.change, difference.response.smallest_effect)
    if judged in (Merit.BETTER, Merit.WORSE):
        said = f"{'higher' if difference.shown > 0 else 'lower'} ({said})"
    return f"{said}{doubt}"


def counted(compared: RunComparison) -> str:
    """Returns how many comparisons show a change."""
    shown = sum(1 for difference in compared.differences if difference.shown)
    return f"{shown} of {numbers.counted(compared.intervals, 'comparison')} show a change"


@dataclass(frozen=True)
class Earlier:
    """An earlier run, compared with the one that a page reports."""

    directory: str
    """The directory of the earlier run."""
    compared: RunComparison
    """The changes from the earlier run to the reported one."""

    @property
    def changed(self) -> str:
        """Returns how many comparisons show a change."""
        return counted(self.compared)

    @property
    def said(self) -> str:
        """Returns the number of changes and the method of their intervals, in sentences."""
        caution = "" if self.compared.sessions > 1 or self.compared.exact else f" {TWO_SESSIONS}."
        return f"{self.changed}. {method(self.compared)}{caution}"

    @property
    def tables(self) -> list[Table]:
        """Returns the tables of the changes, and of the differences between the runs, without empty ones."""
        comparison = self.compared
        runs = ("", "A", "B")
        tables = [
            changes(comparison, "Changes in percent"),
            Table("Differences of the apparatus, to which changes may be due", runs, comparison.apparatus),
            Table("Other differences between the runs", runs, comparison.circumstances),
        ]
        return [table for table in tables if table.rows]
