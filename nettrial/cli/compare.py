"""`nettrial compare`: the changes from one run to another."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from nettrial.analysis import Merit, merit
from nettrial.analysis.apparatus import NOT_RECORDED
from nettrial.analysis.changes import BANERJEE, SESSIONS
from nettrial.analysis.compare import Difference, RunComparison
from nettrial.analysis.intervals import CONFIDENCE, quantile
from nettrial.analysis.outcomes import Outcome
from nettrial.cli import READING
from nettrial.cli.compare_files import ComparisonFiles, Table
from nettrial.cli.console import print_table, say
from nettrial.cli.documents import base as documents
from nettrial.cli.documents import compare as compare_documents
from nettrial.cli.documents.merits import VERDICTS
from nettrial.cli.limits import FAILED, Gate
from nettrial.cli.pool import expanded
from nettrial.comparison import Judgement, compare
from nettrial.design.trial_order import in_words
from nettrial.errors import BadInput, Inconclusive, NettrialError, TrialsFailed
from nettrial.files import RUN_FILE
from nettrial.report import numbers
from nettrial.report.change_words import merit_in_words
from nettrial.report.tables import UNCLEAR
from nettrial.store import Run, recorder

ENOUGH = 5
"""The number of trials of a treatment below which the comparison warns of its wide intervals."""
BIASED = "may be biased"
"""The words about a change from trials with warnings that may bias it."""
MOST_LOOKED_AT = 100
"""The largest number of runs beside one that are looked at."""
MOST_NAMED = 5
"""The largest number of such runs that are named."""
DIGITS = 5
"""The number of digits shown of a response's largest mean."""


def show(
    first: Path,
    second: Path,
    fail_if: Sequence[str],
    only: Sequence[str],
    inconclusive: str = "pass",
    as_json: bool = False,
    history: Sequence[Path] = (),
    files: ComparisonFiles | None = None,
) -> int:
    """Compares two runs, prints the changes and the outcome of each condition, and returns the exit status.
    `history` has further runs of the first one's system, and `files` are written as well.

    Raises BadInput; TrialsFailed if a condition has no interval to judge it by; and Inconclusive if an
    interval is too wide to judge a condition and `inconclusive` is "fail"."""
    Gate(inconclusive=inconclusive).check()
    comparison = compare(first, second, only, expanded(history))
    found = comparison.run_comparison
    judgements = comparison.judge(*fail_if)
    if files is not None:
        judged = [(each, _in_words(each)) for each in judgements]
        files.write(judged, inconclusive == "fail", [_conditions(judgements), _changes(found, first, second)])
    if as_json:
        documents.show(_document(found, first, second, judgements))
    else:
        _print(found, first, second)
        _print_conditions(judgements)
    return _judge(judgements, inconclusive)


def runs_of(first: Path, second: Path | None, baseline: Path | None) -> tuple[Path, Path]:
    """Returns the directories of the earlier and the later run. With the directory `baseline`, the earlier
    one is the last in it that is whole and of the study of `first`. Raises BadInput."""
    if baseline is None:
        if second is None:
            hint = "--baseline DIR compares with the last whole run in a directory"
            raise BadInput(READING, "RUN_B", "missing", "the directory of the later run", hint)
        return first, second
    if second is not None:
        raise BadInput(READING, "RUN_B", str(second), "one run with --baseline")
    return _last_whole(baseline, Run.open(first)), first


def _last_whole(directory: Path, later: Run) -> Path:
    """Returns the directory of the run in `directory` that began last, of those that are whole and have the
    study of another run; raises BadInput if there is none."""
    study, found = recorder.as_json(later.study), []
    for file in directory.glob(f"*/{RUN_FILE}"):
        if file.parent.resolve() == later.directory.resolve():
            continue
        try:
            run = Run.open(file.parent)
            if recorder.as_json(run.study) == study and run.sessions and not run.pending():
                found.append((run.sessions[0].started, file.parent))
            run.close()
        except NettrialError:
            continue  # it can't be read
    if not found:
        expected = f"a directory with a run of {later.study.study} whose trials have all finished"
        raise BadInput(READING, "--baseline", str(directory), expected, "`nettrial runs DIR` lists runs")
    return max(found)[1]


