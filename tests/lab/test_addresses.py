"""Addresses that are not the only ones of their host: link-local ones, which need their zone, and a server's
second one, from which its answers must come."""

import contextlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import forked
from tests.lab.chain import Chain
from tests.lab.sandbox import PATIENCE, wait_for

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": str(ROOT),
    "NO_COLOR": "1",
    "NETTRIAL_TOKEN": "a-token-only-for-these-tests",
}
CLIENT, SERVER = 0, 1
SECOND = {4: "10.0.0.77", 6: "fd00::77"}
"""The server's second address of each IP version."""
SHORT = ("--time", "300 ms", "--replicates", "1", "--json")


@pytest.fixture(scope="module")
def pair(as_user: list[str]) -> Iterator[Chain]:
    """Yields two hosts, the second of which has two addresses of each IP version on its interface."""
    with Chain([1500]) as chain:
        chain.on(SERVER, f"ip address add {SECOND[4]}/24 dev left")
        chain.on(SERVER, f"ip address add {SECOND[6]}/64 dev left nodad preferred_lft 0")
        for node in (CLIENT, SERVER):  # An address can't be used until no other host is known to have it.
            assert wait_for(lambda node=node: "tentative" not in chain.on(node, "ip -6 address"))
        yield chain


def link_local(chain: Chain, node: int) -> str:
    """Returns a host's link-local address without its zone, once the host has found that it is unique."""
    shown = "ip -6 -o address show scope link -tentative"
    found = lambda: re.findall(r"inet6 (fe80:[0-9a-f:]+)/64", chain.on(node, shown))  # noqa: E731
    assert wait_for(found)
    return str(found()[0])


def nettrial(chain: Chain, node: int, *arguments: str, errors: Path | None = None) -> forked.Command:
    return forked.Command(arguments, ENVIRONMENT, inside=chain.holders[node], errors=errors)


@contextlib.contextmanager
def serving(chain: Chain, folder: Path, *options: str) -> Iterator[str]:
    """Serves on the server and yields the port."""
    log = folder / "log"
    log.touch()
    words = ("serve", "--port", "0", *options)
    with forked.Process(nettrial(chain, SERVER, *words, errors=log)) as process:
        try:
            while not (found := re.search(r"serving .*:(\d+)", log.read_text())):
                assert process.poll() is None, log.read_text()
                time.sleep(0.05)
            yield found[1]
        finally:
            process.kill()


def measured(chain: Chain, address: str, port: str, *options: str) -> dict[str, Any]:
    """Returns the document of a measurement from the client."""
    words = ("measure", address, *options, "--port", port)
    done = forked.run(nettrial(chain, CLIENT, *words))
    assert done.returncode == 0, (words, done.stderr)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


KINDS = [("tcp",), ("udp", "--rate", "1 Mbit/s"), ("rr",)]


@pytest.mark.settles
@pytest.mark.parametrize("bind", ["link-local", "::"])
def test_a_link_local_address_keeps_its_zone(bind: str, pair: Chain, tmp_path: Path) -> None:
    there = link_local(pair, SERVER)
    with serving(pair, tmp_path, "--bind", f"{there}%left" if bind == "link-local" else bind) as port:
        for kind in KINDS:
            (record,) = measured(pair, f"{there}%right", port, *kind, *SHORT)["records"]
            assert record["flows"][0]["bytes"] > 0
            checks = [check for check in record["checks"] if check["name"] == "path_mtu"]
            assert {check["found"] for check in checks} == {"1500 B"}


@pytest.mark.settles
@pytest.mark.parametrize("kind", [("tcp", "--iperf3"), ("udp", "--iperf3", "--rate", "1 Mbit/s")])
def test_iperf3_is_served_at_a_link_local_address(kind: tuple[str, ...], pair: Chain, tmp_path: Path) -> None:
    there = link_local(pair, SERVER)
    with serving(pair, tmp_path, "--iperf3", "--bind", "::") as port:
        (record,) = measured(pair, f"{there}%right", port, *kind, *SHORT)["records"]
        assert record["flows"][0]["bytes"] > 0


