"""`nettrial run`, `nettrial resume` and `nettrial report`: from the options to the report."""

from __future__ import annotations

import gc
import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from nettrial.backends import BACKENDS, Backend, Configuration, Machines
from nettrial.cli import READING, log, permission, sets
from nettrial.cli.checking import Work, check
from nettrial.cli.cluster import LOCAL, Cluster
from nettrial.cli.console import output, say
from nettrial.cli.design import Design, DesignOptions, Scenarios, as_time
from nettrial.cli.session import at_once, run_trials, unfinished
from nettrial.design import PlannedTrial, plan
from nettrial.errors import BadInput, CannotRun, Fault, Lack, TrialsFailed
from nettrial.machines import Inventory
from nettrial.report import numbers
from nettrial.scenario import Environment, Scenario
from nettrial.store import Run
from nettrial.store.directory import refuse_existing
from nettrial.store.fingerprint import fingerprint
from nettrial.study import Study
from nettrial.study.published import read as read_published

if TYPE_CHECKING:
    from nettrial.report.content import Report

LONG_SECONDS = 1200.0
"""The expected duration in seconds above which a plan's duration is announced before it begins."""
SPREAD = "sd"
"""The value of `report --show` for standard deviations and numbers of trials."""
ANOTHER_APPARATUS = "--another-apparatus"
"""The option that resumes a run on another apparatus."""
INTERRUPTED = 130
"""Exit status after Ctrl-C: 128 plus the number of SIGINT, as in shells."""


@dataclass(frozen=True)
class Form:
    """The form of the output: one screen, all tables with `tables`, or a JSON document. `also` names the
    statistics that the tables show in addition."""

    tables: bool = False
    """True if all tables are printed."""
    as_json: bool = False
    """True if a JSON document is printed."""
    also: str | None = None
    """The additional statistics: "sd" or None."""


@dataclass(frozen=True)
class Manner:
    """The manner of running trials: with `strict`, a warning is a failure; with `quiet`, no progress is
    shown. `machines` is the inventory's file, and `on` the Dask cluster that runs the trials, if any. With
    `allows_commands`, the study's own commands are started without a question."""

    strict: bool = False
    """True if a trial with a warning counts as failed."""
    machines: Path | None = None
    """The file of the inventory; None without one."""
    form: Form = Form()
    """The form of the report."""
    quiet: bool = False
    """True if no progress is shown."""
    on: str | None = None
    """The Dask cluster that runs the trials; None for this machine."""
    allows_commands: bool = False
    """True if the study's own commands are started without a question."""
    another_apparatus: bool = False
    """True if a run is resumed although the apparatus differs from that of its earlier sessions."""


Configurations: TypeAlias = dict[str | None, Configuration]
"""The configuration of the backend for each set of machines, by its name; under None without sets."""
Backends: TypeAlias = Mapping[str | None, Backend]
"""The backend for each set of machines, by its name; under None without sets."""


def configurations(study: Study, machines: Path | None, scenarios: Iterable[Scenario]) -> Configurations:
    """Returns the configurations of the study's backend; raises BadInput if it does not match the option."""
    kind = BACKENDS[study.backend].configuration
    if kind is not Machines:
        if machines is not None:
            hint = f"the backend {study.backend} runs only on this machine"
            raise BadInput(READING, "--machines", str(machines), "no --machines with this backend", hint)
        return {None: Configuration()}
    if machines is None:
        hint = "`nettrial machines add` creates such a file"
        raise BadInput(READING, "--machines", "missing", "a file with your machines", hint)
    known = list(scenarios)
    found = Inventory.load(machines).sets()
    return {name: Machines.of(one.of(known).machines, name) for name, one in found.items()}


