"""Adding to a run file."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from nettrial.design import PlannedTrial
from nettrial.scenario import Record, Scenario


class Recorder:
    """Adds to a run."""

    def __init__(self, connection: sqlite3.Connection, number: int, packed: bool) -> None:
        """Comes from `Run.session`; `packed` says whether the file keeps documents compressed."""
        self._connection = connection
        self._keep = pack if packed else as_json
        self.number = number
        self.note = "finished"
        """How the session ended, for the run file."""

    def finished(self, trial: PlannedTrial, scenario: Scenario, record: Record) -> None:
        """Keeps a trial's record; raises sqlite3.IntegrityError if it has one."""
        self._insert("trial", trial.number, self.number, self._keep(scenario), self._keep(record))

    def planned(self, trials: Sequence[PlannedTrial]) -> None:
        """Adds trials to the plan, all or none of them."""
        rows = [(trial.number, trial.block, json.dumps(trial.treatment)) for trial in trials]
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            self._connection.executemany("INSERT INTO planned VALUES (?, ?, ?)", rows)
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def failed(self, trial: PlannedTrial, message: str) -> None:
        """Keeps that a trial gave no record."""
        self._insert("failure", None, trial.number, self.number, message)

    def _insert(self, table: str, *values: Any) -> None:
        self._connection.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", values)


def as_json(document: BaseModel) -> str:
    """A document as the run file keeps it."""
    return document.model_dump_json(by_alias=True, exclude_none=True)


def pack(document: BaseModel) -> bytes:
    """A document as the run file keeps large ones: compressed."""
    return zlib.compress(as_json(document).encode())


def unpack(kept: bytes | str) -> bytes | str:
    """A document's JSON, of what the run file keeps; raises zlib.error."""
    return zlib.decompress(kept) if isinstance(kept, bytes) else kept


def now() -> str:
    """This moment as the run file keeps it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
