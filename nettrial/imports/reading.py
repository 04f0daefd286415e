"""Reads files with measurements of other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from nettrial.errors import BadInput, Fault
from nettrial.fields import Wrong
from nettrial.files import Unreadable, read_text
from nettrial.imports import iperf3, pscheduler
from nettrial.imports.figures import Imported, Unusable

DOING = "importing measurements"
"""The current action, for error messages."""
MOST_BYTES = 64 * 2**20
"""The largest size of a file."""
EXPECTED = "the JSON of iperf3 -J, or a pScheduler result of throughput, rtt, latency or trace"
"""The kinds of documents that can be imported, for error messages."""


def read(path: Path, ip: int | None = None) -> list[Imported]:
    """Returns the measurements of a file, which has one document or an array of documents. `ip` is the IP
    version of results that do not contain it. Raises BadInput."""
    try:
        found = json.loads(read_text(path, MOST_BYTES), parse_constant=_refuse)
    except Unreadable as why:
        raise BadInput(DOING, str(path), str(why), EXPECTED) from None
    except (ValueError, RecursionError) as error:
        said = str(error) if not isinstance(error, RecursionError) else "values nested too deeply"
        raise BadInput(DOING, str(path), said, "JSON") from None
    documents = found if isinstance(found, list) else [found]
    if not documents:
        raise BadInput(DOING, str(path), "an empty array", EXPECTED)
    several = len(documents) > 1
    return [
        _one(f"{path}: document {number}" if several else str(path), document, ip)
        for number, document in enumerate(documents, start=1)
    ]


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def _one(place: str, found: Any, ip: int | None) -> Imported:
    if not isinstance(found, dict):
        raise BadInput(DOING, place, "no object", EXPECTED)
    try:
        if "start" in found and "end" in found:
            return iperf3.imported(iperf3.Document.model_validate(found))
        return pscheduler.imported(pscheduler.Document.model_validate(pscheduler.wrapped(found)), ip)
    except ValidationError as error:
        faults = [
            Fault(f"{place}: {'.'.join(map(str, wrong.place))}", wrong.value, wrong.expected)
            for wrong in Wrong.of(error)
        ]
        raise BadInput.listing(DOING, faults) from None
    except Unusable as why:
        value, expected = why.args
        raise BadInput(DOING, place, value, expected) from None
