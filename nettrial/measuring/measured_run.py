"""Storing a measurement between two machines as a run, which `nettrial report` and `compare` can read."""

from __future__ import annotations

import json
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nettrial.analysis import repeated
from nettrial.backends import Backend
from nettrial.backends.remote import FLOW
from nettrial.capabilities import IMPORTED, REMOTE
from nettrial.design import PlannedTrial, plan
from nettrial.fields import as_value
from nettrial.measuring.levels import Varied
from nettrial.measuring.measurement import RepeatedMetric
from nettrial.report import numbers
from nettrial.scenario import Environment, Flow, Record
from nettrial.store import NO_SCENARIO, Run
from nettrial.study import Study

FACTOR = "ip"
"""The study's only factor, whose only level is the IP version of the measurement."""
ANSWERING = ("goodput", "transaction_rate", "rtt", "retransmissions", "loss", "jitter_rfc3550")
"""The metrics that answer a comparison, if it has them."""
MOST_ANSWERING = 3
"""The largest number of these in the answer."""
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
    by_trial = {trial.number: record for trial, record in zip(trials, records, strict=True)}
    _store(directory, json.dumps(document, indent=2), study, trials, seed, by_trial, environment)


def comparison(
    words: str, settings: Sequence[Varied], flow: Flow, metrics: Sequence[RepeatedMetric], blocks: int
) -> Study:
    """Returns a study that describes a comparison of settings with traffic like `flow`, whose responses are
    these metrics; without any, the goodput."""
    named = [(each.metric, each.title, each.unit) for each in metrics] or [("goodput", "Goodput", "Mbit/s")]
    factors = {each.name: _factor(each) for each in settings}
    said = numbers.listed(f"{each.title} {numbers.listed(each.levels)}" for each in settings)
    responses = [
        {"name": metric, "title": title, "metric": metric, "of": flow.name, "unit": unit}
        for metric, title, unit in named
    ]
    answering = [each["name"] for each in responses if each["name"] in ANSWERING][:MOST_ANSWERING]
    return Study.model_validate(
        {
            **_measured(words, blocks),
            "question": f"How do {said} differ between two machines?",
            "workload": [_traffic(MeasuredPart(flow, [flow.name]))],
            "factors": factors,
            "responses": responses,
            "layout": {"rows": settings[0].name, "columns": [each.name for each in settings[1:]]},
            **({"headline": {"responses": answering}} if answering else {}),
        }
    )


def _factor(setting: Varied) -> dict[str, Any]:
    """Returns a setting with its values as a factor."""
    paths = {"parallel": "count", "transport": "transport"}

    def sets(level: str) -> dict[str, Any]:
        if setting.name not in paths:
            return {}
        return {f"workload.{FLOW}.{paths[setting.name]}": as_value(level)}

    return {
        "title": setting.title,
        "sets": {level: sets(level) for level in setting.levels},
        "levels": list(setting.levels),
    }


def keep_comparison(
    directory: Path, study: Study, trials: Sequence[PlannedTrial], seed: int, records: Mapping[int, Record]
) -> None:
    """Stores the records of a comparison's trials, by number, as a run in a new directory, in which the
    others are missing; raises BadInput if it can't be made, and CannotRun without an engine."""
    text = json.dumps(study.model_dump(mode="json", by_alias=True, exclude_none=True), indent=2)
    _store(directory, text, study, trials, seed, records, _this_machine())


def _store(
    directory: Path,
    text: str,
    study: Study,
    trials: Sequence[PlannedTrial],
    seed: int,
    records: Mapping[int, Record],
    environment: Environment,
) -> None:
    command = shlex.join(["nettrial", *sys.argv[1:]])
    # Killed in the middle, it leaves no run with a part of the records, which nothing could complete.
    with (
        Run.appearing(directory, text, None, study, trials, seed, command) as run,
        run.session(environment) as recorder,
    ):
        for trial in trials:
            if trial.number in records:
                recorder.finished(trial, NO_SCENARIO, records[trial.number])


def _this_machine() -> Environment:
    """Returns the properties of this machine that are known without privileges; others are empty. Raises
    CannotRun without an engine."""
    with Backend("sim") as backend:  # it needs no privileges
        environment = backend.preflight().environment
    system = platform.uname()
    kernel = " ".join([system.system, system.release, system.version])
    return Environment(
        congestion_controls=[],
        engine_version=environment.engine_version,
        kernel=kernel,
        privileges="",
        processor=environment.processor,
        processors=environment.processors,
        sysctls={},
    )


def _document(words: str, parts: Sequence[MeasuredPart], records: Sequence[Record]) -> dict[str, Any]:
    """Returns a study that describes the measurement: one treatment, between two hosts. Nobody described the
    network and the hosts, so they are absent."""
    version = str(parts[0].flow.ip.root)
    responses = [response for part in parts for response in _responses(part, records, len(parts) > 1)]
    return {
        **_measured(words, len(records), IMPORTED if records[0].backend == IMPORTED else REMOTE),
        "question": "How much does the network between two machines carry, and how quickly does it respond?",
        "workload": [_traffic(part) for part in parts],
        "factors": {FACTOR: {"title": "IP", "sets": {version: {}}, "levels": [version]}},
        "responses": responses,
        "layout": {"rows": FACTOR, "columns": []},
    }


def _measured(words: str, blocks: int, backend: str = REMOTE) -> dict[str, Any]:
    """Returns the fields of a study that describes measurements, apart from those of its contents."""
    return {
        "study": "measure",
        "title": words,
        "backend": backend,
        "replicates": blocks,
        "full_replicates": blocks,
        "warmup": 0,
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
