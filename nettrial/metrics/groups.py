"""Metrics of a group of flows: sums, and the fairness of the shares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from nettrial.metrics.metric import add, scaled
from nettrial.scenario import FlowRecord


def jain(shares: Sequence[float]) -> float | str:
    """Returns Jain's fairness index (Σx)²/(n·Σx²) of non-negative shares: 1 if all are equal, 1/n if one has
    everything; or the reason if nobody has anything."""
    largest = max(shares)
    if largest == 0:
        return "no flow of the group moved a byte"
    parts = [share / largest for share in shares]  # scaled, so that no square overflows or underflows
    return math.fsum(parts) ** 2 / (len(parts) * math.fsum(part * part for part in parts))


def _goodput(flow: FlowRecord) -> float | None:
    """Returns the goodput in Mbit/s."""
    return scaled(flow.goodput_bps, 1e6)


add(
    "goodput_per_flow",
    "Mbit/s",
    "Goodput per flow",
    "mean of the goodputs of a group's flows, each over the flow's own time",
    "RFC 2647 section 3.17",
    "higher",
    flow=_goodput,
    index=fmean,
)
add(
    "fairness",
    "index",
    "Jain's fairness index",
    "(Σx)²/(n·Σx²) of the goodputs x of a group's n flows: 1 if all are equal, 1/n if one has everything",
    "Jain, Chiu, Hawe: A Quantitative Measure of Fairness and Discrimination, DEC TR-301, 1984",
    "higher",
    flow=_goodput,
    index=jain,
)
add(
    "goodput_per_host",
    "Mbit/s",
    "Goodput per host",
    "mean, over the hosts that send the group's flows, of the sum of the goodputs of each host's flows",
    "RFC 2647 section 3.17",
    "higher",
    flow=_goodput,
    index=fmean,
    of_senders=True,
)
add(
    "host_fairness",
    "index",
    "Jain's fairness index of hosts",
    "(Σx)²/(n·Σx²) of the total goodputs x of the n hosts that send the group's flows",
    "Jain, Chiu, Hawe: A Quantitative Measure of Fairness and Discrimination, DEC TR-301, 1984",
    "higher",
    flow=_goodput,
    index=jain,
    of_senders=True,
)
