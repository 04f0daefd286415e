"""A run: its study, plan and finished trials, kept so that a runner killed at any moment loses none."""

from __future__ import annotations

import gc
import json
import shlex
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from nettrial.design import PlannedTrial
from nettrial.errors import BadInput
from nettrial.scenario import Environment, Record, Scenario
from nettrial.store import directory as folders
from nettrial.store import reading
from nettrial.store.lean import lean
from nettrial.store.recorder import Recorder, as_json, now, unpack
from nettrial.store.schema import APPLICATION_ID, FORMAT, FORMAT_OF_PACKED_DOCUMENTS, TABLES, statements
from nettrial.study import Study

Document = TypeVar("Document", bound=BaseModel)

RUN_FILE = "run.sqlite"
OPENING = "opening the run"
READER_SECONDS = 600
"""The time that a runner waits for another process that reads the run. Nothing can be added to the file while
many trials are read, and with SQLite's default of five seconds a report made meanwhile would end the run."""
_RECORDS = "SELECT number, record FROM trial ORDER BY number"


@dataclass(frozen=True)
class Session:
    """One start of the runner."""

    started: datetime
    ended: datetime | None
    """None: it was killed, or goes on."""
    environment: Environment
    note: str
    """The end of the session in words; empty if it has not ended."""


@dataclass(frozen=True)
class Trial:
    """A finished trial."""

    planned: PlannedTrial
    record: Record
    read_scenario: Callable[[], Scenario] = field(repr=False, compare=False)
    """Reads what the backend was given; use `scenario`."""

    @property
    def scenario(self) -> Scenario:
        """The scenario that the backend was given. Read when it is asked for: few readers need it, and of few
        trials. Raises BadInput where this version can't read it."""
        return self.read_scenario()


@dataclass(frozen=True)
class Failure:
    """A trial that gave no record when last tried."""

    planned: PlannedTrial
    message: str


