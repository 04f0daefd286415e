"""A YAML file with the line of each of its fields, for error messages."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from nettrial.bounds import MOST_STUDY_BYTES
from nettrial.errors import BadInput, Fault
from nettrial.fields import MISSING, Wrong
from nettrial.files import Unreadable, read_text
from nettrial.study import yaml_values
from nettrial.study.yaml_values import Fields, Items
from nettrial.units import Fraction

READING = "reading the study"
"""The current action, for error messages."""
FieldPath = Sequence[str | int]
"""The path to a value in the document: keys and indices from its root."""
MEMBERS = ("kind", "distribution", "discipline")
"""The fields that say which member of a union a mapping is."""
WRONG_FOR_MOST = ("?", 0.5)
"""Values of which hardly a field takes both: a text that names nothing, and a number that is no text."""
RATE_TRACE, DELAY_TRACE = "RateTrace", "DelayTrace"
"""The names of the members of unions that have no such field: the traces that a rate or a delay follows."""


def shown(path: Path) -> str:
    """Returns a path as a user would write it: relative if it lies below the working directory."""
    path = path.absolute()
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


class _Dumper(yaml.SafeDumper):  # type: ignore[misc]  # PyYAML has no types
    """Writes the content of a study that was defined in Python, also if it has types that are derived from
    those of YAML."""


_Dumper.add_representer(Fraction, lambda dumper, value: dumper.represent_str(value.print()))
_Dumper.add_multi_representer(dict, lambda dumper, value: dumper.represent_dict(dict(value)))
_Dumper.add_multi_representer(list, lambda dumper, value: dumper.represent_list(list(value)))
_Dumper.add_multi_representer(str, lambda dumper, value: dumper.represent_str(str(value)))
_Dumper.add_multi_representer(float, lambda dumper, value: dumper.represent_float(float(value)))


def _read(path: Path, doing: str) -> str:
    """Returns the text of a file; raises BadInput."""
    try:
        return read_text(path, MOST_STUDY_BYTES)
    except Unreadable as why:
        expected = f"a readable file of up to {MOST_STUDY_BYTES} bytes"
        raise BadInput(doing, shown(path), str(why), expected) from None


@dataclass(frozen=True)
class Document:
    """A study file as plain data."""

    path: Path
    """The file."""
    text: str
    """The content of the file."""
    data: Any
    """The content: dictionaries, lists and scalars."""
    options: dict[tuple[str | int, ...], str] = field(default_factory=dict)
    """The options of the command line that set values instead of the file, by the path to the value."""
    _tree: Any = None
    doing: str = READING
    """The purpose of reading the document, for error messages."""
    is_file: bool = True
    """False for a study defined in Python: `path` is then the name that its file would have in the working
    directory."""

    @classmethod
    def load(cls, path: Path, doing: str = READING) -> Document:
        """Reads a file; raises BadInput if it can't be read or is not YAML."""
        text = _read(path, doing)
        try:
            data = yaml_values.read(text)
        except yaml_values.Refused as why:
            place = shown(path) if why.line is None else f"{shown(path)}:{why.line}"
            raise BadInput(doing, place, why.fault, why.expected, why.hint) from None
        return cls(path, text, data, {}, data, doing)

    @classmethod
    def in_python(cls, data: Mapping[str, Any]) -> Document:
        """Returns the document with that content, which is read as if it were in a file; raises BadInput if
        it has other values than mappings, lists, texts, numbers, true, false and null."""
        try:
            text = yaml.dump(dict(data), Dumper=_Dumper, sort_keys=False, allow_unicode=True)
            read = yaml_values.read(text)
        except yaml.representer.RepresenterError as error:
            expected = "dictionaries, lists, texts, numbers, True, False or None"
            raise BadInput(READING, "the study", repr(error.args[-1]), expected) from None
        except yaml_values.Refused as why:
            raise BadInput(READING, "the study", why.fault, why.expected) from None
        return cls(Path("study.yaml"), text, read, {}, read, is_file=False)

    def where(self, place: FieldPath) -> str:
        """Returns the place of a value as `file:line: dotted.path`, or the option that set it."""
        place = self._written(place)
        for length in range(len(place), 0, -1):
            if option := self.options.get(tuple(place[:length])):
                return option
        node, line, names = self._tree, 0, []
        for step in place:
            if isinstance(node, Fields):
                # A field of a merged mapping (`<<`) has no line here; that of the mapping is named.
                line = node.lines.get(str(step), line)
                node, name = node.get(str(step)), str(step)
            elif isinstance(node, Items) and isinstance(step, int) and step < len(node):
                line = node.lines[step]
                node, name = node[step], str(step)
                if isinstance(node, Fields):
                    name = str(node.get("flow") or node.get("name") or step)
            elif node is not None:
                continue  # the parts of a value that is written as a whole
            else:
                name = str(step)
            names.append(name)
        name = f"{shown(self.path)}:{line + 1}" if self.is_file else "the study"
        return f"{name}: {'.'.join(names)}".removesuffix(": ")

    def _written(self, place: FieldPath) -> list[str | int]:
        """Returns the path to a value without the members of unions, which are not steps in the file."""
        node, steps = self.data, []
        for step in place:
            if isinstance(node, dict):
                if step not in node and (step in (RATE_TRACE, DELAY_TRACE) or step in map(node.get, MEMBERS)):
                    continue
                node = node.get(step)
            elif isinstance(node, list) and isinstance(step, int) and step < len(node):
                node = node[step]
            steps.append(step)
        return steps

    def bad(self, error: ValidationError, validate: Callable[[Any], object]) -> BadInput:
        """Converts pydantic's error into an error for the user. `validate` validates other content in the way
        that gave the error."""
        if self.data is None:
            wrong = Wrong.of(error)[0]
            value = "the file is empty, or has only comments"
            return BadInput(self.doing, shown(self.path), value, wrong.expected, wrong.hint)
        faulty = Wrong.of(error)
        missing = [wrong.place for wrong in faulty if wrong.value == MISSING and not wrong.expected]
        expected = self._expected(missing, validate)
        faults = [
            Fault(
                self.where(wrong.place),
                self._value(wrong),
                expected.get(wrong.place, wrong.expected),
                wrong.hint,
            )
            for wrong in faulty
        ]
        return BadInput.listing(self.doing, faults)

    def _value(self, wrong: Wrong) -> str:
        """Returns the bad value of a fault. A field that is missing is named where its place is not its own:
        that of an option, or of a value in its short form."""
        is_named = self.where(wrong.place).endswith(str(wrong.place[-1]) if wrong.place else "")
        return wrong.value if wrong.value != MISSING or is_named else f"{wrong.place[-1]} is missing"

    def _expected(
        self, missing: Sequence[tuple[str | int, ...]], validate: Callable[[Any], object]
    ) -> dict[tuple[str | int, ...], str]:
        """Returns what is expected of missing fields, in words: what the error for a wrong value says."""
        expected: dict[tuple[str | int, ...], str] = {}
        for value in WRONG_FOR_MOST:
            data = copy.deepcopy(self.data)
            for place in missing:
                *steps, last = self._written(place)
                node = data
                with contextlib.suppress(LookupError, TypeError):  # a field of a value's short form: no place
                    for step in steps:
                        node = node[step]
                    node[last] = value
            try:
                validate(data)
            except ValidationError as error:
                for wrong in reversed(Wrong.of(error)):
                    for place in missing:
                        if wrong.place[: len(place)] == place and wrong.expected:
                            expected[place] = wrong.expected
            missing = [place for place in missing if place not in expected]
        return expected
