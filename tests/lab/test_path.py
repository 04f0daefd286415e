"""`nettrial path` finds the MTU limits of paths that the test builds from namespaces."""

import contextlib
import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import forked
from tests.lab.chain import Chain
from tests.lab.sandbox import PATIENCE

ROOT = Path(__file__).parents[2]
NETTRIAL = f"env PYTHONPATH={shlex.quote(str(ROOT))} NO_COLOR=1 {shlex.quote(sys.executable)} -m nettrial.cli"
JUMBO, PLAIN = 9000, 1500

pytestmark = pytest.mark.settles  # On a busy machine, an answer may come too late.

Report = dict[str, Any]


@pytest.fixture(autouse=True)
def _namespaces(as_user: list[str]) -> None:
    """Skips the tests where user namespaces are not available, because chains need them."""


def command(chain: Chain, *arguments: str, unprivileged: bool = False) -> forked.Command:
    """Returns a command of nettrial on node 0."""
    given = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    return forked.Command(arguments, given, inside=chain.holders[0], unprivileged=unprivileged)


def examined(chain: Chain, *options: str, unprivileged: bool = False) -> dict[int, Report]:
    """Returns the findings of node 0 about its paths to the last node, by IP version. Both examinations run
    at once."""
    found = {}
    with contextlib.ExitStack() as stack:
        for ip in (4, 6):
            words = ("path", chain.address(ip), "--json", *options)
            found[ip] = stack.enter_context(forked.Process(command(chain, *words, unprivileged=unprivileged)))
        ended = {ip: (process.communicate(PATIENCE), process.returncode) for ip, process in found.items()}
    assert {status for _, status in ended.values()} == {0}, ended
    return {ip: json.loads(output)["paths"][0] for ip, ((output, _), _) in ended.items()}


def ends(path: Report, direction: str) -> tuple[int, bool]:
    return path[direction]["mtu_bytes"], path[direction]["limited"]


def reached(path: Report) -> list[tuple[int | None, int | None]]:
    return [(hop.get("reached_bytes"), hop.get("not_reached_bytes")) for hop in path["hops"]]


def test_a_clean_jumbo_path() -> None:
    with Chain([JUMBO] * 3) as chain:
        found = examined(chain, "--rate", "1 Gbit/s")
        for ip, path in found.items():
            assert path["verdict"]["jumbo"] == "clean"
            assert "at_fault" not in path["verdict"]
            assert ends(path, "forward") == ends(path, "reverse") == (JUMBO, False)
            assert (path["trusting"]["mtu_bytes"], path["trusting"]["arrives"]) == (JUMBO, True)
            assert path["verdict"]["black_hole"] is False
            assert [hop["address"] for hop in path["hops"]] == [chain.end(link, ip) for link in range(3)]
            assert reached(path) == [(JUMBO, None)] * 3
            assert (path["interface"]["name"], path["interface"]["mtu_bytes"]) == ("right", JUMBO)
            assert path["rtt"]["received_pkts"] == path["rtt"]["sent_pkts"] == 10
            assert path["buffers"]["rate_bps"] == 10**9
            assert [row["passes"] for row in path["theory"]] == [True, True]
            assert "--port" in path["absent"][0]["reason"]
        page = forked.run(command(chain, "path", chain.address(4))).stdout
        assert f"Path to {chain.address(4)}, IPv4: clean for jumbo frames" in page


def test_a_router_with_a_small_mtu_in_the_middle_is_found() -> None:
    with Chain([JUMBO, PLAIN, JUMBO]) as chain:
        for ip, path in examined(chain).items():
            router = chain.end(0, ip)
            assert path["verdict"]["jumbo"] == "not_clean"
            assert path["verdict"]["black_hole"] is False
            assert ends(path, "forward") == (PLAIN, True)
            assert path["trusting"]["messages"] == [{"by": router, "mtu_bytes": PLAIN, "size_bytes": JUMBO}]
            (limit,) = path["limits"]
            assert (limit["mtu_bytes"], limit["after_hop"], limit["before_hop"]) == (PLAIN, 1, 2)
            assert limit["announced_by"] == router
            assert path["verdict"]["at_fault"] == limit["at_fault"]
            assert f"from hop 1 ({router}) to hop 2" in limit["at_fault"]
            assert reached(path) == [(JUMBO, None), (PLAIN, PLAIN + 1), (PLAIN, PLAIN + 1)]


