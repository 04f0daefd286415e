"""The fields of a study file and of a mesh file, from the models that check them."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Le
from pydantic import BaseModel, Tag, TypeAdapter, ValidationError
from pydantic.fields import FieldInfo

from nettrial import bounds, units
from nettrial.monitor.mesh import Mesh
from nettrial.study import Study, published
from nettrial.study.base import Constant
from nettrial.study.model import Published
from nettrial.study.variates import Imix
from nettrial.topology import graph_file, topology
from reference.markdown import one_line, page, table

QUANTITIES = {
    "rate": (units.Rate, units.RATE.expected),
    "size": (units.Size, f"{units.SIZE.expected}; a bare number is bytes"),
    "duration": (units.Duration, units.DURATION.expected),
    "queue limit": (units.Queue, units.QUEUE_LIMIT_EXPECTED),
    "probability": (units.Probability, units.PROBABILITY_EXPECTED),
}
"""Each quantity's annotation, and its grammar in words."""


def pages() -> dict[str, str]:
    """Returns the pages by the names of their files."""
    parts = [ERRORS, SCHEMA]
    for model in _models(Study):
        if model is Constant:
            parts.append("## Random quantities\n\n" + RANDOM)
        parts.append(f"## {_title(model)}\n\n{one_line(model.__doc__)}")
        parts.append(table(["field", "value", "default", "meaning"], rows_of(model)))
        if model is Published:
            parts += [PUBLISHED, table(["column", "meaning"], _columns())]
    parts += _quantities(list(QUANTITIES))
    parts.append("## Bounds\n\n" + BOUNDS)
    parts.append(
        table(["bound", "most"], [(what, f"{most:,}".replace(",", " ")) for what, most in MOST.items()])
    )
    mesh = [ERRORS]
    for model in _models(Mesh):
        mesh.append(f"## {_title(model)}\n\n{one_line(model.__doc__)}")
        mesh.append(table(["field", "value", "default", "meaning"], rows_of(model)))
    # The probability of a measurement is a percentage.
    mesh += _quantities([name for name in QUANTITIES if name != "probability"])
    return {"study-file.md": page("Study file", *parts), "mesh-file.md": page("Mesh file", *mesh)}


SCHEMA = (
    "Editors with YAML's language server complete and check study files by their [JSON Schema]"
    "(study.schema.json): `nettrial init` writes it beside a new study, whose first line names it. It "
    "has no rules between fields, which `nettrial run --dry-run` checks."
)
ERRORS = (
    "The file is YAML 1.2. Unknown fields are errors. An error names the file, the line, the field, the bad "
    "value and the expected values."
)


def _quantities(names: list[str]) -> list[str]:
    return [
        "## Quantities\n\nA value that is not a whole number of base units is an error.",
        table(["quantity", "expected"], [(name, QUANTITIES[name][1]) for name in names]),
    ]


PUBLISHED = (
    "The file is comma-separated. Its first line names the columns, and each other line has one or more "
    "figures of a treatment, as printed and without a unit. It has a column for each factor, with the "
    "source's levels, and these columns:"
)
"""The text before the columns of a file of published figures."""


def _columns() -> Iterator[tuple[str, str]]:
    """Yields the columns of a file of published figures with their meanings."""
    for name, meaning in published.REQUIRED.items():
        yield f"`{name}`", meaning
    for name, meaning in published.OPTIONAL.items():
        yield f"`{name}`, optional", meaning


RANDOM = (
    "A random quantity is a size or a duration that is drawn anew each time: a `distribution` with its "
    "parameters. A plain value is a constant. With `distribution: file` and a `file` next to the study file, "
    "the values of `listed` are read from that file, one from each line."
)
"""The text on random quantities before their distributions."""


BOUNDS = (
    "A study that exceeds one of these bounds is refused before anything is built, with exit status 2. Files "
    "named in a study file must be regular files; `published.file` and the `file` of a distribution must be "
    "in the study file's directory or below it, after symbolic links are resolved."
)
"""The text before the table of bounds."""
MOST = {
    "bytes of a study file": bounds.MOST_STUDY_BYTES,
    "values in a study file, aliases followed": bounds.MOST_VALUES,
    "lists and mappings within each other": bounds.MOST_DEPTH,
    "bytes of a file with published figures, or with a distribution's values": bounds.MOST_FILE_BYTES,
    "bytes of a file with a graph": graph_file.MOST_BYTES,
    "nodes of such a graph": graph_file.MOST_NODES,
    "links of such a graph": graph_file.MOST_LINKS,
    "switches of a topology": topology.MOST_SWITCHES,
    "hosts of a topology": topology.MOST_HOSTS,
    "flows of a trial": bounds.MOST_FLOWS,
    "sizes of a sweep, times its repeats": bounds.MOST_SIZES,
    "treatments: combinations of the factors' levels": bounds.MOST_TREATMENTS,
    "trials of a run: treatments times replicates, or times `until.maximum`": bounds.MOST_TRIALS,
    "bytes of a scenario or record in a run file, uncompressed": bounds.MOST_DOCUMENT_BYTES,
}
"""The bounds by their descriptions."""


def _title(model: type[BaseModel]) -> str:
    return model.__name__.removesuffix("Settings")


