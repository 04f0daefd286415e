"""The port of nettrial's own controllers, at which the switches of a trial connect."""

import contextlib
import json
import os
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nettrial.systems import controllers_python
from tests.end_to_end.serving import PATIENCE, environment, spare_port, until

pytestmark = pytest.mark.end_to_end

HELLO, FEATURES_REQUEST = (struct.pack("!BBHI", 4, kind, 8, 1) for kind in (0, 5))
"""Messages of OpenFlow 1.3 (section 7.1.1 of its specification)."""
PLACES = 2 * 2 + 8
"""The largest number of connections of a controller of two switches."""


@pytest.fixture(scope="module")
def controller() -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Runs a controller of two switches as the engine does, and yields it with its port."""
    python = controllers_python()
    if not python:
        pytest.skip("there is no os-ken")
    port = spare_port()
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


def held(process: subprocess.Popen[str]) -> tuple[int, int]:
    """Returns the numbers of threads and of descriptors of a process."""
    threads, descriptors = (len(os.listdir(f"/proc/{process.pid}/{of}")) for of in ("task", "fd"))
    return threads, descriptors


def features(datapath: int) -> bytes:
    """Returns the messages by which a switch with this datapath tells its features and that it has no
    ports."""
    body = struct.pack("!QIBBHII", datapath, 0, 1, 0, 0, 0, 0)
    ports = struct.pack("!HHI", 13, 0, 0)
    messages = [(6, body), (19, ports)]
    return HELLO + b"".join(struct.pack("!BBHI", 4, kind, 8 + len(of), 1) + of for kind, of in messages)


def ended(connection: socket.socket) -> bool:
    """Waits for the far end to close the connection."""
    with contextlib.suppress(ConnectionError):
        while connection.recv(4096):
            pass
    return True


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


def test_connections_are_bounded_and_leave_nothing(controller: tuple[subprocess.Popen[str], int]) -> None:
    process, port = controller
    until(lambda: held(process)[1] < PLACES, "the end of the connections of other tests")
    threads, descriptors = held(process)
    with contextlib.ExitStack() as silent:
        callers = [
            silent.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE)) for _ in range(100)
        ]
        # The oldest one had to leave once there was no place for a further one.
        assert all(ended(caller) for caller in callers[: 100 - PLACES])
        until(lambda: held(process)[1] <= descriptors + PLACES, "the end of old connections")
        # A connection has two threads, one more when it begins, and its first one may still be ending.
        until(lambda: held(process)[0] <= threads + 4 * PLACES, "the end of the threads of old connections")
    until(lambda: held(process)[0] <= threads, "the end of all threads")
    until(lambda: held(process)[1] <= descriptors, "the end of all connections")


def test_only_the_switches_of_the_trial_are_served_each_once(
    controller: tuple[subprocess.Popen[str], int],
) -> None:
    process, port = controller
    connect = lambda: socket.create_connection(("127.0.0.1", port), PATIENCE)  # noqa: E731
    with connect() as stranger, connect() as switch, connect() as again:
        stranger.sendall(features(3))
        assert ended(stranger), "there are two switches"
        switch.sendall(features(1))
        until(lambda: flow_mods(switch), "rules")
        again.sendall(features(1))
        until(lambda: flow_mods(again), "rules")
        assert ended(switch), "it has connected again"
    assert process.poll() is None


def flow_mods(switch: socket.socket) -> bool:
    """Returns whether the next message is a rule for a switch."""
    header = switch.recv(8, socket.MSG_WAITALL)
    assert header, "the controller has closed the connection"
    _, kind, length, _ = struct.unpack("!BBHI", header)
    switch.recv(length - 8, socket.MSG_WAITALL)
    return bool(kind == 14)
