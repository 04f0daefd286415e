"""The base of all models of user input, which refuse unknown fields and whose errors contain the expected
values."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    RootModel,
    ValidationError,
    model_validator,
)
from pydantic_core import PydanticCustomError

from nettrial.registry import Registry, UnknownName, near
from nettrial.units import Fraction

Entry = TypeVar("Entry")

UNKNOWN_FIELD = "unknown field"
"""The message about a field that does not exist."""
MISSING = "missing"
"""The message about a required field that was not given."""
LONGEST_VALUE_SHOWN = 60
"""The largest number of characters of a bad value that a message shows."""


def wrong(
    at: tuple[str | int, ...] = (), value: str | None = None, expected: str = "", hint: str = ""
) -> PydanticCustomError:
    """Returns a validator's error: the value at the path `at` within the validated data is `value` (None: the
    value that is there) instead of `expected`."""
    context = {"at": at, "value": value, "expected": expected, "hint": hint}
    return PydanticCustomError("wrong", "not allowed here", context)


@dataclass(frozen=True)
class Wrong:
    """A fault that pydantic found in a value."""

    place: tuple[str | int, ...]
    """The path to the value."""
    value: str
    """The value, as text."""
    expected: str
    """The expected values, in words."""
    hint: str
    """The reason, and the remedy."""

    @property
    def unknown_field(self) -> bool:
        """Returns whether the fault is an unknown field rather than a bad value."""
        return self.value == UNKNOWN_FIELD

    @classmethod
    def of_custom(cls, error: PydanticCustomError) -> Wrong:
        """Returns the fault of an error from `wrong`."""
        context = error.context or {}
        return cls(context["at"], context["value"] or "", context["expected"], context["hint"])

    @classmethod
    def of(cls, error: ValidationError) -> list[Wrong]:
        """Returns all faults of a validation error, in words for users."""
        faults = []
        for entry in error.errors(include_url=False):
            context = entry.get("ctx", {})
            expected = str(context.get("expected") or context.get("expected_tags") or "")
            value = context.get("value") or _shown(entry["input"])
            if entry["type"] in ("missing", "union_tag_not_found"):
                value = MISSING
            elif entry["type"] == "union_tag_invalid":
                value = repr(context["tag"])
            elif not expected and entry["type"] != "wrong":
                message = entry["msg"].removeprefix("Input should be ").partition(", unable")[0]
                words = PLAIN_WORDS.get(entry["type"])
                expected = words.format(**context) if words else message
            place = (*entry["loc"], *context.get("at", ()))
            # A union's discriminator is the name of a field in quotes, or a function's name.
            if field := re.fullmatch("'(.+)'", context.get("discriminator", "")):
                place = (*place, field[1])
            hint = context.get("hint", "")
            if entry["type"] in ("union_tag_invalid", "literal_error"):
                hint = near(value.strip("'"), re.findall("'([^']+)'", expected))
            faults.append(cls(place, value, expected, hint))
        return faults


PLAIN_WORDS = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing", "finite_number"), "a number, such as 0.5"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "string_type": "a text",
    "list_type": "a list",
    **dict.fromkeys(("dict_type", "model_attributes_type"), "fields with values"),
    "too_short": "{min_length} or more entries",
    "too_long": "at most {max_length} entries",
    "string_too_short": "{min_length} characters or more",
    "string_too_long": "at most {max_length} characters",
}
"""The expected value in words, by pydantic's type of an error that has no better words for it. Names in
braces are those of the error's context."""


def _shown(value: Any) -> str:
    """Returns a bad value as a short text."""
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= LONGEST_VALUE_SHOWN else text[: LONGEST_VALUE_SHOWN - 1] + "…"


class Generated(BaseModel):
    """The base of types generated from the engine's schema.

    pydantic builds their validators on first use: building all of them takes a third of a second, and most
    commands need only a few."""

    model_config = ConfigDict(defer_build=True)


Root = TypeVar("Root")
"""The kind of a value that is no object."""


class GeneratedRoot(RootModel[Root]):
    """The base of generated types of values that are no objects, such as texts and unions."""

    model_config = ConfigDict(defer_build=True)


