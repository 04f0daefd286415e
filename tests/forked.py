"""Runs the command `nettrial` in a process forked from one that has already imported it.

Imports take most of the CPU time of a short command, and tests run hundreds of commands."""

from __future__ import annotations

import ctypes
import importlib
import multiprocessing
import os
import resource
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
    *(
        "nettrial.measuring.measured_run",
        "nettrial.cli.machines",
        "nettrial.cli.compare",
        "nettrial.cli.dry_run",
    ),
    *("nettrial.report.screen", "nettrial.report.terminal", "nettrial.report.html"),
    *("tests.forked", "tests.without_report", "tests.completed"),
)
"""The modules of the commands that tests run most often, and what completes their models."""
NAMESPACES = ("user", "net", "pid", "mnt")
CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1
CAPABILITIES_VERSION = 0x20080522
"""The third version of the kernel's structures, see capget(2)."""
USER = 1000
"""The number of the user without privileges."""


@dataclass(frozen=True)
class Command:
    """A command, and where it runs."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path = ROOT
    report: bool = True
    """True if a run makes its report, which takes longer than a short run; otherwise one line replaces the
    report."""
    charts: bool = True
    """True if a report's page has its charts, which take five seconds of CPU time; otherwise they are
    empty."""
    inside: int | None = None
    """The process whose namespaces the command enters."""
    unprivileged: bool = False
    """True if the command runs in a user namespace of its own, with another user's number and no capability
    (like the fixture `as_user` in tests/lab/conftest.py)."""
    errors: Path | None = None
    """The file that takes standard error instead of a pipe."""
    together: bool = False
    """True if standard error goes where standard output goes."""
    descriptors: int | None = None
    """The largest number of file descriptors; None for that of the test."""
    terminal: Path | None = None
    """The terminal that becomes the command's standard input and outputs, and sends it SIGINT on Ctrl-C."""
    module: str = "nettrial.cli"
    """The module whose function `main` is the command."""


class Process:
    """A running command, with those methods of `subprocess.Popen` that tests use."""

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

    def __exit__(self, kind: type[BaseException] | None = None, *_: object) -> None:
        if kind is not None:  # Nobody else ends the command after an error.
            self.kill()
        self.stdout.close()
        self.stderr.close()
        self._process.join()

    @property
    def returncode(self) -> int | None:
        """The exit status, negative after a signal; None while the command runs."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Returns the exit status, or None while the command runs."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Waits for the end of the command. Raises subprocess.TimeoutExpired if it takes longer than
        `timeout`."""
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("nettrial", timeout or 0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Sends a signal to the command."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """Kills the command."""
        self._process.kill()

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Waits for the end of the command, and returns the rest of its standard output and standard error.
        Raises subprocess.TimeoutExpired if it takes longer than `timeout`."""
        with ThreadPoolExecutor(2) as readers:
            texts = [readers.submit(stream.read) for stream in (self.stdout, self.stderr)]
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            return texts[0].result(), texts[1].result()


def run(command: Command, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    """Runs a command until it ends. Raises subprocess.TimeoutExpired if it takes longer than `timeout`
    seconds."""
    with Process(command) as process:
        output, errors = process.communicate(timeout)
        return subprocess.CompletedProcess(["nettrial", *command.arguments], process.wait(), output, errors)


_ASKED: list[str] = []
"""Further modules that are loaded before the fork."""


def preload(*modules: str) -> None:
    """Has the fork server load further modules, unless it runs already: then each command loads them."""
    _ASKED.extend(modules)


@cache
def _context() -> ForkServerContext:
    """Returns the context of the fork server, whose environment is that of this process with the path of the
    modules."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*LOADED, *_ASKED])
    with patch.dict(os.environ, PYTHONPATH=str(ROOT)):
        forkserver.ensure_running()
    return context


def _execute(command: Command, outputs: list[Connection]) -> None:
    for descriptor, output in enumerate(outputs, 1):
        os.dup2(output.fileno(), descriptor)
        output.close()
    if command.together:
        os.dup2(1, 2)
    if command.terminal is not None:
        os.setsid()  # without a controlling terminal, the first one opened becomes it
        opened = os.open(command.terminal, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(opened, descriptor)
        os.close(opened)
    if command.errors is not None:
        with command.errors.open("w") as errors:
            os.dup2(errors.fileno(), 2)
    # The server's streams may be files, which Python buffers differently from pipes.
    sys.stdout, sys.stderr = (os.fdopen(descriptor, "w", buffering=1, closefd=False) for descriptor in (1, 2))
    # A shell starts background jobs with SIGINT ignored, and tests that run there send SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # The fork server ignores modules that it can't import, so a wrong name would only make tests slow.
    missing = [name for name in LOADED if name not in sys.modules]
    assert not missing, f"not loaded before the fork: {missing}"
    os.environ.clear()
    os.environ.update(command.environment)
    if command.inside is not None:
        _enter(command.inside)
    if command.unprivileged:
        _drop_privileges()
    if command.inside is not None:  # Then a kill of the process outside ends the command.
        _call("prctl", PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL))
    if command.descriptors is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (command.descriptors, command.descriptors))
    os.chdir(command.directory)
    sys.argv = ["nettrial", *command.arguments]
    if not command.report:
        from tests.without_report import replace_reports

        replace_reports()
    if not command.charts:
        patch("nettrial.report.vega.on_page", lambda chart: "<svg></svg>").start()
    importlib.import_module(command.module).main()


def _enter(process: int) -> None:
    """Enters the namespaces of a process. Only child processes are in an entered process-ID namespace: a
    child therefore continues, and this process ends with the child's exit status."""
    own, theirs = Path("/proc/self/ns"), Path(f"/proc/{process}/ns")
    # No process can enter a user namespace in which it is.
    names = [name for name in NAMESPACES if (own / name).readlink() != (theirs / name).readlink()]
    for descriptor in [os.open(theirs / name, os.O_RDONLY) for name in names]:
        _call("setns", descriptor, 0)
        os.close(descriptor)
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _drop_privileges() -> None:
    """Continues in a user namespace, with another user's number and no capability."""
    user, group = os.geteuid(), os.getegid()
    _call("unshare", CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{USER} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{USER} {group} 1")
    _call("capset", (ctypes.c_uint32 * 2)(CAPABILITIES_VERSION), (ctypes.c_uint32 * 6)())


def _call(name: str, *arguments: object) -> None:
    """Calls a function of the C library; raises OSError."""
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)
