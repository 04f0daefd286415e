"""The port of nettrial's own controllers, at which the switches of a trial connect."""

import contextlib
import json
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nettrial.systems import controllers_python
from tests.end_to_end.serving import PATIENCE, environment, until

pytestmark = pytest.mark.end_to_end

HELLO, FEATURES_REQUEST = (struct.pack("!BBHI", 4, kind, 8, 1) for kind in (0, 5))
"""Messages of OpenFlow 1.3 (section 7.1.1 of its specification)."""


@pytest.fixture(scope="module")
def controller() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Runs a controller of two switches as the engine does, and yields it with its port."""
    python = controllers_python()
    if not python:
        pytest.skip("there is no os-ken")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    told = {"application": "learning", "mode": "reactive", "paths": 1, "listen": port}
    told |= {"switches": 2, "links": 1, "hosts": [], "pairs": []}
    process = subprocess.Popen(
        [python, "-m", "nettrial.controllers"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(),
    )
    try:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(told) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline()) == {"event": "listening"}
        yield process, port
    finally:
        process.kill()
        process.wait()


def greeted(port: int) -> bool:
    """Returns whether a switch that says hello is asked for its features."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as switch, switch.makefile("rb") as answers:
        switch.sendall(HELLO)
        while header := answers.read(8):
            _, kind, length, _ = struct.unpack("!BBHI", header)
            if kind == FEATURES_REQUEST[1]:
                return True
            answers.read(length - 8)
    return False


def test_only_this_machine_reaches_it(controller: tuple[subprocess.Popen[str], int]) -> None:
    _, port = controller
    lines = Path("/proc/net/tcp").read_text().splitlines() + Path("/proc/net/tcp6").read_text().splitlines()
    found = [line.split()[1] for line in lines if f":{port:04X} " in line and line.split()[3] == "0A"]
    assert found == [f"0100007F:{port:04X}"], "127.0.0.1"


@given(
    data=st.binary(max_size=200),
    kind=st.integers(0, 30),
    stated=st.integers(0, 300),
    greets=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_hostile_bytes_end_in_nothing(
    controller: tuple[subprocess.Popen[str], int], data: bytes, kind: int, stated: int, greets: bool
) -> None:
    """Arbitrary bytes, and messages with a header of OpenFlow, its length right or wrong."""
    process, port = controller
    message = (HELLO if greets else b"") + struct.pack("!BBHI", 4, kind, stated, 1) + data
    caller = socket.create_connection(("127.0.0.1", port), PATIENCE)
    # The controller may have closed the connection before the last byte.
    with caller, contextlib.suppress(ConnectionError):
        caller.sendall(message)
        caller.shutdown(socket.SHUT_WR)
    assert process.poll() is None
    assert greeted(port)


def test_silent_connections_hinder_no_switch(controller: tuple[subprocess.Popen[str], int]) -> None:
    _, port = controller
    with contextlib.ExitStack() as silent:
        for _ in range(200):
            silent.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
        assert until(lambda: greeted(port), "an answer")
