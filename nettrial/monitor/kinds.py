"""The kinds of measurements. A kind is one class with the attributes and methods of `Kind`, registered in
`KINDS`."""

from __future__ import annotations

import os
from typing import Protocol

from nettrial.analysis import repeated
from nettrial.backends import Measurer, TrialFailed, find_server, measured_flow, streams_of
from nettrial.backends import path as examination
from nettrial.backends.remote import IPERF3_PORT, PORT, UNREACHABLE, MeasuredTraffic, NoSession
from nettrial.errors import BadInput, CannotRun
from nettrial.metrics import METRICS
from nettrial.monitor import pairs
from nettrial.monitor.outcome import MeasuredValue, MeasuredValues, Missed
from nettrial.monitor.peers import Ndt7, Stamp
from nettrial.monitor.task import SET_UP_SECONDS, TRAFFIC_SECONDS, Task
from nettrial.path_report import IpVersion, PathRecord, PathRequest, Size
from nettrial.registry import Registry
from nettrial.scenario import Record

PATH_SECONDS = 20.0
"""The expected duration of the examination of a path, in seconds."""


class MeasurementKind(Protocol):
    """A kind of measurement."""

    title: str
    """The kind of measurement in words."""
    headline: str
    """The metric that is shown first."""
    uses: frozenset[str]
    """The optional settings of this kind; all others are refused."""
    metrics: frozenset[str]
    """The metrics that its measurements may have."""

    def problem(self, task: Task) -> str:
        """Returns a requirement that the hosts of a task don't meet, in words; otherwise an empty text."""

    def seconds(self, task: Task) -> float:
        """Returns the expected time of a measurement."""

    def run(self, task: Task) -> MeasuredValues:
        """Measures once; raises Missed. This method runs in its own thread."""


class TrafficKind:
    """Traffic between this machine and `nettrial serve` or an iperf3 server, as of `nettrial measure`, or
    between two machines of the inventory."""

    def __init__(self, kind: str, title: str, headline: str, uses: frozenset[str]) -> None:
        """Creates the kind that has this name in `nettrial measure`."""
        self.kind = kind
        self.title = title
        self.headline = headline
        self.uses = uses | {"duration", "size", "streams", "ip"}
        self.metrics = frozenset(name for name in METRICS if METRICS[name].of in ("flow", "group"))

    def problem(self, task: Task) -> str:
        """Returns a requirement that the hosts don't meet."""
        if task.is_of_machines:
            return pairs.problem(task)
        if wrong := task.from_here():
            return f"{wrong}; or two hosts with `machine`"
        if task.far.serves not in ("nettrial", "iperf3"):
            return "a host with `serves: nettrial` or `serves: iperf3`"
        if self.kind == "rr" and task.far.serves == "iperf3":
            return "a host with `serves: nettrial`, because iperf3 has no requests and responses"
        return ""

    def seconds(self, task: Task) -> float:
        """Returns the expected time of a measurement."""
        return task.seconds() + (pairs.SET_UP_SECONDS if task.is_of_machines else SET_UP_SECONDS)

    def run(self, task: Task) -> MeasuredValues:
        """Measures once; raises Missed."""
        flows = streams_of(task.settings.streams or 1)
        if task.is_of_machines:
            return of_record(pairs.traffic(task, self.kind), flows)
        settings, far = task.settings, task.far
        iperf3 = far.serves == "iperf3"
        assert far.address is not None
        try:
            server, version = find_server(
                far.address, far.port or (IPERF3_PORT if iperf3 else PORT), settings.ip
            )
        except LookupError as why:
            raise Missed("host gone", f"{far.address}: {why}") from None
        seed = int.from_bytes(os.urandom(4))
        time = settings.duration or TRAFFIC_SECONDS
        flow = measured_flow(
            self.kind, version, time, seed, reverse=task.reverse, rate=settings.rate, size=settings.size
        )
        try:
            with Measurer(server, iperf3, far.token_file) as measurer:
                record = measurer.run("1", MeasuredTraffic(flow, len(flows), task.seconds()))
        except NoSession as none:
            is_gone = none.kind == UNREACHABLE
            said = "; ".join(reason.why for reason in none.reasons)
            raise Missed("host gone" if is_gone else "refused", said) from None
        except CannotRun as cannot:
            raise Missed("failed", "; ".join(reason.why for reason in cannot.reasons)) from None
        except TrialFailed as failed:
            raise Missed("failed", str(failed)) from None
        except BadInput as bad:
            raise Missed("refused", "; ".join(bad.faults[0].lines())) from None
        return of_record(record, flows)


