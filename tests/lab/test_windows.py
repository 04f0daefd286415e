"""The agent for Windows and one for Linux in the same trials, on machines that the test creates. The agent
runs under Wine, which is not Windows, and must say so."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nettrial.path_report import PathRequest
from nettrial.scenario import Measure
from nettrial.store import Run
from tests.lab.lacking import lacking
from tests.lab.machines import MAY_CHANGE, ROOT, SERVER, Machines, environment, made
from tests.lab.sandbox import PATIENCE, wait_for

PROGRAM = Path(__file__).parents[2] / "target/windows/nettrial-engine.exe"
WINE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nettrial/wine/usr"
"""The directory of Wine, where `make windows` installs it."""
STUDY = """
study: windows
title: Windows and Linux
question: Do both directions work?
backend: hosts
replicates: 1
full_replicates: 1
warmup: 0
network: {topology: routed, ip: 4, rate: 1 Gbit/s, delay: 0 ms, queue: 1000 packets, mtu: 1500 B}
hosts:
  sender: {stack: linux-cubic}
  receiver: {stack: linux-cubic}
workload:
  - {flow: there, from: sender, to: receiver, transport: tcp,
     traffic: {kind: transfer, size: 1 MB, duration: 300 ms}}
  - {flow: back, from: receiver, to: sender, transport: tcp,
     traffic: {kind: transfer, size: 1 MB, duration: 300 ms}}
  - {flow: asks, from: receiver, to: sender, transport: tcp,
     traffic: {kind: request_response, request: 64 B, response: 640 B, interval: 10 ms, duration: 300 ms}}
  - {flow: packets-there, from: sender, to: receiver, transport: udp,
     traffic: {kind: packets, size: 1000 B, gap: 2 ms, duration: 300 ms}}
  - {flow: packets-back, from: receiver, to: sender, transport: udp,
     traffic: {kind: packets, size: 1000 B, gap: 2 ms, duration: 300 ms}}
  - {flow: answers, from: sender, to: receiver, transport: udp,
     traffic: {kind: request_response, request: 64 B, response: 64 B, interval: 10 ms, duration: 300 ms}}
measurement: {interval: 100 ms, cpu: [sender, receiver], queue_drops: allowed}
factors:
  ip: {title: IP, sets: network.ip, levels: [4, 6], baseline: 4}
layout: {rows: ip, columns: []}
responses:
  - {name: throughput, title: Throughput, metric: goodput, of: there, unit: Mbit/s}
