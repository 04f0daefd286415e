"""`nettrial compare`: the changes from one run to another."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from nettrial.analysis import merit
from nettrial.analysis.apparatus import NOT_RECORDED
from nettrial.analysis.compare import Difference, RunComparison
from nettrial.analysis.intervals import quantile
from nettrial.analysis.outcomes import Outcome
from nettrial.cli import READING
from nettrial.cli.compare_files import NO_FILES, ComparisonFiles
from nettrial.cli.console import print_table, say
from nettrial.cli.documents import base as documents
from nettrial.cli.documents import compare as compare_documents
from nettrial.cli.documents import merits
from nettrial.cli.documents.merits import VERDICTS
from nettrial.cli.limits import FAILED, Gate
from nettrial.cli.pool import expanded
from nettrial.comparison import Judgement, compare
from nettrial.design.trial_order import in_words
from nettrial.errors import BadInput, Inconclusive, NettrialError, TrialsFailed
from nettrial.files import RUN_FILE
from nettrial.report import comparison_tables, numbers
from nettrial.report.change_words import WOULD_BE
from nettrial.report.comparison_tables import BIASED, CHANGES, TWO_SESSIONS, Table
from nettrial.store import Run, recorder

ENOUGH = 5
"""The number of trials of a treatment below which the comparison warns of its wide intervals."""
MOST_LOOKED_AT = 100
"""The largest number of runs beside one that are looked at."""
MOST_NAMED = 5
"""The largest number of such runs that are named."""


def show(
    first: Path,
    second: Path,
    fail_if: Sequence[str],
    only: Sequence[str],
    inconclusive: str = "pass",
    as_json: bool = False,
    history: Sequence[Path] = (),
    files: ComparisonFiles = NO_FILES,
) -> int:
    """Compares two runs, prints the changes and the outcome of each condition, and returns the exit status.
    `history` has further runs of the first one's system, and `files` are written as well.

    Raises BadInput; TrialsFailed if a condition has no interval to judge it by; and Inconclusive if an
    interval is too wide to judge a condition and `inconclusive` is "fail"."""
    Gate(inconclusive=inconclusive).check()
    files.check()
    comparison = compare(first, second, only, expanded(history))
    run_comparison = comparison.run_comparison
    judgements = comparison.judge(*fail_if)
    if files != NO_FILES:
        judged = [(each, _in_words(each)) for each in judgements]
        tables = [_conditions(judgements), _changes(run_comparison, first, second)]
        files.write(judged, inconclusive == "fail", tables)
    if as_json:
        documents.show(_document(run_comparison, first, second, judgements))
    else:
        _print(run_comparison, first, second)
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
    study, finished, others = recorder.as_json(later.study), [], 0
    for file in directory.glob(f"*/{RUN_FILE}"):
        if file.parent.resolve() == later.directory.resolve():
            continue
        try:
            run = Run.open(file.parent)
            if run.sessions and not run.pending():
                if recorder.as_json(run.study) == study:
                    finished.append((run.sessions[0].started, file.parent))
                others += run.study.study == later.study.study
            run.close()
        except NettrialError:
            continue  # it can't be read
    if not finished:
        expected = f"a directory with a run of {later.study.study} whose trials have all finished"
        hint = "`nettrial list runs DIR` lists runs"
        if others:
            hint = "those there have other levels or settings: `nettrial compare RUN_A RUN_B` compares them"
        raise BadInput(READING, "--baseline", str(directory), expected, hint)
    return max(finished)[1]


def _print(compared: RunComparison, first: Path, second: Path) -> None:
    print(f"A: {first}\nB: {second}")
    _print_apparatus(compared)
    if compared.circumstances:
        print("\nOther differences between the runs")
        print_table(["", "A", "B"], compared.circumstances)
    print(f"\n{comparison_tables.method(compared)}")
    rows = _changes(compared, first, second).rows
    print_table(CHANGES, rows)
    if any(" would be" in row[-1] for row in rows):
        print(WOULD_BE)
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
    print(f"\n{comparison_tables.counted(compared)}.")


def _changes(compared: RunComparison, first: Path, second: Path) -> Table:
    return comparison_tables.changes(compared, f"Changes in percent from {first} (A) to {second} (B)")


def _print_unknown(compared: RunComparison, first: Path, second: Path) -> None:
    """Prints what the comparison of two sessions can't tell, unless sessions are known not to differ, and
    names the runs that may be further sessions of A's system. They are not used unasked: a run does not
    record all of the system under test, such as the settings of a switch, so that only the user knows which
    runs are of the same one."""
    if compared.sessions > 1 or compared.exact:
        return
    print(f"\n{TWO_SESSIONS}: --history RUN, for more runs of A's system, allows for that.")
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
    runs = []
    for file in sorted(first.absolute().parent.glob(f"*/{RUN_FILE}"))[:MOST_LOOKED_AT]:
        if file.parent.resolve() in both:
            continue
        try:
            other = Run.open(file.parent)
            sessions = other.sessions
            same = recorder.as_json(other.study) == study and sessions and sessions[-1].fingerprint == facts
            if same and facts is not None and not other.pending():
                runs.append(first.parent / file.parent.name)
            other.close()
        except NettrialError:
            continue  # it can't be read
    return runs


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
    difference = judged.difference
    said = f"{judged.condition} ({in_words(difference.treatment)})"
    if difference.interval is None or difference.percent is None:
        return f"{said}: {judged.reason}"
    return f"{said}: {numbers.signed(difference.percent, 1)}% {numbers.bounds(difference.interval, 1)}"


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
        decimals = comparison_tables.percent_decimals([each.difference for each in of_it])
        rows += [
            [
                str(judged),
                in_words(each.difference.treatment),
                *comparison_tables.change_and_interval(each.difference, decimals),
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
                holds=documents.HOLDS[each.outcome],
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
        detectable=merits.could_show(each.change, each.response),
        absent=each.absent,
    )


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
