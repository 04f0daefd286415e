"""The real iperf3 client against `nettrial serve --iperf3`, and `nettrial measure --iperf3` against the real
server."""

import contextlib
import itertools
import json
import os
import re
import select
import socket
import struct
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nettrial.analysis import mean_interval
from nettrial.cli.documents.measure import MeasureDocument
from tests.end_to_end.serving import (
    EVERYWHERE,
    PATIENCE,
    Server,
    iperf3,
    iperf3_client,
    iperf3_server,
    nettrial,
    serving,
    until,
)
from tests.measuring import nothing, timers_now, until_it_holds

pytestmark = pytest.mark.end_to_end

COOKIES = (b"%036d\0" % number for number in itertools.count())
"""The secrets of tests, a different one for each; the server accepts any letters."""
COOKIE_BYTES = 37
"""The length of a secret with its zero byte."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    iperf3()
    with serving(tmp_path_factory.mktemp("iperf3"), "--iperf3", *EVERYWHERE) as running:
        yield running


TIME = ("-t", "1")
PACED = (*TIME, "-b", "40M")
"""Without a rate, a test over loopback takes all CPUs."""
RATE = 4_000_000
UDP_BYTES = 1000
"""The payload of the UDP tests' packets."""

OPTIONS: dict[str, tuple[str, ...]] = {
    "tcp": TIME,
    "reverse": (*TIME, "-R"),
    "in both directions": (*PACED, "--bidir"),
    "parallel": (*PACED, "-P", "4"),
    "parallel reverse": (*PACED, "-P", "4", "-R"),
    "parallel in both directions": (*PACED, "-P", "3", "--bidir"),
    "bytes": ("-n", "3M"),
    "bytes reverse": ("-n", "3M", "-R"),
    "blocks": ("-k", "50"),
    "rate": (*TIME, "-b", "4M"),
    "rate reverse": (*TIME, "-b", "4M", "-R"),
    "length": (*PACED, "-l", "4K"),
    "segment size": (*PACED, "-M", "1000"),
    "congestion control": (*PACED, "-C", "reno", "-R"),
    "window": (*PACED, "-w", "64K"),
    "omit": (*PACED, "-O", "1"),
    "omit reverse": (*PACED, "-O", "1", "-R"),
    "no delay": (*PACED, "-N"),
    "type of service": (*PACED, "-S", "0x10", "-R"),
    "without copying": (*PACED, "-Z"),
    "the server's output": (*PACED, "--get-server-output"),
    "udp": (*TIME, "-u", "-b", "4M", "-l", "1000"),
    "udp reverse": (*TIME, "-u", "-b", "4M", "-l", "1000", "-R"),
    "udp in both directions": (*TIME, "-u", "-b", "4M", "-l", "1000", "--bidir"),
    "udp parallel": (*TIME, "-u", "-b", "4M", "-l", "1000", "-P", "4"),
    "udp with 64-bit numbers": (*TIME, "-u", "-b", "4M", "-l", "1000", "--udp-counters-64bit"),
    "udp bytes": ("-u", "-b", "4M", "-l", "1000", "-n", "200K"),
    "udp omit": (*TIME, "-u", "-b", "4M", "-l", "1000", "-O", "1"),
    "udp as fast as it goes": (*TIME, "-u", "-b", "0", "-l", "1000"),
}


def plausible(found: float, rate: float, most: float = 1.2) -> bool:
    """Returns whether a test with this rate may have had the found one, which is at most so many times the
    rate. A busy machine sends less; in a wrong unit the rate would differ by a factor of eight."""
    return rate / 6 < found < most * rate


