"""The rules for ports that anyone can reach: places, connections, and the log."""

import asyncio
import contextlib
import os
import resource
import socket
import time

import pytest

from nettrial.admission import (
    LINES,
    LINES_EACH,
    LINES_SECONDS,
    MOST_NETWORKS,
    Connections,
    Log,
    Seats,
    network,
)
from nettrial.protocols.ndt7.listener import Listener
from nettrial.report.serving import Handler, opened


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:0:1:ffff::1", "2001:db8:0:1::"),
        ("fe80::1%eth0", "fe80::"),
        ("", ""),
    ],
)
def test_the_addresses_of_a_network_count_as_one(address, counted):
    assert network(address) == counted


def test_seats_are_bounded_in_all_and_for_each_network():
    seats = Seats(3, 2)
    addresses = ("2001:db8::1", "2001:db8::2", "2001:db8::3", "192.0.2.1", "192.0.2.2")
    assert [seats.take(address) for address in addresses] == [True, True, False, True, False]
    seats.free("2001:db8::1")
    assert not seats.full("192.0.2.2")
    assert seats.take("192.0.2.2")


def test_an_older_connection_makes_room_for_a_new_one():
    ended, now = [], [0.0]
    connections = Connections(4, 2, 10.0, ended.append, lambda: now[0])
    for name, address in (("a1", "192.0.2.1"), ("a2", "192.0.2.1"), ("b1", "192.0.2.2"), ("a3", "192.0.2.1")):
        connections.admit(name, address)
    assert ended == ["a1"], "a network's oldest makes room for its own"
    connections.admit("c1", "192.0.2.3")
    connections.admit("d1", "192.0.2.4")
    assert ended == ["a1", "a2"], "the network with the most makes room for another"
    connections.release("b1")
    connections.admit("e1", "192.0.2.5")
    connections.admit("f1", "192.0.2.6")
    assert ended == ["a1", "a2", "a3"], "the oldest makes room if all have as many"
    connections.make_room()
    assert ended == ["a1", "a2", "a3", "c1"]
    now[0] = 11.0
    connections.admit("g1", "192.0.2.7")
    connections.expire()
    assert ended == ["a1", "a2", "a3", "c1", "d1", "e1", "f1"]
    assert len(connections) == 1


def test_a_flood_of_one_kind_or_network_hides_no_other_and_is_counted():
    said, now = [], [0.0]
    log = Log(said.append, lambda: now[0])
    for number in range(LINES + 5):
        log.line("refused", f"line {number}\x1b[2J", f"2001:db8::{number:x}")
    assert len(said) == LINES_EACH
    assert "\x1b" not in "".join(said)
    log.line("refused", "another network", "192.0.2.1")
    log.line("test", "a test", "2001:db8::1")
    assert said[-2:] == ["another network", "a test"]
    now[0] = LINES_SECONDS
    log.line("refused", "later", "2001:db8::1")
    assert said[-2:] == [f"{LINES + 5 - LINES_EACH} more lines like the last ones (refused)", "later"]
    for number in range(2 * MOST_NETWORKS):
        log.line("refused", "flood", f"192.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert said.count("flood") == LINES - 1
    assert len(log._each) <= MOST_NETWORKS


@contextlib.contextmanager
def no_descriptors_left():
    """Lowers the limit of file descriptors to the number of those that are open."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = os.dup(0)
    os.close(highest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_listener_goes_on_after_it_had_no_descriptor(caplog):
    async def run():
        said = []
        listener = Listener.opened("127.0.0.1", 0, 8, Log(said.append), most=4, each=4, seconds=60.0)
        served = asyncio.Event()
        loop = asyncio.get_running_loop()

        class Served(asyncio.Protocol):
            def connection_made(self, transport):
                served.set()
                transport.close()

        clients = [socket.socket(), socket.socket()]
        async with listener.watching():
            answering = await loop.create_server(Served, sock=listener)
            with no_descriptors_left():
                clients[0].connect(listener.getsockname())
                while not said:
                    await asyncio.sleep(0.01)
            await served.wait()
            answering.close()
        for client in clients:
            client.close()
        return said

    assert set(asyncio.run(run())) == {"a connection could not be accepted: Too many open files"}
    assert not caplog.records


def test_an_answer_may_take_longer_to_make_than_a_connection_may_last(monkeypatch):
    monkeypatch.setattr("nettrial.report.serving.CONNECTION_SECONDS", 0.05)

    class Slow(Handler):
        def respond(self):
            time.sleep(0.1)
            self.server.service_actions()
            return 200, "text/plain", b"served"

    with opened("127.0.0.1", 0, Slow, "testing") as served, socket.socket() as client:
        client.connect(("127.0.0.1", served.server_port))
        client.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
        served._handle_request_noblock()
        assert client.makefile("rb").read().endswith(b"served")


def test_a_page_goes_on_after_it_had_no_descriptor(caplog):
    class Answers(Handler):
        def respond(self):
            return 200, "text/plain", b"served"

    client = socket.socket()
    with opened("127.0.0.1", 0, Answers, "testing") as served:
        client.connect(("127.0.0.1", served.server_port))
        client.sendall(b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n")
        with no_descriptors_left():
            served._handle_request_noblock()
        assert "a connection could not be accepted: Too many open files" in caplog.text
        served._handle_request_noblock()
        found = b""
        while part := client.recv(1000):
            found += part
        assert found.endswith(b"served")
    client.close()
