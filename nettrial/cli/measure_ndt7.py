"""`nettrial measure --ndt7`: tests with an ndt7 server."""

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
from nettrial.cli.measure import KEEPING, seconds_of, server_at
from nettrial.errors import BadInput, CannotRun, Lack
from nettrial.protocols.figures import Outcome
from nettrial.protocols.ndt7.wire import DURATION
from nettrial.report import numbers
from nettrial.store.directory import refuse_existing

if TYPE_CHECKING:
    from nettrial.imports.figures import Source
    from nettrial.protocols.ndt7.client import Transfer  # it needs the extra nettrial[ndt7]

PORT = 4443
"""The port of `nettrial serve --ndt7`. M-Lab's servers use 443, and 80 without TLS."""
LACKS = Lack("ndt7", "the Python packages that it needs are not installed", "pip install 'nettrial[ndt7]'")
"""The missing requirement if the extra `nettrial[ndt7]` is not installed."""
SHORTEST = 0.1
"""The shortest duration of a transfer, seconds."""


@dataclass(frozen=True)
class Ndt7Options:
    """The options of the command, as they were given."""

    host: str
    """The name or address of the server."""
    port: int | None
    """The port of the server; None for the default."""
    ip: int | None
    """The IP version, 4 or 6; None for that of the name."""
    replicates: int
    """The number of tests in each direction."""
    time: str | None
    """The duration of each transfer; None for the default."""
    plain: bool
    """True without TLS."""
    verify: bool
    """True if the server's certificate must be valid."""
    as_json: bool
    """True if a JSON document is printed."""
    quiet: bool
    """True without progress on standard error."""
    out: Path | None = None
    """The directory of the run as which the tests are stored."""


@dataclass(frozen=True)
class Test:
    """A download and an upload."""

    started_s: float
    """The time at which it began, in seconds since 1970."""
    download: Transfer
    """The transfer from the server."""
    upload: Transfer
    """The transfer to the server."""
    outcome: Outcome
    """The figures of both, and warnings."""


def measure(options: Ndt7Options) -> int:
    """Runs tests, prints the results, and returns the exit status; raises BadInput, CannotRun and
    TrialsFailed."""
    seconds = DURATION if options.time is None else seconds_of(options.time)
    if not SHORTEST <= seconds <= DURATION:
        raise BadInput(READING, "--time", options.time or "", f"{SHORTEST:g} s to {DURATION:g} s with --ndt7")
    if options.out:
        refuse_existing(options.out, KEEPING, hint="choose another directory for each measurement")
    port = options.port or PORT
    server, version = server_at(options.host, port, options.ip)
    try:
        from nettrial.protocols.ndt7.client import Client, NotReached, Target
        from nettrial.protocols.ndt7.figures import outcome
    except ImportError:
        raise CannotRun("measuring with ndt7", [LACKS]) from None
    target = Target(options.host, server.rpartition(":")[0].strip("[]"), port, options.plain, options.verify)
    words = f"ndt7 with {target.url('…').removesuffix('/ndt/v7/…')}"
    if not options.quiet:
        tests = numbers.counted(options.replicates, "test")
        say(f"{words}: {tests} of {seconds:g} s down and {seconds:g} s up, IPv{version}")
    client = Client(target)

    def once() -> Test:
        started = time.time()
        download, upload = client.run("download", seconds), client.run("upload", seconds)
        down, up = outcome(download), outcome(upload)
        both = Outcome([*down.figures, *up.figures], [*down.warnings, *up.warnings])
        return Test(started, download, upload, both)

    def parts(test: Test) -> list[Source]:
        from nettrial.cli.peer_runs import of_ndt7  # imported only when needed: studies are slow to load

        return of_ndt7((test.download, test.upload), test.outcome, test.started_s, version)

    try:
        found = peers.repeat(
            options.replicates,
            2 * seconds,
            options.quiet,
            once,
            NotReached,
            client.kill,
        )
    except NotReached as why:
        lack = Lack("a test", str(why), _remedy(str(why), options))
        raise CannotRun(f"measuring against {target.url('download')}", [lack], NOTHING_MEASURED) from None
    heading = f"{words}, {numbers.counted(len(found.made), 'test')}"
    document = partial(_document, server) if options.as_json else None
    return peers.finish(found, words, heading, document, options.out, parts)


def _remedy(why: str, options: Ndt7Options) -> str:
    """Returns the remedy for a reason why no test began, in the words of `protocols/ndt7/client.py`."""
    for words, remedy in _REMEDIES:
        if words in why:
            return remedy
    remedy = "start `nettrial serve --ndt7` there, and open its port; M-Lab's servers use `--port 443`"
    if options.plain:
        return f"{remedy}; leave out `--plain` if the server uses TLS"
    return f"{remedy}; `--plain` uses no TLS"


_REMEDIES = (
    ("certificate is not trusted", "`--no-verify` accepts every certificate"),
    ("expect TLS", "leave out `--plain`"),
    ("TLS failed", "`--plain` uses no TLS, as that server may expect"),
    ("HTTP status", "name an ndt7 server; one that is busy refuses tests for a while"),
    ("does not speak ndt7", "name an ndt7 server"),
)


def _document(server: str, tests: Sequence[Test], outcomes: Sequence[Outcome]) -> documents.Ndt7Document:
    return documents.Ndt7Document(
        command=shlex.join(["nettrial", *sys.argv[1:]]),
        server=server,
        metrics=peers.metrics(outcomes),
        absent=peers.absent(outcomes),
        warnings=peers.warnings(outcomes),
        repeats=[
            documents.Ndt7Repeat(download=_transfer(test.download), upload=_transfer(test.upload))
            for test in tests
        ],
    )


def _transfer(transfer: Transfer) -> documents.Ndt7Transfer:
    return documents.Ndt7Transfer(
        num_bytes=transfer.num_bytes,
        elapsed_us=transfer.elapsed_us,
        ended=transfer.ended,
        tls=transfer.tls,
        congestion_control=transfer.congestion_control,
        busy_percent=round(transfer.busy_percent, 1),
        kernel=transfer.own and transfer.own.model_dump(by_alias=True, exclude_none=True),
        messages=[each.model_dump(by_alias=True, exclude_none=True) for each in transfer.server],
    )
