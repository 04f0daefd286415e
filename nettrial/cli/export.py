"""`nettrial export`: a run's tables as files."""

from __future__ import annotations

from pathlib import Path

from nettrial.cli.console import print_table, say
from nettrial.store import Run


def export_run(directory: Path, form: str, out: Path | None) -> None:
    """Exports a run and prints the name of each file with its number of rows; raises BadInput."""
    from nettrial import export  # imported only when needed: polars is slow to load

    run = Run.open(directory)
    target = out or directory / f"export-{form}"
    written = export.export(run, form, target)
    print_table(["table", "rows"], [(name, str(rows)) for name, rows in written])
    say(f"exported: {target}")
