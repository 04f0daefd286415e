"""`nettrial measure` on a path of real packets: client, router and server, each in its own network
namespace."""

import contextlib
import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import forked

ROOT = Path(__file__).parents[2]
TOKEN = "a-token-only-for-these-tests"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "NETTRIAL_TOKEN": TOKEN}


@contextlib.contextmanager
def namespace() -> Iterator[list[str]]:
    """Creates a network namespace that ends with the test, and returns the beginning of a command in it."""
    with subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE) as holder:
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
    log = tmp_path_factory.mktemp("serve") / "log"
    log.touch()
    with forked.Process(inside(hosts[1], "serve", "--port", "0", "--bind", "0.0.0.0", errors=log)) as process:
        try:
            while not (found := re.search(r"serving .*:(\d+)", log.read_text())):
                assert process.poll() is None, log.read_text()
                time.sleep(0.05)
            yield int(found[1])
        finally:
            process.kill()


def inside(host: list[str], *arguments: str, errors: Path | None = None) -> forked.Command:
    """Returns a command of nettrial on a host."""
    return forked.Command(arguments, ENVIRONMENT, inside=int(host[-1]), errors=errors)


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
