"""Errors, told to the user: what was being done, to which object, the bad value, the expected
values, a hint. Every error has the exit status the command ends with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

MOST_FAULTS_SHOWN = 6
"""A message fits a screen: of more faults than this, only the number is told."""


class NettrialError(Exception):
    """An error that is the user's to mend; its text is the whole message."""

    exit_code: ClassVar[int] = 1


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong with what the user gave."""

    object: str
    """The object, such as `study.yaml:12: network.mtu` or `--set mtu`."""
    value: str
    """The bad value as it was given; empty where nothing was given."""
    expected: str = ""
    """The expected values, in words."""
    hint: str = ""
    """Why, and what to do."""

    def lines(self) -> list[str]:
        """The fault as lines of text, the first of them the object and the value."""
        first = f"{self.object}: {self.value}" if self.value else self.object
        rest = [("expected", self.expected), ("hint", self.hint)]
        return [first, *(f"  {name}: {text}" for name, text in rest if text)]


class BadInput(NettrialError):
    """Something the user gave can't be used; nothing was written."""

    exit_code = 2

    def __init__(self, doing: str, object: str, value: str, expected: str = "", hint: str = "") -> None:
        """`doing` is what nettrial was at; the other arguments are those of a `Fault`."""
        self.doing = doing
        self.faults: tuple[Fault, ...] = (Fault(object, value, expected, hint),)
        super().__init__(doing)

    @classmethod
    def listing(cls, doing: str, faults: Sequence[Fault]) -> BadInput:
        """One error of several faults (at least one)."""
        first = faults[0]
        error = cls(doing, first.object, first.value, first.expected, first.hint)
        error.faults = tuple(faults)
        return error

    def __str__(self) -> str:
        shown = self.faults[:MOST_FAULTS_SHOWN]
        lines: list[str] = []
        for fault in shown:
            first, *rest = fault.lines()
            lines += [f"error: {self.doing}: {first}", *rest]
        if len(self.faults) > len(shown):
            lines.append(f"and {len(self.faults) - len(shown)} more like these")
        return "\n".join(lines)


class Reason(Protocol):
    """Why a machine can't do something: the engine's `Shortfall`, or anything of its shape."""

    @property
    def what(self) -> str:
        """The feature that was tried."""

    @property
    def why(self) -> str:
        """The result of trying it."""

    @property
    def remedy(self) -> str:
        """The remedy."""


@dataclass(frozen=True)
class Lack:
    """A reason found on this side of the engine, such as that there is no engine."""

    what: str
    why: str
    remedy: str


class CannotRun(NettrialError):
    """This machine can't run trials; every reason is told at once."""

    exit_code = 3

    def __init__(self, doing: str, reasons: Sequence[Reason]) -> None:
        """`doing` is what nettrial was at."""
        self.doing = doing
        self.reasons: tuple[Reason, ...] = tuple(reasons)
        super().__init__(doing)

    def __str__(self) -> str:
        lines = [f"error: {self.doing}: this machine can't do that"]
        for reason in self.reasons:
            lines += [f"  {reason.what}: {reason.why}", f"    remedy: {reason.remedy}"]
        return "\n".join(lines)


class TrialsFailed(NettrialError):
    """Some trials gave no record (or, if strict, a warning), or not enough to judge a condition by."""

    exit_code = 4

    def __init__(self, message: str) -> None:
        """`message` says how many, and what to do."""
        super().__init__(message)

    def __str__(self) -> str:
        return f"error: {self.args[0]}"
