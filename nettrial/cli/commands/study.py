"""The commands that run a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from nettrial.bounds import LARGEST_SEED
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
    StudyName,
    Until,
    Verbose,
    between,
    shipped_studies,
    studies,
)

commands = typer.Typer()
"""The parser of these commands."""


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
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in --out.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Count a trial with a warning as failed.")] = False,
    capture: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="TRIALS",
            help="Capture packets as pcapng files, in the `first` block's trials or in `all`.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check that all trials can run, and write nothing.")
    ] = False,
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
    allow_exec: AllowExec = False,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = 0,
) -> None:
    """Run a study and report it.

    Ctrl-C ends the run after the trials in progress.

    Exit status: 0 done, 1 a condition of --fail-if holds, 2 bad input, 3 this machine can't run it, 4 trials
    failed or a condition has no interval, 6 an interval is too wide to judge a condition (--inconclusive
    fail), 130 interrupted.
    """
    from nettrial.cli import run
    from nettrial.cli.limits import Gate, without_study
    from nettrial.running.start import TrialMachines
    from nettrial.running.study_design import DesignOptions

    sets = (*(set or ()), *([f"measurement.capture.trials={capture}"] if capture else []))
    blocks = (tuple(until or ()), min_blocks, max_blocks)
    options = DesignOptions(full, sets, replicates, seed, *blocks, backend, reruns)
    gate = Gate(tuple(fail_if or ()), inconclusive)
    gate.check()
    manner = run.Manner(
        strict, TrialMachines(machines_file, on), run.RunOutput(as_json=as_json), quiet, allow_exec, gate
    )
    for option, is_given in (("--budget", budget is not None), ("--sessions", sessions is not None)):
        if is_given:
            without_study(gate.conditions, option)
    if budget is not None:
        from nettrial.cli import budget as within
        from nettrial.errors import READING_OPTIONS, BadInput

        for option, given in (("--sessions", sessions), ("--resume", resume), ("--dry-run", dry_run)):
            if given:
                raise BadInput(READING_OPTIONS, option, "given", "not with --budget")
        raise typer.Exit(within.start(study, options, out, manner, budget))
    if sessions is not None:
        from nettrial.cli import sessions as several
        from nettrial.errors import READING_OPTIONS, BadInput

        for option, given in (("--resume", resume), ("--dry-run", dry_run), ("--until", bool(until))):
            if given:
                raise BadInput(READING_OPTIONS, option, "given", "not with --sessions")
        raise typer.Exit(several.start(study, options, out, manner, sessions, apart))
    if apart is not None:
        from nettrial.errors import READING_OPTIONS, BadInput

        raise BadInput(READING_OPTIONS, "--apart", apart, "only with --sessions")
    if resume:
        raise typer.Exit(run.resume(study, options, out, manner))
    raise typer.Exit(run.start(study, options, out, manner, dry_run))


@command(commands, "resume")
def _resume(
    directory: Annotated[Path, typer.Argument(metavar="RUN", help="A run's directory.")],
    machines_file: MachinesFile = None,
    on: On = None,
    strict: Annotated[bool, typer.Option("--strict", help="Count a trial with a warning as failed.")] = False,
    allow_exec: AllowExec = False,
    another_apparatus: Annotated[
        bool,
        typer.Option(
            "--another-apparatus",
            help="Resume although the kernel, the CPUs, nettrial or another part of the apparatus is not "
            "that of the run's earlier sessions. The report then warns of it.",
        ),
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = 0,
) -> None:
    """Resume a run that was stopped, or whose trials failed.

    Exit status: 0 done, 2 bad input, 3 this machine can't run it, 4 trials failed, 130 interrupted.
    """
    from nettrial.cli import run
    from nettrial.running.start import TrialMachines
    from nettrial.running.study_design import DesignOptions

    form = run.RunOutput(as_json=as_json)
    target = TrialMachines(machines_file, on)
    manner = run.Manner(strict, target, form, quiet, allow_exec, another_apparatus=another_apparatus)
    raise typer.Exit(run.resume(None, DesignOptions(), directory, manner))


@command(commands, "runs")
def _runs(
    directory: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Argument(metavar="[DIR]", help="The directory that contains the runs.", show_default="runs"),
    ] = None,
    as_json: Json = False,
    verbose: Verbose = 0,
) -> None:
    """List stored runs with study, state and size."""
    from nettrial.cli import runs

    runs.show(directory, as_json)


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
    from nettrial.cli import READING, init
    from nettrial.errors import BadInput

    given = {"--from": source, "--from-mininet": mininet, "--from-containerlab": containerlab}
    options = [name for name, value in given.items() if value is not None] + ["--two-hosts"] * two_hosts
    if len(options) > 1:
        raise BadInput(READING, options[1], "given", f"none with {options[0]}")
    if mininet is not None:
        init.from_mininet(directory, mininet)
    elif containerlab is not None:
        init.from_containerlab(directory, containerlab)
    else:
        init.write(directory, source, two_hosts)


@command(commands, "show")
def _show(
    study: StudyName,
    full: Full = False,
    set: Set = None,
    replicates: Replicates = None,
    seed: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            callback=between(0, LARGEST_SEED), metavar="N", help="Show the trial order with this seed."
        ),
    ] = None,
    until: Until = None,
    min_blocks: MinBlocks = None,
    max_blocks: MaxBlocks = None,
    backend: BackendName = None,
    earlier: Annotated[
        Optional[list[Path]],  # noqa: UP045
        typer.Option(
            "--from",
            metavar="RUN",
            help="With --until: estimate the number of trials and the time that they take from this earlier "
            "run. May be given more than once.",
        ),
    ] = None,
    as_json: Json = False,
    verbose: Verbose = 0,
) -> None:
    """Show what a study would run, and how long that takes."""
    from nettrial.cli import show
    from nettrial.running.study_design import DesignOptions

    options = DesignOptions(
        full, tuple(set or ()), replicates, seed, tuple(until or ()), min_blocks, max_blocks, backend
    )
    show.show(study, options, earlier or (), as_json)
