"""YAML 1.2 as plain data with the line of each value, built from the events of libyaml.

libyaml reads a study in a twentieth of the time that a parser in Python takes. Tags have no effect beyond
those of the core schema (YAML 1.2, section 10.3), so no object of another type is ever made."""

from __future__ import annotations

import re
from typing import Any

import yaml

from nettrial.bounds import MOST_DEPTH, MOST_VALUES

LARGEST_NUMBER_BITS = 64
"""The largest size of a whole number in a file, in bits."""
CORE = "tag:yaml.org,2002:"
"""The beginning of the core schema's tags, which a file writes as `!!`."""
CONSTANTS: dict[str, Any] = (
    dict.fromkeys(("", "~", "null", "Null", "NULL"))
    | dict.fromkeys(("true", "True", "TRUE"), True)
    | dict.fromkeys(("false", "False", "FALSE"), False)
    | dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf"))
    | dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf"))
    | dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan"))
)
"""The plain scalars that are a constant."""
WHOLE = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
"""A plain scalar that is a whole number."""
FRACTIONAL = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
"""A plain scalar that is another number."""
BASES = {"0o": 8, "0x": 16}
"""The bases of whole numbers that are not decimal, by their prefixes."""
OF_INDENTATION = ("<block end>", "<document start>", "expected key", "'-' indicator")
"""Parts of the parser's messages about a line that is indented like none of those that it can belong to: of
libyaml and of the parser in Python."""
NUMERIC = frozenset("+-.0123456789")
"""The first characters of numbers."""

# The parser in Python, which a build of PyYAML without libyaml has alone, gives the same events.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Refused(Exception):
    """The error for a document that is not read, with its line (None if unknown), the fault, the expectation
    and the remedy."""

    def __init__(self, line: int | None, fault: str, expected: str, hint: str = "") -> None:
        """Creates the error; the first line is 1."""
        super().__init__(fault)
        self.line, self.fault, self.expected, self.hint = line, fault, expected, hint


class Fields(dict[str, Any]):
    """A mapping of a document."""

    lines: dict[str, int]
    """The line of each key, from 0. A key that was merged (`<<`) has none."""


class Items(list[Any]):
    """A sequence of a document."""

    lines: list[int]
    """The line of each item, from 0."""


def read(text: str) -> Any:
    """Returns the value of the text's only document: `Fields`, `Items` and scalars, or None if there is no
    document. Raises Refused."""
    try:
        return _Builder(text).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = (error.problem or error.context or "").strip().splitlines()[0]
        hint = _remedy(text, mark.line, problem) if mark else ""
        raise Refused(mark and mark.line + 1, problem, "YAML 1.2", hint) from None
    except yaml.YAMLError as error:
        raise Refused(None, str(error).splitlines()[0], "YAML 1.2") from None


def _remedy(text: str, line: int, problem: str) -> str:
    """Returns the remedy for the problem that the parser has in a line, counted from 0; empty if unknown."""
    # The lines of YAML 1.2, section 5.4; the parser counts some more.
    lines = re.split("\r\n|\r|\n", text)
    written = lines[line] if line < len(lines) else ""
    if "\t" in written[: len(written) - len(written.lstrip())]:
        return f"line {line + 1} is indented with a tab: use spaces"
    if "mapping values" in problem:
        return f"check the indentation of line {line + 1}, and quote a text that contains ': '"
    if any(words in problem for words in OF_INDENTATION):
        return f"check the indentation of line {line + 1} and of the lines above it"
    return ""


