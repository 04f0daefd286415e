"""The commands of `nettrial systems`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from nettrial.cli.help import command, examples
from nettrial.cli.options import Verbose

commands = typer.Typer(
    no_args_is_help=True,
    help="Manage the operating systems of guests in the lab.",
    epilog=examples("systems"),
)
"""The parser of these commands."""


@command(commands, "add", "systems")
def _systems_add(
    kind: Annotated[
        str,
        typer.Argument(metavar="SYSTEM", help="The kind of system: linux. With --image or --tree: any name."),
    ],
    package: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="NAME",
            help="Take kernel and modules from this Debian package: a file, or a name that apt-get can "
            "download. Nothing is installed. From a package linux-source-…, build a kernel in virtual time.",
        ),
    ] = None,
    kernel: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Take this kernel (bzImage)."),
    ] = None,
    modules: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="DIR",
            help="Take the kernel's modules from this directory, such as /lib/modules/6.12.0.",
        ),
    ] = None,
    image: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="FILE",
            help="Take an installed system from this disk image (qcow2 or raw), which is copied and never "
            "written to. The system must start the agent as a service.",
        ),
    ] = None,
    tree: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="DIR",
            help="Build a kernel in virtual time from this tree of Linux's source, which stays as it is. It "
            "needs a compiler, and takes minutes.",
        ),
    ] = None,
    name: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="NAME",
            help="The name in studies. [default: linux and the kernel's version, such as linux-6.12; with "
            "--image or --tree: SYSTEM]",
        ),
    ] = None,
    verbose: Verbose = 0,
) -> None:
    """Add a system to the cache, under a name that studies use.

    A study names the system in `hosts.NAME.system`.

    Exit status: 0 done, 2 bad input, 3 the package is not available,
    or the machine lacks what a build needs.
    """
    from nettrial.cli import guests

    guests.add(kind, package, kernel, modules, name, image, tree)


@command(commands, "list", "systems")
def _systems_list(verbose: Verbose = 0) -> None:
    """List the systems in the cache."""
    from nettrial.cli import guests

    guests.show()


@command(commands, "check", "systems")
def _systems_check(verbose: Verbose = 0) -> None:
    """Verify that the files of every system are unchanged.

    Exit status: 0 all are unchanged, 2 bad input, 3 a file is missing or changed."""
    from nettrial.cli import guests

    raise typer.Exit(guests.check())


@command(commands, "calibrate", "systems")
def _systems_calibrate(verbose: Verbose = 0) -> None:
    """Measure the rate that emulated guests can carry on this machine.

    Studies with faster links between emulated guests are refused. Without this command, the first session
    that needs the rate measures it. The rate stays in the cache until the machine changes.

    Exit status: 0 done, 2 bad input, 3 guests can't run on this machine.
    """
    from nettrial.cli import guests

    guests.calibrate()


@command(commands, "remove", "systems")
def _systems_remove(
    name: Annotated[str, typer.Argument(metavar="SYSTEM", help="The name in studies.")], verbose: Verbose = 0
) -> None:
    """Remove a system from the cache."""
    from nettrial.cli import guests

    guests.remove(name)
