"""Measurements between machines: the server, and the client."""

from __future__ import annotations

import ipaddress
import math
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from nettrial.backends import find
from nettrial.backends.backend import TrialFailed
from nettrial.backends.engine import EngineLost
from nettrial.backends.keeper import Keeper
from nettrial.errors import BadInput, CannotRun, Fault, Lack, Reason
from nettrial.scenario import CheckedEvent, FailedEvent, Flow, Measure, MeasuredMtu, Record, RecordEvent
from nettrial.systems import UnknownZone, become, zoned
from nettrial.units import DURATION, RATE, SIZE

PORT, IPERF3_PORT = 5210, 5201
"""The default ports of `nettrial serve` and of iperf3."""
NOTHING_MEASURED = "nothing was measured"
"""The result of a measurement that could not begin, for error messages."""
FLOW = "measured"
"""The name of the flow in the records; with several streams, a number is appended."""
SIZES = {"tcp": "16 KiB", "udp": "1400 B", "rr": "64 B"}
"""The default size of packets, messages and writes by kind of traffic; over TCP it applies only with a
rate."""
UDP_RATE = "10 Mbit/s"
"""The default rate of UDP, which does not harm usual paths."""

GRACE_SECONDS = 150.0
"""The time in seconds that a measurement may take in addition to its traffic: the engine's own limits are
shorter."""
INTERVAL_SECONDS = 0.1
"""The interval in seconds at which a flow's transport state is read, unless that gives too many samples."""
MOST_SAMPLES = 100_000
"""The largest number of samples of all streams of a measurement together. A server refuses more
(`MOST_SAMPLES` of engine/remote/src/rules.rs)."""


def serve(arguments: Sequence[str]) -> NoReturn:
    """Replaces this process by an engine that serves other machines; raises CannotRun if there is none.

    Ending the process ends the server, and nothing else remains."""
    binary = find.engine()
    become(binary, "serve", *arguments)


def streams_of(number: int) -> list[str]:
    """Returns the names of a measurement's streams in its records."""
    return [FLOW] if number == 1 else [f"{FLOW}-{each}" for each in range(1, number + 1)]


def find_server(host: str, port: int, ip: int | None) -> tuple[str, int]:
    """Returns a server's address, with its zone if it has one, and its port, and the IP version. Raises
    LookupError if the host has no address of that version, or a link-local one without a zone."""
    if ":" in host:  # An IPv6 address; a name has no colon.
        try:
            host = zoned(host)
        except UnknownZone as why:
            raise LookupError(f"{why}; expected: {why.expected}") from None
        except ValueError:
            raise LookupError("no such address was found") from None
    family = {None: socket.AF_UNSPEC, 4: socket.AF_INET, 6: socket.AF_INET6}[ip]
    try:
        addresses = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError):
        raise LookupError(_of_another_version(host) or "no such address was found") from None
    text, _, *six = addresses[0][4]
    address = ipaddress.ip_address(str(text).partition("%")[0])
    # The zone of a link-local address is the number of an interface of this machine.
    zone = f"%{six[1]}" if six and six[1] else ""
    return (f"[{address}{zone}]:{port}" if six else f"{address}:{port}"), address.version


def _of_another_version(host: str) -> str:
    """Returns a hint for an address, which has one IP version; empty for a name."""
    try:
        version = ipaddress.ip_address(host.partition("%")[0]).version
    except ValueError:
        return ""
    return f"{host} is an IPv{version} address: give a name that has addresses of both versions"


def measured_flow(
    kind: str,
    version: int,
    time: str,
    seed: int,
    *,
    reverse: bool = False,
    rate: str | None = None,
    size: str | None = None,
) -> Flow:
    """Returns the traffic of a measurement: `kind` is tcp, udp or rr, `version` the IP version, and the other
    texts are quantities. With `reverse`, the server sends. Raises UnitError."""
    ends = ("server", "client") if reverse else ("client", "server")
    size = size and SIZE.print(SIZE.parse(size))
    rate = rate or (UDP_RATE if kind == "udp" else None)
    document: dict[str, Any] = {
        "name": FLOW,
        "from": ends[0],
        "to": ends[1],
        "transport": "udp" if kind == "udp" else "tcp",
        "ip": version,
    }
    traffic: dict[str, Any] = {"duration": DURATION.print(DURATION.parse(time))}
    if kind == "rr":
        message = size or SIZES["rr"]
        traffic |= {"kind": "request_response", "request": message, "response": message}
    elif rate is not None:
        constant = {"distribution": "constant", "value": size or SIZES[kind]}
        traffic |= {"kind": "packets", "size": constant, "rate": RATE.print(RATE.parse(rate)), "seed": seed}
    else:
        traffic |= {"kind": "transfer"}
        document |= {"socket": {"block": size}} if size else {}
    return Flow.model_validate({**document, "traffic": traffic})


