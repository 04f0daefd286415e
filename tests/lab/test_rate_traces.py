"""Links whose rates follow traces: packets arrive when they do in the simulator, in virtual time exactly, and
in the lab as well as its timers allow."""

import bisect
import itertools
import json
import operator
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nettrial.backends import BACKENDS, Backend, Configuration, find_kernel
from nettrial.design import scenario_of
from nettrial.scenario import Capture, Record, Scenario
from nettrial.study import load
from tests.lab.captured import arrivals
from tests.lab.lacking import lacking
from tests.lab.sandbox import PATIENCE, Sandbox, wait_for
from tests.lab.test_tools import begin
from tests.measuring import Run, timers_now, until_it_holds

TABLE = "0, 0\n5 ms, 10 Mbit/s\n200 ms, 0\n300 ms, 30 Mbit/s\n500 ms, 7 Mbit/s\n600 ms, end\n"
INTERVAL_NS, BEGIN_NS, END_NS = 10_000_000, 100_000_000, 950_000_000
FULL_FRAME_BYTES = 1514
PAUSE_NS = 80_000_000


def cellular() -> str:
    """Returns a trace in Mahimahi's format of half a second with bursts, gaps and an outage of 100 ms."""
    chance = random.Random(1)
    lines = []
    for ms in range(6, 501):
        if not 300 < ms <= 400:
            lines += [f"{ms}\n"] * chance.choice((0, 1, 1, 2, 4))
    return "".join([*lines, "500\n"])


TRACES = {"cellular": cellular(), "table": TABLE}


@pytest.fixture(scope="module")
def kernel() -> Iterator[Backend]:
    """Yields a backend in virtual time."""
    if find_kernel() is None:
        lacking("no kernel in virtual time here: `make virtual` builds one")
    with BACKENDS["virtual"].start(Configuration()) as started:
        yield started


@pytest.fixture(scope="module")
def simulator() -> Iterator[Backend]:
    with Backend("sim") as started:
        yield started


def study(folder: Path, trace: str, traffic: dict[str, Any], **network: Any) -> Scenario:
    """Returns the scenario of a study of a flow over a link that follows a trace."""
    (folder / "link.trace").write_text(trace)
    transport = "tcp" if traffic["kind"] == "transfer" else "udp"
    ends = {"from": "sender", "to": "receiver", "transport": transport}
    data = {
        "study": "traced",
        "title": "A traced link",
        "question": "What does it carry?",
        "backend": "sim",
        "replicates": 1,
        "full_replicates": 1,
        "warmup": 0,
        "network": {
            "topology": "pair",
            "ip": 4,
            "rate": {"trace": "link.trace", "loop": True},
            "delay": "5 ms",
            "queue": "10 packets",
            "mtu": "1500 B",
            **network,
        },
        "hosts": {"sender": {"stack": "linux-cubic"}, "receiver": {"stack": "linux-cubic"}},
        "workload": [{"flow": "data", **ends, "traffic": traffic}],
        "measurement": {"interval": "100 ms", "queue_drops": "allowed"},
        "factors": {"mtu": {"title": "MTU", "sets": "network.mtu", "levels": ["1500 B"]}},
        "responses": [{"name": "rate", "title": "Rate", "metric": "goodput", "of": "data", "unit": "Mbit/s"}],
        "layout": {"rows": "mtu"},
    }
    (folder / "study.yaml").write_text(json.dumps(data))
    return scenario_of(load(str(folder / "study.yaml")), {"mtu": "1500 B"})


PACKETS = {"kind": "packets", "size": "1472 B", "gap": "250 us", "duration": "1 s"}
"""Packets at 49 Mbit/s, more than each link carries, so that its queue is never empty."""


def arrived(backend: Backend, scenario: Scenario, folder: Path) -> tuple[list[int], Record]:
    """Returns the times at which full frames arrive at the receiver, in nanoseconds, and the record."""
    folder.mkdir()
    capture = Capture(directory=str(folder), name="trial", snap_bytes=64)
    record = backend.run("trial", scenario, PATIENCE, capture=capture)
    times = [
        at for at, length in arrivals(folder / "trial-receiver-eth0.pcapng") if length == FULL_FRAME_BYTES
    ]
    return times, record


