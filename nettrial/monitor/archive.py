"""The archive: entries, figures, states and events of a mesh in one SQLite file.

An interval's entry, its figures and its events are one transaction, so a killed monitor loses only the
measurements in progress. Merging values and deleting the merged ones is one transaction, too."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast, get_origin

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import ArgsKwargs

from nettrial.bounds import MOST_DOCUMENT_BYTES
from nettrial.errors import BadInput
from nettrial.files import Unsafe, created, database, refuse_foreign, transaction
from nettrial.monitor.outcome import NOT_DRAWN, MeasuredValue, MeasuredValues
from nettrial.monitor.schedule import HOUR, Gap, Spent
from nettrial.systems import hold

Kind = TypeVar("Kind")
Finite = Annotated[float, Field(allow_inf_nan=False)]
"""A number that is neither infinite nor NaN."""
Positive = Annotated[int, Field(gt=0)]
"""A number above 0."""

FILE = "archive.sqlite"
"""The archive's file name."""
APPLICATION_ID = 0x6E74726D
"""The application ID in SQLite's header: "ntrm"."""
FORMAT = 2
"""The version of the archive's tables, in SQLite's header. Version 1 has no steady time."""
OPENING = "opening the archive"
"""The current action, for error messages."""
READER_SECONDS = 60.0
"""The time for which a writer waits for another process's lock, in seconds."""

TABLES = {
    "task": "task INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, measurement TEXT NOT NULL, "
    "title TEXT NOT NULL, source TEXT NOT NULL, target TEXT NOT NULL, every_s INTEGER NOT NULL, "
    "watched TEXT NOT NULL, thresholds TEXT NOT NULL, session INTEGER NOT NULL REFERENCES session",
    "metric": "name TEXT PRIMARY KEY, title TEXT NOT NULL, unit TEXT NOT NULL",
    "session": "session INTEGER PRIMARY KEY, mesh TEXT NOT NULL, one_false_alarm_in TEXT NOT NULL, "
    "began_s REAL NOT NULL, seen_s REAL NOT NULL, note TEXT NOT NULL",
    "entry": "entry INTEGER PRIMARY KEY, task INTEGER NOT NULL REFERENCES task, every_s INTEGER NOT NULL, "
    "first INTEGER NOT NULL, last INTEGER NOT NULL, at_s REAL NOT NULL, seconds REAL NOT NULL, "
    "bytes INTEGER NOT NULL, reason TEXT, detail TEXT NOT NULL, record BLOB",
    "figure": "entry INTEGER NOT NULL REFERENCES entry ON DELETE CASCADE, "
    "metric TEXT NOT NULL REFERENCES metric, value REAL NOT NULL, PRIMARY KEY (entry, metric)",
    "merged": "task INTEGER NOT NULL REFERENCES task, metric TEXT NOT NULL REFERENCES metric, "
    "hour INTEGER NOT NULL, n INTEGER NOT NULL, mean REAL NOT NULL, m2 REAL NOT NULL, "
    "smallest REAL NOT NULL, largest REAL NOT NULL, entry INTEGER NOT NULL DEFAULT 0, "
    "PRIMARY KEY (task, metric, hour)",
    "state": "task INTEGER NOT NULL REFERENCES task, name TEXT NOT NULL, value TEXT NOT NULL, "
    "PRIMARY KEY (task, name)",
    "event": "event INTEGER PRIMARY KEY, at_s REAL NOT NULL, task INTEGER REFERENCES task, "
    "kind TEXT NOT NULL, text TEXT NOT NULL, metric TEXT",
    "steady": "boot TEXT NOT NULL, read_s REAL NOT NULL, passed_s REAL NOT NULL",
    "mark": "passed_s REAL PRIMARY KEY, entry INTEGER NOT NULL, event INTEGER NOT NULL",
}
"""The columns of each table. `at_s` and `began_s` are seconds since 1970-01-01 UTC, `first` and `last`
numbers of intervals of `every_s`, `hour` hours since 1970. `reason` is null for a measurement, and one of
`REASONS` for a gap. `m2` is the sum of squared differences from the mean. `record` is compressed JSON (RFC
1950).

The age of data is measured in steady time, because the wall clock can be set. `steady` has one row: the
steady clock when it was last read (`read_s`, since `boot`), and the steady time that the archive has existed
(`passed_s`). A row of `mark` says that `entry` and `event` were the latest ones at `passed_s`. The column
`merged.entry` is the latest entry whose value was merged."""
_SINCE_2 = {"steady", "mark"}
"""The tables that an archive of version 1 lacks."""
_NOTHING = (-1, -1)
"""The latest entry and event of a time before the first mark."""
INDICES = (
    "CREATE INDEX entry_of_task ON entry (task, at_s)",
    "CREATE INDEX entry_at ON entry (at_s)",
    "CREATE INDEX event_at ON event (at_s)",
)
"""The statements that create the indices."""


