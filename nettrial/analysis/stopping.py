"""Decides whether a run that goes on until its intervals are narrow has come to its end, and says why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean

from nettrial.analysis.frame import frame
from nettrial.analysis.intervals import CONFIDENCE
from nettrial.analysis.sequential import half_width
from nettrial.analysis.summary import Levels, plan_treatments
from nettrial.store import Run
from nettrial.study import Until


@dataclass(frozen=True)
class Width:
    """The width of the interval of one response's mean under one treatment."""

    response: str
    treatment: Levels
    percent: float
    """The half-width of the interval, in percent of the mean; infinite where there is none yet, or the
    mean is 0."""
    wanted: float
    """The width wanted, percent."""

    @property
    def narrow(self) -> bool:
        """Returns whether it is as narrow as it is to be."""
        return self.percent <= self.wanted


@dataclass(frozen=True)
class Stopping:
    """The state of a run by its stopping rule."""

    until: Until
    blocks: int
    """Blocks of the plan so far."""
    done: bool
    """True if every trial of them has finished."""
    widths: tuple[Width, ...]
    """The width for every treatment and response that has values which are not all equal."""
    unmeasured: tuple[str, ...]
    """Responses, by name, without a value in any trial of some treatment: no number of blocks gives them an
    interval there."""
    equal: tuple[str, ...]
    """Responses, by name, whose values under some treatment are all equal so far: there is no evidence of
    their spread, and so no interval there."""

    @property
    def wide(self) -> list[Width]:
        """Returns the widths not narrow enough yet, the furthest from what is wanted first."""
        found = [width for width in self.widths if not width.narrow]
        return sorted(found, key=lambda width: -width.percent / width.wanted)

    @property
    def goes_on(self) -> bool:
        """Returns whether the rule asks for another block."""
        if not self.done or self.blocks >= self.until.maximum:
            return False
        return self.blocks < self.until.minimum or bool(self.wide)


def stopping(run: Run) -> Stopping | None:
    """Returns the state of a run; None where the number of its blocks was decided beforehand."""
    until = run.study.until
    if until is None:
        return None
    values: dict[tuple[str, ...], list[float]] = {}
    factors = list(run.study.factors)
    for row in frame(run).iter_rows(named=True):
        key = (row["response"], *(row[name] for name in factors))
        values.setdefault(key, [])
        if row["value"] is not None:
            values[key].append(row["value"])
    widths: list[Width] = []
    unmeasured: dict[str, None] = {}
    equal: dict[str, None] = {}
    for response, wanted in until.percent.items():
        for treatment in plan_treatments(run):
            found = values.get((response, *(treatment[name] for name in factors)), [])
            if len(found) > 1 and min(found) == max(found):
                equal[response] = None
            elif found:
                widths.append(Width(response, treatment, _percent(found), wanted))
            else:
                unmeasured[response] = None
    blocks = max((planned.block for planned in run.plan), default=0)
    return Stopping(until, blocks, not run.pending(), tuple(widths), tuple(unmeasured), tuple(equal))


def _percent(values: list[float]) -> float:
    """The half-width of the interval of a mean, in percent of it."""
    half, mean = half_width(values, CONFIDENCE), abs(fmean(values))
    return 100 * half / mean if half is not None and mean else math.inf
