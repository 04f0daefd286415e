"""Servers and commands for tests between two programs: nettrial, and the real iperf3."""

import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import forked

ROOT = Path(__file__).parents[2]
TOKEN = "a-token-only-for-these-tests"
EVERYWHERE = ("--bind", "::")
"""The option by which a server listens on every address, of both IP versions."""
PATIENCE = 300.0
"""The time limit in seconds for operations that take milliseconds on a quiet machine."""


def environment(**more: str) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "160", "NO_COLOR": "1", **more}


def nettrial(
    *arguments: str, token: str | None = TOKEN, timeout: float = PATIENCE
) -> subprocess.CompletedProcess[str]:
    """Runs a command until it ends."""
    return forked.run(forked.Command(arguments, _with(token)), timeout)


def start(*arguments: str, token: str | None = TOKEN) -> forked.Process:
    """Starts a command."""
    return forked.Process(forked.Command(arguments, _with(token)))


def _with(token: str | None) -> dict[str, str]:
    return environment(**({"NETTRIAL_TOKEN": token} if token is not None else {}))


class Server:
    """A running `nettrial serve`."""

    def __init__(self, process: forked.Process, log: Path) -> None:
        self.process = process
        self._log = log
        self.port = int(self.await_line(r"serving .* at .*:(\d+)")[1])

    def await_line(self, pattern: str) -> re.Match[str]:
        """Waits until the server has printed a match of the pattern, and returns the match."""
        found = until(lambda: re.search(pattern, self._log.read_text()), f"{pattern} in the log")
        assert isinstance(found, re.Match)
        return found

    @property
    def said(self) -> str:
        return self._log.read_text()

    def children(self) -> list[str]:
        """Returns the processes that the server started: the agents of its sessions."""
        found = []
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # The thread has just ended.
                found += (task / "children").read_text().split()
        return found

    def threads(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))

    def descriptors(self) -> list[Path]:
        return list(Path(f"/proc/{self.process.pid}/fd").iterdir())

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE)


def until(condition: Any, what: str) -> Any:
    """Waits until `condition()` returns a true value, and returns it."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.02)
    raise AssertionError(f"did not come: {what}")


@contextlib.contextmanager
def serving(
    directory: Path, *arguments: str, token: str | None = TOKEN, descriptors: int | None = None
) -> Iterator[Server]:
    """Runs `nettrial serve` on a free port, with at most `descriptors` file descriptors."""
    log = directory / "serve.log"
    log.touch()
    words = ("serve", "--port", "0", *arguments)
    command = forked.Command(words, _with(token), errors=log, descriptors=descriptors)
    with forked.Process(command) as process:
        try:
            yield Server(process, log)
            assert process.poll() in (None, -signal.SIGKILL), f"the server died: {log.read_text()}"
        finally:
            process.kill()


_SPARE = itertools.count(1000 * os.getpid())
"""The places of ports to try, which differ for each process that runs tests."""


def spare_port() -> int:
    """Returns a port of this machine that is free. A connection of another test does not take it before it is
    used, because the kernel gives connections higher ports (net.ipv4.ip_local_port_range)."""
    range_file = Path("/proc/sys/net/ipv4/ip_local_port_range")
    ports = range(10_000, int(range_file.read_text().split()[0]))
    for place in _SPARE:
        port = ports[place * 7 % len(ports)]
        with contextlib.suppress(OSError), socket.create_server(("", port)):
            return port
    raise AssertionError("there is no end of places")


def iperf3() -> str:
    """Returns the path of the real iperf3. Without it, tests are skipped; in CI, that is a failure."""
    found = shutil.which("iperf3")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("iperf3 is not installed")
        pytest.skip("iperf3 is not installed")
    return found


@contextlib.contextmanager
def iperf3_server() -> Iterator[int]:
    """Runs a real iperf3 server, and yields its port."""
    port = spare_port()
    command = [iperf3(), "-s", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def listens() -> bool:
        # A connection would tell, but iperf3 reports one without a cookie as an error.
        return f":{port:04X} " in Path("/proc/net/tcp6").read_text()

    try:
        until(lambda: process.poll() is not None or listens(), "iperf3's port")
        yield port
    finally:
        process.kill()
        process.wait()


def iperf3_client(port: int, *arguments: str, host: str = "127.0.0.1") -> dict[str, Any]:
    """Runs the real client until it ends, and returns its output as JSON."""
    command = [iperf3(), "-c", host, "-p", str(port), "-J", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found
