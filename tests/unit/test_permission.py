"""Commands of a study are shown, and started only with permission."""

from __future__ import annotations

import json
import os
import pty
from pathlib import Path

import pytest

from nettrial.cli import permission
from nettrial.design import scenario_of
from nettrial.errors import BadInput
from nettrial.scenario import Scenario
from nettrial.study import load
from tests.lab_study import lab_study
from tests.unit.conftest import CommandLine

COMMANDS = ["./client --to '{destination}'", "./server", "./own.py '{port}'"]


def document() -> dict:
    """Returns a study whose second treatment has its own controller, and whose flow is a command."""
    tool = {
        "kind": "tool",
        "tool": "exec",
        "arguments": ["./client", "--to", "{destination}"],
        "server_arguments": ["./server"],
    }
    own = {"network.controller": {"command": ["./own.py", "{port}"]}, "network.forwarding": "openflow"}
    return lab_study(
        network={
            "topology": "leaf-spine",
            "parameters": {"leaves": 2, "spines": 1},
            "ip": 4,
            "mtu": "1500 B",
            "rate": "10 Mbit/s",
            "queue": "10 packets",
        },
        workload=[{"flow": "data", "from": "host-1", "to": "host-2", "transport": "tcp", "traffic": tool}],
        factors={
            "fabric": {
                "title": "Fabric",
                "sets": {"kernel": {"network.forwarding": "routers"}, "own": own},
                "levels": ["kernel", "own"],
            }
        },
        layout={"rows": "fabric"},
    )


@pytest.fixture
def scenarios(tmp_path: Path) -> list[Scenario]:
    (tmp_path / "study.yaml").write_text(json.dumps(document()))
    study = load(str(tmp_path))
    return [scenario_of(study, {"fabric": level}) for level in ("kernel", "own")]


def test_commands_of_flows_and_controllers_are_named_once(scenarios: list[Scenario]):
    assert permission.commands(scenarios) == COMMANDS
    assert permission.commands([]) == []


def test_without_a_terminal_the_option_is_asked_for(scenarios: list[Scenario]):
    with pytest.raises(BadInput, match="--allow-exec") as refused:
        permission.ask(scenarios, allowed=False)
    assert "./client" in str(refused.value)
    permission.ask(scenarios, allowed=True)
    permission.ask([], allowed=False)


@pytest.mark.parametrize(("answer", "may"), [("y\n", True), ("Yes\n", True), ("\n", False), ("n\n", False)])
def test_at_a_terminal_it_is_asked(
    answer: str, may: bool, scenarios: list[Scenario], monkeypatch: pytest.MonkeyPatch, capsys
):
    near, far = pty.openpty()
    os.write(near, answer.encode())
    with os.fdopen(far) as terminal:
        monkeypatch.setattr("sys.stdin", terminal)
        if may:
            permission.ask(scenarios, allowed=False)
        else:
            with pytest.raises(BadInput, match="not permitted"):
                permission.ask(scenarios, allowed=False)
    os.close(near)
    assert "./own.py" in capsys.readouterr().err


def test_a_run_names_the_commands_and_writes_nothing_without_permission(nettrial: CommandLine):
    (nettrial.directory / "study.yaml").write_text(json.dumps(document()))
    shown = nettrial("show", "study.yaml")
    assert "Commands that it starts\n./client --to" in shown.stdout
    refused = nettrial("run", "study.yaml", "--out", "out")
    assert (refused.returncode, "--allow-exec" in refused.stderr) == (2, True)
    assert not (nettrial.directory / "out").exists()
    assert nettrial("run", "study.yaml", "--out", "out", "--allow-exec", "--quiet").returncode == 0


def test_a_run_is_not_resumed_without_permission(nettrial: CommandLine):
    (nettrial.directory / "study.yaml").write_text(json.dumps(document()))
    begun = nettrial("run", "study.yaml", "--out", "out", "--allow-exec", "--quiet", FAKE_FAIL="2")
    assert begun.returncode == 4
    refused = nettrial("resume", "out")
    assert (refused.returncode, "--allow-exec" in refused.stderr) == (2, True)
    assert nettrial("resume", "out", "--allow-exec", "--quiet").returncode == 0
