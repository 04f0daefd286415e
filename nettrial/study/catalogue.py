"""The studies shipped with nettrial, and the search for a study by name or path."""

from __future__ import annotations

from pathlib import Path

import nettrial
from nettrial.errors import BadInput
from nettrial.registry import near
from nettrial.study.document import READING, Document
from nettrial.study.model import Study

STUDY_FILE = "study.yaml"
"""The file name of a study in its directory."""
FOLDER = Path(nettrial.__file__).parent / "studies"
"""The directory of the shipped studies; in a checkout, a link to the directory next to the package."""


def shipped() -> list[str]:
    """Returns the names of the shipped studies."""
    return sorted(file.parent.name for file in FOLDER.glob(f"*/{STUDY_FILE}"))


def load(name: str) -> Study:
    """Reads a shipped study by its name, or another one by the path of its file or directory. Raises BadInput
    if there is none, or if it is invalid."""
    path = Path(name)
    if name in shipped():
        path = (FOLDER / name / STUDY_FILE).resolve()
    elif path.is_dir():
        path = path / STUDY_FILE
    elif not path.is_file():
        names = shipped()
        expected = f"{', '.join(names)}, or the path of a study file"
        raise BadInput(READING, "STUDY", f"there is no study {name!r}", expected, near(name, names))
    return Study.of(Document.load(path))
