"""The figures of a session: delays, losses, reordering and duplicates, for the round trip and for each
direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from nettrial.protocols.figures import MetricValue, ProtocolOutcome
from nettrial.protocols.stamp.sender import StampReply, StampResult

WHOLE, FORWARD, BACKWARD = "round trip", "forward", "backward"
"""The directions: the round trip, to the reflector, and from the reflector."""
LEAST_FOR_P99 = 100
"""The smallest number of packets for which a 99th percentile is meaningful."""
COUNTS = ("loss", "reordering", "duplication")
"""The metrics that are counts of packets."""
_OF_ONE_WAY = (
    "owd_min",
    "owd",
    "owd_p50",
    "owd_p99",
    "owd_error",
    "delay_variation_p50",
    "delay_variation_p99",
)
METRICS = {
    WHOLE: ("rtt_min", "rtt", "rtt_p50", "rtt_p99", *COUNTS),
    FORWARD: (*_OF_ONE_WAY, *COUNTS),
    BACKWARD: (*_OF_ONE_WAY, *COUNTS),
}
"""The metrics of each direction, in the order of a session's figures."""


Counted: TypeAlias = tuple[int, int] | str
"""The number of packets of which something is true and the number of all, or the reason why it is unknown."""


@dataclass(frozen=True)
class StampDirection:
    """The delays, losses, reordering and duplicates of a session's packets in a direction."""

    name: str
    """The direction: one of WHOLE, FORWARD and BACKWARD."""
    delays: Sequence[float]
    """The delays in milliseconds; empty if the reflector's times can't be right."""
    absent: str
    """The reason for which the delays as such are absent, while their variation is right if there are any;
    else an empty text."""
    error: float | str
    """The largest error of one-way delays in milliseconds, or the reason why it is unknown."""
    lost: Counted
    """The number of packets lost."""
    reordered: Counted
    """The number of packets that arrived out of order."""
    duplicated: Counted
    """The number of duplicate packets."""


def directions(result: StampResult) -> list[StampDirection]:
    """Returns the delays and counts of a session there and back, to the reflector, and from it."""
    firsts = _firsts(result.answers)
    timed = [each for each in firsts if _is_possible(each)]
    ptp = any(each.estimate.ptp for each in firsts)
    why = "the reflector's timestamps have PTP's format, whose epoch is that of atomic time" if ptp else ""
    wrong = "" if timed else _impossible(firsts[0])
    error = _error(result, timed)
    whole = StampDirection(
        WHOLE,
        [_rtt(each) for each in timed],
        wrong,
        0.0,
        (result.sent - len(firsts), result.sent),
        _reordered([each.number for each in firsts]),
        (len(result.answers) - len(firsts), len(result.answers)),
    )
    forward = [(each.received_ns - each.sent_ns) / 1e6 for each in timed]
    backward = [(each.arrived_ns - each.reflected_ns) / 1e6 for each in timed]
    losses = _lost(result.sent, result.answers)
    why = wrong or why
    return [whole] + [
        StampDirection(name, delays, why, why or error, lost, *_disorder(name, result.answers))
        for name, delays, lost in ((FORWARD, forward, losses[0]), (BACKWARD, backward, losses[1]))
    ]


def _is_possible(answer: StampReply) -> bool:
    """Returns whether the reflector's own time, from T2 to T3, is part of the time from T1 to T4. It needs no
    agreement of the clocks."""
    return 0 <= answer.reflected_ns - answer.received_ns <= answer.arrived_ns - answer.sent_ns


def _impossible(answer: StampReply) -> str:
    """Returns the reason why the delays of an answer are absent."""
    own = (answer.reflected_ns - answer.received_ns) / 1e6
    whole = (answer.arrived_ns - answer.sent_ns) / 1e6
    return (
        f"the reflector's timestamps can't be right: it says that it had a packet for {own:.6g} ms, which "
        f"came back after {whole:.6g} ms"
    )


