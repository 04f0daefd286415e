"""The look-up of known vulnerabilities says what it could not look up, and fails only for known ones."""

import json
import subprocess

import pytest

from tools import audit


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Replaces the tools, whose outputs are in a dictionary by a word of their command lines; others fail."""
    outputs = {}

    def run(*command, **environment):
        words = " ".join(map(str, command))
        for word, (status, text) in outputs.items():
            if word in words:
                if word == "clone" and status == 0:
                    (tmp_path / "advisory-db" / "crates").mkdir(parents=True)
                return subprocess.CompletedProcess(command, status, text, text)
        return subprocess.CompletedProcess(command, 128, "", "fatal: could not resolve the host")

    monkeypatch.setattr(audit, "TOOLS", tmp_path)
    monkeypatch.setattr(audit, "run", run)
    return outputs


def test_a_network_without_data_is_said_plainly_and_no_failure(tools, capsys):
    tools |= {"-m venv": (0, ""), "pip install": (0, "")}
    tools["pip-audit --disable-pip"] = (
        0,
        json.dumps({"dependencies": [{"name": "a", "version": "1", "skip_reason": "none"}]}),
    )
    assert audit.main() == 0
    told = capsys.readouterr().err
    assert "audit: cargo-audit looked up NOTHING: no database: fatal: could not resolve the host" in told
    nothing = "requirements.lock: the package index has no advisories of any of its packages"
    assert f"audit: pip-audit looked up NOTHING: {nothing}" in told


def test_tools_that_can_not_be_installed_look_up_nothing(tools, capsys):
    tools["clone"] = 0, ""
    assert audit.main() == 0
    told = capsys.readouterr().err
    assert "cargo-audit looked up NOTHING: it could not be installed" in told
    assert "pip-audit looked up NOTHING: it could not be installed" in told


@pytest.mark.parametrize("of", ["crate", "package"])
def test_a_known_vulnerability_is_a_failure(tools, capsys, of):
    vulnerable = {"id": "PYSEC-1", "fix_versions": ["2"]}
    listed = [{"name": "a", "version": "1", "vulns": [vulnerable] if of == "package" else []}]
    tools |= {"clone": (0, ""), "install": (0, ""), "-m venv": (0, "")}
    tools["pip-audit --disable-pip"] = 0, json.dumps({"dependencies": listed})
    tools["cargo-audit audit"] = (1, "RUSTSEC-1") if of == "crate" else (0, "none")
    assert audit.main() == 1
    assert ("RUSTSEC-1" if of == "crate" else "a 1: PYSEC-1, fixed in 2") in capsys.readouterr().err


def test_an_earlier_database_serves_without_a_network(tools, tmp_path, capsys):
    (tmp_path / "advisory-db" / "crates").mkdir(parents=True)
    tools |= {"install": (0, ""), "cargo-audit audit": (1, "RUSTSEC-1")}
    assert audit.main() == 1
    told = capsys.readouterr().err
    assert "the crates' database is an earlier one: fatal: could not resolve the host" in told
