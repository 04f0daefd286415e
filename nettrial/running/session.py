"""A session of a run: trials are started in the plan's order, and each is stored as soon as it is
finished."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Mapping, Sequence

from nettrial.backends import Backend, TrialFailed
from nettrial.design import (
    PlannedTrial,
    capture_of,
    next_block,
    remove_partial,
    resolve,
    traffic_seconds,
)
from nettrial.design.disturbances import covariates
from nettrial.design.trial_order import in_words
from nettrial.fields import in_short
from nettrial.running.checking import Work
from nettrial.running.cluster import Cluster
from nettrial.running.events import (
    BlocksAdded,
    Event,
    Listener,
    Notice,
    SessionEnded,
    SessionStarted,
    TrialDisturbed,
    TrialFinished,
    TrialLost,
    TrialsRunning,
    WarmUpFinished,
)
from nettrial.running.pool import HEARTBEAT_SECONDS, EnginePool, Executor, Outcome
from nettrial.running.remaining import Remaining, TrialDurations
from nettrial.running.reruns import Reruns
from nettrial.running.sets import SetLost, Slot, homes
from nettrial.running.stop import Stop
from nettrial.running.study_design import SET_UP_SECONDS
from nettrial.running.trial_result import TrialResult
from nettrial.scenario import Environment, Scenario
from nettrial.store import Run
from nettrial.store.fingerprint import fingerprint
from nettrial.store.recorder import Recorder, TooLarge
from nettrial.study import Study

GRACE_TIMES, GRACE_SECONDS = 3, 300.0
"""The time limit of a trial, after which its engine is killed: this multiple of the expected duration of its
traffic plus this number of seconds. Simulated trials have no limit."""
BOOT_SECONDS = 200.0
"""The time beside that for guests to boot, which takes the engine's own limit at most."""

EXHAUSTED = (
    "something else on this machine disturbs so many trials that no further one is run again; their records "
    "say by how much it disturbed them"
)
"""The notice when a run has run as many trials again as it may."""

_LOG = logging.getLogger(__name__)


def time_limit(trial: Scenario) -> float:
    """Returns the time limit of a trial, seconds."""
    boots = any(node.system for node in trial.nodes)
    return GRACE_TIMES * traffic_seconds(trial) + GRACE_SECONDS + (BOOT_SECONDS if boots else 0)


def is_unfinished(run: Run) -> bool:
    """Returns whether trials of the plan have no record, or the run's stopping rule asks for another
    block."""
    return bool(run.pending()) or _asks_for_more(run, lambda event: None)


def trials_at_once(study: Study, environment: Environment, sets: int = 1) -> int:
    """Returns the number of trials that run at the same time: one on each set of machines, if others would
    take its CPU time."""
    return environment.processors if study.capabilities.parallel else sets


def run_trials(
    run: Run,
    backends: Mapping[str | None, Backend],
    environment: Environment,
    work: Work,
    listener: Listener,
    stop: Stop,
    cluster: Cluster | None = None,
) -> bool:
    """Runs the trials of `run` that have no record, and those that its stopping rule adds, here, on each set
    of machines by its name, or on the workers of a cluster; returns whether a request to `stop` left trials
    that were not run. The estimated `work` serves to predict how long they take."""
    return _Session(run, backends, environment, work, listener, stop, cluster).run()


