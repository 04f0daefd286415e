"""The apparatus of a session: the backends that run its trials, each started and checked, on this machine, on
sets of machines, or on the workers of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from nettrial.backends import BACKENDS, Backend, Configuration, Machines
from nettrial.design import Treatment
from nettrial.errors import READING_OPTIONS, BadInput, CannotRun, Fault, Lack
from nettrial.machines import Inventory
from nettrial.report import numbers
from nettrial.running import sets
from nettrial.running.checking import Work, check
from nettrial.running.cluster import LOCAL, Cluster
from nettrial.running.events import Listener, Notice
from nettrial.running.session import run_trials, trials_at_once
from nettrial.running.stop import Stop
from nettrial.scenario import Environment, Scenario
from nettrial.store import Run
from nettrial.store.fingerprint import fingerprint
from nettrial.study import Study

ANOTHER_APPARATUS = "--another-apparatus"
"""The option that resumes a run on another apparatus."""

Configurations: TypeAlias = dict[str | None, Configuration]
"""The configuration of the backend for each set of machines, by its name; under None without sets."""
Backends: TypeAlias = Mapping[str | None, Backend]
"""The backend for each set of machines, by its name; under None without sets."""


@dataclass(frozen=True)
class Apparatus:
    """The backends of a session, which are ready to run trials."""

    study: Study
    """The study."""
    backends: Backends
    """The backend for each set of machines, by its name; under None without sets."""
    environment: Environment
    """The machine on which the trials run, or all machines of the sets."""
    cluster: Cluster | None
    """The Dask cluster that runs the trials, or that drives the sets of machines; None without one."""

    @property
    def trials_at_once(self) -> int:
        """Returns the number of trials that run at the same time."""
        if self.study.capabilities.parallel and self.cluster:
            return sum(self.cluster.threads.values())
        return trials_at_once(self.study, self.environment, len(self.backends))

    def check(self, scenarios: Sequence[tuple[Treatment, Scenario]]) -> Work:
        """Has the backends check every scenario, and returns the estimated work; raises BadInput or
        CannotRun."""
        return check(self.backends, self.study, scenarios)

    def refuse_another(self, run: Run, listener: Listener) -> None:
        """Raises BadInput with every fact in which this apparatus differs from that of the run's earlier
        sessions."""
        from nettrial.analysis.apparatus import conflict, is_recorded  # their statistics are slow to load

        if run.finished() and not is_recorded(run):
            text = (
                "the apparatus of the earlier sessions was not recorded, so this one is not compared with it"
            )
            listener(Notice(text))
        conflicts = conflict(run, fingerprint(self.environment, self.study.capabilities))
        if conflicts:
            hint = (
                f"finish the run with the apparatus that began it; {ANOTHER_APPARATUS} resumes it all the "
                "same, and its report then warns that sessions differ"
            )
            faults = [
                Fault(f"{each.name} of this session", each.now, f"{each.before}, as when the run began")
                for each in conflicts
            ]
            faults[-1] = replace(faults[-1], hint=hint)
            raise BadInput.listing("resuming the run", faults)

    def run_trials(self, run: Run, work: Work, listener: Listener, stop: Stop) -> bool:
        """Runs the trials of a run that have no record; returns whether a request to `stop` left some. The
        estimated `work` serves to predict how long they take."""
        workers = self.cluster if self.study.capabilities.parallel else None  # others drive sets of machines
        return run_trials(run, self.backends, self.environment, work, listener, stop, workers)


@contextmanager
def prepared(
    study: Study,
    scenarios: Iterable[Scenario],
    machines: Path | None,
    on: str | None,
    listener: Listener,
) -> Iterator[Apparatus]:
    """Starts the backends of a study, and ends them afterwards. `machines` is the inventory's file, and `on`
    the Dask cluster, if any. Raises BadInput if they do not match the backend, and CannotRun with everything
    that is missing."""
    settings = _configurations(study, machines, scenarios)
    with (
        _reached(study, on, settings, listener) as cluster,
        _started(study, settings, cluster) as backends,
    ):
        yield Apparatus(study, backends, _preflight(backends), cluster)


def _configurations(study: Study, machines: Path | None, scenarios: Iterable[Scenario]) -> Configurations:
    """Returns the configurations of the study's backend; raises BadInput if it does not match the option."""
    kind = BACKENDS[study.backend]
    if kind.configuration is not Machines and not (kind.joins_machines and machines):
        if machines is not None:
            hint = f"the backend {study.backend} runs only on this machine"
            raise BadInput(
                READING_OPTIONS, "--machines", str(machines), "no --machines with this backend", hint
            )
        return {None: Configuration()}
    if machines is None:
        hint = "`nettrial machines add` and `nettrial init --two-hosts` create such a file"
        raise BadInput(READING_OPTIONS, "--machines", "missing", "a file with your machines", hint)
    known = list(scenarios)
    inventory = Inventory.load(machines)
    inventories = {name: one.of(known) for name, one in inventory.sets().items()}
    for name, machine in (each for one in inventories.values() for each in one.machines.items()):
        if kind.joins_machines and machine.starts is None:
            hint = "the lab starts the machines on its links; --backend hosts runs on those that run"
            raise BadInput(READING_OPTIONS, f"machines: {name}: starts", "missing", "a command", hint)
        if machine.starts is not None and not kind.joins_machines:
            hint = "the lab starts such a machine, and its interfaces are on the lab's links"
            raise BadInput(READING_OPTIONS, f"machines: {name}: starts", "given", "--backend lab", hint)
    return {name: Machines.of(one.machines, name) for name, one in inventories.items()}


