"""The search for the engine's binary."""

from __future__ import annotations

import os
from importlib.metadata import Distribution
from pathlib import Path

import nettrial
from nettrial.errors import CannotRun, Lack
from nettrial.systems import executable, executables

ENGINE = executable("nettrial-engine")
"""The file name of the engine on this system."""
VARIABLE = "NETTRIAL_ENGINE"
"""The environment variable with the path of the engine."""
STACKS = "NETTRIAL_STACKS"
"""The environment variable with the directory of the TCP/IP stacks that are programs."""


def engine() -> Path:
    """Returns the path of the engine: from the environment variable, next to this Python, where the package's
    list of installed files has it, or in the checkout.

    Raises CannotRun if there is none."""
    given = os.environ.get(VARIABLE)
    if given:
        places = [Path(given).absolute()]  # a bare name would be searched for in PATH
    else:
        home = Path(nettrial.__file__).parent.parent
        places = [folder / ENGINE for folder in executables()]
        places += [*_installed_with(home), home / "target" / "release" / ENGINE]
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return place
    looked = ", ".join(map(str, places))
    remedy = f"{reinstall()}, or set {VARIABLE} to its path"
    raise CannotRun("finding the engine", [Lack(ENGINE, f"it is not at {looked}", remedy)])


def stacks() -> Path:
    """Returns the directory of the TCP/IP stacks that are programs: from the environment variable, or the
    first directory of this Python's programs that has one. The engine reports a program that is not there."""
    given = os.environ.get(STACKS)
    if given:
        return Path(given).absolute()
    folders = executables()
    return next((folder for folder in folders if any(folder.glob("nettrial-stack-*"))), folders[0])


def reinstall() -> str:
    """Returns the way to get the engine of this package's version: by building it in a checkout of the
    source, and by installing the package again elsewhere."""
    if (Path(nettrial.__file__).parent.parent / "engine" / "cli" / "Cargo.toml").is_file():
        return "build the engine with `make build`"
    return "install nettrial again: `pip install --force-reinstall nettrial`"


def _installed_with(packages: Path) -> list[Path]:
    """Returns the paths of the engine in the lists of installed files of a directory of packages: with
    `pip install --user` or `--prefix`, the engine is in none of this Python's directories."""
    distributions = Distribution.discover(name="nettrial", path=[str(packages)])
    files = [file for one in distributions for file in one.files or [] if file.name == ENGINE]
    return [Path(os.path.normpath(str(file.locate()))) for file in files]
