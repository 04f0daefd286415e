"""The agent's data ports, which unknown clients can reach during a flow."""

import contextlib
import json
import os
import resource
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nettrial.backends import find
from tests.end_to_end.serving import PATIENCE, until

pytestmark = pytest.mark.end_to_end

TICKS = os.sysconf("SC_CLK_TCK")
COOKIE = bytes(16)
"""The secret of the flow."""
INSPECTS = b"\0"
"""The purpose of a connection that is inspected before the traffic."""


@contextlib.contextmanager
def agent(descriptors: int) -> Iterator[subprocess.Popen[str]]:
    """Runs an agent that may open that many file descriptors."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    process = subprocess.Popen(
        [find.engine(), "agent"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=limit,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def listening(process: subprocess.Popen[str]) -> int:
    """Makes the agent listen for a transfer and returns the port."""
    traffic = {"kind": "transfer", "duration": "1 s"}
    flow = {"name": "x", "from": "a", "to": "b", "transport": "tcp", "ip": 4, "traffic": traffic}
    side: dict[str, Any] = {"flow": flow, "cookie": list(COOKIE), "address": "127.0.0.1"}
    side |= {"congestion_control": "reno", "clock_offset": None}
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"number": 1, "command": {"listen": side}}) + "\n")
    process.stdin.flush()
    port = json.loads(process.stdout.readline())["reply"]["listening"]["port"]
    assert isinstance(port, int)
    return port


def cpu_seconds(process: subprocess.Popen[str]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


@pytest.mark.parametrize(("descriptors", "strangers"), [(40, 80), (1024, 1000)])
def test_silent_strangers_cost_no_cpu_time_and_keep_nobody_out(descriptors: int, strangers: int) -> None:
    """With 40 descriptors, the strangers take all of them; with 1024, most of them are sent away."""
    with agent(descriptors) as process, contextlib.ExitStack() as open_ones:
        port = listening(process)
        for _ in range(strangers):
            open_ones.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))

        def is_idle() -> bool:
            before = cpu_seconds(process)
            time.sleep(3)
            return cpu_seconds(process) - before < 0.2

        # An agent that calls accept() again and again without a free descriptor uses a whole CPU. On a busy
        # machine, one that does not may still have strangers to send away.
        until(is_idle, "a time in which the agent is idle")
        if descriptors < strangers:
            return
        for held in ("fd", "task"):
            until(
                lambda held=held: len(os.listdir(f"/proc/{process.pid}/{held}")) < 100, "few of the strangers"
            )
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as known:
            known.sendall(COOKIE + INSPECTS)
            assert len(known.recv(1)) == 1
