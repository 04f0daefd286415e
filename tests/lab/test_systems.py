"""Published figures beside hosts that report other operating systems. The machines are network namespaces of
one kernel, each with a file that names another system: what is tested is the mapping alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nettrial.analysis import agreement, summarise, verdicts
from nettrial.store import Run
from nettrial.study.system_names import Precision
from tests.lab.machines import ROW, installed

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
def compared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Yields a run of `jumbo-ipv6` with two senders and two receivers, whose figures all tests read."""
    folder = tmp_path_factory.mktemp("systems")
    with installed(folder, ROW) as machines:
        for name, system in REPORTED.items():
            (folder / f"release-{name}").write_text(f'PRETTY_NAME="{system}"\n')
            machines.do(name, "mount", "--bind", str(folder / f"release-{name}"), "/etc/os-release")
            # Routers between the hosts of a trial pass jumbo frames.
            for interface in machines.interfaces[name]:
                machines.do(name, "ip", "link", "set", interface, "mtu", "9000")
        lines = ["machines:"]
        for name in ROW:
            interface = {"left": "eth1", "right": "eth0"}.get(name, "eth0")
            addresses = ", ".join(f'"{address}"' for address in machines.interfaces[name][interface])
            node = "sender" if name == "sender" else "receiver" if name == "receiver" else ""
            lines += [
                f"  {name}:",
                f"    ssh: root@{name}",
                f"    interfaces: {{{interface}: [{addresses}]}}",
                "    may_change: [mtu, offloads, sysctls]",
                f"    nodes: [{node}]",
            ]
        (folder / "systems.yaml").write_text("\n".join([*lines, ""]))
        done = machines.nettrial(
            *("run", "jumbo-ipv6", "--backend=hosts", "--machines=systems.yaml", "--out=systems"),
            *("--replicates=1", "--seed=1", "--set=mtu=1500,9000"),
            *("--set=sender=linux-cubic", "--set=receiver=linux-cubic"),
            f"--set=hosts.sender.machine={','.join(SENDERS)}",
            f"--set=hosts.receiver.machine={','.join(RECEIVERS)}",
            *(f"--set=workload.{flow}.traffic.duration=100 ms" for flow in ("transfer", "probe")),
        )
        assert done.returncode == 0, done.stderr
        yield Run.open(folder / "systems")


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
