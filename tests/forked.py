"""The command `nettrial`, run in a process forked from one that has loaded it.

Loading is most of the CPU time of a short command, and tests run hundreds. Tests of what happens to a
process, such as those that kill it, start it by `subprocess`."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from multiprocessing import forkserver
from multiprocessing.context import ForkServerContext
from pathlib import Path
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


def run(command: Command, timeout: float = 600) -> subprocess.CompletedProcess[str]:
    """Runs a command to its end. Raises subprocess.TimeoutExpired where it takes longer than `timeout`
    seconds."""
    words = ["nettrial", *command.arguments]
    with tempfile.TemporaryDirectory() as outputs:
        files = [Path(outputs) / name for name in ("stdout", "stderr")]
        process = _context().Process(target=_execute, args=(command, files))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(words, timeout)
        said = [file.read_text() for file in files]
        return subprocess.CompletedProcess(words, process.exitcode, *said)


@cache
def _context() -> ForkServerContext:
    """The server that forks; its environment is that of this process and the path of the modules."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(LOADED))
    with patch.dict(os.environ, PYTHONPATH=str(ROOT)):
        forkserver.ensure_running()
    return context


def _execute(command: Command, files: list[Path]) -> None:
    for descriptor, file in enumerate(files, 1):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT), descriptor)
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
