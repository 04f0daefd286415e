"""The CPUs' clock rates over a run: when they change, times and CPU figures change with them."""

from __future__ import annotations

from nettrial.analysis.run_digest import digest
from nettrial.analysis.summary import Levels
from nettrial.analysis.warning_groups import WarningGroup
from nettrial.store import Run

CHANGED = 0.05
"""The variation of a clock rate, as a share of its lowest value, above which there is a warning."""


def clocks_are_known(run: Run) -> bool | None:
    """Returns whether the kernel reported any CPU's clock rate; None if no trial has information on CPUs."""
    known = digest(run).clocks.values()
    return any(any(rates) for rates in known) if known else None


def clocks(run: Run) -> list[WarningGroup]:
    """Returns a warning about each CPU whose clock rate at the end of the trials' traffic varied."""
    read = digest(run)
    seen = {number: [rate for rate in rates if rate] for number, rates in read.clocks.items()}
    treatments: dict[tuple[str, ...], Levels] = {}
    for planned in read.finished:
        treatments.setdefault(tuple(planned.treatment.values()), planned.treatment)
    numbers = frozenset(planned.number for planned in read.finished)
    return [
        WarningGroup(
            "processor_frequency",
            f"CPU {number}",
            f"its clock rate was {min(rates):.0f} to {max(rates):.0f} MHz at the end of the trials' traffic",
            "times and CPU figures vary with it: fix the clock rate (cpupower frequency-set --governor "
            "performance, no turbo, sufficient cooling), or use more blocks",
            numbers,
            tuple(treatments.values()),
        )
        for number, rates in sorted(seen.items())
        if rates and max(rates) > (1 + CHANGED) * min(rates)
    ]
