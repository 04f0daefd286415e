"""The command `nettrial`: its commands are in `nettrial.cli.commands`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated

import typer

import nettrial
from nettrial.cli.commands import around, machines, network, results, study, systems
from nettrial.cli.help import Grouped, examples

GROUPS = {"machines": machines.commands, "systems": systems.commands}
"""The commands that have commands of their own."""
OTHERS = (study.commands, results.commands, around.commands, network.commands)
"""The parsers of all other commands."""


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nettrial {nettrial.__version__}")
        raise typer.Exit


def _nettrial(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of nettrial itself."""


def _parser(groups: Mapping[str, typer.Typer], others: Iterable[typer.Typer]) -> typer.Typer:
    """Returns a parser of these commands."""
    made = typer.Typer(
        cls=Grouped,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=examples(""),
        no_args_is_help=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        help="Controlled trials for network performance.",
    )
    made.callback()(_nettrial)
    for commands in others:
        made.add_typer(commands)
    for name, commands in groups.items():
        made.add_typer(commands, name=name)
    return made


app = _parser(GROUPS, OTHERS)
"""The command line's parser."""


@cache
def parser_of(command: str) -> typer.Typer:
    """Returns a parser of one command, or of all commands if there is none of that name. To read the options
    of all takes a sixth of a short command's time."""
    if command in GROUPS:
        return _parser({command: GROUPS[command]}, ())
    alone = typer.Typer()
    alone.registered_commands = [
        each for commands in OTHERS for each in commands.registered_commands if each.name == command
    ]
    return _parser({}, [alone]) if alone.registered_commands else app