def _models(root: type[BaseModel]) -> list[type[BaseModel]]:
    """Returns a model and the models that its fields contain, breadth first."""
    models = [root]
    for model in models:
        fields = [field.annotation for field in model.model_fields.values() if _is_shown(field)]
        for annotation in [*fields, *_further(model)]:
            for kind in map(_generic, _walk(annotation)):
                if _is_model(kind) and kind not in models:
                    models.append(kind)
    # The distributions last, for each stands for sizes and for durations.
    return sorted(models, key=lambda model: model is Imix or _is_generic(model))


def _further(model: type[BaseModel]) -> list[Any]:
    """Returns the kind of a model's fields that may have any name, if it accepts such fields."""
    if model.model_config.get("extra") != "allow":
        return []
    return [get_args(get_type_hints(model)["__pydantic_extra__"])[1]]


def _is_generic(model: type[BaseModel]) -> bool:
    """Returns whether a model is part of a random quantity, of any kind of quantity."""
    return bool(model.__pydantic_generic_metadata__["parameters"])


def _generic(kind: Any) -> Any:
    """Returns the generic model for a model of a random quantity, and any other model unchanged."""
    return getattr(kind, "__pydantic_generic_metadata__", {}).get("origin") or kind


def _is_shown(field: FieldInfo) -> bool:
    """Returns whether users set a field; nettrial sets others to what it read from a file."""
    return field.repr


def _walk(annotation: Any) -> Iterator[Any]:
    yield annotation
    for part in get_args(annotation):
        yield from _walk(part)


def _is_model(kind: Any) -> bool:
    return inspect.isclass(kind) and issubclass(kind, BaseModel)


def rows_of(model: type[BaseModel]) -> Iterator[tuple[str, ...]]:
    """Yields a row for each field of a model: its name, values, default and meaning."""
    said = docstrings(model)
    for name, field in model.model_fields.items():
        if not _is_shown(field):
            continue
        shown = field.alias or name
        models = [kind for kind in _walk(field.annotation) if _is_model(kind)]
        text = one_line(said.get(name) or (models[0].__doc__ if models else ""))
        yield f"`{shown}`", _kind(_annotation(field)), _default(field), text
    for kind in _further(model):
        yield "NAME", _kind(kind), "none", one_line(said["__pydantic_extra__"])


@cache
def docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Returns the text that follows each field in the source of a model and of its base classes."""
    said: dict[str, str] = {}
    for base in (kind for kind in reversed(model.__mro__) if kind.__module__.startswith("nettrial.")):
        body = _classes(base.__module__)[base.__name__].body
        for field, after in pairwise(body):
            match field, after:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    said[name] = text
    return said


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """Returns the classes in the source of a module, by their names."""
    body = ast.parse(inspect.getsource(sys.modules[module])).body
    return {node.name: node for node in body if isinstance(node, ast.ClassDef)}


def _annotation(field: FieldInfo) -> Any:
    return Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation


def _kind(annotation: Any) -> str:
    """Returns the values of a field, in words."""
    if any(isinstance(part, Tag) for part in getattr(annotation, "__metadata__", ())):
        bare, *others = get_args(annotation)
        others = [part for part in others if not isinstance(part, Tag)]
        annotation = Annotated[bare, *others] if others else bare
    for name, (quantity, _) in QUANTITIES.items():
        if annotation == quantity:
            return f"[{name}](#quantities)"
    if isinstance(annotation, TypeVar):
        return "the quantity"
    bare, *metadata = get_args(annotation) if get_origin(annotation) is Annotated else [annotation]
    parts = get_args(bare)
    if Constant[units.Size] in parts or Constant[units.Duration] in parts:
        quantity = "size" if Constant[units.Size] in parts else "duration"
        return f"[random {quantity}](#random-quantities)"
    bare = _generic(bare)
    if _is_model(bare):
        return f"[{_title(bare)}](#{_title(bare).lower()})"
    if get_origin(bare) in (Union, UnionType):
        return " or ".join(_kind(part) for part in parts if part is not type(None))
    if get_origin(bare) is Literal:
        return " or ".join(f"`{value}`" for value in parts)
    if get_origin(bare) is list:
        return f"list of {_kind(parts[0])}"
    if get_origin(bare) is dict:
        return f"by name: {_kind(parts[1])}"
    if bare is bool:
        return "`true` or `false`"
    if bare is float:
        return "number"
    if bare is int:
        return "whole number" + _bounds(metadata)
    if bare is Any:
        return "as the topology says"
    return _expected(annotation) or "text"


def _bounds(metadata: list[Any]) -> str:
    """Returns the bounds of a number, in words."""
    limits = [part for entry in metadata for part in getattr(entry, "metadata", [entry])]
    least = next((limit.ge for limit in limits if isinstance(limit, Ge)), None)
    most = next((limit.le for limit in limits if isinstance(limit, Le)), None)
    if least is None:
        return ""
    return f", {least} to {most}" if most is not None and most < 2**63 - 1 else f", {least} or more"


def _expected(annotation: Any) -> str:
    """Returns the expected values as in the field's own error message; empty if it has none."""
    for bad in (object(), "?"):
        try:
            TypeAdapter(annotation).validate_python(bad)
        except ValidationError as error:
            if expected := error.errors()[0].get("ctx", {}).get("expected"):
                return str(expected)
    return ""


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    if isinstance(field.default, BaseModel):
        return "its defaults"
    if isinstance(field.default, bool):
        return f"`{str(field.default).lower()}`"
    if isinstance(field.default, units.Fraction):
        return f"`{field.default.print()}`"
    return f"`{field.default}`" if isinstance(field.default, str | int | float) else "none"