class _Session:
    """A session of a run. Only the thread that runs it uses the run file."""

    def __init__(
        self,
        run: Run,
        backends: Mapping[str | None, Backend],
        environment: Environment,
        work: Work,
        listener: Listener,
        stop: Stop,
        cluster: Cluster | None,
    ) -> None:
        self._run, self._environment = run, environment
        self._study, self._seed = run.study, run.seed  # read here: engines run in threads of their own
        self._listener, self._stop = listener, stop
        self._last_event = time.monotonic()
        self._simulated = self._study.capabilities.simulated_time
        size = trials_at_once(self._study, environment, len(backends))
        self._durations = TrialDurations(self._study, work)
        self._reruns = Reruns(run)
        self._size, self._threads = size, 1
        self._pool: Executor
        if cluster:
            from nettrial.running.workers import WorkerPool  # when it is needed

            size = sum(cluster.threads.values())
            self._pool = WorkerPool(cluster, self._study, self._seed, listener)
            self._one_by_one = False
        else:
            slots = [Slot(name, backend) for name, backend in backends.items()]
            slots += [Slot(None, slots[0].backend.another()) for _ in range(size - len(slots))]
            begun = _blocks_at_home(run, run.pending(), list(backends), listener)
            self._pool = EnginePool(slots, self._attempt, begun)
            self._one_by_one = size == 1
        self._remaining = Remaining((), self._durations.seconds_each(size))

    def run(self) -> bool:
        """Runs the session, and returns whether a request to stop left trials that were not run."""
        run, stop = self._run, self._stop
        facts = fingerprint(self._environment, self._study.capabilities)
        with run.session(self._environment, facts) as recorder, self._pool as pool:
            stop.abandon = pool.kill
            remove_partial(run.directory)
            pending = run.pending() or self._next_blocks(recorder)
            # CPUs without a trial of their own help with the others.
            self._threads = max(1, self._size // len(pending)) if pending else 1
            done, total = len(run.plan) - len(pending), len(run.plan)
            self._remaining.add(map(self._durations.expected, pending))
            self._tell(SessionStarted(done, total, self._remaining.seconds(), pool.standing()))
            self._warm_up(pending[: self._study.warm_up_trials])
            self._remaining.begin()
            self._tell(WarmUpFinished(pending[0] if pending and self._one_by_one else None))
            while pending and not stop.wanted:
                self._run_trials(pending, recorder)
                # A failed trial is not repeated in this session, and no block is added after it.
                more = not stop.wanted and not run.pending()
                pending = self._next_blocks(recorder) if more else []
                if pending:
                    self._remaining.add(map(self._durations.expected, pending))
                    self._tell(BlocksAdded(len(pending), self._remaining.seconds()))
            self._tell(SessionEnded())
            stopped = stop.wanted and is_unfinished(run)
            if stopped:
                recorder.note = "stopped by a signal"
            return stopped

    def _tell(self, event: Event) -> None:
        self._last_event = time.monotonic()
        self._listener(event)

    def _heartbeat(self) -> None:
        """Tells the listener, which may draw, that trials are running. In real time, drawing would take CPU
        time from them, and their duration is known beforehand."""
        if self._simulated and time.monotonic() - self._last_event >= HEARTBEAT_SECONDS:
            self._tell(TrialsRunning(self._remaining.seconds()))

    def _warm_up(self, trials: Sequence[PlannedTrial]) -> None:
        for _, outcome in self._pool.warm_up(trials, lambda: self._stop.wanted):
            try:
                outcome.result()
            except TrialFailed as failed:
                if not self._stop.at_once:
                    self._tell(Notice(f"warm-up failed: {failed}"))
                    self._tell_of_loss(failed)

    def _run_trials(self, pending: Sequence[PlannedTrial], recorder: Recorder) -> None:
        waiting = deque(pending)
        for trial, outcome in self._pool.run(pending, lambda: self._stop.wanted, self._heartbeat):
            waiting.popleft()
            why = self._disturbance(trial, outcome)
            if why:
                # It runs after the other trials of its block.
                others = sum(each.block == trial.block for each in waiting)
                waiting.insert(others, trial)
                self._pool.again(trial)
            self._remaining.ended(self._durations.expected(trial), again=bool(why))
            following = waiting[0] if waiting and self._one_by_one else None
            self._store(trial, outcome, why, following, recorder)

    def _disturbance(self, trial: PlannedTrial, outcome: Outcome) -> str:
        """Returns why a trial is run again, in words; empty if it isn't."""
        if self._simulated or self._stop.at_once or outcome.exception() is not None:
            return ""
        disturbances = covariates(outcome.result().record)
        if not disturbances:
            return ""
        return self._reruns.wants(trial, disturbances, self._durations.expected(trial) - SET_UP_SECONDS)

    def _store(
        self,
        trial: PlannedTrial,
        outcome: Outcome,
        disturbance: str,
        following: PlannedTrial | None,
        recorder: Recorder,
    ) -> None:
        """Stores the record of a trial, or the reason why there is none."""
        try:
            result = outcome.result()
            if disturbance:
                recorder.disturbed(trial, result.scenario, result.record, disturbance)
                self._tell(TrialDisturbed(trial, disturbance, following, *self._standing()))
                if self._reruns.exhausted:
                    self._tell(Notice(EXHAUSTED))
                return
            recorder.finished(trial, result.scenario, result.record)
        except TrialFailed as failed:
            if self._stop.at_once:
                return
            recorder.failed(trial, str(failed))
            self._tell(TrialLost(trial, str(failed), following, *self._standing()))
            self._tell_of_loss(failed)
        except TooLarge as too_large:
            why = f"can't store its record: {too_large}"
            recorder.failed(trial, why)
            self._tell(TrialLost(trial, why, following, *self._standing()))
        else:
            self._tell(TrialFinished(trial, result, following, *self._standing()))

    def _attempt(self, engine: Backend, trial: PlannedTrial, warm_up: bool) -> TrialResult:
        """Runs a trial in an engine of this machine, in a thread of the pool; raises TrialFailed."""
        resolved = resolve(self._study, trial.treatment, trial.block, self._seed)
        grace = None if self._simulated else time_limit(resolved.scenario)
        capture = None if warm_up else capture_of(resolved.origins.settings, trial, self._run.directory)
        name = f"warm-up {trial.number}" if warm_up else str(trial.number)
        _LOG.info("trial %s begins: %s", name, in_words(trial.treatment))
        began = time.monotonic()
        try:
            record = engine.run(name, resolved.scenario, grace, capture, self._threads)
        except TrialFailed as failed:
            _LOG.error("trial %s failed: %s", name, failed)
            raise
        _LOG.info("trial %s took %.3f s, %d warnings", name, time.monotonic() - began, len(record.warnings))
        return TrialResult.of(resolved.scenario, record)

    def _standing(self) -> tuple[str, float | None]:
        return self._pool.standing(), self._remaining.seconds()

    def _next_blocks(self, recorder: Recorder) -> list[PlannedTrial]:
        """Adds blocks to the plan, one for each set of machines, and returns their trials; returns none if
        the run is complete. Blocks are added as a whole and after the previous ones are finished, so that a
        run that was killed is resumed under the same rule."""
        run = self._run
        if not _asks_for_more(run, self._tell):
            return []
        assert run.study.until is not None
        trials: list[PlannedTrial] = []
        for _ in range(max(len(self._pool.left()), 1)):
            more = next_block(run.study, [*run.plan, *trials], run.seed)
            if trials and more[0].block > run.study.until.maximum:
                break
            trials += more
        run.extend(recorder, trials)
        return trials

    def _tell_of_loss(self, failed: TrialFailed) -> None:
        """Reports the loss of a set of machines, if that is why a trial failed."""
        if isinstance(failed, SetLost):
            left = self._pool.left()
            how = f"the run goes on with {in_short(left)}" if left else "no set is left"
            self._tell(Notice(f"the set {failed.name} is lost: {failed.why}; {how}"))


def _asks_for_more(run: Run, listener: Listener) -> bool:
    """Returns whether the run's stopping rule asks for another block, and reports the reason."""
    if run.study.until is None:
        return False
    from nettrial.analysis import stopping  # imported only when needed: its statistics are slow to load
    from nettrial.report.stopping import progress

    state = stopping(run)
    if state is None or not state.goes_on:
        return False
    listener(Notice(progress(state)))
    return True


def _blocks_at_home(
    run: Run, pending: Sequence[PlannedTrial], names: Sequence[str | None], listener: Listener
) -> dict[int, str | None]:
    """Returns the set of machines of each block that has begun, and reports the blocks whose set is not there
    any more."""
    if run.study.capabilities.parallel:  # their records do not depend on the machine
        return {}
    sets = homes(run, pending)
    for block, name in sets.items():
        if name not in names:
            where = f"the set {name}" if name else "machines in no set"
            listener(
                Notice(
                    f"block {block} began on {where}, and its other trials run on another set: comparisons "
                    "within it include the difference between the two"
                )
            )
    return {block: name for block, name in sets.items() if name in names}
