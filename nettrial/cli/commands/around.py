"""The commands that show what is available."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from nettrial.cli.help import command
from nettrial.cli.options import LISTS, Json, Verbose

commands = typer.Typer()
"""The parser of these commands."""


@command(commands, "list")
def _list(
    what: Annotated[
        str, typer.Argument(metavar="WHAT", help=f"{', '.join(LISTS)}.", autocompletion=lambda: [*LISTS])
    ],
    directory: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Argument(metavar="[DIR]", help="runs: the directory that contains them.", show_default="runs"),
    ] = None,
    as_json: Json = False,
    verbose: Verbose = 0,
) -> None:
    """List stored runs, studies, topologies, metrics and more."""
    from nettrial.cli import listing

    listing.show(what, directory, as_json)


@command(commands, "draw")
def _draw(
    topology: Annotated[
        str,
        typer.Argument(
            metavar="TOPOLOGY", help="A name in `nettrial list topologies`, or a study's name or file."
        ),
    ],
    set: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A parameter of the topology. May be given more than once."
        ),
    ] = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="FILE",
            help="Write a picture (.svg, .png), or a page with the picture and the properties (.html).",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the properties as one JSON document.")] = False,
    verbose: Verbose = 0,
) -> None:
    """Draw a topology and print its properties.

    The properties include path lengths, diameter, bisection and spectral gap. A topology that connects the
    hosts of a study is drawn with four hosts, or with the number that it requires. For a study, the network
    of the first treatment is drawn; stations of a radio channel are at their positions, with their carrier
    sense ranges.
    """
    from nettrial.cli import draw

    draw.draw(topology, set or (), out, json)


@command(commands, "doctor")
def _doctor(
    backend: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(metavar="[BACKEND]", help="The only backend to check, such as sim."),
    ] = None,
    as_json: Json = False,
    verbose: Verbose = 0,
) -> None:
    """Check what this machine supports, and what is missing.

    Exit status: 0 the backend can run trials (without BACKEND: all can), 2 bad input, 3 it can't."""
    from nettrial.cli import doctor

    raise typer.Exit(doctor.doctor(backend, as_json))
