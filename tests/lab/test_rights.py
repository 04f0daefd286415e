"""nettrial with and without privileges on the machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import forked
from tests.lab.sandbox import PATIENCE

ROOT = Path(__file__).parents[2]
SHORT = [
    "--set=mtu=1500,9000",
    "--set=receiver=linux-cubic",
    "--set=workload.transfer.traffic.duration=150 ms",
    "--set=workload.probe.traffic.duration=150 ms",
]

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
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "NO_COLOR": "1"}


def test_without_rights_and_without_user_namespaces_every_reason_is_told(tmp_path: Path) -> None:
    for command in (["run", "jumbo-ipv6", "--out", "mine"], ["doctor"]):
        result = subprocess.run(
            [*POWERLESS, sys.executable, "-m", "nettrial.cli", *command],
            cwd=tmp_path,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert result.returncode == 3, result.stderr
        told = result.stdout + result.stderr
        assert "unshare(CLONE_NEWNET | CLONE_NEWNS): Operation not permitted" in told.replace("\n", " ")
        assert "user.max_user_namespaces is 0" in told.replace("\n", " ")
        assert "Traceback" not in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("as_user")
def test_without_root_a_run_goes_through_and_says_what_is_absent(tmp_path: Path) -> None:
    words = ("run", "jumbo-ipv6", *SHORT, "--replicates=2", "--seed=3", "--out=mine")
    result = forked.run(forked.Command(words, ENVIRONMENT, tmp_path, charts=False, unprivileged=True))
    assert result.returncode == 0, result.stderr
    assert "needs root" in result.stdout
    assert (tmp_path / "mine" / "report.html").exists()


@pytest.mark.usefixtures("as_user")
def test_a_congestion_control_that_only_root_may_load_is_missing_and_no_bad_input(tmp_path: Path) -> None:
    words = ("run", "jumbo-ipv6", "--set=sender=linux-lia", "--out=mine")
    result = forked.run(forked.Command(words, ENVIRONMENT, tmp_path, unprivileged=True))
    assert result.returncode == 3, result.stderr
    assert "CAP_BPF" in result.stderr
    assert list(tmp_path.iterdir()) == []


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
    tmp_path: Path,
) -> None:
    result = forked.run(forked.Command(("run", "jumbo-ipv6", *options, "--out=mine"), ENVIRONMENT, tmp_path))
    assert result.returncode == 2, result.stderr
    assert all(text in result.stderr for text in told), result.stderr
    assert len(result.stderr.splitlines()) < 24
    assert result.stdout == ""
    assert list(tmp_path.iterdir()) == []
