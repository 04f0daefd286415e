"""The version of the package, its requirements, its workflows, and the studies that it contains."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import nettrial
from nettrial.study.catalogue import EXAMPLES, FOLDER
from tests.unit.conftest import environment

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_one_version():
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())
    assert nettrial.__version__ == PROJECT["version"] == cargo["workspace"]["package"]["version"]


def test_the_lock_has_every_dependency_and_says_nothing_of_the_machine_it_was_made_on():
    text = (ROOT / "requirements.lock").read_text()
    locked = {name.replace(".", "-") for name in re.findall(r"^([a-z0-9._-]+)==", text, re.MULTILINE)}
    wanted = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["dev"]]
    names = {re.match(r"[a-z0-9._-]+", requirement)[0].replace(".", "-") for requirement in wanted}
    assert names <= locked
    for lock in ROOT.glob("requirements*.lock"):
        text = lock.read_text()
        assert not re.search(r"https?:|file:|--find-links [^-]|--index-url [^-]", text)
        assert not re.search(r"(^|\s)/\w", text)


def test_the_workflows_call_what_there_is():
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    called = []
    for file in (ROOT / ".github" / "workflows").glob("*.yml"):
        for job in yaml.safe_load(file.read_text())["jobs"].values():
            called += [step["run"] for step in job["steps"] if "run" in step]
    made = [target for command in called for target in re.findall(r"^make ([a-z-]+)", command)]
    assert "wheel" in made
    assert set(made) <= set(targets)
    files = [name for command in called for name in re.findall(r"\S*requirements\S*|^\.ci/\S+", command)]
    assert files
    assert all((ROOT / name).exists() for name in files)


@pytest.mark.parametrize("folder", [FOLDER, EXAMPLES], ids=lambda folder: folder.name)
def test_the_shipped_studies_and_examples_are_in_the_package(folder):
    source = ROOT / folder.name
    assert folder.resolve() == source
    include = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["maturin"]["include"]
    patterns = [entry["path"] for entry in include]
    files = [file.relative_to(source) for file in source.rglob("*") if file.is_file()]
    assert files
    for file in files:
        assert any((Path("nettrial") / folder.name / file).match(pattern) for pattern in patterns), file


def test_the_licences_name_what_each_stack_that_is_a_program_contains():
    notice = (ROOT / "LICENSES" / "NOTICE.md").read_text()
    for table in (ROOT / "stacks").glob("*/stack.json"):
        assert f"| `nettrial-stack-{json.loads(table.read_text())['name']}` |" in notice
    release = re.search(r"^lwip=(.+)$", (ROOT / "tools" / "build-stacks.sh").read_text(), re.MULTILINE)
    assert f"| lwIP {release[1]} |" in notice


EXTRAS = (
    "altair",
    "polars",
    "distributed",
    "dask",
    "websockets",
    "cryptography",
    "os_ken",
    "statsmodels",
    "pandas",
)
"""The packages that only extras and tests need."""
WITHOUT = f"""
import json, pathlib, sys
sys.modules.update(dict.fromkeys({EXTRAS!r}))
from nettrial.cli import main
statuses = []
for arguments in json.loads(sys.argv.pop()):
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit as ended:
        statuses.append(ended.code or 0)
pathlib.Path("statuses").write_text(json.dumps(statuses))
"""
"""Runs commands without the extras in one process, because each start takes seconds, and writes their exit
statuses."""
IN_PYTHON = f"""
import sys
sys.modules.update(dict.fromkeys({EXTRAS!r}))
import nettrial
nettrial.load("mine")
"""


def test_runs_and_reports_need_no_extra_and_tables_name_theirs(tmp_path):
    given = {**os.environ, **environment(tmp_path), "PYTHONPATH": str(ROOT)}

    def done(code, *arguments):
        command = [sys.executable, "-c", code, *arguments]
        return subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True, check=False)

    study = ["examples/loss"]  # It has few charts, each of which takes time.
    commands = [
        ["run", *study, "--replicates=2", "--out=mine"],
        ["report", "mine", "--figures=figures"],
        ["compare", "mine", "mine"],
        ["run", "--dry-run", study[0]],
        ["export", "mine"],
    ]
    export = done(WITHOUT, json.dumps(commands))
    assert json.loads((tmp_path / "statuses").read_text()) == [0, 0, 0, 0, 3], export.stderr
    assert "<svg" in (tmp_path / "mine" / "report.html").read_text()
    in_python = done(IN_PYTHON)
    for stderr in (export.stderr, in_python.stderr):
        assert "polars: this Python package is not installed" in stderr
        assert "pip install 'nettrial[tables]'" in stderr
