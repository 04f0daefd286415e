"""Programs that a study starts with a command or with arguments of its own, which makes it a program itself.
They are shown, and started only with permission."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nettrial.cli.console import say
from nettrial.design import Treatment, resolve
from nettrial.errors import BadInput, Fault
from nettrial.scenario import Flow, Scenario
from nettrial.study import Study
from nettrial.study.tool_options import TOOLS

OPTION = "--allow-exec"
"""The option that gives the permission."""
STARTING = "starting the study's programs"
"""The current action, for error messages."""
ANSWER_CHARACTERS = 80
"""The number of characters that are read of an answer at the terminal."""


@dataclass(frozen=True)
class Program:
    """A program that needs permission."""

    where: str
    """The place in the study that names it."""
    command: str
    """The command, as a shell reads it; for a tool, the program and the arguments that the study adds."""
    refused: str
    """The part of the command that needs permission."""
    of_tool: bool
    """True if only arguments of a tool need permission."""

    def fault(self) -> Fault:
        """Returns the fault that the permission is missing."""
        hint = f"read it, and give {OPTION} if you trust the study"
        if not self.of_tool:
            return Fault(self.where, self.refused, f"{OPTION}, which permits commands of the study", hint)
        value = f"{self.refused}, of {shlex.split(self.command)[0]}"
        return Fault(self.where, value, f'options of the reference page "Tool options", or {OPTION}', hint)


def programs(study: Study, scenarios: Iterable[tuple[Treatment, Scenario]]) -> list[Program]:
    """Returns the programs of these scenarios that need permission, each command once: those of the tool
    `exec` and of controllers, and other tools with arguments that can do more than shape their traffic."""
    found: dict[str, Program] = {}
    for treatment, scenario in scenarios:
        for pointer, command, refused, of_tool in _needed(scenario):
            if command not in found:
                where = resolve(study, treatment.levels).origins.where(pointer)
                found[command] = Program(where, command, refused, of_tool)
    return list(found.values())


def _needed(scenario: Scenario) -> Iterator[tuple[str, str, str, bool]]:
    """Yields the place, as a JSON pointer (RFC 6901), and the other fields of each `Program`."""
    if scenario.controller and scenario.controller.command:
        command = shlex.join(scenario.controller.command)
        yield "/controller/command", command, command, False
    for number, flow in enumerate(scenario.workload):
        for name, command, refused, of_tool in _of_flow(flow):
            yield f"/workload/{number}/traffic/{name}", command, refused, of_tool


def _of_flow(flow: Flow) -> Iterator[tuple[str, str, str, bool]]:
    traffic = flow.traffic.root
    if traffic.kind != "tool":
        return
    sides = {"arguments": traffic.arguments or [], "server_arguments": traffic.server_arguments or []}
    tool = TOOLS.get(traffic.tool.root)
    for name, arguments in sides.items():
        if tool is None:
            if arguments:
                yield name, shlex.join(arguments), shlex.join(arguments), False
            continue
        program = tool.client if name == "arguments" else tool.server
        others = program.others(arguments)
        if others:
            yield name, shlex.join([program.name, *arguments]), shlex.join(others), True


def ask(needed: list[Program], allowed: bool) -> None:
    """Asks at the terminal for the permission to start these programs, unless the option has given it. Raises
    BadInput without it."""
    if not needed or allowed:
        return
    if sys.stdin.isatty():
        say("this study starts programs of its own choice, with your privileges:")
        list_programs(needed)
        say("start them? [y/N]")
        if sys.stdin.readline(ANSWER_CHARACTERS).strip().lower() in ("y", "yes"):
            return
    raise BadInput.listing(STARTING, [program.fault() for program in needed])


def list_programs(needed: list[Program]) -> None:
    """Prints the programs that need permission."""
    for program in needed:
        say(f"  {program.where}: {program.command}")
