"""nettrial with and without privileges on the machine."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHORT = ["--set=workload.transfer.traffic.duration=150 ms", "--set=workload.probe.traffic.duration=150 ms"]

POWERLESS = [
    "unshare",
    "--user",
    "--map-root-user",
    "sh",
    "-c",
    # The process has no capabilities and can't create user namespaces.
    'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all "$@"',
    "sh",
]


@pytest.fixture
def nettrial(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Returns a function that runs nettrial in an empty directory, behind a command prefix."""

    def call(prefix: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*prefix, sys.executable, "-m", "nettrial.cli", *arguments],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    return call


def test_without_rights_and_without_user_namespaces_every_reason_is_told(
    nettrial: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    for command in (["run", "jumbo-ipv6", "--out", "mine"], ["doctor"]):
        result = nettrial(POWERLESS, *command)
        assert result.returncode == 3, result.stderr
        told = result.stdout + result.stderr
        assert "unshare(CLONE_NEWNET | CLONE_NEWNS): Operation not permitted" in told.replace("\n", " ")
        assert "user.max_user_namespaces is 0" in told.replace("\n", " ")
        assert "Traceback" not in told
    assert list(tmp_path.iterdir()) == []


def test_without_root_a_run_goes_through_and_says_what_is_absent(
    nettrial: Callable[..., subprocess.CompletedProcess[str]], as_user: list[str], tmp_path: Path
) -> None:
    result = nettrial(as_user, "run", "jumbo-ipv6", *SHORT, "--replicates=2", "--seed=3", "--out=mine")
    assert result.returncode == 0, result.stderr
    assert "needs root" in result.stdout
    assert (tmp_path / "mine" / "report.html").exists()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--set=mtu=500,1500"], ["500 B", "1280 B to 65535 B", "RFC 8200"]),
        (["--set=network.rate=0 bit/s"], ["0 bit/s", "8 kbit/s or more"]),
    ],
)
def test_what_the_engine_refuses_is_one_message_and_nothing_is_written(
    options: list[str],
    told: list[str],
    nettrial: Callable[..., subprocess.CompletedProcess[str]],
    tmp_path: Path,
) -> None:
    result = nettrial([], "run", "jumbo-ipv6", *options, "--out=mine")
    assert result.returncode == 2, result.stderr
    assert all(text in result.stderr for text in told), result.stderr
    assert len(result.stderr.splitlines()) < 24
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []
