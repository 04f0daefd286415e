"""`nettrial measure --stamp`: delays and loss with a reflector of STAMP or TWAMP Light."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nettrial.backends.remote import NOTHING_MEASURED
from nettrial.cli import READING, documents, peers
from nettrial.cli.console import say
from nettrial.cli.measure import KEEPING, TIME, bytes_of, seconds_of, server_at
from nettrial.errors import BadInput, CannotRun, Lack
from nettrial.protocols.figures import Outcome
from nettrial.protocols.stamp.clock import ErrorEstimate
from nettrial.protocols.stamp.figures import outcome
from nettrial.protocols.stamp.key import key_of
from nettrial.protocols.stamp.packet import base_size, is_size, sizes
from nettrial.protocols.stamp.reflector import MOST_RATE, PORT
from nettrial.protocols.stamp.sender import NotReached, Result, Sender, Session
from nettrial.report import numbers
from nettrial.store.directory import refuse_existing

if TYPE_CHECKING:
    from nettrial.imports.figures import Source

INTERVAL = "20 ms"
"""The default of `--interval`."""
MOST_PACKETS = 100_000
"""The largest number of packets of a session."""


@dataclass(frozen=True)
class StampOptions:
    """The options of the command, as they were given."""

    host: str
    """The name or address of the reflector."""
    port: int | None
    """The port of the reflector; None for the default."""
    ip: int | None
    """The IP version, 4 or 6; None for that of the name."""
    replicates: int
    """The number of sessions."""
    time: str | None
    """The duration of each session; None for the default."""
    size: str | None
    """The size of the packets; None for the smallest."""
    interval: str | None
    """The time between packets; None for the default."""
    dscp: int
    """The DSCP of the packets."""
    key_file: Path | None
    """The file with the key of authenticated mode; None without one."""
    as_json: bool
    """True if a JSON document is printed."""
    quiet: bool
    """True without progress on standard error."""
    out: Path | None = None
    """The directory of the run as which the sessions are stored."""


@dataclass(frozen=True)
class Made:
    """A finished session."""

    started_s: float
    """The time at which it began, in seconds since 1970."""
    result: Result
    """The packets and answers."""
    outcome: Outcome
    """The figures, and warnings."""


def measure(options: StampOptions) -> int:
    """Runs sessions, prints the results, and returns the exit status; raises BadInput, CannotRun and
    TrialsFailed."""
    if options.out:
        refuse_existing(options.out, KEEPING, hint="choose another directory for each measurement")
    session, server, version = _session(options)
    seconds = session.packets * session.interval
    words = f"STAMP with {options.host} port {session.port}" + (" (authenticated)" if session.key else "")
    if not options.quiet:
        sessions = numbers.counted(options.replicates, "session")
        say(f"{words}: {sessions} of {session.packets} packets of {session.size} B, IPv{version}")
    sender = Sender(session)

    def once() -> Made:
        started, result = time.time(), sender.run()
        if not result.answers:  # ended by the user
            raise NotReached("the session was ended")
        return Made(started, result, outcome(result))

    def parts(made: Made) -> list[Source]:
        from nettrial.cli.peer_runs import of_stamp  # imported only when needed: studies are slow to load

        return of_stamp(made.result, made.outcome, made.started_s, seconds, version)

    try:
        found = peers.repeat(
            options.replicates,
            seconds,
            options.quiet,
            once,
            (NotReached, OSError),
            sender.kill,
        )
    except (NotReached, OSError) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        remedy = "start `nettrial serve --stamp` or another reflector there, and open its UDP port"
        if "the key" in why:
            remedy = "give the key of that reflector by --token-file"
        elif session.key is None:
            remedy += "; if it answers only with a key, give that by --token-file"
        lack = Lack("a session", why, remedy)
        raise CannotRun(f"measuring with a reflector at {server}", [lack], NOTHING_MEASURED) from None
    count = numbers.counted(len(found.made), "session")
    heading = f"{words}, {count} of {session.packets} packets of {session.size} B"
    document = partial(_document, server) if options.as_json else None
    return peers.finish(found, words, heading, document, options.out, parts)


def _session(options: StampOptions) -> tuple[Session, str, int]:
    """Returns the settings of each session, the reflector's address with its port, and the IP version; raises
    BadInput."""
    key = key_of(options.key_file, READING, "--token-file")
    size = base_size(key) if options.size is None else bytes_of(options.size)
    if not is_size(size, key):
        raise BadInput(READING, "--size", options.size or "", sizes(key), "the UDP payload")
    interval = seconds_of(options.interval or INTERVAL, "--interval")
    if interval * MOST_RATE < 1:
        raise BadInput(READING, "--interval", options.interval or "", f"{1000 / MOST_RATE:g} ms or more")
    packets = int(seconds_of(options.time or TIME) / interval)
    if not 1 <= packets <= MOST_PACKETS:
        expected = f"1 to {MOST_PACKETS} packets, one for each --interval"
        raise BadInput(READING, "--time", options.time or TIME, expected)
    port = options.port or PORT
    server, version = server_at(options.host, port, options.ip)
    address = server.rpartition(":")[0].strip("[]")
    return Session(address, port, packets, interval, size, options.dscp, key), server, version


def _document(server: str, sessions: Sequence[Made], outcomes: Sequence[Outcome]) -> documents.StampDocument:
    return documents.StampDocument(
        command=shlex.join(["nettrial", *sys.argv[1:]]),
        server=server,
        metrics=peers.metrics(outcomes),
        absent=peers.absent(outcomes),
        warnings=peers.warnings(outcomes),
        repeats=[_repeat(made.result) for made in sessions],
    )


def _repeat(result: Result) -> documents.StampRepeat:
    return documents.StampRepeat(
        sent=result.sent,
        foreign=result.foreign,
        kernel_departures=result.departures,
        kernel_arrivals=result.arrivals,
        own_estimate=_estimate(result.own),
        reflector_estimate=_estimate(result.answers[-1].estimate),
        answers=[
            documents.StampAnswer(
                number=each.number,
                reflector_number=each.reflector_number,
                sent_ns=each.sent_ns,
                received_ns=each.received_ns,
                reflected_ns=each.reflected_ns,
                arrived_ns=each.arrived_ns,
                ttl=each.ttl,
            )
            for each in result.answers
        ],
    )


def _estimate(estimate: ErrorEstimate) -> documents.StampEstimate:
    return documents.StampEstimate(synchronised=estimate.synchronised, seconds=estimate.seconds)
