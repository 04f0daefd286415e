"""The commands that read the results of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from nettrial.cli.help import command
from nettrial.cli.options import Inconclusive, Ip, Json, RunDirectory, Verbose, between

commands = typer.Typer()
"""The parser of these commands."""


@command(commands, "report")
def _report(
    directory: RunDirectory,
    figures: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="DIR",
            help="Also write every chart as SVG, PDF and PNG and every table as CSV, Markdown and LaTeX into "
            "this directory, which must not exist.",
        ),
    ] = None,
    tables: Annotated[bool, typer.Option("--tables", help="Print every table and sentence.")] = False,
    also: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--show",
            metavar="sd",
            help="Print every table, each mean with its standard deviation and its number of trials.",
        ),
    ] = None,
    show: Annotated[bool, typer.Option("--open", help="Open the report in a browser.")] = False,
    junit: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Also write a JUnit XML file: a test case for each trial."),
    ] = None,
    markdown: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="FILE",
            help="Also write the answer, the effects and the warnings as Markdown, such as to "
            "$GITHUB_STEP_SUMMARY.",
        ),
    ] = None,
    against: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="OTHER",
            help="Compare with the earlier run in this directory: the page also has the changes and "
            "intervals of `nettrial compare OTHER RUN`.",
        ),
    ] = None,
    as_json: Json = False,
    verbose: Verbose = 0,
) -> None:
    """Report a stored run again: answer, effects, warnings."""
    from nettrial.cli import run

    form = run.RunOutput(tables, as_json, also)
    run.report_again(directory, form, figures, show, junit, markdown, against)


@command(commands, "book")
def _book(
    directories: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Directories of runs.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The book's directory, which must not exist.")],
    verbose: Verbose = 0,
) -> None:
    """Compile a book of published and measured figures from runs.

    Writes book.html, book.md and, if this machine has a browser (chromium, google-chrome), book.pdf."""
    from nettrial.cli import book

    book.show(directories, out)


@command(commands, "watch")
def _watch(
    directory: RunDirectory,
    port: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            callback=between(0, 65535), metavar="PORT", help="The port.", show_default="any free one"
        ),
    ] = None,
    verbose: Verbose = 0,
) -> None:
    """Follow a run live in your browser, until Ctrl-C.

    RUN may also be the archive of `nettrial monitor`. While a browser shows the page, it is redrawn whenever
    trials have been added. Drawing takes CPU time, which may cause warnings in the trials that run meanwhile.
    Exit status: 2 bad input, 3 the port can't be opened."""
    from nettrial.cli import watch

    watch.watch(directory, port)


@command(commands, "export")
def _export(
    directory: RunDirectory,
    to: Annotated[str, typer.Option("--to", metavar="FORM", help="parquet or csv.")] = "parquet",
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="DIR",
            help="The directory of the files, which must not exist.",
            show_default="RUN/export-FORM",
        ),
    ] = None,
    verbose: Verbose = 0,
) -> None:
    """Write a run's data as Parquet or CSV files.

    Writes tables of trials, flows, hosts, interfaces, time series and warnings. Column names contain the
    units; every row names its trial, block and levels. RUN may also be the archive of `nettrial monitor`,
    which has tables of values, hours, gaps, events and sessions."""
    from nettrial.cli import export

    export.export_run(directory, to, out)


@command(commands, "import")
def _import(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="The output of iperf3 -J or --json-stream, or results of perfSONAR's pScheduler.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The run's directory, which must not exist.")],
    ip: Ip = None,
    verbose: Verbose = 0,
) -> None:
    """Store measurements of iperf3 or perfSONAR as a run.

    Each measurement becomes a trial, for `nettrial report`, `compare` and `export`. All must be of one kind.
    Metrics that a file lacks are absent. A file or document that can't be read is named and left out. Use
    --ip for results that contain no address.

    Exit status: 0 stored, 2 nothing stored, 4 stored without some of the measurements."""
    from nettrial.cli import imports

    imports.import_files(files, out, ip)