def by_interval(times: list[int]) -> list[int]:
    """Returns the number of packets that arrive in each interval of the trace that is compared."""
    bounds = range(BEGIN_NS, END_NS + 1, INTERVAL_NS)
    before = [bisect.bisect_left(times, bound) for bound in bounds]
    return [after - before for before, after in itertools.pairwise(before)]


@pytest.mark.virtual
@pytest.mark.parametrize("trace", TRACES)
def test_packets_arrive_in_virtual_time_when_they_do_in_the_simulator(
    trace: str, kernel: Backend, simulator: Backend, tmp_path: Path
) -> None:
    scenario = study(tmp_path, TRACES[trace], PACKETS)
    expected, _ = arrived(simulator, scenario, tmp_path / "sim")
    found, record = arrived(kernel, scenario, tmp_path / "virtual")
    assert record.warnings == []
    begins_ns = record.started_unix_ns + record.phases.network_ns + record.phases.checks_ns
    found = [at - begins_ns for at in found]
    apart = itertools.accumulate(map(operator.sub, by_interval(found), by_interval(expected)))
    assert max(by_interval(expected)) > 10
    assert by_interval(expected).count(0) >= 8
    # The frames of the connection that opens the flow, which the simulator does not have, shift those of
    # the data by a part of a frame.
    assert max(map(abs, apart)) <= 1


def after_the_pause(times: list[int]) -> list[int]:
    """Returns the times from the first packet on that arrives after a pause, counted from it."""
    first = next(later for earlier, later in itertools.pairwise(times) if later - earlier > PAUSE_NS)
    return [at - first for at in times if at >= first]


@pytest.mark.measures
@pytest.mark.parametrize("trace", ["cellular", pytest.param("table", marks=pytest.mark.slow)])
def test_the_lab_carries_what_the_trace_says(
    trace: str, lab: Backend, simulator: Backend, tmp_path: Path
) -> None:
    scenario = study(tmp_path, TRACES[trace], PACKETS)
    expected = after_the_pause(arrived(simulator, scenario, tmp_path / "sim")[0])
    found: list[list[int]] = []

    def run(asked: Scenario) -> Record:
        times, record = arrived(lab, asked, tmp_path / f"lab-{len(found)}")
        found.append(after_the_pause(times))
        return record

    def attempt(run: Run) -> None:
        record = run(scenario)
        [counted] = [one for one in record.ends if one.node == "sender"]
        assert counted.drops_pkts > 0
        for until_ns in range(0, 500_000_000, 10_000_000):
            carried, wanted = (bisect.bisect_left(times, until_ns) for times in (found[-1], expected))
            # A frame that leaves half a millisecond late counts as late in the record: here that is 2 frames.
            assert abs(carried - wanted) <= 3, until_ns

    until_it_holds(run, attempt, timers_now)


def test_the_lab_refuses_what_the_queue_of_its_delay_line_is_not(lab: Backend, tmp_path: Path) -> None:
    scenario = study(tmp_path, TABLE, PACKETS, discipline="codel")
    scenario.measurement.queue_interval = type(scenario.measurement.interval)("1 ms")
    problems = lab.check(scenario)
    assert [problem.setting for problem in problems if "--backend virtual" in problem.hint] == [
        "discipline",
        "queue_interval",
    ]


def test_a_kill_leaves_nothing(sandbox: Sandbox, tmp_path: Path) -> None:
    scenario = study(tmp_path, TABLE, {**PACKETS, "duration": "600 s"})
    with begin(sandbox, scenario, tmp_path) as runner:
        assert wait_for(lambda: len(sandbox.namespaces()) >= 4)
        time.sleep(0.5)  # At any load, it is killed while it builds the network, or during the traffic.
        sandbox.kill("nettrial-engine lab", signal.SIGKILL)
        runner.communicate(timeout=PATIENCE)
    assert runner.returncode != 0
