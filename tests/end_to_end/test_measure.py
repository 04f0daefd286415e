"""`nettrial measure` against `nettrial serve`: the requests that are served, and those that are refused.

Both run over loopback, whose segments have 64 KiB. The tests therefore check which figures there are, not how
large these are."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nettrial.cli.documents.measure import MeasureDocument
from nettrial.cli.documents.serve import ServeDocument
from tests.end_to_end.serving import EVERYWHERE, PATIENCE, TOKEN, Server, nettrial, serving, start, until

pytestmark = pytest.mark.end_to_end

SHORT = ("--replicates", "3", "--time", "100 ms")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("serve"), *EVERYWHERE) as running:
        yield running


def measure(server: Server, *arguments: str, token: str | None = TOKEN) -> subprocess.CompletedProcess[str]:
    host, *rest = arguments if arguments and not arguments[0].startswith("-") else ("127.0.0.1", *arguments)
    return nettrial("measure", host, *rest, "--port", str(server.port), token=token)


def test_it_says_where_it_serves_as_a_document() -> None:
    with start("serve", "--port", "0", "--json", token=None) as process:
        try:
            served = ServeDocument.model_validate_json(process.stdout.readline())
            assert served.address == f"127.0.0.1:{served.port}"
            assert served.token is not None
            done = nettrial("measure", "127.0.0.1", *SHORT, "--port", str(served.port), token=served.token)
            assert done.returncode == 0, done.stderr
        finally:
            process.kill()


def listening(port: int) -> set[str]:
    """Returns the addresses at which something listens at a TCP or UDP port, as the kernel writes them."""
    found = set()
    for name, state in (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07")):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            address, _, number = line.split()[1].partition(":")
            if (int(number, 16), line.split()[3]) == (port, state):
                found.add(address)
    return found


@pytest.mark.parametrize(
    "protocol",
    [(), ("--iperf3",), ("--ndt7", "--plain"), ("--stamp",)],
    ids=["own", "iperf3", "ndt7", "stamp"],
)
def test_only_this_machine_is_served_unless_another_address_is_given(
    tmp_path: Path, protocol: tuple[str, ...]
) -> None:
    with serving(tmp_path, *protocol, token=None) as server:
        assert "only this machine can reach the server" in server.said
        assert listening(server.port) == {"0100007F"}, "127.0.0.1"


# These four of the eight combinations contain each pair of values.
@pytest.mark.settles  # On a busy machine, nothing may arrive in a repeat of 100 ms.
@pytest.mark.parametrize(
    ("kind", "title", "host", "reverse"),
    [
        ("tcp", "Goodput", "127.0.0.1", ()),
        ("tcp", "Goodput", "::1", ("--reverse",)),
        ("rr", "Round-trip time", "127.0.0.1", ("--reverse",)),
        ("rr", "Round-trip time", "::1", ()),
    ],
)
def test_figures_come_with_intervals(
    server: Server, host: str, kind: str, title: str, reverse: tuple[str, ...]
) -> None:
    done = measure(server, host, kind, *SHORT, *reverse)
    assert done.returncode == 0, done.stderr
    row = re.search(rf"^{title} +([\d.]+) ± [\d.]+ +[\d.]+ +\S+ +3$", done.stdout, re.MULTILINE)
    assert row is not None, done.stdout
    assert float(row[1]) > 0
    assert "both are this machine (3 repeats); no network is measured" in done.stdout
    assert "3/3 repeats" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "option"),
    [
        (("--time", "0"), "--time: 0 ns"),
        (("udp", "--size", "90000"), "--size: 90000 B"),
        (("rr", "--size", "1"), "--size: 1 B"),
        (("udp", "--rate", "0"), "--rate: 0 bit/s"),
        (("--set", "window=64,1M"), "--set window: 64 B"),
    ],
)
def test_traffic_that_can_not_be_is_refused_by_its_option(
    server: Server, arguments: tuple[str, ...], option: str
) -> None:
    done = measure(server, "127.0.0.1", *arguments)
    assert done.returncode == 2
    assert done.stderr.count(f"error: checking the measurement: {option}\n") == 1


def test_json_has_the_records(server: Server) -> None:
    done = measure(server, "127.0.0.1", "tcp", *SHORT, "--reverse", "--json", "--seed", "5")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["seed"] == 5
    assert [record["backend"] for record in found["records"]] == ["remote"] * 3
    record = found["records"][0]
    assert [check["name"] for check in record["checks"]] == ["path_mtu", "path_mtu", "clock_offset"]
    assert all(check["passed"] for check in record["checks"])
    ahead, error = re.findall(r"[-+\d.]+", record["checks"][2]["found"])
    assert abs(float(ahead)) <= float(error)  # Both ends run on one machine and have the same clock.
    goodput = next(figure for figure in found["metrics"] if figure["metric"] == "goodput")
    values = [record["flows"][0]["goodput_bps"] / 1e6 for record in found["records"]]
    assert goodput["repeats"] == 3
    assert goodput["mean"] == pytest.approx(sum(values) / 3)
    assert goodput["interval"][0] <= goodput["mean"] <= goodput["interval"][1]


@pytest.mark.settles  # On a busy machine, the streams may begin at different times.
@pytest.mark.parametrize("reverse", [(), ("--reverse",)], ids=["to", "from"])
def test_streams_are_reported_together_and_each(server: Server, reverse: tuple[str, ...]) -> None:
    wanted = ("udp", "-P", "3", "--rate", "2M", "--size", "500", "--replicates", "2", "--time", "200 ms")
    done = measure(server, "127.0.0.1", *wanted, *reverse, "--json")
    assert done.returncode == 0, done.stderr
    found = MeasureDocument.model_validate_json(done.stdout)
    names = ["measured-1", "measured-2", "measured-3"]
    assert [stream.flow for stream in found.streams] == names
    for record in found.records:
        assert [flow["name"] for flow in record["flows"]] == names
        assert all(flow["packets"]["received_pkts"] > 0 for flow in record["flows"])
    means = {
        stream.flow: next(each.mean for each in stream.metrics if each.metric == "goodput")
        for stream in found.streams
    }
    together = next(each.mean for each in found.metrics if each.metric == "goodput")
    # Each stream's time is a little shorter than the time in which any of them was under way.
    added = sum(mean or 0 for mean in means.values())
    assert 0.7 * added < together <= added * (1 + 1e-9)
    assert "fairness" in [each.metric for each in found.metrics]

    told = measure(server, "127.0.0.1", *wanted, *reverse)
    assert told.returncode == 0, told.stderr
    assert "3 streams, 2 repeats" in told.stdout
    assert re.search(r"^stream +goodput, Mbit/s", told.stdout, re.MULTILINE)
    assert re.search(r"^measured-3 +[\d.]+", told.stdout, re.MULTILINE)


def test_measurements_are_kept_as_runs_that_compare(server: Server, tmp_path: Path) -> None:
    runs = [str(tmp_path / name) for name in ("monday", "tuesday")]
    for run in runs:
        done = measure(server, "127.0.0.1", "rr", *SHORT, "--reverse", "--out", run)
        assert done.returncode == 0, done.stderr
    found = nettrial("compare", *runs, "--json", token=None)
    assert found.returncode == 0, found.stderr
    differences = {one["response"]: one for one in json.loads(found.stdout)["differences"]}
    assert differences["rtt"]["treatment"] == {"ip": "4"}
    assert "3 of 3 trials" in nettrial("report", runs[0], token=None).stdout
    again = measure(server, "127.0.0.1", "rr", *SHORT, "--out", runs[0])
    assert (again.returncode, again.stdout) == (2, "")
    assert "exists" in again.stderr


def test_a_token_is_made_and_printed_once(tmp_path: Path) -> None:
    with serving(tmp_path, token=None) as server:
        token = server.await_line(r"token: (\S{32})\n")[1]
        file = tmp_path / "token"
        file.write_text(f"{token}\n")
        assert measure(server, *SHORT, "--token-file", str(file), token=None).returncode == 0
        assert server.said.count(token) == 1
        # The token is not in the command line.
        assert token not in Path(f"/proc/{server.process.pid}/cmdline").read_text()


def test_another_token_is_exit_3_and_logged(server: Server) -> None:
    done = measure(server, *SHORT, token="another-token-than-the-servers")
    assert (done.returncode, done.stdout) == (3, "")
    assert "its token is another one" in done.stderr
    assert re.search(r"^127\.0\.0\.1:\d+: refused: wrong token$", server.said, re.MULTILINE)


@pytest.mark.parametrize(
    ("command", "kind"),
    [(("serve",), "token"), (("serve", "--stamp"), "key"), (("measure", "192.0.2.1"), "token")],
    ids=["serve", "serve-stamp", "measure"],
)
def test_a_file_that_everybody_can_write_has_no_token(
    command: tuple[str, ...], kind: str, tmp_path: Path
) -> None:
    """Whoever can write it could choose the token, and its name may not write to the terminal."""
    file = tmp_path / "a\x1b[2Jname"
    file.write_text(TOKEN)
    file.chmod(0o666)
    done = nettrial(*command, "--token-file", str(file), token=None)
    assert done.returncode == 2
    assert "every user of this machine can write it" in done.stderr
    assert f"a file with {'the' if kind == 'token' else 'a'} {kind}" in done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize("content", [b"short", b"\x1b[2J", b"\xff\xfe", b"x" * 5000, None])
def test_what_is_no_token_is_exit_2_and_not_repeated(content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "a\x1b[2Jname"
    os.mkfifo(file) if content is None else file.write_bytes(content)
    done = nettrial("serve", "--token-file", str(file), token=None)
    assert done.returncode == 2, done.stderr
    assert "\x1b" not in done.stderr


@pytest.mark.parametrize("token", [None, "", "short"])
def test_no_token_is_exit_2(server: Server, token: str | None) -> None:
    done = measure(server, *SHORT, token=token)
    assert (done.returncode, done.stdout) == (2, "")
    assert "token" in done.stderr


@given(data=st.binary(max_size=400))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_hostile_bytes_end_in_nothing(server: Server, data: bytes) -> None:
    """A client receives no byte before it has proved that it has the token."""
    # The server may have closed the connection before the last byte.
    with server.connect() as caller, contextlib.suppress(OSError):
        caller.sendall(data)
        caller.shutdown(socket.SHUT_WR)
        assert caller.recv(1) == b""
    assert server.process.poll() is None


def test_the_silent_and_the_half_open_hinder_nobody(tmp_path: Path) -> None:
    """Silent clients, and clients that stop within a message, don't prevent others from being served: not
    even others with the same address, for whom the oldest make room."""
    with serving(tmp_path, *EVERYWHERE) as server, contextlib.ExitStack() as idle:
        for number in range(30):
            caller = idle.enter_context(server.connect())
            if number % 2:
                caller.sendall(b"00")
        for address in ("::1", "127.0.0.1"):
            done = measure(server, address, "tcp", *SHORT)
            assert done.returncode == 0, done.stderr
        server.await_line("no handshake")
        until(lambda: server.threads() < 30, "the end of the threads of those who had to leave")


def test_a_killed_client_frees_the_server(server: Server) -> None:
    """After kill -9 in the middle of a measurement, no agent is left on either side, and other clients are
    served."""
    until(lambda: not server.children(), "the end of the sessions before")
    with start("measure", "127.0.0.1", "--port", str(server.port), "--time", "30 s") as client:
        until(server.children, "the session's agent")
        client.send_signal(signal.SIGKILL)
    until(lambda: not server.children(), "the agent's end")
    assert measure(server, *SHORT).returncode == 0


def test_a_killed_server_fails_the_repeat_at_once(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        with start("measure", "127.0.0.1", "--port", str(server.port), "--time", "10 min") as client:
            until(server.children, "the session's agent")
            agents = server.children()
            server.process.kill()
            _, errors = client.communicate(timeout=PATIENCE)
        assert client.returncode == 3
        assert "the server closed the session" in errors
        until(lambda: not any(Path(f"/proc/{agent}").exists() for agent in agents), "the agents' end")


def test_a_taken_port_is_exit_3(server: Server) -> None:
    done = nettrial("serve", "--port", str(server.port))
    assert (done.returncode, done.stdout) == (3, "")
    assert "Address already in use" in done.stderr
