"""Published figures beside hosts that report other operating systems. The machines are network namespaces of
one kernel, each with a file that names another system: what is tested is the mapping alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nettrial.analysis import agreement, summarise, verdicts
from nettrial.store import Run
from nettrial.study.system_names import Precision
from tests.lab.machines import ROW, Machines, installed

REPORTED = {
    "sender": "Ubuntu 14.04.6 LTS",
    "left": "Windows Server 10.0.20348",
    "right": "Windows Server 2012 R2",
    "receiver": "Debian GNU/Linux 12 (bookworm)",
}
"""The system that each machine claims to have."""
SENDERS, RECEIVERS = ("sender", "left"), ("right", "receiver")
WINDOWS = "windows-server-2012-r2"


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    """Yields a row of machines that claim to have these systems."""
    folder = tmp_path_factory.mktemp("systems")
    with installed(folder, ROW) as machines:
        for name, system in REPORTED.items():
            (folder / f"release-{name}").write_text(f'PRETTY_NAME="{system}"\n')
            machines.do(name, "mount", "--bind", str(folder / f"release-{name}"), "/etc/os-release")
            # Routers between the hosts of a trial pass jumbo frames.
            for interface in machines.interfaces[name]:
                machines.do(name, "ip", "link", "set", interface, "mtu", "9000")
        yield machines


def inventory(machines: Machines, name: str, places: dict[str, tuple[str, str]]) -> str:
    """Writes an inventory with the interface and the node of each machine, and returns the option for it."""
    lines = ["machines:"]
    for machine, (interface, node) in places.items():
        addresses = ", ".join(f'"{address}"' for address in machines.interfaces[machine][interface])
        lines += [
            f"  {machine}:",
            f"    ssh: root@{machine}",
            f"    interfaces: {{{interface}: [{addresses}]}}",
            "    may_change: [mtu, offloads, sysctls]",
            f"    nodes: [{node}]",
        ]
    (machines.folder / name).write_text("\n".join([*lines, ""]))
    return f"--machines={name}"


@pytest.fixture(scope="module")
def compared(machines: Machines) -> Run:
    """Returns a run of `jumbo-ipv6` with two senders and two receivers, whose figures several tests read."""
    places = {"sender": ("eth0", "sender"), "left": ("eth1", ""), "right": ("eth0", "")}
    done = machines.nettrial(
        *("run", "jumbo-ipv6", "--backend=hosts", "--out=systems", "--replicates=1", "--seed=1"),
        inventory(machines, "systems.yaml", {**places, "receiver": ("eth0", "receiver")}),
        *("--set=mtu=1500,9000", "--set=sender=linux-cubic", "--set=receiver=linux-cubic"),
        f"--set=hosts.sender.machine={','.join(SENDERS)}",
        f"--set=hosts.receiver.machine={','.join(RECEIVERS)}",
        *(f"--set=workload.{flow}.traffic.duration=100 ms" for flow in ("transfer", "probe")),
    )
    assert done.returncode == 0, done.stderr
    return Run.open(machines.folder / "systems")


def test_records_have_the_systems_that_hosts_report(compared: Run) -> None:
    for trial in compared.trials():
        for host in trial.record.hosts:
            machine = trial.planned.treatment[f"hosts.{host.name}.machine"]
            assert host.system == REPORTED[machine]
            assert host.radio is None
            (absent,) = [
                each for each in trial.record.absent if (each.metric, each.object) == ("radio", host.name)
            ]
            assert absent.reason.startswith("its machine's interfaces are no Wi-Fi interfaces")


def test_every_published_figure_has_its_pair_of_hosts(compared: Run) -> None:
    found = [each for each in agreement(compared, summarise(compared)) if each.row.levels["mtu"] != "4000 B"]
    assert {each.row.levels["mtu"] for each in found} == {"1500 B", "9000 B"}
    for each in found:
        assert each.cell is not None
        expected = tuple(
            windows if each.row.levels[host] == WINDOWS else linux
            for host, windows, linux in (("sender", "left", "sender"), ("receiver", "right", "receiver"))
        )
        machines = tuple(each.cell.treatment[f"hosts.{host}.machine"] for host in ("sender", "receiver"))
        assert machines == expected
    grades = {(match.factor, match.level, match.precision) for each in found for match in each.systems}
    assert grades == {
        ("sender", "ubuntu-14.04", Precision.EXACT),
        ("sender", WINDOWS, Precision.FAMILY),
        ("receiver", "ubuntu-14.04", Precision.FAMILY),
        ("receiver", WINDOWS, Precision.EXACT),
    }


def test_conclusions_about_windows_are_comparisons(compared: Run) -> None:
    found = {each.conclusion.name: each for each in verdicts(compared.study, summarise(compared))}
    # One block shows no direction, but each has its comparison.
    for name in ("windows", "windows-to-windows-rtt", "linux-to-windows-rtt", "windows-to-linux-jitter"):
        assert found[name].judged == "not shown"
        assert found[name].places


def test_the_study_for_real_radios_runs_without_one_and_says_so(machines: Machines) -> None:
    places = {"sender": ("eth0", "station-1"), "left": ("eth0", "station-2")}
    done = machines.nettrial(
        *("run", "wlan-machines", "--out=radios", "--replicates=1", "--seed=1"),
        inventory(machines, "radios.yaml", places),
        *("--set=size=1408 B", "--set=ip=4", "--set=workload.echo.start=300 ms"),
        *(f"--set=workload.{flow}.traffic.duration=100 ms" for flow in ("stream", "echo")),
    )
    assert done.returncode == 0, done.stderr
    run = Run.open(machines.folder / "radios")
    for response in summarise(run).responses:
        for cell in response.cells:
            if response.response.name in ("throughput", "rtt"):
                assert cell.n == 1
            else:
                (reason,) = cell.absent
                assert reason.startswith("its machine's interfaces are no Wi-Fi interfaces")
    # Two machines that claim to be different systems are neither of the paper's.
    assert not any(each.cell for each in agreement(run, summarise(run)))
