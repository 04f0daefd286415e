"""The command `nettrial`: its commands are in `nettrial.cli.commands`."""

from __future__ import annotations

from typing import Annotated

import typer

import nettrial
from nettrial.cli.commands import around, machines, network, results, study, systems
from nettrial.cli.help import Grouped, examples

app = typer.Typer(
    cls=Grouped,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(""),
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Controlled trials for network performance.",
)
"""The command line's parser."""

for each in (study, results, around, network):
    app.add_typer(each.commands)
app.add_typer(machines.commands, name="machines")
app.add_typer(systems.commands, name="systems")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nettrial {nettrial.__version__}")
        raise typer.Exit


@app.callback()
def _nettrial(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of nettrial itself."""
