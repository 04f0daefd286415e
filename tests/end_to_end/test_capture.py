"""Captures of both backends, as tshark reads them."""

import subprocess
from pathlib import Path

import pytest

from tests.end_to_end.serving import PATIENCE
from tests.end_to_end.test_commands import ROOT, nettrial

CHANGES = {
    "mtu": "1500",
    "sender": "linux-cubic",
    "receiver": "linux-cubic",
    "network.rate": "50 Mbit/s",
    "measurement.capture.snap_length": "2 kB",
}
ARGUMENTS = (
    *("jumbo-ipv6", "--replicates", "1", "--capture", "first"),
    *(word for name, value in CHANGES.items() for word in ("--set", f"{name}={value}")),
)
FIELDS = ("frame.time_epoch", "tcp.flags.syn", "tcp.checksum.status", "tcp.len", "_ws.malformed")


def frames(capture: Path, display: str = "", fields: tuple[str, ...] = FIELDS) -> list[list[str]]:
    """Returns the fields of each frame as tshark reads them; tshark verifies checksums."""
    command = ["tshark", "-r", str(capture), "-T", "fields"]
    command += ["-o", "tcp.check_checksum:TRUE"]
    command += [word for field in fields for word in ("-e", field)] + (["-Y", display] if display else [])
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def captured(directory: Path, *arguments: str) -> dict[str, Path]:
    """Runs a study and returns its captures by name."""
    done = nettrial(directory, "run", *arguments, "--out", "run", report=False)
    assert done.returncode == 0, done.stderr
    files = {path.name: path for path in (directory / "run" / "captures").iterdir()}
    assert all(name.endswith(".pcapng") for name in files), files
    return files


@pytest.mark.settles
@pytest.mark.end_to_end
@pytest.mark.parametrize("backend", [pytest.param("sim", marks=pytest.mark.slow), "lab"])
def test_a_transfer_is_captured_whole(backend: str, tmp_path: Path) -> None:
    files = captured(tmp_path, *ARGUMENTS, "--backend", backend)
    assert {name.split("-")[2] for name in files} == {"sender", "router", "receiver"}
    seen = frames(files["trial-0001-receiver-eth0.pcapng"])
    times = [float(frame[0]) for frame in seen]
    assert times == sorted(times)
    assert not [frame for frame in seen if frame[4]]
    assert sum(int(frame[3] or 0) for frame in seen) >= 1_000_000
    assert [frame for frame in seen if frame[1] in ("1", "True")]
    places = ("router-eth1", "receiver-eth0")
    files_of_link = [files[f"trial-0001-{place}.pcapng"] for place in places]
    stations = [frames(file, "tcp.len > 0", ("eth.src", "eth.dst")) for file in files_of_link]
    leaving, arriving = ({tuple(frame) for frame in found} for found in stations)
    assert leaving == arriving, "a frame has the same addresses where it leaves and where it arrives"
    if backend == "sim":  # The lab leaves checksums to the interface (checksum offload).
        assert {frame[2] for frame in seen} == {"1"}


@pytest.mark.end_to_end
def test_simulated_multipath_connections_have_their_options(tmp_path: Path) -> None:
    shown = (
        "tcp.options.mptcp.subtype",
        "tcp.options.sack_le",
        "tcp.options.timestamp.tsval",
        "_ws.malformed",
    )
    changes = ("switches=25", "control=lia", "workload.incast.traffic.duration=60 ms")
    words = [word for change in changes for word in ("--set", change)]
    one = ("--backend", "sim", "--replicates", "1", "--capture", "first")
    files = captured(tmp_path, "jellyfish-mptcp", *words, *one)
    seen = [
        frame
        for eth in ("eth0", "eth1")
        for frame in frames(files[f"trial-0001-host-1-{eth}.pcapng"], "tcp", shown)
    ]
    subtypes = {frame[0] for frame in seen}
    assert {"0", "1", "2"} <= subtypes, "MP_CAPABLE, MP_JOIN and DSS"
    assert [frame for frame in seen if frame[1]], "selective acknowledgments"
    assert not [frame for frame in seen if frame[3]]


@pytest.mark.end_to_end
def test_an_interface_that_is_not_there_is_told_before_anything_runs(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    text = (ROOT / "studies" / "mtu-packet-size" / "study.yaml").read_text()
    capture = "measurement:\n  capture: {trials: first, interfaces: ['client:eth7']}\n"
    study.write_text(text.replace("measurement:\n", capture, 1))
    done = nettrial(tmp_path, "run", "study.yaml", "--out", "run")
    assert done.returncode == 2
    assert "client:eth7" in done.stderr
    assert not (tmp_path / "run").exists()
