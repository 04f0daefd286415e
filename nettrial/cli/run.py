"""`nettrial run` and `nettrial report`: from the options to the report."""

from __future__ import annotations

import gc
import shlex
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nettrial.cli import READING, log, permission
from nettrial.cli.console import output, say
from nettrial.cli.limits import ANYTHING, Gate
from nettrial.cli.progress import SessionDisplay, say_event
from nettrial.cli.signals import Signals
from nettrial.design import PlannedTrial
from nettrial.errors import BadInput
from nettrial.report import numbers
from nettrial.running import sets
from nettrial.running.apparatus import Apparatus
from nettrial.running.permission import OPTION
from nettrial.running.session import is_unfinished
from nettrial.running.start import (
    THIS_MACHINE,
    CheckedRun,
    NewRun,
    TrialMachines,
    new_run,
    refuse_failures,
    resumed_run,
)
from nettrial.running.stop import Stop
from nettrial.running.study_design import Design, DesignOptions
from nettrial.store import Run
from nettrial.store.directory import refuse_existing, require_directory
from nettrial.study import load

if TYPE_CHECKING:
    from nettrial.report.comparison_tables import Earlier
    from nettrial.report.content import Report

LONG_SECONDS = 60.0
"""The expected duration in seconds above which a plan's duration is announced before it begins."""
SPREAD = "sd"
"""The value of `report --show` for standard deviations and numbers of trials."""
INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 plus the number of SIGINT, as in shells."""


@dataclass(frozen=True)
class RunOutput:
    """The form of the output: one screen, all tables with `tables`, or a JSON document. `also` names the
    statistics that the tables show in addition."""

    tables: bool = False
    """True if all tables are printed."""
    as_json: bool = False
    """True if a JSON document is printed."""
    also: str | None = None
    """The additional statistics: "sd" or None."""
    is_printed: bool = True
    """False if only the page is written."""


@dataclass(frozen=True)
class Manner:
    """The manner of running trials: with `strict`, a warning is a failure; with `quiet`, no progress is
    shown. With `allows_commands`, the study's own commands are started without a question."""

    strict: bool = False
    """True if a trial with a warning counts as failed."""
    target: TrialMachines = THIS_MACHINE
    """The machines that run the trials."""
    form: RunOutput = RunOutput()
    """The form of the report."""
    quiet: bool = False
    """True if no progress is shown."""
    allows_commands: bool = False
    """True if the study's own commands are started without a question."""
    gate: Gate = ANYTHING
    """The conditions on which the command fails."""
    another_apparatus: bool = False
    """True if a run is resumed although the apparatus differs from that of its earlier sessions."""


def named(study: str | None) -> str:
    """Returns the argument STUDY; raises BadInput without it."""
    if study is None:
        raise BadInput(READING, "STUDY", "missing", "a study's name", "`nettrial list studies` shows them")
    return study


def start(name: str | None, options: DesignOptions, out: Path | None, manner: Manner) -> int:
    """Makes a new run and returns the exit status. Nothing is written before everything has been checked."""
    name = named(name)
    study = load(name)
    with new_run(study, name, options, out, manner.target, say_event) as ready:
        design, trials, apparatus = ready.design, ready.trials, ready.apparatus
        manner.gate.limits(design.study)  # an error of theirs comes before the trials
        if design.choice is not None and design.choice.note is not None and not manner.quiet:
            say(design.choice.note)
        permission.ask(ready.requests, manner.allows_commands)
        run = ready.create()
        if not manner.quiet:
            say(f"{planned(ready)}, seed {ready.seed}")
            _say_until(design)
            _say_work(ready, trials)
            _say_idle(design.replicates, apparatus)
            say(f"results: {ready.directory}")
        return _go_on(run, ready, manner)


