"""Slots that run trials at the same time, and the order in which each gets them: a block of a run stays on
one set of machines, so that treatments are compared on the same hardware."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nettrial.backends import Backend, TrialFailed
from nettrial.design import PlannedTrial
from nettrial.errors import CannotRun
from nettrial.fields import in_short
from nettrial.scenario import Environment
from nettrial.store import Run


@dataclass(frozen=True)
class Slot:
    """An engine that runs one trial at a time, on this machine or on a set of machines."""

    name: str | None
    """The set of machines; None for a slot that is like all others."""
    backend: Backend
    """The backend of the slot."""

    def lacking(self) -> str:
        """Returns why no trial can run here, in words; empty if one can."""
        try:
            missing = self.backend.preflight().missing
        except CannotRun as cannot:
            return "; ".join(f"{reason.what}: {reason.why}" for reason in cannot.reasons)
        return "; ".join(f"{lack.what}: {lack.why}" for lack in missing)


class SetLost(TrialFailed):
    """The error for a trial that gave no record because its set of machines can run no more trials."""

    def __init__(self, message: str, name: str, why: str) -> None:
        """Creates the error for a trial on the set `name`."""
        super().__init__(message)
        self.name = name
        self.why = why


class TrialQueue:
    """Trials that have not begun, from which each slot takes its next one."""

    def __init__(self, trials: Iterable[PlannedTrial], set_of_block: dict[int, str | None]) -> None:
        """Hands out `trials` in their order. `set_of_block` has the set of each block that has one; blocks
        are added to it."""
        self._blocks: dict[int, deque[PlannedTrial]] = {}
        self._homes = set_of_block
        self._kept = set(set_of_block)
        for trial in trials:
            self._blocks.setdefault(trial.block, deque()).append(trial)

    def next(self, name: str | None) -> PlannedTrial | None:
        """Returns the next trial for a slot: the first of the blocks that belong to its set or to none."""
        for block, left in self._blocks.items():
            if self._homes.setdefault(block, name) == name:
                trial = left.popleft()
                if not left:
                    del self._blocks[block]
                return trial
        return None

    def again(self, trial: PlannedTrial) -> None:
        """Has a trial run again, as the next one of its block after those that have not begun."""
        if trial.block in self._blocks:
            self._blocks[trial.block].append(trial)
        else:
            self._blocks = {trial.block: deque([trial]), **self._blocks}

    def finished(self, trial: PlannedTrial) -> None:
        """Notes that a trial gave a record, so that its block stays on its set."""
        self._kept.add(trial.block)

    def lost(self, name: str | None) -> None:
        """Notes that a set is lost: other sets may run its blocks, except those of which it has run a
        trial."""
        for block in self._blocks:
            if block not in self._kept and self._homes.get(block) == name:
                del self._homes[block]


class WarmUpQueue:
    """The trials with which each slot warms up."""

    def __init__(self, trials: Iterable[PlannedTrial]) -> None:
        """Has each slot run all of these `trials`."""
        self._trials = list(trials)
        self._left: dict[str | None, Iterator[PlannedTrial]] = {}

    def next(self, name: str | None) -> PlannedTrial | None:
        """Returns the next trial for a slot."""
        return next(self._left.setdefault(name, iter(self._trials)), None)

    def finished(self, trial: PlannedTrial) -> None:
        """Does nothing."""

    def lost(self, name: str | None) -> None:
        """Does nothing."""


def homes(run: Run, pending: Sequence[PlannedTrial]) -> dict[int, str | None]:
    """Returns the set of machines that ran the finished trials of each block with trials that are pending."""
    left = {trial.number for trial in pending}
    blocks = {trial.block for trial in pending}
    return {
        trial.block: run.trial(trial.number).record.set
        for trial in run.plan
        if trial.block in blocks and trial.number not in left
    }


def named(names: Iterable[str | None]) -> list[str]:
    """Returns the names of sets; empty without sets."""
    return [name for name in names if name is not None]


def together(environments: Mapping[str | None, Environment]) -> Environment:
    """Returns the environment of a session whose sets have these environments."""
    first = next(iter(environments.values()))
    if len(environments) == 1:
        return first
    machines = [machine for each in environments.values() for machine in each.machines or []]
    return first.model_copy(update={"machines": machines})


def idle(blocks: int, names: Sequence[str]) -> str:
    """Returns a sentence about the sets that a run of that many blocks leaves without work; empty if there
    are none."""
    if blocks >= len(names):
        return ""
    return (
        f"a block of trials stays on one set of machines, so {blocks} of the sets {in_short(names)} "
        f"{'works' if blocks == 1 else 'work'}; more replicates use the others"
    )
