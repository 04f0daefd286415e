"""Errors for the user: what was being done, to which object, the bad value, the expected values, a hint.
Every error has the exit status with which the command ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

READING_OPTIONS = "reading the options"
"""The beginning of the error messages about options."""
MOST_FAULTS_SHOWN = 6
"""The largest number of faults listed in a message, so that it fits on a screen; further faults are only
counted."""


class NettrialError(Exception):
    """An error that the user can fix; its text is the whole message."""

    exit_code: ClassVar[int] = 1
    """The exit status with which the command ends."""


@dataclass(frozen=True)
class Fault:
    """A fault in the user's input."""

    object: str
    """The object, such as `study.yaml:12: network.mtu` or `--set mtu`."""
    value: str
    """The bad value as it was given; empty if nothing was given."""
    expected: str = ""
    """The expected values, in words."""
    hint: str = ""
    """The reason, and the remedy."""

    def lines(self) -> list[str]:
        """Returns the fault as lines of text; the first contains the object and the value."""
        first = f"{self.object}: {self.value}" if self.value else self.object
        rest = [("expected", self.expected), ("hint", self.hint)]
        return [first, *(f"  {name}: {text}" for name, text in rest if text)]


class BadInput(NettrialError):
    """Bad input: an argument, option or file that can't be used. Nothing was written."""

    exit_code = 2

    def __init__(self, doing: str, object: str, value: str, expected: str = "", hint: str = "") -> None:
        """Creates an error with one fault. `doing` describes the current action; the other arguments are
        those of a `Fault`."""
        self.doing = doing
        self.faults: tuple[Fault, ...] = (Fault(object, value, expected, hint),)
        super().__init__(doing)

    @classmethod
    def listing(cls, doing: str, faults: Sequence[Fault]) -> BadInput:
        """Returns one error for one or more faults."""
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
    """The reason why a machine can't do something: the engine's `Shortfall`, or an object with the same
    attributes."""

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
    """A reason found outside the engine, such as a missing engine."""

    what: str
    """The feature that is missing."""
    why: str
    """The reason why it is missing."""
    remedy: str
    """The remedy."""


R = TypeVar("R", bound=Reason)
"""A kind of reason."""


def by_remedy(reasons: Sequence[R]) -> dict[str, list[R]]:
    """Returns the reasons by their remedies, so that each remedy is given once."""
    remedies: dict[str, list[R]] = {}
    for reason in reasons:
        remedies.setdefault(reason.remedy, []).append(reason)
    return remedies


class CannotRun(NettrialError):
    """This machine, or one that it needs, can't do what was asked. All reasons are listed at once."""

    exit_code = 3

    def __init__(
        self, doing: str, reasons: Sequence[Reason], result: str = "this machine can't do that"
    ) -> None:
        """Creates an error with these reasons; `doing` describes the current action, and `result` its
        result, where the reason is not this machine."""
        self.doing, self.result = doing, result
        self.reasons: tuple[Reason, ...] = tuple(reasons)
        super().__init__(doing)

    def __str__(self) -> str:
        lines = [f"error: {self.doing}: {self.result}"]
        for remedy, reasons in by_remedy(self.reasons).items():
            lines += [f"  {reason.what}: {reason.why}" for reason in reasons]
            lines.append(f"    remedy: {remedy}")
        return "\n".join(lines)


def without_extra(doing: str, package: str, extra: str) -> CannotRun:
    """Returns the error for a Python package of an extra that is not installed."""
    remedy = f"pip install 'nettrial[{extra}]'"
    return CannotRun(doing, [Lack(package, "this Python package is not installed", remedy)])


class TrialsFailed(NettrialError):
    """Trials failed: they gave no record or, with --strict, a warning; or there is too little data to judge a
    condition."""

    exit_code = 4

    def __init__(self, message: str) -> None:
        """Creates the error; `message` contains the number of trials, and the remedy."""
        super().__init__(message)

    def __str__(self) -> str:
        return f"error: {self.args[0]}"


class Inconclusive(NettrialError):
    """With `--inconclusive fail`: no condition of `--fail-if` holds, and an interval is too wide to tell
    whether one does."""

    exit_code = 6

    def __init__(self, conditions: int) -> None:
        """Creates the error for that many conditions."""
        super().__init__(conditions)
        self.conditions = conditions

    def __str__(self) -> str:
        hold = "1 condition holds" if self.conditions == 1 else f"{self.conditions} conditions hold"
        return f"error: can't tell whether {hold}: more trials give narrower intervals"
