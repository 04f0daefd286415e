"""The command `nettrial`, run in a process forked from one that has loaded it.

Loading is most of the CPU time of a short command, and tests run hundreds."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Self
from unittest.mock import patch

ROOT = Path(__file__).parents[1]
LOADED = (
    *("nettrial.cli.app", "nettrial.cli.run", "nettrial.cli.measure", "nettrial.cli.serve"),
    *("nettrial.cli.measured_run", "nettrial.cli.machines", "nettrial.cli.compare", "nettrial.cli.show"),
    *("nettrial.report.screen", "nettrial.report.terminal", "nettrial.report.html"),
    *("tests.forked", "tests.without_report"),
)
"""The modules of the commands that tests run most."""
NAMESPACES = ("net", "pid", "mnt")


@dataclass(frozen=True)
class Command:
    """A command and where it runs."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path = ROOT
    report: bool = True
    """True if a run makes its report, which takes longer than a short run; else the report is one line."""
    inside: int | None = None
    """The process in whose namespaces it runs."""


class Process:
    """A command that runs, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, command: Command) -> None:
        pipes = [_context().Pipe(duplex=False) for _ in range(2)]
        writers = [writer for _, writer in pipes]
        self._process = _context().Process(target=_execute, args=(command, writers))
        self._process.start()
        for writer in writers:
            writer.close()
        assert self._process.pid is not None
        self.pid = self._process.pid
        self.stdout, self.stderr = (os.fdopen(os.dup(reader.fileno())) for reader, _ in pipes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stdout.close()
        self.stderr.close()
        self._process.join()

    @property
    def returncode(self) -> int | None:
        """The exit status, which is negative after a signal; None while it runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Returns the exit status, or None while it runs."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits for its end. Raises subprocess.TimeoutExpired where it takes longer."""
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("nettrial", timeout or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Sends it a signal."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Kills it."""
        self._process.kill()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Returns the rest of what it writes on standard output and standard error, once it has ended. Raises
        subprocess.TimeoutExpired where it takes longer."""
        with ThreadPoolExecutor(2) as readers:
            texts = [readers.submit(stream.read) for stream in (self.stdout, self.stderr)]
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            return texts[0].result(), texts[1].result()


def run(command: Command, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end. Raises subprocess.TimeoutExpired where it takes longer than `timeout`
    seconds."""
    with Process(command) as process:
        output, errors = process.communicate(timeout)
        return subprocess.CompletedProcess(["nettrial", *command.arguments], process.wait(), output, errors)


@cache
def _context() -> ForkServerContext:
    """The server that forks; its environment is that of this process and the path of the modules."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(LOADED))
    with patch.dict(os.environ, PYTHONPATH=str(ROOT)):
        forkserver.ensure_running()
    return context


def _execute(command: Command, outputs: list[Connection]) -> None:
    for descriptor, output in enumerate(outputs, 1):
        os.dup2(output.fileno(), descriptor)
        output.close()
    # Those of the server may be files, which are written otherwise than pipes.
    sys.stdout, sys.stderr = (os.fdopen(descriptor, "w", buffering=1, closefd=False) for descriptor in (1, 2))
    # A shell starts what runs in its background with SIGINT ignored, and tests that run there send it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # The server leaves out what it can't import, and a wrong name would only make tests slow.
    missing = [name for name in LOADED if name not in sys.modules]
    assert not missing, f"not loaded before the fork: {missing}"
    os.environ.clear()
    os.environ.update(command.environment)
    if command.inside is not None:
        _enter(command.inside)
    os.chdir(command.directory)
    sys.argv = ["nettrial", *command.arguments]
    if not command.report:
        from tests.without_report import replace_reports

        replace_reports()
    from nettrial.cli import main

    main()


def _enter(process: int) -> None:
    """Goes on in the namespaces of a process. A process enters a process-ID namespace only by its children: a
    child goes on, and this process ends with the child's exit status."""
    descriptors = [os.open(f"/proc/{process}/ns/{name}", os.O_RDONLY) for name in NAMESPACES]
    setns = ctypes.CDLL(None, use_errno=True).setns
    for descriptor in descriptors:
        if setns(descriptor, 0) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        os.close(descriptor)
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
