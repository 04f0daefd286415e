"""Hosts that are guests: kernels of their own, under QEMU."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nettrial.backends import Backend, TrialFailed
from nettrial.backends.find import engine
from nettrial.design import scenario_of, traffic_seconds
from nettrial.guests import Catalogue
from nettrial.guests.archive import archive
from nettrial.scenario import Record, Scenario, Transport
from nettrial.study import load
from nettrial.systems import GUEST_SYSTEMS
from tests.lab.conftest import timers
from tests.lab.sandbox import Sandbox, wait_for
from tests.measuring import until_it_holds

SYSTEMS = Path(os.environ.get(GUEST_SYSTEMS) or Path(__file__).parents[2] / ".venv" / "systems")
"""The place where tools/setup-tests.sh puts kernels."""
KERNELS = {entry.name: entry.release for entry in Catalogue(SYSTEMS).entries()}
OLD, NEW = "linux-6.1", "linux-6.12"

pytestmark = pytest.mark.skipif(
    not {OLD, NEW} <= set(KERNELS), reason=f"no kernels in {SYSTEMS}: tools/setup-tests.sh"
)


@pytest.fixture(scope="module")
def guests(lab: Backend) -> Iterator[Backend]:
    """A lab whose guests stay from one test to the next."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(GUEST_SYSTEMS, str(SYSTEMS))
        with Backend("lab") as backend:
            yield backend


def between(client: str | None, server: str | None, **overrides: str) -> Scenario:
    """A scenario of the study `kernel-versions` with these systems; None is this machine's own kernel."""
    given = {name.replace("__", "."): value for name, value in overrides.items()}
    study = load("kernel-versions").with_overrides(given)
    levels = {name: factor.levels[0] for name, factor in study.factors.items()}
    scenario = scenario_of(study, levels).model_copy(deep=True)
    for node, system in zip(scenario.nodes, (client, server), strict=True):
        node.system = system
    return scenario


SHORT = {
    "workload__transfer__traffic__duration": "1 s",
    "workload__request__start": "1 s",
    "workload__request__traffic__duration": "1 s",
}


def test_two_kernels_are_hosts_of_one_trial_and_boot_once(guests: Backend) -> None:
    scenario = between(OLD, NEW, ip="6", mtu="9000 B", **SHORT)
    assert guests.check(scenario) == []
    record = guests.run("first", scenario, traffic_seconds(scenario) + 300)
    found = {host.name: host.guest for host in record.hosts}
    for node, system in (("client", OLD), ("server", NEW)):
        guest = found[node]
        assert guest is not None
        assert (guest.system, guest.kernel) == (system, KERNELS[system])
    assert [check for check in record.checks if not check.passed and check.name != "clock"] == []
    assert {check.object for check in record.checks if check.name == "kernel"} == {"client", "server"}
    transfer, request = record.flows
    assert transfer.goodput_bps
    assert request.rtt_us
    assert request.rtt_us.minimum > 10_000, "the link takes 5 ms each way"
    reasons = {(absence.metric, absence.object) for absence in record.absent or []}
    assert ("cpu", "client") not in reasons, "the study does not ask for it"
    emulated = {warning.object for warning in record.warnings if warning.code == "guest_emulated"}
    assert emulated in ({"client", "server"}, set())
    again = guests.run("again", between(OLD, None, **SHORT), traffic_seconds(scenario) + 300)
    assert again.hosts[1].guest is None
    booting = 2_000_000_000
    assert again.phases.network_ns < booting or again.hosts[0].guest == found["client"]


def test_what_guests_can_not_do_is_refused_where_it_is(guests: Backend) -> None:
    scenario = between(OLD, "linux-0.1")
    (problem,) = guests.check(scenario)
    assert (problem.pointer, problem.value, problem.of_machine) == ("/nodes/1/system", "linux-0.1", True)
    assert f"{OLD}, {NEW}" in problem.expected
    scenario = between(OLD, NEW)
    scenario.workload[0].transport = Transport("mptcp")
    assert [problem.setting for problem in guests.check(scenario)] == ["transport"]


def test_without_qemu_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(GUEST_SYSTEMS, str(SYSTEMS))
    with Backend("lab") as backend:
        monkeypatch.setenv("PATH", "/nowhere")
        problems = backend.check(between(OLD, None))
    (problem,) = problems
    assert problem.of_machine
    assert problem.hint == "install QEMU: apt-get install qemu-system-x86"


def test_a_guest_that_does_not_boot_costs_one_trial_and_shows_its_console(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = next(entry for entry in Catalogue(SYSTEMS).entries() if entry.name == OLD)
    # Without its modules the old kernel has no port to the guest's owner.
    (tmp_path / good.kernel).symlink_to((SYSTEMS / good.kernel).resolve())
    (tmp_path / ("0" * 64)).write_bytes(archive("modules", []))
    bad = good.model_copy(update={"modules": "0" * 64})
    (tmp_path / f"{OLD}.json").write_text(bad.model_dump_json())
    monkeypatch.setenv(GUEST_SYSTEMS, str(tmp_path))
    scenario = between(OLD, None, **SHORT)
    with Backend("lab") as backend:
        with pytest.raises(TrialFailed) as failure:
            backend.run("bad", scenario, 300)
        said = str(failure.value)
        assert "booting the guest of client" in said
        assert "no port leads to the guest's owner" in said
        assert backend.run("good", between(None, None, **SHORT), 300).flows[0].goodput_bps


@pytest.mark.parametrize("moment", ["booting", pytest.param("trial", marks=pytest.mark.slow)])
def test_a_killed_engine_leaves_no_guest(
    moment: str, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(GUEST_SYSTEMS, str(SYSTEMS))
    scenario = between(OLD, None).model_dump(mode="json", by_alias=True, exclude_none=True)
    line = json.dumps({"request": "run", "trial": "killed", "scenario": scenario}) + "\n"
    with subprocess.Popen(
        sandbox.command(["env", "NETTRIAL_LOG=info", str(engine()), "lab"]),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(line.encode())
        process.stdin.flush()
        awaited = b"waiting for a guest" if moment == "booting" else b"starting the traffic"
        assert any(awaited in said for said in process.stderr)
        assert any("qemu" in command for command in sandbox.processes().values())
        sandbox.kill("nettrial-engine lab", signal.SIGKILL)
        process.stderr.close()
        process.wait(60)
    assert wait_for(lambda: not sandbox.processes(), 20)


@pytest.mark.slow
@pytest.mark.measures
@pytest.mark.parametrize("mtu", [1500, 9000])
def test_a_wire_between_guests_is_as_fast_as_it_says(guests: Backend, mtu: int) -> None:
    scenario = between(NEW, NEW, mtu=f"{mtu} B", network__delay="0 ms")
    scenario.workload = [scenario.workload[0]]
    traffic = scenario.workload[0].traffic
    traffic.root.size = None
    traffic.root.duration = "10 s"
    simulated = scenario.model_copy(deep=True)
    for node in simulated.nodes:
        node.system = None
    with Backend("sim") as sim:
        expected = sim.run("test", simulated, 60).flows[0].goodput_bps
    physical = 20e6 * (mtu - 52) / (mtu + 38)

    def attempt(run: Callable[[Scenario], Record]) -> None:
        found = run(scenario).flows[0].goodput_bps
        assert found
        assert found == pytest.approx(physical, rel=0.01)
        assert found == pytest.approx(expected, rel=0.03)

    until_it_holds(
        lambda scenario: guests.run("test", scenario, traffic_seconds(scenario) + 300), attempt, timers
    )
