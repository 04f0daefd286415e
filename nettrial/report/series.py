"""Charts over the time of a trial: goodput by flow or subflow, round-trip times, retransmissions, congestion
windows, queues, and the rates and delays of stations of radio channels. They show one trial of each
treatment, whose first response is nearest to the median: an example, not an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Literal, TypeAlias

from nettrial.analysis import Cell
from nettrial.report import numbers
from nettrial.report.content import Report
from nettrial.report.tables import label
from nettrial.report.vega import WIDTH, Chart, across, groups, layer, layered, silent, y
from nettrial.scenario import ChannelRecord, FlowRecord, InterfaceRecord, Interval
from nettrial.store import Trial

Figure: TypeAlias = Literal[
    "goodput",
    "rtt",
    "retransmissions",
    "sent",
    "cwnd",
    "queue",
    "utilisation",
    "rate",
    "radio-queue",
    "contention",
]
"""The figures over time, as the names of charts end."""
MOST_TREATMENTS = 12
"""The largest number of treatments whose trials are drawn over time."""
MOST_LINES = 8
"""The largest number of lines in a chart: more could not be distinguished."""
POINTS = 200
"""The largest number of points of a line; if there are more, neighbours are merged."""
SPEAKING = 40
"""The number of points that show their values on demand."""

Row = dict[str, Any]
"""A row of a chart's data."""


@dataclass(frozen=True)
class Series:
    """The charts of one trial over time."""

    treatment: str
    """The trial's treatment, in words."""
    trial: int
    """The trial's number in run order."""
    charts: list[Chart]
    """The charts, one for each kind of sample."""


def draw(report: Report) -> tuple[list[Series], str]:
    """Returns the series of one trial of each treatment, as far as it has samples, and a note on the
    treatments left out."""
    study = report.run.study
    shown: list[Series] = []
    left_out = 0
    for trial in _examples(report):
        if not any(len(flow.intervals) > 1 for flow in trial.record.flows):
            continue
        if len(shown) == MOST_TREATMENTS:
            left_out += 1
            continue
        charts = of_trial(trial)
        if charts:
            shown.append(Series(label(study, trial.planned.treatment), trial.planned.number, charts))
    note = f"The run file contains {numbers.counted(left_out, 'more treatment')}." if left_out else ""
    return shown, note


def _examples(report: Report) -> list[Trial]:
    """Returns the trial of each treatment that is nearest to the median, in the order of treatments."""
    examples = []
    for cells in _cells(report):
        chosen = next((cell for cell in cells if cell.median is not None), None)
        if chosen is None or chosen.median is None:
            continue
        middle = chosen.median
        block = min(chosen.values, key=lambda at: abs(chosen.values[at] - middle))
        examples.append(report.run.trial(chosen.trials[block]))
    return examples


def _cells(report: Report) -> list[tuple[Cell, ...]]:
    """Returns the cells of each treatment, one for each response."""
    return list(zip(*(section.response.cells for section in report.sections), strict=True))


