"""The user's defaults, from the file nettrial.toml in their configuration directory: the backend of studies
that name none, the directory of new runs, and the theme of pages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from nettrial.capabilities import CAPABILITIES, MEASURED
from nettrial.errors import BadInput, Fault
from nettrial.registry import near

READING = "reading your defaults"
"""The current action, for error messages."""
THEMES = ("system", "light", "dark")
"""The themes of pages: system is the browser's."""
RUNS = Path("runs")
"""The directory of new runs where the user names no other."""
BACKENDS = tuple(name for name in CAPABILITIES if name not in MEASURED)
"""The backends that run trials."""
FIELDS = {
    "backend": f"one of {', '.join(BACKENDS)}",
    "runs": "the path of a directory, such as '~/runs'",
    "theme": f"one of {', '.join(THEMES)}",
}
"""The fields of the file, with their values in words."""


@dataclass(frozen=True)
class Defaults:
    """The user's defaults."""

    backend: str | None = None
    """The backend of studies that name none; None if nettrial chooses it."""
    runs: Path = RUNS
    """The directory of new runs."""
    theme: str = THEMES[0]
    """The theme with which pages open."""


def defaults_file() -> Path:
    """Returns the path of the file, which need not exist (XDG Base Directory Specification)."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "nettrial.toml"


def user_defaults() -> Defaults:
    """Returns the user's defaults; those of nettrial without a file. Raises BadInput with every fault of the
    file."""
    file = defaults_file()
    try:
        text = file.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Defaults()
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(READING, str(file), str(error), "a file in TOML that you can read") from None
    import tomllib  # when there is a file

    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(READING, str(file), str(error), "a file in TOML") from None
    faults = list(_faults(file, values))
    if faults:
        raise BadInput.listing(READING, faults)
    made = Defaults()
    return Defaults(
        values.get("backend", made.backend),
        Path(values["runs"]).expanduser() if "runs" in values else made.runs,
        values.get("theme", made.theme),
    )


def _faults(file: Path, values: Mapping[str, object]) -> list[Fault]:
    """Returns what is wrong with the values of the file."""
    faults = []
    known: dict[str, tuple[str, ...]] = {"backend": BACKENDS, "theme": THEMES}
    for name, value in values.items():
        where = f"{file}: {name}"
        if name not in FIELDS:
            faults.append(Fault(where, "unknown field", ", ".join(FIELDS), near(name, FIELDS)))
        elif not isinstance(value, str) or not value:
            faults.append(Fault(where, repr(value), FIELDS[name]))
        elif name in known and value not in known[name]:
            faults.append(Fault(where, value, FIELDS[name], near(value, known[name])))
    return faults
