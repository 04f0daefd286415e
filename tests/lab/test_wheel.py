"""The wheel of `make wheel`, installed on a machine whose compilers and headers are hidden."""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.lacking import lacking

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
HIDDEN_FOLDERS = ("/usr/include", "/usr/lib/gcc", "/usr/lib/llvm-*", "~/.cargo", "~/.rustup", str(ROOT))
HIDDEN_PROGRAMS = (
    "cc",
    "c++",
    "gcc",
    "clang",
    "ld",
    "as",
    "ar",
    "make",
    "cargo",
    "rustc",
    "nettrial",
    "nettrial-engine",
)
HIDE = f"""
set -eu
mount -t tmpfs none /mnt
for folder in {" ".join(HIDDEN_FOLDERS)}; do
  eval "folder=$folder"
  [ ! -d "$folder" ] || mount --bind /mnt "$folder"
done
for program in {" ".join(HIDDEN_PROGRAMS)}; do
  for folder in /usr/bin /usr/local/bin /bin; do
    [ ! -e "$folder/$program" ] || mount --bind /dev/null "$folder/$program"
  done
done
exec "$@"
"""
"""A script that runs a command in its own mount namespace, in which compilers, headers and the checkout are
empty."""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Returns a function that runs a command with a virtual environment that contains the wheel, and nothing
    of this checkout."""
    wheels = list(ROOT.glob(f"dist/nettrial-*_{platform.machine()}.whl"))
    if not wheels:
        lacking("there is no wheel: make wheel")
    if os.geteuid() != 0:
        lacking("only root can hide the machine's compilers")
    directory = tmp_path_factory.mktemp("wheel")
    [wheel] = wheels
    copy = directory / wheel.name
    copy.write_bytes(wheel.read_bytes())

    def call(*command: str) -> str:
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", HIDE, "sh", *command],
            cwd=directory,
            env={"PATH": f"{directory}/venv/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": os.environ["HOME"]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    call(os.path.realpath(sys.executable), "-m", "venv", "venv")
    call("pip", "install", "--quiet", f"{copy.name}[dask,tables]")
    return call


def test_no_compiler_is_to_be_seen(alone: Callable[..., str]) -> None:
    seen = alone(
        "sh", "-c", "for p in gcc cc clang cargo rustc make; do command -v $p || true; done; ls /usr/include"
    )
    assert seen == ""


def test_it_needs_the_c_library_alone_and_brings_the_licences_of_what_it_holds(
    alone: Callable[..., str],
) -> None:
    needed = alone("sh", "-c", "ldd venv/bin/nettrial-engine")
    libraries = set(re.findall(r"^\s*(?:/\S*/)?([a-z0-9_-]+)\.so", needed, re.MULTILINE))
    assert libraries <= {
        "linux-vdso",
        "libc",
        "libm",
        "libpthread",
        "libdl",
        "librt",
        "libgcc_s",
        "ld-linux-x86-64",
        "ld-linux-aarch64",
    }
    licences = alone("sh", "-c", "ls venv/lib/python*/site-packages/nettrial-*.dist-info/licenses/*")
    assert "LGPL-3.0.txt" in licences
    assert "NOTICE.md" in licences


def test_it_brings_the_stacks_that_are_programs(alone: Callable[..., str]) -> None:
    for name in ("gvisor", "lwip", "smoltcp"):
        assert json.loads(alone(f"nettrial-stack-{name}", "--version"))["name"] == name
    options = ["--backend", "lab", "--set", "mtu=9000", "--set", "sender=lwip", "--set", "receiver=gvisor"]
    options += ["--set", "workload.transfer.traffic.duration=300 ms", "--replicates", "1", "--json"]
    document = json.loads(alone("nettrial", "run", "jumbo-ipv6-stacks", *options, "--out", "stacks"))
    assert document["trials"]["finished"] == 1


def test_a_study_is_simulated(alone: Callable[..., str]) -> None:
    options = ("--backend", "sim", "--replicates", "2", "--json")
    document = json.loads(alone("nettrial", "run", "jumbo-ipv6", *options, "--out", "sim"))
    assert document["trials"]["finished"] == document["trials"]["planned"] > 0
    assert "9000 B" in document["answer"]


def test_a_study_is_simulated_by_workers_on_this_machine(alone: Callable[..., str]) -> None:
    options = ("--backend", "sim", "--replicates", "1", "--on", "local[2]", "--json")
    document = json.loads(alone("nettrial", "run", "jumbo-ipv6", *options, "--out", "workers"))
    assert document["trials"]["finished"] == document["trials"]["planned"] > 0


def test_a_study_runs_in_the_lab_with_a_congestion_control_that_it_brings(alone: Callable[..., str]) -> None:
    options = [
        "--set",
        "mtu=1500",
        "--set",
        "sender=linux-balia,linux-cubic",
        "--set",
        "receiver=linux-cubic",
    ]
    options += ["--set", "workload.transfer.traffic.duration=300 ms", "--replicates", "1", "--seed", "1"]
    alone("nettrial", "run", "jumbo-ipv6", *options, "--out", "lab")
    alone("nettrial", "export", "lab", "--to", "csv")
    called = alone("cat", "lab/export-csv/congestion.csv").splitlines()[1:]
    assert len(called) == 1
    assert "balia" in called[0]