def test_a_black_hole_and_the_silent_hop_at_fault_are_found() -> None:
    with Chain([JUMBO, JUMBO, PLAIN, JUMBO]) as chain:
        chain.silence(2)
        for path in examined(chain).values():
            assert path["verdict"]["jumbo"] == "not_clean"
            assert path["verdict"]["black_hole"] is True
            assert ends(path, "forward") == (PLAIN, True)
            assert path["trusting"] == {"mtu_bytes": JUMBO, "arrives": False, "messages": []}
            assert "address" not in path["hops"][1]
            assert [(limit["after_hop"], limit["before_hop"]) for limit in path["limits"]] == [(1, 3)]
            assert "hop 2, which is silent" in path["verdict"]["at_fault"]


def test_a_limit_at_an_odd_size_is_found_exactly() -> None:
    with Chain([JUMBO, 1437, JUMBO]) as chain:
        chain.silence(1)
        for path in examined(chain).values():
            assert ends(path, "forward") == (1437, True)


@pytest.mark.parametrize("silent", [False, True])
def test_a_small_mtu_on_the_way_back_alone_is_told_from_one_on_the_way_there(silent: bool) -> None:
    with Chain([JUMBO] * 3) as chain:
        # A router applies the MTU of a route to packets that it forwards only if that MTU is locked.
        chain.on(2, f"ip route change 10.0.0.0/24 via 10.0.1.1 mtu lock {PLAIN}")
        chain.on(2, f"ip -6 route change fd00:0::/64 via fd00:1::1 mtu lock {PLAIN}")
        if silent:
            chain.silence(2)
        for ip, path in examined(chain).items():
            assert ends(path, "forward") == (JUMBO, False)
            assert ends(path, "reverse") == (PLAIN, True)
            # The router fragments IPv4 replies, whether or not it sends ICMP messages.
            lost = silent and ip == 6
            assert ("don't arrive" if lost else "fragments") in path["reverse"]["how"]
            assert path["verdict"]["jumbo"] == "not_clean"
            assert path["verdict"]["at_fault"] == "a hop on the reverse path"
            assert path["verdict"]["black_hole"] is False


def test_a_user_without_rights_measures_the_way_there_and_is_told_what_lacks() -> None:
    with Chain([JUMBO, PLAIN, JUMBO]) as chain:
        for path in examined(chain, unprivileged=True).values():
            assert path["answers"] == ["udp"]
            assert ends(path, "forward") == (PLAIN, True)
            assert [(limit["after_hop"], limit["before_hop"]) for limit in path["limits"]] == [(1, 2)]
            assert path["verdict"]["jumbo"] == "not_clean"
            assert "reverse" not in path
            reason = next(absent["reason"] for absent in path["absent"] if absent["metric"] == "reverse")
            assert "net.ipv4.ping_group_range" in reason
        chain.on(0, 'sysctl -qw net.ipv4.ping_group_range="0 0"')
        for path in examined(chain, unprivileged=True).values():
            assert path["answers"] == ["echo", "udp"]
            assert ends(path, "forward") == (PLAIN, True)
            assert ends(path, "reverse") == (PLAIN, False)


def test_of_a_host_that_cannot_be_reached_nothing_is_claimed() -> None:
    with Chain([JUMBO, PLAIN, JUMBO]) as chain:
        chain.on(3, "ip link set left down")
        for ip, path in examined(chain).items():
            assert path["verdict"]["jumbo"] == "cannot_tell"
            assert chain.end(1, ip) in path["verdict"]["reasons"][0]
            assert path["hops"][-1]["address"] == chain.end(1, ip)
            assert not {"forward", "reverse", "rtt", "buffers"} & set(path)
            assert {absent["metric"] for absent in path["absent"]} >= {"forward", "reverse", "rtt", "buffers"}


