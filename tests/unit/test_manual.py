"""The manual page nettrial(1)."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nettrial.cli.help import EXAMPLES

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from reference import manual  # noqa: E402


def test_the_page_is_that_of_the_commands() -> None:
    assert (ROOT / manual.FILE).read_text() == manual.page(), "run 'make generate'"


def test_every_command_has_a_section_with_its_options() -> None:
    text = manual.page().replace("\\-", "-")
    for name in filter(None, EXAMPLES):
        assert f"\n.SS nettrial {name}\n.B nettrial {name} " in text
    for option in ("--against OTHER", "--version", "-h, --help", "--fail-if CONDITION"):
        assert f"\n.TP\n.B {option}\n" in text


def test_lines_that_begin_like_a_macro_are_text() -> None:
    assert manual.roff(".1 of\n'a' \\ -b `c`") == "\\&.1 of\n\\&'a' \\e \\-b c"


@pytest.mark.skipif(shutil.which("man") is None, reason="needs man")
def test_man_reads_it_without_a_warning() -> None:
    command = ["man", "--warnings", "--local-file", str(ROOT / manual.FILE)]
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "MANPAGER": "cat"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Compare two runs: what changed, by how much, how certainly." in " ".join(done.stdout.split())
