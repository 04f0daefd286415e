"""A YAML file with the line of each of its fields, for error messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, ScalarEvent
from ruamel.yaml.parser import RoundTripParser

from nettrial.bounds import MOST_DEPTH, MOST_STUDY_BYTES, MOST_VALUES
from nettrial.errors import BadInput, Fault
from nettrial.fields import Wrong
from nettrial.files import Unreadable, read_text

READING = "reading the study"
"""The current action, for error messages."""
LARGEST_NUMBER_BITS = 64
"""The largest size of a whole number in a study file, in bits."""
LONGEST_REASON = 80
"""The largest number of characters quoted from another library's error about a file."""

Place = Sequence[str | int]
"""The path to a value in the document: keys and indices from its root."""


def shown(path: Path) -> str:
    """Returns a path as a user would write it: relative if it lies below the working directory."""
    path = path.absolute()
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


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

    @classmethod
    def load(cls, path: Path, doing: str = READING) -> Document:
        """Reads a file; raises BadInput if it can't be read or is not YAML."""
        text = _read(path, doing)
        try:
            reader = YAML(typ="rt")
            reader.Parser = _BoundedParser
            tree = reader.load(text)
            data = _plain(tree)
        except _TooMuch as found:
            line, what, expected = found.args
            raise BadInput(doing, f"{shown(path)}:{line}", what, expected) from None
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = f":{mark.line + 1}" if mark else ""
            problem = (error.problem or error.context or "").strip().splitlines()[0]
            raise BadInput(doing, shown(path) + line, problem, "YAML 1.2") from None
        except YAMLError as error:
            raise BadInput(doing, shown(path), str(error).splitlines()[0], "YAML 1.2") from None
        # The YAML library raises many kinds of errors, for malformed dates and numbers, for example.
        except Exception as error:
            what = " ".join(str(error).split())[:LONGEST_REASON] or type(error).__name__
            raise BadInput(doing, shown(path), what, "YAML 1.2") from None
        return cls(path, text, data, {}, tree, doing)

    def where(self, place: Place) -> str:
        """Returns the place of a value as `file:line: dotted.path`, or the option that set it."""
        place = self._written(place)
        for length in range(len(place), 0, -1):
            if option := self.options.get(tuple(place[:length])):
                return option
        node, line, names = self._tree, 0, []
        for step in place:
            if isinstance(node, CommentedMap):
                # A field of a merged mapping (`<<`) has no line here; that of the mapping is named.
                if step in (node.lc.data or {}):
                    line = node.lc.key(step)[0]
                node, name = node.get(step), str(step)
            elif isinstance(node, CommentedSeq) and isinstance(step, int) and step < len(node):
                line = node.lc.item(step)[0]
                node, name = node[step], str(step)
                if isinstance(node, CommentedMap):
                    name = str(node.get("flow") or node.get("name") or step)
            elif node is not None:
                continue  # the parts of a value that is written as a whole
            else:
                name = str(step)
            names.append(name)
        return f"{shown(self.path)}:{line + 1}: {'.'.join(names)}".removesuffix(": ")

    def _written(self, place: Place) -> list[str | int]:
        """Returns the path to a value without the members of unions, which are not steps in the file."""
        node, steps = self.data, []
        for step in place:
            if isinstance(node, dict):
                if step not in node and step in (node.get("kind"), node.get("distribution")):
                    continue
                node = node.get(step)
            elif isinstance(node, list) and isinstance(step, int) and step < len(node):
                node = node[step]
            steps.append(step)
        return steps

    def bad(self, error: ValidationError) -> BadInput:
        """Converts pydantic's error into an error for the user."""
        faults = [
            Fault(self.where(wrong.place), wrong.value, wrong.expected, wrong.hint)
            for wrong in Wrong.of(error)
        ]
        return BadInput.listing(self.doing, faults)


class _TooMuch(Exception):
    """Raised if a document exceeds a limit, with the line, the finding and the expectation."""


class _BoundedParser(RoundTripParser):
    """A parser that raises `_TooMuch` if a document has too many values, counting those of aliases, or if
    they are nested too deeply.

    It counts during construction, because parsing takes most of the time of reading a study."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._open_at: list[tuple[str | None, int]] = []  # anchor and count at the start of each collection
        self._sizes: dict[str, int] = {}  # by anchor: the values of what it names
        self._count = 0

    def get_event(self) -> Any:
        event = super().get_event()
        expected = f"up to {MOST_VALUES} values, including those of aliases"
        if isinstance(event, AliasEvent):
            if event.anchor in [anchor for anchor, _ in self._open_at]:
                self._count = MOST_VALUES + 1
                expected = "an alias of a value that ends before it"
            self._count += self._sizes.get(event.anchor, 1)
        elif isinstance(event, CollectionStartEvent):
            self._open_at.append((event.anchor, self._count))
            self._count += 1
        elif isinstance(event, CollectionEndEvent):
            anchor, before = self._open_at.pop()
            if anchor is not None:
                self._sizes[anchor] = self._count - before
        elif isinstance(event, ScalarEvent):
            self._count += 1
            if event.anchor is not None:
                self._sizes[event.anchor] = 1
        line = event.start_mark.line + 1
        if len(self._open_at) > MOST_DEPTH:
            raise _TooMuch(line, "values nested too deeply", f"up to {MOST_DEPTH} levels")
        if self._count > MOST_VALUES:
            what = f"the alias *{event.anchor}" if isinstance(event, AliasEvent) else "too many values"
            raise _TooMuch(line, what, expected)
        return event


def _plain(node: Any) -> Any:
    """Converts ruamel's types into built-in types. A whole number too large for any setting becomes its
    hexadecimal text, because Python limits the length of decimal numbers."""
    if isinstance(node, int) and node.bit_length() > LARGEST_NUMBER_BITS:
        return hex(node)
    if isinstance(node, Mapping):
        return {str(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(value) for value in node]
    for builtin in (bool, int, float, str):
        if isinstance(node, builtin):
            return builtin(node)
    return node
