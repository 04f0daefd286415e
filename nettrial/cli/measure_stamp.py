"""The output of `nettrial measure` for sessions with a reflector of STAMP or TWAMP Light."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence

from nettrial.cli import peers
from nettrial.cli.documents import base as documents
from nettrial.cli.documents import measure as measure_documents
from nettrial.measuring.stamp import StampMeasurement, StampSession
from nettrial.protocols.figures import ProtocolOutcome
from nettrial.protocols.stamp.clock import ErrorEstimate
from nettrial.protocols.stamp.sender import StampResult
from nettrial.report import numbers


def show(measured: StampMeasurement, sessions: Sequence[StampSession], as_json: bool) -> None:
    """Prints the sessions as a document, or else as tables."""
    outcomes = [each.outcome for each in sessions]
    if as_json:
        documents.show(_document(measured.server, sessions, outcomes))
        return
    settings, count = measured.session, numbers.counted(len(sessions), "session")
    peers.show(f"{measured.words}, {count} of {settings.packets} packets of {settings.size} B", outcomes)


def _document(
    server: str, sessions: Sequence[StampSession], outcomes: Sequence[ProtocolOutcome]
) -> measure_documents.StampDocument:
    return measure_documents.StampDocument(
        command=shlex.join(["nettrial", *sys.argv[1:]]),
        server=server,
        metrics=peers.metrics(outcomes),
        absent=peers.absent(outcomes),
        warnings=peers.warnings(outcomes),
        repeats=[_repeat(each.result) for each in sessions],
    )


def _repeat(result: StampResult) -> measure_documents.StampRepeat:
    return measure_documents.StampRepeat(
        sent=result.sent,
        foreign=result.foreign,
        kernel_departures=result.departures,
        kernel_arrivals=result.arrivals,
        own_estimate=_estimate(result.own),
        reflector_estimate=_estimate(result.answers[-1].estimate),
        answers=[
            measure_documents.StampAnswer(
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


def _estimate(estimate: ErrorEstimate) -> measure_documents.StampEstimate:
    return measure_documents.StampEstimate(synchronised=estimate.synchronised, seconds=estimate.seconds)
