"""Requests of a study that make it a program itself, or that concern files of the user: commands, arguments
of tools, and files to send. They are shown, and granted only with permission."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from nettrial.design import Treatment, resolve
from nettrial.errors import Fault
from nettrial.scenario import Scenario, ToolTraffic
from nettrial.study import Study
from nettrial.study.tool_options import TOOLS

OPTION = "--allow-exec"
"""The option that gives the permission."""
ASKING = "asking for permission"
"""The current action, for error messages."""


class RequestKind(Enum):
    """The kinds of requests, with what permits each."""

    COMMAND = f"{OPTION}, which permits commands of the study"
    """A command of the study."""
    TOOL = f'options of the reference page "Tool options", or {OPTION}'
    """A tool with arguments that can do more than shape its traffic."""
    FILE = f"{OPTION}, which permits to send files of yours"
    """A file of the user that a flow sends."""


@dataclass(frozen=True)
class PermissionRequest:
    """A request that needs permission."""

    kind: RequestKind
    """The kind of the request."""
    where: str
    """The place in the study."""
    text: str
    """The command, as a shell reads it; for a tool, the program and the arguments that the study adds. The
    path of a file."""
    refused: str
    """The part of the text that needs permission."""

    def fault(self) -> Fault:
        """Returns the fault that the permission is missing."""
        hint = f"read it, and give {OPTION} if you trust the study"
        of = f", of {shlex.split(self.text)[0]}" if self.kind is RequestKind.TOOL else ""
        return Fault(self.where, f"{self.refused}{of}", self.kind.value, hint)


def requests(study: Study, scenarios: Iterable[tuple[Treatment, Scenario]]) -> list[PermissionRequest]:
    """Returns the requests of these scenarios, each once: commands of the tool `exec` and of controllers,
    other tools with arguments that can do more than shape their traffic, and files that flows send."""
    requested: dict[tuple[RequestKind, str], PermissionRequest] = {}
    for treatment, scenario in scenarios:
        for pointer, kind, text, refused in _needed(scenario):
            if (kind, text) not in requested:
                where = resolve(study, treatment.levels).origins.where(pointer)
                requested[kind, text] = PermissionRequest(kind, where, text, refused)
    return list(requested.values())


def _needed(scenario: Scenario) -> Iterator[tuple[str, RequestKind, str, str]]:
    """Yields the place of each request, as a JSON pointer (RFC 6901), and its kind, text and refused part."""
    if scenario.controller and scenario.controller.command:
        command = shlex.join(scenario.controller.command)
        yield "/controller/command", RequestKind.COMMAND, command, command
    for number, flow in enumerate(scenario.workload):
        traffic = flow.traffic.root
        if traffic.kind == "tool":
            for name, kind, text, refused in _of_tool(traffic):
                yield f"/workload/{number}/traffic/{name}", kind, text, refused
        elif traffic.kind == "file_transfer":
            yield f"/workload/{number}/traffic/file", RequestKind.FILE, traffic.file, traffic.file


def _of_tool(traffic: ToolTraffic) -> Iterator[tuple[str, RequestKind, str, str]]:
    sides = {"arguments": traffic.arguments or [], "server_arguments": traffic.server_arguments or []}
    tool = TOOLS.get(traffic.tool.root)
    for name, arguments in sides.items():
        if tool is None:
            if arguments:
                yield name, RequestKind.COMMAND, shlex.join(arguments), shlex.join(arguments)
            continue
        program = tool.client if name == "arguments" else tool.server
        others = program.others(arguments)
        if others:
            yield name, RequestKind.TOOL, shlex.join([program.name, *arguments]), shlex.join(others)


def commands(needed: list[PermissionRequest]) -> list[str]:
    """Returns the texts of the requests to start programs."""
    return [request.text for request in needed if request.kind is not RequestKind.FILE]


def files(needed: list[PermissionRequest]) -> list[str]:
    """Returns the paths of the files that flows send."""
    return [request.text for request in needed if request.kind is RequestKind.FILE]
