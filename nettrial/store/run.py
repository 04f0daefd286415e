"""A run: its study, plan and finished trials, stored so that a runner killed at any moment loses none of
them."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from nettrial.design import PlannedTrial
from nettrial.errors import BadInput
from nettrial.fields import without_collector
from nettrial.files import RUN_FILE, Unsafe, database
from nettrial.scenario import Environment, Record, Scenario
from nettrial.store import directory as folders
from nettrial.store import reading
from nettrial.store.fingerprint import Fingerprint
from nettrial.store.lean import lean
from nettrial.store.measurements import without_assumptions
from nettrial.store.recorder import Recorder, as_json, now, unpack
from nettrial.store.schema import (
    APPLICATION_ID,
    FORMAT,
    FORMAT_OF_DISTURBED_TRIALS,
    FORMAT_OF_FINGERPRINTS,
    FORMAT_OF_PACKED_DOCUMENTS,
    statements,
    tables_of,
)
from nettrial.study import Study

Model = TypeVar("Model", bound=BaseModel)

OPENING = "opening the run"
"""The current action, for error messages."""
READER_SECONDS = 600
"""The time in seconds that a runner waits for another process that reads the run. Nothing can be added to the
file while many trials are read, and with SQLite's default of five seconds, a report made meanwhile would
abort the run."""
_RECORDS = "SELECT number, record FROM trial ORDER BY number"


@dataclass(frozen=True)
class Session:
    """A session of the runner."""

    started: datetime
    """The start of the session, in UTC."""
    ended: datetime | None
    """The end of the session; None if it was killed, or is still running."""
    environment: Environment
    """The properties of the machine."""
    note: str
    """The outcome of the session in words; empty if it has not ended."""
    fingerprint: Fingerprint | None = None
    """The facts about its apparatus; None if they were not recorded."""
    trials: frozenset[int] = frozenset()
    """The numbers of the trials that it finished."""


@dataclass(frozen=True)
class Trial:
    """A finished trial."""

    planned: PlannedTrial
    """The trial's place in the plan."""
    record: Record
    """The trial's results."""
    read_scenario: Callable[[], Scenario] = field(repr=False, compare=False)
    """Reads the scenario given to the backend; use `scenario`."""

    @property
    def scenario(self) -> Scenario:
        """The scenario given to the backend. It is read on access, because few readers need it. Raises
        BadInput if this version can't read it."""
        return self.read_scenario()


@dataclass(frozen=True)
class Failure:
    """A trial whose last attempt gave no record."""

    planned: PlannedTrial
    """The trial's place in the plan."""
    message: str
    """The error message of the last attempt."""


@dataclass(frozen=True)
class DisturbedTrial(Trial):
    """An attempt at a trial that something else disturbed, so that the trial was run again."""

    reason: str
    """The disturbance, in words."""


