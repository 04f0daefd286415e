"""Switches under an OpenFlow controller: Open vSwitch, and nettrial's controllers."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nettrial.backends import TrialFailed
from nettrial.backends.find import engine
from nettrial.metrics import METRICS
from nettrial.scenario import CheckedEvent, CheckRequest, Record, Request, RunRequest, Scenario
from nettrial.systems import CONTROLLERS, controllers_python
from tests.end_to_end.serving import spare_port
from tests.lab.fabric_study import fabric_scenario
from tests.lab.lacking import lacking
from tests.lab.sandbox import Sandbox, wait_for
from tests.lab.test_kill import killed_engines

SILENT = "import socket, time; at = socket.create_server(('', {port})); time.sleep(600)"
"""A program that listens on the port and never answers."""
OWN = Path(__file__).with_name("own_controller.py")


@pytest.fixture(autouse=True)
def _there() -> None:
    path = os.environ["PATH"] + ":/usr/sbin"
    if not shutil.which("ovs-vswitchd", path=path) or not importlib.util.find_spec("os_ken"):
        lacking("there is no Open vSwitch or no os-ken: tools/setup-tests.sh")


def scenario(
    directory: Path,
    controller: dict[str, Any],
    ip: int = 4,
    seconds: int = 1,
    spines: int = 2,
    flows: tuple[str, ...] = ("there", "back"),
) -> Scenario:
    network = {
        "topology": "leaf-spine",
        "parameters": {"leaves": 2, "spines": spines},
        "forwarding": "openflow",
        "ip": ip,
        "addresses": 2,
        "controller": controller,
        "mtu": "1500 B",
        "rate": "20 Mbit/s",
    }
    transfer = {"kind": "transfer", "duration": f"{seconds} s"}
    packets = {"kind": "packets", "duration": f"{seconds} s", "size": "500 B", "gap": "10 ms"}
    known = {
        "there": {"from": "host-1", "to": "host-2", "transport": "tcp", "traffic": transfer},
        "back": {"from": "host-2", "to": "host-1", "transport": "udp", "traffic": packets},
    }
    return fabric_scenario(directory, network, *({"flow": name, **known[name]} for name in flows))


@pytest.mark.parametrize(
    ("controller", "ip"),
    [
        ({"application": "shortest_path"}, 4),
        ({"application": "ecmp", "mode": "proactive"}, 6),
        ({"application": "k_shortest_paths", "mode": "reactive"}, 4),
        ({"application": "learning", "mode": "reactive"}, 6),
    ],
)
def test_a_controller_carries_traffic_and_tells_its_work(
    controller: dict[str, Any], ip: int, tmp_path: Path, run: Callable[[Scenario], Record]
) -> None:
    record = run(scenario(tmp_path, controller, ip))
    assert [check for check in record.checks if not check.passed] == []
    there, back = record.flows
    assert there.bytes > 100_000
    assert back.packets is not None
    assert back.packets.received_pkts > 50
    work = record.controller
    assert work is not None
    assert work.openflow == "1.3"
    assert 0 < work.connect_ns <= (work.ready_ns or 0)
    assert 0 < (work.discovery_ns or 0) < (work.ready_ns or 0)
    assert work.rules.count == 4
    if controller.get("mode") == "reactive":
        # Every switch has a rule for LLDP frames and one for all other frames; the leaves also have rules for
        # flows.
        assert work.rules.minimum >= 2
        assert work.rules.maximum >= 4
    else:
        # Every switch has these two rules, and one for each host.
        assert (work.rules.minimum, work.rules.maximum) == (4, 4)
        assert work.setup_us is None
    if controller["application"] == "k_shortest_paths":
        # The traffic's connections have their own ports, so their first packets arrive at the controller
        # during the traffic.
        assert work.setup_us is not None
        assert work.setup_us.count >= 2
        assert work.packet_ins >= work.setup_us.count


def test_the_subflows_of_two_interfaces_take_paths_of_their_own(
    tmp_path: Path, run: Callable[[Scenario], Record]
) -> None:
    network = {
        "topology": "leaf-spine",
        "parameters": {"leaves": 2, "spines": 2, "interfaces_per_host": 2},
        "forwarding": "openflow",
        "ip": 4,
        "controller": {"application": "k_shortest_paths"},
        "mtu": "1500 B",
        "rate": "20 Mbit/s",
        "offloads": {"tso": False, "gso": False, "gro": False},
    }
    transfer = {"kind": "transfer", "duration": "2 s"}
    flow = {"flow": "there", "from": "host-1", "to": "host-2", "transport": "mptcp", "traffic": transfer}
    record = run(fabric_scenario(tmp_path, network, flow))
    assert [check for check in record.checks if not check.passed] == []
    [there] = record.flows
    assert len(there.subflows) == 2
    # Each of two spines carries one subflow, so both together more than one link.
    assert there.goodput_bps > 22e6
    carried = {end.node: end.wire_bytes for end in record.ends if end.node.startswith("spine")}
    assert len(carried) == 2
    assert min(carried.values()) > 500_000


def own(*words: str) -> list[str]:
    """Returns the command of a controller that the user wrote."""
    return [sys.executable, str(OWN), *words]


def test_a_command_is_a_controller_of_which_what_passes_is_counted(
    tmp_path: Path, run: Callable[[Scenario], Record]
) -> None:
    controller = {"command": own("{port}", "1.3"), "settle": "200 ms"}
    record = run(scenario(tmp_path, controller, spines=1))
    assert [check for check in record.checks if not check.passed] == []
    assert not {"controller_lost", "controller_loop"} & {warning.code for warning in record.warnings}
    assert record.flows[0].bytes > 100_000
    work = record.controller
    assert work is not None
    assert work.openflow == "1.3"
    assert work.connect_ns > 0
    # Each of three switches sends each datagram to the controller.
    assert work.packet_ins > 150
    assert work.packet_outs > 150
    # Each of three switches has a rule for all other frames, and at least one for each of two hosts.
    assert (work.rules.count, work.rules.minimum >= 3) == (3, True)
    assert METRICS["controller_cpu"].read(record, "controller") > 0  # type: ignore[operator]
    untold = METRICS["controller_ready"].read(record, "controller")
    assert untold == "a controller that is not nettrial's does not tell it"


def test_a_controller_at_an_address_speaks_openflow_1_0_and_its_loop_is_warned_of(
    tmp_path: Path, run: Callable[[Scenario], Record]
) -> None:
    port = spare_port()
    with subprocess.Popen(own(str(port), "1.0", "loop")) as process:
        try:
            assert wait_for(lambda: listens(port))
            controller = {"address": f"tcp:127.0.0.1:{port}", "settle": "200 ms"}
            # A transfer would fill the queues, which would then drop the looping frames.
            record = run(scenario(tmp_path, controller, spines=1, flows=("back",)))
        finally:
            process.kill()
    work = record.controller
    assert work is not None
    assert (work.openflow, work.cpu_ns) == ("1.0", None)
    [loop] = [warning for warning in record.warnings if warning.code == "controller_loop"]
    assert "leaf-" in loop.object or "spine-" in loop.object
    assert "frames go round in a loop" in loop.message


@pytest.mark.slow
def test_a_storm_is_named_whether_or_not_the_trial_gets_through_it(
    tmp_path: Path, run: Callable[[Scenario], Record]
) -> None:
    """The switches form a ring, learn addresses, and have no spanning tree."""
    made = scenario(tmp_path, {"command": own("{port}", "1.3"), "settle": "200 ms"}, spines=2)
    try:
        said = " ".join(warning.message for warning in run(made).warnings)
    except TrialFailed as failed:
        said = str(failed)
    assert "frames go round in a loop" in said


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["sh", "-c", "echo no such application >&2; exit 1"], "ended; its last words: no such application"),
        (
            ["sh", "-c", "echo still thinking; exec sleep 600"],
            "did not listen at port 6653 of 127.0.0.1 after 10 s; its last words: still thinking",
        ),
        ([sys.executable, "-c", SILENT], "had 0 of 3 switches after 10 s"),
    ],
)
def test_a_controller_that_never_connects_fails_the_trial_with_its_last_words(
    command: list[str], said: str, tmp_path: Path, run: Callable[[Scenario], Record]
) -> None:
    made = scenario(tmp_path, {"command": command, "connect_limit": "10 s"}, spines=1)
    with pytest.raises(TrialFailed, match=re.escape(said)):
        run(made)


def test_an_address_where_nobody_listens_fails_the_trial(
    tmp_path: Path, run: Callable[[Scenario], Record]
) -> None:
    made = scenario(tmp_path, {"address": "tcp:127.0.0.1:1"}, spines=1)
    with pytest.raises(TrialFailed, match=r"connecting to the controller at 127\.0\.0\.1 port 1: "):
        run(made)


def answer_of(command: list[str], request: str) -> CheckedEvent:
    """Returns the answer to a request. Standard input closes only then, because the engine ends with it."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{request}\n")
        process.stdin.flush()
        return CheckedEvent.model_validate_json(process.stdout.readline())


