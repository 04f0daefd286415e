"""Events of a session: what the runner tells those who use it. Each is a line of text, too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from nettrial.design import PlannedTrial
from nettrial.design.trial_order import in_words
from nettrial.running.trial_result import TrialResult


@dataclass(frozen=True)
class SessionStarted:
    """A session begins, with its warm-up."""

    done: int
    """The number of trials that earlier sessions finished."""
    total: int
    """The number of trials of the plan."""
    left: float | None
    """The predicted time until all trials have ended, in seconds; None if it is not known yet."""
    pool: str
    """The processes that run the trials, in words; empty for engines on this machine."""

    def __str__(self) -> str:
        return f"{self.done} of {self.total} trials are finished; the session begins"


@dataclass(frozen=True)
class WarmUpFinished:
    """The warm-up has ended, and the trials begin."""

    following: PlannedTrial | None
    """The first trial; None if several run at the same time."""

    def __str__(self) -> str:
        return "the trials begin"


@dataclass(frozen=True)
class TrialFinished:
    """A trial gave a record, which is stored."""

    trial: PlannedTrial
    """The trial."""
    result: TrialResult = field(repr=False)
    """Its scenario and its record."""
    following: PlannedTrial | None
    """The next trial; None if there is none, or if several run at the same time."""
    pool: str
    """The processes that run the trials, in words; empty for engines on this machine."""
    left: float | None
    """The predicted time until all trials have ended, in seconds; None if it is not known yet."""

    def __str__(self) -> str:
        return f"trial {self.trial.number} ({in_words(self.trial.treatment)}): finished"


@dataclass(frozen=True)
class TrialDisturbed:
    """Something else disturbed a trial, which is run again. The record is kept, but does not count."""

    trial: PlannedTrial
    """The trial."""
    why: str
    """The disturbance."""
    following: PlannedTrial | None
    """The next trial; None if several run at the same time."""
    pool: str
    """The processes that run the trials, in words; empty for engines on this machine."""
    left: float | None
    """The predicted time until all trials have ended, in seconds; None if it is not known yet."""

    def __str__(self) -> str:
        return (
            f"trial {self.trial.number} ({in_words(self.trial.treatment)}): disturbed, runs again: {self.why}"
        )


@dataclass(frozen=True)
class TrialLost:
    """A trial gave no record."""

    trial: PlannedTrial
    """The trial."""
    why: str
    """The reason."""
    following: PlannedTrial | None
    """The next trial; None if there is none, or if several run at the same time."""
    pool: str
    """The processes that run the trials, in words; empty for engines on this machine."""
    left: float | None
    """The predicted time until all trials have ended, in seconds; None if it is not known yet."""

    def __str__(self) -> str:
        return f"trial {self.trial.number} ({in_words(self.trial.treatment)}): {self.why}"


@dataclass(frozen=True)
class TrialsRunning:
    """No trial of simulated time has ended for ten seconds, or ten more."""

    left: float | None
    """The predicted time until all trials have ended, in seconds; None if it is not known yet."""

    def __str__(self) -> str:
        return "the trials are running"


@dataclass(frozen=True)
class BlocksAdded:
    """The stopping rule has added blocks to the plan."""

    trials: int
    """The number of their trials."""
    left: float | None
    """The predicted time until all trials have ended, in seconds; None if it is not known yet."""

    def __str__(self) -> str:
        return f"{self.trials} trials are added"


@dataclass(frozen=True)
class Notice:
    """Something that the user should know, and that is not in the run's records."""

    text: str
    """One line of text."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class SessionEnded:
    """All trials of the session have ended."""

    def __str__(self) -> str:
        return "the session has ended"


Event: TypeAlias = (
    SessionStarted
    | WarmUpFinished
    | TrialFinished
    | TrialDisturbed
    | TrialLost
    | TrialsRunning
    | BlocksAdded
    | Notice
    | SessionEnded
)
"""An event of a session."""
Listener: TypeAlias = Callable[[Event], None]
"""The function that a session calls with each event, always in the thread that runs the session."""