@pytest.mark.settles
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_an_unmodified_client_is_content(server: Server, options: tuple[str, ...]) -> None:
    found = iperf3_client(server.port, *options)
    assert "error" not in found, found.get("error")
    end = found["end"]
    streams = int(options[options.index("-P") + 1]) if "-P" in options else 1
    both = "--bidir" in options
    assert len(end["streams"]) == streams * (2 if both else 1)
    # After an omitted second, client and server begin to count a fifth of a second apart on a busy
    # machine. An end that omits nothing has counted twice as much.
    most = 1.7 if "-O" in options else 1.2
    suffixes = ["", "_bidir_reverse"] if both else [""]
    for suffix in suffixes:
        sent, came = end[f"sum_sent{suffix}"], end[f"sum_received{suffix}"]
        assert came["bytes"] > 0
        # Packets in flight at the end were sent and not received; a receiver may wait for them.
        if "-b" in options and "0" not in options:
            assert sent["bytes"] / 6 < came["bytes"] < most * sent["bytes"]
        if "4M" in options and "-n" not in options:
            assert plausible(came["bits_per_second"], RATE * streams, most)
        if "-u" in options and "0" not in options:
            # A receiver that a busy machine does not run for a while loses packets, and must count them.
            received = came["packets"] - came["lost_packets"]
            assert came["lost_packets"] >= 0
            # Before 3.14, a client subtracts the packets that it omitted itself from the server's count.
            if "-O" not in options:
                assert received * UDP_BYTES == came["bytes"]
    if "-C" in options:
        assert end["sender_tcp_congestion"] == "reno"
    if "-n" in options and "-R" not in options and "-u" not in options:
        assert end["sum_received"]["bytes"] == end["sum_sent"]["bytes"] >= 3 << 20
    if options == (*TIME, "-R"):
        assert end["sum_sent"]["retransmits"] >= 0


@pytest.mark.parametrize("options", [PACED, (*PACED, "-R"), (*TIME, "-u"), (*TIME, "-u", "-R")])
def test_ipv6(server: Server, options: tuple[str, ...]) -> None:
    found = iperf3_client(server.port, *options, host="::1")
    assert "error" not in found, found.get("error")
    assert found["end"]["sum_received" if "-u" not in options else "sum"]["bytes"] > 0


@pytest.mark.settles
def test_several_clients_at_once(server: Server) -> None:
    """Each client runs a test of its own. The server assigns the UDP streams of one address to the right
    tests."""
    rates = [1, 2, 3, 4]
    mixed = [("-u", "-b", f"{rate}M", "-l", "1000", "-P", str(rate)) for rate in rates]
    mixed += [
        (
            "-b",
            "5M",
        ),
        ("-b", "5M", "-R"),
    ]
    with ThreadPoolExecutor(len(mixed)) as pool:
        results = list(pool.map(lambda options: iperf3_client(server.port, *TIME, *options), mixed))
    for options, found in zip(mixed, results, strict=True):
        assert "error" not in found, (options, found.get("error"))
    for rate, found in zip(rates, results, strict=False):
        end = found["end"]
        assert len(end["streams"]) == rate
        # The streams of another test would be packets too many, and leave one of them without any.
        total = end["sum"]
        assert plausible(total["bits_per_second"], rate * rate * 1e6)
        assert (total["packets"] - total["lost_packets"]) * UDP_BYTES == total["bytes"]
        assert all(stream["udp"]["bytes"] > 0 for stream in end["streams"])


def parameters(transport: str = "tcp", **more: Any) -> bytes:
    text = json.dumps({transport: True, "parallel": 1, "time": 1, "omit": 0, **more}).encode()
    return struct.pack(">I", len(text)) + text


def received(connection: socket.socket, length: int) -> bytes:
    """Returns this number of bytes, or fewer if the connection ends before."""
    found = b""
    while len(found) < length and (more := connection.recv(length - len(found))):
        found += more
    return found


def begin(server: Server) -> tuple[socket.socket, bytes]:
    """Returns the control connection of a new test and its cookie. On a busy machine the seats of ended tests
    become free only after a while; until then the server answers that it is busy."""

    def attempt() -> tuple[socket.socket, bytes] | None:
        control, cookie = server.connect(), next(COOKIES)
        control.sendall(cookie)
        answer = control.recv(1)
        assert answer in (b"\x09", b"\xff")
        return (control, cookie) if answer == b"\x09" else None

    found = until(attempt, "a seat")
    assert isinstance(found, tuple)
    return found


