"""Switches under an OpenFlow controller: Open vSwitch, and nettrial's controllers."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nettrial.backends.find import engine
from nettrial.design import scenario_of
from nettrial.scenario import Record, Request, RunRequest, Scenario
from nettrial.study import load
from nettrial.systems import CONTROLLERS, controllers_python
from tests.lab.lacking import lacking
from tests.lab.sandbox import Sandbox, wait_for
from tests.lab.test_kill import killed_engines

STUDY = """
study: mine
title: Mine
question: What happens?
backend: lab
replicates: 1
full_replicates: 1
warmup: 0
network:
  topology: leaf-spine
  parameters: {leaves: 2, spines: 2}
  forwarding: openflow
  ip: IP
  addresses: 2
  controller: CONTROLLER
  mtu: 1500 B
  rate: 20 Mbit/s
  queue: 50 packets
hosts: {every: {stack: linux-cubic}}
workload:
  - {flow: there, from: host-1, to: host-2, transport: tcp, traffic: {kind: transfer, duration: SECONDS s}}
  - {flow: back, from: host-2, to: host-1, transport: udp,
     traffic: {kind: packets, duration: SECONDS s, size: 500 B, gap: 10 ms}}
measurement: {interval: 100 ms, queue_drops: allowed}
factors: {mtu: {title: MTU, sets: network.mtu, levels: [1500 B]}}
responses:
  - {name: goodput, title: Goodput, metric: goodput, of: there, unit: Mbit/s}
  - {name: rules, title: Rules, metric: rules_per_switch, of: controller, unit: rules}
layout: {rows: mtu}
"""


@pytest.fixture(autouse=True)
def _there() -> None:
    path = os.environ["PATH"] + ":/usr/sbin"
    if not shutil.which("ovs-vswitchd", path=path) or not importlib.util.find_spec("os_ken"):
        lacking("there is no Open vSwitch or no os-ken: tools/setup-tests.sh")


def scenario(directory: Path, controller: str, ip: int = 4, seconds: int = 1) -> Scenario:
    text = STUDY.replace("CONTROLLER", controller).replace("IP", str(ip)).replace("SECONDS", str(seconds))
    (directory / "study.yaml").write_text(text)
    return scenario_of(load(str(directory)), {})


@pytest.mark.parametrize(
    ("controller", "ip"),
    [
        ("{application: shortest_path}", 4),
        ("{application: ecmp, mode: proactive}", 6),
        ("{application: k_shortest_paths, mode: reactive}", 4),
        ("{application: learning, mode: reactive}", 6),
    ],
)
def test_a_controller_carries_traffic_and_tells_its_work(
    controller: str, ip: int, tmp_path: Path, run: Callable[[Scenario], Record]
) -> None:
    record = run(scenario(tmp_path, controller, ip))
    assert [check for check in record.checks if not check.passed] == []
    there, back = record.flows
    assert there.bytes > 100_000
    assert back.packets is not None
    assert back.packets.received_pkts > 50
    work = record.controller
    assert work is not None
    assert 0 < work.connect_ns <= work.ready_ns
    assert 0 < work.discovery_ns < work.ready_ns
    assert work.rules.count == 4
    if "reactive" in controller:
        # A rule for LLDP frames, one for all others, and at the leaves some for flows.
        assert work.rules.minimum >= 2
        assert work.rules.maximum >= 4
    else:
        # Those two, and one for each host.
        assert (work.rules.minimum, work.rules.maximum) == (4, 4)
        assert work.setup_us is None
    if "k_shortest" in controller:
        # Connections of the traffic have ports of their own: their first packets came while it went.
        assert work.setup_us is not None
        assert work.setup_us.count >= 2
        assert work.packet_ins >= work.setup_us.count


def test_a_controller_that_ends_marks_the_trial(tmp_path: Path, sandbox: Sandbox) -> None:
    made = scenario(tmp_path, "{application: shortest_path}", seconds=6)
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
        assert wait_for(lambda: len(agents()) == 2, 120)
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
    prefix = request.getfixturevalue("as_user") if who == "user" else []
    request.getfixturevalue("monkeypatch").setenv(CONTROLLERS, controllers_python())
    made = scenario(tmp_path, "{application: ecmp}", seconds=60)
    trial = json.loads(made.model_dump_json(by_alias=True, exclude_none=True))
    seen = set()
    for number in killed_engines(sandbox, prefix, trial, 2):
        wanted = ("ovs-vswitchd", "nettrial.controllers", *(["dies-with-parent"] if number else []))
        there = lambda wanted=wanted: all(  # noqa: E731
            any(each in line for line in sandbox.processes().values()) for each in wanted
        )
        assert wait_for(there, 120)
        seen |= set(wanted)
    assert seen == {"ovs-vswitchd", "nettrial.controllers", "dies-with-parent"}
