"""Options and arguments shared by several commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Optional

import typer

from nettrial.cli import READING, log
from nettrial.errors import BadInput
from nettrial.systems import UnknownZone, zoned


def between(low: int, high: int | None = None) -> Callable[[typer.CallbackParam, int | None], int | None]:
    """Returns a callback that checks the range of an option's number and raises BadInput."""
    expected = f"{low} or more" if high is None else f"{low} to {high}"

    def check(parameter: typer.CallbackParam, value: int | None) -> int | None:
        if value is not None and not (low <= value <= (value if high is None else high)):
            raise BadInput(READING, parameter.opts[0], str(value), expected)
        return value

    return check


def seconds_of(option: str, text: str) -> int:
    """Returns the period that is the value of an option, in seconds; raises BadInput."""
    from nettrial.units import PERIOD, UnitError  # imported only when needed: slow to load

    try:
        return PERIOD.parse(text)
    except UnitError as error:
        raise BadInput(READING, option, text, PERIOD.expected, error.hint) from None


def address(parameter: typer.CallbackParam, value: str | None) -> str | None:
    """Checks an option's IP address, and returns it with its zone as a number; raises BadInput."""
    if value is None:
        return None
    try:
        return zoned(value)
    except UnknownZone as why:
        raise BadInput(READING, parameter.opts[0], value, why.expected, str(why)) from None
    except ValueError:
        expected = "an IP address, such as 0.0.0.0 or ::"
        raise BadInput(READING, parameter.opts[0], value, expected) from None


def _ip(parameter: typer.CallbackParam, value: int | None) -> int | None:
    if value not in (None, 4, 6):
        raise BadInput(READING, parameter.opts[0], str(value), "4, 6")
    return value


Ip = Annotated[
    Optional[int],  # noqa: UP045 - typer reads the annotation
    typer.Option("--ip", callback=_ip, metavar="4|6", help="The IP version.", show_default="the host's"),
]
"""The option `--ip`."""


def shipped_studies() -> list[str]:
    """Returns the names of shipped studies and examples, as shell completions."""
    from nettrial.study import examples, shipped  # imported only when needed: slow to load

    return [*shipped(), *examples()]


def studies() -> list[str]:
    """Returns the shell completions of a study: the shipped ones, and files."""
    return [
        *shipped_studies(),
        *(str(path) for path in Path().glob("*.yaml")),
        *map(str, Path().glob("*/study.yaml")),
    ]


def _backends() -> list[str]:
    from nettrial.backends import BACKENDS  # imported only when needed: slow to load

    return list(BACKENDS)


Full = Annotated[
    bool,
    typer.Option("--full", help="Use the original publication's scale."),
]
"""The option `--full`."""
Set = Annotated[
    Optional[list[str]],  # noqa: UP045 - typer reads the annotation
    typer.Option(
        "--set",
        metavar="NAME=VALUE,...",
        help="The levels of a factor, or the value of a setting, given by its dotted path (several values "
        "make it a factor). May be given more than once.",
    ),
]
"""The option `--set`."""
AllowExec = Annotated[
    bool,
    typer.Option(
        "--allow-exec",
        help="Start the commands of the study and tools with any arguments, and send files, without asking.",
    ),
]
"""The option `--allow-exec`."""
Replicates = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(metavar="N", help="Replicates of each treatment.", show_default="the study's"),
]
"""The option `--replicates`."""
Seed = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        metavar="N",
        help="Seed for the trial order.",
        show_default="random",
    ),
]
"""The option `--seed`."""

Until = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--until",
        metavar="PERCENT",
        help="Add blocks until the half-width of the 95% confidence interval of every response's mean is at "
        'most this percentage of the mean, such as "2%". "rtt=5%" sets the percentage for a single response; '
        '"declared" uses the `precision` of the study\'s responses. May be given more than once.',
    ),
]
"""The option `--until`."""
MinBlocks = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        metavar="N",
        help="With --until: the smallest number of blocks.",
        show_default="the replicates, at least 5",
    ),
]
"""The option `--min-blocks`."""
MaxBlocks = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        metavar="N",
        help="With --until: the largest number of blocks.",
        show_default="50",
    ),
]
"""The option `--max-blocks`."""
Reruns = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        metavar="N",
        help="Run a trial again, up to N times, if something else disturbed it: other processes used more "
        "than 5% of a CPU, the hypervisor took more than 2% of one, a timer was more than 50 ms late, or "
        "the clock was set. The results of trials play no part. At most half as many trials as the plan has "
        "are run again.",
        show_default="the study's, or 2",
    ),
]
"""The option `--reruns`."""
BackendName = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--backend",
        metavar="NAME",
        autocompletion=_backends,
        help="Backend that runs the trials: a name in `nettrial list backends`.",
        show_default="the study's",
    ),
]
"""The option `--backend`."""


LISTS = ("studies", "topologies", "metrics", "stacks", "congestion", "backends", "runs")
"""The lists that `nettrial list` shows."""

MachinesFile = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        "--machines",
        metavar="FILE",
        help="With --backend hosts, or for machines on the lab's links: the file with your machines (see "
        "`nettrial machines`).",
    ),
]
"""The option `--machines`."""

On = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--on",
        metavar="SCHEDULER",
        help="Run simulated trials on a Dask cluster, given by its scheduler's address (tcp://HOST:PORT) or "
        "a scheduler file. Trust the scheduler and its workers: they can run code on this machine. local[N] "
        "starts N workers on this machine, which no other user can reach. With --backend hosts, workers "
        "drive sets of machines.",
    ),
]
"""The option `--on`."""


Verbose = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        callback=log.begin,
        show_default=False,
        metavar="",
        help="Log to standard error; -vv logs in detail.",
    ),
]
"""The option `--verbose`, which starts the log."""


JSON_HELP = "Print one JSON document, as described in the reference."
"""The help of the option `--json`."""
Json = Annotated[bool, typer.Option("--json", help=JSON_HELP)]
"""The option `--json`."""
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print only results, warnings and errors, no progress.")
]
"""The option `--quiet`."""
RunDirectory = Annotated[Path, typer.Argument(metavar="RUN", help="A run's directory.")]
"""The argument RUN."""


Inconclusive = Annotated[
    str,
    typer.Option(
        metavar="pass|fail",
        help="The result where an interval is too wide to tell whether a condition holds; with fail the exit "
        "status is 6.",
    ),
]
"""The option `--inconclusive`."""