class Run:
    """A run's directory and the file in it. Each change is one transaction."""

    def __init__(self, directory: Path, connection: sqlite3.Connection, version: int) -> None:
        """Use `create` or `open`."""
        self.directory = directory
        self._packed = version >= FORMAT_OF_PACKED_DOCUMENTS
        self._connection = connection
        self._trials: dict[int, Trial] = {}  # those that were read: a record may hold thousands of sizes
        self._scenarios: dict[bytes | str, Scenario] = {}  # as kept: the trials of a treatment share one

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
        """A new run in a directory that must not exist. It appears whole or not at all."""
        with folders.appearing(directory) as temporary:
            connection = sqlite3.connect(temporary / RUN_FILE, isolation_level=None)
            connection.execute("PRAGMA journal_mode = MEMORY")  # nobody knows of the file yet
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
            connection.close()
        return cls.open(directory)

    @classmethod
    def open(cls, directory: Path) -> Run:
        """A run there is; raises BadInput where there is none, or it is from a newer version."""
        file = directory / RUN_FILE
        if not file.is_file():
            there = "has no run" if directory.is_dir() else "does not exist"
            raise BadInput(OPENING, str(directory), there, f"a directory with a {RUN_FILE}")
        try:
            connection = sqlite3.connect(file, isolation_level=None, timeout=READER_SECONDS)
            connection.execute("PRAGMA trusted_schema = OFF")
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            tables = reading.tables(connection)
        except (sqlite3.Error, UnicodeDecodeError) as error:  # the module sqlite3 decodes names by itself
            raise BadInput(OPENING, str(file), str(error), "a run file of nettrial") from None
        if application != APPLICATION_ID:
            connection.close()
            raise BadInput(OPENING, str(file), "it is no run file", "a run file of nettrial")
        if version > FORMAT:
            connection.close()
            hint = "it was written by a newer nettrial: use that, or a newer one"
            raise BadInput(OPENING, str(file), f"format {version}", f"format {FORMAT}", hint)
        run = cls(directory, connection, version)
        if tables != set(TABLES):
            connection.close()
            raise run.unreadable("file", f"it has the tables {', '.join(sorted(tables)) or 'of no run'}")
        connection.execute("PRAGMA synchronous = FULL")
        return run

    def _rows(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Yields what a query finds; raises BadInput where the file is damaged."""
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
        return study, study_text, published_text, seed, command

    @cached_property
    def study(self) -> Study:
        """The study as it was run, options included."""
        return self._read(Study, self._row[0])

    @cached_property
    def study_text(self) -> str:
        """The study file's text."""
        return self._row[1]

    @cached_property
    def published_text(self) -> str | None:
        """The text of the publication's figures."""
        return self._row[2]

    @cached_property
    def seed(self) -> int:
        """The seed of the order of trials."""
        return self._row[3]

    @cached_property
    def command(self) -> str:
        """The command that makes such a run again."""
        return self._row[4]

    @property
    def started_as(self) -> str:
        """The study as that command names it."""
        try:
            return shlex.split(self.command)[2]
        except (ValueError, IndexError):
            raise self.unreadable("command", self.command) from None

    @cached_property
    def plan(self) -> list[PlannedTrial]:
        """Every trial, in the run's order."""
        factors = {name: set(factor.levels) for name, factor in self.study.factors.items()}
        rows = self._rows("SELECT number, block, treatment FROM planned ORDER BY number")
        return [
            reading.planned(number, block, treatment, factors, self.unreadable)
            for number, block, treatment in rows
        ]

    def extend(self, recorder: Recorder, trials: Sequence[PlannedTrial]) -> None:
        """Adds trials to the end of the plan, all or none of them; `recorder` is the session that runs
        them."""
        recorder.planned(trials)
        self.__dict__.pop("plan", None)  # it is read again

    @property
    def sessions(self) -> list[Session]:
        """Every start of the runner, the first one first."""
        rows = self._rows(
            "SELECT started, ended, environment, coalesce(note, '') "
            "FROM session LEFT JOIN session_end USING (session) ORDER BY session"
        )
        return [
            Session(
                reading.moment(started, self.unreadable),
                None if ended is None else reading.moment(ended, self.unreadable),
                self._read(Environment, environment),
                str(note),
            )
            for started, ended, environment, note in rows
        ]

    def trials(self) -> list[Trial]:
        """The finished trials, in the run's order. They stay in memory: of many trials, `each_trial` is for
        those who look at one after the other."""
        with _without_collector():
            self._trials.update({trial.planned.number: trial for trial in self.each_trial()})
        return [self._trials[number] for number in sorted(self._trials)]

    def each_trial(self) -> Iterator[Trial]:
        """Yields the finished trials in the run's order, and keeps none."""
        planned = self._planned()
        for number, record in self._rows(_RECORDS):
            if number not in planned:
                raise self.unreadable("record", f"trial {number} is not in the plan")
            if number in self._trials:
                yield self._trials[number]
            else:
                read = partial(self._scenario, number)
                yield Trial(planned[number], lean(self._read(Record, record)), read)

    def record_texts(self) -> Iterator[tuple[int, str]]:
        """The number and the record of each finished trial, in the run's order, as JSON: for readers that
        take a few figures of many trials. Raises BadInput where one can't be read."""
        for number, kept in self._rows(_RECORDS):
            try:
                text = unpack(kept)
                yield number, text if isinstance(text, str) else text.decode()
            except ValueError as error:
                raise self.unreadable("record", str(error)) from None

    def _scenario(self, number: int) -> Scenario:
        query = "SELECT scenario FROM trial WHERE number = ?"
        ((kept,),) = self._rows(query, number)
        if kept not in self._scenarios:
            self._scenarios[kept] = self._read(Scenario, kept)
        return self._scenarios[kept]

    def failures(self) -> list[Failure]:
        """The trials that were tried and have no record, in the run's order; each with its last message."""
        rows = self._rows(
            "SELECT number, message, max(failure) FROM failure "  # SQLite: message is that of max(failure)
            "WHERE number NOT IN (SELECT number FROM trial) GROUP BY number ORDER BY number"
        )
        planned, found = self._planned(), []
        for number, message, _ in rows:
            if number not in planned:
                raise self.unreadable("failure", f"trial {number} is not in the plan")
            found.append(Failure(planned[number], str(message)))
        return found

    def pending(self) -> list[PlannedTrial]:
        """The trials that have no record, in the run's order; failed ones are among them."""
        finished = {number for (number,) in self._rows("SELECT number FROM trial")}
        return [trial for trial in self.plan if trial.number not in finished]

    def revision(self) -> str:
        """A text that is another one as soon as anything was added to the run file."""
        tables = ("planned", "session", "session_end", "trial", "failure")
        counts = [count for table in tables for (count,) in self._rows(f"SELECT count(*) FROM {table}")]
        return "-".join(map(str, counts))

    def close(self) -> None:
        """Closes the run file; the run can't be read any more."""
        self._connection.close()

    def _planned(self) -> dict[int, PlannedTrial]:
        return {trial.number: trial for trial in self.plan}

    def _read(self, kind: type[Document], kept: Any) -> Document:
        """A document of the file; raises BadInput where this version can't read it."""
        try:
            return kind.model_validate_json(unpack(kept))
        except (ValueError, RecursionError) as error:  # pydantic's ValidationError is a ValueError
            what = str(error)
            if isinstance(error, ValidationError):
                what = ".".join(map(str, error.errors(include_url=False)[0]["loc"]))
            raise self.unreadable(kind.__name__.lower(), what) from None

    def unreadable(self, kind: str, what: str) -> BadInput:
        """The error of a document of the file, of this kind, that this version can't read, and why."""
        value = f"a {kind} in it can't be read: {what}"
        hint = "it was written by another version of nettrial, or it is damaged"
        return BadInput(OPENING, str(self.directory), value, "a run of this version", hint)

    @contextmanager
    def session(self, environment: Environment) -> Iterator[Recorder]:
        """A start of the runner, which alone may add trials; raises BadInput while another has one."""
        with folders.lock(self.directory):
            row = (now(), as_json(environment))
            cursor = self._connection.execute("INSERT INTO session (started, environment) VALUES (?, ?)", row)
            recorder = Recorder(self._connection, cursor.lastrowid or 0, self._packed)
            try:
                yield recorder
            except BaseException:
                recorder.note = "stopped by an error"
                raise
            finally:
                end = (recorder.number, now(), recorder.note)
                self._connection.execute("INSERT INTO session_end VALUES (?, ?, ?)", end)


@contextmanager
def _without_collector() -> Iterator[None]:
    """Reads many documents without the collector of reference cycles, of which they have none: it would look
    through all that were read before, again and again, which takes longer than the reading."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
