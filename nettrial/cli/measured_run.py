"""Storing a measurement between two machines as a run, which `nettrial report` and `compare` can read."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nettrial.analysis import repeated
from nettrial.backends import Backend
from nettrial.design import plan, scenario_of
from nettrial.scenario import Environment, Flow, Record
from nettrial.store import Run
from nettrial.study import Study

FACTOR = "ip"
"""The study's only factor, whose only level is the IP version of the measurement."""
PLACES = {"client": "sender", "server": "receiver"}
"""The hosts of a pair, by their names in records of measurements."""


@dataclass(frozen=True)
class Part:
    """A part of a measurement whose metrics are separate."""

    flow: Flow
    """The traffic of a stream."""
    streams: Sequence[str]
    """The names of its streams in the records."""


def keep(
    directory: Path,
    words: str,
    parts: Sequence[Part],
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
        with Backend("sim") as backend:  # it needs no privileges to describe this machine
            environment = backend.preflight().environment
    command = shlex.join(["nettrial", *sys.argv[1:]])
    run = Run.create(directory, json.dumps(document, indent=2), None, study, trials, seed, command)
    with run.session(environment) as recorder:
        for trial, record in zip(trials, records, strict=True):
            recorder.finished(trial, scenario_of(study, trial.treatment, trial.block), record)
    run.close()


def _document(words: str, parts: Sequence[Part], records: Sequence[Record]) -> dict[str, Any]:
    """Returns a study that describes the measurement: one treatment, between two hosts with unknown
    settings."""
    version = str(parts[0].flow.ip.root)
    responses = [response for part in parts for response in _responses(part, records, len(parts) > 1)]
    return {
        "study": "measure",
        "title": words,
        "question": "How much does the network between two machines carry, and how quickly does it respond?",
        "backend": "hosts",
        "replicates": len(records),
        "full_replicates": len(records),
        "warmup": 0,
        "network": {
            "topology": "pair",
            "ip": int(version),
            "delay": "0 ms",
            "mtu": "1500 B",
            "offloads": {"tso": True, "gso": True, "gro": True},
        },
        "hosts": {host: {"stack": "linux-cubic"} for host in PLACES.values()},
        "workload": [_traffic(part) for part in parts],
        "measurement": {"interval": "1 s", "queue_drops": "allowed"},
        "factors": {FACTOR: {"title": "IP", "sets": "network.ip", "levels": [version]}},
        "responses": responses,
        "layout": {"rows": FACTOR, "columns": []},
    }


def _traffic(part: Part) -> dict[str, Any]:
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


def _responses(part: Part, records: Sequence[Record], several: bool) -> list[dict[str, str]]:
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
