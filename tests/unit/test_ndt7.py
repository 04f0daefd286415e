"""ndt7: messages, sizes, the server's limits, and the client with servers that misbehave. Server and client
run in this process, over loopback."""

import asyncio
import contextlib
import json
import random
import socket
import ssl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed, InvalidStatus

from nettrial.admission import LINES_EACH, Log
from nettrial.cli.serve_ndt7 import _tls
from nettrial.errors import BadInput
from nettrial.protocols.ndt7 import certificate, server, wire
from nettrial.protocols.ndt7.client import Client, Ndt7NotReached, Ndt7Server, transfer
from nettrial.protocols.ndt7.figures import outcome

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "ndt7.json").read_text())
"""Messages that M-Lab's server (ndt-server v0.25.0) sent, and the output of its client."""
SHORT = 0.1


@contextlib.asynccontextmanager
async def served(lines, context=None, duration=SHORT):
    """Runs a server on a free port, and yields the target."""
    async with server.Ndt7TestServer(Log(lines.append), duration).serving("127.0.0.1", 0, context) as (
        at,
        port,
    ):
        yield Ndt7Server("localhost", at, port, plain=context is None, verify=False)


def figures(result):
    return {figure.metric: figure.value for figure in outcome(result).figures}


def test_a_message_has_the_specifications_names_and_no_absent_parts():
    message = wire.Ndt7Measurement(
        app_info=wire.AppInfo(elapsed_time=5, num_bytes=7),
        tcp_info=wire.TcpInfo(min_rtt=3, rtt_var=1, rwnd_limited=2, snd_buf_limited=4),
        origin="server",
    )
    assert json.loads(message.text()) == {
        "AppInfo": {"ElapsedTime": 5, "NumBytes": 7},
        "TCPInfo": {"MinRTT": 3, "RTTVar": 1, "RWndLimited": 2, "SndBufLimited": 4},
        "Origin": "server",
    }
    assert wire.measurement(message.text()) == message


def test_messages_of_m_labs_server_are_read():
    for direction in ("download", "upload"):
        found = [wire.measurement(json.dumps(each)) for each in VECTORS[direction]]
        assert all(each.connection_info and each.connection_info.uuid for each in found)
        assert [each.tcp_info.elapsed_time for each in found if each.tcp_info]
        # Parsing and writing a message preserves the fields that the specification defines.
        again = json.loads(found[0].text())
        assert again["TCPInfo"].items() <= VECTORS[direction][0]["TCPInfo"].items()
        assert set(again["TCPInfo"]) == set(json.loads(FULL.text())["TCPInfo"])


FULL = wire.Ndt7Measurement(tcp_info=wire.TcpInfo(**dict.fromkeys(wire.TcpInfo.model_fields, 1)))


@given(st.one_of(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists).map(json.dumps)))
def test_any_other_text_is_refused_in_one_line(text):
    with contextlib.suppress(ValueError):
        wire.measurement(text)
    for bad in (text + "{", "[" * 10_000, '{"AppInfo": {"ElapsedTime": -1, "NumBytes": 1e99}}'):
        with pytest.raises(ValueError, match=r"\Anot a measurement message: [^\n]*\Z"):
            wire.measurement(bad)


def test_a_message_that_is_too_long_is_not_read():
    with pytest.raises(ValueError, match="at most"):
        wire.measurement(" " * wire.MOST_TEXT + "{}")


def test_binary_messages_grow_as_the_specification_says():
    size, sent, sizes = wire.FIRST, 0, set()
    for _ in range(400):
        sizes.add(size)
        sent += size
        size = wire.next_size(size, sent)
        assert size == wire.FIRST or size * wire.SCALE <= 2 * sent
    assert sizes == {2**power for power in range(13, 21)}


