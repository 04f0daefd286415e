"""nettrial's own congestion controls are in the kernel while a run needs them, and gone when the engine
ends."""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nettrial.backends import Backend, find
from nettrial.congestion import CONTROLS
from nettrial.design import traffic_seconds
from nettrial.scenario import Link, Record, Scenario
from tests import forked
from tests.lab.lacking import lacking
from tests.lab.sandbox import PATIENCE, wait_for
from tests.lab.side_by_side import side_by_side
from tests.measuring import Attempt, Run

ROOT = Path(__file__).parents[2]
OWN = [name for name in CONTROLS if CONTROLS[name].own]
REGISTERED = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
TOTAL_BPS = 40e6
"""The sum of the paths' rates on the wire."""


@pytest.fixture(scope="module", autouse=True)
def _machine(lab: Backend) -> None:
    """Skips the tests if this machine's kernel can't load the congestion controls; in CI, they fail."""
    lacks = [limit for limit in lab.preflight(thorough=True).limits if "lia" in limit.what]
    if lacks:
        lacking("; ".join(f"{lack.what}: {lack.why}" for lack in lacks))


@pytest.fixture
def paths(resolve: Callable[..., Scenario]) -> Callable[..., Scenario]:
    """Returns a function that makes a scenario of a transfer from sender to receiver over several paths
    through one router. The bottleneck of each path is the router's link to the receiver, because a sender
    whose own interface is the bottleneck sees no loss."""

    def make(control: str, ip: int, number: int, transport: str = "mptcp", seconds: str = "2 s") -> Scenario:
        scenario = resolve(mtu="1500", network__ip=str(ip), workload__transfer__traffic__duration=seconds)
        for node in scenario.nodes:
            if node.stack:
                node.stack.congestion_control = control
        scenario.workload = scenario.workload[:1]
        scenario.workload[0].traffic.root.size = None
        scenario.workload[0].transport.root = transport  # type: ignore[assignment]
        scenario.links = []
        for path in range(number):
            scenario.links += [
                link(("sender", f"eth{path}"), ("router", f"in{path}"), path, ip, 4 * TOTAL_BPS),
                link(
                    ("router", f"out{path}"),
                    ("receiver", f"eth{path}"),
                    10 + path,
                    ip,
                    TOTAL_BPS / number,
                ),
            ]
        return scenario

    return make


def link(left: tuple[str, str], right: tuple[str, str], network: int, ip: int, rate: float) -> Link:
    """Returns a link between two interfaces, with a network of its own."""

    def end(node: str, interface: str, host: int) -> dict[str, object]:
        address = f"10.0.{network}.{host}/24" if ip == 4 else f"fd00:0:{network}::{host}/64"
        return {"node": node, "interface": interface, "mtu": "1500 B", "addresses": [address]}

    return Link.model_validate(
        {
            "ends": [end(*left, 1), end(*right, 2)],
            "rate": f"{rate:.0f} bit/s",
            "delay": "0 ns",
            "queue": "50 packets",
        }
    )


def checks(record: Record) -> dict[str, bool]:
    """Returns, by name, whether all checks of that name passed."""
    return {
        check.name: all(other.passed for other in record.checks if other.name == check.name)
        for check in record.checks
    }


def test_the_registry_has_what_the_engine_has(lab: Backend) -> None:
    there = lab.preflight(thorough=True).environment.congestion_controls
    assert set(OWN) <= set(there)
    assert not [name for name in there if name.startswith("nt_")]


