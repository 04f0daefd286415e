"""Machines of any system on the lab's links, which the lab starts and drives by their agent."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nettrial.backends import Backend, Machines, install
from nettrial.backends.find import engine
from nettrial.backends.hosts import engine_there
from nettrial.design import traffic_seconds
from nettrial.machines import Inventory, MachineSettings
from nettrial.scenario import Capture, Request, RunRequest, Scenario
from tests.end_to_end.serving import spare_port
from tests.lab.captured import arrivals
from tests.lab.sandbox import PATIENCE, Sandbox, wait_for

ROOT = Path(__file__).parents[2]
FOREIGN = [sys.executable, "-I", "-S", str(ROOT / "tests" / "lab" / "foreign.py")]
SYSTEM = "Router image 1.0"
"""The name that the machine's system gives itself."""
MAY_CHANGE = ["mtu", "offloads", "sysctls", "addresses"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a directory with an inventory: one machine, a network namespace that only the lab's file and a
    shell at the end of a wire lead to."""
    return prepared(tmp_path_factory.mktemp("machine"))


def prepared(folder: Path) -> Path:
    """Writes the files of a machine and the inventory with it into a directory, and returns the directory."""
    (folder / "state").mkdir()
    (folder / "os-release").write_text(f'PRETTY_NAME="{SYSTEM}"\n')
    write(folder)
    machine = Inventory.load(folder / "machines.yaml").machines["router"]
    there = folder / engine_there(machine)
    there.parent.mkdir(parents=True)
    shutil.copy(engine(), there)
    return folder


def write(folder: Path, may_change: list[str] = MAY_CHANGE) -> Path:
    """Writes an inventory of the machine, and returns its file."""
    mounts = [
        "mount -t proc proc /proc",
        f"mount --bind {folder}/state /var/lib",
        f"mount --bind {folder}/os-release /etc/os-release",
        "ip link set lo up",
    ]
    script = " && ".join([*mounts, f'HOME={folder} exec "$@"'])
    play = [*FOREIGN, "machine", "{eth0}", str(folder / "wire")]
    machine = {
        "starts": [
            "unshare",
            "--net",
            "--mount",
            "--propagation",
            "private",
            "sh",
            "-ec",
            script,
            "sh",
            *play,
        ],
        "command": [*FOREIGN, "wire", str(folder / "wire")],
        "interfaces": {"eth0": []},
        "may_change": may_change,
        "nodes": ["receiver"],
    }
    file = folder / "machines.yaml"
    file.write_text(json.dumps({"machines": {"router": machine}}))
    return file


@pytest.fixture(scope="module")
def lab(folder: Path) -> Iterator[Backend]:
    """Yields a lab with the machine, which runs from one test to the next."""
    inventory = Inventory.load(folder / "machines.yaml")
    with Backend("lab", Machines.of(inventory.machines)) as backend:
        assert backend.preflight().missing == []
        yield backend


def short(resolve: Callable[..., Scenario], **overrides: str) -> Scenario:
    """Returns a scenario with a transfer of half a second over links of 20 Mbit/s."""
    given = {"network__rate": "20 Mbit/s", "workload__transfer__traffic__duration": "500 ms", "mtu": "4000 B"}
    return resolve(**(given | overrides))


@pytest.mark.settles
def test_a_machine_of_any_system_is_a_host_on_the_labs_links(
    lab: Backend, resolve: Callable[..., Scenario], tmp_path: Path
) -> None:
    described = lab.preflight().environment.machines
    assert described is not None
    assert [(machine.name, machine.system) for machine in described] == [("router", SYSTEM)]
    scenario = short(resolve)
    assert lab.check(scenario) == []
    capture = Capture(directory=str(tmp_path), name="trial", snap_bytes=64)
    record = lab.run("trial", scenario, traffic_seconds(scenario) + PATIENCE, capture)
    host = next(host for host in record.hosts if host.name == "receiver")
    assert host.machine is not None
    assert (host.machine.name, host.system) == ("router", SYSTEM)
    assert host.machine.kernel.startswith("Linux ")
    failed = [check for check in record.checks if not check.passed]
    assert [check for check in failed if check.name in ("path_mtu", "mss", "connection")] == []
    transfer = next(flow for flow in record.flows if flow.name == "transfer")
    assert transfer.goodput_bps
    assert 15e6 < transfer.goodput_bps < 20e6
    sizes = [size for _, size in arrivals(next(tmp_path.glob("*receiver*.pcapng")))]
    assert max(sizes) == 4014, "frames on the link have the MTU's size, whatever the machine's interface does"
    reasons = {(absence.metric, absence.object): absence.reason for absence in record.absent or []}
    assert (
        reasons["cpu", "receiver"] == "a node is a machine of its own, whose CPU time the lab does not read"
    )


def test_a_machine_serves_another_trial_with_another_mtu(
    lab: Backend, resolve: Callable[..., Scenario]
) -> None:
    scenario = short(resolve, mtu="1500 B")
    record = lab.run("trial", scenario, traffic_seconds(scenario) + PATIENCE)
    mtus = {check.found for check in record.checks if check.name == "path_mtu"}
    assert mtus == {"1500 B"}


def test_what_a_machine_can_not_be_is_refused(
    lab: Backend, tmp_path: Path, resolve: Callable[..., Scenario]
) -> None:
    scenario = short(resolve)
    scenario.nodes[0].machine = "unknown"
    (problem,) = lab.check(scenario)
    assert problem.value == "unknown"
    assert problem.expected == "a machine of the inventory: router"
    file = write(prepared(tmp_path), [name for name in MAY_CHANGE if name != "addresses"])
    with Backend("lab", Machines.of(Inventory.load(file).machines)) as other:
        (problem,) = other.check(short(resolve))
    assert problem.of_machine
    assert (problem.value, problem.expected) == ("fd00:0:0:1::1/64", "none, as machine router has it")
    assert "add `addresses` to may_change of router, or set it there yourself" in problem.hint


def test_a_machine_whose_command_ends_is_reported_with_its_last_words(folder: Path) -> None:
    machine = Inventory.load(folder / "machines.yaml").machines["router"]
    nobody = [*FOREIGN, "wire", str(folder / "nobody")]
    ends = ["sh", "-c", "echo no disk {eth0} >&2; exit 1"]
    broken = machine.model_copy(update={"starts": ends, "command": nobody})
    with Backend("lab", Machines.of({"router": broken})) as other:
        (lack,) = other.preflight().missing
    assert lack.what == "machine router"
    assert "no disk" in lack.why


def test_a_killed_engine_leaves_no_machine(tmp_path: Path, resolve: Callable[..., Scenario]) -> None:
    sandbox, folder = Sandbox(), prepared(tmp_path)
    try:
        scenario = short(resolve, workload__transfer__traffic__duration="60 s")
        request = RunRequest(trial="1", scenario=scenario, threads=1)
        inventory = Machines.of(Inventory.load(folder / "machines.yaml").machines)
        command = [str(engine()), "lab", *inventory.arguments()]
        started = subprocess.Popen(sandbox.command(command), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        assert started.stdin is not None
        started.stdin.write(
            Request(request).model_dump_json(by_alias=True, exclude_none=True).encode() + b"\n"
        )
        started.stdin.flush()
        assert wait_for(lambda: any("machine serve" in found for found in sandbox.processes().values()))
        sandbox.send(started.pid, signal.SIGKILL)
        started.wait()
        sandbox.assert_empty()
    finally:
        sandbox.close()


DEBIAN = ROOT / ".venv" / "debian"
"""The directory of a Debian system with OpenSSH, which is made once."""
MANAGEMENT = "52:54:00:00:00:01"
"""The Ethernet address of the interface that is not on the lab's links."""


def qemu(folder: Path, port: int, *more: str) -> list[str]:
    """Returns the command that starts the Debian system, whose SSH server has a port on loopback."""
    forward = f"user,id=management,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22"
    return [
        *("qemu-system-x86_64", "-accel", "tcg", "-m", "1G", "-nographic", "-monitor", "none", "-no-reboot"),
        *("-kernel", str(DEBIAN / "vmlinuz"), "-initrd", str(DEBIAN / "initrd.img")),
        *("-append", "root=/dev/vda console=ttyS0", "-sandbox", "on"),
        *("-netdev", forward, "-device", f"virtio-net-pci,netdev=management,mac={MANAGEMENT}"),
        *("-drive", f"file={folder / 'disk.img'},format=raw,if=virtio", *more),
    ]


def debian(folder: Path, port: int) -> MachineSettings:
    """Returns the inventory's entry of the Debian system in a directory."""
    data = ("-snapshot", "-netdev", "tap,id=data,fd={ens4}", "-device", "virtio-net-pci,netdev=data")
    options = (
        "BatchMode=yes",
        "ConnectTimeout=15",
        "StrictHostKeyChecking=no",
        "UserKnownHostsFile=/dev/null",
    )
    ssh = ["ssh", "-T", "-p", str(port), "-i", str(DEBIAN / "key"), *(f"-o{option}" for option in options)]
    return MachineSettings.model_validate(
        {
            "starts": qemu(folder, port, *data),
            "command": [*ssh, "root@127.0.0.1"],
            "binary": folder / "engine",
            "interfaces": {"ens4": []},
            "may_change": MAY_CHANGE,
            "nodes": ["receiver"],
        }
    )


@pytest.mark.slow
def test_a_debian_system_with_nothing_but_openssh_is_a_host(
    tmp_path: Path, resolve: Callable[..., Scenario]
) -> None:
    if not DEBIAN.exists():
        if shutil.which("mmdebstrap") is None:
            pytest.skip("there is no mmdebstrap, which makes the Debian system")
        subprocess.run([str(ROOT / "tests" / "lab" / "debian-image.sh"), str(DEBIAN)], check=True)
    shutil.copy(DEBIAN / "disk.img", tmp_path)
    # The engine of tests has debugging information, which need not go through emulated encryption.
    subprocess.run(["strip", "-o", str(tmp_path / "engine"), str(engine())], check=True)
    port = spare_port()
    machine = debian(tmp_path, port)
    # The machine is started by hand, and the engine installed.
    by_hand = subprocess.Popen(qemu(tmp_path, port), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        assert wait_for(lambda: install("debian", machine) is None, 600)
        assert machine.command is not None
        subprocess.run([*machine.command, "systemctl", "poweroff"], check=False, timeout=60)
        by_hand.wait(120)
    finally:
        by_hand.kill()
        by_hand.wait()
    with Backend("lab", Machines.of({"debian": machine})) as lab:
        assert lab.preflight().missing == []
        scenario = short(resolve, workload__transfer__traffic__duration="2 s", network__rate="5 Mbit/s")
        assert lab.check(scenario) == []
        capture = Capture(directory=str(tmp_path), name="trial", snap_bytes=64)
        record = lab.run("trial", scenario, traffic_seconds(scenario) + PATIENCE, capture)
    host = next(host for host in record.hosts if host.name == "receiver")
    assert host.machine is not None
    assert host.system is not None
    assert host.system.startswith("Debian GNU/Linux 12")
    assert "cloud-amd64" in host.machine.kernel
    assert {check.found for check in record.checks if check.name == "path_mtu"} == {"4000 B"}
    assert max(size for _, size in arrivals(next(tmp_path.glob("*receiver*.pcapng")))) == 4014
    transfer = next(flow for flow in record.flows if flow.name == "transfer")
    assert transfer.goodput_bps
    print(
        host.system,
        host.machine,
        f"{transfer.goodput_bps / 1e6:.2f} Mbit/s",
        [w.code for w in record.warnings],
    )
