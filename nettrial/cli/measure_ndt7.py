"""The output of `nettrial measure` for tests with an ndt7 server."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nettrial.cli import peers
from nettrial.cli.documents import base as documents
from nettrial.cli.documents import measure as measure_documents
from nettrial.measuring.ndt7 import Ndt7Measurement, Ndt7Test
from nettrial.protocols.figures import ProtocolOutcome
from nettrial.report import numbers

if TYPE_CHECKING:
    from nettrial.protocols.ndt7.client import Ndt7Transfer  # it needs the extra nettrial[ndt7]


def show(measured: Ndt7Measurement, tests: Sequence[Ndt7Test], as_json: bool) -> None:
    """Prints the tests as a document, or else as tables."""
    outcomes = [test.outcome for test in tests]
    if as_json:
        documents.show(_document(measured.server, tests, outcomes))
    else:
        peers.show(f"{measured.words}, {numbers.counted(len(tests), 'test')}", outcomes)


def _document(
    server: str, tests: Sequence[Ndt7Test], outcomes: Sequence[ProtocolOutcome]
) -> measure_documents.Ndt7Document:
    return measure_documents.Ndt7Document(
        command=shlex.join(["nettrial", *sys.argv[1:]]),
        server=server,
        metrics=peers.metrics(outcomes),
        absent=peers.absent(outcomes),
        warnings=peers.warnings(outcomes),
        repeats=[
            measure_documents.Ndt7Repeat(download=_transfer(test.download), upload=_transfer(test.upload))
            for test in tests
        ],
    )


def _transfer(transfer: Ndt7Transfer) -> measure_documents.Ndt7Transfer:
    return measure_documents.Ndt7Transfer(
        num_bytes=transfer.num_bytes,
        elapsed_us=transfer.elapsed_us,
        ended=transfer.ended,
        tls=transfer.tls,
        congestion_control=transfer.congestion_control,
        busy_percent=round(transfer.busy_percent, 1),
        kernel=transfer.own and transfer.own.model_dump(by_alias=True, exclude_none=True),
        messages=[each.model_dump(by_alias=True, exclude_none=True) for each in transfer.server],
    )