class _Builder:
    """The construction of a document's value. It counts values while it reads them, those of aliases at each
    use, because a few lines can name billions."""

    def __init__(self, text: str) -> None:
        self._next = _LOADER(text).get_event
        self._anchors: dict[str, tuple[Any, int, int]] = {}
        """The value of each anchor, the number of values in it, and the levels of its nested collections."""
        self._count = 0
        self._depth = 0
        self._deepest = 0
        """The deepest level since the beginning of the innermost value with an anchor."""

    def document(self) -> Any:
        self._next()
        if isinstance(self._next(), yaml.StreamEndEvent):
            return None
        value = self._value(self._next())
        self._next()
        after = self._next()
        if not isinstance(after, yaml.StreamEndEvent):
            raise Refused(after.start_mark.line + 1, "a second document", "one YAML document")
        return value

    def _value(self, event: Any) -> Any:
        self._add(1, event)
        if isinstance(event, yaml.AliasEvent):
            return self._named(event)
        if event.anchor is None:
            return self._unnamed(event)
        before, deepest = self._count, self._deepest
        self._deepest = self._depth
        value = self._unnamed(event)
        self._anchors[event.anchor] = value, self._count - before + 1, self._deepest - self._depth
        self._deepest = max(deepest, self._deepest)
        return value

    def _unnamed(self, event: Any) -> Any:
        return _scalar(event) if isinstance(event, yaml.ScalarEvent) else self._collection(event)

    def _add(self, values: int, event: Any) -> None:
        self._count += values
        if self._count > MOST_VALUES:
            what = f"the alias *{event.anchor}" if isinstance(event, yaml.AliasEvent) else "too many values"
            expected = f"up to {MOST_VALUES} values, including those of aliases"
            raise Refused(event.start_mark.line + 1, what, expected)

    def _named(self, event: Any) -> Any:
        if event.anchor not in self._anchors:
            expected = "an alias of a value that ends before it"
            raise Refused(event.start_mark.line + 1, f"the alias *{event.anchor}", expected)
        value, size, levels = self._anchors[event.anchor]
        self._add(size - 1, event)
        self._reach(self._depth + levels, event)
        return value

    def _reach(self, depth: int, event: Any) -> None:
        self._deepest = max(self._deepest, depth)
        if depth > MOST_DEPTH:
            expected = f"up to {MOST_DEPTH} levels, including those of aliases"
            raise Refused(event.start_mark.line + 1, "values nested too deeply", expected)

    def _collection(self, event: Any) -> Any:
        self._depth += 1
        self._reach(self._depth, event)
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        if event.tag not in (None, "!", CORE + ("map" if is_mapping else "seq")):
            raise _tagged(event)
        value = self._fields() if is_mapping else self._items()
        self._depth -= 1
        return value

    def _items(self) -> Items:
        items = Items()
        items.lines = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            items.lines.append(event.start_mark.line)
            items.append(self._value(event))
        return items

    def _fields(self) -> Fields:
        fields, merged = Fields(), []
        fields.lines = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            line = event.start_mark.line
            key = self._value(event)
            if isinstance(key, dict | list):
                raise Refused(line + 1, "a key of several values", "keys of one value each")
            name = str(key)
            value_event = self._next()
            value = self._value(value_event)
            if name == "<<" and getattr(event, "implicit", (False,))[0]:
                merged += _mappings(value, value_event.start_mark.line + 1)
            elif name in fields:
                raise Refused(line + 1, f"the key {name!r} occurs twice", "each key once")
            else:
                fields[name] = value
                fields.lines[name] = line
        for other in merged:
            for name, value in other.items():
                fields.setdefault(name, value)
        return fields


def _mappings(value: Any, line: int) -> list[Fields]:
    """Returns the mappings that a key `<<` merges into its own."""
    values = value if isinstance(value, Items) else [value]
    if not all(isinstance(each, Fields) for each in values):
        raise Refused(line, "no mapping after <<", "a mapping, or a list of mappings")
    return values


def _tagged(event: Any) -> Refused:
    return Refused(event.start_mark.line + 1, f"the tag {event.tag!r}", "values without tags")


def _scalar(event: Any) -> Any:
    """Returns the value of a scalar by the core schema."""
    text, tag = str(event.value), event.tag
    if tag is None:
        return _plain(text) if event.implicit[0] else text
    if tag in ("!", f"{CORE}str"):
        return text
    value = _plain(text)
    if tag == f"{CORE}float" and type(value) is int:
        return float(value)
    if tag == CORE + {type(None): "null"}.get(type(value), type(value).__name__):
        return value
    raise _tagged(event)


def _plain(text: str) -> Any:
    """Returns the value of a plain scalar. A whole number too large for any setting becomes its hexadecimal
    text, or remains the text if Python refuses to convert so many digits."""
    if text in CONSTANTS:
        return CONSTANTS[text]
    if text[0] not in NUMERIC:
        return text
    if WHOLE.fullmatch(text):
        try:
            number = int(text, BASES.get(text[:2], 10))
        except ValueError:
            return text
        return number if number.bit_length() <= LARGEST_NUMBER_BITS else hex(number)
    return float(text) if FRACTIONAL.fullmatch(text) else text
