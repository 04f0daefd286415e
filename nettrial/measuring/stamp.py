"""Sessions with a reflector of STAMP or TWAMP Light: delays and loss."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nettrial.backends.remote import NOTHING_MEASURED
from nettrial.errors import READING_OPTIONS, BadInput, CannotRun, Lack
from nettrial.measuring.measurement import Abandoned, Measurement, RepeatedMetric, RepeatFailed, metrics_of
from nettrial.measuring.options import TIME, MeasureOptions, address_of, read, seconds, server_at
from nettrial.protocols.figures import ProtocolOutcome
from nettrial.protocols.stamp.figures import outcome
from nettrial.protocols.stamp.key import key_of
from nettrial.protocols.stamp.packet import base_size, is_size, sizes
from nettrial.protocols.stamp.reflector import MOST_RATE
from nettrial.protocols.stamp.reflector import PORT as PORT
from nettrial.protocols.stamp.sender import ReflectorSession, Sender, StampNotReached, StampResult
from nettrial.report import numbers
from nettrial.units import SIZE

INTERVAL_SECONDS = 0.02
"""The time between two packets, in seconds, unless another is given."""
WAIT_SECONDS = 1.0
"""The longest time for which answers are awaited after the last packet."""
MOST_PACKETS = 100_000
"""The largest number of packets of a session."""


def session(
    address: str,
    port: int | None,
    duration: float,
    *,
    interval: float = INTERVAL_SECONDS,
    size: int | None = None,
    dscp: int = 0,
    key: bytes | None = None,
) -> ReflectorSession:
    """Returns the settings of a session of that many seconds, with packets of the smallest size unless a
    `size` is given."""
    packets = max(1, int(duration / interval))
    size = base_size(key) if size is None else size
    return ReflectorSession(address, port or PORT, packets, interval, size, dscp, key)


def exchange(sender: Sender) -> StampResult:
    """Runs a session; raises RepeatFailed."""
    try:
        return sender.run()
    except StampNotReached as why:
        raise RepeatFailed(str(why), why.kind) from None
    except OSError as error:
        raise RepeatFailed(error.strerror or str(error), "unreachable") from None


@dataclass(frozen=True)
class StampSession:
    """A finished session."""

    started_s: float
    """The time at which it began, in seconds since 1970."""
    result: StampResult
    """The packets and answers."""
    outcome: ProtocolOutcome
    """The figures, and warnings."""


class StampMeasurement(Measurement[StampSession]):
    """Sessions with a reflector of STAMP or TWAMP Light."""

    takes = frozenset({"size", "interval", "dscp", "token_file"})

    def __init__(self, options: MeasureOptions) -> None:
        """Checks the options; raises BadInput."""
        self.session, server, version = _session(options)
        super().__init__(options, server, version, self.session.packets * self.session.interval)
        self._sender = Sender(self.session)

    @property
    def words(self) -> str:
        """Returns the measurement in words."""
        mode = " (authenticated)" if self.session.key else ""
        return f"STAMP with {self.options.host} port {self.session.port}{mode}"

    @property
    def announcement(self) -> str:
        """Returns a line about what will be measured."""
        sessions = numbers.counted(self.options.replicates, "session")
        packets, size = self.session.packets, self.session.size
        return f"{self.words}: {sessions} of {packets} packets of {size} B, IPv{self.version}"

    def once(self, number: int) -> StampSession:
        """Measures once; raises RepeatFailed and Abandoned."""
        started, result = time.time(), exchange(self._sender)
        if not result.answers:  # ended by the user
            raise Abandoned
        return StampSession(started, result, outcome(result))

    def kill(self) -> None:
        """Ends a running session."""
        self._sender.kill()

    def cannot(self, why: str, kind: str) -> CannotRun:
        """Returns the error if the reflector does not answer, with its remedy."""
        remedy = "start `nettrial serve --stamp` or another reflector there, and open its UDP port"
        if kind == "other_token":
            remedy = "give the key of that reflector by --token-file"
        elif self.session.key is None:
            remedy += "; if it answers only with a key, give that by --token-file"
        lack = Lack("a session", why, remedy)
        return CannotRun(f"measuring with a reflector at {self.server}", [lack], NOTHING_MEASURED)

    def metrics(self, results: Sequence[StampSession]) -> list[RepeatedMetric]:
        """Returns the metrics over the repeats."""
        return metrics_of([each.outcome for each in results])

    def warnings(self, measured: StampSession) -> int:
        """Returns the number of warnings of a session."""
        return len(measured.outcome.warnings)

    def store(self, directory: Path, results: Sequence[StampSession]) -> None:
        """Stores sessions as a run in a new directory."""
        from nettrial.measuring.sources import of_stamp, store  # studies are slow to load

        repeats = [
            of_stamp(each.result, each.outcome, each.started_s, self.seconds, self.version)
            for each in results
        ]
        store(directory, self.words, repeats)


def _session(options: MeasureOptions) -> tuple[ReflectorSession, str, int]:
    """Returns the settings of each session, the reflector's address with its port, and the IP version; raises
    BadInput."""
    key = key_of(options.token_file, READING_OPTIONS, "--token-file")
    size = None if options.size is None else read(SIZE, "--size", options.size)
    if size is not None and not is_size(size, key):
        raise BadInput(READING_OPTIONS, "--size", options.size or "", sizes(key), "the UDP payload")
    interval = INTERVAL_SECONDS if options.interval is None else seconds(options.interval, "--interval")
    if interval * MOST_RATE < 1:
        expected = f"{1000 / MOST_RATE:g} ms or more"
        raise BadInput(READING_OPTIONS, "--interval", options.interval or "", expected)
    duration = seconds(options.time or TIME)
    if not 1 <= int(duration / interval) <= MOST_PACKETS:
        expected = f"1 to {MOST_PACKETS} packets, one for each --interval"
        raise BadInput(READING_OPTIONS, "--time", options.time or TIME, expected)
    server, version = server_at(options.host, options.port or PORT, options.ip)
    address, dscp = address_of(server), options.dscp or 0
    made = session(address, options.port, duration, interval=interval, size=size, dscp=dscp, key=key)
    return made, server, version
