"""The commands of `nettrial machines`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from nettrial.cli.help import command, examples
from nettrial.cli.options import Verbose

commands = typer.Typer(
    no_args_is_help=True,
    help="Manage your own machines, for --backend hosts.",
    epilog=examples("machines"),
)
"""The parser of these commands."""


InventoryFile = Annotated[Path, typer.Option("--machines", metavar="FILE", help="The inventory.")]
"""The option `--machines` of these commands."""
MACHINES_FILE = Path("machines.yaml")
"""The default file of the inventory."""
MachineNames = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(metavar="[MACHINE]...", help="Names of machines; all if none is given."),
]
"""The argument with names of machines."""


@command(commands, "check", "machines")
def _machines_check(file: InventoryFile = MACHINES_FILE, verbose: Verbose = 0) -> None:
    """Print the properties of every machine, and what is missing.

    Contacts every machine. Also finds the largest packets that pass between the machines; for this, it raises
    the MTU of interfaces that may be changed, and restores it afterwards.

    Exit status: 0 nothing is missing, 2 bad input, 3 something is missing."""
    from nettrial.cli import machines

    raise typer.Exit(machines.check(file))


@command(commands, "list", "machines")
def _machines_list(file: InventoryFile = MACHINES_FILE, verbose: Verbose = 0) -> None:
    """List the machines of the inventory, without contacting them."""
    from nettrial.cli import machines

    machines.show(file)


@command(commands, "add", "machines")
def _machines_add(
    name: Annotated[str, typer.Argument(metavar="MACHINE", help="The name in studies and reports.")],
    interface: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=ADDRESS,...",
            help="An interface and its addresses that traffic may use. May be given more than once.",
        ),
    ],
    ssh: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="DESTINATION", help="Reach the machine by `ssh DESTINATION`."),
    ] = None,
    command: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="COMMAND", help='Reach the machine by a command, such as "docker exec -i web".'),
    ] = None,
    may_change: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="WHAT",
            help="Settings that may be changed there: mtu, offloads, icmp, congestion_control, sysctls. May "
            "be given more than once.",
        ),
    ] = None,
    node: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="NODE",
            help="A node of studies whose role the machine takes. May be given more than once.",
        ),
    ] = None,
    of_set: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--set", metavar="SET", help="The set of machines to which it belongs, if several share a run."
        ),
    ] = None,
    file: InventoryFile = MACHINES_FILE,
    verbose: Verbose = 0,
) -> None:
    """Add a machine to the inventory, without contacting it.

    A missing inventory is created."""
    from nettrial.cli import machines

    machines.add(file, name, ssh, command, interface, may_change or (), node or (), of_set)


@command(commands, "install", "machines")
def _machines_install(
    names: MachineNames = None, file: InventoryFile = MACHINES_FILE, verbose: Verbose = 0
) -> None:
    """Copy the engine to machines, and verify its hash there.

    The engine is copied into the user's home directory on each machine.

    Exit status: 0 done, 2 bad input, 3 copying to a machine failed."""
    from nettrial.cli import machines

    raise typer.Exit(machines.copy_engine(file, names or ()))


@command(commands, "restore", "machines")
def _machines_restore(
    names: MachineNames = None, file: InventoryFile = MACHINES_FILE, verbose: Verbose = 0
) -> None:
    """Restore settings that a session left changed on machines.

    This is rarely needed: a session restores the settings itself, however it ends. After a power cut, the
    next session on that machine restores them before it begins.

    Exit status: 0 done, 2 bad input, 3 something could not be restored."""
    from nettrial.cli import machines

    raise typer.Exit(machines.undo(file, names or ()))


@command(commands, "forget", "machines")
def _machines_forget(
    names: Annotated[list[str], typer.Argument(metavar="MACHINE...", help="Names of machines.")],
    yes: Annotated[bool, typer.Option("--yes", help="Discard them without asking.")] = False,
    file: InventoryFile = MACHINES_FILE,
    verbose: Verbose = 0,
) -> None:
    """Discard old values of settings that can't be restored.

    A machine's journal keeps the old value of a setting until it has been restored. If that is impossible,
    because an interface is gone for good or another version of nettrial wrote the entry, this shows what is
    left, and discards it after a confirmation.

    Exit status: 0 done, 2 bad input or no confirmation, 3 a machine could not be reached."""
    from nettrial.cli import machines

    raise typer.Exit(machines.forget(file, names, yes))
