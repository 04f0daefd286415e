"""The report's section on packets: the accuracy of pacing, and the packet sizes on the wires."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from nettrial import units
from nettrial.scenario import Pacing
from nettrial.store import Trial
from nettrial.study import Study

SIZES_SHOWN = 4
"""The number of sizes shown for an interface, the most frequent first."""


@dataclass(frozen=True)
class Sizes:
    """The packets that an interface sent in the trials of one treatment."""

    treatment: str
    """The treatment, in words."""
    interface: str
    """The interface, as NODE:INTERFACE."""
    packets: int
    """The number of packets."""
    most: str
    """The most frequent sizes with their shares."""


def pacing(trials: Sequence[Trial]) -> list[str]:
    """Returns a sentence for each flow with requested departure times."""
    by_flow: dict[str, list[Pacing]] = {}
    for trial in trials:
        for flow in trial.record.flows:
            if flow.pacing and flow.pacing.asked_bps:
                by_flow.setdefault(flow.name, []).append(flow.pacing)
    return [_paced(flow, paced) for flow, paced in by_flow.items()]


def _paced(flow: str, paced: Sequence[Pacing]) -> str:
    error = max(abs(one.sent_bps / one.asked_bps - 1) for one in paced)
    asked = sorted({round(one.asked_bps) for one in paced})
    rate = " to ".join(units.RATE.print(bps) for bps in dict.fromkeys([asked[0], asked[-1]]))
    late = median(one.lateness_us.p99 for one in paced)
    used = [one.cpu_percent for one in paced if one.cpu_percent is not None]
    cpu = f", at {median(used):.0f}% of a CPU" if used else ""
    return (
        f"{flow}: the requested payload rate was {rate}; the rate sent deviated by at most "
        f"{100 * error:.2g}%. 99% of "
        f"packets left at most {late:.3g} us late{cpu} (medians over trials)."
    )


def packet_sizes(study: Study, trials: Sequence[Trial]) -> list[Sizes]:
    """Returns the packet sizes of each treatment and interface, in the order of the first trials."""
    counts: dict[tuple[str, str], Counter[int]] = {}
    for trial in trials:
        levels = trial.planned.treatment.items()
        treatment = ", ".join(f"{study.factors[name].title} {level}" for name, level in levels)
        for interface in trial.record.ends:
            if interface.packet_sizes is not None:
                counted = counts.setdefault((treatment, f"{interface.node}.{interface.interface}"), Counter())
                counted.update({size.size_bytes: size.packets for size in interface.packet_sizes})
    return [
        Sizes(treatment, interface, counted.total(), _most(counted))
        for (treatment, interface), counted in counts.items()
    ]


def _most(counted: Counter[int]) -> str:
    shown = counted.most_common(SIZES_SHOWN)
    parts = [f"{size} B {100 * packets / counted.total():.1f}%" for size, packets in shown if packets]
    rest = len([size for size, packets in counted.items() if packets]) - len(parts)
    return ", ".join([*parts, f"{rest} more sizes"] if rest else parts) or "none"