@command(commands, "compare")
def _compare(
    first: Annotated[Path, typer.Argument(metavar="RUN_A", help="The directory of the earlier run.")],
    second: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Argument(
            metavar="RUN_B",
            help="The directory of the later run. With --baseline, name the later run alone.",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="DIR",
            help="Compare one run with the last whole run of its study in this directory.",
        ),
    ] = None,
    fail_if: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--fail-if",
            metavar="CONDITION",
            help='RESPONSE < PERCENT or RESPONSE > PERCENT, such as "throughput < -3%". The exit status is 1 '
            "if the whole confidence interval of a change is beyond this limit. May be given more than once.",
        ),
    ] = None,
    inconclusive: Inconclusive = "pass",
    response: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="NAME",
            help="Compare only this response: fewer comparisons have narrower intervals. May be given more "
            "than once.",
            show_default="all",
        ),
    ] = None,
    history: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Option(
            metavar="RUN",
            help="Another run of RUN_A's system, or a directory of such runs. The intervals then allow for "
            "the differences between sessions. May be given more than once.",
        ),
    ] = None,
    junit: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="FILE",
            help="Also write a JUnit XML file: a test case for each condition under each treatment.",
        ),
    ] = None,
    markdown: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="FILE",
            help="Also write the conditions and the changes as Markdown, such as to $GITHUB_STEP_SUMMARY.",
        ),
    ] = None,
    page: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--html", metavar="FILE", help="Also write the conditions and the changes as an HTML page."
        ),
    ] = None,
    as_json: Json = False,
    verbose: Verbose = 0,
) -> None:
    """Compare two runs: what changed, by how much, how certainly.

    Both runs are of the same study, for example on different machines, kernels or versions.

    Exit status: 0 compared, 1 a condition of --fail-if holds, 2 bad input, 4 a condition has no interval,
    6 an interval is too wide to judge a condition (--inconclusive fail).
    """
    from nettrial.cli import compare
    from nettrial.cli.compare_files import ComparisonFiles

    files = ComparisonFiles(junit, markdown, page)
    before, after = compare.runs_of(first, second, baseline)
    raise typer.Exit(
        compare.show(
            before, after, fail_if or (), response or (), inconclusive, as_json, history or (), files
        )
    )


@command(commands, "pool")
def _pool(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN...",
            help="Directories of runs of one study, or a directory that contains them "
            "(`nettrial run --sessions`).",
        ),
    ],
    page: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option("--html", metavar="FILE", help="Write an HTML page as well."),
    ] = None,
    as_json: Json = False,
    verbose: Verbose = 0,
) -> None:
    """Pool runs of one study: results that a repetition keeps.

    Each run is one session. The intervals include the differences between sessions, which those of a single
    run do not. Also prints the results that one more session would show, the share of the variance between
    and within sessions, and what more sessions or more blocks would gain.
    """
    from nettrial.cli import pool

    pool.show(directories, as_json, page)


@command(commands, "predict")
def _predict(
    directory: RunDirectory,
    mtu: Annotated[str, typer.Option(metavar="SIZE,...", help="The MTUs, such as 3000,6000.")],
    as_json: Json = False,
    verbose: Verbose = 0,
) -> None:
    """Predict results for MTUs that a run did not include.

    A model is fitted to the goodput and CPU time at the run's MTUs, of which there must be at least three.
    Also prints the error that the model has for each MTU when it is fitted to the others.

    Exit status: 0 predicted, 2 bad input, or a run to which no model can be fitted."""
    from nettrial.cli import predict

    predict.show(directory, mtu, as_json)


@command(commands, "calibrate")
def _calibrate(
    directory: RunDirectory,
    json: Annotated[
        bool, typer.Option("--json", help="Print the costs and fits as one JSON document.")
    ] = False,
    verbose: Verbose = 0,
) -> None:
    """Fit the CPU cost of packets on hosts, for the simulator.

    Fits the CPU time that a packet and a kilobyte take on each host of a run, whose trials must have several
    packet sizes, for example because of their MTUs. Also prints the error that the fit has for each level
    when it uses only the others.

    Exit status: 0 fitted, 2 bad input, or a run without CPU times or packet counts."""
    from nettrial.cli import calibrate

    calibrate.show(directory, json)
