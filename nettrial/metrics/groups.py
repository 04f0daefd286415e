"""Metrics of a group of flows: means, and the fairness of the shares.

The shares that a fairness index compares are rates, each over the flow's own time, and not bytes over
the common time of all: transfers of one size have equal bytes, however unequally they were served.
Jain's index is one of users who share something at the same time, so it is absent if there was no moment
at which all were under way."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from nettrial.metrics.metric import Group, add, scaled
from nettrial.metrics.spans import combined_rate, megabits, span, why_apart
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


def _fairness(group: Group) -> float | str:
    """Returns the fairness index of the flows' goodputs."""
    apart = why_apart([[flow] for flow in group.flows]) if len(group.flows) > 1 else None
    return apart or jain(group.values)


def _per_host(group: Group) -> float | str:
    """Returns the goodput of the group over the number of its sending hosts."""
    if len(group.values) == 1:
        return group.values[0]
    whole = combined_rate(group.flows, megabits, span)
    return whole if isinstance(whole, str) else whole / len(set(group.senders))


def _host_fairness(group: Group) -> float | str:
    """Returns the fairness index of the goodputs of the sending hosts."""
    hosts = group.by_sender()
    if len(hosts) == 1:
        return jain([fmean(group.values)])
    apart = why_apart(hosts)
    if apart:
        return apart
    rates = [combined_rate(flows, megabits, span) for flows in hosts]
    return next((rate for rate in rates if isinstance(rate, str)), "") or jain(
        [rate for rate in rates if not isinstance(rate, str)]
    )


add(
    "goodput_per_flow",
    "Mbit/s",
    "Goodput per flow",
    "mean of the goodputs of a group's flows, each over the flow's own time",
    "RFC 2647 section 3.17",
    "higher",
    flow=_goodput,
    index=lambda group: fmean(group.values),
)
add(
    "fairness",
    "index",
    "Jain's fairness index",
    "(Σx)²/(n·Σx²) of the goodputs x of a group's n flows, each over the flow's own time: 1 if all are "
    "equal, 1/n if one has everything; absent if there was no moment at which all flows were under way, "
    "because then they shared nothing",
    "Jain, Chiu, Hawe: A Quantitative Measure of Fairness and Discrimination, DEC TR-301, 1984; RFC 5166 "
    "section 2.3",
    "higher",
    flow=_goodput,
    index=_fairness,
)
add(
    "goodput_per_host",
    "Mbit/s",
    "Goodput per host",
    "goodput of the group, which is its bytes over the union of its flows' times, divided by the number of "
    "hosts that send its flows",
    "RFC 2647 section 3.17",
    "higher",
    flow=_goodput,
    index=_per_host,
    of_senders=True,
)
add(
    "host_fairness",
    "index",
    "Jain's fairness index of hosts",
    "(Σx)²/(n·Σx²) of the goodputs x of the n hosts that send the group's flows, each of which is the bytes "
    "of the host's flows over the union of their times; absent if there was no moment at which all hosts "
    "sent",
    "Jain, Chiu, Hawe: A Quantitative Measure of Fairness and Discrimination, DEC TR-301, 1984",
    "higher",
    flow=_goodput,
    index=_host_fairness,
    of_senders=True,
)
