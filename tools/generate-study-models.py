#!/usr/bin/env python3
"""Writes the models that studies share with scenarios: reads the engine's JSON Schema from standard input and
prints the module nettrial/study/base.py, unformatted. Models of studies that differ extend these."""

from __future__ import annotations

import json
import sys
import textwrap
from typing import Any

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
    types = json.load(sys.stdin)["$defs"]
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
    print("\n\n".join(parts))


def _model(name: str, kind: Schema, bases: str, duration: str) -> str:
    """Returns a class; `duration` is the text for the type of that name."""
    lines = [f"class {name}({bases}):", _doc(kind, 4), ""]
    for field, described in sorted(kind["properties"].items(), key=lambda item: "const" not in item[1]):
        if "const" in described:
            described = {**described, "description": f"Says which {field} it is."}
        annotation, default = _field(described, field in kind.get("required", ()), duration)
        lines += [f"    {field}: {annotation}{default}", _doc(described, 4)]
    return "\n".join(lines)


def _doc(described: Schema, indent: int) -> str:
    text = " ".join(described["description"].split())
    margin = " " * indent
    return textwrap.indent("\n".join(textwrap.wrap(f'"""{text}"""', 106 - indent)), margin)


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
    name = {"string": "str", "boolean": "bool", "integer": "int", "number": "float"}[kinds[0]]
    limits = ", ".join(
        f"{short}={described[word]:.15g}"
        for short, word in (("ge", "minimum"), ("le", "maximum"))
        if word in described
    )
    return f"Annotated[{name}, Field({limits})]" if limits else name


if __name__ == "__main__":
    main()
