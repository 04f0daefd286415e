"""Reads files with measurements of other programs."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import ValidationError

from nettrial.backends.imports import ImportReader
from nettrial.errors import BadInput, Fault
from nettrial.fields import Wrong
from nettrial.files import Unreadable, read_text
from nettrial.imports import iperf3, pscheduler
from nettrial.imports.figures import Imported, Unusable
from nettrial.scenario import (
    Iperf3Document,
    NoClientRefusal,
    OtherDocument,
    RefusedDocument,
)

DOING = "importing measurements"
"""The current action, for error messages."""
MOST_BYTES = 64 * 2**20
"""The largest size of a file; the engine reads no longer text."""
EXPECTED = "the JSON of iperf3 -J, or a pScheduler result of throughput, rtt, latency or trace"
"""The kinds of documents that can be imported, for error messages."""
TEXTS = {
    "iperf3": re.compile(
        r"^(Connecting to host|Server listening on|\[ *ID\]|iperf 3\.|iperf3: )", re.MULTILINE
    ),
    "iperf2": re.compile(r"^(Client connecting to|Server listening on (TCP|UDP) port)", re.MULTILINE),
}
"""The lines by which the text that a program prints for people is recognised, by the program's name."""

AnyDocument = Iperf3Document | RefusedDocument | OtherDocument
"""A document in the text of a file."""


@dataclass
class Readings:
    """The measurements of a file."""

    imported: list[Imported] = field(default_factory=list)
    """The measurements that could be read."""
    refused: list[BadInput] = field(default_factory=list)
    """The reasons for which documents were refused."""


def read(path: Path, ip: int | None = None) -> Readings:
    """Returns the measurements of a file, like `Reader.read`, with an engine of its own."""
    with Reader() as reader:
        return reader.read(path, ip)


class Reader:
    """Reads files, all with one engine, which it ends at the end of its context."""

    def __init__(self) -> None:
        """Prepares the engine; raises CannotRun if there is none."""
        self._engine = ImportReader()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._engine.__exit__(kind, error, traceback)

    def read(self, path: Path, ip: int | None = None) -> Readings:
        """Returns the measurements of a file: a document, an array of documents, or documents one after the
        other, as iperf3's server and `iperf3 --json-stream` print them. `ip` is the IP version of results
        that do not contain it."""
        readings = Readings()
        try:
            text = _text(path)
            documents = self._engine.documents(text)
            if not documents:
                value = "an empty array" if text.strip() else "an empty file"
                raise BadInput(DOING, str(path), value, EXPECTED if text.strip() else "JSON")
        except BadInput as why:
            readings.refused.append(why)
            return readings
        several, encoded = len(documents) > 1, text.encode()
        for number, document in enumerate(documents, start=1):
            if several and _has_no_client(document):
                continue
            try:
                place = f"{path}: document {number}" if several else str(path)
                readings.imported.append(_one(place, document, encoded, ip))
            except BadInput as why:
                readings.refused.append(why)
        return readings


def _text(path: Path) -> str:
    """Returns the text of a file; raises BadInput if it can't be read, or is not meant for programs."""
    try:
        text = read_text(path, MOST_BYTES)
    except Unreadable as why:
        raise BadInput(DOING, str(path), str(why), EXPECTED) from None
    program = next((name for name, line in TEXTS.items() if line.search(text)), None)
    if program and not text.lstrip().startswith(("{", "[{", "[\n")):
        value = f"the text that {program} prints without an option for JSON"
        hint = "repeat the test with `iperf3 -J`"
        raise BadInput(DOING, str(path), value, EXPECTED, hint if program == "iperf3" else "")
    return text


def _has_no_client(document: AnyDocument) -> bool:
    """Returns true for the document that a server writes when it is ended while it waits for a client: there
    was no test."""
    return isinstance(document, RefusedDocument) and isinstance(document.refusal.root, NoClientRefusal)


def _one(place: str, document: AnyDocument, text: bytes, ip: int | None) -> Imported:
    """Returns the measurement of a document; raises BadInput."""
    try:
        if isinstance(document, Iperf3Document):
            return iperf3.imported(document.test)
        if isinstance(document, RefusedDocument):
            raise iperf3.unusable(document.refusal)
        result = _parsed(place, text[document.from_byte : document.to_byte].decode())
        return pscheduler.imported(pscheduler.PschedulerResult.model_validate(pscheduler.wrapped(result)), ip)
    except ValidationError as error:
        faults = [
            Fault(f"{place}: {'.'.join(map(str, wrong.place))}", wrong.value, wrong.expected)
            for wrong in Wrong.of(error)
        ]
        raise BadInput.listing(DOING, faults) from None
    except Unusable as why:
        raise BadInput(
            DOING, f"{place}: {why.place}" if why.place else place, why.value, why.expected
        ) from None


def _parsed(place: str, text: str) -> dict[str, Any]:
    """Returns the object that is a document of another program than iperf3; raises BadInput."""
    try:
        document, _ = json.JSONDecoder(parse_constant=_refuse).raw_decode(text)
    except ValueError as error:
        raise BadInput(DOING, place, str(error), "JSON") from None
    except RecursionError:
        raise BadInput(DOING, place, "values nested too deeply", "JSON") from None
    if not isinstance(document, dict):
        raise BadInput(DOING, place, "no object", EXPECTED)
    return document


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")
