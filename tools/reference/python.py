"""nettrial's functions and classes in Python, from their documentation."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, get_args

import nettrial
from nettrial import errors
from nettrial.running import events
from reference.markdown import one_line, page, table
from reference.study_file import docstrings

INTRO = """
These functions do what the commands do, and return objects instead of printing.
[Use a notebook](../how-to/use-a-notebook.md) shows them at work. The package has types (`py.typed`). Names
that begin with `_`, and modules that this page does not name, may change.
"""
FUNCTIONS = ("run", "resume", "load", "compare", "measure")
CLASSES = ("Results", "Plots", "Comparison", "Measurements")
ERRORS = (
    errors.NettrialError,
    errors.BadInput,
    errors.CannotRun,
    errors.TrialsFailed,
)
_EXAMPLE = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.MULTILINE | re.DOTALL)


def pages() -> dict[str, str]:
    """Returns the page."""
    parts = [INTRO, "## Functions", *(_function(name) for name in FUNCTIONS)]
    for name in CLASSES:
        parts += [f"## `nettrial.{name}`", *_class(getattr(nettrial, name))]
    parts += ["## Events", _events(), "## Errors", _errors()]
    return {"python.md": page("Python", *parts)}


def _function(name: str) -> str:
    function = getattr(nettrial, name)
    return f"### `nettrial.{name}`\n\n```python\n{_signature(name, function)}\n```\n\n{_text(function)}"


def _signature(name: str, function: Callable[..., Any]) -> str:
    """Returns a function's signature, with a parameter on each line."""
    signature = inspect.signature(function)
    keyword_only, lines = False, []
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            lines.append("    *,")
        lines.append(f"    {parameter},".replace("'", ""))
    returned = str(signature.return_annotation).strip("'")
    return "\n".join([f"{name}(", *lines, f") -> {returned}"])


def _text(documented: Any) -> str:
    """Returns a documentation string, with its examples as blocks of code."""
    text = inspect.getdoc(documented) or ""
    return _EXAMPLE.sub(lambda example: f"```pycon\n{example[0]}\n```", text)


def _class(kind: type) -> list[str]:
    """Returns a class' description, and a table of its public members."""
    members = {name: member for name, member in vars(kind).items() if not name.startswith("_")}
    rows = [
        [f"`.{name}{'()' if inspect.isfunction(member) else ''}`", one_line(inspect.getdoc(member))]
        for name, member in members.items()
    ]
    return [_text(kind), table(["member", "description"], rows)]


def _events() -> str:
    """Returns a table of the events of a session and of their fields."""
    rows = []
    for kind in get_args(events.Event):
        fields = docstrings(kind)
        described = "; ".join(f"`{name}`: {one_line(text).rstrip('.')}" for name, text in fields.items())
        rows.append([f"`{kind.__name__}`", one_line(inspect.getdoc(kind)), described])
    intro = (
        "`progress` of `nettrial.run` is called with each of these, in the order in which they happen. They "
        "are in `nettrial.running.events`, and `str` of each is a line of text."
    )
    return f"{intro}\n\n{table(['event', 'description', 'fields'], rows)}"


def _errors() -> str:
    rows = [[f"`{kind.__name__}`", one_line(inspect.getdoc(kind))] for kind in ERRORS]
    intro = "All are in `nettrial.errors`. The text of each is the whole message that a command would print."
    return f"{intro}\n\n{table(['error', 'raised for'], rows)}"
