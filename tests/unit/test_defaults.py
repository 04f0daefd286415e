"""The user's defaults: the file nettrial.toml."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from nettrial.defaults import FIELDS
from nettrial.report import pages
from nettrial.store import Run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Returns a function that writes the file, for this process and for commands."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configuration"))

    def written(text):
        file = tmp_path / "configuration" / "nettrial.toml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        return file

    return written


def test_runs_have_the_users_directory_backend_and_theme(nettrial, write):
    file = write('backend = "sim"\nruns = "kept/runs"\ntheme = "dark"\n')
    done = nettrial("run", "jumbo-ipv6", "--replicates", "1", "--seed", "1")
    assert done.returncode == 0, done.stderr
    assert f"the backend is sim, your default in {file}" in done.stderr
    (directory,) = (nettrial.directory / "kept/runs").iterdir()
    run = Run.open(directory)
    assert "--backend sim" in run.command  # the same command makes the same run for everyone
    assert '<html lang="en" data-theme="dark">' in (directory / "report.html").read_text()
    assert re.search(rf"^kept/runs/{directory.name} ", nettrial("list", "runs").stdout, re.MULTILINE)
    done = nettrial("run", "jumbo-ipv6", "--replicates", "1", "--backend", "lab", "--out", "mine")
    assert (done.returncode, "your default" in done.stderr) == (0, False)
    assert json.loads(nettrial("doctor", "sim", "--json").stdout)["defaults"] == {
        "file": str(file),
        "backend": "sim",
        "runs": "kept/runs",
        "theme": "dark",
    }


def test_without_a_file_nettrial_chooses(nettrial, write):
    shown = nettrial("doctor", "sim").stdout
    assert re.search(r"^defaults +/\S+/nettrial.toml does not exist$", shown, re.MULTILINE)
    assert re.search(r"^backend +chosen for each study that names none$", shown, re.MULTILINE)
    none = "no runs yet: `nettrial run STUDY` stores one in the directory runs\n"
    assert nettrial("list", "runs").stdout == none
    assert pages.environment().from_string('<html lang="en"{{ theme() }}>').render() == '<html lang="en">'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('backend = "simm"', "nettrial.toml: backend: simm\n  expected: one of "),
        ('backend = "simm"', "did you mean 'sim'?"),
        ('themes = "dark"', "nettrial.toml: themes: unknown field\n  expected: backend, runs, theme\n"),
        ("runs = 3", "nettrial.toml: runs: 3\n  expected: the path of a directory"),
        ('theme = "blue"', "nettrial.toml: theme: blue\n  expected: one of system, light, dark"),
        ("runs = ", "nettrial.toml: Invalid value (at "),
    ],
)
def test_a_wrong_file_is_refused_before_any_trial(nettrial, write, text, said):
    write(text)
    done = nettrial("run", "jumbo-ipv6", "--replicates", "1", "--backend", "lab", "--out", "runs/mine")
    assert (done.returncode, done.stdout) == (2, "")
    assert "error: reading your defaults: " in done.stderr
    assert said in done.stderr
    assert not (nettrial.directory / "runs").exists()


def test_every_fault_of_the_file_is_listed(nettrial, write):
    write('theme = "blue"\nbackend = 1\n')
    assert nettrial("list", "runs").stderr.count("error: reading your defaults: ") == 2


def test_the_reference_has_every_field_and_environment_variable():
    page = (ROOT / "docs/reference/environment.md").read_text()
    sources = [*(ROOT / "nettrial").rglob("*.py"), *(ROOT / "engine").rglob("*.rs")]
    used = {name for file in sources for name in re.findall(r'"(NETTRIAL_[A-Z]+)"', file.read_text())}
    used |= {"XDG_CACHE_HOME", "XDG_CONFIG_HOME"}
    listed = set(re.findall(r"^\| `([A-Z_]+)` \|", page, re.MULTILINE))
    assert listed == used
    example = re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1]
    assert set(tomllib.loads(example)) == set(FIELDS)
