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

pytestmark = pytest.mark.end_to_end

DESCRIPTORS = 40
TICKS = os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def agent() -> Iterator[subprocess.Popen[str]]:
    """Runs an agent that may open few file descriptors."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))

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
    side: dict[str, Any] = {"flow": flow, "cookie": [0] * 16, "address": "127.0.0.1"}
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


def test_strangers_that_take_all_descriptors_cost_no_cpu_time() -> None:
    with agent() as process, contextlib.ExitStack() as strangers:
        port = listening(process)
        for _ in range(2 * DESCRIPTORS):
            strangers.enter_context(socket.create_connection(("127.0.0.1", port), 10))
        before = cpu_seconds(process)
        time.sleep(3)
        # An agent that calls accept() again and again without a free descriptor uses a whole CPU.
        assert cpu_seconds(process) - before < 0.2