def _error(result: StampResult, firsts: Sequence[StampReply]) -> float | str:
    """Returns the largest error of one-way delays in milliseconds, or the reason why it is unknown."""
    if not _agree(result, firsts):
        return "a clock is not synchronised: the difference of the clocks has no known bound"
    estimates = [each.estimate.seconds for each in firsts]
    if not all(estimates):
        return "the reflector gives no estimate of its clock's error: its multiplier is 0"
    error = 1000 * (result.own.seconds + max(estimates, default=0.0))
    for each in firsts:
        there, rtt = (each.received_ns - each.sent_ns) / 1e6, _rtt(each)
        if not -error <= there <= rtt + error:
            return (
                f"the error estimates can't be right: a one-way delay of {there:.6g} ms, in a round trip of "
                f"{rtt:.6g} ms, has an error of more than {error:.6g} ms"
            )
    return error


def _agree(result: StampResult, firsts: Sequence[StampReply]) -> bool:
    """Returns whether both clocks are synchronised, by the error estimates."""
    return result.own.synchronised and all(each.estimate.synchronised for each in firsts)


def outcome(result: StampResult) -> ProtocolOutcome:
    """Returns the figures and the warnings of a session."""
    delays = directions(result)
    figures = []
    for direction in delays:
        if direction.name == WHOLE:
            figures += _delays(direction, "rtt", "round-trip time")
        else:
            figures += _delays(direction, "owd", "one-way delay")
            title = "error of the one-way delay"
            figures.append(MetricValue(direction.name, "owd_error", title, "ms", direction.error))
            figures += _variation(direction)
        figures += [
            MetricValue(direction.name, metric, metric, "%", _percent(counted))
            for metric, counted in zip(
                COUNTS, (direction.lost, direction.reordered, direction.duplicated), strict=True
            )
        ]
    one_way = [each for direction in delays[1:] if not direction.absent for each in direction.delays]
    return ProtocolOutcome(figures, _warnings(result, _firsts(result.answers), one_way))


def _firsts(answers: Sequence[StampReply]) -> list[StampReply]:
    """Returns the first answer to each packet, in order of arrival."""
    return list({each.number: each for each in reversed(answers)}.values())[::-1]


def _rtt(answer: StampReply) -> float:
    """Returns the round-trip time in milliseconds, without the reflector's own time (RFC 8762: T4 - T1 less
    T3 - T2)."""
    return (answer.arrived_ns - answer.sent_ns - (answer.reflected_ns - answer.received_ns)) / 1e6


def _delays(direction: StampDirection, name: str, title: str) -> list[MetricValue]:
    """Returns the mean and percentiles of delays, or the reason why they are absent."""
    values = direction.absent or direction.delays
    metrics: list[tuple[str, str, float | str]] = [
        (f"{name}_min", f"{title}, smallest", _of(values, 0)),
        (name, f"{title}, mean", values if isinstance(values, str) else float(np.mean(values))),
        (f"{name}_p50", f"{title}, median", _of(values, 50)),
        (f"{name}_p99", f"{title}, 99th percentile", _of(values, 99)),
    ]
    return [MetricValue(direction.name, metric, words, "ms", value) for metric, words, value in metrics]


def _of(values: Sequence[float] | str, percent: float) -> float | str:
    if isinstance(values, str):
        return values
    if percent > 50 and len(values) < LEAST_FOR_P99:
        return f"it needs {LEAST_FOR_P99} packets that were answered"
    return float(np.percentile(values, percent))


def variation(delays: Sequence[float]) -> list[float]:
    """Returns delays above the smallest (RFC 5481, 4.2), which need no synchronised clocks."""
    least = min(delays)
    return [value - least for value in delays]


def _variation(direction: StampDirection) -> list[MetricValue]:
    above = variation(direction.delays) if direction.delays else direction.absent
    return [
        MetricValue(direction.name, f"delay_variation_p{p}", f"delay variation, {words}", "ms", _of(above, p))
        for p, words in ((50, "median"), (99, "99th percentile"))
    ]


def _percent(counted: Counted) -> float | str:
    return counted if isinstance(counted, str) else 100 * counted[0] / counted[1]


def _reordered(numbers: Sequence[int]) -> tuple[int, int]:
    """Returns the number of packets that come after one with a larger number (RFC 4737, 3.4), and of all."""
    largest, late = -1, 0
    for number in numbers:
        late += number < largest
        largest = max(largest, number)
    return late, len(numbers)


