#!/usr/bin/env python3
"""Writes models from the engine's JSON Schema, which it reads from standard input, as a module, unformatted:

    engine schema        | generate-models.py study     nettrial/study/base.py
    engine schema        | generate-models.py scenario  nettrial/scenario.py
    engine schema --path | generate-models.py path SCHEMA-OF-SCENARIO  nettrial/path_report.py

Models of studies that differ extend those of the first. The others have a class for each type of the schema.
Their fields are in alphabetical order, as the columns of exported tables are."""

from __future__ import annotations

import json
import sys
import textwrap
from keyword import iskeyword
from pathlib import Path
from typing import Any, NamedTuple

Schema = dict[str, Any]

HEADER = '''"""The fields that studies and scenarios share: generated from the engine's JSON Schema.

Made by `make generate`; never edited by hand. The types are described in engine/scenario.
"""

from __future__ import annotations

from typing import Annotated, Generic, Literal

from pydantic import Field

from nettrial.fields import Strict
from nettrial.study.variates import Imix, Value, variate
from nettrial.units import DURATION, SIZE, Duration, Fraction, Probability, Queue, Rate, Size'''
SCENARIO_HEADER = '''"""The scenario, the record, and the requests and events: from the engine's JSON Schema.

Made by `make generate`; never edited by hand. The types are described in engine/scenario.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Generic, Literal, TypeVar

from pydantic import ConfigDict, Field

from nettrial.fields import Generated, GeneratedRoot

Value = TypeVar("Value")
"""The kind of a random quantity's values."""'''
PATH_HEADER = '''"""The request for an examination of a path, and its answer: from the engine's JSON Schema.

Made by `make generate`; never edited by hand. The types are described in engine/path.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from nettrial.fields import Generated, GeneratedRoot'''
PLAIN = {"string": "str", "boolean": "bool", "integer": "int", "number": "float"}
"""The types of values that are neither objects nor lists."""
CHOICES = (
    "Answer",
    "Band",
    "Connecting",
    "ControllerApplication",
    "ControllerMode",
    "FrameErrors",
    "QueueDrops",
    "RateControl",
    "Scheduler",
    "ToolName",
    "Transport",
    "Tunnel",
    "WlanDiscipline",
    "WlanMode",
    "WlanStandard",
)
"""The types that are one of a few words."""
MODELS = (
    "Offloads",
    "LossBursts",
    "Impairment",
    "GuestHardware",
    "HostCost",
    "SocketOptions",
    "Measurement",
    "Outage",
    "Controller",
    "WlanStation",
    "Wlan",
)
VARIATES = {
    "SizeVariate": ("Size", " | Imix", '(*DISTRIBUTIONS, "imix")'),
    "DurationVariate": ("Duration", "", "DISTRIBUTIONS"),
}
"""The random quantities: the type of the values, the study's additional model, and the names of all
distributions."""
UNIONS = ("Discipline", "Traffic")
"""The unions of models, which a word in each model distinguishes."""
PROBABILITY = "Probability"
"""The type of numbers whose `x-quantity` is a probability."""
NAMES = {
    **{name: name for name in (*CHOICES, *MODELS, *VARIATES, "OnOff", "Rate", "Size")},
    "Duration": "Value",
    "QueueLimit": "Queue",
    "DurationTruncation": "Truncation[Value]",
    "DurationShare": "Share[Value]",
}


def main() -> None:
    """Prints the module."""
    kind, schema = sys.argv[1], json.load(sys.stdin)
    if kind == "study":
        print("\n\n".join(_study(schema["$defs"])))
    elif kind == "scenario":
        print("\n\n".join([SCENARIO_HEADER, *_documents(schema, {})]))
    else:
        known = json.loads(Path(sys.argv[2]).read_text())["$defs"]
        print("\n\n".join(_path(schema, known)))


def _study(types: Schema) -> list[str]:
    """Returns the parts of the module of studies."""
    parts = [HEADER]
    for name in CHOICES:
        words = [each["const"] for each in types[name]["oneOf"]]
        parts.append(f"{name} = Literal{words}\n{_doc(types[name], 0)}")
    generic = {"DurationTruncation": "Truncation", "DurationShare": "Share"}
    for name, shown in generic.items():
        parts.append(_model(shown, types[name], "Strict, Generic[Value]", "Value"))
    distributions = types["DurationVariate"]["oneOf"]
    for each in distributions:
        parts.append(_model(each["title"], each, "Strict, Generic[Value]", "Value"))
    names = tuple(each["properties"]["distribution"]["const"] for each in distributions)
    parts.append(f'DISTRIBUTIONS = {names}\n"""The names of the distributions."""')
    for name, (drawn, further, names_of_all) in VARIATES.items():
        members = " | ".join(f"{each['title']}[{drawn}]" for each in distributions) + further
        reader = f"variate({drawn.upper()}, {names_of_all})"
        tag = 'Field(discriminator="distribution")'
        parts.append(f"{name} = Annotated[{members}, {tag}, {reader}]\n{_doc(types[name], 0)}")
    for name in (*MODELS, "OnOff"):
        parts.append(_model(name, types[name], "Strict", "Duration"))
    for name in UNIONS:
        for each in types[name]["oneOf"]:
            parts.append(_model(each["title"].removesuffix(name), each, "Strict", "Duration"))
    return parts


