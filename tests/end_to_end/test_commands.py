"""The README's commands, as a user enters them, on real networks."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests import forked

ROOT = Path(__file__).parents[2]


def nettrial(
    directory: Path, *arguments: str, report: bool = True, charts: bool = True, columns: int = 160
) -> subprocess.CompletedProcess[str]:
    """Runs a command in a directory. Making a report takes longer than a short run; without `report`, one
    line replaces it, and without `charts`, those of its page are empty."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": str(columns), "NO_COLOR": "1"}
    return forked.run(forked.Command(arguments, environment, directory, report, charts))


@pytest.mark.end_to_end
def test_the_readme_shows_what_its_first_commands_print(tmp_path: Path) -> None:
    """The simulator gives the same answer on every machine."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"```\n(nettrial init [^`]+)```\n\n```text\n([^`]+)```", readme)
    assert found is not None
    for command in found[1].splitlines():
        done = nettrial(tmp_path, *command.split()[1:], charts=False, columns=72)
        assert done.returncode == 0, done.stderr
    assert [line.rstrip() for line in done.stdout.splitlines()] == found[2].splitlines()


@pytest.mark.end_to_end
def test_the_first_study_runs_and_reports(tmp_path: Path) -> None:
    short = [f"--set=workload.{flow}.traffic.duration=200 ms" for flow in ("transfer", "probe")]
    common = ("--replicates", "2", "--seed", "7", "--out", "runs/mine")
    done = nettrial(tmp_path, "run", "jumbo-ipv6", *short, "--set=receiver=linux-cubic", *common)
    assert done.returncode == 0, done.stderr
    assert "12/12 trials" in done.stderr
    page = (tmp_path / "runs" / "mine" / "report.html").read_text()
    assert page.count("<svg") >= 8
    assert "Content-Security-Policy" in page
    assert " src=" not in page

    tables = nettrial(tmp_path, "report", "runs/mine", "--tables", charts=False).stdout
    for text in (
        "linux-cubic",
        "classic",
        "1500 B",
        "4000 B",
        "9000 B",
        "Round-trip time under load",
        "Published, table 2",
    ):
        assert text in tables, text

    again = nettrial(tmp_path, "report", "runs/mine", charts=False)
    assert (again.returncode, again.stdout) == (0, done.stdout)


@pytest.mark.end_to_end
def test_the_same_seed_gives_the_same_order(tmp_path: Path) -> None:
    orders = [
        nettrial(tmp_path, "run", "--dry-run", "jumbo-ipv6", "--seed", seed).stdout.partition("Order")[2]
        for seed in ("7", "7", "8")
    ]
    assert orders[0]
    assert orders[0] == orders[1] != orders[2]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.end_to_end
def test_a_sweep_gives_curves_and_their_steps(tmp_path: Path) -> None:
    done = nettrial(
        *(tmp_path, "run", "mtu-packet-size", "--replicates", "2", "--seed", "7", "--out", "run"),
        *("--set", "workload.sweep.traffic.last=12 kB", "--set", "workload.sweep.traffic.bytes=100 kB"),
    )
    assert done.returncode == 0, done.stderr
    assert "8/8 trials" in done.stderr
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count("against packet size, Transport udp") == 4
    tables = nettrial(tmp_path, "report", "run", "--tables", charts=False).stdout
    for text in (
        "Published, section 5.1.3",
        "Round-trip time by packet size, us",
        "Steps, MTU 1500 B – Transport udp",
        "1472 B",  # The IPv4 and UDP headers have 28 bytes.
        "1448 B",  # The IPv4 header and the TCP header with timestamps have 52 bytes.
        "8972 B",
    ):
        assert text in tables, text


@pytest.mark.end_to_end
def test_what_packets_were_made_to_cost_is_what_calibrate_finds(tmp_path: Path) -> None:
    """The simulator's costs are known. `calibrate` finds the cost of packets and bytes to the nanosecond; the
    cost of an interrupt becomes part of a packet's, because no record counts interrupts."""
    settings = {
        "mtu": "1500,4000,9000",
        "sender": "linux-cubic",
        "receiver": "linux-cubic",
        "network.rate": "100 Mbit/s",
        "workload.transfer.traffic.duration": "500 ms",
        "workload.probe.traffic.duration": "500 ms",
        "hosts.sender.cost.per_packet": "3 us",
        "hosts.sender.cost.per_kilobyte": "700 ns",
        "hosts.receiver.cost.per_packet": "5 us",
        "hosts.receiver.cost.per_kilobyte": "400 ns",
        "hosts.receiver.cost.per_interrupt": "2 us",
    }
    given = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    common = ("--backend", "sim", "--replicates", "1", "--seed", "1", "--out", "run")
    done = nettrial(tmp_path, "run", "jumbo-ipv6", *given, *common, report=False)
    assert done.returncode == 0, done.stderr
    told = nettrial(tmp_path, "calibrate", "run", "--json")
    assert told.returncode == 0, told.stderr
    document = json.loads(told.stdout)
    assert document["hosts"]["sender"]["cost"] == {"per_packet": "3 us", "per_kilobyte": "700 ns"}
    sender, receiver = document["fits"]
    assert "these are the costs that the study set" in " ".join(sender["cautions"])
    assert receiver["per_kilobyte_us"] == pytest.approx(0.4, abs=0.05)
    # Two of three packets are received; at this rate, each of these causes an interrupt.
    assert receiver["per_packet_us"] == pytest.approx(5 + 2 * 2 / 3, abs=0.1)
