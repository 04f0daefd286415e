"""A session of a run: trials are started in the plan's order, and each is stored as soon as it is
finished."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from nettrial.backends import Backend, TrialFailed
from nettrial.cli.cluster import Cluster
from nettrial.cli.console import say
from nettrial.cli.crew import Crew, Hands, Made
from nettrial.cli.design import trial_seconds
from nettrial.cli.progress import Display, on_terminal
from nettrial.cli.sets import Place, SetLost, homes
from nettrial.design import (
    PlannedTrial,
    capture_of,
    next_block,
    remove_partial,
    resolve,
    scenario_of,
    traffic_seconds,
)
from nettrial.design.trial_order import in_words
from nettrial.fields import in_short
from nettrial.scenario import Environment, Scenario
from nettrial.store import Run
from nettrial.store.fingerprint import fingerprint
from nettrial.store.recorder import Recorder, TooLarge
from nettrial.study import Study

if TYPE_CHECKING:
    from nettrial.cli.running_means import Estimates

GRACE_TIMES, GRACE_SECONDS = 3, 60.0
"""The time limit of a trial, after which its engine is killed: this multiple of the expected duration of its
traffic plus this number of seconds. Simulated trials have no limit."""
BOOT_SECONDS = 200.0
"""The time beside that for guests to boot, which takes the engine's own limit at most."""


_LOG = logging.getLogger(__name__)


def time_limit(trial: Scenario) -> float:
    """Returns the time limit of a trial, seconds."""
    boots = any(node.system for node in trial.nodes)
    return GRACE_TIMES * traffic_seconds(trial) + GRACE_SECONDS + (BOOT_SECONDS if boots else 0)


class Stop:
    """The user's request to stop: after the running trials (the first SIGINT or SIGTERM), or immediately (the
    second)."""

    def __init__(self, abandon: Callable[[], None], several: bool = False, unit: str = "trial") -> None:
        """Sets the function `abandon`, which ends the running trials; there may be `several`. `unit` is the
        word for a trial."""
        self._abandon = abandon
        self._several, self._unit = several, unit
        self._signals = 0
        self._before: dict[signal.Signals, Any] = {}

    @property
    def wanted(self) -> bool:
        """Returns whether no further trials are to be started."""
        return self._signals > 0

    @property
    def at_once(self) -> bool:
        """Returns whether the running trials were abandoned."""
        return self._signals > 1

    def __enter__(self) -> Stop:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._signalled)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        self._signals += 1
        if self.at_once:
            self._abandon()
        else:
            unit = self._unit
            which = (f"{unit}s that are", "them") if self._several else (f"{unit} that is", "it")
            text = f"\nfinishing the {which[0]} running; Ctrl-C again abandons {which[1]}"
            # This thread may be in the middle of writing a line, for which another waits.
            threading.Thread(target=_try_to_say, args=[text]).start()


def _try_to_say(text: str) -> None:
    with suppress(OSError):
        say(text)


def unfinished(run: Run) -> bool:
    """Returns whether trials of the plan have no record, or the run's stopping rule asks for another
    block."""
    return bool(run.pending()) or _asks_for_more(run, lambda text: None)


def _asks_for_more(run: Run, note: Callable[[str], None]) -> bool:
    """Returns whether the run's stopping rule asks for another block, and reports the reason by `note`."""
    if run.study.until is None:
        return False
    from nettrial.analysis import stopping  # imported only when needed: its statistics are slow to load
    from nettrial.report.stopping import progress

    found = stopping(run)
    if found is None or not found.goes_on:
        return False
    note(progress(found))
    return True


def _next_blocks(
    run: Run, session: Recorder, note: Callable[[str], None], count: int = 1
) -> list[PlannedTrial]:
    """Adds up to `count` blocks to the plan, one for each set of machines, and returns their trials; returns
    none if the run is complete. Blocks are added as a whole and after the previous ones are finished, so that
    a run that was killed is resumed under the same rule."""
    if not _asks_for_more(run, note):
        return []
    assert run.study.until is not None
    trials: list[PlannedTrial] = []
    for _ in range(max(count, 1)):
        more = next_block(run.study, [*run.plan, *trials], run.seed)
        if trials and more[0].block > run.study.until.maximum:
            break
        trials += more
    run.extend(session, trials)
    return trials


def _blocks_at_home(
    run: Run, pending: Sequence[PlannedTrial], names: Sequence[str | None], note: Callable[[str], None]
) -> dict[int, str | None]:
    """Returns the set of machines of each block that has begun, and reports the blocks whose set is not there
    any more."""
    if run.study.capabilities.parallel:  # their records do not depend on the place
        return {}
    found = homes(run, pending)
    for block, name in found.items():
        if name not in names:
            where = f"the set {name}" if name else "machines in no set"
            note(
                f"block {block} began on {where}, and its other trials run on another set: comparisons "
                "within it include the difference between the two"
            )
    return {block: name for block, name in found.items() if name in names}


def _estimates(run: Run) -> Estimates | None:
    """Returns the responses so far, if there is a terminal to show them."""
    if not on_terminal():
        return None
    from nettrial.cli.running_means import Estimates  # its statistics are slow to load

    return Estimates(run)