@dataclass(frozen=True)
class KnownTask:
    """A task of the archive, which may no longer be in the mesh."""

    number: int
    """The task's number in the archive."""
    key: str
    """The task's name: the measurement and its two hosts."""
    measurement: str
    """The name of the measurement in the mesh file."""
    title: str
    """The title of the measurement's kind."""
    source: str
    """The host that sends."""
    target: str
    """The host that receives."""
    every_s: Positive
    """The length of the task's intervals in seconds."""
    watched: list[str]
    """The metrics in which the monitor looks for changes; the first one is the metric that is shown first."""
    thresholds: dict[str, dict[str, str]]
    """The thresholds, such as "< 900", by metric and level."""
    current: bool
    """True if the latest session has this task."""


@dataclass(frozen=True)
class Latest:
    """The latest entries of a task."""

    measured_s: Finite | None
    """The time of the latest measurement that is still in the archive."""
    figures: dict[str, Finite]
    """The values of that measurement by metric."""
    reason: str | None
    """The reason of the latest entry, if that entry is a gap. Intervals that were not drawn do not count."""
    detail: str
    """The details of that gap."""


@dataclass(frozen=True)
class KnownSession:
    """A session of a monitor."""

    mesh: str
    """The title of the mesh."""
    one_false_alarm_in: str
    """The average time between false alarms, as the mesh file states it."""
    began_s: Finite
    """The time at which the session began, in seconds since 1970-01-01 UTC."""
    seen_s: Finite
    """The time of the session's last sign of life, in seconds since 1970-01-01 UTC."""
    note: str
    """The state or the end of the session in words."""


@dataclass(frozen=True)
class ArchivedValues:
    """The values of a metric at one time: one value, or those of an hour."""

    at_s: Finite
    """The time of the value, or the beginning of the hour, in seconds since 1970-01-01 UTC."""
    n: Positive
    """The number of values."""
    mean: Finite
    """The mean of the values."""
    m2: Finite
    """The sum of squared deviations from the mean."""
    smallest: Finite
    """The smallest value."""
    largest: Finite
    """The largest value."""

    def and_also(self, other: ArchivedValues) -> ArchivedValues:
        """Returns the point of the values of both points (Chan et al. 1983, updating formulae)."""
        n, step = self.n + other.n, other.mean - self.mean
        return ArchivedValues(
            self.at_s,
            n,
            self.mean + step * other.n / n,
            self.m2 + other.m2 + step * step * self.n * other.n / n,
            min(self.smallest, other.smallest),
            max(self.largest, other.largest),
        )


@dataclass(frozen=True)
class KnownGap:
    """A gap of the archive."""

    began_s: Finite
    """The beginning of the first interval, in seconds since 1970-01-01 UTC."""
    ended_s: Finite
    """The end of the last interval, in seconds since 1970-01-01 UTC."""
    intervals: int
    """The number of intervals."""
    reason: str
    """The reason why they have no measurement."""
    detail: str
    """The details of the reason."""


@dataclass(frozen=True)
class KnownEvent:
    """An event of the archive."""

    at_s: Finite
    """The time of the event, in seconds since 1970-01-01 UTC."""
    task: int | None
    """The number of the task, or None if the event concerns the whole monitor."""
    kind: str
    """The kind of event."""
    text: str
    """The event in words."""
    metric: str | None
    """The metric that changed, or None."""


