"""An engine process, with one request per line on its standard input and one event per line on its standard
output.

The end of its input makes it exit at once, so that it never outlives this process, however this process
ends."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import re
import subprocess
import threading
from enum import Enum
from pathlib import Path
from typing import IO, TypeVar

from pydantic import BaseModel, ValidationError

from nettrial.backends import find
from nettrial.backends.pipes import TooMuch, read_line
from nettrial.bounds import MOST_DOCUMENT_BYTES
from nettrial.fields import without_collector
from nettrial.scenario import Event
from nettrial.systems import APART, CONTROLLERS, GUEST_SYSTEMS, controllers_python, guest_systems

Answer = TypeVar("Answer", bound=BaseModel)

ERROR_TEXT_BYTES = 2000
"""The number of bytes quoted from the end of an engine's error output."""
ANSWER_SHOWN_BYTES = 80
"""The number of bytes quoted from an answer that can't be parsed."""
LONGEST_LINE_BYTES = 4096
"""The length at which lines of an engine's error output are split."""
MOST_EVENT_BYTES = 2 * MOST_DOCUMENT_BYTES
"""The largest size in bytes of an event. A record that a run file can't store must still be read, so that the
error names the trial."""
MOST_WAITING = 2
"""The largest number of events that wait to be taken. A request has one."""
LOG_LINE = re.compile(r"(?:\d\S*\s+)?(ERROR|WARN|INFO|DEBUG|TRACE)\s+")
"""The beginning of a line of the engine's log: an optional time, and the level."""
LEVELS = {
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": logging.DEBUG,
}
"""The level of Python's logging for each level of the engine's."""
LEAVE_SECONDS = 5
"""The time in seconds that an engine may take to exit before it is killed."""


_LOG = logging.getLogger(__name__)


class Loss(Enum):
    """The ways in which an engine is lost."""

    NOT_STARTED = "not started"
    """The system could not start it."""
    ENDED = "ended"
    """It ended by itself, or was ended by a signal."""
    TIMED_OUT = "timed out"
    """It did not answer in time, and was killed."""
    PROTOCOL = "protocol"
    """Its answer does not follow the protocol of this package's version."""
    ABANDONED = "abandoned"
    """Its session, worker or scheduler ended."""

    def remedy(self) -> str:
        """Returns the remedy for a user."""
        return {
            Loss.NOT_STARTED: f"{find.reinstall()}, if the file is not a program for this machine",
            Loss.ENDED: "try again; if the engine ends again, report these lines as a fault of nettrial",
            Loss.TIMED_OUT: "stop other work on this machine, and try again",
            Loss.PROTOCOL: f"{find.reinstall()}: the engine must have the version of this package",
            Loss.ABANDONED: "start the command again",
        }[self]


class EngineLost(Exception):
    """The error for an engine that died, did not answer in time, or sent something other than an event."""

    def __init__(self, message: str, kind: Loss, status: int | None = None, said: str = "") -> None:
        """Creates the error; `status` is the exit status of an engine that ended by itself, and `said` the
        end of its error output."""
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.said = said


class Engine:
    """A running engine."""

    def __init__(self, binary: Path, *arguments: str) -> None:
        """Starts `binary` with `arguments`, such as a backend's name; raises EngineLost if it can't be
        started."""
        self._said = b""
        self._excess = ""
        try:
            self._process = subprocess.Popen(
                [binary, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=os.environ
                | {GUEST_SYSTEMS: str(guest_systems()), CONTROLLERS: controllers_python()}
                | {find.STACKS: str(find.stacks())},
                **APART,  # the terminal's Ctrl-C is for this process, not for the engine
            )
        except OSError as error:
            raise EngineLost(f"can't start {binary}: {error.strerror}", Loss.NOT_STARTED) from None
        # A pipe can't be read with a timeout, but a queue can.
        self._lines: queue.Queue[bytes] = queue.Queue(MOST_WAITING)
        self._reader = threading.Thread(target=self._read, args=[self._process.stdout], daemon=True)
        self._reader.start()
        self._listener = threading.Thread(target=self._listen, args=[self._process.stderr], daemon=True)
        self._listener.start()
        _LOG.debug("engine %d: %s", self._process.pid, " ".join([str(binary), *arguments]))

    def _read(self, output: IO[bytes]) -> None:
        try:
            with output:
                while line := read_line(output, MOST_EVENT_BYTES):
                    self._lines.put(line)
        except TooMuch as error:
            self._excess = f"the engine sent {error}, and was killed"
            self.kill()
        self._lines.put(b"")

    def _listen(self, errors: IO[bytes]) -> None:
        """Passes log lines of the error output on to the log, and keeps the end of the other lines."""
        with errors:
            while line := errors.readline(LONGEST_LINE_BYTES):
                text = line.decode(errors="replace").rstrip()
                logged = LOG_LINE.match(text)
                level = LEVELS[logged[1]] if logged else logging.INFO
                _LOG.log(level, "engine %d: %s", self._process.pid, text[logged.end() :] if logged else text)
                if not logged:
                    self._said = (self._said + line)[-ERROR_TEXT_BYTES:]

    def ask(self, request: BaseModel, timeout: float | None) -> Event:
        """Sends a request and waits for its answer for `timeout` seconds, or without limit if it is None;
        raises EngineLost, after which the engine has ended."""
        return self.exchange(request, Event, timeout)

    def exchange(self, request: BaseModel, answer: type[Answer], timeout: float | None) -> Answer:
        """Sends a document and waits for the document that answers it, like `ask`."""
        line = request.model_dump_json(by_alias=True, exclude_none=True).encode() + b"\n"
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended; the end of its output tells more
            self._process.stdin.write(line)
            self._process.stdin.flush()
        try:
            said = self._lines.get(timeout=timeout)
        except queue.Empty:
            self.kill()
            self.close()
            why = f"the engine did not answer within {timeout:.0f} s and was killed"
            raise EngineLost(why, Loss.TIMED_OUT) from None
        if not said:
            raise self._lost()
        try:
            with without_collector():  # the record of a large trial has a million parts
                return answer.model_validate_json(said)
        except ValidationError:
            self.close()
            shown = said[:ANSWER_SHOWN_BYTES].decode(errors="replace").strip()
            why = f"the engine's answer does not follow its protocol: {shown}"
            raise EngineLost(why, Loss.PROTOCOL) from None

    def _lost(self) -> EngineLost:
        """Returns an error with the way in which the engine died and the end of its error output."""
        status = self.close()
        if self._excess:
            return EngineLost(self._excess, Loss.PROTOCOL, status)
        how = f"was ended by signal {-status}" if status < 0 else f"ended with exit status {status}"
        said = self._said.decode(errors="replace").strip()
        why = f"the engine {how}: {said}" if said else f"the engine {how}"
        return EngineLost(why, Loss.ENDED, status, said)

    @property
    def alive(self) -> bool:
        """Returns whether the process is running."""
        return self._process.poll() is None

    def kill(self) -> None:
        """Ends the process at once. May be called in a signal handler while `ask` waits."""
        self._process.kill()

    def close(self) -> int:
        """Tells the engine to exit, waits until it has, and returns its exit status."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            status = self._process.wait(LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._listener.join(
            LEAVE_SECONDS
        )  # a process that it started may have inherited its error output, and still run
        _LOG.debug("engine %d ended with status %d", self._process.pid, status)
        return status