@contextmanager
def without_collector() -> Iterator[None]:
    """Disables the garbage collector while many documents are made or read: they have no reference cycles,
    and it would scan all documents made so far again and again, which takes longer than making them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Strict(BaseModel):
    """The base of models of user input. An unknown field is an error, which names the known ones."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _only_known_fields(cls, data: Any) -> Any:
        fields = {field.alias or name: field for name, field in cls.model_fields.items()}
        # Users do not set the others: nettrial stores there what it read from a file.
        known = [name for name, field in fields.items() if field.repr]
        if isinstance(data, Mapping):
            for name in data:
                if name not in fields:
                    hint = _inside(cls, str(name)) or near(str(name), known)
                    raise wrong((name,), UNKNOWN_FIELD, ", ".join(known), hint)
        elif not isinstance(data, cls):
            raise wrong(expected=f"fields with values: {', '.join(known)}")
        return data


def _inside(model: type[BaseModel], name: str) -> str:
    """Returns a hint with the field `name` of one of a model's fields, such as `traffic.duration` for the
    `duration` of a flow; empty if none has such a field, or the model has one in other capitals."""
    fields = {field.alias or each: field for each, field in model.model_fields.items() if field.repr}
    if name.lower() not in [each.lower() for each in fields]:
        for outer, field in fields.items():
            for inner in _models_in(field.annotation):
                if name in inner.model_fields:
                    return f"did you mean {f'{outer}.{name}'!r}?"
    return ""


def _models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yields the models that an annotation allows, other than in lists and mappings."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) in (Annotated, Union, UnionType):
        for each in get_args(annotation):
            yield from _models_in(each)


def _name(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_-]+", value):
        raise wrong(expected="letters, digits, - and _")
    return value


MOST_NAMES_SHOWN = 12
"""The number of names up to which an error lists all; of more, it lists the first and the last."""


def in_short(names: Iterable[str]) -> str:
    """Returns names separated by commas; of many, only the first two and the last."""
    listed = list(names)
    if len(listed) > MOST_NAMES_SHOWN:
        return f"{listed[0]}, {listed[1]}, … {listed[-1]} ({len(listed)})"
    return ", ".join(listed)


Name = Annotated[str, AfterValidator(_name)]
"""A name in a study: letters, digits, - and _."""


def _sysctl_value(value: Any) -> Any:
    """Returns a sysctl's value as text, its words separated by single spaces."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return value
    return " ".join(str(value).split())


def _sysctl_name(name: str) -> str:
    """Returns the name of a sysctl; raises an error for another one."""
    if not re.fullmatch(r"net(\.[A-Za-z0-9_-]+)+", name):
        raise wrong(value=name, expected="a sysctl of the network, such as net.ipv4.tcp_rmem")
    return name


SysctlName = Annotated[str, AfterValidator(_sysctl_name)]
"""The name of a sysctl of a network namespace, such as `net.ipv4.tcp_rmem`."""
SysctlValue = Annotated[
    str,
    BeforeValidator(_sysctl_value, json_schema_input_type=str | int),
    Field(pattern=r"^[!-~]+( [!-~]+)*$", max_length=256),
]
"""The value of a sysctl: a number, or words of ASCII."""
SystemName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
"""The name of an operating system for guests: letters, digits, -, _ and ., as in linux-6.12."""


def name_in(registry: Registry[Entry]) -> AfterValidator:
    """Returns a validator for the name of one of the registry's entries."""

    def validate(name: str) -> str:
        try:
            registry[name]
        except UnknownName as unknown:
            raise wrong(value=str(unknown), expected=unknown.expected, hint=unknown.hint) from None
        return name

    return AfterValidator(validate)


def as_text(value: Any) -> str:
    """Returns a level as text, in the form used in plans, tables and the run file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Fraction):
        return value.print()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, int | float | str):
        return str(value)
    raise wrong(expected="a text, a number, true or false")


Level = Annotated[str, BeforeValidator(as_text, json_schema_input_type=str | int | float | bool)]
"""A field with the text of a level, which may be written as a number, true or false."""


def as_value(text: str) -> str | int | float | bool:
    """Returns the value that `as_text` converted to text."""
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,18})?(e-?[0-9]{1,2})?", text) else text