def planned(ready: NewRun) -> str:
    """Returns a run's title, its number of trials and how long they take."""
    design, apparatus = ready.design, ready.apparatus
    size = apparatus.trials_at_once
    together = -(-design.replicates // len(apparatus.backends))
    length = design.length(together) + (f", {size} trials at once" if size > 1 else "")
    return f"{design.study.title}: {numbers.counted(len(ready.trials), 'trial')}, {length}"


def _say_until(design: Design) -> None:
    """Prints the number of blocks that the stopping rule may add, if there is one."""
    until = design.study.until
    if until is None:
        return
    from nettrial.report import stopping  # imported only when needed: its statistics are slow to load

    more = f"at most {until.maximum} blocks, {design.length(until.maximum)} in all"
    say(f"more blocks follow ({more}) until {stopping.rule(until)}")


def _say_idle(blocks: int, apparatus: Apparatus) -> None:
    """Prints which sets of machines have nothing to do, if there are any."""
    text = sets.idle(blocks, sets.named(apparatus.backends))
    if text:
        say(text)


def resume(name: str | None, options: DesignOptions, directory: Path, manner: Manner) -> int:
    """Resumes the run in a directory and returns the exit status."""
    run = Run.open(directory)
    study = run.study
    started_as = run.started_as
    if name is not None and name not in (study.study, started_as):
        raise BadInput(READING, "STUDY", name, study.study, f"the run in {directory} is of this study")
    given, seed = options.given(), run.seed if options.seed is None else options.seed
    if options.backend is None and run.names_backend:
        options = replace(options, backend=study.backend)
    if given and options.command(started_as, seed) + manner.target.stored_options() != run.command:
        expected = f"no other options than those with which the run was started: {run.command}"
        hint = "a run is resumed as it was planned; start a new run for another plan"
        raise BadInput(READING, "--resume", " ".join(given), expected, hint)
    if not is_unfinished(run):
        say(f"the run in {directory} is finished")
        return _close(run, False, manner)
    with resumed_run(run, manner.target, say_event, manner.another_apparatus) as ready:
        permission.ask(ready.requests, manner.allows_commands)
        if not manner.quiet:
            _say_work(ready, run.pending())
        return _go_on(run, ready, manner)


def report_again(
    directory: Path,
    form: RunOutput,
    figures: Path | None = None,
    in_browser: bool = False,
    junit: Path | None = None,
    markdown: Path | None = None,
    against: Path | None = None,
) -> None:
    """Reports a stored run, on request with figures for papers in a new directory; `junit` and `markdown` are
    files for continuous integration. With the directory `against` of an earlier run, the page has the changes
    since then. Raises BadInput."""
    if form.also not in (None, SPREAD):
        raise BadInput("reporting a run", "--show", repr(form.also), SPREAD, "standard deviation and trials")
    require_directory("--junit", junit)
    require_directory("--markdown", markdown)
    run = Run.open(directory)
    if figures is not None:
        from nettrial.report import figure_files  # imported only when needed: slow to load

        refuse_existing(figures, figure_files.WRITING, "--figures", figure_files.ANOTHER)
    earlier = _earlier(against, directory) if against is not None else None
    page, report, unwritten = _report(run, form, earlier=earlier)
    if earlier is not None:
        say(f"compared with {earlier.directory}: {earlier.changed}; the page has them")
    if figures is not None:
        count = figure_files.write(run, figures)
        say(f"figures: {numbers.counted(count, 'file')} in {figures}")
    if junit is not None or markdown is not None:
        from nettrial.cli import ci  # when it is needed

        ci.write(report, junit, markdown)
    if unwritten is not None:
        raise unwritten
    if in_browser and page is not None:
        import webbrowser  # when it is needed

        if not webbrowser.open(page.resolve().as_uri()):
            say(f"no browser found on this machine; open {page.resolve()} in one")


def _earlier(earlier: Path, directory: Path) -> Earlier:
    """Returns the comparison with an earlier run."""
    from nettrial.comparison import compare  # imported only when needed: its statistics are slow to load
    from nettrial.report.comparison_tables import Earlier

    return Earlier(str(earlier), compare(earlier, directory).run_comparison)


def _say_work(ready: CheckedRun, trials: Sequence[PlannedTrial]) -> None:
    """Prints how long the trials will take, if that is known and long."""
    each = [ready.work[tuple(trial.treatment.values())] for trial in trials]
    known = [estimate for estimate in each if estimate]
    seconds = sum(estimate.seconds for estimate in known) / max(ready.apparatus.trials_at_once, 1)
    if seconds < LONG_SECONDS:
        return
    where = "these workers" if ready.apparatus.cluster else "this machine"
    hops = sum(estimate.packet_hops for estimate in known)
    say(
        f"this will take about {numbers.as_time(seconds)} on {where}, for {hops:.2g} transmissions of a "
        "packet over a link; lower rates, shorter traffic or fewer replicates take less"
    )


def _go_on(run: Run, ready: CheckedRun, manner: Manner) -> int:
    log.keep(run.directory)
    apparatus = ready.apparatus
    several = apparatus.trials_at_once > 1 or apparatus.cluster is not None
    stop = Stop()
    try:
        with SessionDisplay(run, manner.quiet) as display, Signals(stop, several):
            stopped = apparatus.run_trials(run, ready.work, display.hear, stop)
    except (OSError, sqlite3.Error):  # a full disk, for example
        say(f"not finished; to resume: {_to_resume(run, manner)}")
        raise
    return _close(run, stopped, manner)


def _to_resume(run: Run, manner: Manner) -> str:
    """Returns the command that resumes a run."""
    again = shlex.join(["nettrial", "run", "--resume", str(run.directory)])
    again += manner.target.options() + (" --strict" if manner.strict else "")
    return again + (f" {OPTION}" if manner.allows_commands else "")


def _close(run: Run, stopped: bool, manner: Manner) -> int:
    """Reports a run, prints how it ended, and returns the exit status."""
    is_judged = bool(manner.gate.conditions) and not run.pending()
    _, report, unwritten = _report(
        run, manner.form, manner.quiet, gate=manner.gate if is_judged else ANYTHING
    )
    if unwritten is not None:
        say(str(unwritten))
    again = _to_resume(run, manner)
    if run.study.until is not None and not manner.quiet:
        from nettrial.report import stopping  # imported only when needed, as the report is

        say(stopping.end(run))
    if stopped:
        say(f"stopped; to resume: {again}")
        return INTERRUPTED
    refuse_failures(run, again, manner.strict)
    if manner.gate.conditions:
        judged = manner.gate.judge(run.study, report.summary.responses)
        failed = manner.gate.decide(judged, manner.form.as_json)
        if failed:
            return failed
    return 0 if unwritten is None else unwritten.exit_code


def _report(
    run: Run, form: RunOutput, quiet: bool = False, earlier: Earlier | None = None, gate: Gate = ANYTHING
) -> tuple[Path | None, Report, BadInput | None]:
    """Writes the page, with the changes since an earlier run if there is one, and prints the report, whose
    document has the conditions of `gate`. Returns the page, the report and, if the page can't be written, the
    error instead of the page."""
    # Imported only when needed: drawing charts needs libraries that are slow to load.
    from nettrial.report import html, screen, terminal
    from nettrial.report.content import gather

    report = gather(run)
    gc.freeze()  # what was read stays until the end: the garbage collector need not look through it again
    page, unwritten = None, None
    try:
        page = html.write(run, report, earlier)  # first: whoever reads the output may stop reading
    except BadInput as why:
        unwritten = why
    if not form.is_printed:
        pass
    elif form.as_json:
        from nettrial.cli import run_document
        from nettrial.cli.documents import base as documents

        judged = gate.judge(run.study, report.summary.responses)
        documents.show(run_document.report_document(report, page, judged))
    elif form.tables or form.also is not None:
        terminal.render(run, output(), report, form.also == SPREAD)
    else:
        screen.render(report, output())
    if page is not None and not quiet:
        say(f"report: {page}")
    return page, report, unwritten