def _path(schema: Schema, known: Schema) -> list[str]:
    """Returns the parts of the module of path reports. Types that the scenario has, too, are imported."""
    shared = {name: kind for name, kind in schema["$defs"].items() if known.get(name) == kind}
    imports = [f"from nettrial.scenario import {name} as {name}" for name in sorted(shared)]
    return ["\n".join([PATH_HEADER, *imports]), *_documents(schema, shared)]


def _documents(schema: Schema, shared: Schema) -> list[str]:
    """Returns the classes of all types of a schema that are not shared with another module, and of its root.
    Each follows those that it uses: `Warning` would otherwise be Python's."""
    types = schema["$defs"]
    of_values = _generic(types)
    parts = [_document(name, kind, "Generated, Generic[Value]", of_values) for name, kind in of_values.models]
    written = set(shared)

    def write(name: str) -> None:
        if name in written:
            return
        written.add(name)
        for other in sorted(_references(types[name])):
            write(other)
        if name in of_values.names:
            parts.append(f"{name} = {of_values.names[name]}\n{_doc(types[name], 0)}")
        else:
            parts.extend(_type(name, types[name], of_values))

    for name in sorted(types):
        write(name)
    return [*parts, _document(schema["title"], schema, "Generated", of_values)]


def _references(node: Any) -> set[str]:
    """Returns the types that a part of a schema refers to."""
    if isinstance(node, dict):
        own = {node["$ref"].rsplit("/", 1)[1]} if "$ref" in node else set()
        return own.union(*map(_references, node.values()))
    return set().union(*map(_references, node)) if isinstance(node, list) else set()


def _type(name: str, kind: Schema, of_values: _Generic) -> list[str]:
    """Returns the class of a type, after those of the members of a union."""
    if kind.get("type") == "object":
        return [_document(name, kind, "Generated", of_values)]
    if "pattern" in kind:
        pattern = json.dumps(kind["pattern"])
        return [_root(name, "str", kind) + f"\n\n    root: Annotated[str, Field(pattern={pattern})]"]
    if "oneOf" not in kind:
        return [_root(name, f"Literal{kind['enum']}" if "enum" in kind else PLAIN[kind["type"]], kind)]
    members = kind["oneOf"]
    if all("const" in each for each in members):
        return [_root(name, f"Literal{[each['const'] for each in members]}", kind)]
    if name in VARIATES:
        return [_root(name, " | ".join(f"{each['title']}[{VARIATES[name][0]}]" for each in members), kind)]
    classes = [_document(each["title"], each, "Generated", of_values) for each in members]
    return [*classes, _root(name, " | ".join(each["title"] for each in members), kind)]


class _Generic(NamedTuple):
    """Types that differ in the kind of their values alone."""

    models: list[tuple[str, Schema]]
    """The generic models, with the schema of one of the types."""
    names: dict[str, str]
    """The generic model with its argument for each type of the schema."""


def _generic(types: Schema) -> _Generic:
    """Returns the types of random quantities of which a schema has one for each kind of value."""
    if not VARIATES.keys() <= types.keys():
        return _Generic([], {})
    generic = {"Truncation": "DurationTruncation", "Share": "DurationShare"}
    models = [(name, types[of]) for name, of in generic.items()]
    models += [(each["title"], each) for each in types["DurationVariate"]["oneOf"]]
    names = {f"{kind}{name}": f"{name}[{kind}]" for name in generic for kind in ("Duration", "Size")}
    return _Generic(models, names)


def _root(name: str, values: str, kind: Schema) -> str:
    """Returns the class of a value that is no object."""
    return f"class {name}(GeneratedRoot[{values}]):\n{_doc(kind, 4)}"


def _document(name: str, kind: Schema, bases: str, of_values: _Generic) -> str:
    """Returns the class of an object in a document."""
    lines = [f"class {name}({bases}):"]
    if "description" in kind:
        lines += [_doc(kind, 4), ""]
    if kind.get("additionalProperties") is False:
        lines.append('    model_config = ConfigDict(extra="forbid")')
    generic = "Generic" in bases
    for field, described in sorted(kind.get("properties", {}).items()):
        required = field in kind.get("required", ())
        annotation, default = _document_field(field, described, required, of_values)
        if generic:
            annotation = annotation.replace("[Duration]", "[Value]").replace("Duration", "Value")
        name = f"{field}_" if iskeyword(field) else field
        lines.append(f"    {name}: {annotation}{default}")
        if "description" in described:
            lines.append(_doc(described, 4))
        if "x-limit" in described:
            limit = described["x-limit"]
            lines.append(f"    MOST_{field.upper()}: ClassVar[{type(limit).__name__}] = {limit}")
            lines.append(_doc({"description": f"The largest `{field}` that disturbs no trial."}, 4))
    return "\n".join(lines)


