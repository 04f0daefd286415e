"""Operating systems other than Linux: the commands that work there, and the errors of those that don't."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from nettrial import systems
from tests.unit.conftest import ROOT, environment

RUN = "nettrial run examples/loss --replicates 2 --seed 1 --out"
REACHED = [
    "nettrial list studies",
    f"{RUN} one",
    f"{RUN} two",
    "nettrial report one",
    "nettrial compare one two",
    "nettrial export one --out tables",
    "nettrial draw fat-tree --set k=4 --out network.svg",
]
REFUSED = [
    "nettrial run jumbo-ipv6 --replicates 2 --out lab",
    "nettrial doctor",
]


def test_a_zone_becomes_the_number_of_an_interface():
    number, name = socket.if_nameindex()[0]
    assert systems.zoned(f"fe80::1%{name}") == systems.zoned(f"fe80::1%{number}") == f"fe80::1%{number}"
    assert [systems.zoned(address) for address in ("::", "192.0.2.1", "fd00::1")] == [
        "::",
        "192.0.2.1",
        "fd00::1",
    ]
    for address in ("fe80::1", "fe80::1%nothing0", "fe80::1%0", "fd00::1%1", "192.0.2.1%1"):
        with pytest.raises(systems.UnknownZone):
            systems.zoned(address)
    with pytest.raises(ValueError, match="does not appear to be"):
        systems.zoned("host.example")


def windows(directory, commands, **fake):
    """Runs commands as on Windows; returns the answers of as_windows.py, standard output and standard
    error."""
    answers = directory / "answers.json"
    double = [sys.executable, "-X", "warn_default_encoding", ROOT / "tests/unit/as_windows.py", answers]
    variables = {**environment(directory), "PYTHONIOENCODING": "cp1252", "TMPDIR": str(directory), **fake}
    done = subprocess.run(
        double, input="\n".join(commands), env=variables, cwd=directory, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return json.loads(answers.read_text()), done.stdout, done.stderr


def test_what_is_simulated_needs_nothing_of_posix(tmp_path):
    answers, output, errors = windows(tmp_path, [*REACHED, *REFUSED], FAKE_MISSING="1", FAKE_SAME="1")
    assert answers["statuses"] == {**dict.fromkeys(REACHED, 0), **dict.fromkeys(REFUSED, 3)}, errors
    assert answers["flags"] == [0x200], "Ctrl-C would end the engine"
    assert answers["held_twice"] == [False, True]
    assert answers["lacking"] == ["fcntl", "geteuid"], "the double has what Windows lacks"
    assert "\N{MINUS SIGN}" in output or "\N{MULTIPLICATION SIGN}" in output
    assert (tmp_path / "one" / "report.html").read_text(encoding="utf-8").endswith("</html>")
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".nettrial")]


def test_the_programs_of_this_python_are_found(monkeypatch):
    monkeypatch.setattr("sysconfig.get_path", lambda name: f"/opt/{name}")
    assert systems.executables() == [Path(sys.executable).parent, Path("/opt/scripts")]
    monkeypatch.setattr("sysconfig.get_path", lambda name: os.path.dirname(sys.executable))
    assert len(systems.executables()) == 1