def test_an_address_is_refused_to_a_user_who_is_not_root(tmp_path: Path, as_user: list[str]) -> None:
    """Such a user has a lab in a user namespace, whose network does not lead back to that of the machine."""
    made = scenario(tmp_path, {"address": "tcp:127.0.0.1:6653"}, spines=1)
    request = Request(CheckRequest(scenario=made)).model_dump_json(by_alias=True, exclude_none=True)
    root, user = (answer_of([*prefix, str(engine()), "lab"], request).problems for prefix in ([], as_user))
    assert root == []
    [problem] = user
    assert (problem.object, problem.setting, problem.expected) == (
        *("the controller", "address"),
        "none for this user",
    )
    assert problem.hint == "only root can return from the lab's network to the machine's: run as root"
    assert problem.of_machine


def test_a_controller_that_ends_marks_the_trial(tmp_path: Path, sandbox: Sandbox) -> None:
    made = scenario(tmp_path, {"application": "shortest_path"}, seconds=15)
    request = Request(RunRequest(trial="lost", scenario=made))
    text = request.model_dump_json(by_alias=True, exclude_none=True)
    with subprocess.Popen(
        sandbox.command([str(engine()), "lab"]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, CONTROLLERS: controllers_python()},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(text.encode() + b"\n")
        process.stdin.flush()
        agents = lambda: [line for line in sandbox.processes().values() if "dies-with-parent" in line]  # noqa: E731
        assert wait_for(lambda: len(agents()) == 2)
        time.sleep(3)
        sandbox.kill("nettrial.controllers", signal.SIGKILL)
        event = json.loads(process.stdout.readline())
        process.stdin.close()
    assert event["event"] == "record", event
    record = Record.model_validate(event["record"])
    assert record.controller is None
    assert "controller_lost" in [warning.code for warning in record.warnings]
    assert {"packet_ins", "flow_setup"} <= {absence.metric for absence in record.absent}
    sandbox.assert_empty()


@pytest.mark.parametrize("who", ["root", "user"])
def test_a_killed_engine_takes_switches_and_controller_with_it(
    who: str, tmp_path: Path, sandbox: Sandbox, request: pytest.FixtureRequest
) -> None:
    """Root uses one of nettrial's applications as the controller, and a user without privileges uses a
    command."""
    prefix: list[str] = []
    controller: dict[str, Any] = {"application": "ecmp"}
    if who == "user":
        prefix, controller = request.getfixturevalue("as_user"), {"command": own("{port}", "1.3")}
    request.getfixturevalue("monkeypatch").setenv(CONTROLLERS, controllers_python())
    made = scenario(tmp_path, controller, seconds=60, spines=1)
    trial = json.loads(made.model_dump_json(by_alias=True, exclude_none=True))
    process = "own_controller" if who == "user" else "nettrial.controllers"
    seen = set()
    for number in killed_engines(sandbox, prefix, trial, 2):
        wanted = ("ovs-vswitchd", process, *(["dies-with-parent"] if number else []))
        there = lambda wanted=wanted: all(  # noqa: E731
            any(each in line for line in sandbox.processes().values()) for each in wanted
        )
        assert wait_for(there)
        seen |= set(wanted)
    assert seen == {"ovs-vswitchd", process, "dies-with-parent"}
