"""The fingerprint of a session: what is part of it, and what a resumed run and a comparison do with it."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from pathlib import Path

import pytest

from nettrial import systems
from nettrial.analysis.apparatus import CODE, changed, conflict
from nettrial.analysis.warning_effects import HarmOfWarnings, effect_of
from nettrial.capabilities import CAPABILITIES
from nettrial.store import Run
from nettrial.store.fingerprint import (
    checked_out,
    commit_in_words,
    commit_of_package,
    differences,
    fingerprint,
)
from tests.unit.conftest import CommandLine
from tests.unit.synthetic import ENVIRONMENT

RUN = ("run", "jumbo-ipv6", "--set", "mtu=1500,9000", "--replicates", "1", "--seed", "1", "--quiet")
OTHER = "Linux 6.19.0 #1 SMP x86_64"


def test_the_lab_depends_on_the_machine_and_the_simulator_only_on_nettrial(monkeypatch: pytest.MonkeyPatch):
    governor = {"CPU frequency governor": "performance"}
    monkeypatch.setattr("nettrial.store.fingerprint.frequency", lambda: governor)
    monkeypatch.setattr("nettrial.store.fingerprint.checked_out", lambda root: "abc")
    found = fingerprint(ENVIRONMENT, CAPABILITIES["lab"])
    assert found == {
        "kernel": ENVIRONMENT.kernel,
        "CPU": ENVIRONMENT.processor,
        "CPUs": str(ENVIRONMENT.processors),
        "privileges": ENVIRONMENT.privileges,
        "nettrial version": ENVIRONMENT.engine_version,
        "nettrial commit": "abc",
        **governor,
        **ENVIRONMENT.sysctls,
    }
    for name in ("sim", "fluid"):
        only = {"nettrial version": ENVIRONMENT.engine_version, "nettrial commit": "abc"}
        assert fingerprint(ENVIRONMENT, CAPABILITIES[name]) == only


def test_what_the_engine_states_is_part_of_it():
    stated = ENVIRONMENT.model_copy(update={"apparatus": {"shaper": "exact"}})
    assert fingerprint(stated, CAPABILITIES["lab"])["shaper"] == "exact"
    assert "shaper" not in fingerprint(stated, CAPABILITIES["sim"])


def test_a_wheel_names_the_commit_that_it_was_built_from(tmp_path: Path):
    package = tmp_path / "nettrial"
    package.mkdir()
    assert commit_of_package(package) is None
    (package / "commit.txt").write_text("1a2b3c4d5e6f7890\n")
    assert commit_of_package(package) == "1a2b3c4d5e6f7890"
    assert commit_in_words({"nettrial commit": "1a2b3c4d5e6f7890"}) == "commit 1a2b3c4d5e6f"
    assert commit_in_words({}) == commit_in_words(None) == "commit not known"


def test_the_commit_is_what_git_has_checked_out(tmp_path: Path):
    assert checked_out(tmp_path) is None

    def git(*command: str, of: str = "clone") -> str:
        settings = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        done = subprocess.run(
            ["git", "-C", str(tmp_path / of), *settings, *command], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    git("init", "--quiet", "clone", of=".")
    for message in ("first", "second"):
        git("commit", "--quiet", "--allow-empty", "--message", message)
    git("worktree", "add", "--quiet", "-b", "other", "../beside", "HEAD~1")
    first, second = git("rev-parse", "HEAD~1"), git("rev-parse", "HEAD")
    for _ in range(2):
        assert (checked_out(tmp_path / "clone"), checked_out(tmp_path / "beside")) == (second, first)
        git("pack-refs", "--all")
    git("checkout", "--quiet", "--detach", "HEAD~1")
    assert checked_out(tmp_path / "clone") == first


def test_only_facts_that_both_have_differ():
    assert differences({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "4", "d": "5"}) == [("b", "2", "4")]


def test_what_the_system_does_not_tell_is_absent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(systems, "CPU_FREQUENCY", tmp_path)
    assert systems.frequency() == {}
    for number, governor in enumerate(["powersave", "performance", "powersave"]):
        (tmp_path / f"policy{number}").mkdir()
        (tmp_path / f"policy{number}" / "scaling_governor").write_text(f"{governor}\n")
    assert systems.frequency() == {"CPU frequency governor": "performance, powersave"}


def test_a_run_is_not_resumed_on_another_kernel(nettrial: CommandLine):
    assert nettrial(*RUN, "--out", "mine", FAKE_FAIL="3").returncode == 4
    refused = nettrial("run", "--resume", "mine", FAKE_KERNEL=OTHER)
    assert refused.returncode == 2
    assert refused.stderr == (
        f"error: resuming the run: kernel of this session: {OTHER}\n"
        "  expected: Linux 6.18.0 #1 SMP x86_64, as when the run began\n"
        "  hint: finish the run with the apparatus that began it; --another-apparatus resumes it all the "
        "same, and its report then warns that sessions differ\n"
    )
    run = Run.open(nettrial.directory / "mine")
    assert (len(run.sessions), run.finished()) == (1, 7)

    done = nettrial("run", "--resume", "mine", "--another-apparatus", FAKE_KERNEL=OTHER)
    assert done.returncode == 0, done.stderr
    shown = " ".join(nettrial("report", "mine", "--tables").stdout.split())
    assert f"kernel: Linux 6.18.0 #1 SMP x86_64, then {OTHER}" in shown
    (warning,) = changed(run)
    assert (warning.code, warning.numbers, effect_of(CODE)) == (CODE, {3}, HarmOfWarnings.BIAS)
    # Both are apparatus of the run now.
    for session in run.sessions:
        assert session.fingerprint is not None
        assert conflict(run, session.fingerprint) == []


def test_a_simulated_run_is_resumed_anywhere(nettrial: CommandLine):
    simulated = (*RUN, "--backend", "sim", "--out", "mine")
    assert nettrial(*simulated, FAKE_FAIL="3").returncode == 4
    assert nettrial("run", "--resume", "mine", FAKE_KERNEL=OTHER).returncode == 0
    assert list(changed(Run.open(nettrial.directory / "mine"))) == []


def test_a_comparison_names_the_apparatus_before_any_figure(nettrial: CommandLine):
    for name, kernel in (("a", "Linux 6.18.0 #1 SMP x86_64"), ("b", OTHER)):
        assert nettrial(*RUN, "--out", name, FAKE_KERNEL=kernel).returncode == 0
    text = nettrial("compare", "a", "b").stdout
    heading, row = text.index("Differences of the apparatus"), text.index(f"6.18.0 #1 SMP x86_64  {OTHER}")
    assert heading < row < text.index("Change from A to B in percent")
    document = json.loads(nettrial("compare", "a", "b", "--json").stdout)
    assert document["apparatus"] == [{"name": "kernel", "a": "Linux 6.18.0 #1 SMP x86_64", "b": OTHER}]
    assert "kernel" not in {each["name"] for each in document["circumstances"]}
    assert json.loads(nettrial("compare", "a", "a", "--json").stdout)["apparatus"] == []


def test_an_old_run_did_not_record_it_and_is_resumed(nettrial: CommandLine):
    assert nettrial(*RUN, "--out", "new").returncode == 0
    assert nettrial(*RUN, "--out", "old", FAKE_FAIL="3").returncode == 4
    with sqlite3.connect(nettrial.directory / "old" / "run.sqlite") as file:
        file.execute("ALTER TABLE session DROP COLUMN fingerprint")
        file.execute("DROP TABLE disturbed")
        file.execute("PRAGMA user_version = 2")
    document = json.loads(nettrial("compare", "old", "new", "--json").stdout)
    assert document["apparatus"] == [{"name": "apparatus", "a": "not recorded", "b": "recorded"}]
    assert "\nThe apparatus of A was not recorded.\n" in nettrial("compare", "old", "new").stdout
    done = nettrial("run", "--resume", "old", FAKE_KERNEL=OTHER)
    assert done.returncode == 0
    assert "the apparatus of the earlier sessions was not recorded" in done.stderr
    assert [session.fingerprint for session in Run.open(nettrial.directory / "old").sessions] == [None, None]


@pytest.mark.parametrize("bad", ["[]", '{"kernel": 1}', "{", "7"])
def test_a_damaged_fingerprint_is_reported(nettrial: CommandLine, bad: str):
    assert nettrial(*RUN, "--out", "mine").returncode == 0
    with sqlite3.connect(nettrial.directory / "mine" / "run.sqlite") as file:
        file.execute("DROP TRIGGER session_no_update")
        file.execute("UPDATE session SET fingerprint = ?", (bad,))
    done = nettrial("report", "mine")
    assert (done.returncode, "the fingerprint" in done.stderr) == (2, True)