def test_of_an_absent_host_behind_a_small_interface_nothing_is_claimed() -> None:
    with Chain([PLAIN]) as chain:
        for address in ("10.0.0.9", "fd00::9"):
            done = forked.run(command(chain, "path", address, "--json"))
            (path,) = json.loads(done.stdout)["paths"]
            assert path["verdict"]["jumbo"] == "cannot_tell"
            assert "at_fault" not in path["verdict"]
            assert any("the host answers neither" in reason for reason in path["verdict"]["reasons"])
        page = forked.run(command(chain, "path", "10.0.0.9")).stdout
        assert "Path to 10.0.0.9, IPv4: can't tell" in page


def test_a_route_of_this_host_with_a_small_mtu_is_at_fault() -> None:
    with Chain([JUMBO]) as chain:
        for lock in ("lock ", ""):
            chain.on(0, f"ip route replace 10.0.0.2/32 dev right mtu {lock}1400")
            chain.on(0, f"ip -6 route replace fd00::2/128 dev right mtu {lock}1400")
            for path in examined(chain).values():
                assert path["kernel_mtu_bytes"] == 1400
                assert ends(path, "forward") == (JUMBO, False)
                assert path["verdict"]["jumbo"] == "not_clean"
                fault = "this host's route to the host, with its MTU of 1400"
                assert path["verdict"]["at_fault"] == fault


def test_an_interface_without_jumbo_frames_is_at_fault_itself() -> None:
    with Chain([PLAIN, JUMBO]) as chain:
        for path in examined(chain).values():
            assert path["verdict"]["jumbo"] == "not_clean"
            assert path["verdict"]["at_fault"] == "this host's right"
            assert path["largest_tried_bytes"] == PLAIN


LISTEN = "import socket; s = socket.create_server(('::', 5000), family=socket.AF_INET6, dualstack_ipv6=True)"


def test_a_clamped_mss_is_told_from_one_that_fits() -> None:
    with Chain([JUMBO, PLAIN, JUMBO]) as chain:
        program = shlex.quote(f"{LISTEN}; print('ready', flush=True); import time; time.sleep(600)")
        chain.start(3, f"{sys.executable} -c {program}")
        options = ("--port", "4999", "--port", "5000")
        # The kernel knows the path MTU before it connects.
        for ip, path in examined(chain, *options).items():
            implied = PLAIN - (40 if ip == 4 else 60)
            assert (path["mss"]["port"], path["mss"]["implied_bytes"]) == (5000, implied)
            assert (path["mss"]["segment_bytes"], path["mss"]["finding"]) == (implied - 12, "fits")
        chain.on(3, "ip route change 10.0.0.0/24 via 10.0.2.1 advmss 1300")
        chain.on(3, "ip -6 route change fd00:0::/64 via fd00:2::1 advmss 1300")
        for path in examined(chain, *options).values():
            assert (path["mss"]["segment_bytes"], path["mss"]["finding"]) == (1300 - 12, "clamped")
        for path in examined(chain, "--port", "4999").values():
            reason = next(absent["reason"] for absent in path["absent"] if absent["metric"] == "mss")
            assert "port 4999: Connection refused" in reason


def test_without_a_route_the_status_is_3_and_with_a_bad_host_2() -> None:
    with Chain([PLAIN]) as chain:
        done = forked.run(command(chain, "path", "192.0.2.1"))
        assert done.returncode == 3
        said = "IPv4 to 192.0.2.1: looking for a route to 192.0.2.1: Network is unreachable"
        assert said in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        for host in ("224.0.0.1", "no.such.host.invalid"):
            assert forked.run(command(chain, "path", host)).returncode == 2


def test_the_engine_ends_with_whoever_asked() -> None:
    with Chain([PLAIN, PLAIN]) as chain:
        chain.on(2, "ip link set left down")
        runs = "pgrep -x nettrial-engine > /dev/null"
        script = (
            f"{NETTRIAL} path {chain.address(4)} & asked=$!; until {runs}; do sleep 0.05; done; "
            f"kill -9 $asked; for i in $(seq 100); do {runs} || break; sleep 0.05; done; {runs} || echo ended"
        )
        assert chain.on(0, f"bash -c {shlex.quote(script)}").split()[-1] == "ended"
