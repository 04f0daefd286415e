"""The document of `nettrial measure`."""

from __future__ import annotations

from typing import Any, Literal

from nettrial.cli.documents.base import Bounds, JsonDocument, Part


class Measured(Part):
    """A metric over the repeats of a measurement."""

    metric: str
    """The metric's name."""
    unit: str
    """Its unit."""
    repeats: int
    """The number of repeats that gave a value."""
    mean: float | None
    """The arithmetic mean."""
    median: float | None
    """The median."""
    deviation: float | None
    """The standard deviation."""
    interval: Bounds | None
    """The 95% confidence interval of the mean; null for a single repeat."""


class Stream(Part):
    """One of the streams of a measurement."""

    flow: str
    """The name of its flow in the records."""
    metrics: list[Measured]
    """The metrics of this stream over all repeats."""


class MeasureDocument(JsonDocument):
    """A measurement between this machine and another."""

    document: Literal["measure"] = "measure"
    """The kind of document."""
    command: str
    """The command, as it was given."""
    seed: int
    """The seed of the random numbers."""
    metrics: list[Measured]
    """The metrics of all streams together over all repeats; the goodput, for example, is their bytes over the
    union of their times."""
    streams: list[Stream]
    """The streams; a single one without `--parallel`."""
    records: list[dict[str, Any]]
    """The record of each repeat, as described in the [reference of records](documents.md#record)."""


class DirectedMeasured(Measured):
    """A metric in one direction over the repeats of a measurement with another program."""

    direction: str
    """The direction: `download` or `upload`; of STAMP `round trip`, `forward` or `backward`."""


class AbsentMetric(Part):
    """A metric that some repeats did not give."""

    direction: str
    """The direction."""
    metric: str
    """The metric's name."""
    reason: str
    """The reason."""
    repeats: int
    """The number of repeats for which it holds."""


class Observed(Part):
    """A warning of a measurement with another program."""

    message: str
    """The observation and its consequence, in words."""
    repeats: int
    """The number of repeats that have the warning."""


class PeerDocument(JsonDocument):
    """A measurement with another program."""

    command: str
    """The command, as it was given."""
    server: str
    """The server's address with its port."""
    metrics: list[DirectedMeasured]
    """The metrics over all repeats."""
    absent: list[AbsentMetric]
    """The metrics that could not be measured, with the reasons."""
    warnings: list[Observed]
    """The warnings."""


class Ndt7Transfer(Part):
    """A download or an upload of an ndt7 test."""

    num_bytes: int
    """The number of bytes of messages that this machine received (download), or handed to its kernel
    (upload)."""
    elapsed_us: int
    """The time from the end of the WebSocket handshake to the last of these bytes, in microseconds."""
    ended: str | None
    """The reason why the connection ended abruptly; null for an orderly end."""
    tls: str | None
    """The version of TLS and the cipher; null without TLS."""
    congestion_control: str | None
    """The congestion control of this machine's end; null where the system does not tell."""
    busy_percent: float
    """The CPU time of nettrial, in percent of the duration."""
    kernel: dict[str, Any] | None
    """The last figures of this machine's kernel, with the names of `TCPInfo` in ndt7's specification; null
    where the system has none."""
    messages: list[dict[str, Any]]
    """The server's measurement messages, with the names of ndt7's specification."""


class Ndt7Repeat(Part):
    """An ndt7 test."""

    download: Ndt7Transfer
    """Its download."""
    upload: Ndt7Transfer
    """Its upload."""


class Ndt7Document(PeerDocument):
    """A measurement with an ndt7 server."""

    document: Literal["measure-ndt7"] = "measure-ndt7"
    """The kind of document."""
    repeats: list[Ndt7Repeat]
    """The tests."""


class StampEstimate(Part):
    """An estimate of the error of timestamps (RFC 4656, 4.1.2)."""

    synchronised: bool
    """True if the clock is synchronised to UTC, as far as its system knows."""
    seconds: float
    """The estimated error."""


class StampAnswer(Part):
    """An answer to a test packet. Times are in nanoseconds since 1970, each by the clock of the machine that
    took it."""

    number: int
    """The packet's number, from 0."""
    reflector_number: int
    """The reflector's own number."""
    sent_ns: int
    """The time at which this machine sent the packet (T1)."""
    received_ns: int
    """The time at which it arrived at the reflector (T2)."""
    reflected_ns: int
    """The time at which the reflector sent the answer (T3)."""
    arrived_ns: int
    """The time at which the answer arrived (T4)."""
    ttl: int
    """The TTL or hop limit with which the packet arrived at the reflector, of 255; 0 where it does not
    tell."""


class StampRepeat(Part):
    """A session of test packets."""

    sent: int
    """The number of packets sent."""
    foreign: int
    """The number of packets that arrived and are no answers."""
    kernel_departures: bool
    """True if `sent_ns` is the time by the kernel; else that by nettrial, before it sent the packet."""
    kernel_arrivals: bool
    """True if `arrived_ns` is the time by the kernel; else that at which nettrial was told."""
    own_estimate: StampEstimate
    """This machine's estimate of its error."""
    reflector_estimate: StampEstimate
    """The reflector's estimate of its error, in the last answer."""
    answers: list[StampAnswer]
    """The answers in order of arrival, with duplicates."""


class StampDocument(PeerDocument):
    """A measurement with a STAMP or TWAMP Light reflector."""

    document: Literal["measure-stamp"] = "measure-stamp"
    """The kind of document."""
    repeats: list[StampRepeat]
    """The sessions."""
