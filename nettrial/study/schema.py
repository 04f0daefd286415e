"""The JSON Schema of study files, with which editors complete and check them."""

from __future__ import annotations

import warnings
from typing import Any

from pydantic.json_schema import PydanticJsonSchemaWarning

from nettrial.study.model import Study

SHORT: dict[str, list[dict[str, Any]]] = {
    "discipline": [{"type": "string"}],
    "distribution": [
        {"type": ["string", "integer"]},
        {
            "type": "object",
            "properties": {"distribution": {"const": "file"}, "file": {"type": "string"}},
            "required": ["distribution", "file"],
            "additionalProperties": False,
        },
    ],
}
"""The short notations of values with variants, by the field that names the variant."""


def study_schema() -> dict[str, Any]:
    """Returns the JSON Schema (2020-12) of study files. It describes fields, and not the rules between them,
    which `nettrial run --dry-run` checks."""
    with warnings.catch_warnings():
        # Defaults that are fractions have no form in JSON, and are left out.
        warnings.simplefilter("ignore", PydanticJsonSchemaWarning)
        schema = Study.model_json_schema(by_alias=True)
    described: dict[str, Any] = _with_short_notations(schema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}


def _with_short_notations(part: Any) -> Any:
    """Returns a part of a schema that also accepts the short notations of values with variants."""
    if isinstance(part, list):
        return [_with_short_notations(each) for each in part]
    if not isinstance(part, dict):
        return part
    whole = {name: _with_short_notations(each) for name, each in part.items()}
    discriminator = part.get("discriminator")
    named = discriminator.get("propertyName") if isinstance(discriminator, dict) else None
    if named not in SHORT or "oneOf" not in whole:
        return whole
    variants = {name: whole.pop(name) for name in ("oneOf", "discriminator")}
    return {**whole, "anyOf": [variants, *SHORT[named]]}