@pytest.mark.settles  # The server reports every 0.25 s, and a test lasts 0.3 s.
def test_both_directions_are_measured_with_and_without_tls():
    async def run():
        lines, results = [], []
        secured, fingerprint = certificate.self_signed("127.0.0.1")
        assert len(fingerprint.split(":")) == 32
        for context in (None, secured):
            async with served(lines, context, 0.3) as target:
                # The server ends each test, after it has told what it measured.
                results += [await transfer(target, each) for each in ("download", "upload")]
                if context:
                    with pytest.raises(Ndt7NotReached, match="not trusted: self-signed certificate"):
                        await transfer(Ndt7Server("localhost", target.address, target.port), "download")
                    with pytest.raises(Ndt7NotReached, match="does not answer with HTTP"):
                        await transfer(
                            Ndt7Server("localhost", target.address, target.port, plain=True), "upload"
                        )
        return lines, results

    lines, results = asyncio.run(run())
    assert [each.direction for each in results] == ["download", "upload"] * 2
    assert [line.split(": ")[1].split(",")[0] for line in lines if "Mbit/s" in line] == [
        *("download", "upload", "download", "upload")
    ]
    for result in results:
        assert result.ended is None
        assert (result.tls or "").startswith("TLS" if result.tls else "")
        assert result.server, "a message of the server's"
        assert not result.unreadable
        found = figures(result)
        assert all(isinstance(value, float) for value in found.values()), found
        assert found["goodput"] > 0
        assert found["min_rtt"] <= found["srtt"]
    assert [bool(each.tls) for each in results] == [False, False, True, True]


def test_upload_takes_its_goodput_from_the_receiver():
    async def run():
        async with served([], duration=0.3) as target:
            return await transfer(target, "upload")

    result = asyncio.run(run())
    last = result.server[-1].app_info
    assert figures(result)["goodput"] == 8 * last.num_bytes / last.elapsed_time
    assert last.num_bytes <= result.num_bytes


def from_vectors(direction, **changes):
    """Returns a transfer with recorded messages of M-Lab's server."""
    from nettrial.protocols.ndt7.client import Ndt7Transfer

    given = {
        "direction": direction,
        "num_bytes": 1000 if direction == "download" else 10**11,
        "elapsed_us": 8,
        "own": None,
        "server": tuple(wire.measurement(json.dumps(each)) for each in VECTORS[direction]),
        "unreadable": 0,
        "ended": None,
        "congestion_control": None,
        "tls": None,
        "busy_percent": 0.0,
    }
    return Ndt7Transfer(**given | changes)


def test_m_labs_server_counts_an_upload_in_its_kernel_which_is_said():
    found = outcome(from_vectors("upload"))
    kernel = [each["TCPInfo"] for each in VECTORS["upload"]][-1]
    goodput = next(figure.value for figure in found.figures if figure.metric == "goodput")
    assert goodput == 8 * kernel["BytesReceived"] / kernel["ElapsedTime"]
    assert any("kernel counted the bytes" in warning for warning in found.warnings)
    others = [figure.value for figure in found.figures if figure.metric != "goodput"]
    assert others == ["the figures of this machine's system have nothing of the connection (TCP_INFO)"] * 3


def test_the_figures_of_a_download_are_the_clients_bytes_and_the_servers_kernel():
    found = {figure.metric: figure.value for figure in outcome(from_vectors("download")).figures}
    kernel = [each["TCPInfo"] for each in VECTORS["download"]][-1]
    assert found["goodput"] == 1000
    assert found["min_rtt"] == kernel["MinRTT"] / 1000
    assert found["retransmitted"] == 100 * kernel["BytesRetrans"] / kernel["BytesSent"]


LARGEST_COUNT = 2**63 - 1
LIES = {
    "more retransmitted than sent": (
        {"TCPInfo": {"BytesSent": 1, "BytesRetrans": LARGEST_COUNT}},
        "retransmitted",
        "9223372036854775807 of 1 bytes were retransmitted",
    ),
    "a smallest round-trip time of years": (
        {"TCPInfo": {"MinRTT": LARGEST_COUNT}},
        "min_rtt",
        "can't be right",
    ),
    "no round-trip time": ({"TCPInfo": {"RTT": 0}}, "srtt", "have 0 µs, which can't be right"),
    "more than was sent": (
        {"AppInfo": {"ElapsedTime": 1_000_000, "NumBytes": 2_000_001}},
        "goodput",
        "2000001 bytes had arrived after 1000000 µs, until when 2000000 bytes had been sent",
    ),
    "all in a microsecond": (
        {"AppInfo": {"ElapsedTime": 1, "NumBytes": 1000}},
        "goodput",
        "the test took 1 µs",
    ),
    "in years": ({"AppInfo": {"ElapsedTime": LARGEST_COUNT, "NumBytes": 1000}}, "goodput", "the test took"),
    "more in the kernel than was sent": (
        {"TCPInfo": {"ElapsedTime": 1_000_000, "BytesReceived": 2_100_000}},
        "goodput",
        "2100000 bytes had arrived",
    ),
}


