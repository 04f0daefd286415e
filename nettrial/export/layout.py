"""The tables of a run's records, and their columns. They are derived from the record's types, so that no
figure is left out, and each column has the name of its field.

A nested field has both names (`pacing`, `asked_bps`: `pacing_asked_bps`). For a distribution, the unit stays
at the end (`rtt_us`, `p99`: `rtt_p99_us`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import isclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import polars as pl
from polars.datatypes import DataTypeClass
from pydantic import BaseModel, RootModel

from nettrial.scenario import Distribution, Record

Type: TypeAlias = pl.DataType | DataTypeClass
"""The type of a column."""
_SCALARS: dict[Any, Type] = {int: pl.Int64, float: pl.Float64, str: pl.String, bool: pl.Boolean}
_UNIT = re.compile(r"_(us|ns|bps|bytes|pkts)$")


@dataclass(frozen=True)
class Column:
    """A column of a table of records."""

    name: str
    """The column's name, which ends with the unit."""
    path: tuple[str, ...]
    """The path of fields from a row's entry to the value."""
    kind: Type
    """The type of its values."""
    model: type[BaseModel]
    """The type that contains the last field or, for a figure of a distribution, the distribution."""
    figure: str = ""
    """The name of a distribution's figure."""


@dataclass(frozen=True)
class RecordTable:
    """A table with a row for each entry of one of the record's lists or, without a list, for each record."""

    name: str
    """The table's name, and that of its file."""
    holds: str
    """The content of a row, in words."""
    lists: tuple[str, ...] = ()
    """The field of the list, preceded by that of the list whose entries contain it, if any."""
    names: Mapping[str, str] = field(default_factory=dict)
    """The columns whose names differ from their fields; for entries of the outer list, these are the only
    columns."""
    repeats: tuple[str, ...] = ()
    """The columns whose entries are lists of repeats, which become one row for each repeat."""

    @cached_property
    def model(self) -> type[BaseModel]:
        """The type of a row's entry."""
        model: type[BaseModel] = Record
        for name in self.lists:
            model = _entries(model.model_fields[name].annotation)
        return model

    @cached_property
    def outer(self) -> tuple[Column, ...]:
        """The columns from the entry that contains the list."""
        if len(self.lists) < 2:
            return ()
        model = _entries(Record.model_fields[self.lists[0]].annotation)
        of_entry = {column.name: column for column in columns(model)}
        return tuple(
            replace(of_entry[name], name=shown) for name, shown in self.names.items() if name in of_entry
        )

    @cached_property
    def own(self) -> tuple[Column, ...]:
        """The columns from the row's own entry."""
        renamed = {} if self.outer else self.names
        renamed_columns = [
            replace(column, name=renamed.get(column.name, column.name)) for column in columns(self.model)
        ]
        return tuple(
            sorted(renamed_columns, key=lambda column: column.name not in (*renamed.values(), *FIRST))
        )

    @property
    def needed(self) -> pl.Struct:
        """The part of a record's JSON that the table needs."""
        inner: Type = _struct(self.own)
        if not self.lists:
            return pl.Struct(dict(inner.to_schema()))  # type: ignore[union-attr]
        outer = _struct(self.outer)
        if len(self.lists) == 2:
            assert isinstance(outer, pl.Struct)
            inner = pl.Struct({**dict(outer.to_schema()), self.lists[1]: pl.List(inner)})
        return pl.Struct({self.lists[0]: pl.List(inner)})

    def schema(self) -> dict[str, Type]:
        """The types of the columns, in order."""
        kinds = {column.name: column.kind for column in (*self.outer, *self.own)}
        for name in self.repeats:
            kind = kinds[name]
            assert isinstance(kind, pl.List)
            kinds[name] = kind.inner
        if self.repeats:
            kinds["repeat"] = pl.Int64
        return kinds