@dataclass(frozen=True)
class MeasuredTraffic:
    """The traffic of a measurement."""

    flow: Flow
    """The traffic of each stream."""
    streams: int
    """The number of parallel streams."""
    seconds: float
    """The duration of the traffic in seconds."""
    congestion_control: str | None = None
    """The congestion control of both hosts; None for each host's own."""
    mtu: MeasuredMtu | None = None
    """The MTU whose packets are measured; None for that of the interfaces as they are."""


def remedy(kind: str, iperf3: bool) -> str:
    """Returns the remedy for a measurement that failed in this way."""
    if kind != UNREACHABLE:
        return _REMEDIES.get(kind, "look at the server's own messages there")
    if iperf3:
        return "start `iperf3 -s` there, or `nettrial serve --bind :: --iperf3`, and open its port"
    return "start `nettrial serve --bind ::` there, and open its port"


UNREACHABLE = "unreachable"
"""The kind of failure of a server that can't be reached, does not answer, or is gone."""
NO_PRIVILEGES = "no_privileges"
"""The kind of failure of a user who may not change what a measurement needs."""
_REMEDIES = {
    "busy": "wait until that test or another session has ended, and try again",
    "udp_filtered": "open the server's UDP port, too",
    "other_token": "give the token of that server, and install the same version on both machines",
    "other_version": "install the same version on both machines",
    NO_PRIVILEGES: "run the command as root on this machine",
}
NO_SESSION = {"refused", UNREACHABLE, *_REMEDIES} - {NO_PRIVILEGES}
"""The kinds of failures after which no measurement with the server can begin."""


class NoSession(CannotRun):
    """The error for a server with which nothing can be measured."""

    def __init__(self, doing: str, reasons: Sequence[Reason], result: str, kind: str) -> None:
        """Creates the error; `kind` says why, for programs."""
        super().__init__(doing, reasons, result)
        self.kind = kind


class Measurer(Keeper):
    """Measures between this machine and a server, in one session that is reopened after a failure."""

    def __init__(
        self,
        server: str,
        iperf3: bool,
        token_file: Path | None,
        options: Mapping[str, str] | None = None,
    ) -> None:
        """Prepares measurements against a `server`, given as an address and a port. `options` has the names
        under which users gave settings of the traffic, for error messages."""
        self._options = options or {}
        arguments = ["--iperf3"] if iperf3 else []
        arguments += ["--token-file", str(token_file)] if token_file else []
        super().__init__("measure", server, *arguments)
        self._server, self._iperf3 = server, iperf3

    def warm_up(self, traffic: MeasuredTraffic) -> None:
        """Measures once and discards the result; raises BadInput and CannotRun."""
        try:
            self.run("warm-up", traffic)
        except TrialFailed as failed:
            raise self._cannot("a warm-up", str(failed), failed.kind) from None

    def _cannot(self, what: str, why: str, kind: str) -> NoSession:
        lack = Lack(what, why, remedy(kind, self._iperf3))
        return NoSession(f"measuring against {self._server}", [lack], NOTHING_MEASURED, kind)

    def run(self, trial: str, traffic: MeasuredTraffic) -> Record:
        """Measures once, and returns the record.

        Raises BadInput for an invalid flow or token, NoSession if no session can be opened, and
        TrialFailed."""
        interval = max(INTERVAL_SECONDS, traffic.streams * traffic.seconds / MOST_SAMPLES)
        measure = Measure(
            trial=trial,
            flow=traffic.flow,
            streams=traffic.streams,
            interval=DURATION.print(math.ceil(interval * 1e9)),
            congestion_control=traffic.congestion_control,
            mtu=traffic.mtu,
        )
        try:
            event = self.event(measure, traffic.seconds + GRACE_SECONDS).root
        except EngineLost as lost:
            why = lost.said.removeprefix("error: ")
            if lost.status == BadInput.exit_code:
                raise BadInput("opening a session", why, "") from None
            raise TrialFailed(str(lost)) from None
        if isinstance(event, RecordEvent) and event.trial == trial:
            return event.record
        if isinstance(event, CheckedEvent):
            faults = dict.fromkeys(
                Fault(self._options.get(p.setting, f"{p.setting} of {p.object}"), p.value, p.expected, p.hint)
                for p in event.problems
            )
            raise BadInput.listing("checking the measurement", list(faults))
        self.close()  # the next measurement opens a new session
        if isinstance(event, FailedEvent) and event.trial == trial:
            if event.kind.root in NO_SESSION:
                raise self._cannot("a session", event.message, event.kind.root)
            raise TrialFailed(event.message, event.kind.root)
        raise TrialFailed("the engine answered something else")
