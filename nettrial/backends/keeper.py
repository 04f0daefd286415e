"""An engine process that is started at the first request, and again after it was lost."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from pydantic import BaseModel

from nettrial.backends import find
from nettrial.backends.engine import Answer, Engine
from nettrial.scenario import Event


class Keeper:
    """The owner of one engine process at a time."""

    def __init__(self, *arguments: str) -> None:
        """Prepares an engine with these `arguments`, the subcommand first, without starting a process; raises
        CannotRun if there is no engine."""
        self._arguments = arguments
        self.binary = find.engine()
        """The path of the engine."""
        self._engine: Engine | None = None
        self._killed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:
            self.kill()
        self.close()

    def close(self) -> None:
        """Ends the engine, if one is running."""
        if self._engine:
            self._engine.close()
            self._engine = None

    def kill(self) -> None:
        """Ends the engine at once, even one that is just being started; its current work is lost. May be
        called in a signal handler and from another thread."""
        self._killed = True
        if self._engine:
            self._engine.kill()

    def event(self, request: BaseModel, timeout: float | None) -> Event:
        """Returns the engine's answer within `timeout` seconds, or without limit; raises EngineLost."""
        return self.exchange(request, Event, timeout)

    def exchange(self, request: BaseModel, answer: type[Answer], timeout: float | None) -> Answer:
        """Returns the document with which the engine answers another, like `event`."""
        if self._engine is None or not self._engine.alive:
            self.close()
            self._engine = Engine(self.binary, *self._arguments)
        if self._killed:
            self._engine.kill()
        return self._engine.exchange(request, answer, timeout)
