"""`nettrial init`: a new study from a commented template."""

from __future__ import annotations

import re
from pathlib import Path

from nettrial.cli import READING
from nettrial.cli.console import say
from nettrial.errors import BadInput

TEMPLATE = Path(__file__).with_name("template.yaml")
"""The template of a study."""
NAME = "my-study"
"""The study's name in the template."""


def write(directory: Path) -> None:
    """Writes a study into a new directory, and gives it the directory's name; raises BadInput."""
    name = directory.name
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise BadInput(READING, "DIR", str(directory), "a name of letters, digits, - and _")
    try:
        directory.mkdir(parents=True)
    except FileExistsError:
        raise BadInput(READING, "DIR", f"{directory} exists", "a directory that does not exist") from None
    file = directory / "study.yaml"
    text = TEMPLATE.read_text(encoding="utf-8").replace(f"study: {NAME}\n", f"study: {name}\n")
    file.write_text(text, encoding="utf-8")
    say(f"wrote {file}; next: nettrial show {file}, then nettrial run {file}")
