"""Rates of links that follow a trace in a file.

Two formats are read, and recognised by their content:

- Mahimahi's (R. Netravali et al., "Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015): each
  line is the whole millisecond at which one packet of 1500 bytes can be delivered. Here such a packet is
  transmitted during the millisecond that ends then, together with the others of that millisecond, and
  occupies 1538 bytes on the wire. A trace begins again at its last millisecond.
- A table with a line for each change: the time, a comma, and the rate from then on, such as `1.5 s, 12
  Mbit/s`. The rate `0` stands for a link that transmits nothing. The last line of a table that begins again
  has the time of its end and the word `end`. Empty lines, and what follows `#`, are ignored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import Discriminator, Field, Tag, ValidationInfo, model_validator

from nettrial.fields import Strict, wrong
from nettrial.study import trace_file
from nettrial.study.document import RATE_TRACE
from nettrial.study.trace_file import MOST_SECONDS, Line, TraceError
from nettrial.units import RATE, Rate

PACKET_WIRE_BYTES = 1538
"""The bytes on the wire of an IP packet of 1500 bytes: Ethernet's header, frame check sequence, preamble and
gap are 38 bytes (IEEE 802.3)."""
MS = 1_000_000
"""A millisecond in nanoseconds."""
FORMATS = "a trace of Mahimahi, or a table with lines such as `1.5 s, 12 Mbit/s`"
"""The formats of a trace, in words."""


class TraceData(Strict):
    """The content of a trace, stored with the study so that a run does not depend on the file."""

    source: str
    """The file, as named by the study."""
    from_ns: tuple[int, ...]
    """The times from which the rates apply, in nanoseconds."""
    rates_bps: tuple[int, ...]
    """The rate from each of these times, in bits per second on the wire."""
    ends_ns: int | None
    """The time of the trace's end, in nanoseconds; None if the file has no end."""


class RateTrace(Strict):
    """A rate that follows a trace, which begins with the traffic. Until then, the highest rate applies."""

    trace: str
    """The file, in the directory of the study file or below: in Mahimahi's format, or a table of times and
    rates."""
    loop: bool = False
    """True to begin the trace again at its end. Otherwise, the last rate stays."""
    content: TraceData | None = Field(default=None, repr=False)
    """The content of the file, stored here when the study is read."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any, info: ValidationInfo) -> Any:
        """Reads the file if its directory is known, as it is when a study is read."""
        return trace_file.read_with_study(data, info, read)

    @model_validator(mode="after")
    def _fits(self) -> RateTrace:
        if self.content is None:
            return self
        if self.loop and self.content.ends_ns is None:
            raise trace_file.no_end()
        if not self.loop and self.content.rates_bps[-1] == 0:
            hint = "otherwise the link would transmit nothing from there on"
            raise wrong(("loop",), "false", "true: the trace ends without a rate", hint)
        return self

    @property
    def mean(self) -> str:
        """The mean rate of a trace that begins again, or the last rate of another one."""
        assert self.content is not None
        times, rates, end = self.content.from_ns, self.content.rates_bps, self.content.ends_ns
        if not self.loop or end is None:
            return RATE.print(rates[-1])
        lengths = [until - start for start, until in zip(times, (*times[1:], end), strict=True)]
        amount = sum(length * rate for length, rate in zip(lengths, rates, strict=True))
        return RATE.print(max(round(amount / end), 1))

    def of_scenario(self) -> dict[str, Any]:
        """Returns the trace as the scenario of a trial has it."""
        assert self.content is not None
        repeats = self.content.ends_ns if self.loop else None
        return {
            "from_ns": list(self.content.from_ns),
            "rates_bps": list(self.content.rates_bps),
            "repeats_after_ns": repeats,
        }


def _kind(value: Any) -> str:
    return RATE_TRACE if isinstance(value, Mapping | RateTrace) else "rate"


RateSettings: TypeAlias = Annotated[
    Annotated[Rate, Tag("rate")] | Annotated[RateTrace, Tag(RATE_TRACE)], Discriminator(_kind)
]
"""A rate, or the trace that it follows."""


def read(folder: Path, name: str) -> TraceData:
    """Returns the trace in a file, whose name is relative to the directory of the study and does not lead out
    of it; raises TraceError."""

    def parse(lines: list[Line]) -> tuple[TraceData, int]:
        trace = _table(name, lines) if "," in lines[0][1] else _mahimahi(name, lines)
        return trace, len(trace.from_ns)

    return trace_file.read(folder, name, FORMATS, parse)


def _mahimahi(name: str, lines: list[Line]) -> TraceData:
    """Returns the trace in a file of Mahimahi; raises TraceError."""
    packets: Counter[int] = Counter()
    last = 0
    for number, line in lines:
        if not (line.isascii() and line.isdigit() and len(line) <= len(str(MOST_SECONDS * 1000))):
            expected = f"a whole number of milliseconds up to a day; {FORMATS}"
            raise TraceError(f"{number}: {line[:40]!r}", expected)
        at = int(line)
        if at < last:
            raise TraceError(f"{number}: {at} after {last}", "milliseconds that do not fall")
        last = at
        # What can be delivered at 0 is transmitted in the first millisecond.
        packets[max(at, 1) - 1] += 1
    if last == 0:
        raise TraceError(f"{lines[-1][0]}: the last is 0", "a trace of a millisecond or more")
    if last > MOST_SECONDS * 1000:
        raise TraceError(f"{lines[-1][0]}: {last}", "up to a day of milliseconds")
    times: list[int] = []
    rates: list[int] = []

    def add(ms: int, rate: int) -> None:
        if not rates or rates[-1] != rate:
            times.append(ms * MS)
            rates.append(rate)

    covered = 0
    for ms, count in packets.items():
        if ms > covered:
            add(covered, 0)
        add(ms, count * PACKET_WIRE_BYTES * 8 * 1000)
        covered = ms + 1
    return TraceData(source=name, from_ns=tuple(times), rates_bps=tuple(rates), ends_ns=last * MS)


def _table(name: str, lines: list[Line]) -> TraceData:
    """Returns the trace in a table of times and rates; raises TraceError."""
    times, rates, end = trace_file.table(lines, RATE.parse, "a rate", FORMATS)
    if not any(rates):
        raise TraceError(f"{lines[-1][0]}: no rate above 0", "a rate above 0")
    return TraceData(source=name, from_ns=tuple(times), rates_bps=tuple(rates), ends_ns=end)
