"""The conditions of `nettrial run --fail-if`, their outcome as a document and a file, and how they decide the
exit status."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nettrial.analysis.intervals import Interval
from nettrial.analysis.limits import Limit, LimitJudgement, NoLimit, SummarisedResponse, judge, limit
from nettrial.analysis.outcomes import Outcome
from nettrial.cli.ci_files import ConditionCase, conditions_junit, write_junit
from nettrial.cli.console import say
from nettrial.cli.documents import base as documents
from nettrial.design.trial_order import in_words
from nettrial.errors import READING_OPTIONS, BadInput, Inconclusive, TrialsFailed
from nettrial.report import numbers
from nettrial.store.directory import require_directory
from nettrial.study import Study

FAILED = 1
"""Exit status where a condition of `--fail-if` holds."""
INCONCLUSIVE = ("pass", "fail")
"""The values of `--inconclusive`, the default first."""


@dataclass(frozen=True)
class Gate:
    """The conditions on which a command fails."""

    conditions: tuple[str, ...] = ()
    """The conditions, as they were given."""
    inconclusive: str = INCONCLUSIVE[0]
    """The result where an interval is too wide to judge a condition: "pass" or "fail"."""
    junit: Path | None = None
    """The JUnit file to which the outcomes are written; None for none."""

    def check(self) -> None:
        """Raises BadInput if the value of `--inconclusive` is none, or the JUnit file has no directory."""
        if self.inconclusive not in INCONCLUSIVE:
            raise BadInput(READING_OPTIONS, "--inconclusive", self.inconclusive, " or ".join(INCONCLUSIVE))
        require_directory("--junit", self.junit)

    def limits(self, study: Study) -> list[Limit]:
        """Returns the limits of a study's responses; raises BadInput."""
        self.check()
        limits = []
        for text in self.conditions:
            try:
                limits.append(limit(text, study))
            except NoLimit as why:
                raise BadInput(READING_OPTIONS, "--fail-if", text, why.expected, why.hint) from None
        return limits

    def judge(self, study: Study, responses: Sequence[SummarisedResponse]) -> list[LimitJudgement]:
        """Returns the outcome of each condition under each treatment, by the values of the responses."""
        return judge(self.limits(study), responses)

    def decide(self, judged: Sequence[LimitJudgement], quiet_output: bool) -> int:
        """Prints a line for each condition under each treatment, on standard error if `quiet_output`, with a
        note if an interval extends below 0 although no value does, writes the JUnit file, and returns the
        exit status. Raises TrialsFailed if no condition holds and one has no interval, Inconclusive if an
        interval is too wide and that counts as failure, and BadInput for a file that can't be written."""
        lines = [_in_words(each) for each in judged]
        if any(
            each.interval is not None and each.interval.only_itself_below_0(each.cell.values.values())
            for each in judged
        ):
            lines.append(f"({numbers.ONLY_BOUNDS_BELOW_0})")
        for line in lines:
            say(line) if quiet_output else print(line)
        if self.junit is not None:
            cases = [
                ConditionCase(
                    condition=str(each.limit),
                    treatment=in_words(each.cell.treatment),
                    outcome=each.outcome,
                    has_interval=each.interval is not None,
                    words=_in_words(each),
                )
                for each in judged
            ]
            write_junit(self.junit, conditions_junit("nettrial run", cases, self.inconclusive == "fail"))
        if any(each.outcome is Outcome.HOLDS for each in judged):
            return FAILED
        unknown = [each for each in judged if each.outcome is Outcome.UNKNOWN]
        missing = sum(1 for each in unknown if each.interval is None)
        if missing:
            hold = "1 condition holds" if missing == 1 else f"{missing} conditions hold"
            raise TrialsFailed(f"can't tell whether {hold}: there is no interval")
        if unknown and self.inconclusive == "fail":
            raise Inconclusive(len(unknown))
        return 0


ANYTHING = Gate()
"""No condition."""


def as_documents(judged: Sequence[LimitJudgement]) -> list[documents.Condition]:
    """Returns the conditions with their outcomes for a document."""
    return [
        documents.Condition(
            condition=str(each.limit),
            treatment=each.cell.treatment,
            mean=each.cell.mean,
            interval=documents.bounds(each.interval),
            holds=documents.HOLDS[each.outcome],
            reason=each.reason,
        )
        for each in judged
    ]


def _in_words(judged: LimitJudgement) -> str:
    """Returns a condition under a treatment with its outcome, the mean and its interval."""
    said = f"{judged.outcome}: {judged.limit} ({in_words(judged.cell.treatment)})"
    return f"{said}: {_value(judged.cell.mean, judged.interval, judged.limit.response.unit)}" + (
        f"; {judged.reason}" if judged.reason else ""
    )


def _value(mean: float | None, bounds: Interval | None, unit: str) -> str:
    """Returns a mean with its interval."""
    if mean is None:
        return "no value"
    value = numbers.with_unit(numbers.three(mean), unit)
    if bounds is None:
        return value
    return f"{value}, {numbers.three(bounds.low)} to {numbers.with_unit(numbers.three(bounds.high), unit)}"