def test_a_duplicate_hides_no_loss(server: Server) -> None:
    """The server receives datagrams 1, 2, 4, 4, 3 (late) and 7: of seven, 5 and 6 are lost."""
    control, _ = begin(server)
    with control, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stream:
        control.sendall(parameters("udp", len=100))
        assert control.recv(1) == b"\x0a"
        stream.connect(("127.0.0.1", server.port))
        stream.settimeout(PATIENCE)
        stream.send(b"9876")
        assert stream.recv(4) == b"6789"
        assert received(control, 2) == b"\x01\x02"
        for number in (1, 2, 4, 4, 3, 7):
            stream.send(struct.pack(">III", 1, 0, number) + bytes(88))
        control.sendall(b"\x04")
        assert control.recv(1) == b"\x0d"
        results = b'{"streams": [], "cpu_util_total": 0, "cpu_util_user": 0, "cpu_util_system": 0, '
        results += b'"sender_has_retransmits": 0}'
        control.sendall(struct.pack(">I", len(results)) + results)
        (length,) = struct.unpack(">I", received(control, 4))
        found = json.loads(received(control, length))
        assert (found["streams"][0]["packets"], found["streams"][0]["errors"]) == (7, 2)
        assert found["streams"][0]["bytes"] == 600
        assert control.recv(1) == b"\x0e"


@pytest.mark.parametrize(
    ("given", "number"),
    [({"transport": "sctp"}, 13), ({"parallel": 1000}, 6), ({"len": 1 << 30}, 7), ({"time": 10**6}, 5)],
)
def test_what_cannot_be_served_is_refused_with_iperf3s_number(
    server: Server, given: dict[str, Any], number: int
) -> None:
    control, _ = begin(server)
    with control:
        control.sendall(parameters(**given))
        assert received(control, 9) == b"\xfe" + struct.pack(">ii", number, 0)


