"""`nettrial systems`: the operating systems that hosts of the lab can run as guests."""

from __future__ import annotations

import tempfile
from pathlib import Path

from nettrial.cli.console import print_table, say
from nettrial.errors import BadInput, CannotRun
from nettrial.files import Unreadable
from nettrial.guests import Catalogue, Kernel, unpack
from nettrial.guests.kernel import Unfit

ADDING = "adding a system"


def add(kind: str, package: str | None, kernel: Path | None, modules: Path | None, name: str | None) -> None:
    """Adds a system; raises BadInput, and CannotRun where its package is not available."""
    if kind != "linux":
        raise BadInput(ADDING, "SYSTEM", kind, "linux", "guests of other systems can't be run yet")
    if (package is None) == (kernel is None) or (kernel is None) != (modules is None):
        raise BadInput(ADDING, "options", "", "either --package, or both --kernel and --modules")
    with tempfile.TemporaryDirectory(prefix="nettrial-") as scratch:
        if kernel is None or modules is None:
            assert package is not None
            kernel, modules = unpack(package, Path(scratch))
        try:
            found = Kernel.read(kernel, modules)
        except (Unreadable, Unfit) as error:
            raise BadInput(
                ADDING, package or str(kernel), str(error), "a kernel for x86-64 with virtio"
            ) from None
        entry = Catalogue().add(name or f"linux-{found.version}", found, package or str(kernel))
    say(
        f"{entry.name}: Linux {entry.release} with {len(found.modules)} modules; "
        f"a study names it by `system: {entry.name}`"
    )


def show() -> None:
    """Prints the systems; raises BadInput."""
    entries = Catalogue().entries()
    if not entries:
        say("no system yet: `nettrial systems add linux --package NAME` adds one")
        return
    print_table(
        ["system", "kernel", "from"], [[entry.name, entry.release, entry.source] for entry in entries]
    )


def check() -> int:
    """Reads every system's files and prints what is wrong with them; gives the exit status. Raises
    BadInput."""
    catalogue = Catalogue()
    found = [(entry.name, problem) for entry in catalogue.entries() for problem in catalogue.check(entry)]
    for name, problem in found:
        print(f"{name}: {problem}")
        print(f"  remedy: `nettrial systems remove {name}`, and add it again")
    if not found:
        say("all systems are as they were added")
    return CannotRun.exit_code if found else 0


def remove(name: str) -> None:
    """Removes a system; raises BadInput."""
    Catalogue().remove(name)
    say(f"{name}: removed")