@contextmanager
def _started(study: Study, settings: Configurations, cluster: Cluster | None) -> Iterator[Backends]:
    """Starts the study's backend with each of the configurations, on workers of the cluster if these drive
    sets of machines; raises CannotRun if a set has no worker."""
    kind = BACKENDS[study.backend]
    with ExitStack() as stack:
        if cluster is None or study.capabilities.parallel:
            yield {name: stack.enter_context(kind.start(each)) for name, each in settings.items()}
            return
        from nettrial.running.worker_backend import WorkerBackend  # when it is needed

        driven: dict[str | None, WorkerBackend] = {
            name: stack.enter_context(WorkerBackend(cluster, study.backend, each, name))
            for name, each in settings.items()
            if name is not None
        }
        lacks = [
            Lack(
                f"a worker for the set {name}",
                f"no worker has the resource {name}",
                f"start one where its machines are reached: dask worker SCHEDULER --resources {name}=1",
            )
            for name, backend in driven.items()
            if not backend.workers()
        ]
        if lacks:
            raise CannotRun("reaching the sets of machines", lacks, "the cluster can't drive all of them")
        yield driven


def _preflight(backends: Backends) -> Environment:
    """Returns the environment of the machine, or of all sets of machines; raises CannotRun with everything
    that is missing."""
    preflights = {name: backend.preflight() for name, backend in backends.items()}
    missing = [lack for preflight in preflights.values() for lack in preflight.missing]
    if missing:
        (kind,) = {backend.name for backend in backends.values()}
        doing = f"preparing to run trials {BACKENDS[kind].where}"
        if BACKENDS[kind].configuration is Machines:
            raise CannotRun(doing, missing, "not all machines can take part")
        raise CannotRun(doing, missing)
    return sets.together({name: preflight.environment for name, preflight in preflights.items()})


def _reached(
    study: Study, where: str | None, settings: Configurations, listener: Listener
) -> AbstractContextManager[Cluster | None]:
    """Connects to the Dask cluster if trials are to run on one; raises BadInput if they can't run there, and
    CannotRun."""
    if where is None:
        return nullcontext()
    if not study.capabilities.parallel and not sets.named(settings):
        hint = f"trials of the backend {study.backend} need their machines to themselves"
        if isinstance(settings[None], Machines):
            hint += "; workers can drive them if the inventory has sets (`set`)"
        raise BadInput(READING_OPTIONS, "--on", where, "no --on with this backend", hint)
    if study.known_measurement.capture.trials != "none":
        hint = "captures would be files on the workers"
        raise BadInput(READING_OPTIONS, "--on", where, "no capture of packets", hint)
    if sets.named(settings) and LOCAL.fullmatch(where):
        hint = "without --on, this machine drives all sets of machines"
        raise BadInput(
            READING_OPTIONS, "--on", where, "a scheduler whose workers drive the sets of machines", hint
        )
    cluster = Cluster(where)
    count, dashboard = len(cluster.threads), cluster.dashboard
    more = f", dashboard: {dashboard}" if dashboard else ""
    listener(Notice(f"{numbers.counted(count, 'worker')} on {where}{more}"))
    return cluster
