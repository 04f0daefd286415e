"""STAMP: the commands as users run them, and against another implementation."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nettrial.cli.documents.measure import StampDocument
from tests.end_to_end.serving import PATIENCE, nettrial, serving, spare_port, until

pytestmark = pytest.mark.end_to_end

ROOT = Path(__file__).parents[2]
SHORT = ("--interval", "2 ms", "--time", "100 ms", "--replicates", "2", "--quiet")
STAMP_SUITE = "1.0.0"


@pytest.fixture
def key(tmp_path: Path) -> Path:
    file = tmp_path / "key"
    file.write_text("00112233445566778899aabbccddeeff\n")
    file.chmod(0o400)  # stamp-suite refuses a key that others may read.
    return file


@pytest.mark.settles  # On a busy machine an answer may come too late.
def test_the_commands_measure_with_each_other(tmp_path: Path, key: Path) -> None:
    with serving(tmp_path, "--stamp", "--token-file", str(key), token=None) as server:
        at = ("measure", "localhost", "--ip", "4", "--stamp", "--port", str(server.port), *SHORT)
        other = nettrial(*at)
        assert other.returncode == 3
        assert "no answer to 50 packets" in other.stderr
        done = nettrial(*at, "--token-file", str(key), "--size", "200", "--dscp", "46", "--json")
        assert done.returncode == 0, done.stderr
        document = StampDocument.model_validate_json(done.stdout)
        assert [each.sent for each in document.repeats] == [50, 50]
        assert all(each.kernel_arrivals and each.kernel_departures for each in document.repeats)
        found = {(each.direction, each.metric): each.mean for each in document.metrics}
        assert found["round trip", "rtt"] > 0
        assert found["forward", "loss"] == found["backward", "loss"] == 0
        runs = [str(tmp_path / name) for name in ("monday", "tuesday")]
        for run in runs:
            told = nettrial(*at, "--token-file", str(key), "--out", run)
            assert told.returncode == 0, told.stderr
        found = nettrial("compare", *runs, "--json", token=None)
        assert found.returncode == 0, found.stderr
        responses = {one["response"] for one in json.loads(found.stdout)["differences"]}
        assert {"round_trip_rtt", "forward_delay_variation_p50", "backward_loss"} <= responses
        assert "2 of 2 trials" in nettrial("report", runs[0], token=None).stdout
        again = nettrial(*at, "--token-file", str(key), "--out", runs[0])
        assert (again.returncode, again.stdout) == (2, "")
        assert "round trip: round-trip time, mean" in told.stdout
        server.await_line(r"a session of 200 B")


@pytest.fixture(scope="module")
def stamp_suite() -> str:
    """Returns the path of the program stamp-suite. Its first use compiles it, which takes a minute."""
    root = ROOT / ".venv" / "stamp-suite"
    program = root / "bin" / "stamp-suite"
    if not program.exists():
        if shutil.which("cargo") is None:
            pytest.skip("cargo is not installed")
        command = ["cargo", "install", "stamp-suite", "--version", STAMP_SUITE, "--locked", "--debug"]
        plain = {name: value for name, value in os.environ.items() if not name.startswith("RUSTC_")}
        subprocess.run([*command, "--root", str(root)], check=True, capture_output=True, env=plain)
    return str(program)


def options(mode: str, key: Path) -> list[str]:
    return ["-A", "A", "--hmac-key-file", str(key)] if mode == "authenticated" else []


@pytest.fixture
def reflector(stamp_suite: str, mode: str, key: Path) -> Iterator[int]:
    """Runs a reflector of stamp-suite and yields its port."""
    port = spare_port()
    command = [stamp_suite, "-i", "--local-addr", "127.0.0.1", "--local-port", str(port)]
    process = subprocess.Popen(
        [*command, "--stateful-reflector", *options(mode, key)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    listens = lambda: f":{port:04X} " in Path("/proc/net/udp").read_text()  # noqa: E731
    until(lambda: listens() or process.poll() is not None, "the reflector's port, or its end")
    assert process.poll() is None, f"the reflector ended with status {process.returncode}"
    yield port
    process.kill()
    process.wait()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["open", "authenticated"])
def test_stamp_suite_reflects(reflector: int, mode: str, key: Path) -> None:
    secured = ("--token-file", str(key)) if mode == "authenticated" else ()
    for size in ((), ("--size", "400")):
        at = ("measure", "127.0.0.1", "--stamp", "--port", str(reflector))
        done = nettrial(*at, *SHORT, *secured, *size, "--json")
        assert done.returncode == 0, done.stderr
        document = StampDocument.model_validate_json(done.stdout)
        assert all(len(each.answers) == each.sent for each in document.repeats)
        assert all(each.foreign == 0 for each in document.repeats)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["open", "authenticated"])
def test_stamp_suite_sends(tmp_path: Path, stamp_suite: str, mode: str, key: Path) -> None:
    secured = ("--token-file", str(key)) if mode == "authenticated" else ()
    with serving(tmp_path, "--stamp", *secured, token=None) as server:
        command = [stamp_suite, "--remote-addr", "127.0.0.1", "--remote-port", str(server.port)]
        command += ["--local-addr", "127.0.0.1", "--local-port", "0", "-c", "20", "-d", "5", "-L", "1"]
        command += ["--direct-measurement", *options(mode, key)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert "Packets received: 20" in done.stdout, done.stdout + done.stderr
