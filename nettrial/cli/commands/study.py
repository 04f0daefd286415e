"""The commands that run a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from nettrial.cli.help import command
from nettrial.cli.options import (
    AllowExec,
    BackendName,
    Full,
    Inconclusive,
    Json,
    MachinesFile,
    MaxBlocks,
    MinBlocks,
    On,
    Quiet,
    Replicates,
    Reruns,
    Seed,
    Set,
    Until,
    Verbose,
    between,
    shipped_studies,
    studies,
)
from nettrial.errors import READING_OPTIONS, BadInput

commands = typer.Typer()
"""The parser of these commands."""
NOT_WITH = {
    "--budget": ("--sessions", "--resume", "--dry-run"),
    "--sessions": ("--resume", "--dry-run", "--until"),
    "--resume": ("--dry-run", "--out"),
}
"""For an option of `nettrial run`, those that exclude it."""
ONLY_WITH = {
    "--apart": "--sessions",
    "--another-apparatus": "--resume",
    "--from": "--dry-run",
    "--junit": "--fail-if",
}
"""For an option of `nettrial run`, the one that it needs."""


@command(commands, "run")
def _run(
    study: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(
            metavar="[STUDY]", help="A shipped study's name, or a study file.", autocompletion=studies
        ),
    ] = None,
    full: Full = False,
    set: Set = None,
    replicates: Replicates = None,
    seed: Seed = None,
    until: Until = None,
    min_blocks: MinBlocks = None,
    max_blocks: MaxBlocks = None,
    reruns: Reruns = None,
    backend: BackendName = None,
    machines_file: MachinesFile = None,
    on: On = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="DIR", help="The run's directory, which must not exist.", show_default="runs/STUDY-TIME"
        ),
    ] = None,
    resume: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="RUN",
            help="Resume the run in this directory, which was stopped or whose trials failed, as it was "
            "planned.",
        ),
    ] = None,
    another_apparatus: Annotated[
        bool,
        typer.Option(
            "--another-apparatus",
            help="With --resume: resume although the kernel, the CPUs, nettrial or another part of the "
            "apparatus is not that of the run's earlier sessions. The report then warns of it.",
        ),
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Count a trial with a warning as failed.")] = False,
    capture: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="TRIALS",
            help="Capture packets as pcapng files, in the `first` block's trials or in `all`.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show what would run, and how long that takes, check that all trials can run, and write "
            "nothing. With --seed, also show the trial order.",
        ),
    ] = False,
    earlier: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Option(
            "--from",
            metavar="RUN",
            help="With --dry-run and --until: estimate the number of trials and the time that they take from "
            "this earlier run. May be given more than once.",
        ),
    ] = None,
    sessions: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            callback=between(2),
            metavar="N",
            help="Run the plan N times, each in a session of its own with a new engine and network, as the "
            "runs DIR/1 to DIR/N, and report what they have in common, as `nettrial pool` does.",
        ),
    ] = None,
    apart: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="TIME", help='With --sessions: the time between two, such as "10 min".'),
    ] = None,
    budget: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="TIME",
            help='Give the best answer within this time, such as "1 min": a pilot chooses the duration '
            "of the traffic and the number of replicates. With --until, the run stops as soon as means are "
            "known that precisely. The pilot is stored in DIR-pilot.",
        ),
    ] = None,
    fail_if: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--fail-if",
            metavar="CONDITION",
            help='RESPONSE < VALUE or RESPONSE > VALUE, such as "rtt_p99 > 20 ms". The exit status is 1 if '
            "the whole confidence interval of a mean is beyond this limit. May be given more than once.",
        ),
    ] = None,
    inconclusive: Inconclusive = "pass",
    junit: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="FILE",
            help="Also write a JUnit XML file: a test case for each condition of --fail-if under each "
            "treatment.",
        ),
    ] = None,
    allow_exec: AllowExec = False,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = 0,
) -> None:
    """Run a study and report it.

    Ctrl-C ends the run after the trials in progress; --resume continues it.

    Exit status: 0 done, 1 a condition of --fail-if holds, 2 bad input, 3 this machine can't run it, 4 trials
    failed or a condition has no interval, 6 an interval is too wide to judge a condition (--inconclusive
    fail), 130 interrupted.
    """
    from nettrial.cli import run
    from nettrial.cli.limits import Gate
    from nettrial.running.start import TrialMachines
    from nettrial.running.study_design import DesignOptions

    sets = (*(set or ()), *([f"measurement.capture.trials={capture}"] if capture else []))
    blocks = (tuple(until or ()), min_blocks, max_blocks)
    options = DesignOptions(full, sets, replicates, seed, *blocks, backend, reruns)
    gate = Gate(tuple(fail_if or ()), inconclusive, junit)
    gate.check()
    target, form = TrialMachines(machines_file, on), run.RunOutput(as_json=as_json)
    manner = run.Manner(strict, target, form, quiet, allow_exec, gate, another_apparatus)
    given = {
        "--budget": budget is not None,
        "--sessions": sessions is not None,
        "--resume": resume is not None,
        "--dry-run": dry_run,
        "--until": bool(until),
        "--out": out is not None,
        "--apart": apart is not None,
        "--another-apparatus": another_apparatus,
        "--from": bool(earlier),
        "--junit": junit is not None,
        "--fail-if": bool(fail_if),
    }
    for option, others in NOT_WITH.items():
        for other in others:
            if given[option] and given[other]:
                raise BadInput(READING_OPTIONS, other, "given", f"not with {option}")
    for option, other in ONLY_WITH.items():
        if given[option] and not given[other]:
            raise BadInput(READING_OPTIONS, option, "given", f"only with {other}")
    if budget is not None:
        from nettrial.cli import budget as within

        raise typer.Exit(within.start(study, options, out, manner, budget))
    if sessions is not None:
        from nettrial.cli import sessions as several

        raise typer.Exit(several.start(study, options, out, manner, sessions, apart))
    if resume is not None:
        raise typer.Exit(run.resume(study, options, resume, manner))
    if dry_run:
        from nettrial.cli import dry_run as dry

        raise typer.Exit(dry.dry_run(study, options, out, manner, earlier or ()))
    raise typer.Exit(run.start(study, options, out, manner))


@command(commands, "init")
def _init(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="The study's directory, which must not exist.")
    ],
    source: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--from",
            metavar="STUDY",
            help="Copy a shipped study or an example of the cookbook instead.",
            show_default=False,
            autocompletion=shipped_studies,
        ),
    ] = None,
    two_hosts: Annotated[
        bool,
        typer.Option("--two-hosts", help="A study between two machines of yours, with their inventory."),
    ] = False,
    mininet: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--from-mininet",
            metavar="FILE[:NAME[,ARG…]]",
            help="A study on the network of a Topo class of Mininet, run without privileges.",
            show_default=False,
        ),
    ] = None,
    containerlab: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            "--from-containerlab",
            metavar="FILE",
            help="A study on the network of a topology file of containerlab.",
            show_default=False,
        ),
    ] = None,
    verbose: Verbose = 0,
) -> None:
    """Create a study of your own from a commented template."""
    from nettrial.cli import init

    given = {"--from": source, "--from-mininet": mininet, "--from-containerlab": containerlab}
    options = [name for name, value in given.items() if value is not None] + ["--two-hosts"] * two_hosts
    if len(options) > 1:
        raise BadInput(READING_OPTIONS, options[1], "given", f"none with {options[0]}")
    if mininet is not None:
        init.from_mininet(directory, mininet)
    elif containerlab is not None:
        init.from_containerlab(directory, containerlab)
    else:
        init.write(directory, source, two_hosts)