@pytest.mark.settles
@pytest.mark.parametrize("ip", [4, 6])
def test_udp_is_answered_from_the_address_that_was_asked(ip: int, pair: Chain, tmp_path: Path) -> None:
    with serving(pair, tmp_path, "--iperf3", "--bind", "::") as port:
        command = ["iperf3", "-c", SECOND[ip], "-p", port, "-u", "-b", "1M", "-t", "1", "-J"]
        inside = ["nsenter", "--net", "--user", "--preserve-credentials", "-t", str(pair.holders[CLIENT])]
        theirs = subprocess.run(
            [*inside, *command],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert json.loads(theirs.stdout)["end"]["sum"]["packets"] > 0, theirs.stdout
        for direction in ((), ("--reverse",)):
            options = ("udp", "--iperf3", "--rate", "1 Mbit/s", *direction, *SHORT)
            (record,) = measured(pair, SECOND[ip], port, *options)["records"]
            assert record["flows"][0]["packets"]["received_pkts"] > 0
    own = tmp_path / "own"
    own.mkdir()
    with serving(pair, own, "--bind", "::") as port:
        for kind in KINDS:
            (record,) = measured(pair, SECOND[ip], port, *kind, *SHORT)["records"]
            assert record["flows"][0]["bytes"] > 0


@pytest.mark.settles  # On a busy machine an answer may come too late.
def test_stamp_and_path_take_any_address(pair: Chain, tmp_path: Path) -> None:
    there = link_local(pair, SERVER)
    with serving(pair, tmp_path, "--stamp", "--bind", "::") as port:
        for address in (f"{there}%right", *SECOND.values()):
            document = measured(pair, address, port, "--stamp", *SHORT)
            (repeat,) = document["repeats"]
            assert len(repeat["answers"]) == repeat["sent"] > 0
    done = forked.run(nettrial(pair, CLIENT, "path", f"{there}%right", "--json"))
    assert done.returncode == 0, done.stderr
    (path,) = json.loads(done.stdout)["paths"]
    assert (path["address"], path["interface"]["name"]) == (there, "right")
    assert path["forward"]["mtu_bytes"] == 1500


def test_ndt7_takes_a_link_local_address(pair: Chain, tmp_path: Path) -> None:
    pytest.importorskip("websockets")
    there = link_local(pair, SERVER)
    with serving(pair, tmp_path, "--ndt7", "--bind", f"{there}%left") as port:
        options = ("--ndt7", "--no-verify", "--time", "1 s", "--replicates", "1", "--json")
        assert measured(pair, f"{there}%right", port, *options)["metrics"]


def test_pages_are_served_at_a_link_local_address(pair: Chain) -> None:
    program = (
        "from nettrial.report.serving import Handler, opened; from nettrial.systems import zoned; "
        f"print(opened(zoned('{link_local(pair, SERVER)}%left'), 0, Handler, 'serving').server_port)"
    )
    python = f"env PYTHONPATH={shlex.quote(str(ROOT))} {shlex.quote(sys.executable)}"
    assert int(pair.on(SERVER, f"{python} -c {shlex.quote(program)}")) > 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("measure", "fe80::1"),
            "with an interface of this machine, such as fe80::1%eth0",
        ),
        (("measure", "fe80::1%nothing0"), "there is no interface nothing0 here"),
        (("serve", "--bind", "fe80::1"), "each interface has a link of its own"),
        (("serve", "--bind", "10.0.0.2%left"), "10.0.0.2 is not link-local and has no zone"),
        (("path", "fe80::1"), "fe80::1%eth0"),
    ],
)
def test_a_zone_that_is_missing_or_unknown_is_bad_input(
    words: tuple[str, ...], said: str, pair: Chain
) -> None:
    done = forked.run(nettrial(pair, CLIENT, *words))
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