def _document_field(field: str, described: Schema, required: bool, of_values: _Generic) -> tuple[str, str]:
    """Returns a field's annotation, and its default with an equals sign."""
    if "const" in described:
        return f"Literal[{described['const']!r}]", f" = {described['const']!r}"
    annotation, limits = _value(described, of_values), _limits(described)
    if iskeyword(field):
        limits.append(f'alias="{field}"')
    if required:
        return _annotated(annotation, limits), ""
    if not annotation.endswith(" | None"):
        annotation += " | None"
    if "default" not in described:
        return _annotated(annotation, limits), " = None"
    default = described["default"]
    is_plain = not {"$ref", "anyOf"} & described.keys() and described["type"] != "array"
    if default is not None and not is_plain:
        limits.append("validate_default=True")
    return _annotated(annotation, limits), f" = {default!r}"


def _annotated(annotation: str, limits: list[str]) -> str:
    return f"Annotated[{annotation}, Field({', '.join(limits)})]" if limits else annotation


def _limits(described: Schema) -> list[str]:
    return [
        f"{short}={described[word]:.15g}"
        for short, word in (("ge", "minimum"), ("le", "maximum"))
        if word in described
    ]


def _value(described: Schema, of_values: _Generic) -> str:
    """Returns the annotation of a value, without its limits."""
    if "$ref" in described:
        name = described["$ref"].rsplit("/", 1)[1]
        return of_values.names.get(name, name)
    if "anyOf" in described:
        (inner,) = (each for each in described["anyOf"] if each != {"type": "null"})
        return f"{_value(inner, of_values)} | None"
    kinds = described["type"] if isinstance(described["type"], list) else [described["type"]]
    if kinds[0] == "array":
        items = described["items"]
        text = f"list[{_annotated(_value(items, of_values), _limits(items))}]"
    elif kinds[0] == "object":
        values = described["additionalProperties"]
        text = f"dict[str, {_annotated(_value(values, of_values), _limits(values))}]"
    else:
        text = PLAIN[kinds[0]]
    return f"{text} | None" if "null" in kinds else text


def _model(name: str, kind: Schema, bases: str, duration: str) -> str:
    """Returns a class; `duration` is the text for the type of that name."""
    lines = [f"class {name}({bases}):", _doc(kind, 4), ""]
    for field, described in sorted(kind["properties"].items(), key=lambda item: "const" not in item[1]):
        if "const" in described:
            described = {**described, "description": f"The {field}'s name."}
        annotation, default = _field(described, field in kind.get("required", ()), duration)
        lines += [f"    {field}: {annotation}{default}", _doc(described, 4)]
    return "\n".join(lines)


def _doc(described: Schema, indent: int) -> str:
    text = " ".join(described["description"].split())
    margin = " " * indent
    return textwrap.indent(
        "\n".join(textwrap.wrap(f'"""{text}"""', 106 - indent, break_on_hyphens=False)), margin
    )


def _field(described: Schema, required: bool, duration: str) -> tuple[str, str]:
    """Returns a field's annotation, and its default with an equals sign. The schema lacks defaults that the
    engine omits from its documents; these are false, an empty list or mapping, or None."""
    annotation = _annotation(described, duration)
    if required:
        return annotation, ""
    if "default" in described:
        default = repr(described["default"])
        # A study that is read again has its defaults, of which 1 must not look like a forgotten unit.
        return annotation, f" = Fraction({default})" if annotation == PROBABILITY else f" = {default}"
    for kind, default in (("boolean", "False"), ("array", "[]"), ("object", "{}")):
        if described.get("type") == kind:
            return annotation, f" = {default}"
    return f"{annotation} | None", " = None"


def _annotation(described: Schema, duration: str) -> str:
    if "$ref" in described:
        name = NAMES[described["$ref"].rsplit("/", 1)[1]]
        return duration if name == "Value" else name
    if "anyOf" in described:
        return _annotation(described["anyOf"][0], duration)
    if "const" in described:
        return f"Literal[{described['const']!r}]"
    if described.get("x-quantity") == "probability":
        return PROBABILITY
    kinds = described["type"] if isinstance(described["type"], list) else [described["type"]]
    if kinds[0] == "array":
        return f"list[{_annotation(described['items'], duration)}]"
    if kinds[0] == "object":
        return f"dict[str, {_annotation(described['additionalProperties'], duration)}]"
    name = PLAIN[kinds[0]]
    return _annotated(name, _limits(described))


if __name__ == "__main__":
    main()
