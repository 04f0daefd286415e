"""Output of other processes, which is bounded: machines, engines and the commands that reach them."""

import resource
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from nettrial import systems
from nettrial.backends import hosts
from nettrial.backends.engine import Engine, EngineLost
from nettrial.backends.hosts import install, restore
from nettrial.backends.pipes import TooMuch, read_line
from nettrial.machines import MachineSettings
from nettrial.scenario import PreflightRequest, Request

FAKE_ENGINE = Path(__file__).parents[1] / "fake_engine.py"
MEBIBYTE = 1 << 20


def machine(*command):
    return MachineSettings.model_validate({"command": list(command), "interfaces": {"eth0": ["192.0.2.1"]}})


@pytest.fixture
def ended_at_once(monkeypatch, tmp_path):
    """Lets commands end before anything is written to them, as a machine that refuses does."""
    binary = tmp_path / "engine"
    binary.write_bytes(bytes(MEBIBYTE))
    binary.chmod(0o700)
    monkeypatch.setenv("NETTRIAL_ENGINE", str(binary))

    class Ended(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            self.wait()

    monkeypatch.setattr(hosts.subprocess, "Popen", Ended)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (["false"], "it ended with exit status 1 and said nothing"),
        (["sh", "-c", "echo no such container >&2; exit 7"], "no such container"),
    ],
)
def test_a_command_that_ends_at_once_is_told_with_what_it_said(ended_at_once, command, why):
    lack = install("alpha", machine(*command))
    assert (lack.what, lack.why) == (f"machine alpha ({shlex.join(command)})", why)
    assert restore("alpha", machine(*command)).lack.why == why


def test_an_absent_engine_is_known_by_its_status_and_not_by_words(monkeypatch, tmp_path):
    binary = tmp_path / "engine"
    binary.touch(0o700)
    monkeypatch.setenv("NETTRIAL_ENGINE", str(binary))
    lack = restore("alpha", machine("env", f"HOME={tmp_path}")).lack
    assert (lack.why, lack.remedy) == (
        "the engine is not installed there",
        "`nettrial machines install` copies it there",
    )
    says_so = machine("sh", "-c", "echo sshd: module not installed there >&2; exit 1")
    assert restore("alpha", says_so).lack.remedy.startswith("make sure that")


@pytest.mark.parametrize(("status", "remedy"), [(98, "wait for the end"), (99, "fix that"), (1, "make sure")])
def test_the_engine_there_tells_its_troubles_by_its_status(status, remedy):
    says_so = machine("sh", "-c", f"echo uses this machine, not restored >&2; exit {status}")
    assert restore("alpha", says_so).lack.remedy.startswith(remedy)


def test_a_command_that_ends_at_once_and_is_content_has_no_shell(ended_at_once):
    assert install("alpha", machine("true")).why == "no shell answered"


def test_the_installation_tells_it_and_ends_with_3(ended_at_once, nettrial, tmp_path):
    (tmp_path / "machines.yaml").write_text(
        "machines:\n  alpha:\n    command: ['false']\n    interfaces: {eth0: [192.0.2.1]}\n"
    )
    done = nettrial("machines", "install", NETTRIAL_ENGINE=str(tmp_path / "engine"))
    assert (done.returncode, "machine alpha (false): it ended with exit status 1" in done.stderr) == (3, True)


ENDLESS = {
    "without a newline": "import sys\nwhile True: sys.stdout.buffer.write(bytes(65536))",
    "in lines": "import sys\nwhile True: sys.stdout.buffer.write(b'x' * 80 + b'\\n')",
    "on standard error": "import sys\nwhile True: sys.stderr.buffer.write(bytes(65536))",
}


@pytest.mark.parametrize("how", ENDLESS)
def test_a_machine_that_sends_without_end_is_refused(monkeypatch, how):
    monkeypatch.setenv("NETTRIAL_ENGINE", str(FAKE_ENGINE))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for act in (lambda m: install("alpha", m), lambda m: restore("alpha", m).lack):
        lack = act(machine(sys.executable, "-c", ENDLESS[how]))
        assert "machine alpha" in lack.what
        assert lack.why == f"it sent more than {hosts.MOST_OUTPUT_BYTES} bytes"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 64 * 1024  # KiB


def test_an_engine_that_sends_without_end_is_killed(monkeypatch, tmp_path):
    monkeypatch.setattr("nettrial.backends.engine.MOST_EVENT_BYTES", MEBIBYTE)
    binary = tmp_path / "engine"
    binary.write_text(f"#!{sys.executable}\n{ENDLESS['without a newline']}\n")
    binary.chmod(0o700)
    engine = Engine(binary, "sim")
    with pytest.raises(EngineLost, match=f"sent a line of more than {MEBIBYTE} bytes, and was killed"):
        engine.ask(Request(PreflightRequest(thorough=False)), 60)


def test_a_line_may_have_as_many_bytes_as_the_limit(tmp_path):
    (tmp_path / "lines").write_bytes(b"1234\n\n12345\n123")
    with (tmp_path / "lines").open("rb") as stream:
        assert [read_line(stream, 4) for _ in range(2)] == [b"1234\n", b"\n"]
        with pytest.raises(TooMuch, match="more than 4 bytes"):
            read_line(stream, 4)


def grown(act):
    """Returns the growth of this process's largest memory during a function, in KiB, and its result."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = act()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, result


TOLD = "import sys\nfor _ in range(1024): sys.stderr.buffer.write(bytes(2**17))\nsys.exit('done')"
"""A program that writes 128 MiB to its standard error, without a newline before its last line."""


def test_a_program_that_writes_without_end_is_read_in_bounded_memory(tmp_path):
    program = [sys.executable, "-c", TOLD.replace("bytes(2**17)", "b'x' * 2**17 + b'\\n'")]
    more, why = grown(lambda: systems.run_program(program, tmp_path, 600.0))
    assert (more < 32 * 1024, why) == (True, "done")


def test_a_program_that_does_not_end_is_killed(tmp_path):
    late = f"{sys.executable}: it did not end within 0 s"
    for script in (ENDLESS["on standard error"], "import time; time.sleep(1000)"):
        assert systems.run_program([sys.executable, "-c", script], tmp_path, 0.3, bytes(2**20)) == late
    leaves_one = "import subprocess\nsubprocess.Popen(['sleep', '3'])\nraise SystemExit('bad')"
    assert systems.run_program([sys.executable, "-c", leaves_one], tmp_path, 600.0) == "bad"


def test_a_watched_program_is_read_in_bounded_memory(tmp_path):
    longest = [0]
    watch = lambda line: longest.append(max(longest.pop(), len(line)))  # noqa: E731
    more, why = grown(lambda: systems.run_watched([sys.executable, "-c", TOLD], tmp_path, {}, watch))
    assert (more < 32 * 1024, longest[0] <= 4096, why[-4:]) == (True, True, "done")
