"""The figures of a session: delays, losses, reordering and duplicates, for the round trip and for each
direction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nettrial.protocols.figures import Figure, Outcome
from nettrial.protocols.stamp.sender import Answer, Result

WHOLE, FORWARD, BACKWARD = "round trip", "forward", "backward"
"""The directions: the round trip, to the reflector, and from the reflector."""
LEAST_FOR_P99 = 100
"""The smallest number of packets for which a 99th percentile is meaningful."""


def outcome(result: Result) -> Outcome:
    """Returns the figures and the warnings of a session."""
    firsts = _firsts(result.answers)
    figures = [
        *_delays(WHOLE, "rtt", "round-trip time", [_rtt(each) for each in firsts]),
        *_counts(WHOLE, *_whole(result, firsts)),
    ]
    ptp = any(each.estimate.ptp for each in firsts)
    why = "the reflector's timestamps have PTP's format, whose epoch is that of atomic time" if ptp else ""
    forward = [(each.received_ns - each.sent_ns) / 1e6 for each in firsts]
    backward = [(each.arrived_ns - each.reflected_ns) / 1e6 for each in firsts]
    estimate = max((each.estimate.seconds for each in firsts), default=0.0)
    error = 1000 * (result.own.seconds + estimate)
    known = result.own.synchronised and all(each.estimate.synchronised for each in firsts)
    unknown = "a clock is not synchronised: the difference of the clocks has no known bound"
    losses = _lost(result.sent, result.answers)
    for direction, values, lost in ((FORWARD, forward, losses[0]), (BACKWARD, backward, losses[1])):
        figures += _delays(direction, "owd", "one-way delay", why or values)
        value = why or (error if known else unknown)
        figures.append(Figure(direction, "owd_error", "error of the one-way delay", "ms", value))
        figures += _variation(direction, values)
        figures += _counts(direction, lost, *_disorder(direction, result.answers))
    return Outcome(figures, _warnings(result, firsts, known, [] if why else [*forward, *backward]))


def _firsts(answers: Sequence[Answer]) -> list[Answer]:
    """Returns the first answer to each packet, in order of arrival."""
    return list({each.number: each for each in reversed(answers)}.values())[::-1]


def _rtt(answer: Answer) -> float:
    """Returns the round-trip time in milliseconds, without the reflector's own time (RFC 8762: T4 - T1 less
    T3 - T2)."""
    return (answer.arrived_ns - answer.sent_ns - (answer.reflected_ns - answer.received_ns)) / 1e6


def _delays(direction: str, name: str, title: str, values: Sequence[float] | str) -> list[Figure]:
    """Returns the mean and percentiles of delays, or the reason why they are absent."""
    found: list[tuple[str, str, float | str]] = [
        (f"{name}_min", f"{title}, smallest", _of(values, 0)),
        (name, f"{title}, mean", values if isinstance(values, str) else float(np.mean(values))),
        (f"{name}_p50", f"{title}, median", _of(values, 50)),
        (f"{name}_p99", f"{title}, 99th percentile", _of(values, 99)),
    ]
    return [Figure(direction, metric, words, "ms", value) for metric, words, value in found]


def _of(values: Sequence[float] | str, percent: float) -> float | str:
    if isinstance(values, str):
        return values
    if percent > 50 and len(values) < LEAST_FOR_P99:
        return f"it needs {LEAST_FOR_P99} packets that were answered"
    return float(np.percentile(values, percent))


def _variation(direction: str, values: Sequence[float]) -> list[Figure]:
    """Returns the delays above the smallest (RFC 5481, 4.2), which need no synchronised clocks."""
    above = [value - min(values) for value in values]
    return [
        Figure(direction, f"delay_variation_p{p}", f"delay variation, {words}", "ms", _of(above, p))
        for p, words in ((50, "median"), (99, "99th percentile"))
    ]


def _counts(
    direction: str, loss: float | str, reordering: float | str, duplication: float | str
) -> list[Figure]:
    return [
        Figure(direction, "loss", "loss", "%", loss),
        Figure(direction, "reordering", "reordering", "%", reordering),
        Figure(direction, "duplication", "duplication", "%", duplication),
    ]


def _whole(result: Result, firsts: Sequence[Answer]) -> tuple[float, float, float]:
    """Returns loss, reordering and duplication of the round trip, in percent."""
    return (
        100 * (result.sent - len(firsts)) / result.sent,
        _reordered([each.number for each in firsts]),
        100 * (len(result.answers) - len(firsts)) / len(result.answers),
    )


def _reordered(numbers: Sequence[int]) -> float:
    """Returns the share of packets that come after one with a larger number, in percent (RFC 4737, 3.4)."""
    largest, late = -1, 0
    for number in numbers:
        late += number < largest
        largest = max(largest, number)
    return 100 * late / len(numbers)


_STATELESS = (
    "the reflector's numbers are those of the packets: it may count nothing itself, and no direction follows"
)
_OTHER = "the reflector's numbers do not begin with the session"


def _lost(sent: int, answers: Sequence[Answer]) -> tuple[float | str, float | str]:
    """Returns the loss in percent to the reflector and from it, by the numbers that a stateful reflector
    gives its answers; or the reasons why they are unknown."""
    firsts = {each.number for each in answers}
    if len(firsts) == sent:
        return 0.0, 0.0
    if all(each.number == each.reflector_number for each in answers):
        return _STATELESS, _STATELESS
    seen = {each.reflector_number for each in answers}
    last = max(answers, key=lambda each: each.reflector_number)
    doubled = len({(each.number, each.reflector_number) for each in answers}) - len(firsts)
    reached = last.reflector_number + 1
    until = max(each.number for each in answers) + 1
    there = until - (reached - doubled)
    back = reached - len(seen)
    if there < 0 or back < 0:
        return _OTHER, _OTHER
    if until < sent:
        why = "packets after the last answer were lost, in an unknown direction"
        return why, why
    return 100 * there / sent, 100 * back / reached


def _disorder(direction: str, answers: Sequence[Answer]) -> tuple[float | str, float | str]:
    """Returns reordering and duplication in a direction in percent, by the numbers of a stateful reflector;
    or the reasons why they are unknown."""
    whole = [each.number for each in answers]
    if all(each.number == each.reflector_number for each in answers):
        if whole == sorted(set(whole)):
            return 0.0, 0.0
        return _STATELESS, _STATELESS
    pairs = list(dict.fromkeys((each.reflector_number, each.number) for each in answers))
    if direction == BACKWARD:
        order = [reflected for reflected, _ in pairs]
        return _reordered(order), 100 * (len(answers) - len(pairs)) / len(answers)
    there = [number for _, number in sorted(pairs)]
    firsts = list(dict.fromkeys(there))
    return _reordered(firsts), 100 * (len(there) - len(firsts)) / len(there)


def _warnings(result: Result, firsts: Sequence[Answer], known: bool, one_way: Sequence[float]) -> list[str]:
    found = []
    if one_way and not known:
        whose = [] if result.own.synchronised else ["this machine's clock"]
        whose += [] if all(each.estimate.synchronised for each in firsts) else ["the reflector's clock"]
        found.append(
            f"one-way delays contain the difference of the clocks: {' and '.join(whose)} "
            f"{'is' if len(whose) == 1 else 'are'} not synchronised, by the error estimates; their variation "
            "and the round-trip times are right"
        )
    elif one_way:
        found.append("one-way delays are right within their error, which follows from both error estimates")
    if one_way and min(one_way) < 0:
        found.append("some one-way delays are negative: the clocks differ by more than the delay")
    if all(each.received_ns == each.reflected_ns for each in firsts):
        found.append("the reflector has one time for arrival and departure: its own time counts as delay")
    if not result.arrivals:
        found.append("this system has no kernel timestamps of arrivals: delays include the time to be told")
    if not result.departures:
        found.append("departures have no kernel timestamps: delays include the time to hand over a packet")
    if result.foreign:
        found.append("packets that are no answers arrived: damaged, forged, or with another key")
    return found
