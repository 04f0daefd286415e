"""The outcome of a claim about a quantity that is known only by its interval."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from nettrial.analysis.intervals import Interval


class Outcome(StrEnum):
    """The outcome of a claim: the whole interval agrees with it, no part of the interval does, or neither.

    Every verdict on a limit follows this rule. A point estimate decides nothing: half of all estimates lie
    beyond the true value."""

    HOLDS = "holds"
    """Every value of the interval agrees with the claim."""
    DOES_NOT_HOLD = "does not hold"
    """No value of the interval agrees with the claim."""
    NO_CHANGE = "no change"
    """The quantity is known to be smaller than the smallest effect of interest, so that its sign does not
    matter."""
    UNKNOWN = "can't tell"
    """Some values of the interval agree with the claim and others do not, or there is no interval."""


def above(bounds: Interval | None, limit: float) -> Outcome:
    """Returns the outcome of the claim that a quantity is above a limit."""
    if bounds is None:
        return Outcome.UNKNOWN
    return _outcome(all_agree=bounds.low > limit, none_agrees=bounds.high <= limit)


def below(bounds: Interval | None, limit: float) -> Outcome:
    """Returns the outcome of the claim that a quantity is below a limit."""
    if bounds is None:
        return Outcome.UNKNOWN
    return _outcome(all_agree=bounds.high < limit, none_agrees=bounds.low >= limit)


def within(bounds: Interval | None, limit: float) -> Outcome:
    """Returns the outcome of the claim that the size of a quantity is at most a limit."""
    if bounds is None:
        return Outcome.UNKNOWN
    return _outcome(
        all_agree=-limit <= bounds.low and bounds.high <= limit,
        none_agrees=bounds.low > limit or bounds.high < -limit,
    )


def together(outcomes: Iterable[Outcome]) -> Outcome:
    """Returns the outcome of the claim that all claims are true, from the outcome of each."""
    kinds = set(outcomes)
    if Outcome.DOES_NOT_HOLD in kinds:
        return Outcome.DOES_NOT_HOLD
    if kinds == {Outcome.HOLDS}:
        return Outcome.HOLDS
    return Outcome.NO_CHANGE if kinds and Outcome.UNKNOWN not in kinds else Outcome.UNKNOWN


def _outcome(*, all_agree: bool, none_agrees: bool) -> Outcome:
    return Outcome.HOLDS if all_agree else Outcome.DOES_NOT_HOLD if none_agrees else Outcome.UNKNOWN
