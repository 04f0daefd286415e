"""The pages on the engine's documents, from its JSON Schema."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic.json_schema import models_json_schema

from nettrial.cli.documents.kinds import DOCUMENTS
from reference.markdown import one_line, page, table

Schema = dict[str, Any]

SECTIONS = {"Scenario": ["Scenario"], "Record": ["Record"], "Requests and events": ["Request", "Event"]}
PATH_SECTIONS = {"PathReport": ["PathReport"], "Request and answer": ["PathRequest", "PathAnswer"]}
"""The root types of each section. A type is described in the first section that needs it."""


def pages(schema: Schema) -> dict[str, str]:
    """Returns the page by the name of its file."""
    intro = (
        "The documents on the engine's standard input and output, one JSON document in each line. "
        "`nettrial-engine schema` prints their JSON Schema. Unknown fields are errors."
    )
    return {"documents.md": page("Scenario and record", intro, *_sections(schema, SECTIONS))}


def path_pages(schema: Schema) -> dict[str, str]:
    """Returns the same for the examination of a path."""
    intro = (
        "`nettrial path --json` prints a PathReport. `nettrial-engine path` reads a request and writes an "
        "answer, each a JSON document in one line; `nettrial-engine schema --path` prints their JSON Schema."
    )
    return {"path-report.md": page("Path report", intro, *_sections(schema, PATH_SECTIONS))}


def json_pages() -> dict[str, str]:
    """Returns the same for the output of commands with `--json`."""
    intro = (
        "With `--json`, a command prints one document on standard output. `document` is its kind, and "
        "`format` is the version of its format, which increases if a field is removed or changes its "
        "meaning, but not if a field is added. `run` prints the same ReportDocument as `report`, however the "
        "run ended, and a DesignDocument with `--dry-run`. `path` prints a [path report](path-report.md)."
    )
    _, schema = models_json_schema([(kind, "serialization") for kind in DOCUMENTS], by_alias=True)
    sections = {kind.__name__: [kind.__name__] for kind in DOCUMENTS}
    return {"json.md": page("JSON output", intro, *_sections(schema, sections))}


def _sections(schema: Schema, sections: dict[str, list[str]]) -> Iterator[str]:
    described: set[str] = set()
    for section, roots in sections.items():
        yield f"## {section}"
        for name in _reachable(schema["$defs"], roots):
            if name not in described:
                if name != section:
                    yield f"### {name}"
                yield from _type(schema["$defs"][name])
        described.update(_reachable(schema["$defs"], roots))


def _reachable(definitions: Schema, roots: list[str]) -> list[str]:
    """Returns the names of types and of the types that they contain, breadth first."""
    names = list(roots)
    for name in names:
        references = re.findall(r'"#/\$defs/(\w+)"', json.dumps(definitions[name]))
        names.extend(other for other in dict.fromkeys(references) if other not in names)
    return names


def _type(kind: Schema) -> Iterator[str]:
    yield one_line(kind.get("description"))
    if "properties" in kind:
        yield _fields(kind)
    if "pattern" in kind:
        yield f"Text that matches `{kind['pattern']}`."
    if "enum" in kind:
        yield f"One of {', '.join(f'`{value}`' for value in kind['enum'])}."
    variants = kind.get("oneOf", [])
    if variants and "const" in variants[0]:
        yield "\n".join(f"- `{each['const']}`: {one_line(each['description'])}" for each in variants)
    else:
        for variant in variants:
            yield f"**{variant['title']}**: {one_line(variant['description'])}"
            yield _fields(variant)


def _fields(kind: Schema) -> str:
    required, properties = kind.get("required", []), kind["properties"]
    order = [*required, *(name for name in properties if name not in required)]
    rows = [
        (
            f"`{name}`",
            _field_type(properties[name]),
            "required" if name in required else _default(properties[name]),
            one_line(properties[name].get("description")),
        )
        for name in order
    ]
    return table(["field", "type", "default", "meaning"], rows)


def _default(field: Schema) -> str:
    default = field.get("default")
    return "none" if default in (None, [], {}) else f"`{json.dumps(default)}`"


def _field_type(field: Schema) -> str:
    if "$ref" in field:
        name = field["$ref"].rsplit("/", 1)[1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in field:
        return " or ".join(_field_type(part) for part in field["anyOf"] if part.get("type") != "null")
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return " or ".join(f"`{value}`" for value in field["enum"])
    kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
    kind = next(part for part in kinds if part != "null")
    if kind == "array":
        return f"{'2' if field.get('maxItems') == 2 else 'list'} of {_field_type(field['items'])}"
    if kind == "object":
        values = field["additionalProperties"]
        return "object" if values is True else f"by name: {_field_type(values)}"
    return {"string": "text", "boolean": "true or false", "integer": "whole number"}.get(kind, kind)