def _tell_of_loss(failed: TrialFailed, left: Sequence[str], note: Callable[[str], None]) -> None:
    """Reports the loss of a set of machines, if that is why a trial failed."""
    if isinstance(failed, SetLost):
        how = f"the run goes on with {in_short(left)}" if left else "no set is left"
        note(f"the set {failed.name} is lost: {failed.why}; {how}")


def at_once(study: Study, environment: Environment, sets: int = 1) -> int:
    """Returns the number of trials that run at the same time: one on each set of machines, if others would
    take its CPU time."""
    return environment.processors if study.capabilities.parallel else sets


def run_trials(
    run: Run,
    backends: Mapping[str | None, Backend],
    environment: Environment,
    quiet: bool = False,
    cluster: Cluster | None = None,
) -> bool:
    """Runs the trials of `run` that have no record, and those that its stopping rule adds, here, on each set
    of machines by its name, or on the workers of a cluster; returns whether the user stopped it. With
    `quiet`, no progress is shown."""
    study, seed = run.study, run.seed  # read here: only this thread may use the run file
    simulated = study.capabilities.simulated_time
    size, threads = at_once(study, environment, len(backends)), 1
    lengths: dict[tuple[str, ...], float] = {}

    def seconds(trials: Sequence[PlannedTrial]) -> float:
        """Returns the expected duration of trials, which is the same for every block: blocks differ only in
        their random numbers. For simulated trials it is unknown before the first, and the result is 0."""
        if simulated:
            return 0.0
        for trial in trials:
            key = tuple(trial.treatment.values())
            if key not in lengths:
                lengths[key] = trial_seconds(scenario_of(study, trial.treatment, trial.block))
        return sum(lengths[tuple(trial.treatment.values())] for trial in trials)

    def attempt(engine: Backend, trial: PlannedTrial, warm_up: bool) -> Made:
        made = resolve(study, trial.treatment, trial.block, seed)
        resolved = made.scenario
        grace = None if simulated else time_limit(resolved)
        capture = None if warm_up else capture_of(made.origins.settings, trial, run.directory)
        name = f"warm-up {trial.number}" if warm_up else str(trial.number)
        _LOG.info("trial %s begins: %s", name, in_words(trial.treatment))
        began = time.monotonic()
        try:
            record = engine.run(name, resolved, grace, capture, threads)
        except TrialFailed as failed:
            _LOG.error("trial %s failed: %s", name, failed)
            raise
        _LOG.info("trial %s took %.3f s, %d warnings", name, time.monotonic() - began, len(record.warnings))
        return Made.of(resolved, record)

    hands: Hands
    if cluster:
        from nettrial.cli.workers import Workers  # when it is needed

        hands, several = Workers(cluster, study, seed), True
    else:
        places = [Place(name, backend) for name, backend in backends.items()]
        places += [Place(None, places[0].backend.another()) for _ in range(size - len(places))]
        begun = _blocks_at_home(run, run.pending(), list(backends), say)
        hands, several = Crew(places, attempt, begun), size > 1
    facts = fingerprint(environment, study.capabilities)
    with run.session(environment, facts) as session, hands as crew, Stop(crew.kill, several) as stop:
        remove_partial(run.directory)
        pending = run.pending() or _next_blocks(run, session, say, len(crew.left()))
        estimates = None if quiet else _estimates(run)
        done = len(run.plan) - len(pending)
        # CPUs without a trial of their own help with the others.
        threads = max(1, size // len(pending)) if pending else 1
        with Display(done, len(run.plan), seconds(pending), estimates, quiet, crew.standing) as display:
            for _, outcome in crew.warm_up(pending[: study.warm_up_trials], lambda: stop.wanted):
                try:
                    outcome.result()
                except TrialFailed as failed:
                    if not stop.at_once:
                        display.note(f"warm-up failed: {failed}")
                        _tell_of_loss(failed, crew.left(), display.note)
            display.current = in_words(pending[0].treatment) if pending and not several else ""
            display.begin()
            while pending and not stop.wanted:
                following = deque(pending)
                for trial, outcome in crew.run(pending, lambda: stop.wanted):
                    following.popleft()
                    display.current = in_words(following[0].treatment) if following and not several else ""
                    try:
                        made = outcome.result()
                    except TrialFailed as failed:
                        if stop.at_once:
                            continue
                        session.failed(trial, str(failed))
                        display.failed(f"trial {trial.number} ({in_words(trial.treatment)}): {failed}")
                        _tell_of_loss(failed, crew.left(), display.note)
                        continue
                    try:
                        session.finished(trial, made.scenario, made.record)
                    except TooLarge as why:
                        session.failed(trial, f"can't store its record: {why}")
                        display.failed(f"trial {trial.number}: can't store its record: {why}")
                    else:
                        if estimates:
                            estimates.add(trial, made.read_record())
                        display.finished(made.warnings)
                # A failed trial is not repeated in this session, and no block is added after it.
                more = not stop.wanted and not run.pending()
                pending = _next_blocks(run, session, display.note, len(crew.left())) if more else []
                display.extend(len(pending), seconds(pending))
        stopped = stop.wanted and unfinished(run)
        if stopped:
            session.note = "stopped by a signal"
        return stopped