class Archive:
    """An open archive."""

    def __init__(self, directory: Path, connection: sqlite3.Connection, held: int | None = None) -> None:
        """Wraps an open file; use `create` or `open`. `held` is the descriptor that locks the directory."""
        self.directory = directory
        self._connection = connection
        self._held = held
        self._numbers: dict[str, int] = {}

    @classmethod
    def create(cls, directory: Path) -> Archive:
        """Opens the archive of a directory for writing, and creates both if they do not exist; raises
        BadInput.

        The tables appear in one transaction. The directory stays locked until the archive is closed, or this
        process ends."""
        try:
            directory.mkdir(parents=True, exist_ok=True)
            held = hold(directory)
        except OSError as error:
            why = error.strerror or str(error)
            raise BadInput(OPENING, str(directory), why, "a directory to write to") from None
        if held is None:
            hint = "stop that one first, or give each its own `archive`"
            raise BadInput(OPENING, str(directory), "another monitor is writing it", "", hint)
        file = directory / FILE
        try:
            return cls(directory, cls._created(file), held)
        except BaseException:
            os.close(held)
            raise

    @staticmethod
    def _created(file: Path) -> sqlite3.Connection:
        """Opens an archive's file for writing, and creates it if it does not exist."""
        try:
            refuse_foreign(file.parent.resolve())
            if not os.path.lexists(file):
                os.close(created(file))
        except Unsafe as why:
            raise why.as_bad_input(OPENING, file.parent) from None
        except OSError as error:
            why_not = error.strerror or str(error)
            raise BadInput(OPENING, str(file.parent), why_not, "a directory to write to") from None
        connection = _connect(file, is_written=True)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            if not connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
                with transaction(connection):
                    for table, columns in TABLES.items():
                        connection.execute(f"CREATE TABLE {table} ({columns}) STRICT")
                    for index in INDICES:
                        connection.execute(index)
                    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    connection.execute(f"PRAGMA user_version = {FORMAT}")
            _upgrade(_checked(file, connection))
        except sqlite3.Error as error:
            raise BadInput(OPENING, str(file), str(error), "an archive of `nettrial monitor`") from None
        return connection

    @classmethod
    def open(cls, directory: Path) -> Archive:
        """Opens an existing archive for reading; raises BadInput if there is none, or if it is a link."""
        file = directory / FILE
        if not os.path.lexists(file):
            raise BadInput(OPENING, str(directory), "has no archive", f"a directory with {FILE}")
        connection = _checked(file, _connect(file))
        connection.execute("PRAGMA query_only = ON")
        return cls(directory, connection)

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def transaction(self) -> AbstractContextManager[None]:
        """Returns the context whose changes are committed as a whole, or none of them."""
        return transaction(self._connection)

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(query, values).fetchall()
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            raise self._damaged(str(error)) from None

    def _damaged(self, what: str) -> BadInput:
        return BadInput(OPENING, str(self.directory / FILE), what, "an archive that is not damaged")

    def _read(self, kind: type[Kind], rows: Iterable[tuple[Any, ...]]) -> list[Kind]:
        """Returns rows as objects of a dataclass or as tuples; raises BadInput if a value has another type,
        which a damaged file may have in spite of the types of its columns."""
        is_tuple = get_origin(kind) is tuple
        try:
            arguments = [row if is_tuple else ArgsKwargs(row) for row in rows]
            return cast(list[Kind], _adapter(cast(Any, kind)).validate_python(arguments))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise self._damaged(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None

    # Writing

    def add_task(
        self,
        session: int,
        key: str,
        ends: tuple[str, str],
        every_s: int,
        measurement: str = "",
        title: str = "",
        watched: Sequence[str] = (),
        thresholds: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        """Adds a task to a session, or updates its settings; `KnownTask` describes them."""
        settings = (title, every_s, json.dumps(list(watched)), json.dumps(thresholds or {}), session)
        self._connection.execute(
            "INSERT INTO task (key, measurement, source, target, title, every_s, watched, thresholds, "
            "session) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET "
            "(title, every_s, watched, thresholds, session) = "
            "(excluded.title, excluded.every_s, excluded.watched, excluded.thresholds, excluded.session)",
            (key, measurement, *ends, *settings),
        )
        self._numbers[key] = self._rows("SELECT task FROM task WHERE key = ?", key)[0][0]

    def begin_session(self, known: KnownSession) -> int:
        """Adds a session of a monitor and returns its number."""
        cursor = self._connection.execute(
            "INSERT INTO session (mesh, one_false_alarm_in, began_s, seen_s, note) VALUES (?, ?, ?, ?, ?)",
            (known.mesh, known.one_false_alarm_in, known.began_s, known.seen_s, known.note),
        )
        return int(cursor.lastrowid or 0)

    def seen(self, session: int, at_s: float, note: str | None = None) -> None:
        """Stores that a session was alive at a moment, and its outcome, if it has one."""
        query = "UPDATE session SET seen_s = ?, note = coalesce(?, note) WHERE session = ?"
        self._connection.execute(query, (at_s, note, session))

    def measured(self, key: str, interval: int, spent: Spent, result: MeasuredValues) -> int:
        """Adds a measurement and returns the number of its entry."""
        entry = self._enter(key, interval, interval, spent, None, "", zlib.compress(result.document.encode()))
        for figure in result.figures:
            self._figure(entry, figure)
        return entry

    def _figure(self, entry: int, figure: MeasuredValue) -> None:
        if not math.isfinite(figure.value):
            return
        self._connection.execute(
            "INSERT INTO metric VALUES (?, ?, ?) ON CONFLICT (name) DO NOTHING",
            (figure.name, figure.title, figure.unit),
        )
        self._connection.execute("INSERT INTO figure VALUES (?, ?, ?)", (entry, figure.name, figure.value))

    def gap(self, gap: Gap, at_s: float, spent: Spent | None = None) -> None:
        """Adds a gap. It extends the task's latest entry if that is a gap for the same reason just before."""
        task = self._numbers[gap.key]
        latest = self._rows(
            "SELECT entry, last, reason, detail FROM entry WHERE task = ? ORDER BY entry DESC LIMIT 1", task
        )
        if spent is None and latest and latest[0][1:] == (gap.first - 1, gap.reason, gap.detail):
            # The number of an entry tells its age, and that of a gap is the age of its end.
            self._connection.execute(
                "UPDATE entry SET last = ?, entry = (SELECT max(entry) FROM entry) + 1 WHERE entry = ?",
                (gap.last, latest[0][0]),
            )
            return
        self._enter(gap.key, gap.first, gap.last, spent or Spent(at_s, 0.0, 0), gap.reason, gap.detail, None)

    def _enter(
        self,
        key: str,
        first: int,
        last: int,
        spent: Spent,
        reason: str | None,
        detail: str,
        record: bytes | None,
    ) -> int:
        cursor = self._connection.execute(
            "INSERT INTO entry (task, every_s, first, last, at_s, seconds, bytes, reason, detail, record) "
            "SELECT task, every_s, ?, ?, ?, ?, ?, ?, ?, ? FROM task WHERE key = ?",
            (first, last, spent.at_s, spent.seconds, spent.bytes, reason, detail, record, key),
        )
        return int(cursor.lastrowid or 0)

    def change_state(self, key: str, name: str, value: str) -> None:
        """Stores a property of a task's path."""
        self._connection.execute(
            "INSERT INTO state VALUES (?, ?, ?) "
            "ON CONFLICT (task, name) DO UPDATE SET value = excluded.value",
            (self._numbers[key], name, value),
        )

    def event(self, at_s: float, key: str | None, kind: str, text: str, metric: str | None = None) -> None:
        """Adds an event of a task, or of the whole mesh."""
        self._connection.execute(
            "INSERT INTO event (at_s, task, kind, text, metric) VALUES (?, ?, ?, ?, ?)",
            (at_s, self._numbers[key] if key else None, kind, text, metric),
        )

    def pass_time(self, boot: str, steady_s: float) -> None:
        """Adds the steady time that has passed since the previous call. `steady_s` is the steady clock, which
        counts since `boot`. After another boot, an unknown time has passed, and none is added."""
        rows = self._rows("SELECT boot, read_s, passed_s FROM steady")
        before, read_s, passed_s = rows[0] if rows else ("", 0.0, 0.0)
        if before == boot:
            passed_s += max(0.0, steady_s - read_s)
        self._connection.execute("DELETE FROM steady")
        self._connection.execute("INSERT INTO steady VALUES (?, ?, ?)", (boot, steady_s, passed_s))

    def forget(self, records_s: float, values_s: float, hours_s: float) -> None:
        """Merges values by hour and deletes old data: records, values and merged values each have their own
        time to be kept. Only steady time counts (`pass_time`), so that a wall clock that was set deletes
        nothing."""
        rows = self._rows("SELECT passed_s FROM steady")
        passed_s = rows[0][0] if rows else 0.0
        self._connection.execute(
            "INSERT OR REPLACE INTO mark SELECT ?, coalesce((SELECT max(entry) FROM entry), 0), "
            "coalesce((SELECT max(event) FROM event), 0)",
            (passed_s,),
        )
        record, _ = self._latest_at(passed_s - records_s)
        self._connection.execute(
            "UPDATE entry SET record = NULL WHERE entry <= ? AND record IS NOT NULL", (record,)
        )
        value, _ = self._latest_at(passed_s - values_s)
        self._merge(value)
        # The schedule of a task continues after its latest entry, which is therefore kept.
        latest = "SELECT max(entry) FROM entry GROUP BY task"
        self._connection.execute(
            f"DELETE FROM entry WHERE entry <= ? AND reason IS NULL AND entry NOT IN ({latest})", (value,)
        )
        merged, event = self._latest_at(passed_s - hours_s)
        self._connection.execute("DELETE FROM merged WHERE entry <= ?", (merged,))
        self._connection.execute(
            f"DELETE FROM entry WHERE entry <= ? AND reason IS NOT NULL AND entry NOT IN ({latest})",
            (merged,),
        )
        # SQLite would give the number of the latest event to the next one.
        self._connection.execute(
            "DELETE FROM event WHERE event <= ? AND event < (SELECT max(event) FROM event)", (event,)
        )
        oldest_s = passed_s - max(records_s, values_s, hours_s)
        self._connection.execute(
            "DELETE FROM mark WHERE passed_s < (SELECT max(passed_s) FROM mark WHERE passed_s <= ?)",
            (oldest_s,),
        )

    def _latest_at(self, passed_s: float) -> tuple[int, int]:
        """Returns the latest entry and event that existed at a steady time of the archive."""
        rows = self._rows(
            "SELECT entry, event FROM mark WHERE passed_s <= ? ORDER BY passed_s DESC LIMIT 1", passed_s
        )
        return rows[0] if rows else _NOTHING

    def _merge(self, latest: int) -> None:
        """Merges the values of all entries up to this one by hour."""
        rows = self._rows(
            "SELECT task, metric, at_s, value, entry FROM figure JOIN entry USING (entry) WHERE entry <= ?",
            latest,
        )
        merged: dict[tuple[int, str, int], tuple[ArchivedValues, int]] = {}
        for task, metric, at_s, value, entry in rows:
            place, point = (
                (task, metric, int(at_s // HOUR)),
                ArchivedValues(at_s, 1, value, 0.0, value, value),
            )
            before = merged.get(place)
            merged[place] = (before[0].and_also(point), max(before[1], entry)) if before else (point, entry)
        for (task, metric, hour), (point, entry) in merged.items():
            there = self._rows(
                "SELECT n, mean, m2, smallest, largest FROM merged "
                "WHERE task = ? AND metric = ? AND hour = ?",
                *(task, metric, hour),
            )
            if there:
                point = ArchivedValues(0, *there[0]).and_also(point)
            values = (point.n, point.mean, point.m2, point.smallest, point.largest)
            # Entries are merged in their order, so this one is later than those merged before.
            self._connection.execute(
                "INSERT OR REPLACE INTO merged VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (task, metric, hour, *values, entry),
            )
        self._connection.execute("DELETE FROM figure WHERE entry <= ?", (latest,))

    # Reading

    def entered(self) -> dict[str, int]:
        """Returns the number of the last interval that has an entry, by task, counted in the task's present
        intervals."""
        return dict(
            self._rows(
                "SELECT key, (last + 1) * entry.every_s / task.every_s - 1 FROM entry JOIN task USING (task) "
                "WHERE entry IN (SELECT max(entry) FROM entry GROUP BY task)"
            )
        )

    def sizes(self) -> dict[str, int]:
        """Returns the bytes of the latest measurement, by task."""
        return dict(
            self._rows(
                "SELECT key, bytes FROM entry JOIN task USING (task) WHERE entry IN "
                "(SELECT max(entry) FROM entry WHERE reason IS NULL GROUP BY task)"
            )
        )

    def spent(self, since_s: float) -> Iterator[tuple[str, Spent]]:
        """Yields the use of each host since a moment."""
        rows = self._rows(
            "SELECT source, target, at_s, seconds, bytes FROM entry JOIN task USING (task) "
            "WHERE at_s >= ? AND seconds > 0",
            since_s,
        )
        for source, target, at_s, seconds, size in rows:
            for host in (source, target):
                yield host, Spent(at_s, seconds, size)

    def states(self) -> dict[tuple[str, str], str]:
        """Returns the properties of paths, by task and name."""
        rows = self._rows("SELECT key, name, value FROM state JOIN task USING (task)")
        return {(key, name): value for key, name, value in rows}

    def tasks(self) -> list[KnownTask]:
        """Returns all tasks."""
        rows = self._rows(
            "SELECT task, key, measurement, title, source, target, every_s, watched, thresholds, "
            "session = (SELECT max(session) FROM session) FROM task ORDER BY task"
        )
        return self._read(
            KnownTask,
            [
                (*texts, self._document(watched), self._document(thresholds), bool(current))
                for *texts, watched, thresholds, current in rows
            ],
        )

    def _document(self, text: Any) -> Any:
        try:
            return json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise self._damaged(str(error)) from None

    def metrics(self) -> dict[str, tuple[str, str]]:
        """Returns the title and the unit of each metric."""
        return {name: (title, unit) for name, title, unit in self._rows("SELECT * FROM metric")}

    def latest(self) -> dict[int, Latest]:
        """Returns the latest entries by the task's number."""
        measured = "SELECT max(entry) FROM entry WHERE reason IS NULL GROUP BY task"
        times = dict(self._rows(f"SELECT task, at_s FROM entry WHERE entry IN ({measured})"))
        figures: dict[int, dict[str, float]] = {}
        for task, metric, value in self._rows(
            f"SELECT task, metric, value FROM figure JOIN entry USING (entry) WHERE entry IN ({measured})"
        ):
            figures.setdefault(task, {})[metric] = value
        rows = self._rows(
            "SELECT task, reason, detail FROM entry WHERE entry IN "
            "(SELECT max(entry) FROM entry WHERE reason IS NOT ? GROUP BY task)",
            NOT_DRAWN,
        )
        tasks = [task for task, _, _ in rows]
        results = [(times.get(task), figures.get(task, {}), reason, detail) for task, reason, detail in rows]
        return dict(zip(tasks, self._read(Latest, results), strict=True))

    def values(self, task: int, metric: str, since_s: float) -> list[tuple[float, float]]:
        """Returns the times and values of a metric since a moment, in the order of the entries."""
        rows = self._rows(
            "SELECT at_s, value FROM figure JOIN entry USING (entry) "
            "WHERE task = ? AND metric = ? AND at_s >= ? ORDER BY entry",
            *(task, metric, since_s),
        )
        return self._read(tuple[Finite, Finite], rows)

    def hours(self, task: int, metric: str, since_s: float) -> list[ArchivedValues]:
        """Returns the values of a metric by hour since a moment: merged ones, and those still kept one by
        one."""
        rows = self._rows(
            "SELECT hour * ?, n, mean, m2, smallest, largest FROM merged "
            "WHERE task = ? AND metric = ? AND hour >= ?",
            *(float(HOUR), task, metric, since_s // HOUR),
        )
        points = {int(point.at_s // HOUR): point for point in self._read(ArchivedValues, rows)}
        for at_s, value in self.values(task, metric, since_s // HOUR * HOUR):
            hour, point = int(at_s // HOUR), ArchivedValues(at_s // HOUR * HOUR, 1, value, 0.0, value, value)
            points[hour] = points[hour].and_also(point) if hour in points else point
        return [points[hour] for hour in sorted(points)]

    def gaps(self, task: int, since_s: float) -> list[KnownGap]:
        """Returns the gaps of a task that ended after a moment, in the order of the entries."""
        rows = self._rows(
            "SELECT first * every_s, (last + 1) * every_s, last - first + 1, reason, detail "
            "FROM entry WHERE task = ? AND reason IS NOT NULL AND (last + 1) * every_s > ? ORDER BY entry",
            *(task, since_s),
        )
        return self._read(KnownGap, rows)

    def events(self, since_s: float, task: int | None = None) -> list[KnownEvent]:
        """Returns the events since a moment: all, or those of a task and of the whole mesh."""
        rows = self._rows(
            "SELECT at_s, task, kind, text, metric FROM event WHERE at_s >= ? AND (? IS NULL OR task IS NULL "
            "OR task = ?) ORDER BY event",
            *(since_s, task, task),
        )
        return self._read(KnownEvent, rows)

    def values_since_change(self, key: str, metric: str) -> list[float]:
        """Returns the values of a metric since its latest reported change, in the order of the entries."""
        rows = self._rows(
            "SELECT value FROM figure JOIN entry USING (entry) JOIN task USING (task) "
            "WHERE key = ? AND metric = ? AND at_s > coalesce((SELECT max(event.at_s) FROM event "
            "WHERE event.task = task.task AND event.metric = ? AND event.kind = 'change'), 0) ORDER BY entry",
            *(key, metric, metric),
        )
        return [value for (value,) in rows]

    def counts(self, task: int, since_s: float) -> dict[str, int]:
        """Returns the number of intervals since a moment, by reason of the gap; intervals with a measurement
        have an empty reason."""
        rows = self._rows(
            "SELECT coalesce(reason, ''), sum(last - first + 1) FROM entry "
            "WHERE task = ? AND (last + 1) * every_s > ? GROUP BY reason",
            *(task, since_s),
        )
        return dict(rows)

    def entries(self) -> list[tuple[str, int, int, str | None, str]]:
        """Returns all entries in order: task, first and last interval, reason and detail."""
        return self._rows(
            "SELECT key, first, last, reason, detail FROM entry JOIN task USING (task) ORDER BY entry"
        )

    def record(self, entry: int) -> bytes | None:
        """Returns the record of a measurement as JSON, if it is still kept."""
        rows = self._rows("SELECT record FROM entry WHERE entry = ?", entry)
        return (
            zlib.decompressobj().decompress(rows[0][0], MOST_DOCUMENT_BYTES) if rows and rows[0][0] else None
        )

    def sessions(self) -> list[KnownSession]:
        """Returns all sessions."""
        rows = self._rows(
            "SELECT mesh, one_false_alarm_in, began_s, seen_s, note FROM session ORDER BY session"
        )
        return self._read(KnownSession, rows)

    def revision(self) -> str:
        """Returns a text that changes when entries or events are added."""
        rows = self._rows(
            "SELECT (SELECT max(entry) FROM entry), (SELECT max(event) FROM event), "
            "(SELECT max(session) FROM session)"
        )
        return "-".join(str(each or 0) for each in rows[0])


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(list[kind])


def _connect(file: Path, is_written: bool = False) -> sqlite3.Connection:
    try:
        uri = database(file, is_written)
    except Unsafe as why:
        raise why.as_bad_input(OPENING, file) from None
    try:
        connection = sqlite3.connect(
            uri, uri=True, isolation_level=None, timeout=READER_SECONDS, check_same_thread=False
        )
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise BadInput(OPENING, str(file), str(error), "an archive of `nettrial monitor`") from None
    return connection


def _checked(file: Path, connection: sqlite3.Connection) -> sqlite3.Connection:
    """Returns the connection; raises BadInput if the file is not an archive, or one of a newer version."""
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        tables = {
            name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        }
    except (sqlite3.Error, UnicodeDecodeError) as error:
        connection.close()
        raise BadInput(OPENING, str(file), str(error), "an archive of `nettrial monitor`") from None
    if application != APPLICATION_ID:
        connection.close()
        raise BadInput(OPENING, str(file), "it is not an archive", "an archive of `nettrial monitor`")
    if version > FORMAT:
        connection.close()
        hint = "it was written by a newer nettrial: use that, or a newer one"
        raise BadInput(OPENING, str(file), f"format {version}", f"formats 1 to {FORMAT}", hint)
    if tables != set(TABLES) - (_SINCE_2 if version == 1 else set()):
        connection.close()
        raise BadInput(OPENING, str(file), "it is not an archive", "an archive of `nettrial monitor`")
    return connection


def _upgrade(connection: sqlite3.Connection) -> None:
    """Gives an archive of version 1 its steady time, which begins now; raises sqlite3.Error."""
    if connection.execute("PRAGMA user_version").fetchone() != (1,):
        return
    with transaction(connection):
        for table in sorted(_SINCE_2):
            connection.execute(f"CREATE TABLE {table} ({TABLES[table]}) STRICT")
        connection.execute("ALTER TABLE merged ADD COLUMN entry INTEGER NOT NULL DEFAULT 0")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
