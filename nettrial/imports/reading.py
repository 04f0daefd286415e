"""Reads files with measurements of other programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
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
TEXTS = {
    "iperf3": re.compile(
        r"^(Connecting to host|Server listening on|\[ *ID\]|iperf 3\.|iperf3: )", re.MULTILINE
    ),
    "iperf2": re.compile(r"^(Client connecting to|Server listening on (TCP|UDP) port)", re.MULTILINE),
}
"""The lines by which the text that a program prints for people is recognised, by the program's name."""
NOT_A_NUMBER = re.compile(r'(":\s*)-?nan(?=\s*[,}])')
"""The values that iperf 3.1 writes where it divides by 0, which are no JSON."""
EVENTS = ("start", "interval", "end", "error", "server_output_json", "server_output_text")
"""The events of `iperf3 --json-stream`."""


@dataclass
class Readings:
    """The measurements of a file."""

    found: list[Imported] = field(default_factory=list)
    """The measurements that could be read."""
    refused: list[BadInput] = field(default_factory=list)
    """The reasons for which documents were refused."""


def read(path: Path, ip: int | None = None) -> Readings:
    """Returns the measurements of a file: a document, an array of documents, or documents one after the
    other, as iperf3's server and `iperf3 --json-stream` print them. `ip` is the IP version of results that do
    not contain it."""
    readings = Readings()
    try:
        documents = _documents(path)
    except BadInput as why:
        readings.refused.append(why)
        return readings
    several = len(documents) > 1
    for number, document in enumerate(documents, start=1):
        if several and iperf3.is_farewell(document):
            continue
        try:
            place = f"{path}: document {number}" if several else str(path)
            if isinstance(document, _Broken):
                raise BadInput(DOING, place, document.why, "JSON")
            readings.found.append(_one(place, document, ip))
        except BadInput as why:
            readings.refused.append(why)
    return readings


@dataclass(frozen=True)
class _Broken:
    """A document that is no JSON."""

    why: str
    """The reason."""


def _documents(path: Path) -> list[Any]:
    """Returns the documents of a file; raises BadInput if it has none."""
    try:
        text = read_text(path, MOST_BYTES)
    except Unreadable as why:
        raise BadInput(DOING, str(path), str(why), EXPECTED) from None
    program = next((name for name, line in TEXTS.items() if line.search(text)), None)
    if program and not text.lstrip().startswith(("{", "[{", "[\n")):
        value = f"the text that {program} prints without an option for JSON"
        hint = "repeat the test with `iperf3 -J`"
        raise BadInput(DOING, str(path), value, EXPECTED, hint if program == "iperf3" else "")
    found = list(_joined(_parsed(NOT_A_NUMBER.sub(r"\1null", text))))
    if len(found) == 1 and isinstance(found[0], list):
        found = found[0]
        if not found:
            raise BadInput(DOING, str(path), "an empty array", EXPECTED)
    if not found:
        raise BadInput(DOING, str(path), "an empty file", "JSON")
    return found


def _parsed(text: str) -> Iterator[Any]:
    """Yields the JSON documents of a text, and the broken rest, if there is one."""
    decoder = json.JSONDecoder(object_pairs_hook=iperf3.without_twins, parse_constant=_refuse)
    place = 0
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        try:
            document, place = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            said = str(error) if not isinstance(error, RecursionError) else "values nested too deeply"
            yield _Broken(said)
            return
        yield document


def _joined(documents: Iterator[Any]) -> Iterator[Any]:
    """Yields the documents, with the events of `iperf3 --json-stream` joined to one for each test. With
    `--json-stream-full-output`, a test's whole document follows its events and replaces them."""
    test: dict[str, Any] | None = None
    for document in documents:
        event = document.get("event") if isinstance(document, dict) else None
        if event in EVENTS and "data" in document:
            if event == "start":
                if test is not None:
                    yield test
                test = {"start": document["data"], "intervals": []}
            elif test is None:
                yield document
            elif event == "interval":
                test["intervals"].append(document["data"])
            else:
                test[event] = document["data"]
            continue
        if test is not None and not _same_test(test, document):
            yield test
        test = None
        yield document
    if test is not None:
        yield test


def _same_test(one: dict[str, Any], other: Any) -> bool:
    """Returns true if both are documents of the same test, by its cookie."""
    starts = [each.get("start") if isinstance(each, dict) else None for each in (one, other)]
    cookies = [each.get("cookie") if isinstance(each, dict) else None for each in starts]
    return cookies[0] is not None and cookies[0] == cookies[1]


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")


def _one(place: str, found: Any, ip: int | None) -> Imported:
    if not isinstance(found, dict):
        raise BadInput(DOING, place, "no object", EXPECTED)
    try:
        if "start" in found:
            return iperf3.imported(iperf3.Iperf3Output.model_validate({"end": {}, **found}))
        return pscheduler.imported(pscheduler.PschedulerResult.model_validate(pscheduler.wrapped(found)), ip)
    except ValidationError as error:
        faults = [
            Fault(f"{place}: {'.'.join(map(str, wrong.place))}", wrong.value, wrong.expected)
            for wrong in Wrong.of(error)
        ]
        raise BadInput.listing(DOING, faults) from None
    except Unusable as why:
        value, expected = why.args
        raise BadInput(DOING, place, value, expected) from None
