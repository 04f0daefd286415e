"""`nettrial init`: a new study from a commented template, or from a shipped study."""

from __future__ import annotations

import json
import re
from pathlib import Path

from nettrial.cli import READING
from nettrial.cli.console import say
from nettrial.errors import BadInput

TEMPLATE = Path(__file__).with_name("template.yaml")
"""The template of a study."""
SCHEMA_FILE = "study.schema.json"
"""The name of the JSON Schema beside a new study."""
MODELINE = f"# yaml-language-server: $schema={SCHEMA_FILE}\n"
"""The first line of a new study, by which editors with YAML's language server complete and check it."""


def write(directory: Path, source: str | None = None) -> None:
    """Writes a study into a new directory, and gives it the directory's name. Beside it is the JSON Schema of
    study files, for editors. `source` is the name of a shipped study or example to copy, with the files that
    it reads. Raises BadInput."""
    from nettrial.study.schema import study_schema  # imported only when needed: slow to load

    name = directory.name
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise BadInput(READING, "DIR", str(directory), "a name of letters, digits, - and _")
    template = _shipped_file(source) if source else TEMPLATE
    try:
        directory.mkdir(parents=True)
    except FileExistsError:
        raise BadInput(READING, "DIR", f"{directory} exists", "a directory that does not exist") from None
    file = directory / "study.yaml"
    text = template.read_text(encoding="utf-8")
    named = re.sub(r"(?m)^study: .*$", f"study: {name}", text, count=1)
    file.write_text(MODELINE + named, encoding="utf-8")
    schema = json.dumps(study_schema(), indent=1) + "\n"
    (directory / SCHEMA_FILE).write_text(schema, encoding="utf-8")
    for each in template.parent.glob("*.csv") if source else ():
        (directory / each.name).write_bytes(each.read_bytes())
    say(f"wrote {file}; next: nettrial show {file}, then nettrial run {file}")


def _shipped_file(source: str) -> Path:
    """Returns the file of a shipped study or example; raises BadInput if there is none."""
    from nettrial.study import catalogue, examples, load, shipped  # imported only when needed: slow to load

    names = [*shipped(), *examples()]
    if source not in names:
        expected, hint = "a name in `nettrial list studies`", catalogue.near_study(source, names)
        raise BadInput(READING, "--from", source, expected, hint)
    return load(source).document.path
