"""`nettrial measure` on a path of real packets: client, router and server, each in its own network
namespace."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nettrial.store import Run
from tests import forked
from tests.lab.sandbox import children, wait_for

ROOT = Path(__file__).parents[2]
TOKEN = "a-token-only-for-these-tests"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "NETTRIAL_TOKEN": TOKEN}


@contextlib.contextmanager
def namespace() -> Iterator[list[str]]:
    """Creates a network namespace that ends with the test, with a /var/lib of its own, and returns the
    beginning of a command in it."""
    own_journal = "mount -t tmpfs -o mode=755 none /var/lib"
    command = ["unshare", "--mount", "sh", "-ec", f"{own_journal} && exec unshare --net cat"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as holder:
        own = Path("/proc/self/ns/net").readlink()
        try:
            while Path(f"/proc/{holder.pid}/ns/net").readlink() == own:
                assert holder.poll() is None
                time.sleep(0.01)
            yield ["nsenter", "--net", "--target", str(holder.pid)]
        finally:
            assert holder.stdin is not None
            holder.stdin.close()


@pytest.fixture(scope="module")
def hosts() -> Iterator[tuple[list[str], list[str]]]:
    """Yields client and server, whose interfaces have MTU 1500. The router's route to the server has MTU
    1400, so that only packets towards the server are limited."""
    if os.geteuid() != 0:
        pytest.skip("building a network needs root")
    with namespace() as client, namespace() as router, namespace() as server:

        def run(host: list[str], *commands: str) -> None:
            for command in commands:
                subprocess.run([*host, *command.split()], check=True)

        for host, near, far in ((client, "c", "rc"), (server, "s", "rs")):
            run(host, f"ip link add {near} type veth peer name {far} netns {router[-1]}")
        for host, name, net in ((client, "c", 1), (server, "s", 2)):
            run(
                host, "ip link set lo up", f"ip link set {name} up", f"ip addr add 10.0.{net}.1/24 dev {name}"
            )
            run(router, f"ip link set r{name} up", f"ip addr add 10.0.{net}.2/24 dev r{name}")
            run(host, f"ip route add default via 10.0.{net}.2")
        run(router, "sysctl -qw net.ipv4.ip_forward=1", "ip route replace 10.0.2.0/24 dev rs mtu lock 1400")
        for name in ("rc", "rs"):  # Otherwise GSO packets would cross the veth pairs whole.
            run(router, f"ip link set {name} gso_max_segs 1")
        yield client, server


@pytest.fixture(scope="module")
def port(hosts: tuple[list[str], list[str]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with serving(hosts[1], tmp_path_factory.mktemp("serve")) as number:
        yield number


@contextlib.contextmanager
def serving(host: list[str], folder: Path) -> Iterator[int]:
    """Runs a server on a host, and yields its port."""
    log = folder / "log"
    log.touch()
    with forked.Process(inside(host, "serve", "--port", "0", "--bind", "0.0.0.0", errors=log)) as process:
        try:
            while not (found := re.search(r"serving .*:(\d+)", log.read_text())):
                assert process.poll() is None, log.read_text()
                time.sleep(0.05)
            yield int(found[1])
        finally:
            process.kill()


def inside(
    host: list[str], *arguments: str, errors: Path | None = None, unprivileged: bool = False
) -> forked.Command:
    """Returns a command of nettrial on a host."""
    return forked.Command(
        arguments, ENVIRONMENT, inside=int(host[-1]), errors=errors, unprivileged=unprivileged
    )


@pytest.fixture(scope="module")
def neighbours() -> Iterator[tuple[list[str], list[str]]]:
    """Yields a client and a server on one link, whose interfaces have MTU 9000."""
    if os.geteuid() != 0:
        pytest.skip("building a network needs root")
    with namespace() as client, namespace() as server:
        subprocess.run(
            [*client, *f"ip link add eth0 type veth peer name eth0 netns {server[-1]}".split()], check=True
        )
        for host, address in ((client, "10.9.0.1/24"), (server, "10.9.0.2/24")):
            for command in ("link set lo up", "link set eth0 mtu 9000 up", f"address add {address} dev eth0"):
                subprocess.run([*host, "ip", *command.split()], check=True)
        yield client, server


@pytest.mark.settles
@pytest.mark.parametrize("reverse", [(), ("--reverse",)], ids=["to", "from"])
def test_a_narrow_path_is_warned_of(
    hosts: tuple[list[str], list[str]], port: int, reverse: tuple[str, ...]
) -> None:
    words = ("measure", "10.0.2.1", "--port", str(port), "--replicates", "2", "--time", "300 ms", "--json")
    done = forked.run(inside(hosts[0], *words, *reverse))
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)["records"][0]
    paths = {c["object"]: (c["expected"], c["found"]) for c in record["checks"] if c["name"] == "path_mtu"}
    assert paths == {"client to server": ("1500 B", "1400 B"), "server to client": ("1500 B", "1500 B")}
    warned = [warning["object"] for warning in record["warnings"] if warning["code"] == "path_mtu"]
    assert warned == ["client to server"]
    assert "same_machine" not in {warning["code"] for warning in record["warnings"]}
    assert record["flows"][0]["bytes"] > 0


COMPARED = ("measure", "10.9.0.2", "--set", "mtu=1500,9000", "--time", "0.1")
PAYLOADS = {"1500 B": 1448, "9000 B": 8948}
"""The payload of TCP's segments under each MTU: without the headers of IPv4 and TCP, and timestamps."""