@pytest.mark.parametrize(("said", "metric", "reason"), LIES.values(), ids=LIES)
def test_figures_that_cannot_be_are_absent_with_the_reason(said, metric, reason):
    """A server's messages once made "922337203685477580800 %" of retransmitted bytes."""
    message = wire.measurement(json.dumps(said))
    progress = ((500_000, 1_000_000), (1_200_000, 2_000_000), (2_000_000, 4_000_000))
    direction = "upload" if metric == "goodput" else "download"
    result = from_vectors(direction, server=(message,), progress=progress, num_bytes=4_000_000)
    assert reason in figures(result)[metric]


def test_what_a_server_says_is_repeated_if_it_can_be():
    message = wire.measurement('{"AppInfo": {"ElapsedTime": 1000000, "NumBytes": 2000000}}')
    progress = ((500_000, 1_000_000), (1_200_000, 2_000_000), (2_000_000, 4_000_000))
    result = from_vectors("upload", server=(message,), progress=progress, num_bytes=4_000_000)
    assert figures(result)["goodput"] == 16


def test_what_a_server_does_not_say_is_absent_with_the_reason_and_trouble_is_a_warning():
    silent = from_vectors(
        "upload", server=(), ended="the connection broke off", unreadable=3, busy_percent=99.0
    )
    found = outcome(silent)
    assert isinstance(found.figures[0].value, str)
    assert [text.split(":")[0] for text in found.warnings] == ["upload"] * 3
    assert isinstance(outcome(from_vectors("download", num_bytes=0)).figures[0].value, str)


REFUSED = {
    "/": 400,
    "/ndt/v7/sidewaysload": 400,
    "//[": 400,
    "//[x]/ndt/v7/download": 400,
    "/ndt/v7/download?" + "a" * 5000: 400,
    "/ndt/v7/download?name=%ff%fe": 400,
    "/ndt/v7/upload?" + "&".join(f"k{n}=1" for n in range(150)): 400,
}


def test_hostile_requests_are_refused_and_the_server_goes_on():
    async def run():
        lines = []
        async with served(lines) as target:
            at = f"ws://127.0.0.1:{target.port}"
            for path, status in REFUSED.items():
                with pytest.raises(InvalidStatus) as refused:
                    async with connect(at + path, subprotocols=[wire.SUBPROTOCOL], compression=None):
                        pass
                assert refused.value.response.status_code == status
            with pytest.raises(InvalidStatus):
                async with connect(f"{at}/ndt/v7/download"):  # The client does not request the subprotocol.
                    pass
            draw = random.Random(7)
            for length in (0, 1, 100, 20_000, *(draw.randrange(400) for _ in range(30))):
                reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
                writer.write(draw.randbytes(length) + b"\r\n\r\n")
                with contextlib.suppress(ConnectionError):
                    await writer.drain()
                    await reader.read()
                writer.close()
            async with connect(
                f"{at}/ndt/v7/download?client_name=x&client_name=y&empty=",
                subprotocols=[wire.SUBPROTOCOL],
                compression=None,
                max_size=None,
            ) as good:
                assert await good.recv()
        return lines

    assert sum("refused" in line for line in asyncio.run(run())) == LINES_EACH


@pytest.mark.parametrize(
    ("path", "messages", "code"),
    [
        ("download", [b"x" * 2048], 1003),
        ("upload", [b"x" * 10], 1008),
        ("upload", [b"x" * (wire.LARGEST + 1)], 1009),
        ("upload", ["{}", "not JSON", "[" * 1000, b"x" * 2048], 1000),
        ("download", ["{}", "\0", "9" * 10_000], 1000),
    ],
)
def test_messages_that_do_not_belong_end_the_test(path, messages, code):
    async def run():
        async with served([]) as target:
            client = await connect(
                f"ws://127.0.0.1:{target.port}/ndt/v7/{path}",
                subprotocols=[wire.SUBPROTOCOL],
                compression=None,
                max_size=None,
            )
            with contextlib.suppress(ConnectionClosed):
                for message in messages:
                    await client.send(message)
            with contextlib.suppress(ConnectionClosed):
                while True:
                    await client.recv()
            return client.close_code

    assert asyncio.run(run()) == code


def test_a_client_that_does_nothing_loses_its_place(monkeypatch):
    monkeypatch.setattr(server, "LIMIT", 0.2)

    async def run():
        lines = []
        async with served(lines, duration=5) as target:
            sock = socket.create_connection(("127.0.0.1", target.port))
            sock.setblocking(False)
            request = (
                "GET /ndt/v7/download HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                "Sec-WebSocket-Key: DOdm+5/Cm3WwvhfcAlhJoQ==\r\nSec-WebSocket-Version: 13\r\n"
                f"Sec-WebSocket-Protocol: {wire.SUBPROTOCOL}\r\n\r\n"
            )
            await asyncio.get_running_loop().sock_sendall(sock, request.encode())
            while not lines:  # The client reads nothing, so the server's buffers fill.
                await asyncio.sleep(0.02)
            sock.close()
        return lines

    assert "download" in asyncio.run(run())[0]


