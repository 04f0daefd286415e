"""Writing to a run file."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from nettrial.bounds import MOST_DOCUMENT_BYTES
from nettrial.design import PlannedTrial
from nettrial.files import transaction
from nettrial.scenario import Record, Scenario


class TooLarge(Exception):
    """The error for a document that is too large for a run file; the text contains the size."""


class Recorder:
    """Adds entries to a run."""

    def __init__(self, connection: sqlite3.Connection, number: int, packed: bool) -> None:
        """Creates a recorder; use `Run.session`. `packed` is true if the file stores compressed documents."""
        self._connection = connection
        self._keep = pack if packed else as_json
        self.number = number
        self.note = "finished"
        """The outcome of the session, for the run file."""

    def finished(self, trial: PlannedTrial, scenario: Scenario | str, record: Record | str) -> None:
        """Stores a trial's record and its scenario, given as documents or as JSON; raises
        sqlite3.IntegrityError if the trial already has a record, and TooLarge."""
        self._insert("trial", trial.number, self.number, self._keep(scenario), self._keep(record))

    def planned(self, trials: Sequence[PlannedTrial]) -> None:
        """Adds trials to the plan, all or none."""
        rows = [(trial.number, trial.block, json.dumps(trial.treatment)) for trial in trials]
        with transaction(self._connection):
            self._connection.executemany("INSERT INTO planned VALUES (?, ?, ?)", rows)

    def failed(self, trial: PlannedTrial, message: str) -> None:
        """Stores the failure of a trial."""
        self._insert("failure", None, trial.number, self.number, message)

    def disturbed(
        self, trial: PlannedTrial, scenario: Scenario | str, record: Record | str, reason: str
    ) -> None:
        """Stores an attempt at a trial that something else disturbed, with the reason in words; the trial is
        run again. Raises TooLarge."""
        documents = self._keep(scenario), self._keep(record)
        self._insert("disturbed", None, trial.number, self.number, *documents, reason)

    def _insert(self, table: str, *values: Any) -> None:
        places = ", ".join("?" * len(values))
        self._connection.execute(f"INSERT INTO {table} VALUES ({places})", values)


def as_json(document: BaseModel | str) -> str:
    """Returns a document as JSON, which it may be already."""
    return (
        document if isinstance(document, str) else document.model_dump_json(by_alias=True, exclude_none=True)
    )


def pack(document: BaseModel | str) -> bytes:
    """Returns a document in the compressed form of the run file; raises TooLarge."""
    text = as_json(document).encode()
    if len(text) > MOST_DOCUMENT_BYTES:
        raise TooLarge(f"it has {len(text)} bytes, and a run file can store up to {MOST_DOCUMENT_BYTES}")
    return zlib.compress(text)


def unpack(kept: Any) -> bytes | str:
    """Returns the JSON of a document stored in the run file; raises ValueError if it is invalid."""
    if isinstance(kept, str):
        return kept
    if not isinstance(kept, bytes):
        raise ValueError(f"it is not a document but {kept!r}")
    reader = zlib.decompressobj()
    try:
        text = reader.decompress(kept, MOST_DOCUMENT_BYTES + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if len(text) > MOST_DOCUMENT_BYTES:
        raise ValueError(f"it has more than {MOST_DOCUMENT_BYTES} bytes")
    if not reader.eof:
        raise ValueError("its end is missing")
    return text


def now() -> str:
    """Returns the current time in the form of the run file."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
