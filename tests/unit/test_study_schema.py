"""The JSON Schema of study files, by which editors complete and check them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml

from nettrial.cli import init
from nettrial.study import examples, load, shipped
from nettrial.study.schema import study_schema

SCHEMA = study_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("name", [*shipped(), *examples()])
def test_every_shipped_study_agrees_with_it(name: str) -> None:
    path = load(name).document.path
    assert path is not None
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert [error.message for error in VALIDATOR.iter_errors(content)] == []


@pytest.mark.parametrize(
    ("at", "value", "said"),
    [
        (("network",), {"topology": "pair", "rat": "1 Mbit/s"}, "'rat' was unexpected"),
        (("replicates",), 0, "0 is less than the minimum of 1"),
        (("workload",), [], "[] should be non-empty"),
        (("factors",), {"mtu": {"title": "MTU", "sets": "network.mtu"}}, "'levels' is a required property"),
    ],
)
def test_faults_are_found(at: tuple[str], value: object, said: str) -> None:
    content = yaml.safe_load(init.TEMPLATE.read_text(encoding="utf-8"))
    assert VALIDATOR.is_valid(content)
    content[at[0]] = value
    assert any(said in message for message in messages(VALIDATOR.iter_errors(content)))


def messages(errors: Any) -> Iterator[str]:
    """Yields the messages of errors and of the errors that cause them."""
    for error in errors:
        yield error.message
        yield from messages(error.context)


def offered(*path: str) -> set[str]:
    """Returns the fields that an editor offers at a path, where a number is any entry of a list."""
    places = [SCHEMA]
    for step in path:
        places = [
            place[key] if step == "*" else place[key][step]
            for place in map(dict, expanded(places))
            for key in (["items"] if step == "*" else ["properties"])
            if key in place and (step == "*" or step in place[key])
        ]
    return {field for place in expanded(places) for field in place.get("properties", {})}


def expanded(places: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yields places with the definitions and the alternatives to which they refer."""
    for place in places:
        if "$ref" in place:
            yield from expanded([SCHEMA["$defs"][place["$ref"].removeprefix("#/$defs/")]])
        yield place
        yield from expanded([*place.get("anyOf", []), *place.get("oneOf", [])])


def test_an_editor_offers_the_fields_of_each_place() -> None:
    assert {"network", "hosts", "workload", "factors", "responses"} <= offered()
    assert {"topology", "rate", "delay", "queue", "mtu"} <= offered("network")
    assert {"kind", "duration", "size", "interval"} <= offered("workload", "*", "traffic")
    assert {"metric", "of", "unit", "precision"} <= offered("responses", "*")


def test_a_new_study_has_the_schema_beside_it(tmp_path: Any) -> None:
    init.write(tmp_path / "mine")
    first = (tmp_path / "mine" / "study.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first == "# yaml-language-server: $schema=study.schema.json"
    assert json.loads((tmp_path / "mine" / "study.schema.json").read_text(encoding="utf-8")) == SCHEMA