def test_there_are_only_so_many_places(monkeypatch):
    monkeypatch.setattr(server, "MOST_TESTS", 1)

    async def run():
        async with served([], duration=5) as target:
            async with connect(
                f"ws://127.0.0.1:{target.port}/ndt/v7/upload",
                subprotocols=[wire.SUBPROTOCOL],
                compression=None,
            ):
                with pytest.raises(Ndt7NotReached, match="HTTP status 503: all places are taken"):
                    await transfer(target, "download", SHORT)
            while True:  # A place becomes free when the other client has gone.
                with contextlib.suppress(Ndt7NotReached):
                    return await transfer(target, "download", SHORT)
                await asyncio.sleep(0.02)

    assert asyncio.run(run()).num_bytes > 0


async def _without_ndt7(connection):
    await connection.wait_closed()


async def _strange(connection):
    for _ in range(wire.MOST_MESSAGES + 10):
        await connection.send("{}")
    await connection.send("not JSON")
    connection.transport.abort()


def test_an_unexpected_error_of_a_connection_is_one_line(caplog):
    async def fail():
        async with served(lines):
            asyncio.get_running_loop().call_soon(lambda: 1 / 0)
            await asyncio.sleep(SHORT)

    lines: list[str] = []
    asyncio.run(fail())
    assert len(lines) == 1
    assert lines[0].startswith("a connection failed: Exception in callback")
    assert lines[0].endswith(": ZeroDivisionError: division by zero")
    assert not caplog.records


def test_the_client_says_what_is_wrong_with_a_server():
    async def run():
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        with pytest.raises(Ndt7NotReached, match=r"Connect call failed|refused"):
            await transfer(Ndt7Server("localhost", "127.0.0.1", port, plain=True), "download")
        async with serve(_without_ndt7, "127.0.0.1", 0) as other:
            port = next(iter(other.sockets)).getsockname()[1]
            with pytest.raises(Ndt7NotReached, match="does not speak ndt7"):
                await transfer(Ndt7Server("localhost", "127.0.0.1", port, plain=True), "download")
        async with serve(_strange, "127.0.0.1", 0, subprotocols=[wire.SUBPROTOCOL]) as other:
            port = next(iter(other.sockets)).getsockname()[1]
            return await transfer(Ndt7Server("localhost", "127.0.0.1", port, plain=True), "download", 5)

    result = asyncio.run(run())
    assert len(result.server) == wire.MOST_MESSAGES
    assert result.unreadable == 11
    assert "broke off" in (result.ended or "")
    assert any("no measurements" in text for text in outcome(result).warnings)


def test_a_running_test_can_be_ended():
    async def run():
        async with served([], duration=5) as target:
            client = Client(target)
            running = asyncio.ensure_future(asyncio.to_thread(client.run, "upload", 5.0))
            while not client._running:
                await asyncio.sleep(0.01)
            client.kill()
            with pytest.raises(asyncio.CancelledError):
                await running
            client.kill()  # No transfer is running, so the call has no effect.

    asyncio.run(run())


def test_a_certificate_of_ones_own_is_for_this_machine(tmp_path):
    names = [name.value for name in certificate._names("192.0.2.7")]
    assert "localhost" in names
    assert {str(name) for name in names} >= {"127.0.0.1", "::1", "192.0.2.7"}
    nothing = tmp_path / "nothing.pem"
    nothing.write_text("nothing")
    with pytest.raises(ssl.SSLError):
        certificate.context(nothing, None)


def test_a_key_that_everybody_can_write_is_refused(tmp_path):
    file = tmp_path / "both.pem"
    file.write_text("no key")
    file.chmod(0o602)
    with pytest.raises(BadInput, match="every user of this machine can write it"):
        _tls("127.0.0.1", file, None, False)


def test_bbr_is_used_only_where_the_kernel_has_loaded_it():
    with socket.socket() as one:
        before = wire.congestion_control(one)
        wire.use_bbr(one, lambda: "reno cubic")
        assert wire.congestion_control(one) == before
        assert wire.kernel_figures(one, 5).elapsed_time == 5