def mtu(host: list[str]) -> int:
    """Returns the MTU of the interface eth0 of a host."""
    shown = subprocess.run([*host, "ip", "-j", "link", "show", "eth0"], capture_output=True, check=True)
    return int(json.loads(shown.stdout)[0]["mtu"])


@pytest.mark.settles  # On a busy machine, nothing may arrive in a repeat of 0.1 s.
@pytest.mark.parametrize("unprivileged", [False, True], ids=["root", "user"])
def test_mtus_are_compared_in_blocks(
    neighbours: tuple[list[str], list[str]], tmp_path: Path, unprivileged: bool
) -> None:
    """Root changes the MTU, which is restored; another user's segments are as small as with that MTU."""
    client, server = neighbours
    kept = tmp_path / "run"
    tmp_path.chmod(0o777)
    with serving(server, tmp_path) as port:
        words = (*COMPARED, "--port", str(port), "--replicates", "3", "--seed", "7", "--out", str(kept))
        done = forked.run(inside(client, *words, unprivileged=unprivileged))
    assert done.returncode == 0, done.stderr
    assert mtu(client) == 9000
    assert "3 blocks of repeats of 0.1 s\nWith MTU 9000 B instead of 1500 B: goodput" in done.stdout
    assert re.search(r"^Goodput +Mbit/s +[\d.]+ ± [\d.]+ +[\d.]+ ± [\d.]+ +[\d.]+", done.stdout, re.MULTILINE)
    assert ("The MTU of this machine's interface was changed" in done.stdout) is not unprivileged
    assert ("TCP's segments had the sizes that these MTUs allow" in done.stdout) is unprivileged
    run = Run.open(kept)
    orders = []
    for trial in run.trials():
        level = trial.planned.treatment["mtu"]
        orders.append(level)
        assert trial.record.flows[0].mss_bytes == PAYLOADS[level]
        name, found = ("segment_size", f"{PAYLOADS[level]} B") if unprivileged else ("mtu", level)
        (check,) = [each for each in trial.record.checks if each.name == name]
        assert (check.found, check.passed) == (found, True)
    assert [sorted(orders[at : at + 2]) for at in (0, 2, 4)] == [list(PAYLOADS)] * 3
    assert len(set(zip(orders[::2], orders[1::2], strict=True))) == 2, "one order in all blocks"


@pytest.mark.parametrize("victim", ["command", "engine"])
def test_a_changed_mtu_is_restored_whatever_is_killed(
    neighbours: tuple[list[str], list[str]], tmp_path: Path, victim: str
) -> None:
    client, server = neighbours
    with serving(server, tmp_path) as port:
        words = (*COMPARED, "--port", str(port), "--replicates", "1000")
        log = tmp_path / "errors"
        with forked.Process(inside(client, *words, errors=log)) as process:
            assert wait_for(lambda: mtu(client) == 1500)
            (engine,) = children(process.pid)
            os.kill(engine if victim == "engine" else process.pid, signal.SIGKILL)
            if victim == "engine":  # the command would start another one, which would change the MTU again
                os.kill(process.pid, signal.SIGKILL)
            assert wait_for(lambda: mtu(client) == 9000)


def test_an_mtu_that_the_server_does_not_have_is_refused(
    neighbours: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    client, server = neighbours
    with serving(server, tmp_path) as port:
        words = ("measure", "10.9.0.2", "--set", "mtu=9000,9216", "--time", "100 ms", "--port", str(port))
        done = forked.run(inside(client, *words))
    assert done.returncode == 2
    assert "up to 9000 B, the MTU of the server's interface" in done.stderr
    assert mtu(client) == 9000


@pytest.mark.settles
def test_settings_of_connections_are_compared(
    neighbours: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    client, server = neighbours
    kept = tmp_path / "run"
    with serving(server, tmp_path) as port:
        settings = (
            "--set",
            "congestion_control=cubic,reno",
            "--set",
            "parallel=1,2",
            "--set",
            "window=64K,1M",
        )
        words = ("measure", "10.9.0.2", *settings, "--time", "50 ms", "--port", str(port))
        done = forked.run(inside(client, *words, "--replicates", "1", "--out", str(kept)))
    assert done.returncode == 0, done.stderr
    trials = Run.open(kept).trials()
    assert len(trials) == 8
    for trial in trials:
        levels, flows = trial.planned.treatment, trial.record.flows
        assert {flow.congestion_control for flow in flows} == {levels["congestion_control"]}
        assert len(flows) == int(levels["parallel"])