def _print(compared: RunComparison, first: Path, second: Path) -> None:
    print(f"A: {first}\nB: {second}")
    _print_apparatus(compared)
    if compared.circumstances:
        print("\nOther differences between the runs")
        print_table(["", "A", "B"], compared.circumstances)
    level = 100 * CONFIDENCE
    print(f"\n{_method(compared)} {_corrected(compared.intervals, level)}")
    changes = _changes(compared, first, second)
    print_table(changes.columns, changes.rows)
    _print_alone(compared)
    _print_biased(compared)
    _print_few(compared)
    _print_unknown(compared, first, second)
    stopped = [run for run, by_rule in zip("AB", compared.stopped_by_rule, strict=True) if by_rule]
    if stopped:
        print(
            f"\n{numbers.listed(stopped)} had blocks added until it was precise (--until). These intervals "
            "assume a number of trials that was fixed beforehand, and may be slightly too narrow."
        )
    shown = [difference for difference in compared.differences if difference.shown]
    print(f"\n{len(shown)} of {numbers.counted(compared.intervals, 'comparison')} show a change.")


def _changes(compared: RunComparison, first: Path, second: Path) -> Table:
    """Returns a table with a row for each response under each treatment."""
    rows: list[list[str]] = []
    for response in dict.fromkeys(difference.response.name for difference in compared.differences):
        rows += _rows([each for each in compared.differences if each.response.name == response])
    columns = ["response", "treatment", "n", "mean A", "mean B", "unit", "change", "interval", ""]
    return Table(f"Changes in percent from {first} (A) to {second} (B)", columns, rows)


def _method(compared: RunComparison) -> str:
    """Returns a sentence about the method of the intervals."""
    if compared.sessions == 1:
        return f"Change from A to B in percent, by {BANERJEE} on logarithms, unpaired."
    return (
        f"Change in percent to B from A and its history, {compared.sessions} sessions in all, each of which "
        f"counts once, by {SESSIONS} on logarithms."
    )


def _print_unknown(compared: RunComparison, first: Path, second: Path) -> None:
    """Prints what the comparison of two sessions can't tell, unless sessions are known not to differ, and
    names the runs that may be further sessions of A's system. They are not used unasked: a run does not
    record all of the system under test, such as the settings of a switch, so that only the user knows which
    runs are of the same one."""
    if compared.sessions > 1 or compared.exact:
        return
    print(
        "\nThe intervals hold for these two sessions. Two sessions of an unchanged system also differ, and "
        "by how much is not known here: --history RUN, for more runs of A's system, allows for that."
    )
    others = _like(first, second)
    if others:
        named = shlex.join(word for each in others[:MOST_NAMED] for word in ("--history", str(each)))
        more = f" and {len(others) - MOST_NAMED} more" if len(others) > MOST_NAMED else ""
        runs = "1 run" if len(others) == 1 else f"{len(others)} runs"
        print(f"{runs} of A's study on A's apparatus beside it; if the system was the same: {named}{more}")


def _like(first: Path, second: Path) -> list[Path]:
    """Returns the finished runs beside the first one, except the second, that have the same study and
    apparatus."""
    run = Run.open(first)
    study, facts = recorder.as_json(run.study), run.sessions[-1].fingerprint if run.sessions else None
    both = {first.resolve(), second.resolve()}
    found = []
    for file in sorted(first.absolute().parent.glob(f"*/{RUN_FILE}"))[:MOST_LOOKED_AT]:
        if file.parent.resolve() in both:
            continue
        try:
            other = Run.open(file.parent)
            sessions = other.sessions
            same = recorder.as_json(other.study) == study and sessions and sessions[-1].fingerprint == facts
            if same and facts is not None and not other.pending():
                found.append(first.parent / file.parent.name)
            other.close()
        except NettrialError:
            continue  # it can't be read
    return found


