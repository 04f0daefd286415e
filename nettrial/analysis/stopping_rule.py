"""Decides whether a run with a stopping rule has reached its end, and gives the reason."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean

from nettrial.analysis.intervals import CONFIDENCE
from nettrial.analysis.run_digest import trial_responses
from nettrial.analysis.sequential import half_width
from nettrial.analysis.summary import Levels, plan_treatments
from nettrial.store import Run
from nettrial.study import Until


@dataclass(frozen=True)
class Width:
    """The width of the interval of one response's mean under one treatment."""

    response: str
    """The response's name."""
    treatment: Levels
    """The level of each factor."""
    percent: float
    """The half-width of the interval, in percent of the mean; infinite if there is none yet, or if the mean
    is 0."""
    wanted: float
    """The desired half-width in percent."""

    @property
    def narrow(self) -> bool:
        """Returns whether the interval is as narrow as desired."""
        return self.percent <= self.wanted


@dataclass(frozen=True)
class Stopping:
    """The state of a run with respect to its stopping rule."""

    until: Until
    """The stopping rule."""
    blocks: int
    """The number of blocks in the plan so far."""
    done: bool
    """True if all trials of these blocks have finished."""
    widths: tuple[Width, ...]
    """The widths of all treatments and responses with values that are not all equal."""
    unmeasured: tuple[str, ...]
    """The names of responses without any value under some treatment, which no number of blocks gives an
    interval there."""
    equal: tuple[str, ...]
    """The names of responses whose values under some treatment are all equal so far, so that there is no
    evidence of their spread and no interval."""

    @property
    def wide(self) -> list[Width]:
        """Returns the widths that are not narrow enough yet, the furthest from the desired width first."""
        wide = [width for width in self.widths if not width.narrow]
        return sorted(wide, key=lambda width: -width.percent / width.wanted)

    @property
    def goes_on(self) -> bool:
        """Returns whether the rule asks for another block."""
        if not self.done or self.blocks >= self.until.maximum:
            return False
        return self.blocks < self.until.minimum or bool(self.wide)


def stopping(run: Run) -> Stopping | None:
    """Returns the state of a run; None if the number of its blocks was fixed beforehand."""
    until = run.study.until
    if until is None:
        return None
    values: dict[tuple[str, ...], list[float]] = {}
    factors = list(run.study.factors)
    for each in trial_responses(run):
        key = (each.response, *(each.trial.treatment[name] for name in factors))
        values.setdefault(key, [])
        if each.value is not None:
            values[key].append(each.value)
    widths: list[Width] = []
    unmeasured: dict[str, None] = {}
    equal: dict[str, None] = {}
    for response, wanted in until.percent.items():
        for treatment in plan_treatments(run):
            measured = values.get((response, *(treatment[name] for name in factors)), [])
            if len(measured) > 1 and min(measured) == max(measured):
                equal[response] = None
            elif measured:
                widths.append(Width(response, treatment, _percent(measured), wanted))
            else:
                unmeasured[response] = None
    blocks = max((planned.block for planned in run.plan), default=0)
    return Stopping(until, blocks, not run.pending(), tuple(widths), tuple(unmeasured), tuple(equal))


def _percent(values: list[float]) -> float:
    """Returns the half-width of the interval of a mean, in percent of the mean."""
    half, mean = half_width(values, CONFIDENCE), abs(fmean(values))
    return 100 * half / mean if half is not None and mean else math.inf