class Run:
    """A run's directory with its run file. Each change is one transaction."""

    def __init__(self, directory: Path, connection: sqlite3.Connection, version: int) -> None:
        """Wraps an open run file; use `create` or `open`."""
        self.directory = directory
        self._packed = version >= FORMAT_OF_PACKED_DOCUMENTS
        self._has_fingerprints = version >= FORMAT_OF_FINGERPRINTS
        self.stores_disturbed = version >= FORMAT_OF_DISTURBED_TRIALS
        """True if the file has a place for attempts that something else disturbed."""
        self._connection = connection
        self._trials: dict[int, Trial] = {}  # the trials read so far: a record may contain thousands of sizes
        self._scenarios: dict[
            bytes | str, Scenario
        ] = {}  # by stored form: the trials of a treatment share one
        self.kept: dict[str, Any] = {}
        """Data that readers derived from the run, by a name of theirs."""

    @classmethod
    def create(
        cls,
        directory: Path,
        study_text: str,
        published_text: str | None,
        study: Study,
        plan: Sequence[PlannedTrial],
        seed: int,
        command: str,
    ) -> Run:
        """Creates a run in a directory that must not exist, and that appears completely or not at all."""
        with cls.appearing(directory, study_text, published_text, study, plan, seed, command):
            pass
        return cls.open(directory)

    @classmethod
    @contextmanager
    def appearing(
        cls,
        directory: Path,
        study_text: str,
        published_text: str | None,
        study: Study,
        plan: Sequence[PlannedTrial],
        seed: int,
        command: str,
    ) -> Iterator[Run]:
        """Yields a new run, whose directory, which must not exist, appears when the block ends without an
        error, with all that was added meanwhile, or not at all. The run is closed at the end."""
        with folders.appearing(directory) as temporary:
            connection = sqlite3.connect(temporary / RUN_FILE, isolation_level=None)
            connection.execute("PRAGMA journal_mode = MEMORY")  # no other process knows of the file yet
            connection.execute("BEGIN")
            for statement in statements():
                connection.execute(statement)
            row = (study_text, published_text, as_json(study), seed, command)
            connection.execute("INSERT INTO run VALUES (?, ?, ?, ?, ?)", row)
            connection.executemany(
                "INSERT INTO planned VALUES (?, ?, ?)",
                [(trial.number, trial.block, json.dumps(trial.treatment)) for trial in plan],
            )
            connection.execute("COMMIT")
            run = cls(temporary, connection, FORMAT)
            try:
                yield run
            finally:
                run.close()

    @classmethod
    def open(cls, directory: Path) -> Run:
        """Opens an existing run; raises BadInput if there is none, if it was made by a newer version, or if
        its files are links. The run of another user is opened for reading only."""
        file = directory / RUN_FILE
        if not os.path.lexists(file):
            expected, hint = f"a directory with a {RUN_FILE}", ""
            if directory.is_dir():
                there = "has no run"
            elif os.path.lexists(directory):
                is_run = directory.name == RUN_FILE
                there = "is a file"
                hint = "`nettrial list runs` lists runs"
                hint = f"give its directory: {directory.parent}" if is_run else hint
            else:
                there = "does not exist"
            raise BadInput(OPENING, str(directory), there, expected, hint)
        try:
            uri = database(file)
        except Unsafe as why:
            raise why.as_bad_input(OPENING, file) from None
        try:
            connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=READER_SECONDS)
        except sqlite3.Error as error:
            raise _not_opened(file, error) from None
        return cls.of(directory, connection)

    @classmethod
    def of(cls, directory: Path, connection: sqlite3.Connection) -> Run:
        """Returns the run that is in an open database; `directory` is that of the run file. Raises BadInput,
        and closes the database, if it is not a run file that this version can read."""
        file = directory / RUN_FILE
        try:
            connection.execute("PRAGMA trusted_schema = OFF")
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            tables = reading.tables(connection)
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the module sqlite3 decodes names itself
            connection.close()
            raise _not_opened(file, error) from None
        if application != APPLICATION_ID:
            connection.close()
            raise BadInput(OPENING, str(file), "it is not a run file", "a run file of nettrial")
        if version > FORMAT:
            connection.close()
            hint = "it was written by a newer nettrial: use that, or a newer one"
            raise BadInput(OPENING, str(file), f"format {version}", f"format {FORMAT}", hint)
        run = cls(directory, connection, version)
        if tables != tables_of(version):
            connection.close()
            raise run.unreadable("file", f"it has the tables {', '.join(sorted(tables)) or 'of no run'}")
        connection.execute("PRAGMA synchronous = FULL")
        return run

    def _rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Yields the rows of a query; raises BadInput if the file is damaged."""
        with reading.damage(self.unreadable):
            yield from self._connection.execute(query, values)

    @cached_property
    def _row(self) -> tuple[str, str, str | None, int, str]:
        rows = list(self._rows("SELECT study, study_text, published_text, seed, command FROM run"))
        if len(rows) != 1:
            raise self.unreadable("description", f"there are {len(rows)}")
        study, study_text, published_text, seed, command = rows[0]
        texts = all(isinstance(text, str) for text in (study, study_text, published_text or "", command))
        if not texts or not isinstance(seed, int):
            raise self.unreadable("description", "a column has a value of another type")
        study, study_text = (without_assumptions(text, command) for text in (study, study_text))
        return study, study_text, published_text, seed, command

    @cached_property
    def study(self) -> Study:
        """The study as it was run, including options."""
        return self._read(Study, self._row[0])

    @cached_property
    def study_text(self) -> str:
        """The text of the study file."""
        return self._row[1]

    @cached_property
    def published_text(self) -> str | None:
        """The text of the file of published figures."""
        return self._row[2]

    @cached_property
    def seed(self) -> int:
        """The seed of the trial order."""
        return self._row[3]

    @cached_property
    def command(self) -> str:
        """The command that makes the same run."""
        return self._row[4]

    @property
    def started_as(self) -> str:
        """The name of the study in that command."""
        try:
            return shlex.split(self.command)[2]
        except (ValueError, IndexError):
            raise self.unreadable("command", self.command) from None

    @property
    def names_backend(self) -> bool:
        """True if that command names the backend, as nettrial has it do where the study leaves the choice
        open."""
        return "--backend" in shlex.split(self.command)

    @cached_property
    def plan(self) -> list[PlannedTrial]:
        """The planned trials, in run order."""
        factors = {name: set(factor.levels) for name, factor in self.study.factors.items()}
        rows = self._rows("SELECT number, block, treatment FROM planned ORDER BY number")
        return [
            reading.planned(number, block, treatment, factors, self.unreadable)
            for number, block, treatment in rows
        ]

    def extend(self, recorder: Recorder, trials: Sequence[PlannedTrial]) -> None:
        """Appends trials to the plan, all or none; `recorder` belongs to the session that runs them."""
        recorder.planned(trials)
        self.__dict__.pop("plan", None)  # the plan is read again on next access

    @property
    def sessions(self) -> list[Session]:
        """Returns the sessions of the runner, in order."""
        finished: dict[int, set[int]] = {}
        for number, session in self._rows("SELECT number, session FROM trial"):
            finished.setdefault(session, set()).add(number)
        fingerprint = "fingerprint" if self._has_fingerprints else "NULL"
        rows = self._rows(
            f"SELECT session, started, ended, environment, coalesce(note, ''), {fingerprint} "
            "FROM session LEFT JOIN session_end USING (session) ORDER BY session"
        )
        return [
            Session(
                reading.moment(started, self.unreadable),
                None if ended is None else reading.moment(ended, self.unreadable),
                self._read(Environment, environment),
                str(note),
                None if facts is None else reading.facts(facts, self.unreadable),
                frozenset(finished.get(session, ())),
            )
            for session, started, ended, environment, note, facts in rows
        ]

    def trials(self) -> list[Trial]:
        """Returns the finished trials, in run order. They stay in memory: use `each_trial` to process many
        trials one after the other."""
        with without_collector():
            for trial in self.each_trial():
                self._trials.setdefault(trial.planned.number, replace(trial, record=lean(trial.record)))
        return [self._trials[number] for number in sorted(self._trials)]

    def each_trial(self) -> Iterator[Trial]:
        """Yields the finished trials in run order, without keeping them in memory."""
        planned = self._planned()
        for number, record in self._rows(_RECORDS):
            if number not in planned:
                raise self.unreadable("record", f"trial {number} is not in the plan")
            if number in self._trials:
                yield self._trials[number]
            else:
                read = partial(self._scenario, number)
                yield Trial(planned[number], self._read(Record, record), read)

    def trial(self, number: int) -> Trial:
        """Returns the finished trial with that number."""
        ((record,),) = self._rows("SELECT record FROM trial WHERE number = ?", number)
        return Trial(self._planned()[number], self._read(Record, record), partial(self._scenario, number))

    def finished(self) -> int:
        """Returns the number of finished trials."""
        ((count,),) = self._rows("SELECT count(*) FROM trial")
        return int(count)

    def record_texts(self) -> Iterator[tuple[int, str]]:
        """Yields the number and the record of each finished trial as JSON, in run order, for readers of a few
        figures of many trials. Raises BadInput if one can't be read."""
        for number, kept in self._rows(_RECORDS):
            try:
                text = unpack(kept)
                yield number, text if isinstance(text, str) else text.decode()
            except ValueError as error:
                raise self.unreadable("record", str(error)) from None

    def disturbed_attempts(self) -> dict[int, int]:
        """Returns the number of attempts at each trial that were repeated, by the trial's number."""
        if not self.stores_disturbed:
            return {}
        return dict(self._rows("SELECT number, count(*) FROM disturbed GROUP BY number ORDER BY number"))

    def disturbed(self) -> list[DisturbedTrial]:
        """Returns the attempts that were repeated because something else disturbed them, in the order in
        which they were made. No figure of the run includes them."""
        if not self.stores_disturbed:
            return []
        planned, trials = self._planned(), []
        for attempt, number, record, reason in self._rows(
            "SELECT attempt, number, record, reason FROM disturbed ORDER BY attempt"
        ):
            if number not in planned:
                raise self.unreadable("disturbed trial", f"trial {number} is not in the plan")
            read = partial(self._scenario, attempt, "disturbed", "attempt")
            trials.append(
                DisturbedTrial(planned[number], self._read(Record, record), read, reason=str(reason))
            )
        return trials

    def _scenario(self, number: int, table: str = "trial", key: str = "number") -> Scenario:
        query = f"SELECT scenario FROM {table} WHERE {key} = ?"
        ((kept,),) = self._rows(query, number)
        if self.study.measured:
            value, expected = "its trials are measurements, which have no scenario", "trials of a backend"
            raise BadInput(OPENING, str(self.directory), value, expected)
        if kept not in self._scenarios:
            self._scenarios[kept] = self._read(Scenario, kept)
        return self._scenarios[kept]

    def failures(self) -> list[Failure]:
        """Returns the trials that were attempted and have no record, in run order, each with its last
        message."""
        rows = self._rows(
            "SELECT number, message, max(failure) FROM failure "  # SQLite: message is that of max(failure)
            "WHERE number NOT IN (SELECT number FROM trial) GROUP BY number ORDER BY number"
        )
        planned, failures = self._planned(), []
        for number, message, _ in rows:
            if number not in planned:
                raise self.unreadable("failure", f"trial {number} is not in the plan")
            failures.append(Failure(planned[number], str(message)))
        return failures

    def pending(self) -> list[PlannedTrial]:
        """Returns the trials that have no record, including failed ones, in run order."""
        finished = {number for (number,) in self._rows("SELECT number FROM trial")}
        return [trial for trial in self.plan if trial.number not in finished]

    def revision(self) -> str:
        """Returns a text that changes whenever anything is added to the run file."""
        tables = ["planned", "session", "session_end", "trial", "failure"]
        tables += ["disturbed"] if self.stores_disturbed else []
        counts = [count for table in tables for (count,) in self._rows(f"SELECT count(*) FROM {table}")]
        return "-".join(map(str, counts))

    def close(self) -> None:
        """Closes the run file, after which the run can't be read any more."""
        self._connection.close()

    def _planned(self) -> dict[int, PlannedTrial]:
        return {trial.number: trial for trial in self.plan}

    def _read(self, kind: type[Model], kept: Any) -> Model:
        """Returns a document of the file; raises BadInput if this version can't read it."""
        try:
            return kind.model_validate_json(unpack(kept))
        except (ValueError, RecursionError) as error:  # pydantic's ValidationError is a ValueError
            what = str(error)
            if isinstance(error, ValidationError):
                what = ".".join(map(str, error.errors(include_url=False)[0]["loc"]))
            raise self.unreadable(kind.__name__.lower(), what) from None

    def unreadable(self, kind: str, what: str) -> BadInput:
        """Returns the error for a document of this kind that this version can't read, with the reason
        `what`."""
        value = f"can't read a {kind} in it: {what}"
        hint = "it was written by another version of nettrial, or it is damaged"
        return BadInput(OPENING, str(self.directory), value, "a run of this version", hint)

    def refuse_foreign(self) -> None:
        """Raises BadInput if the run's directory, or its run file, is not the user's own, so that nothing may
        be written there."""
        try:
            database(self.directory / RUN_FILE, is_written=True)
        except Unsafe as why:
            raise why.as_bad_input("running the trials", self.directory) from None

    @contextmanager
    def session(
        self, environment: Environment, fingerprint: Mapping[str, str] | None = None
    ) -> Iterator[Recorder]:
        """Begins a session of the runner, in which only this process may add trials; raises BadInput during
        another session, and if the run is not the user's own. A run file of an earlier format has no place
        for the fingerprint."""
        self.refuse_foreign()
        with folders.lock(self.directory):
            row = {"started": now(), "environment": as_json(environment)}
            if self._has_fingerprints and fingerprint is not None:
                row["fingerprint"] = json.dumps(dict(fingerprint))
            columns = f"({', '.join(row)}) VALUES ({', '.join(f':{name}' for name in row)})"
            cursor = self._connection.execute(f"INSERT INTO session {columns}", row)
            recorder = Recorder(self._connection, cursor.lastrowid or 0, self._packed)
            try:
                yield recorder
            except BaseException:
                recorder.note = "stopped by an error"
                raise
            finally:
                end = (recorder.number, now(), recorder.note)
                self._connection.execute("INSERT INTO session_end VALUES (?, ?, ?)", end)


def _not_opened(file: Path, error: Exception) -> BadInput:
    """Returns the error for a file that SQLite can't read."""
    name, hint = getattr(error, "sqlite_errorname", ""), ""
    if name == "SQLITE_READONLY_ROLLBACK":
        hint = f"its last change was interrupted, and {file.parent} can't be changed: read a copy of it"
    return BadInput(OPENING, str(file), str(error), "a run file of nettrial", hint)
