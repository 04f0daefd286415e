"""The studies and examples shipped with nettrial, and the search for a study by name or path."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import nettrial
from nettrial.errors import BadInput
from nettrial.files import RUN_FILE
from nettrial.registry import nearest
from nettrial.study.document import READING, Document
from nettrial.study.model import Study

STUDY_FILE = "study.yaml"
"""The file name of a study in its directory."""
FOLDER = Path(nettrial.__file__).parent / "studies"
"""The directory of the shipped studies; in a checkout, a link to the directory next to the package."""
A_STUDY = "a name in `nettrial list studies`, or the path of a study file"
"""The expected name of a study, in words."""
_GRAPH = (
    "`nettrial draw file --set path=FILE` draws it, and a study beside it has "
    "network: {topology: file, parameters: {path: NAME}}"
)
NETWORKS = {
    **dict.fromkeys((".graphml", ".gexf", ".gml"), _GRAPH),
    ".py": "`nettrial init DIR --from-mininet FILE` writes a study on this network",
    **dict.fromkeys(
        (".clab.yml", ".clab.yaml"),
        "`nettrial init DIR --from-containerlab FILE` writes a study on this network",
    ),
}
"""The hints for the files of networks, by the ends of their names; FILE stands for the path, and NAME for
the file's name."""
EXAMPLES = FOLDER.with_name("examples")
"""The directory of the cookbook's studies, like `FOLDER`."""
RUNS_ON = Path(__file__).with_name("study_backends.json")
"""The file of `runs_on`."""


def shipped() -> list[str]:
    """Returns the names of the shipped studies."""
    return sorted(file.parent.name for file in FOLDER.glob(f"*/{STUDY_FILE}"))


def examples() -> list[str]:
    """Returns the names of the cookbook's studies, such as "examples/loss"."""
    return sorted(f"examples/{file.parent.name}" for file in EXAMPLES.glob(f"*/{STUDY_FILE}"))


def runs_on() -> dict[str, list[str]]:
    """Returns the backends on which each shipped study and example runs as it is, by its name. A test asks
    the engine about each."""
    backends: dict[str, list[str]] = json.loads(RUNS_ON.read_text(encoding="utf-8"))
    return backends


def near_study(name: str, names: Sequence[str]) -> str:
    """Returns a hint with the study in `names` that `name` may mean; an example has its own name, too."""
    by_own_name = {each.removeprefix("examples/"): each for each in names}
    match = nearest(name.removeprefix("examples/"), by_own_name)
    return f"did you mean {by_own_name[match]!r}?" if match else ""


def load(name: str) -> Study:
    """Reads a shipped study or example by its name, or another study by the path of its file or directory.
    Raises BadInput if there is none, or if it is invalid."""
    path = Path(name)
    if name in shipped():
        path = (FOLDER / name / STUDY_FILE).resolve()
    elif path.is_dir():
        if (path / RUN_FILE).exists() and not (path / STUDY_FILE).exists():
            hint = f"`nettrial report {name}` shows the run, and `nettrial run --resume {name}` continues it"
            raise BadInput(READING, "STUDY", f"{name} is the directory of a run", A_STUDY, hint)
        path = path / STUDY_FILE
    elif not path.is_file():
        names, cookbook = shipped(), examples()
        if path.as_posix() not in cookbook:
            hint = near_study(name, [*names, *cookbook])
            raise BadInput(READING, "STUDY", f"there is no study {name!r}", A_STUDY, hint)
        path = (EXAMPLES / path.name / STUDY_FILE).resolve()
    elif hint := next((of_it for end, of_it in NETWORKS.items() if path.name.lower().endswith(end)), ""):
        hint = hint.replace("FILE", str(path)).replace("NAME", path.name)
        raise BadInput(READING, "STUDY", f"{name} is a network", A_STUDY, hint)
    return read(path)


def given(study: str | Path | Mapping[str, Any] | Study) -> Study:
    """Returns a study that is given by its name or path, by its content as dictionaries and lists, or as a
    model. Raises BadInput if there is none, or if it is invalid."""
    if isinstance(study, Study):
        if study.has_document:
            return study
        left_open = set() if study.names_backend else {"backend"}
        content = study.model_dump(by_alias=True, exclude_none=True, exclude=left_open)
        return Study.of(Document.in_python(content))
    if isinstance(study, Mapping):
        return Study.of(Document.in_python(study))
    return load(str(study))


def read(path: Path) -> Study:
    """Reads a study file; raises BadInput if it is invalid."""
    return Study.of(Document.load(path))