@contextmanager
def _started(study: Study, settings: Configurations, cluster: Cluster | None) -> Iterator[Backends]:
    """Starts the study's backend with each of the configurations, on workers of the cluster if these drive
    sets of machines; raises CannotRun if a set has no worker."""
    kind = BACKENDS[study.backend]
    with ExitStack() as stack:
        if cluster is None or study.capabilities.parallel:
            yield {name: stack.enter_context(kind.start(each)) for name, each in settings.items()}
            return
        from nettrial.cli.far import FarBackend  # when it is needed

        far: dict[str | None, FarBackend] = {
            name: stack.enter_context(FarBackend(cluster, study.backend, each, name))
            for name, each in settings.items()
            if name is not None
        }
        lacks = [
            Lack(
                f"a worker for the set {name}",
                f"no worker has the resource {name}",
                f"start one where its machines are reached: dask worker SCHEDULER --resources {name}=1",
            )
            for name, backend in far.items()
            if not backend.workers()
        ]
        if lacks:
            raise CannotRun("reaching the sets of machines", lacks, "the cluster can't drive all of them")
        yield far


def start(
    name: str | None, options: DesignOptions, out: Path | None, manner: Manner, dry: bool = False
) -> int:
    """Makes a new run and returns the exit status. Nothing is written before everything has been checked;
    with `dry`, it ends there."""
    if name is None:
        raise BadInput(READING, "STUDY", "missing", "a study's name", "`nettrial list studies` shows them")
    design = Design.of(name, options)
    study = design.study
    directory = out or Path("runs") / f"{study.study}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    refuse_existing(directory)
    published_text = study.published_text()
    if published_text:
        read_published(published_text, study)
    seed = int.from_bytes(os.urandom(4)) if options.seed is None else options.seed
    settings = configurations(study, manner.machines, (scenario for _, scenario in design.scenarios))
    with (
        _reached(study, manner.on, settings) as cluster,
        _started(study, settings, cluster) as backends,
    ):
        environment = _preflight(backends)
        work = check(backends, study, design.scenarios)
        trials = plan(study, design.replicates, seed)
        command = options.command(name, seed) + _with(manner.machines)
        size = _size(study, environment, cluster, backends)
        together = -(-design.replicates // len(backends))
        length = design.length(together) + (f", {size} trials at once" if size > 1 else "")
        requests = permission.requests(study, design.scenarios)
        if dry:
            if requests:
                say(f"this needs {permission.OPTION}:")
                permission.list_requests(requests)
            say(
                f"{study.title}: {numbers.counted(len(trials), 'trial')}, {length}; all can run, none was run"
            )
            return 0
        permission.ask(requests, manner.allows_commands)
        run = Run.create(directory, study.document.text, published_text, study, trials, seed, command)
        if not manner.quiet:
            say(f"{study.title}: {numbers.counted(len(trials), 'trial')}, {length}, seed {seed}")
            _say_until(design)
            _say_work(work, trials, size, cluster)
            _say_idle(design.replicates, backends)
            say(f"results: {directory}")
        return _go_on(run, backends, environment, manner, cluster)


def _say_until(design: Design) -> None:
    """Prints the number of blocks that the stopping rule may add, if there is one."""
    until = design.study.until
    if until is None:
        return
    from nettrial.report import stopping  # imported only when needed: its statistics are slow to load

    more = f"at most {until.maximum} blocks, {design.length(until.maximum)} in all"
    say(f"more blocks follow ({more}) until {stopping.rule(until)}")


def _say_idle(blocks: int, backends: Backends) -> None:
    """Prints which sets of machines have nothing to do, if there are any."""
    text = sets.idle(blocks, sets.named(backends))
    if text:
        say(text)


def _with(machines: Path | None, on: str | None = None) -> str:
    """Returns the options for the inventory and the cluster, for a command line. A run does not store its
    cluster."""
    named = [("--machines", machines), ("--on", on)]
    return "".join(f" {shlex.join([option, str(value)])}" for option, value in named if value is not None)


def resume(name: str | None, options: DesignOptions, out: Path | None, manner: Manner) -> int:
    """Resumes a run and returns the exit status."""
    if out is None:
        raise BadInput(READING, "--resume", "no --out", "--resume --out DIR", "DIR is the run's directory")
    run = Run.open(out)
    study = run.study
    started_as = run.started_as
    if name is not None and name not in (study.study, started_as):
        raise BadInput(READING, "STUDY", name, study.study, f"the run in {out} is of this study")
    given, seed = options.given(), run.seed if options.seed is None else options.seed
    if given and options.command(started_as, seed) + _with(manner.machines) != run.command:
        expected = f"no other options than those with which the run was started: {run.command}"
        hint = "a run is resumed as it was planned; start a new run for another plan"
        raise BadInput(READING, "--resume", " ".join(given), expected, hint)
    if not unfinished(run):
        say(f"the run in {out} is finished")
        return _close(run, False, manner)
    if study.measured:
        hint = "measure or import again, into another directory"
        raise BadInput(
            READING, "--out", str(out), "a run of a study", f"it has measurements, not trials: {hint}"
        )
    run.refuse_foreign()
    scenarios = Scenarios(study)
    settings = configurations(study, manner.machines, (scenario for _, scenario in scenarios))
    with (
        _reached(study, manner.on, settings) as cluster,
        _started(study, settings, cluster) as backends,
    ):
        environment = _preflight(backends)
        if not manner.another_apparatus:
            _refuse_another(run, fingerprint(environment, study.capabilities))
        work = check(backends, study, scenarios)
        permission.ask(permission.requests(study, scenarios), manner.allows_commands)
        if not manner.quiet:
            _say_work(work, run.pending(), _size(study, environment, cluster, backends), cluster)
        return _go_on(run, backends, environment, manner, cluster)


def _refuse_another(run: Run, now: Mapping[str, str]) -> None:
    """Raises BadInput with every fact in which the apparatus of now differs from that of the run."""
    from nettrial.analysis.apparatus import conflict, is_recorded  # their statistics are slow to load

    if run.finished() and not is_recorded(run):
        say("the apparatus of the earlier sessions was not recorded, so this one is not compared with it")
    found = conflict(run, now)
    if found:
        hint = (
            f"finish the run with the apparatus that began it; {ANOTHER_APPARATUS} resumes it all the same, "
            "and its report then warns that sessions differ"
        )
        faults = [
            Fault(f"{each.name} of this session", each.now, f"{each.before}, as when the run began")
            for each in found
        ]
        faults[-1] = replace(faults[-1], hint=hint)
        raise BadInput.listing("resuming the run", faults)


def report_again(
    directory: Path,
    form: Form,
    figures: Path | None = None,
    in_browser: bool = False,
    junit: Path | None = None,
    markdown: Path | None = None,
) -> None:
    """Reports a stored run, on request with figures for papers in a new directory; `junit` and `markdown` are
    files for continuous integration. Raises BadInput."""
    if form.also not in (None, SPREAD):
        raise BadInput("reporting a run", "--show", repr(form.also), SPREAD, "standard deviation and trials")
    run = Run.open(directory)
    if figures is not None:
        from nettrial.report import figure_files  # imported only when needed: slow to load

        refuse_existing(figures, figure_files.WRITING, "--figures", figure_files.ANOTHER)
    page, report, unwritten = _report(run, form)
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


def _preflight(backends: Backends) -> Environment:
    """Returns the environment of the machine, or of all sets of machines; raises CannotRun with everything
    that is missing."""
    found = {name: backend.preflight() for name, backend in backends.items()}
    missing = [lack for preflight in found.values() for lack in preflight.missing]
    if missing:
        (kind,) = {backend.name for backend in backends.values()}
        doing = f"preparing to run trials {BACKENDS[kind].where}"
        if BACKENDS[kind].configuration is Machines:
            raise CannotRun(doing, missing, "not all machines can take part")
        raise CannotRun(doing, missing)
    return sets.together({name: preflight.environment for name, preflight in found.items()})


def _reached(
    study: Study, where: str | None, settings: Configurations
) -> AbstractContextManager[Cluster | None]:
    """Connects to the Dask cluster if trials are to run on one; raises BadInput if they can't run there, and
    CannotRun."""
    if where is None:
        return nullcontext()
    if not study.capabilities.parallel and not sets.named(settings):
        hint = f"trials of the backend {study.backend} need their machines to themselves"
        if isinstance(settings[None], Machines):
            hint += "; workers can drive them if the inventory has sets (`set`)"
        raise BadInput(READING, "--on", where, "no --on with this backend", hint)
    if study.known_measurement.capture.trials != "none":
        hint = "captures would be files on the workers"
        raise BadInput(READING, "--on", where, "no capture of packets", hint)
    if sets.named(settings) and LOCAL.fullmatch(where):
        hint = "without --on, this machine drives all sets of machines"
        raise BadInput(READING, "--on", where, "a scheduler whose workers drive the sets of machines", hint)
    cluster = Cluster(where)
    count, dashboard = len(cluster.threads), cluster.dashboard
    say(f"{numbers.counted(count, 'worker')} on {where}" + (f", dashboard: {dashboard}" if dashboard else ""))
    return cluster


def _size(study: Study, environment: Environment, cluster: Cluster | None, backends: Backends) -> int:
    """Returns the number of trials that run at the same time."""
    if not study.capabilities.parallel:
        return len(backends)
    return sum(cluster.threads.values()) if cluster else at_once(study, environment, len(backends))


def _say_work(work: Work, trials: Sequence[PlannedTrial], size: int, cluster: Cluster | None) -> None:
    """Prints how long the trials will take, with `size` of them at the same time, if that is known and
    long."""
    each = [work[tuple(trial.treatment.values())] for trial in trials]
    known = [estimate for estimate in each if estimate]
    seconds = sum(estimate.seconds for estimate in known) / max(size, 1)
    if seconds < LONG_SECONDS:
        return
    where = "these workers" if cluster else "this machine"
    hops = sum(estimate.packet_hops for estimate in known)
    say(
        f"this will take about {as_time(seconds)} on {where}, for {hops:.2g} transmissions of a packet over "
        "a link; "
        "lower rates, shorter traffic or fewer replicates take less"
    )


def _go_on(
    run: Run, backends: Backends, environment: Environment, manner: Manner, cluster: Cluster | None
) -> int:
    log.keep(run.directory)
    workers = cluster if run.study.capabilities.parallel else None  # others drive sets of machines
    stopped = run_trials(run, backends, environment, manner.quiet, workers)
    return _close(run, stopped, manner)


def _close(run: Run, stopped: bool, manner: Manner) -> int:
    """Reports a run, prints how it ended, and returns the exit status."""
    from nettrial.analysis import digest  # imported only when needed, as the report is

    *_, unwritten = _report(run, manner.form, manner.quiet)
    if unwritten is not None:
        say(str(unwritten))
    again = shlex.join(["nettrial", "resume", str(run.directory)])
    again += _with(manner.machines, manner.on) + (" --strict" if manner.strict else "")
    again += f" {permission.OPTION}" if manner.allows_commands else ""
    if run.study.until is not None and not manner.quiet:
        from nettrial.report import stopping  # imported only when needed, as the report is

        say(stopping.end(run))
    if stopped:
        say(f"stopped; to resume: {again}")
        return INTERRUPTED
    failures = run.failures()
    if failures:
        waiting = len(run.pending()) - len(failures)
        left = f", and {waiting} {'was' if waiting == 1 else 'were'} not run" if waiting else ""
        raise TrialsFailed(
            f"{len(failures)} of {len(run.plan)} trials failed{left}; to run them again: {again}"
        )
    warned = digest(run).warned if manner.strict else []
    if warned:
        named = ", ".join(map(str, warned))
        raise TrialsFailed(f"{len(warned)} of {len(run.plan)} trials have warnings (--strict): {named}")
    return 0 if unwritten is None else unwritten.exit_code


def _report(run: Run, form: Form, quiet: bool = False) -> tuple[Path | None, Report, BadInput | None]:
    """Writes the page and prints the report. Returns the page, the report and, if the page can't be written,
    the error instead of the page."""
    # Imported only when needed: drawing charts needs libraries that are slow to load.
    from nettrial.report import html, screen, terminal
    from nettrial.report.content import gather

    report = gather(run)
    gc.freeze()  # what was read stays until the end: the garbage collector need not look through it again
    page, unwritten = None, None
    try:
        page = html.write(run, report)  # first: whoever reads the output may stop reading
    except BadInput as why:
        unwritten = why
    if form.as_json:
        from nettrial.cli import documents, run_document

        documents.show(run_document.report_document(report, page))
    elif form.tables or form.also is not None:
        terminal.render(run, output(), report, form.also == SPREAD)
    else:
        screen.render(report, output())
    if page is not None and not quiet:
        say(f"report: {page}")
    return page, report, unwritten
