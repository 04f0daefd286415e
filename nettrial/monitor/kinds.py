"""The kinds of measurements. A kind is one class with the attributes and methods of `Kind`, registered in
`KINDS`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from nettrial.analysis import repeated
from nettrial.backends import Measurer, TrialFailed, find_server, measured_flow, streams_of
from nettrial.backends import path as examination
from nettrial.backends.remote import IPERF3_PORT, PORT
from nettrial.errors import BadInput, CannotRun
from nettrial.metrics import METRICS
from nettrial.monitor.outcome import Figure, Measured, Missed
from nettrial.monitor.settings import HostSettings, MeasurementSettings
from nettrial.path_report import IpVersion, PathRecord, PathRequest, Size
from nettrial.registry import Registry
from nettrial.scenario import Record

TRAFFIC_SECONDS = "5 s"
"""The default duration of traffic in seconds."""
SET_UP_SECONDS = 2.0
"""The expected duration of a measurement in addition to its traffic, in seconds."""
NDT7_PORT, NDT7_SECONDS = 4443, 10.0
"""The default port of an ndt7 server, and the longest transfer that its specification allows, in seconds."""
PATH_SECONDS = 20.0
"""The expected duration of the examination of a path, in seconds."""
GONE = ("connecting to", "calling the iperf3 server", "the server does not answer")
"""The beginnings of the engine's error messages about a server that can't be reached (engine/remote,
engine/iperf3). All other errors before the traffic come from a server that refuses."""


@dataclass(frozen=True)
class Task:
    """A measurement between two hosts, which is repeated in each interval."""

    key: str
    """The task's name in the archive: the measurement and its two hosts."""
    measurement: str
    """The name of the measurement in the mesh file."""
    settings: MeasurementSettings
    """The settings of the measurement."""
    source: str
    """The host that sends."""
    target: str
    """The host that receives."""
    hosts: Mapping[str, HostSettings]
    """The settings of the hosts, by name."""

    @property
    def far(self) -> HostSettings:
        """Returns the settings of the host that is not this machine."""
        return next(host for host in self._ends() if host.address is not None)

    @property
    def reverse(self) -> bool:
        """Returns whether the other host sends."""
        return self.hosts[self.source].address is not None

    def _ends(self) -> list[HostSettings]:
        return [self.hosts[self.source], self.hosts[self.target]]


class Kind(Protocol):
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

    def run(self, task: Task) -> Measured:
        """Measures once; raises Missed. This method runs in its own thread."""


KINDS: Registry[Kind] = Registry("kind of measurement")
"""The kinds by name."""


def from_here(task: Task) -> str:
    """Returns the requirement that exactly one host of a task is this machine, if the task does not meet
    it."""
    here = [task.hosts[name].address is None for name in (task.source, task.target)]
    return "" if sum(here) == 1 else "one host that is this machine, without `address`, and one that is not"


class Traffic:
    """Traffic between this machine and `nettrial serve` or an iperf3 server, as of `nettrial measure`."""

    def __init__(self, kind: str, title: str, headline: str, uses: frozenset[str]) -> None:
        """Creates the kind that has this name in `nettrial measure`."""
        self.kind = kind
        self.title = title
        self.headline = headline
        self.uses = uses | {"duration", "size", "streams", "ip"}
        self.metrics = frozenset(name for name in METRICS if METRICS[name].of in ("flow", "group"))

    def problem(self, task: Task) -> str:
        """Returns a requirement that the hosts don't meet."""
        if wrong := from_here(task):
            return wrong
        if task.far.serves not in ("nettrial", "iperf3"):
            return "a host with `serves: nettrial` or `serves: iperf3`"
        if self.kind == "rr" and task.far.serves == "iperf3":
            return "a host with `serves: nettrial`, because iperf3 has no requests and responses"
        return ""

    def seconds(self, task: Task) -> float:
        """Returns the expected time of a measurement."""
        return task.settings.seconds(TRAFFIC_SECONDS) + SET_UP_SECONDS

    def run(self, task: Task) -> Measured:
        """Measures once; raises Missed."""
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
        streams = settings.streams or 1
        try:
            with Measurer(server, iperf3, far.token_file) as measurer:
                record = measurer.run("1", flow, streams, settings.seconds(TRAFFIC_SECONDS))
        except CannotRun as cannot:
            said = "; ".join(reason.why for reason in cannot.reasons)
            raise Missed("host gone" if said.startswith(GONE) else "refused", said) from None
        except TrialFailed as failed:
            raise Missed("host gone" if str(failed).startswith(GONE) else "failed", str(failed)) from None
        except BadInput as bad:
            raise Missed("refused", "; ".join(bad.faults[0].lines())) from None
        return of_record(record, streams_of(streams))


def of_record(record: Record, flows: list[str]) -> Measured:
    """Returns the figures of a record's flows."""
    figures = [
        Figure(found.metric.name, found.metric.title, found.metric.unit, found.cell.mean)
        for found in repeated([record], flows)
        if found.cell.mean is not None
    ]
    if not figures:
        raise Missed("failed", "the record has no figures")
    return Measured(
        figures,
        sum(max(flow.bytes, flow.ip_bytes or 0) for flow in record.flows),
        record.model_dump_json(by_alias=True, exclude_none=True),
        {"segment size": f"{record.flows[0].mss_bytes} B"} if record.flows[0].mss_bytes else {},
    )


