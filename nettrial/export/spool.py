"""All tables of a run's records, read in one pass and kept in files, which may be larger than the memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl

from nettrial.export.layout import TABLES, TRIAL, Column, RecordTable, merged
from nettrial.scenario import FlowRecord
from nettrial.store import Run

AT_ONCE = 1000
"""The largest number of records whose JSON is in memory at a time."""
BYTES_AT_ONCE = 16 * 2**20
"""The size of JSON above which no further record is added to these."""

NONE_IF_ZERO = ("mss_bytes", "min_rtt_us")
"""The figures of a flow in which 0 stands for a value that was not measured."""


class Spool:
    """The tables of a run's records as files in a directory."""

    def __init__(self, run: Run, directory: Path) -> None:
        """Reads all records and writes the tables; raises BadInput for a record that can't be read."""
        tables = [TRIAL, *TABLES.values()]
        needed = merged(table.needed for table in tables)
        self._files: dict[str, list[Path]] = {table.name: [] for table in tables}
        for number, batch in enumerate(batches(run)):
            records = decoded(run, batch, needed)
            for table in tables:
                part = rows(records, table)
                if part.height:
                    file = directory / f"{table.name}-{number}.arrow"
                    part.write_ipc(file)
                    self._files[table.name].append(file)

    def scan(self, table: RecordTable) -> pl.LazyFrame:
        """Returns a table's rows with the numbers of their trials."""
        files = self._files[table.name]
        return pl.scan_ipc(files) if files else empty(table).lazy()


def batches(run: Run) -> Iterator[pl.DataFrame]:
    """Yields the finished trials' numbers and records as JSON, some at a time."""
    kept: list[tuple[int, str]] = []
    size = 0
    for number, text in run.record_texts():
        kept.append((number, text))
        size += len(text)
        if len(kept) == AT_ONCE or size > BYTES_AT_ONCE:
            yield _frame(kept)
            kept, size = [], 0
    if kept:
        yield _frame(kept)


def _frame(kept: list[tuple[int, str]]) -> pl.DataFrame:
    return pl.DataFrame(kept, schema={"number": pl.Int64, "record": pl.String}, orient="row")


def decoded(run: Run, batch: pl.DataFrame, needed: pl.Struct) -> pl.DataFrame:
    """Returns a batch with the needed parts of its records; raises BadInput."""
    try:
        return batch.with_columns(pl.col("record").str.json_decode(needed))
    except pl.exceptions.ComputeError as error:
        raise run.unreadable("record", str(error).partition("\n")[0]) from None


def empty(table: RecordTable) -> pl.DataFrame:
    """Returns a table without a row."""
    return pl.DataFrame(schema={"number": pl.Int64, **table.schema()})


def rows(frame: pl.DataFrame, table: RecordTable) -> pl.DataFrame:
    """Returns a table's rows of some records, of which `decoded` has given the needed parts."""
    row = pl.col("record")
    kept: list[pl.Expr] = [pl.col("number")]
    for depth, name in enumerate(table.lists):
        frame = frame.select(*kept, row.struct.field(name).alias("record"))
        frame = frame.filter(pl.col("record").list.len() > 0).explode("record")
        if depth == 0 and table.outer:
            kept += [pl.col(column.name) for column in table.outer]
            frame = frame.with_columns(_taken(table.outer))
    frame = frame.select(*kept, *_taken(table.own))
    if table.repeats:
        repeat = pl.int_ranges(1, pl.col(table.repeats[0]).list.len() + 1).alias("repeat")
        frame = frame.with_columns(repeat).explode(*table.repeats, "repeat")
    return frame.select("number", *(pl.col(name).cast(kind) for name, kind in table.schema().items()))


def _taken(columns: Iterable[Column]) -> list[pl.Expr]:
    """Returns the expressions that extract columns from an entry."""
    taken = []
    for column in columns:
        value = _at(column.path)
        if column.figure not in ("", "count"):  # a distribution without values has zeros in their place
            value = pl.when(_at((*column.path[:-1], "count")) > 0).then(value)
        elif column.model is FlowRecord and column.name in NONE_IF_ZERO:
            value = pl.when(value != 0).then(value)
        taken.append(value.alias(column.name))
    return taken


def _at(path: Iterable[str]) -> pl.Expr:
    """Returns the expression that extracts the value at a path of fields."""
    value = pl.col("record")
    for name in path:
        value = value.struct.field(name)
    return value
