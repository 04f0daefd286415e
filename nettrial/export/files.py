"""Files of a run's tables, in a directory that appears completely or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

import polars as pl

from nettrial import __version__
from nettrial.errors import BadInput
from nettrial.export.record_frames import scans
from nettrial.export.spool import Spool
from nettrial.store import Run
from nettrial.store.directory import appearing

EXPORTING = "exporting the run"
"""The current action, for error messages."""
Tables: TypeAlias = Mapping[str, Callable[[], pl.DataFrame | pl.LazyFrame]]
"""Functions that read tables, by the table's name."""
PARTS = "parts"
"""The directory of the tables' parts, until the export is complete."""


def export(run: Run, form: str, directory: Path) -> list[tuple[str, int]]:
    """Writes every table of a run, including empty ones, as `NAME.FORM` into a directory that must not exist,
    and returns the tables' names with their numbers of rows.

    Raises BadInput for a form that is not in `FORMS`, for a directory that exists or can't be written, and
    for a record that can't be read; nothing is left behind then."""

    def tables(parts: Path) -> Tables:
        return scans(run, Spool(run, parts).scan)

    return _write(tables, form, directory, run.command)


def write(
    tables: Mapping[str, Callable[[], pl.DataFrame]], form: str, directory: Path, command: str
) -> list[tuple[str, int]]:
    """Writes tables as `NAME.FORM`, like `export`; `command` is the one that made the data."""
    return _write(lambda parts: tables, form, directory, command)


def _write(
    tables: Callable[[Path], Tables], form: str, directory: Path, command: str
) -> list[tuple[str, int]]:
    """Writes the tables that a function returns for a directory, in which it may keep parts of them."""
    if form not in FORMS:
        raise BadInput(EXPORTING, "--to", form, ", ".join(FORMS))
    written = []
    hint = "choose another directory, or remove it"
    try:
        with appearing(directory, EXPORTING, hint=hint) as temporary:
            parts = temporary / PARTS
            parts.mkdir()
            for name, read in tables(parts).items():
                table = read().lazy()
                FORMS[form](table, temporary / f"{name}.{form}", command)
                written.append((name, table.select(pl.len()).collect().item()))
            shutil.rmtree(parts)
    except (OSError, pl.exceptions.ComputeError) as error:  # a full disk: polars does not name the file
        why = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise BadInput(EXPORTING, str(directory), why, "a place to write to") from None
    return written


def _parquet(table: pl.LazyFrame, target: Path, command: str) -> None:
    said = {"nettrial_version": __version__, "nettrial_command": command}
    table.sink_parquet(target, metadata=said)


def _csv(table: pl.LazyFrame, target: Path, command: str) -> None:
    kinds = table.collect_schema().items()
    flat = table.with_columns(_as_text(name, kind) for name, kind in kinds if kind == pl.List)
    flat.sink_csv(target, line_terminator="\r\n", datetime_format="%Y-%m-%dT%H:%M:%S%.3fZ")


def _as_text(name: str, kind: pl.DataType) -> pl.Expr:
    """Converts a list to one text: numbers are separated by a space, texts by a comma and a space."""
    between = ", " if kind == pl.List(pl.String) else " "
    return pl.col(name).cast(pl.List(pl.String)).list.join(between)


FORMS: dict[str, Callable[[pl.LazyFrame, Path, str], None]] = {"parquet": _parquet, "csv": _csv}
"""The functions that write tables, by the form's name, which is also the files' extension."""
