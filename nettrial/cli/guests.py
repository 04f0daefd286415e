"""`nettrial systems`: the operating systems that hosts of the lab can run in virtual machines."""

from __future__ import annotations

from pathlib import Path

from nettrial.backends import Backend
from nettrial.cli.compilation import Compilation
from nettrial.cli.console import print_table, say
from nettrial.design import scenario_of
from nettrial.errors import BadInput, CannotRun, Lack
from nettrial.files import Unreadable
from nettrial.guests import Catalogue, Disk, GuestKernel, SystemEntry, kernel_tree, unpack
from nettrial.guests.kernel import Unfit
from nettrial.scenario import Problem
from nettrial.study import load
from nettrial.temporary import temporary_directory

ADDING = "adding a system"
"""The current action, for error messages."""
STUDY = "kernel-versions"
"""The study whose first scenario leads an engine to the measurement of what guests carry."""


def add(
    kind: str,
    package: str | None,
    kernel: Path | None,
    modules: Path | None,
    name: str | None,
    image: Path | None = None,
    tree: Path | None = None,
) -> None:
    """Adds a system; raises BadInput, and CannotRun where its package is not available, or a kernel can't be
    built."""
    if tree is not None:
        if (package, kernel, modules, image) != (None, None, None, None):
            raise BadInput(
                ADDING, "--tree", str(tree), "no --package, --kernel, --modules and --image beside it"
            )
        _add_tree(name or kind, tree)
        return
    if image is not None:
        if (package, kernel, modules) != (None, None, None):
            raise BadInput(ADDING, "--image", str(image), "no --package, --kernel and --modules beside it")
        _add_disk(name or kind, image)
        return
    if kind != "linux":
        expected = "linux, or --image with the image of a disk"
        raise BadInput(ADDING, "SYSTEM", kind, expected, "kernels by themselves are Linux's")
    if (package is None) == (kernel is None) or (kernel is None) != (modules is None):
        raise BadInput(ADDING, "options", "", "either --package, or both --kernel and --modules")
    if package is not None and Path(package).name.startswith("linux-source-"):
        _add_source(name, package)
        return
    with temporary_directory() as scratch:
        if kernel is None or modules is None:
            assert package is not None
            kernel, modules = unpack(package, scratch)
        try:
            system = GuestKernel.read(kernel, modules)
        except (Unreadable, Unfit) as error:
            raise BadInput(
                ADDING, package or str(kernel), str(error), "a kernel for x86-64 with virtio"
            ) from None
        entry = Catalogue().add(name or f"linux-{system.version}", system, package or str(kernel))
    say(
        f"{entry.name}: Linux {entry.release} with {len(system.modules)} modules; "
        f"a study names it by `system: {entry.name}`"
    )


def _add_disk(name: str, image: Path) -> None:
    try:
        disk = Disk.read(image)
        entry = Catalogue().add_disk(name, disk)
    except Unfit as error:
        raise BadInput(ADDING, "--image", str(error), "the image of a disk") from None
    except OSError as error:
        raise BadInput(ADDING, str(image), str(error), "an image that can be copied to the cache") from None
    say(f"{entry.name}: a disk of the format {disk.format}; a study names it by `system: {entry.name}`")


def _add_tree(name: str, tree: Path) -> None:
    """Builds a kernel in virtual time from a tree of the user's, which does not change."""
    expected = "a tree of Linux's source"
    try:
        kernel_tree.version(tree)
    except Unfit as error:
        raise BadInput(ADDING, "--tree", str(error), expected) from None
    _refuse_what_lacks()
    with temporary_directory() as scratch:
        _build(name, kernel_tree.copy(tree, scratch), str(tree.resolve()))


def _add_source(name: str | None, package: str) -> None:
    """Builds a kernel in virtual time from the source in a Debian package."""
    _refuse_what_lacks()
    with temporary_directory() as scratch:
        say(f"unpacking {package}")
        _build(name, kernel_tree.unpack_source(package, scratch), package)


def _refuse_what_lacks() -> None:
    if missing := kernel_tree.lacks():
        raise CannotRun(ADDING, missing)


def _build(name: str | None, tree: Path, source: str) -> None:
    """Builds a tree, and adds the kernel under a name, by default that of its version."""
    try:
        with Compilation() as progress:
            built = kernel_tree.build(tree, progress)
    except (Unfit, Unreadable) as error:
        raise BadInput(ADDING, source, str(error), "a tree of Linux's source") from None
    entry = Catalogue().add_program(name or f"virtual-{built.version}", built, source)
    say(
        f"{entry.name}: Linux {entry.release}, for `--backend virtual`; a study names it by "
        f"`system: {entry.name}`"
    )


def calibrate() -> None:
    """Measures what emulated guests carry and prints it; raises BadInput, and CannotRun where guests can't
    run here."""
    catalogue = Catalogue()
    guests = [entry for entry in catalogue.entries() if entry.program is None]
    entry = min(guests, key=lambda entry: entry.kernel is None, default=None)
    if entry is None:
        raise BadInput("calibrating", "systems", "none", "a system", "`nettrial systems add` adds one")
    study = load(STUDY)
    levels = {name: factor.levels[0] for name, factor in study.factors.items()}
    scenario = scenario_of(study, levels).model_copy(deep=True)
    for node in scenario.nodes:
        node.system = entry.name
    catalogue.forget_calibration()
    with Backend("lab") as lab:
        problems = lab.check(scenario)
    if (carried := catalogue.calibration()) is not None:
        say(f"{carried / 1e6:.0f} Mbit/s: the highest link rate for emulated guests on this machine")
    elif problems:
        raise CannotRun("measuring what guests carry", [_lack(problem) for problem in problems])
    else:
        say("guests run under KVM: their links have any rate")


def _lack(problem: Problem) -> Lack:
    return Lack(problem.object, f"{problem.setting} is {problem.value}, not {problem.expected}", problem.hint)


def show() -> None:
    """Prints the systems in the cache; raises BadInput."""
    entries = Catalogue().entries()
    if not entries:
        say("there are no systems yet: `nettrial systems add linux --package NAME` adds one")
        return
    print_table(
        ["system", "kernel", "from"],
        [[entry.name, _kernel(entry), entry.source] for entry in entries],
    )


def _kernel(entry: SystemEntry) -> str:
    if entry.program is not None:
        return f"{entry.release} in virtual time"
    return entry.release or "that of the disk"


def check() -> int:
    """Verifies every system's files, prints the faults and returns the exit status; raises BadInput."""
    catalogue = Catalogue()
    problems = [(entry.name, problem) for entry in catalogue.entries() for problem in catalogue.check(entry)]
    for name, problem in problems:
        print(f"{name}: {problem}")
        print(f"  remedy: `nettrial systems remove {name}`, and add it again")
    if not problems:
        say("the files of all systems are unchanged")
    return CannotRun.exit_code if problems else 0


def remove(name: str) -> None:
    """Removes a system from the cache; raises BadInput."""
    Catalogue().remove(name)
    say(f"{name}: removed")
