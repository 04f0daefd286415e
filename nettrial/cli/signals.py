"""SIGINT and SIGTERM as requests to stop what is running."""

from __future__ import annotations

import queue
import signal
import threading
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any

from nettrial.cli.console import say
from nettrial.running.stop import Stop


class Signals:
    """The signals SIGINT and SIGTERM while trials run: the first stops after the running trials, the second
    at once."""

    def __init__(self, stop: Stop, several: bool = False, unit: str = "trial") -> None:
        """Sets the request to make. Several trials may run at once if `several`; `unit` is the word for a
        trial."""
        self._stop = stop
        self._several, self._unit = several, unit
        self._before: dict[signal.Signals, Any] = {}
        self._texts: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._speaker = threading.Thread(target=self._say_texts, daemon=True)

    def __enter__(self) -> Stop:
        self._speaker.start()
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._signalled)
        return self._stop

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._texts.put(None)
        self._speaker.join()

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        self._stop.request()
        if self._stop.at_once:
            return
        unit = self._unit
        which = (f"{unit}s that are", "them") if self._several else (f"{unit} that is", "it")
        text = f"\nfinishing the {which[0]} running; Ctrl-C again abandons {which[1]}"
        # This thread may be in the middle of writing a line, or of starting a thread, and holds a lock then.
        self._texts.put(text)

    def _say_texts(self) -> None:
        while (text := self._texts.get()) is not None:
            with suppress(OSError):
                say(text)
