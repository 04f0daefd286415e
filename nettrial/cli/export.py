"""`nettrial export`: the tables of a run, or of an archive of `nettrial monitor`, as files."""

from __future__ import annotations

from pathlib import Path

from nettrial.cli.console import print_table, say
from nettrial.errors import without_extra
from nettrial.files import Unsafe, refuse_foreign
from nettrial.monitor.archive import FILE, Archive
from nettrial.store import Run


def export_run(directory: Path, form: str, out: Path | None) -> None:
    """Exports a run or an archive and prints the name of each table with its number of rows; raises BadInput,
    and CannotRun without the extra `nettrial[tables]`."""
    try:
        from nettrial import export  # imported only when needed: polars is slow to load
    except ModuleNotFoundError as error:
        if error.name != "polars":
            raise
        raise without_extra("exporting tables", "polars", "tables") from None

    target = out or directory / f"export-{form}"
    if out is None and directory.is_dir():
        try:
            refuse_foreign(directory.resolve())
        except Unsafe as why:
            raise why.as_bad_input(export.EXPORTING, target) from None
    if (directory / FILE).is_file():
        from nettrial.monitor.tables import tables

        archive = Archive.open(directory)
        written = export.write(tables(archive), form, target, "nettrial monitor")
        archive.close()
    else:
        written = export.export(Run.open(directory), form, target)
    print_table(["table", "rows"], [(name, str(rows)) for name, rows in written if rows])
    empty = [name for name, rows in written if not rows]
    if empty:
        print(f"without rows: {', '.join(empty)}")
    say(f"exported: {target}")