def of_trial(trial: Trial) -> list[Chart]:
    """Returns a chart of each figure that a trial recorded over time."""
    rates: dict[str, list[Row]] = {}
    sent: dict[str, list[Row]] = {}
    windows: dict[str, list[Row]] = {}
    delays: dict[str, list[Row]] = {}
    again: dict[str, list[Row]] = {}
    for flow in trial.record.flows:
        # With UDP, the sender knows only the data sent, not the data received.
        (sent if flow.transport.root == "udp" else rates).update(_rates(flow))
        windows.update(_windows(flow))
        delays.update(_round_trips(flow))
        again.update(_retransmissions(flow))
    queues, loads = _queues(trial.record.ends)
    name, of = f"series-{trial.planned.number}", f"in trial {trial.planned.number}"
    window = "Congestion window by flow or subflow"
    drawn = [
        _chart(f"{name}-goodput", "Goodput, Mbit/s", f"Goodput by flow or subflow over time {of}.", rates),
        _chart(
            f"{name}-rtt",
            "Smoothed round-trip time, ms",
            f"Smoothed round-trip time of each flow over time {of}.",
            delays,
        ),
        _chart(
            f"{name}-retransmissions",
            "Retransmitted segments, running total",
            f"Segments that each flow has retransmitted since its start, over time {of}.",
            again,
        ),
        _chart(f"{name}-sent", "Sent, Mbit/s", f"Rate sent by UDP flows over time {of}.", sent),
        _chart(
            f"{name}-cwnd",
            "Congestion window, segments",
            f"{window} over time {of}.",
            windows,
        ),
    ]
    drawn += [
        _chart(f"{name}-queue", "Queue, packets", f"Queues of interfaces over time {of}.", queues),
        _chart(f"{name}-utilisation", "Utilisation, %", f"Utilisation of interfaces over time {of}.", loads),
        _chart(
            f"{name}-rate",
            "Rate of the radio, Mbit/s",
            f"Mean rate of the PPDUs of each station over time {of}.",
            _radio_rates(trial.record.channels or []),
        ),
        _chart(
            f"{name}-radio-queue",
            "Wait in the radio's queue, ms",
            f"Mean time that packets waited in the queue of each station over time {of}.",
            _radio_delays(trial.record.channels or [], "queue_delay_ns"),
        ),
        _chart(
            f"{name}-contention",
            "Contention, ms",
            f"Mean time that each station contended for the channel over time {of}.",
            _radio_delays(trial.record.channels or [], "contention_delay_ns"),
        ),
    ]
    return [chart for chart in drawn if chart]


def _rates(flow: FlowRecord) -> list[tuple[str, list[Row]]]:
    """Returns the goodput of a flow over time; for MPTCP, that of each subflow."""
    samples = flow.intervals
    if len(samples) < 2:
        return []
    several = [len(each.subflow_bytes or ()) for each in samples]
    if max(several) < 2:
        return [(flow.name, _rows(flow.name, _rate([each.bytes for each in samples], samples), "Mbit/s"))]
    made = []
    for number in range(max(several)):
        counts = [
            each.subflow_bytes[number] if number < len(each.subflow_bytes or ()) else 0  # type: ignore[index]
            for each in samples
        ]
        name = f"{flow.name}, subflow {number + 1}"
        made.append((name, _rows(name, _rate(counts, samples), "Mbit/s")))
    return made


def _windows(flow: FlowRecord) -> dict[str, list[Row]]:
    """Returns the congestion window of a flow over time; for MPTCP, that of each subflow. A connection that
    is not open has none."""
    lines = {flow.name: [(each.at_ns, each.cwnd_pkts) for each in flow.intervals]}
    count = max((len(each.subflow_cwnd_pkts or ()) for each in flow.intervals), default=0)
    if count > 1:
        lines = {
            f"{flow.name}, subflow {number + 1}": [
                (each.at_ns, each.subflow_cwnd_pkts[number])
                for each in flow.intervals
                if each.subflow_cwnd_pkts and number < len(each.subflow_cwnd_pkts)
            ]
            for number in range(count)
        }
    points = {name: [(at / 1e9, float(cwnd)) for at, cwnd in line if cwnd] for name, line in lines.items()}
    return {name: _rows(name, positive, "segments") for name, positive in points.items() if positive}


def _round_trips(flow: FlowRecord) -> dict[str, list[Row]]:
    """Returns the smoothed round-trip time of a flow over time. A connection that is not open has none."""
    points = [(each.at_ns / 1e9, each.srtt_us / 1e3) for each in flow.intervals if each.srtt_us]
    return {flow.name: _rows(flow.name, points, "ms")} if len(points) > 1 else {}


def _retransmissions(flow: FlowRecord) -> dict[str, list[Row]]:
    """Returns the running total of the segments that a flow has retransmitted, if there are any. It is a
    total because merged neighbours keep its steps."""
    totals = list(accumulate(each.retransmissions_pkts for each in flow.intervals))
    if len(totals) < 2 or not totals[-1]:
        return {}
    points = [(each.at_ns / 1e9, float(total)) for each, total in zip(flow.intervals, totals, strict=True)]
    return {flow.name: _rows(flow.name, points, "segments")}


