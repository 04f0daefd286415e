"""The kernel of the backend that runs trials in virtual time."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from nettrial.backends.backend import BACKENDS, Backend, BackendKind, Configuration
from nettrial.guests import Catalogue

VARIABLE = "NETTRIAL_KERNEL"
"""The environment variable with the path of the kernel, a program; empty for none."""
PACKAGE = "nettrial_kernel"
"""The package that brings a kernel."""


class VirtualKernel(Configuration):
    """The kernel in which trials run; None if there is none."""

    program: Path | None = None
    """The kernel's program."""

    def arguments(self) -> list[str]:
        """Returns the engine's option for the kernel."""
        return [] if self.program is None else ["--kernel", str(self.program)]


def find_kernel() -> Path | None:
    """Returns the program of the kernel in virtual time: the one that the environment names, or that of the
    installed package, or the newest in the cache of systems; None if there is none. Raises BadInput if a
    document of the cache can't be read."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        return Path(given).absolute() if given else None
    package = importlib.util.find_spec(PACKAGE)
    if package is not None and package.origin is not None:
        return Path(package.origin).with_name("linux")
    return Catalogue().newest_program()


def start(configuration: Configuration) -> Backend:
    """Prepares the backend; raises BadInput if a document of the cache of systems can't be read."""
    return Backend("virtual", VirtualKernel(program=find_kernel()))


BACKENDS.add(
    "virtual",
    BackendKind(
        "Linux's own TCP/IP in virtual time, deterministic and without noise; runs unprivileged",
        start,
        "in virtual time",
        is_extra=True,
    ),
)
