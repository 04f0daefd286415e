"""The process that runs the Topo class of a user's file, without privileges. It reads a JSON document with
the file's source from standard input, and writes one with the nodes and links, or the fault, to standard
output."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import linecache
import os
import sys
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any

from nettrial import systems
from nettrial.files import Unsuitable
from nettrial.networks import stand_ins

OF_FILES = [
    *["argparse", "collections", "copy", "datetime", "enum", "functools", "ipaddress", "itertools"],
    *["logging", "math", "operator", "optparse", "pathlib", "random", "re", "signal", "socket"],
    *["string", "subprocess", "tempfile", "threading", "time", "typing"],
]
"""Modules that files with a Topo class import, which this process may not be able to read any more once it
has no privileges."""
MODULE = "topology_of_a_user"
"""The name of the module that a user's file becomes: not `__main__`, so that it starts no network."""
FORWARDS = "ip_forward"
"""The word in the source of a class whose nodes forward packets, as in Mininet's example of a router."""


class Fault(Unsuitable):
    """The error for a file without a topology that can be made, with the fault and the expectation."""


def main() -> int:
    """Answers the request on standard input, and returns the exit status."""
    request = json.load(sys.stdin)
    output = sys.stdout
    stand_ins.install()
    for name in OF_FILES:
        importlib.import_module(name)
    systems.confine(request["seconds"])
    try:
        with contextlib.redirect_stdout(sys.stderr):
            answer = _answer(request)
    except Fault as fault:
        answer = {"fault": str(fault), "expected": fault.expected}
    json.dump(answer, output, default=_plain)
    output.flush()
    os._exit(0)  # whatever the file registered or started ends, too


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    """Returns the nodes and links of the requested topology."""
    module, file = types.ModuleType(MODULE), request["file"]
    module.__file__ = file
    sys.modules[MODULE] = module
    source = request["source"]
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    with _explained(file, "a file that Python can run"):
        exec(compile(source, file, "exec"), module.__dict__)
    name, make = _chosen(module, request["name"])
    with _explained(file, f"{name} with arguments that its build() accepts, as in FILE:{name},2,n=3"):
        topology = make(*request["arguments"], **request["options"])
    if not isinstance(topology, stand_ins.Topo):
        raise Fault(
            f"{name} makes a {type(topology).__name__}", "a topology, whose class extends mininet.topo.Topo"
        )
    return {
        "nodes": [[node, _options(opts)] for node, opts in topology.nodes_by_name.items()],
        "links": [[one, other, _options(opts)] for one, other, _, opts in topology.edges],
    }


def _chosen(module: types.ModuleType, name: str | None) -> tuple[str, Callable[..., stand_ins.Topo]]:
    """Returns the topology of that name, or the file's only one, preferably of its dictionary `topos`."""
    there = dict(reversed(list(stand_ins.topologies(module))))
    if not there:
        expected = "a class that extends mininet.topo.Topo; a network that a script builds itself has none"
        raise Fault("no topology", expected)
    if name is not None:
        if name not in there:
            raise Fault(f"no topology {name}", ", ".join(sorted(there)))
        return name, there[name]
    listed = [key for key in getattr(module, "topos", {}) if key in there]
    candidates = listed or sorted(there)
    if len(candidates) > 1:
        expected = f"one of them, as in FILE:{candidates[0]}: {', '.join(candidates)}"
        raise Fault(f"{len(candidates)} topologies", expected)
    return candidates[0], there[candidates[0]]


@contextlib.contextmanager
def _explained(file: str, expected: str) -> Iterator[None]:
    """Turns every error of the file's code into a fault, with its line."""
    try:
        yield
    except stand_ins.NotMininet as error:
        raise Fault(str(error), "a class whose build() only adds nodes and links") from None
    except BaseException as error:  # also SystemExit, and errors that a file defines
        lines = [
            frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file
        ]
        if isinstance(error, SyntaxError):
            lines = [error.lineno]
        at = f"line {lines[-1]}: " if lines and lines[-1] else ""
        raise Fault(f"{at}{type(error).__name__}: {str(error)[:160]}", expected) from None


def _options(opts: dict[str, Any]) -> dict[str, Any]:
    """Returns options as plain data, in which a class is its name and says whether its nodes forward."""
    return {str(name): _plain(value) for name, value in opts.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, type):
        of_mininet = getattr(value, "of_mininet", "") == value.__name__
        return {
            "class": value.__name__,
            "is_of_mininet": of_mininet,
            "forwards": not of_mininet and _forwards(value),
        }
    if isinstance(value, dict):
        return _options(value)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None or isinstance(value, str | int | float | bool) else repr(value)[:80]


def _forwards(value: type) -> bool:
    """Returns whether the source of a class of the file says that its nodes forward packets."""
    with contextlib.suppress(OSError, TypeError):
        return FORWARDS in inspect.getsource(value)
    return False


if __name__ == "__main__":
    sys.exit(main())
