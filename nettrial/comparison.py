"""The comparison of two runs in Python, and conditions on its changes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nettrial.analysis.compare import CONDITION_EXPECTED, Condition, Difference, RunComparison, condition
from nettrial.analysis.compare import compare as compare_runs
from nettrial.analysis.limits import is_limit
from nettrial.analysis.merits import merit
from nettrial.analysis.outcomes import Outcome
from nettrial.design.trial_order import in_words
from nettrial.errors import READING_OPTIONS, BadInput
from nettrial.metrics.base_units import factor_columns
from nettrial.registry import near
from nettrial.store import Run

if TYPE_CHECKING:
    import polars as pl


def _of_another_kind(text: str) -> str:
    """Returns a hint for a condition without a percent sign, or with a unit; empty for others."""
    if condition(f"{text}%") is not None:
        return f"did you mean '{text}%'?"
    if is_limit(text):
        return "a limit in the response's unit is a condition of `nettrial run --fail-if`"
    return ""


@dataclass(frozen=True)
class Judgement:
    """A condition under one treatment."""

    condition: Condition
    """The condition."""
    difference: Difference
    """The difference that it judges."""

    @property
    def outcome(self) -> Outcome:
        """Returns the outcome of the condition."""
        return self.condition.outcome(self.difference)

    @property
    def reason(self) -> str | None:
        """Returns the reason why the outcome can't be told; None if it can."""
        if self.outcome is not Outcome.UNKNOWN:
            return None
        if self.difference.interval is None:
            return self.difference.absent
        return f"the interval has changes on both sides of {self.condition.percent:+g}%"


class Comparison:
    """The changes from one run to another, under the treatments that both have."""

    def __init__(
        self, first: Run, second: Run, responses: Sequence[str] = (), history: Sequence[Run] = ()
    ) -> None:
        """Compares two runs by the responses that both have, or by some of them; use `nettrial.compare`.
        `history` has further runs of the first one's system. Raises BadInput if they have nothing in
        common."""
        whole = compare_runs(first, second, history=history)
        self._names = list(dict.fromkeys(difference.response.name for difference in whole.differences))
        if not self._names:
            raise _nothing_common(first, second)
        for name in responses:
            self._known("--response", name, name)
        self._factors = list(first.study.factors)
        self._responses = responses
        self.run_comparison: RunComparison = (
            compare_runs(first, second, responses, history) if responses else whole
        )
        """The analysis: differences, differences of the apparatus, treatments of one run alone."""

    def changes(self) -> pl.DataFrame:
        """Returns a row for each response under each treatment: the means of both runs in the response's
        `unit`, and the change from the first to the second in percent with the interval that holds together
        with all others at 95%, the verdict, and the reason for an absent interval: see `nettrial compare`."""
        import polars as pl  # the extra nettrial[tables], which `nettrial compare` does not need

        columns = {
            **dict.fromkeys(("trials_a", "trials_b"), pl.Int64),
            **dict.fromkeys(("mean_a", "mean_b", "percent", "percent_low", "percent_high"), pl.Float64),
            **dict.fromkeys(("verdict", "absent"), pl.String),
        }
        names = factor_columns(self._factors, {"response", "unit", *columns})
        rows = [
            [
                *(each.response.name, each.response.unit),
                *(each.treatment[name] for name in self._factors),
                *(*each.counts, *each.means, each.percent),
                *((each.interval.low, each.interval.high) if each.interval else (None, None)),
                str(merit(each.response, each.change, each.shown)),
                each.absent,
            ]
            for each in self.run_comparison.differences
        ]
        levels = {names[name]: pl.String for name in self._factors}
        schema = {"response": pl.String, "unit": pl.String, **levels, **columns}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def judge(self, *conditions: str) -> list[Judgement]:
        """Returns the outcome of each condition, such as "throughput < -3%", under each treatment. Raises
        BadInput for a malformed condition and for an unknown response."""
        read = [self._condition(text) for text in conditions]
        return [
            Judgement(each, difference)
            for each in read
            for difference in self.run_comparison.differences
            if difference.response.name == each.response
        ]

    def _condition(self, text: str) -> Condition:
        names = self._responses or self._names
        read = condition(text)
        if read is None:
            hint = _of_another_kind(text) or (
                "a fall ('<') of 0% or less, or a rise ('>') of 0% or more, where RESPONSE is one of "
                + ", ".join(names)
            )
            raise BadInput(READING_OPTIONS, "--fail-if", text, CONDITION_EXPECTED, hint)
        self._known("--fail-if", text, read.response, names)
        return read

    def _known(self, option: str, text: str, name: str, names: Sequence[str] | None = None) -> None:
        names = names or self._names
        if name not in names:
            raise BadInput(READING_OPTIONS, option, text, ", ".join(names), near(name, names))

    def __repr__(self) -> str:
        shown = sum(1 for difference in self.run_comparison.differences if difference.shown)
        return (
            f"<comparison: {shown} of {self.run_comparison.intervals} comparisons show a change; .changes()>"
        )


def compare(
    first: str | Path,
    second: str | Path,
    responses: Sequence[str] = (),
    history: Iterable[str | Path] = (),
) -> Comparison:
    """Compares the runs in two directories by the responses that both have, or by some of them. `history` has
    the directories of further runs of the first one's system. Raises BadInput."""
    before = [Run.open(Path(each)) for each in history]
    return Comparison(Run.open(Path(first)), Run.open(Path(second)), responses, before)


def _nothing_common(first: Run, second: Run) -> BadInput:
    sides = [
        f"{name} has {in_words(run.plan[0].treatment)} and the like, and the responses "
        f"{', '.join(response.name for response in run.study.responses)}"
        for name, run in (("A", first), ("B", second))
    ]
    expected = "two runs with at least one treatment and one response in common"
    return BadInput(
        "comparing the runs", str(second.directory), "nothing to compare", expected, "; ".join(sides)
    )