FIRST = ("machine", "node", "interface", "at_ns", "size_bytes", "code", "object", "metric", "local", "remote")
"""The columns that identify a row, which precede all others."""
FLOW = {"name": "flow"}
"""The column with the name of a flow."""
END = {"node": "node", "interface": "interface"}
"""The columns with an interface and its node."""
TABLES = {
    table.name: table
    for table in (
        RecordTable("flows", "a flow of a trial", ("flows",), FLOW),
        RecordTable("hosts", "a host of a trial", ("hosts",), {"name": "host"}),
        RecordTable("processors", "a CPU of a trial", ("processors",), {"number": "processor"}),
        RecordTable("disturbances", "what else happened on a machine during a trial", ("disturbances",)),
        RecordTable("links", "an interface of a trial", ("ends",)),
        RecordTable("samples", "a flow's transport at one moment of a trial", ("flows", "intervals"), FLOW),
        RecordTable("subflows", "a subflow of a flow (MPTCP)", ("flows", "subflows"), FLOW),
        RecordTable(
            "sizes",
            "a repeat of a size of a sweep",
            ("flows", "sizes"),
            FLOW,
            ("rtt_us", "rtt_minimum_us", "total_us"),
        ),
        RecordTable("end_samples", "an interface at one moment of a trial", ("ends", "series"), END),
        RecordTable(
            "packet_sizes", "packets of one size that an interface sent", ("ends", "packet_sizes"), END
        ),
        RecordTable("channels", "a radio channel of a trial", ("channels",)),
        RecordTable(
            "stations",
            "a station of a radio channel of a trial",
            ("channels", "stations"),
            {"access_point": "access_point"},
        ),
        RecordTable("events", "a link or node that failed in a trial", ("events",)),
        RecordTable("warnings", "a warning that a trial carries", ("warnings",)),
        RecordTable("absent", "a metric that could not be measured", ("absent",)),
        RecordTable(
            "checks", "a check made before or after a trial's traffic", ("checks",), {"name": "check"}
        ),
        RecordTable(
            "congestion",
            "one of nettrial's own congestion controls, and the number of calls to it",
            ("congestion",),
            {"name": "congestion_control"},
        ),
    )
}
"""The tables of records other than that of trials."""
TRIAL = RecordTable("trials", "a trial of the plan")
"""The columns of the table of trials that come from records."""


def columns(model: type[BaseModel]) -> list[Column]:
    """Returns the columns of a type of the record: its plain fields and those of its parts. Lists of parts
    are separate tables."""
    walked = list(_walk(model, ()))
    times = Counter(column.name for column in walked)
    # two distributions of one name in different units have a count each
    return [
        column if times[column.name] == 1 else replace(column, name="_".join(column.path))
        for column in walked
    ]


def _walk(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[Column]:
    for name, described in model.model_fields.items():
        kind = _bare(described.annotation)
        here = (*path, described.alias or name)
        if kind is Distribution:
            yield from (_of_distribution(here, column, model) for column in columns(Distribution))
        elif isclass(kind) and issubclass(kind, BaseModel):
            yield from _walk(kind, here)
        else:
            plain = _type(kind)
            if plain is not None:
                yield Column("_".join(here), here, plain, model)


def _of_distribution(path: tuple[str, ...], column: Column, model: type[BaseModel]) -> Column:
    """Returns the column of a distribution's figure, with the unit at the end, except for the count."""
    name = "_".join(path)
    unit = _UNIT.search(name)
    stem = name[: unit.start()] if unit else name
    end = unit[0] if unit and column.name != "count" else ""
    name = f"{stem}_{column.name}{end}"
    return Column(name, (*path, *column.path), column.kind, model, column.name)


def _bare(annotation: Any) -> Any:
    """Returns an annotation without None, metadata and type aliases."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _bare(get_args(annotation)[0])
    if origin in (Union, UnionType):
        (kind,) = (part for part in get_args(annotation) if part is not NoneType)
        return _bare(kind)
    if isclass(annotation) and issubclass(annotation, RootModel):
        return _bare(annotation.model_fields["root"].annotation)
    return annotation


def _type(kind: Any) -> Type | None:
    """Returns the type of a column; None for a list of parts."""
    if get_origin(kind) is Literal:
        return _SCALARS[type(get_args(kind)[0])]
    if get_origin(kind) is list:
        inner = _SCALARS.get(_bare(get_args(kind)[0]))
        return pl.List(inner) if inner else None
    return _SCALARS[kind]


def _entries(annotation: Any) -> type[BaseModel]:
    """Returns the type of a list's entries."""
    model: type[BaseModel] = get_args(_bare(annotation))[0]
    return model


def _struct(members: tuple[Column, ...]) -> pl.Struct:
    """Returns the fields that lead to columns as a type for parsing JSON."""
    tree: dict[str, Any] = {}
    for column in members:
        at = tree
        for name in column.path[:-1]:
            at = at.setdefault(name, {})
        at[column.path[-1]] = column.kind
    return _as_struct(tree)


def _as_struct(tree: dict[str, Any]) -> pl.Struct:
    return pl.Struct(
        {name: _as_struct(kind) if isinstance(kind, dict) else kind for name, kind in tree.items()}
    )


def merged(structs: Iterable[pl.Struct]) -> pl.Struct:
    """Returns a type with the fields of all of these."""
    fields: dict[str, Any] = {}
    for struct in structs:
        for name, kind in struct.to_schema().items():
            fields[name] = _merged(fields[name], kind) if name in fields else kind
    return pl.Struct(fields)


def _merged(one: Any, other: Any) -> Any:
    if isinstance(one, pl.Struct) and isinstance(other, pl.Struct):
        return merged([one, other])
    if isinstance(one, pl.List) and isinstance(other, pl.List):
        return pl.List(_merged(one.inner, other.inner))
    return one