@pytest.mark.parametrize(
    ("ip", "number"),
    [(4, 2), (6, 8), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((4, 8), (6, 2)))],
)
def test_each_runs_on_every_subflow_and_sees_the_others(
    ip: int, number: int, paths: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    record = run(side_by_side({control: paths(control, ip, number) for control in OWN}))
    calls = {counted.name: counted.callbacks for counted in record.congestion or []}
    assert set(calls) == {flow.name for flow in record.flows} == set(OWN)
    for flow in record.flows:
        control = flow.name
        assert flow.congestion_control == control
        assert [subflow.congestion_control for subflow in flow.subflows or []] == [control] * number
        assert calls[control].init >= number, control
        assert calls[control].cong_avoid > 100, control
        assert calls[control].coupled > 0, control
        # wVegas reacts to delay, so it need not lose a packet.
        assert calls[control].ssthresh > 0 or control == "wvegas", control
    found = checks(record)
    assert found["congestion_control"] and found["congestion_control_ran"]  # noqa: PT018
    assert found["congestion_control_coupled"]


@pytest.mark.parametrize("ip", [4, pytest.param(6, marks=pytest.mark.slow)])
def test_each_runs_on_plain_tcp_and_couples_nothing(
    ip: int, paths: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    record = run(side_by_side({control: paths(control, ip, 1, "tcp") for control in OWN}))
    calls = {counted.name: counted.callbacks for counted in record.congestion or []}
    for flow in record.flows:
        assert flow.congestion_control == flow.name
        assert calls[flow.name].cong_avoid > 100, flow.name
        assert calls[flow.name].coupled == 0, flow.name
    found = checks(record)
    assert found["congestion_control_ran"]
    assert "congestion_control_coupled" not in found


@pytest.mark.measures
@pytest.mark.parametrize(
    ("number", "transport"), [(2, "mptcp"), pytest.param(1, "tcp", marks=pytest.mark.slow)]
)
def test_each_fills_more_than_half_of_its_links(
    number: int, transport: str, paths: Callable[..., Scenario], holds: Callable[[Attempt], None]
) -> None:
    scenario = side_by_side({control: paths(control, 4, number, transport) for control in OWN})

    def attempt(run: Run) -> None:
        goodput = {flow.name: flow.goodput_bps or 0.0 for flow in run(scenario).flows}
        assert set(goodput) == set(OWN)
        assert min(goodput.values()) > 0.5 * TOTAL_BPS, goodput

    holds(attempt)


def test_a_scenario_without_one_says_nothing_of_them(
    paths: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    record = run(paths("reno", 4, 2, seconds="300 ms"))
    assert not record.congestion
    assert "congestion_control_ran" not in checks(record)


class Running:
    """An engine that runs one scenario in the background."""

    def __init__(self, backend: Backend, scenario: Scenario) -> None:
        self._backend = backend
        self.result: Record | Exception | None = None
        self._thread = threading.Thread(target=self._run, args=[scenario])
        self._thread.start()

    def _run(self, scenario: Scenario) -> None:
        try:
            self.result = self._backend.run("one", scenario, traffic_seconds(scenario) + PATIENCE)
        except Exception as error:
            self.result = error

    @property
    def process(self) -> int:
        """The process identifier of the engine; 0 if there is no engine."""
        engine = self._backend._engine
        return engine._process.pid if engine else 0

    def registered(self) -> set[str]:
        """Returns the congestion controls that this engine has registered with the kernel."""
        return {name for name in REGISTERED.read_text().split() if name.endswith(f"_{base36(self.process)}")}

    def end(self) -> Record | Exception | None:
        """Waits for the end of the trial, and returns the record or the error."""
        self._thread.join(600)
        return self.result


def base36(number: int) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    return (base36(number // 36) if number >= 36 else "") + digits[number % 36]


@pytest.fixture
def start() -> Iterator[Callable[[Scenario], Running]]:
    """Returns a function that runs a scenario in an engine of its own. The engines end with the test."""
    with contextlib.ExitStack() as stack:

        def begin(scenario: Scenario) -> Running:
            return Running(stack.enter_context(Backend("lab")), scenario)

        yield begin


@pytest.mark.parametrize("how", [pytest.param("closed", marks=pytest.mark.slow), "killed"])
def test_nothing_stays_registered(
    how: str, paths: Callable[..., Scenario], start: Callable[[Scenario], Running]
) -> None:
    running = start(paths("olia", 4, 2, seconds="600 ms" if how == "closed" else "60 s"))
    assert wait_for(lambda: running.process and running.registered())
    registered = running.registered()
    assert [name.split("_")[1] for name in registered] == ["olia"]
    if how == "killed":
        time.sleep(1.0)  # The engine is killed during the traffic or shortly before.
        os.kill(running.process, signal.SIGKILL)
        assert isinstance(running.end(), Exception)
    else:
        assert isinstance(running.end(), Record)
        assert running.registered() == registered  # They stay registered for the next trial.
        running._backend.close()
    assert wait_for(lambda: not registered & set(REGISTERED.read_text().split()))


def test_two_engines_have_one_each(
    paths: Callable[..., Scenario], start: Callable[[Scenario], Running]
) -> None:
    both = [start(paths("lia", 6, 2)) for _ in range(2)]
    assert wait_for(lambda: all(one.process and one.registered() for one in both))
    assert not both[0].registered() & both[1].registered()
    for one in both:
        record = one.end()
        assert isinstance(record, Record), record
        assert checks(record)["congestion_control_ran"]
        assert record.flows[0].congestion_control == "lia"


def test_engines_that_have_the_same_process_number_have_one_each(
    paths: Callable[..., Scenario],
    start: Callable[[Scenario], Running],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contained = tmp_path / "engine"  # Each engine is process 1 of a container.
    contained.write_text(
        f'#!/bin/sh\nexec unshare --pid --fork --kill-child --mount-proc "{find.engine()}" "$@"\n'
    )
    contained.chmod(0o755)
    monkeypatch.setenv(find.VARIABLE, str(contained))
    before = set(REGISTERED.read_text().split())
    both = [start(paths("balia", 4, 2)) for _ in range(2)]
    first, second = f"nt_balia_{base36(1)}", f"nt_balia_{base36(1 + 2**22)}"
    assert wait_for(lambda: {first, second} <= set(REGISTERED.read_text().split()) - before)
    for one in both:
        record = one.end()
        assert isinstance(record, Record), record
        assert checks(record)["congestion_control_ran"]


@pytest.fixture
def nettrial(tmp_path: Path, as_user: list[str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Returns a function that runs nettrial as a user without privileges on the machine."""
    given = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "NO_COLOR": "1"}
    return lambda *arguments: forked.run(forked.Command(arguments, given, tmp_path, unprivileged=True))


def test_without_rights_the_reason_is_told_and_nothing_is_written(
    nettrial: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    refused = nettrial("run", "jumbo-ipv6", "--set=sender=linux-wvegas", "--out=mine")
    assert refused.returncode == 3, refused.stderr
    told = " ".join(refused.stderr.split())
    assert "it can't be loaded into the kernel" in told
    assert "CAP_BPF" in told
    assert "Traceback" not in told
    assert list(tmp_path.iterdir()) == []

    doctor = nettrial("doctor")
    assert doctor.returncode == 0
    assert "works without congestion controls lia, olia, balia, wvegas: privileges" in doctor.stdout
    rows = {line.split()[0]: line for line in nettrial("list", "congestion").stdout.splitlines()[1:]}
    assert all(" no " in rows[name] for name in OWN)
    assert " yes " in rows["reno"]
