"""Rates of several flows. A rate is an amount over one time, so that of a group is the sum of the flows'
amounts over the union of their times: rates over different times don't add up to a rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from nettrial.scenario import FlowRecord

Amount: TypeAlias = Callable[[FlowRecord], float | None]
"""A function that returns the amount that a flow moved in its time, in the rate's unit times seconds; None if
the record does not have it."""
Time: TypeAlias = tuple[int, int]
"""The beginning and the end of a time, in nanoseconds."""


def span(flow: FlowRecord) -> Time | None:
    """Returns the time of a flow's goodput, which ends with the flow's duration."""
    return (flow.span.began_ns, flow.span.ended_ns) if flow.span else None


def whole(flow: FlowRecord) -> Time | None:
    """Returns the time until the receiver had everything, in which all of the flow's packets were sent."""
    return (flow.span.began_ns, flow.ended_ns) if flow.span and flow.ended_ns is not None else None


def megabits(flow: FlowRecord) -> float | None:
    """Returns the application bytes that arrived in the flow's span, in Mbit."""
    return flow.span.bytes * 8 / 1e6 if flow.span else None


def combined_rate(
    flows: Sequence[FlowRecord], amount: Amount, time: Callable[[FlowRecord], Time | None]
) -> float | str:
    """Returns the sum of the flows' amounts over the union of their times, per second; or the reason for its
    absence."""
    times = _times(flows, time)
    if isinstance(times, str):
        return times
    amounts = [amount(flow) for flow in flows]
    known = [each for each in amounts if each is not None]
    if len(known) < len(amounts):
        return f"the record does not have the amount of {flows[amounts.index(None)].name}"
    seconds = union_ns(times) / 1e9
    return sum(known) / seconds if seconds else "the flows had no time"


def union_ns(times: Sequence[Time]) -> int:
    """Returns the time in nanoseconds that is part of at least one of `times`."""
    total, reached = 0, 0
    for began, ended in sorted(times):
        total += max(ended - max(began, reached), 0)
        reached = max(reached, ended)
    return total


def why_apart(groups: Sequence[Sequence[FlowRecord]]) -> str | None:
    """Returns the reason why the flows, or groups of flows, shared nothing: that there was no moment at which
    all of them were under way, or that this is not known; None if there was."""
    hulls = []
    for flows in groups:
        times = _times(flows, span)
        if isinstance(times, str):
            return times
        began, ended = min(time[0] for time in times), max(time[1] for time in times)
        hulls.append((began, ended, flows[0].name))
    last = max(hulls, key=lambda hull: hull[0])
    first = min(hulls, key=lambda hull: hull[1])
    if last[0] >= first[1]:
        return f"{last[2]} began when {first[2]} had ended, so they did not share anything"
    return None


def _times(flows: Sequence[FlowRecord], time: Callable[[FlowRecord], Time | None]) -> list[Time] | str:
    """Returns the time of each flow, or the reason why a record lacks one of them."""
    times = [time(flow) for flow in flows]
    known = [each for each in times if each is not None]
    if len(known) == len(times):
        return known
    lacking = flows[times.index(None)]
    why = (
        f"the tool of {lacking.name} does not report when its traffic began and ended"
        if lacking.tool
        else f"the record does not state when {lacking.name} began and ended (if an earlier version of "
        "nettrial made it, run the study again)"
    )
    return f"{why}, so flows have no common time"