@given(data=st.binary(max_size=300), stage=st.sampled_from(["cookie", "parameters", "streams", "running"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hostile_bytes_end_in_nothing(server: Server, data: bytes, stage: str) -> None:
    """Arbitrary bytes arrive at every stage of a test, on both ports; afterwards the server serves a
    well-behaved client."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagram:
        datagram.sendto(data, ("127.0.0.1", server.port))
    control, cookie = (server.connect(), b"") if stage == "cookie" else begin(server)
    with control:
        if stage in ("streams", "running"):
            control.sendall(parameters())
            assert control.recv(1) == b"\x0a"
        if stage == "running":
            with server.connect() as stream:
                stream.sendall(cookie)
                assert received(control, 2) == b"\x01\x02"
                stream.sendall(data)
        control.sendall(data)
    assert server.process.poll() is None


def test_the_silent_and_the_half_open_hinder_nobody(server: Server) -> None:
    """The server serves a client while 50 clients are silent and one stops in the middle of a test."""
    idle = [server.connect() for _ in range(50)]
    stuck, _ = begin(server)
    stuck.sendall(parameters("udp"))
    found = iperf3_client(server.port, *PACED)
    assert "error" not in found
    for caller in [*idle, stuck]:
        caller.close()
    until(lambda: server.threads() < 40, "the threads of those who left")


def test_connections_of_a_known_cookie_lock_nobody_out(tmp_path: Path) -> None:
    """An attacker sends its cookie on 700 connections to a server with the usual 1,024 file descriptors.

    A test's cookie admits as many connections as the test has streams; the server closes all others."""
    with (
        serving(tmp_path, "--iperf3", *EVERYWHERE, descriptors=1024) as server,
        contextlib.ExitStack() as open_ones,
    ):
        control, cookie = begin(server)
        open_ones.enter_context(control)
        control.sendall(parameters(time=3600))
        assert control.recv(1) == b"\x0a"
        stream = open_ones.enter_context(server.connect())
        stream.sendall(cookie)
        assert received(control, 2) == b"\x01\x02"
        kilobyte = bytes(1000)  # Who sends less in half a minute is silent, and the server ends the test.
        for _ in range(700):
            stream.sendall(kilobyte)
            open_ones.enter_context(server.connect()).sendall(cookie)

        def few() -> bool:
            stream.sendall(kilobyte)
            return len(server.descriptors()) < 100

        until(few, "the end of the connections that are too many")
        control.setblocking(False)
        with pytest.raises(BlockingIOError):
            control.recv(1)  # The test continues, so its end is not the reason for the closed connections.
        found = iperf3_client(server.port, *PACED)
        assert "error" not in found, found.get("error")


def test_a_congestion_control_that_is_not_loaded_is_not_asked_for(server: Server) -> None:
    """The kernel would load a module; a client's request must not make it do so."""
    available = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
    modules = Path("/lib/modules", os.uname().release, "kernel/net/ipv4")
    names = [file.name.split(".")[0].removeprefix("tcp_") for file in modules.glob("tcp_*.ko*")]
    unloaded = [name for name in names if name not in available.read_text().split()]
    for name in [*unloaded, "../evil"]:
        control, cookie = begin(server)
        with control, server.connect() as stream:
            control.sendall(parameters(congestion=name))
            assert control.recv(1) == b"\x0a"
            stream.sendall(cookie)
            assert received(control, 2) == b"\x01\x02"
        assert name not in available.read_text().split()


def test_a_flood_of_refusals_hides_no_test(tmp_path: Path) -> None:
    with serving(tmp_path, "--iperf3", *EVERYWHERE) as server:
        for _ in range(100):
            with server.connect() as caller:
                caller.sendall(b"\x1b]0;title\x07 is no iperf3 client's cookie")
        until(lambda: "no iperf3 client" in server.said, "a refusal")
        control, _ = begin(server)
        with control:
            control.sendall(parameters(client_version="\x1b[2J3.12"))
            server.await_line(r"test of 127\.0\.0\.1:\d+: 1 stream over TCP, to here, iperf3 .*3\.12")
        assert server.said.count("no iperf3 client") <= 10
        assert "\x1b" not in server.said


def test_a_killed_client_is_no_burden(server: Server) -> None:
    control, cookie = begin(server)
    control.sendall(parameters(reverse=True, time=60))
    assert control.recv(1) == b"\x0a"
    stream = server.connect()
    stream.sendall(cookie)
    assert received(control, 2) == b"\x01\x02"
    busy = server.threads()
    control.close()
    stream.close()
    until(lambda: server.threads() < busy, "the end of the test of who left")


@pytest.mark.settles
@pytest.mark.parametrize("kind", ["tcp", "udp"])
@pytest.mark.parametrize("reverse", [(), ("--reverse",)], ids=["to", "from"])
def test_measure_against_the_real_server(kind: str, reverse: tuple[str, ...]) -> None:
    with iperf3_server() as port:
        more = ["--rate", "4 Mbit/s", "--size", "1000 B"]
        done = nettrial(
            *["measure", "127.0.0.1", kind, "--iperf3", "--port", str(port), *more, *reverse],
            *["--replicates", "3", "--time", "500 ms", "--json"],
        )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    figures = {figure["metric"]: figure for figure in found["metrics"]}
    assert figures["goodput"]["repeats"] == 3
    assert plausible(figures["goodput"]["mean"], 4)
    flow = found["records"][0]["flows"][0]
    assert flow["transport"] == kind
    if kind == "udp":
        counts = flow["packets"]
        assert counts["received_pkts"] > 0
        assert counts["received_pkts"] * UDP_BYTES == flow["bytes"]
        assert counts["received_pkts"] + counts["lost_pkts"] <= counts["sent_pkts"]


@pytest.mark.settles
@pytest.mark.parametrize(("kind", "reverse"), [("tcp", ()), ("udp", ("--reverse",))])
def test_parallel_streams_against_the_real_server(kind: str, reverse: tuple[str, ...]) -> None:
    with iperf3_server() as port:
        done = nettrial(
            *["measure", "127.0.0.1", kind, "--iperf3", "--port", str(port), "-P", "3", *reverse],
            *["--rate", "4M", "--size", "1000", "--replicates", "2", "--time", "500 ms", "--json"],
        )
    assert done.returncode == 0, done.stderr
    found = MeasureDocument.model_validate_json(done.stdout)
    for record in found.records:
        assert [flow["name"] for flow in record["flows"]] == ["measured-1", "measured-2", "measured-3"]
        assert record["warnings"] == [] or record["warnings"][0]["code"] != "no_server_results"
        assert all(flow["bytes"] > 0 for flow in record["flows"])
    together = next(each.mean for each in found.metrics if each.metric == "goodput")
    assert together is not None
    assert plausible(together, 12)


@pytest.mark.measures
@pytest.mark.slow
def test_measure_and_iperf3s_own_client_agree() -> None:
    """Measures against one server in turns: both goodputs are equal within the interval of their difference.

    Both transports have a rate, because the highest rate depends on other work on the machine."""
    until_it_holds(nothing, lambda _: pairs_agree(), timers_now)


def pairs_agree() -> None:
    """Compares three pairs of measurements for each transport."""
    ours: dict[str, list[float]] = {"tcp": [], "udp": []}
    theirs: dict[str, list[float]] = {"tcp": [], "udp": []}
    losses = []
    with iperf3_server() as port:
        for _ in range(3):
            for kind, options in (("tcp", ()), ("udp", ("-u",))):
                found = iperf3_client(port, *options, "-b", "8M", "-l", "1000", *TIME)
                end = found["end"]["sum_received"]
                theirs[kind].append(end["bits_per_second"] / 1e6)
                done = nettrial(
                    *["measure", "127.0.0.1", kind, "--iperf3", "--port", str(port), "--replicates", "1"],
                    *["--rate", "8 Mbit/s", "--size", "1000 B", "--time", "1 s", "--json"],
                )
                assert done.returncode == 0, done.stderr
                record = json.loads(done.stdout)["records"][0]["flows"][0]
                ours[kind].append(record["goodput_bps"] / 1e6)
                if kind == "udp":
                    losses.append((record["packets"]["lost_pkts"], end["lost_packets"]))
    assert all(pair == (0, 0) for pair in losses), losses
    for kind in ("tcp", "udp"):
        differences = [a - b for a, b in zip(ours[kind], theirs[kind], strict=True)]
        interval = mean_interval(differences)
        assert interval is not None
        assert interval.contains(0) or max(map(abs, differences)) < 0.02 * 8, (kind, differences)


def test_measure_against_our_own_server(server: Server, tmp_path: Path) -> None:
    done = nettrial(
        *["measure", "127.0.0.1", "udp", "--iperf3", "--port", str(server.port)],
        *["--rate", "4 Mbit/s", "--replicates", "2", "--time", "500 ms", "--reverse"],
    )
    assert done.returncode == 0, done.stderr
    assert "Goodput" in done.stdout
    assert "Jitter (RFC 3550)" in done.stdout


def serve_without_results(listener: socket.socket) -> None:
    """Serves one TCP test of one stream as an iperf3 server, and reports no streams at its end."""

    def document(connection: socket.socket) -> bytes:
        return received(connection, struct.unpack(">I", received(connection, 4))[0])

    control, _ = listener.accept()
    with control:
        received(control, COOKIE_BYTES)
        control.sendall(b"\x09")
        document(control)
        control.sendall(b"\x0a")
        stream, _ = listener.accept()
        with stream:
            received(stream, COOKIE_BYTES)
            control.sendall(b"\x01\x02")
            while control not in select.select([control, stream], [], [], PATIENCE)[0]:
                stream.recv(1 << 20)
            assert received(control, 1) == b"\x04"
            control.sendall(b"\x0d")
            document(control)
            unused = dict.fromkeys(("cpu_util_total", "cpu_util_user", "cpu_util_system"), 0)
            results = json.dumps({**unused, "sender_has_retransmits": -1, "streams": []}).encode()
            control.sendall(struct.pack(">I", len(results)) + results + b"\x0e")
            assert received(control, 1) == b"\x10"


def test_a_server_that_reports_no_streams_is_told_and_gives_no_goodput() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serve = [partial(serve_without_results, listener)] * 2  # a warm-up, and the measurement
        Thread(target=lambda: [each() for each in serve], daemon=True).start()
        done = nettrial(
            *["measure", "127.0.0.1", "tcp", "--iperf3", "--port", str(listener.getsockname()[1])],
            *["--rate", "4 Mbit/s", "--replicates", "1", "--time", "500 ms"],
        )
    assert done.returncode == 0, done.stderr
    assert "the iperf3 server's results lack the stream" in done.stdout + done.stderr
    assert not re.search(r"Goodput.* 0\.0", done.stdout), done.stdout


def test_no_server_is_exit_3() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
        done = nettrial("measure", "127.0.0.1", "--iperf3", "--port", port, "--time", "1 s")
    assert (done.returncode, done.stdout) == (3, "")
    assert "Connection refused" in done.stderr
