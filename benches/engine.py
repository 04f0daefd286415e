"""An engine that runs one trial without the machine's clock, and the time that it takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from nettrial.backends.backend import Configuration
from nettrial.backends.find import engine
from nettrial.backends.virtual import VirtualKernel, find_kernel


@dataclass(frozen=True)
class Trial:
    """A trial that an engine ran."""

    answer: str
    """The engine's answer: the record with its event, as text."""
    seconds: float
    """The time on the clock from the request to the answer."""
    cpu_seconds: float
    """The CPU time of the engine and of all its processes, from its start to its end."""

    @cached_property
    def record(self) -> dict[str, Any]:
        """The trial's record."""
        record: dict[str, Any] = json.loads(self.answer)["record"]
        return record

    @property
    def frames(self) -> int:
        """The number of frames that all interfaces sent."""
        return sum(end["frames_pkts"] for end in self.record["ends"])


class Engine:
    """An engine that runs one trial."""

    def __init__(
        self, cpu: int | None = None, backend: str = "sim", configuration: Configuration | None = None
    ) -> None:
        """Starts it, on that CPU if one is given."""
        pinned = [] if cpu is None else ["taskset", "--cpu-list", str(cpu)]
        command = [*pinned, str(engine()), backend, *(configuration or Configuration()).arguments()]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        self._began = 0.0

    def ask(self, scenario: dict[str, Any], **fields: Any) -> None:
        """Starts the trial, with further fields of the request."""
        request = {"request": "run", "trial": "bench", "scenario": scenario, **fields}
        line = json.dumps(request) + "\n"
        assert self._process.stdin is not None
        self._began = time.monotonic()
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def finish(self) -> Trial:
        """Waits for the trial, and ends the engine. If the trial fails, prints the reason and exits."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        seconds = time.monotonic() - self._began
        # The engine ends when its input does.
        self._process.stdin.close()
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        if '"event":"record"' not in answer[:100]:
            sys.exit(json.loads(answer)["message"] if answer else "the engine ended without an answer")
        return Trial(answer, seconds, usage.ru_utime + usage.ru_stime)


def simulated(scenario: dict[str, Any], **fields: Any) -> Trial:
    """Simulates a scenario in a new engine, with further fields of the request."""
    started = Engine()
    started.ask(scenario, **fields)
    return started.finish()


def in_virtual_time(scenario: dict[str, Any]) -> Trial:
    """Runs a scenario in virtual time in a new engine."""
    started = Engine(backend="virtual", configuration=VirtualKernel(program=find_kernel()))
    started.ask(scenario)
    return started.finish()