def _print_biased(compared: RunComparison) -> None:
    """Prints a note on warnings that may bias changes, if there are any."""
    if any(sum(each.biased) for each in compared.differences):
        print(
            f"\n{BIASED}: trials have warnings that may bias the response, such as a CPU that was always in "
            "use; `nettrial report` shows them."
        )


def _print_apparatus(compared: RunComparison) -> None:
    """Prints in what the apparatus of the runs differs, or which of them did not record it."""
    if not compared.apparatus:
        return
    unrecorded = [
        run for run, said in zip("AB", compared.apparatus[0][1:], strict=True) if said == NOT_RECORDED
    ]
    if unrecorded:
        print(f"\nThe apparatus of {numbers.listed(unrecorded)} was not recorded.")
        return
    print("\nDifferences of the apparatus, to which changes may be due")
    print_table(["", "A", "B"], compared.apparatus)


def _print_few(compared: RunComparison) -> None:
    """Prints a note on wide intervals if a treatment has few trials."""
    counts = [min(each.counts) for each in compared.differences if each.change.p_value is not None]
    if not counts or min(counts) >= ENOUGH or compared.sessions > 1:
        return
    few, enough = (f"{quantile(count - 1, compared.intervals):.3g}" for count in (min(counts), ENOUGH))
    print(
        f"\nOne treatment has only {min(counts)} trials in a run, so its intervals extend {few} standard "
        "errors to each "
        f"side of the mean, and only a large change can be shown. With {ENOUGH} trials they would extend "
        f"{enough}."
    )


def _corrected(intervals: int, level: float) -> str:
    if intervals < 2:
        return f"The confidence level is {level:g}%."
    return f"All {intervals} intervals hold together at {level:g}% (Bonferroni)."


def _rows(differences: Sequence[Difference]) -> list[list[str]]:
    """Returns the table rows of one response, with as many decimals as its intervals justify."""
    percent = _decimals(differences)
    largest = max((abs(mean) for each in differences for mean in each.means if mean), default=1.0)
    decimals = max(0, DIGITS - 1 - math.floor(math.log10(largest)))
    return [
        [
            each.response.name,
            in_words(each.treatment),
            f"{each.counts[0]}, {each.counts[1]}",
            *("absent" if mean is None else numbers.fixed(mean, decimals) for mean in each.means),
            each.response.unit,
            *_change(each, percent),
            _verdict(each),
        ]
        for each in differences
    ]


def _decimals(differences: Sequence[Difference]) -> int:
    """Returns the decimals of changes in percent, as many as their intervals justify."""
    return numbers.percent_decimals([replace(each.change, interval=each.interval) for each in differences])


def _change(difference: Difference, decimals: int) -> tuple[str, str]:
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
    said = merit_in_words(judged, difference.response.smallest_effect)
    if judged in (Merit.BETTER, Merit.WORSE):
        said = f"{documents.direction(difference.shown)} ({said})"
    return f"{said}{doubt}"


def _print_alone(compared: RunComparison) -> None:
    """Prints the treatments and responses that only one of the runs has."""
    for run, treatments, responses in zip(
        "AB", compared.treatments_of_one, compared.responses_of_one, strict=True
    ):
        if treatments:
            print(f"\nTreatments only in {run}")
            for treatment in treatments:
                print(f"- {in_words(treatment)}")
        if responses:
            print(f"\nResponses only in {run}: {', '.join(responses)}")


def _in_words(judged: Judgement) -> str:
    """Returns a condition under a treatment, with the change that it judges."""
    found = judged.difference
    said = f"{judged.condition} ({in_words(found.treatment)})"
    if found.interval is None or found.percent is None:
        return f"{said}: {judged.reason}"
    return f"{said}: {numbers.signed(found.percent, 1)}% {numbers.bounds(found.interval, 1)}"


def _print_conditions(judgements: Sequence[Judgement]) -> None:
    """Prints a line for each condition under each treatment, with its outcome."""
    if not judgements:
        return
    conditions = _conditions(judgements)
    print(f"\n{conditions.heading}")
    print_table(conditions.columns, conditions.rows)


