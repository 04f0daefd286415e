"""The installed command: the script of `packaging/scripts`, as pip writes it, and not the module that most
tests start."""

import contextlib
import importlib.util
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nettrial.store import Run
from tests.unit.conftest import ROOT, environment
from tests.unit.test_runner import wait_until

STUDY = (
    *("run", "jumbo-ipv6", "--backend", "sim", "--replicates", "1", "--seed", "1", "--quiet"),
    *("--on", "local[1]", "--out", "out"),
)
needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None and not os.environ.get("CI"), reason="needs Dask"
)
PAGES = ("/", "/status", "/health", "/metrics", "/info/main/workers.html", "/json/index.html")
"""Pages of Dask's schedulers and workers."""
STRANGER = """
import asyncio, json, os, sys

from distributed import Security
from distributed.comm import connect

async def identity(address, security):
    comm = await connect(address, timeout=2, **security.get_connection_args("client"))
    await comm.write({"op": "identity", "reply": True})
    return str(await comm.read())

async def ask(address, security):
    try:  # Dask's time limit does not end a handshake with a server of pages.
        return await asyncio.wait_for(identity(address, security), 10)
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


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the directory of the run, whose own folders have modules that nobody must import."""
    made = tmp_path_factory.mktemp("installed")
    for module in (made / "dask-scratch-space" / "jinja2.py", made / "work" / "multiprocessing.py"):
        module.parent.mkdir()
        module.write_text("open(__file__ + '-was-imported', 'w')\n")
    return made


@pytest.fixture(scope="module")
def run(directory: Path) -> Iterator[subprocess.Popen[str]]:
    """Yields a run of the installed command with a worker on this machine. Its third trial waits for a file
    `go-on`. The tests share it: a scheduler, a nanny and a worker take seconds of CPU time to start."""
    script = directory / "bin" / "nettrial"
    script.parent.mkdir()
    script.write_text(
        (ROOT / "packaging/scripts/nettrial").read_text().replace("#!python", f"#!{sys.executable}")
    )
    script.chmod(0o755)
    with subprocess.Popen(
        [script, *STUDY],
        cwd=directory / "work",
        env={**environment(directory), "FAKE_WAIT": "3", "TMPDIR": str(directory)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        yield process
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=300)


@pytest.fixture(scope="module")
def ports(run: subprocess.Popen[str], directory: Path) -> list[int]:
    """Returns the ports at which the run listens."""
    psutil = pytest.importorskip("psutil")
    process = psutil.Process(run.pid)

    def of(one: Any) -> list[int]:
        with contextlib.suppress(psutil.NoSuchProcess):  # it ended meanwhile
            sockets = one.net_connections("tcp")
            return [each.laddr.port for each in sockets if each.status == psutil.CONN_LISTEN]
        return []

    def found() -> list[int]:
        return [port for one in [process, *process.children(recursive=True)] for port in of(one)]

    wait_until((directory / "work" / "waits-3").exists, "the trial that waits")
    assert len(found()) >= 5, "the ports of a scheduler, a nanny and a worker"
    return found()


@needs_dask
def test_another_user_of_this_machine_reaches_neither_scheduler_nor_workers(ports: list[int]):
    asked = [sys.executable, "-c", STRANGER, *map(str, ports)]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def first_lines(port: int) -> set[bytes]:
    """Returns the first lines of a server's answers to requests for pages; empty if it speaks no HTTP."""
    lines = set()
    for page in PAGES:
        request = f"GET {page} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
        with (
            contextlib.suppress(ConnectionError),
            socket.create_connection(("127.0.0.1", port), 300) as connection,
        ):
            connection.sendall(request)
            lines.add(connection.makefile("rb").readline().strip())
    return {line for line in lines if line.startswith(b"HTTP")}


@needs_dask
def test_another_user_of_this_machine_can_read_no_page_of_the_run(ports: list[int]):
    assert set().union(*map(first_lines, ports)) == {b"HTTP/1.1 404 Not Found"}


@needs_dask
def test_workers_on_this_machine_run_trials_and_import_no_module_left_there(
    run: subprocess.Popen[str], ports: list[int], directory: Path
):
    """Comes last, because it ends the run."""
    (directory / "work" / "go-on").touch()
    _, errors = run.communicate(timeout=300)
    assert run.returncode == 0, errors
    assert Run.open(directory / "work" / "out").finished() == 12
    assert [*directory.rglob("*-was-imported")] == []
