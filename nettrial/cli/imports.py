"""`nettrial import`: measurements of other programs as a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nettrial.cli.console import say
from nettrial.cli.measured_run import Part, keep
from nettrial.errors import BadInput
from nettrial.imports import Imported, read
from nettrial.imports.reading import DOING
from nettrial.report import numbers
from nettrial.scenario import Environment
from nettrial.store.directory import refuse_existing

UNKNOWN = "unknown: the imported files do not say"
"""The value of facts about the machine that imported files do not contain."""


def import_files(files: Sequence[Path], out: Path, ip: int | None) -> None:
    """Stores the measurements of files as the trials of a run, in the order of their times; raises
    BadInput."""
    refuse_existing(out, DOING, hint="choose another directory for each import")
    found: list[Imported] = []
    for file in files:
        for each in read(file, ip):
            if found and _form(each) != _form(found[0]):
                hint = "import measurements of different kinds or IP versions as separate runs"
                raise BadInput(DOING, str(file), " ".join(_form(each)), " ".join(_form(found[0])), hint)
            found.append(each)
    found.sort(key=lambda each: each.record.started_unix_ns)
    first = found[0]
    flow, title = first.flow, f"{first.title}, {numbers.counted(len(found), 'measurement')}"
    keep(out, title, [Part(flow, [flow.name])], 0, [each.record for each in found], _environment(found))
    say(f"imported {numbers.counted(len(found), 'measurement')}: {out}")


def _form(imported: Imported) -> tuple[str, str]:
    return imported.title, f"over IPv{imported.flow.ip.root}"


def _environment(found: Sequence[Imported]) -> Environment:
    """Returns the machine that measured, as far as the files describe it."""
    systems = dict.fromkeys(each.system for each in found if each.system)
    return Environment(
        congestion_controls=[],
        engine_version=", ".join(dict.fromkeys(each.record.engine_version for each in found)),
        kernel=", ".join(systems) or UNKNOWN,
        privileges=UNKNOWN,
        processor=UNKNOWN,
        processors=0,
        sysctls={},
    )
