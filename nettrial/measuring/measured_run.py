"""Storing a measurement between two machines as a run, which `nettrial report` and `compare` can read."""

from __future__ import annotations

import json
import platform
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nettrial.analysis import repeated
from nettrial.backends import Backend
from nettrial.capabilities import IMPORTED, REMOTE
from nettrial.design import plan
from nettrial.scenario import Environment, Flow, Record
from nettrial.store import NO_SCENARIO, Run
from nettrial.study import Study

FACTOR = "ip"
"""The study's only factor, whose only level is the IP version of the measurement."""
PLACES = {"client": "sender", "server": "receiver"}
"""The hosts of a pair, by their names in records of measurements."""


@dataclass(frozen=True)
class MeasuredPart:
    """A part of a measurement whose metrics are separate."""

    flow: Flow
    """The traffic of a stream."""
    streams: Sequence[str]
    """The names of its streams in the records."""


def keep(
    directory: Path,
    words: str,
    parts: Sequence[MeasuredPart],
    seed: int,
    records: Sequence[Record],
    environment: Environment | None = None,
) -> None:
    """Stores one or more records of these parts as a run in `directory`.

    The directory must not exist; `words` describes the measurement, and `environment` the machine that made
    it, by default this one. Raises BadInput if the directory can't be made, and CannotRun without an
    engine."""
    document = _document(words, parts, records)
    study = Study.model_validate(document)
    trials = plan(study, len(records), seed)
    if environment is None:
        environment = _this_machine()
    command = shlex.join(["nettrial", *sys.argv[1:]])
    text = json.dumps(document, indent=2)
    # Killed in the middle, it leaves no run with a part of the records, which nothing could complete.
    with (
        Run.appearing(directory, text, None, study, trials, seed, command) as run,
        run.session(environment) as recorder,
    ):
        for trial, record in zip(trials, records, strict=True):
            recorder.finished(trial, NO_SCENARIO, record)


def _this_machine() -> Environment:
    """Returns the properties of this machine that are known without privileges; others are empty. Raises
    CannotRun without an engine."""
    with Backend("sim") as backend:  # it needs no privileges
        found = backend.preflight().environment
    system = platform.uname()
    kernel = " ".join([system.system, system.release, system.version])
    return Environment(
        congestion_controls=[],
        engine_version=found.engine_version,
        kernel=kernel,
        privileges="",
        processor=found.processor,
        processors=found.processors,
        sysctls={},
    )


def _document(words: str, parts: Sequence[MeasuredPart], records: Sequence[Record]) -> dict[str, Any]:
    """Returns a study that describes the measurement: one treatment, between two hosts. Nobody described the
    network and the hosts, so they are absent."""
    version = str(parts[0].flow.ip.root)
    responses = [response for part in parts for response in _responses(part, records, len(parts) > 1)]
    return {
        "study": "measure",
        "title": words,
        "question": "How much does the network between two machines carry, and how quickly does it respond?",
        "backend": IMPORTED if records[0].backend == IMPORTED else REMOTE,
        "replicates": len(records),
        "full_replicates": len(records),
        "warmup": 0,
        "workload": [_traffic(part) for part in parts],
        "factors": {FACTOR: {"title": "IP", "sets": {version: {}}, "levels": [version]}},
        "responses": responses,
        "layout": {"rows": FACTOR, "columns": []},
    }


def _traffic(part: MeasuredPart) -> dict[str, Any]:
    """Returns the part as an entry of a study's workload."""
    flow = part.flow
    kept = flow.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {
        "flow": flow.name,
        "from": PLACES[flow.from_],
        "to": PLACES[flow.to],
        "count": len(part.streams),
        **{name: value for name, value in kept.items() if name in ("transport", "traffic", "socket")},
    }


def _responses(part: MeasuredPart, records: Sequence[Record], several: bool) -> list[dict[str, str]]:
    """Returns a response for each metric of the part; with several parts, under the part's name."""
    of = part.flow.name
    name, title = (f"{of}_", f"{of.replace('_', ' ').capitalize()}: ") if several else ("", "")
    return [
        {
            "name": f"{name}{each.metric.name}",
            "title": f"{title}{each.metric.title}",
            "metric": each.metric.name,
            "of": of,
            "unit": each.metric.unit,
        }
        for each in repeated(records, part.streams)
    ]
