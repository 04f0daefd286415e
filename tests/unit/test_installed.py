"""The installed command: the script of `packaging/scripts`, as pip writes it, and not the module that most
tests start."""

import contextlib
import importlib.util
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from nettrial.store import Run
from tests.unit.conftest import ROOT, environment
from tests.unit.test_runner import wait_until

STUDY = ("run", "jumbo-ipv6", "--backend", "sim", "--replicates", "1", "--seed", "1", "--quiet")
LOCAL = (*STUDY, "--on", "local[1]", "--out", "out")
needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None and not os.environ.get("CI"), reason="needs Dask"
)
PAGES = ("/", "/status", "/health", "/metrics", "/info/main/workers.html", "/json/index.html")
"""Pages of Dask's schedulers and workers."""
STRANGER = """
import asyncio, json, os, sys

from distributed import Security
from distributed.comm import connect

async def ask(address, security):
    try:
        comm = await connect(address, timeout=2, **security.get_connection_args("client"))
        await comm.write({"op": "identity", "reply": True})
        return str(await asyncio.wait_for(comm.read(), 2))
    except (OSError, TimeoutError, ValueError):
        return None

async def main():
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    asked = {"tcp": Security(), "tls": Security.temporary()}
    calls = {f"{kind}://127.0.0.1:{port}": each for port in sys.argv[1:] for kind, each in asked.items()}
    answers = await asyncio.gather(*(ask(address, each) for address, each in calls.items()))
    print(json.dumps([[address, answer] for address, answer in zip(calls, answers) if answer]))

asyncio.run(main())
"""
"""A program that connects to ports as another user (if this one is root) with credentials of its own, and
prints the answers."""


@pytest.fixture
def installed(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Returns a function that starts the installed command in an own directory, with variables for the fake
    engine."""
    script = tmp_path / "bin" / "nettrial"
    script.parent.mkdir()
    script.write_text(
        (ROOT / "packaging/scripts/nettrial").read_text().replace("#!python", f"#!{sys.executable}")
    )
    script.chmod(0o755)
    (tmp_path / "work").mkdir()

    def start(*arguments: str, **variables: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [script, *arguments],
            cwd=tmp_path / "work",
            env={**environment(tmp_path), **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def ends_well(process: subprocess.Popen[str]) -> str:
    """Waits for a command's end, and returns its standard output."""
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 0, errors
    return output


@needs_dask
def test_workers_on_this_machine_run_trials_and_import_no_module_left_there(installed, tmp_path: Path):
    planted = [tmp_path / "dask-scratch-space" / "jinja2.py", tmp_path / "work" / "multiprocessing.py"]
    planted[0].parent.mkdir()
    for module in planted:
        module.write_text("open(__file__ + '-was-imported', 'w')\n")
    ends_well(installed(*LOCAL, TMPDIR=str(tmp_path)))
    assert Run.open(tmp_path / "work" / "out").finished() == 12
    assert [*tmp_path.rglob("*-was-imported")] == []


@pytest.fixture
def ports(installed, tmp_path: Path) -> Iterator[list[int]]:
    """Yields the ports at which a run with a worker on this machine listens."""
    psutil = pytest.importorskip("psutil")
    with installed(*LOCAL, FAKE_SECONDS="1", TMPDIR=str(tmp_path)) as run:
        process = psutil.Process(run.pid)

        def of(one: Any) -> list[int]:
            with contextlib.suppress(psutil.NoSuchProcess):  # it ended meanwhile
                sockets = one.net_connections("tcp")
                return [each.laddr.port for each in sockets if each.status == psutil.CONN_LISTEN]
            return []

        def found() -> list[int]:
            return [port for one in [process, *process.children(recursive=True)] for port in of(one)]

        wait_until(lambda: len(found()) >= 5, "the ports of a scheduler, a nanny and a worker")
        yield found()
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=240)


@needs_dask
def test_another_user_of_this_machine_reaches_neither_scheduler_nor_workers(ports: list[int]):
    asked = [sys.executable, "-c", STRANGER, *map(str, ports)]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def first_lines(port: int) -> set[bytes]:
    """Returns the first lines of a server's answers to requests for pages; empty if it speaks no HTTP."""
    lines = set()
    for page in PAGES:
        request = f"GET {page} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
        with (
            contextlib.suppress(ConnectionError),
            socket.create_connection(("127.0.0.1", port), 10) as connection,
        ):
            connection.sendall(request)
            lines.add(connection.makefile("rb").readline().strip())
    return {line for line in lines if line.startswith(b"HTTP")}


@needs_dask
def test_another_user_of_this_machine_can_read_no_page_of_the_run(ports: list[int]):
    assert set().union(*map(first_lines, ports)) == {b"HTTP/1.1 404 Not Found"}
