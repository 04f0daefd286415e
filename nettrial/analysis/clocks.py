"""The CPUs' clocks over a run: where they change, times and CPU figures change with them."""

from __future__ import annotations

from nettrial.analysis.summary import Levels
from nettrial.analysis.warning_groups import WarningGroup
from nettrial.store import Run

CHANGED = 0.05
"""A clock that varies by more of its slowest value gives a warning."""


def clocks_are_known(run: Run) -> bool | None:
    """Returns whether the kernel told any CPU's clock; None where no trial reports CPUs."""
    processors = [each for trial in run.trials() for each in trial.record.processors or ()]
    return any(each.frequency_mhz for each in processors) if processors else None


def clocks(run: Run) -> list[WarningGroup]:
    """A warning about each CPU whose clock was not the same as the trials' traffic ended."""
    seen: dict[int, list[float]] = {}
    treatments: list[Levels] = []
    for trial in run.trials():
        if trial.planned.treatment not in treatments:
            treatments.append(trial.planned.treatment)
        for processor in trial.record.processors or ():
            if processor.frequency_mhz:
                seen.setdefault(processor.number, []).append(processor.frequency_mhz)
    return [
        WarningGroup(
            "processor_frequency",
            f"CPU {number}",
            f"its clock was {min(found):.0f} to {max(found):.0f} MHz as the traffic of trials ended",
            "times and CPU figures vary with it: hold it still (cpupower frequency-set --governor "
            "performance, no turbo, cooling that keeps up), or use more blocks",
            len(found),
            tuple(treatments),
        )
        for number, found in sorted(seen.items())
        if max(found) > (1 + CHANGED) * min(found)
    ]