_STATELESS = (
    "the reflector's numbers are those of the packets: it may count nothing itself, and no direction follows"
)
_OTHER = "the reflector's numbers do not begin with the session"
_ANEW = "the reflector gave one number to several packets, so it began to count anew during the session"


def _lost(sent: int, answers: Sequence[StampReply]) -> tuple[Counted, Counted]:
    """Returns the losses to the reflector and from it, by the numbers that a stateful reflector gives its
    answers; or the reasons why they are unknown."""
    firsts = {each.number for each in answers}
    if len(firsts) == sent:
        return (0, sent), (0, sent)
    if all(each.number == each.reflector_number for each in answers):
        return _STATELESS, _STATELESS
    if _counts_anew(answers):
        return _ANEW, _ANEW
    seen = {each.reflector_number for each in answers}
    last = max(answers, key=lambda each: each.reflector_number)
    doubled = len({(each.number, each.reflector_number) for each in answers}) - len(firsts)
    reached = last.reflector_number + 1
    until = max(each.number for each in answers) + 1
    there = until - (reached - doubled)
    back = reached - len(seen)
    if there < 0 or back < 0 or there > until - len(firsts):
        return _OTHER, _OTHER
    if until < sent:
        why = "packets after the last answer were lost, in an unknown direction"
        return why, why
    return (there, sent), (back, reached)


def _counts_anew(answers: Sequence[StampReply]) -> bool:
    """Returns whether the reflector gave one number to several packets."""
    pairs = {(each.reflector_number, each.number) for each in answers}
    return len({reflected for reflected, _ in pairs}) < len(pairs)


def _disorder(direction: str, answers: Sequence[StampReply]) -> tuple[Counted, Counted]:
    """Returns reordering and duplication in a direction, by the numbers of a stateful reflector; or the
    reasons why they are unknown."""
    whole = [each.number for each in answers]
    if all(each.number == each.reflector_number for each in answers):
        if whole == sorted(set(whole)):
            return (0, len(whole)), (0, len(whole))
        return _STATELESS, _STATELESS
    if _counts_anew(answers):
        return _ANEW, _ANEW
    pairs = list(dict.fromkeys((each.reflector_number, each.number) for each in answers))
    if direction == BACKWARD:
        order = [reflected for reflected, _ in pairs]
        return _reordered(order), (len(answers) - len(pairs), len(answers))
    there = [number for _, number in sorted(pairs)]
    firsts = list(dict.fromkeys(there))
    return _reordered(firsts), (len(there) - len(firsts), len(there))


def _warnings(result: StampResult, firsts: Sequence[StampReply], one_way: Sequence[float]) -> list[str]:
    timed = [each for each in firsts if _is_possible(each)]
    known, warnings = _agree(result, timed), []
    if one_way and not known:
        whose = [] if result.own.synchronised else ["this machine's clock"]
        whose += [] if all(each.estimate.synchronised for each in firsts) else ["the reflector's clock"]
        warnings.append(
            f"one-way delays contain the difference of the clocks: {' and '.join(whose)} "
            f"{'is' if len(whose) == 1 else 'are'} not synchronised, by the error estimates; their variation "
            "and the round-trip times are right"
        )
    elif one_way and isinstance(error := _error(result, timed), str):
        warnings.append(f"one-way delays have an error that is not known: {error}")
    elif one_way:
        warnings.append(
            "one-way delays are right within their error, which follows from both error estimates"
        )
    if one_way and min(one_way) < 0:
        warnings.append("some one-way delays are negative: the clocks differ by more than the delay")
    if impossible := [each for each in firsts if not _is_possible(each)]:
        count = f"{len(impossible)} of {len(firsts)} packets have no delays: "
        warnings.append(count + _impossible(impossible[0]))
    if all(each.received_ns == each.reflected_ns for each in firsts):
        warnings.append("the reflector has one time for arrival and departure: its own time counts as delay")
    if not result.arrivals:
        warnings.append(
            "this system has no kernel timestamps of arrivals: delays include the time to be told"
        )
    if not result.departures:
        warnings.append("departures have no kernel timestamps: delays include the time to hand over a packet")
    if result.foreign:
        warnings.append("packets that are no answers arrived: damaged, forged, or with another key")
    return warnings