def _queues(interfaces: Sequence[InterfaceRecord]) -> tuple[dict[str, list[Row]], dict[str, list[Row]]]:
    """Returns the queue and the utilisation of the interfaces that recorded them, the busiest first."""
    queues: dict[str, list[Row]] = {}
    loads: dict[str, list[Row]] = {}
    for interface in sorted((each for each in interfaces if each.series), key=lambda each: -each.wire_bytes):
        name = f"{interface.interface} of {interface.node}"
        series = interface.series or []
        queues[name] = _rows(name, [(each.at_ns / 1e9, float(each.queue_pkts)) for each in series], "packets")
        loads[name] = _rows(name, [(each.at_ns / 1e9, each.utilisation_percent) for each in series], "%")
    return queues, loads


def _radio_rates(channels: Sequence[ChannelRecord]) -> dict[str, list[Row]]:
    """Returns the mean rate of each station over time, for stations with rate control."""
    return {
        station.node: _rows(
            station.node,
            [(each.at_ns / 1e9, each.rate_bps / 1e6) for each in station.rate_series],
            "Mbit/s",
        )
        for channel in channels
        for station in channel.stations
        if station.rate_series
    }


def _radio_delays(channels: Sequence[ChannelRecord], field: str) -> dict[str, list[Row]]:
    """Returns a mean delay of each station over time, as far as it was recorded and the station sent
    anything."""
    lines = {
        station.node: [
            (each.at_ns / 1e9, delay / 1e6)
            for each in station.delay_series or []
            if (delay := getattr(each, field)) is not None
        ]
        for channel in channels
        for station in channel.stations
    }
    return {node: _rows(node, points, "ms") for node, points in lines.items() if points}


def _rate(counts: Sequence[int], samples: Sequence[Interval]) -> list[tuple[float, float]]:
    """Returns pairs of the time in seconds and the rate since the previous sample in Mbit/s."""
    ends = [sample.at_ns for sample in samples]
    return [
        (end / 1e9, count * 8e3 / (end - start))
        for count, (start, end) in zip(counts[1:], pairwise(ends), strict=True)
        if end > start
    ]


def _rows(name: str, points: Sequence[tuple[float, float]], unit: str) -> list[Row]:
    """Returns the points of a line, with neighbours merged if there are too many. There may be none, as for
    the rates of samples that all have the same time."""
    each = max(1, -(-len(points) // POINTS))
    rows = []
    for start in range(0, len(points), each):
        part = points[start : start + each]
        at, value = (sum(column) / len(part) for column in zip(*part, strict=True))
        said = f"{name}, {at:.3g} s: {value:.4g} {unit}"
        rows.append({"at": at, "value": value, "group": name, "said": said})
    return rows


def _chart(name: str, title: str, said: str, lines: dict[str, list[Row]]) -> Chart | None:
    lines = {name: line for name, line in lines.items() if line}
    kept = dict(list(lines.items())[:MOST_LINES])
    rows = [row for line in kept.values() for row in line]
    if not rows:
        return None
    speaking = [row for line in kept.values() for row in line[:: max(1, len(line) // SPEAKING)]]
    times = [row["at"] for row in rows]
    x = {"field": "at", **across(times, WIDTH, zero=True, exact=True, title="Time, s", grid=False)}
    channels = groups(list(kept), "")
    places = {"x": x, "y": y("value", {"zero": True}), "color": channels["color"]}
    layers = [
        layer("line", silent(rows), places, strokeWidth=1.4),
        layer("point", speaking, {**places, "shape": channels["shape"]}, size=14, filled=True, opacity=0.9),
    ]
    note = f"{MOST_LINES} of {len(lines)} lines are drawn." if len(lines) > MOST_LINES else ""
    return Chart(name, title, said, layered(layers, title), legend=tuple(kept), note=note)
