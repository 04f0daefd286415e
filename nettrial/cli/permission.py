"""Commands of a study, which makes it a program: they are shown, and started only with permission."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable

from nettrial.cli import READING
from nettrial.cli.console import say
from nettrial.errors import BadInput
from nettrial.scenario import Scenario

OPTION = "--allow-exec"
"""The option that gives the permission."""


def commands(scenarios: Iterable[Scenario]) -> list[str]:
    """Returns the commands of these scenarios, each once, as a shell reads them: those of the tool `exec` and
    of controllers."""
    found: dict[str, None] = {}
    for scenario in scenarios:
        words = [scenario.controller.command] if scenario.controller else []
        for flow in scenario.workload:
            traffic = flow.traffic.root
            if traffic.kind == "tool" and traffic.tool.root == "exec":
                words += [traffic.arguments, traffic.server_arguments]
        found |= {shlex.join(each): None for each in words if each}
    return list(found)


def ask(scenarios: Iterable[Scenario], allowed: bool) -> None:
    """Asks at the terminal for the permission to start the commands of these scenarios, unless the option has
    given it. Raises BadInput without it."""
    named = commands(scenarios)
    if not named or allowed:
        return
    hint = f"read them, and give {OPTION} if you trust the study"
    if sys.stdin.isatty():
        say("this study starts commands of its own, with your privileges:")
        for command in named:
            say(f"  {command}")
        say("start them? [y/N]")
        if sys.stdin.readline().strip().lower() in ("y", "yes"):
            return
        raise BadInput(READING, OPTION, "not permitted", "a yes, or the option", hint)
    raise BadInput(READING, OPTION, f"missing, and the study starts {'; '.join(named)}", "the option", hint)