"""


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[Machines]:
    """Yields machines, of which the receiver has the engine for Windows and Wine to run it."""
    if not PROGRAM.exists() or not (WINE / "lib/wine/wine64").exists():
        lacking("there is no engine for Windows, or no Wine: `make windows` makes both")
    if not SERVER.exists():
        lacking("there is no OpenSSH server: tools/setup-tests.sh fetches it")
    with made(tmp_path) as machines:
        machines.install()
        prefix, libraries = tmp_path / "wine", WINE / "lib/x86_64-linux-gnu"
        words = [
            f"LD_LIBRARY_PATH={libraries}",
            f"WINEPREFIX={prefix}",
            # Wine does not fetch .NET or a browser engine, and WINEPATH leads to a library from Debian.
            "WINEDLLOVERRIDES='mscoree,mshtml,winemenubuilder.exe='",
            f"WINEPATH='Z:{str(WINE / 'x86_64-w64-mingw32/lib').replace('/', chr(92))}'",
            "WINEDEBUG=-all",
            f"{WINE}/lib/wine/wine64 {PROGRAM}",
        ]
        # The command creates Wine's directory.
        machines.do("receiver", "sh", "-c", f"{' '.join(words)} --version")
        program = tmp_path / "receiver/engine"
        program.write_text(f'#!/bin/sh\nexec env {" ".join(words)} "$@"\n')
        program.chmod(0o700)
        machines.write(receiver=f"engine: [ssh, -T, root@receiver, {program}]")
        # Studies change no settings of this machine.
        text = machines.file.read_text()
        mine = f"    may_change: [{MAY_CHANGE}]\n    nodes: [receiver"
        assert mine in text
        machines.file.write_text(text.replace(mine, "    nodes: [receiver"))
        yield machines
    shutil.rmtree(prefix)


@pytest.mark.slow
def test_an_agent_for_windows_and_one_for_linux_measure_both_directions(machines: Machines) -> None:
    (machines.folder / "study.yaml").write_text(STUDY)
    done = machines.nettrial("run", "study.yaml", "--machines=machines.yaml", "--replicates=1", "--out=both")
    assert done.returncode == 0, done.stdout + done.stderr
    run = Run.open(machines.folder / "both")
    there = {machine.name: machine for machine in run.sessions[0].environment.machines}["receiver"]
    assert there.system.startswith("Wine ")
    assert there.system.endswith("(not Windows)")
    assert there.boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert there.interfaces[0].mtu_bytes == 1500
    assert there.interfaces[0].offloads is None
    for trial in run.trials():
        record = trial.record
        flows = {flow.name: flow for flow in record.flows}
        assert flows["there"].bytes >= 1_000_000
        assert flows["back"].bytes >= 1_000_000
        assert flows["asks"].rtt_us.count > 5
        assert flows["answers"].rtt_us.count > 5
        for name in ("packets-there", "packets-back"):
            assert flows[name].packets.received_pkts > 50
        assert flows["there"].intervals
        assert not flows["back"].intervals, "Wine does not report the state of connections"
        codes = {warning.code for warning in record.warnings}
        assert {"system_settings", "no_tcp_state"} <= codes
        assert [check for check in record.checks if not check.passed] == []
        told = " ".join(warning.message for warning in record.warnings)
        assert "Windows" not in told.replace("(not Windows)", "")


@pytest.mark.slow
def test_a_guard_restores_where_there_is_no_unix(machines: Machines) -> None:
    """Wine can't change the MTU, so the journal contains the current value."""
    folder = next((machines.folder / "wine/drive_c/users").glob("*/AppData/Local")) / "nettrial"
    folder.mkdir(exist_ok=True)
    journal = folder / "journal"
    noted = {"setting": {"mtu": {"interface": "eth0"}}, "value": "1500"}
    cut = json.dumps(noted)[:20]  # The second line is incomplete, as after a power cut.
    journal.write_text(json.dumps(noted) + "\n" + cut)
    with subprocess.Popen(
        on(machines, "receiver", "machine", "guard"), stdin=subprocess.PIPE, stderr=subprocess.PIPE
    ) as guard:
        assert guard.stdin is not None
        assert guard.stderr is not None
        said = b""
        # The guard prints `r` when it is ready. Wine prints messages to the same stream.
        while not (said.endswith(b"\nr") or said == b"r"):
            said += guard.stderr.read(1)
        assert journal.exists()
        guard.stdin.close()
        assert guard.wait(PATIENCE) == 0, guard.stderr.read()
    assert not journal.exists()
    journal.write_text(json.dumps(noted) + "\n")
    done = subprocess.run(
        on(machines, "receiver", "machine", "restore"), capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "restored the MTU of eth0: 1500"
    assert not journal.exists()
    noted["value"] = "1400"
    journal.write_text(json.dumps(noted) + "\n")
    done = subprocess.run(
        on(machines, "receiver", "machine", "restore"), capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "(not Windows) changes no MTU" in done.stderr
    assert json.loads(journal.read_text()) == noted, "what could not be restored stays"


TOKEN = "a-token-only-for-these-tests"
PORT = 5210
THERE = {"sender": "10.81.1.1", "receiver": "10.81.2.1"}


def on(machines: Machines, name: str, *words: str) -> list[str]:
    """Returns the command line of an engine on a machine: the engine for Windows on the receiver, and the
    engine for Linux elsewhere."""
    own = machines.folder / "receiver/engine" if name == "receiver" else environment()["NETTRIAL_ENGINE"]
    return machines.inside(name, ["env", f"NETTRIAL_TOKEN={TOKEN}", str(own), *words])


@contextmanager
def served(machines: Machines, name: str) -> Iterator[None]:
    """Runs a server on a machine."""
    log = machines.folder / f"serve-{name}.log"
    with log.open("wb") as errors:
        server = subprocess.Popen(on(machines, name, "serve", "--port", str(PORT)), stderr=errors)
    try:
        assert wait_for(lambda: "serving nettrial at" in log.read_text() or server.poll() is not None)
        assert server.poll() is None, log.read_text()
        yield
    finally:
        server.kill()
        server.wait()


@pytest.mark.slow
def test_a_machine_with_wine_serves_one_with_linux(machines: Machines) -> None:
    command = [sys.executable, str(ROOT / "tests/without_report.py"), "measure", THERE["receiver"], "tcp"]
    command += ["--time=300 ms", "--replicates=1", "--json"]
    with served(machines, "receiver"):
        for direction in ([], ["--reverse"]):
            done = subprocess.run(
                machines.inside("sender", [*command, *direction]),
                env={**environment(), "NETTRIAL_TOKEN": TOKEN},
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            assert "goodput" in done.stdout


@pytest.mark.slow
def test_a_machine_with_wine_measures_against_one_with_linux(machines: Machines) -> None:
    flow = {
        "name": "measured",
        "from": "client",
        "to": "server",
        "transport": "tcp",
        "ip": 4,
        "traffic": {"kind": "transfer", "duration": "300 ms"},
    }
    measure = Measure.model_validate({"trial": "1", "flow": flow, "interval": "100 ms"})
    with (
        served(machines, "sender"),
        subprocess.Popen(
            on(machines, "receiver", "measure", f"{THERE['sender']}:{PORT}"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as client,
    ):
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.write(measure.model_dump_json(by_alias=True, exclude_none=True) + "\n")
        client.stdin.flush()
        event = json.loads(client.stdout.readline())
        client.stdin.close()
    assert event["event"] == "record", event
    (record,) = event["record"]["flows"]
    assert record["bytes"] > 0


@pytest.mark.slow
def test_of_the_path_from_a_machine_with_wine_nothing_is_claimed_that_wine_does_not_tell(
    machines: Machines,
) -> None:
    for ip, host in ((4, "10.81.1.1"), (6, "fd81:1::1")):
        with subprocess.Popen(
            on(machines, "receiver", "path"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as engine:
            assert engine.stdin is not None
            assert engine.stdout is not None
            engine.stdin.write(
                PathRequest.model_validate({"host": host, "ip": ip}).model_dump_json(exclude_none=True) + "\n"
            )
            engine.stdin.flush()
            answer = json.loads(engine.stdout.readline())
            engine.stdin.close()
        assert answer["answer"] == "report", answer
        (path,) = answer["report"]["paths"]
        assert (path["interface"]["name"], path["interface"]["mtu_bytes"]) == ("eth0", 1500)
        # Wine allows echo packets to be fragmented and does not report that a UDP port is closed. The report
        # therefore makes no claims.
        assert not {"forward", "reverse", "trusting", "rtt"} & set(path)
        assert path["answers"] == path["hops"] == []
        absent = {lack["metric"]: lack["reason"] for lack in path["absent"]}
        assert f"over IPv{ip} that may not be fragmented" in absent["forward"]
        assert {"reverse", "rtt", "hops", "mss", "kernel_mtu"} <= set(absent)
