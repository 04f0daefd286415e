"""Storing a measurement between two machines as a run, which `nettrial report` and `compare` can read."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Sequence
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


def keep(
    directory: Path,
    words: str,
    flow: Flow,
    streams: Sequence[str],
    seed: int,
    records: Sequence[Record],
    environment: Environment | None = None,
) -> None:
    """Stores one or more records of `flow` with these streams as a run in `directory`.

    The directory must not exist; `words` describes the measurement, and `environment` the machine that made
    it, by default this one. Raises BadInput if the directory can't be made, and CannotRun without an
    engine."""
    document = _document(words, flow, streams, records)
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


def _document(words: str, flow: Flow, streams: Sequence[str], records: Sequence[Record]) -> dict[str, Any]:
    """Returns a study that describes the measurement: one treatment, between two hosts with unknown
    settings."""
    version = str(flow.ip.root)
    kept = flow.model_dump(mode="json", by_alias=True, exclude_none=True)
    traffic = {name: kept[name] for name in ("transport", "traffic", "socket") if name in kept}
    metrics = [found.metric for found in repeated(records, streams)]
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
        "workload": [
            {
                "flow": flow.name,
                "from": PLACES[flow.from_],
                "to": PLACES[flow.to],
                "count": len(streams),
                **traffic,
            },
        ],
        "measurement": {"interval": "1 s", "queue_drops": "allowed"},
        "factors": {FACTOR: {"title": "IP", "sets": "network.ip", "levels": [version]}},
        "responses": [
            {"name": one.name, "title": one.title, "metric": one.name, "of": flow.name, "unit": one.unit}
            for one in metrics
        ],
        "layout": {"rows": FACTOR, "columns": []},
    }