def of_record(record: Record, flows: list[str]) -> MeasuredValues:
    """Returns the figures of a record's flows."""
    figures = [
        MeasuredValue(metric.metric.name, metric.metric.title, metric.metric.unit, metric.cell.mean)
        for metric in repeated([record], flows)
        if metric.cell.mean is not None
    ]
    if not figures:
        raise Missed("failed", "the record has no figures")
    return MeasuredValues(
        figures,
        sum(max(flow.bytes, flow.ip_bytes or 0) for flow in record.flows),
        record.model_dump_json(by_alias=True, exclude_none=True),
        {"segment size": f"{record.flows[0].mss_bytes} B"} if record.flows[0].mss_bytes else {},
    )


class PathKind:
    """The examination of the path to a host, as of `nettrial path`; between two machines of the inventory the
    path MTU alone."""

    title = "Path"
    headline = "path_mtu"
    uses = frozenset({"size", "ip"})
    metrics = frozenset({"path_mtu", "reverse_path_mtu", "path_rtt", "path_rtt_min", "path_loss", "hops"})

    def problem(self, task: Task) -> str:
        """Returns a requirement that the hosts don't meet."""
        if task.is_of_machines and task.settings.size:
            return "no `size` between two machines: the MTU of their interfaces is tried"
        if task.is_of_machines:
            return pairs.problem(task)
        if wrong := task.from_here():
            return f"{wrong}; or two hosts with `machine`"
        return "this machine in `from`, because paths are examined from here" * task.reverse

    def seconds(self, task: Task) -> float:
        """Returns the expected time of an examination."""
        return pairs.SET_UP_SECONDS if task.is_of_machines else PATH_SECONDS

    def run(self, task: Task) -> MeasuredValues:
        """Examines the path once; raises Missed."""
        if task.is_of_machines:
            return pairs.path(task)
        settings = task.settings
        request = PathRequest(
            host=task.far.address or "",
            ip=IpVersion(settings.ip) if settings.ip else None,
            max_mtu=Size(settings.size) if settings.size else None,
            rate=None,
            ports=[],
        )
        try:
            report = examination.examine(request)
        except CannotRun as cannot:
            raise Missed("failed", "; ".join(reason.why for reason in cannot.reasons)) from None
        except BadInput as bad:
            raise Missed("host gone", "; ".join(bad.faults[0].lines())) from None
        if not report.paths:
            raise Missed("host gone", "; ".join(each.reason for each in report.absent))
        path = report.paths[0]
        if not path.answers:
            reasons = dict.fromkeys(each.reason for each in path.absent)
            raise Missed("host gone", f"{path.address} answers no probe: {'; '.join(reasons)}")
        return MeasuredValues(
            path_figures(path),
            0,
            report.model_dump_json(by_alias=True, exclude_none=True),
            path_states(path),
        )


def path_figures(path: PathRecord) -> list[MeasuredValue]:
    """Returns the figures of a path that were measured."""
    figures = []
    if path.forward:
        figures.append(MeasuredValue("path_mtu", "Path MTU", "B", path.forward.mtu_bytes))
    if path.reverse:
        figures.append(MeasuredValue("reverse_path_mtu", "Path MTU back", "B", path.reverse.mtu_bytes))
    if path.rtt:
        figures.append(
            MeasuredValue("path_rtt", "Median round-trip time of probes", "ms", path.rtt.median_us / 1e3)
        )
        figures.append(
            MeasuredValue(
                "path_rtt_min", "Smallest round-trip time of probes", "ms", path.rtt.minimum_us / 1e3
            )
        )
        lost = 1 - path.rtt.received_pkts / path.rtt.sent_pkts if path.rtt.sent_pkts else None
        if lost is not None:
            figures.append(MeasuredValue("path_loss", "Lost probes", "%", 100 * lost))
    if path.hops:
        figures.append(MeasuredValue("hops", "Hops", "hops", len(path.hops)))
    return figures


def path_states(path: PathRecord) -> dict[str, str]:
    """Returns the properties of a path whose changes are events. The route contains only the routers that
    answered, with their numbers of hops, because a silent router may answer the next time."""
    states = {}
    if path.hops:
        states["route"] = " ".join(f"{hop.number}:{hop.address or '?'}" for hop in path.hops)
    if path.forward:
        states["path MTU"] = f"{path.forward.mtu_bytes} B"
    if path.reverse:
        states["path MTU back"] = f"{path.reverse.mtu_bytes} B"
    return states


KINDS: Registry[MeasurementKind] = Registry("kind of measurement")
"""The kinds by name."""
KINDS.add("tcp", TrafficKind("tcp", "TCP", "goodput", frozenset({"rate"})))
KINDS.add("udp", TrafficKind("udp", "UDP", "loss", frozenset({"rate"})))
KINDS.add("rr", TrafficKind("rr", "Requests and responses", "rtt", frozenset()))
KINDS.add("path", PathKind())
KINDS.add("ndt7", Ndt7())
KINDS.add("stamp", Stamp())