def _conditions(judgements: Sequence[Judgement]) -> Table:
    """Returns a table with a row for each condition under each treatment, with its outcome."""
    rows: list[list[str]] = []
    for judged in dict.fromkeys(each.condition for each in judgements):
        of_it = [each for each in judgements if each.condition == judged]
        decimals = _decimals([each.difference for each in of_it])
        rows += [
            [
                str(judged),
                in_words(each.difference.treatment),
                *_change(each.difference, decimals),
                _outcome(each),
            ]
            for each in of_it
        ]
    columns = ["condition", "treatment", "change", "interval", ""]
    return Table("Conditions of --fail-if", columns, rows)


def _outcome(judged: Judgement) -> str:
    """Returns the outcome of a condition in words, with the reason or the doubt."""
    if judged.reason:
        return f"{judged.outcome}: {judged.reason}"
    return f"{judged.outcome}, {BIASED}" if sum(judged.difference.biased) else str(judged.outcome)


def _document(
    compared: RunComparison, first: Path, second: Path, judgements: Sequence[Judgement]
) -> compare_documents.CompareDocument:
    return compare_documents.CompareDocument(
        a=str(first),
        b=str(second),
        apparatus=[compare_documents.Circumstance(name=name, a=a, b=b) for name, a, b in compared.apparatus],
        circumstances=[
            compare_documents.Circumstance(name=name, a=a, b=b) for name, a, b in compared.circumstances
        ],
        sessions_of_a=compared.sessions,
        intervals=compared.intervals,
        differences=[_as_document(each) for each in compared.differences],
        treatments_of_a=list(compared.treatments_of_one[0]),
        treatments_of_b=list(compared.treatments_of_one[1]),
        responses_of_a=list(compared.responses_of_one[0]),
        responses_of_b=list(compared.responses_of_one[1]),
        conditions=[
            compare_documents.Judgement(
                condition=str(each.condition),
                treatment=each.difference.treatment,
                holds=HOLDS[each.outcome],
                reason=each.reason,
            )
            for each in judgements
        ],
    )


def _as_document(each: Difference) -> compare_documents.Difference:
    return compare_documents.Difference(
        response=each.response.name,
        unit=each.response.unit,
        treatment=each.treatment,
        n_a=each.counts[0],
        n_b=each.counts[1],
        biased_a=each.biased[0],
        biased_b=each.biased[1],
        mean_a=each.means[0],
        mean_b=each.means[1],
        percent=each.percent,
        interval=documents.bounds(each.interval),
        shown=documents.direction(each.shown),
        verdict=VERDICTS[merit(each.response, each.change, each.shown)],
        absent=each.absent,
    )


HOLDS = {Outcome.HOLDS: True, Outcome.DOES_NOT_HOLD: False, Outcome.UNKNOWN: None}
"""The value of `holds` in the document for each outcome."""


def _judge(judgements: Sequence[Judgement], inconclusive: str) -> int:
    """Says which conditions decide the exit status, and returns it. Raises TrialsFailed if no condition holds
    and one has no interval: a missing measurement does not count as a success. Raises Inconclusive if a
    condition's interval is too wide and `inconclusive` is "fail"."""
    held = [each for each in judgements if each.outcome is Outcome.HOLDS]
    unknown = [each for each in judgements if each.outcome is Outcome.UNKNOWN]
    missing = [each for each in unknown if each.difference.interval is None]
    wide = [each for each in unknown if each.difference.interval is not None]
    for each in held:
        say(f"fails: {_in_words(each)}")
    for each in [*missing, *(wide if inconclusive == "fail" else ())]:
        say(f"can't tell: {_in_words(each)}")
    if held:
        return FAILED
    if missing:
        hold = "1 condition holds" if len(missing) == 1 else f"{len(missing)} conditions hold"
        raise TrialsFailed(f"can't tell whether {hold}: there is no interval")
    if wide and inconclusive == "fail":
        raise Inconclusive(len(wide))
    return 0