class PathKind:
    """The examination of the path to a host, as of `nettrial path`."""

    title = "Path"
    headline = "path_mtu"
    uses = frozenset({"size", "ip"})
    metrics = frozenset({"path_mtu", "reverse_path_mtu", "path_rtt", "path_rtt_min", "path_loss", "hops"})

    def problem(self, task: Task) -> str:
        """Returns a requirement that the hosts don't meet."""
        wrong = from_here(task)
        return wrong or ("this machine in `from`, because paths are examined from here" * task.reverse)

    def seconds(self, task: Task) -> float:
        """Returns the expected time of an examination."""
        return PATH_SECONDS

    def run(self, task: Task) -> Measured:
        """Examines the path once; raises Missed."""
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
        found = report.paths[0]
        if not found.answers:
            reasons = dict.fromkeys(each.reason for each in found.absent)
            raise Missed("host gone", f"{found.address} answers no probe: {'; '.join(reasons)}")
        return Measured(
            path_figures(found),
            0,
            report.model_dump_json(by_alias=True, exclude_none=True),
            path_states(found),
        )


def path_figures(path: PathRecord) -> list[Figure]:
    """Returns the figures of a path that were measured."""
    found = []
    if path.forward:
        found.append(Figure("path_mtu", "Path MTU", "B", path.forward.mtu_bytes))
    if path.reverse:
        found.append(Figure("reverse_path_mtu", "Path MTU back", "B", path.reverse.mtu_bytes))
    if path.rtt:
        found.append(Figure("path_rtt", "Median round-trip time of probes", "ms", path.rtt.median_us / 1e3))
        found.append(
            Figure("path_rtt_min", "Smallest round-trip time of probes", "ms", path.rtt.minimum_us / 1e3)
        )
        lost = 1 - path.rtt.received_pkts / path.rtt.sent_pkts if path.rtt.sent_pkts else None
        if lost is not None:
            found.append(Figure("path_loss", "Lost probes", "%", 100 * lost))
    if path.hops:
        found.append(Figure("hops", "Hops", "hops", len(path.hops)))
    return found


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


class Ndt7:
    """A download from an ndt7 server, or an upload to it, as of `nettrial measure --ndt7`."""

    title = "ndt7"
    headline = "goodput"
    uses = frozenset({"duration", "ip"})
    metrics = frozenset({"goodput", "min_rtt", "srtt", "retransmitted"})

    def problem(self, task: Task) -> str:
        """Returns a requirement that the hosts don't meet."""
        if wrong := from_here(task):
            return wrong
        return "" if task.far.serves == "ndt7" else "a host with `serves: ndt7`"

    def seconds(self, task: Task) -> float:
        """Returns the expected time of a measurement."""
        return min(task.settings.seconds(TRAFFIC_SECONDS), NDT7_SECONDS) + SET_UP_SECONDS

    def run(self, task: Task) -> Measured:
        """Measures once; raises Missed."""
        try:
            from nettrial.protocols.ndt7.client import Client, NotReached, Target
            from nettrial.protocols.ndt7.figures import outcome
        except ImportError:
            raise Missed("failed", "its Python packages are missing: pip install 'nettrial[ndt7]'") from None
        far = task.far
        assert far.address is not None
        port = far.port or NDT7_PORT
        try:
            server, _ = find_server(far.address, port, task.settings.ip)
        except LookupError as why:
            raise Missed("host gone", f"{far.address}: {why}") from None
        address = server.rpartition(":")[0].strip("[]")
        target = Target(far.address, address, port, far.tls == "none", far.tls == "verified")
        seconds = min(task.settings.seconds(TRAFFIC_SECONDS), NDT7_SECONDS)
        try:
            transfer = Client(target).run("download" if task.reverse else "upload", seconds)
        except NotReached as why:
            raise Missed("host gone", str(why)) from None
        found = outcome(transfer)
        figures = [
            Figure(each.metric, each.title[:1].upper() + each.title[1:], each.unit, each.value)
            for each in found.figures
            if not isinstance(each.value, str)
        ]
        absent = {each.metric: each.value for each in found.figures if isinstance(each.value, str)}
        if "goodput" in absent:
            raise Missed("failed", absent["goodput"])
        document = {
            "kind": "ndt7",
            "figures": {each.name: each.value for each in figures},
            "absent": absent,
            "warnings": found.warnings,
        }
        return Measured(figures, transfer.num_bytes, json.dumps(document))


KINDS.add("tcp", Traffic("tcp", "TCP", "goodput", frozenset({"rate"})))
KINDS.add("udp", Traffic("udp", "UDP", "loss", frozenset({"rate"})))
KINDS.add("rr", Traffic("rr", "Requests and responses", "rtt", frozenset()))
KINDS.add("path", PathKind())
KINDS.add("ndt7", Ndt7())


def token_of(mesh: Path, host: HostSettings) -> HostSettings:
    """Returns a host whose token file is relative to the working directory instead of the mesh file's
    directory."""
    return host.model_copy(update={"token_file": host.token_file and mesh.parent / host.token_file})
