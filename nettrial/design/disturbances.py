"""Decides whether something else disturbed a trial, so that it is run again.

The decision depends only on covariates, the disturbances of the trial's machines, and never on what the trial
measured: leaving out trials by their results would bias every figure. The limits are those of the warnings in
records, and come from the engine's schema; only that of timers is here. No covariate is one that a treatment
changes itself: a trial that keeps its CPUs busy makes timers late by milliseconds, so only a lateness that
its own work does not cause counts."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from nettrial.scenario import DisturbanceRecord

LATENESS_US = 50_000.0
"""The lateness of a timer in microseconds above which a trial is disturbed."""
LEAST_SECONDS = 0.05
"""The CPU time of other processes or the hypervisor in seconds up to which no trial is disturbed: the kernel
counts in ticks of 10 ms, and a few of them are a large share of short traffic."""


class _Covariates(BaseModel):
    """The part of a record on which the decision depends; other fields are not read."""

    disturbances: list[DisturbanceRecord] = []


def covariates(record: str) -> list[DisturbanceRecord]:
    """Returns the disturbances of a record, given as JSON."""
    return _Covariates.model_validate_json(record).disturbances


def disturbance(disturbances: Sequence[DisturbanceRecord], seconds: float) -> str:
    """Returns how something else disturbed a trial whose traffic was planned to take `seconds`, in words;
    empty if nothing did. The actual time does not matter, because it may be what the trial measures."""
    least = 100 * LEAST_SECONDS / max(seconds, 1e-3)
    most_work = max(DisturbanceRecord.MOST_OTHER_WORK_PERCENT, least)
    most_stolen = max(DisturbanceRecord.MOST_STOLEN_PERCENT, least)
    most_step = DisturbanceRecord.MOST_CLOCK_STEP_NS
    said = []
    for each in disturbances:
        parts = []
        if each.other_work_percent is not None and each.other_work_percent > most_work:
            parts.append(f"other processes used {each.other_work_percent:.3g}% of a CPU")
        if each.stolen_percent is not None and each.stolen_percent > most_stolen:
            parts.append(f"the hypervisor took {each.stolen_percent:.3g}% of a CPU")
        if each.timer_lateness_us is not None and each.timer_lateness_us > LATENESS_US:
            parts.append(f"a timer was {each.timer_lateness_us / 1e3:.3g} ms late")
        if each.clock_step_ns is not None and abs(each.clock_step_ns) > most_step:
            parts.append(f"the wall clock moved by {each.clock_step_ns / 1e6:.3g} ms")
        said += [f"{each.machine}: {part}" for part in parts]
    return "; ".join(said)
