"""Starting and resuming runs: everything is checked before anything is written."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from nettrial.defaults import user_defaults
from nettrial.design import PlannedTrial, plan
from nettrial.errors import READING_OPTIONS, BadInput, TrialsFailed
from nettrial.running.apparatus import Apparatus, prepared
from nettrial.running.checking import Work
from nettrial.running.events import Listener
from nettrial.running.permission import PermissionRequest, requests
from nettrial.running.study_design import Design, DesignOptions, Scenarios
from nettrial.store import Run
from nettrial.store.directory import refuse_existing
from nettrial.study import Study
from nettrial.study.published import read as read_published
from nettrial.study.published import refuse_unknown_levels


def new_directory(study: Study, given: Path | None) -> Path:
    """Returns the directory of a new run: the given one, or one in the user's directory of runs that is named
    after the study and the time, with a number if another run has that name. Raises BadInput if the given one
    exists, or if the user's defaults can't be read."""
    runs = user_defaults().runs
    if given is not None:
        refuse_existing(given)
        return given
    first = runs / f"{study.study}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    others = (first.with_name(f"{first.name}-{number}") for number in count(2))
    return next(directory for directory in chain([first], others) if not os.path.lexists(directory))


def new_seed(given: int | None) -> int:
    """Returns the given seed, or one that is drawn."""
    return int.from_bytes(os.urandom(4)) if given is None else given


@dataclass(frozen=True)
class TrialMachines:
    """The machines that run trials."""

    machines: Path | None = None
    """The file of the inventory; None without one."""
    on: str | None = None
    """The Dask cluster that runs the trials; None for this machine."""

    def options(self) -> str:
        """Returns the options for a command line, with a space before each."""
        named = [("--machines", self.machines), ("--on", self.on)]
        return "".join(f" {shlex.join([name, str(value)])}" for name, value in named if value is not None)

    def stored_options(self) -> str:
        """Returns the options that a run stores: it does not store its cluster."""
        return TrialMachines(self.machines).options()


THIS_MACHINE = TrialMachines()
"""This machine alone."""


@dataclass(frozen=True)
class CheckedRun:
    """A run whose trials can run: its backends are started, and have checked every scenario."""

    apparatus: Apparatus
    """The backends."""
    work: Work
    """The estimated work of the trials."""
    requests: Sequence[PermissionRequest]
    """The requests of the study that need permission."""


@dataclass(frozen=True)
class NewRun(CheckedRun):
    """A run that can be started. Nothing of it has been written."""

    design: Design
    """The study with its options."""
    trials: Sequence[PlannedTrial]
    """The planned trials, in run order."""
    directory: Path
    """The run's directory, which does not exist yet."""
    seed: int
    """The seed of the run."""
    command: str
    """The command that makes the same run."""
    published_text: str | None
    """The text of the file of published figures."""

    def create(self) -> Run:
        """Creates the run's directory."""
        study = self.design.study
        text = study.document.text
        return Run.create(
            self.directory, text, self.published_text, study, self.trials, self.seed, self.command
        )


@contextmanager
def new_run(
    study: Study,
    name: str,
    options: DesignOptions,
    directory: Path | None,
    target: TrialMachines,
    listener: Listener,
) -> Iterator[NewRun]:
    """Checks a run of a study, and starts its backends, which end afterwards. `name` is the study's name in
    the command that makes the same run. Raises BadInput and CannotRun."""
    design = Design.of(study, options)
    study, choice = design.study, design.choice
    if choice is not None:
        options = replace(options, backend=choice.backend)  # the same command makes the same run anywhere
    directory = new_directory(study, directory)
    published_text = study.published_text()
    if published_text:
        refuse_unknown_levels(read_published(published_text, study), study)
    seed = new_seed(options.seed)
    scenarios = (scenario for _, scenario in design.scenarios)
    with prepared(study, scenarios, target.machines, target.on, listener) as apparatus:
        yield NewRun(
            apparatus=apparatus,
            work=apparatus.check(design.scenarios),
            requests=requests(study, design.scenarios),
            design=design,
            trials=plan(study, design.replicates, seed),
            directory=directory,
            seed=seed,
            command=options.command(name, seed) + target.stored_options(),
            published_text=published_text,
        )


@contextmanager
def resumed_run(
    run: Run, target: TrialMachines, listener: Listener, another_apparatus: bool = False
) -> Iterator[CheckedRun]:
    """Checks the trials of a stored run, and starts its backends, which end afterwards. Raises BadInput, also
    if the apparatus differs from that of the run's earlier sessions, unless `another_apparatus` is true; and
    CannotRun."""
    study = run.study
    if study.measured:
        hint = "it has measurements, not trials: measure or import again, into another directory"
        raise BadInput(READING_OPTIONS, "--resume", str(run.directory), "a run of a study", hint)
    run.refuse_foreign()
    scenarios = Scenarios(study)
    each = (scenario for _, scenario in scenarios)
    with prepared(study, each, target.machines, target.on, listener) as apparatus:
        if not another_apparatus:
            apparatus.refuse_another(run, listener)
        yield CheckedRun(apparatus, apparatus.check(scenarios), requests(study, scenarios))


def refuse_failures(run: Run, again: str, strict: bool = False) -> None:
    """Raises TrialsFailed if trials of the run failed or, with `strict`, have warnings. `again` resumes the
    run."""
    failures = run.failures()
    if failures:
        waiting = len(run.pending()) - len(failures)
        left = f", and {waiting} {'was' if waiting == 1 else 'were'} not run" if waiting else ""
        raise TrialsFailed(
            f"{len(failures)} of {len(run.plan)} trials failed{left}; to run them again: {again}"
        )
    if not strict:
        return
    from nettrial.analysis import digest  # imported only when needed: its statistics are slow to load

    warned = digest(run).warned
    if warned:
        named = ", ".join(map(str, warned))
        raise TrialsFailed(f"{len(warned)} of {len(run.plan)} trials have warnings (--strict): {named}")
