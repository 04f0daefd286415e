"""Tests with an ndt7 server. They need the extra `nettrial[ndt7]`, which is loaded with the first test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nettrial.backends.remote import NOTHING_MEASURED
from nettrial.errors import READING_OPTIONS, BadInput, CannotRun, Lack
from nettrial.measuring.measurement import Abandoned, Measurement, RepeatedMetric, RepeatFailed, metrics_of
from nettrial.measuring.options import MeasureOptions, address_of, seconds, server_at
from nettrial.protocols.figures import ProtocolOutcome
from nettrial.protocols.ndt7.wire import DURATION
from nettrial.report import numbers

if TYPE_CHECKING:
    from nettrial.protocols.ndt7.client import Client, Ndt7Transfer  # it needs the extra nettrial[ndt7]

PORT = 4443
"""The port of `nettrial serve --ndt7`. M-Lab's servers use 443, and 80 without TLS."""
LONGEST = DURATION
"""The longest duration of a transfer in seconds, which is the default, too."""
SHORTEST = 0.1
"""The shortest duration of a transfer, seconds."""
LACKS = Lack("ndt7", "the Python packages that it needs are not installed", "pip install 'nettrial[ndt7]'")
"""The missing requirement if the extra `nettrial[ndt7]` is not installed."""


def client(name: str, address: str, port: int, plain: bool = False, verify: bool = True) -> Client:
    """Returns a client of the server at an address. A certificate must be valid for the `name`, unless
    `verify` is false; `plain` uses no TLS. Raises ImportError without the extra `nettrial[ndt7]`."""
    from nettrial.protocols.ndt7.client import Client, Ndt7Server

    return Client(Ndt7Server(name, address, port, plain, verify))


def transfer(with_client: Client, direction: str, duration: float) -> Ndt7Transfer:
    """Downloads or uploads for that many seconds; raises RepeatFailed and Abandoned."""
    from nettrial.protocols.ndt7.client import Ndt7NotReached

    try:
        return with_client.run(direction, duration)
    except Ndt7NotReached as why:
        raise RepeatFailed(str(why), why.kind) from None
    except asyncio.CancelledError:
        raise Abandoned from None


@dataclass(frozen=True)
class Ndt7Test:
    """A download and an upload."""

    started_s: float
    """The time at which it began, in seconds since 1970."""
    download: Ndt7Transfer
    """The transfer from the server."""
    upload: Ndt7Transfer
    """The transfer to the server."""
    outcome: ProtocolOutcome
    """The figures of both, and warnings."""


class Ndt7Measurement(Measurement[Ndt7Test]):
    """Tests with an ndt7 server; each is a download and an upload."""

    takes = frozenset({"plain", "no_verify"})

    def __init__(self, options: MeasureOptions) -> None:
        """Checks the options, and loads the client; raises BadInput and CannotRun."""
        duration = LONGEST if options.time is None else seconds(options.time)
        if not SHORTEST <= duration <= LONGEST:
            expected = f"{SHORTEST:g} s to {LONGEST:g} s with ndt7"
            raise BadInput(READING_OPTIONS, "--time", options.time or "", expected)
        port = options.port or PORT
        server, version = server_at(options.host, port, options.ip)
        super().__init__(options, server, version, 2 * duration)
        self._duration = duration
        try:
            self._client = client(
                options.host, address_of(server), port, options.plain, not options.no_verify
            )
        except ImportError:
            raise CannotRun("measuring with ndt7", [LACKS]) from None

    @property
    def words(self) -> str:
        """Returns the measurement in words."""
        return f"ndt7 with {self._client.target.url('…').removesuffix('/ndt/v7/…')}"

    @property
    def announcement(self) -> str:
        """Returns a line about what will be measured."""
        tests = numbers.counted(self.options.replicates, "test")
        each = f"{self._duration:g} s"
        return f"{self.words}: {tests} of {each} down and {each} up, IPv{self.version}"

    def once(self, number: int) -> Ndt7Test:
        """Measures once; raises RepeatFailed and Abandoned."""
        from nettrial.protocols.ndt7.figures import outcome

        started = time.time()
        download = transfer(self._client, "download", self._duration)
        upload = transfer(self._client, "upload", self._duration)
        down, up = outcome(download), outcome(upload)
        both = ProtocolOutcome([*down.figures, *up.figures], [*down.warnings, *up.warnings])
        return Ndt7Test(started, download, upload, both)

    def kill(self) -> None:
        """Ends a running test."""
        self._client.kill()

    def cannot(self, why: str, kind: str) -> CannotRun:
        """Returns the error if no test began, with its remedy."""
        lack = Lack("a test", why, _remedy(kind, self.options.plain))
        url = self._client.target.url("download")
        return CannotRun(f"measuring against {url}", [lack], NOTHING_MEASURED)

    def metrics(self, results: Sequence[Ndt7Test]) -> list[RepeatedMetric]:
        """Returns the metrics over the repeats."""
        return metrics_of([each.outcome for each in results])

    def warnings(self, measured: Ndt7Test) -> int:
        """Returns the number of warnings of a test."""
        return len(measured.outcome.warnings)

    def store(self, directory: Path, results: Sequence[Ndt7Test]) -> None:
        """Stores tests as a run in a new directory."""
        from nettrial.measuring.sources import of_ndt7, store  # studies are slow to load

        repeats = [
            of_ndt7((each.download, each.upload), each.outcome, each.started_s, self.version)
            for each in results
        ]
        store(directory, self.words, repeats)


def _remedy(kind: str, plain: bool) -> str:
    """Returns the remedy for the kind of reason why no test began (`protocols/ndt7/client.py`)."""
    if kind in _REMEDIES:
        return _REMEDIES[kind]
    remedy = "start `nettrial serve --ndt7` there, and open its port; M-Lab's servers use `--port 443`"
    if plain:
        return f"{remedy}; leave out `--plain` if the server uses TLS"
    return f"{remedy}; `--plain` uses no TLS"


_REMEDIES = {
    "untrusted_certificate": "`--no-verify` accepts every certificate",
    "tls_expected": "leave out `--plain`",
    "tls_failed": "`--plain` uses no TLS, as that server may expect",
    "refused": "name an ndt7 server; one that is busy refuses tests for a while",
    "not_ndt7": "name an ndt7 server",
}
