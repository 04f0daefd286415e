"""The commands and their options.

Each command imports its module when it runs: those of the others, and what they need, would take longer to
load than most commands take to run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

import nettrial
from nettrial.cli import log
from nettrial.cli.help import Grouped, examples

app = typer.Typer(
    cls=Grouped,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=examples(""),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Controlled trials for network performance.",
)

StudyName = Annotated[str, typer.Argument(metavar="STUDY", help="A shipped study's name, or a study file.")]
Full = Annotated[
    bool,
    typer.Option("--full", help="Use the original publication's scale."),
]
Set = Annotated[
    Optional[list[str]],  # noqa: UP045 - typer reads the annotation
    typer.Option(
        "--set",
        metavar="NAME=VALUE,...",
        help="The levels of a factor, or the value of a setting by its dotted path "
        "(several values make it a factor). May be given more than once.",
    ),
]
Replicates = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(min=1, metavar="N", help="Replicates of each treatment.", show_default="the study's"),
]
Seed = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(min=0, max=2**63 - 1, metavar="N", help="Seed for the trial order.", show_default="random"),
]

Until = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Option(
        "--until",
        metavar="PERCENT",
        help="Add blocks until half of the interval of every response's mean is this much of it or less, "
        'such as "2%"; of one response alone: "rtt=5%"; "declared": as the study\'s responses say by their '
        "`precision`. May be given more than once.",
    ),
]
MinBlocks = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(
        min=4, metavar="N", help="With --until: the fewest blocks.", show_default="the replicates, at least 5"
    ),
]
MaxBlocks = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(min=4, metavar="N", help="With --until: the most blocks.", show_default="50"),
]
BackendName = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option(
        "--backend",
        metavar="NAME",
        help="Backend that runs the trials: a name in `nettrial list backends`.",
        show_default="the study's",
    ),
]


LISTS = ("studies", "topologies", "metrics", "stacks", "congestion", "backends")
"""The lists that `nettrial list` shows."""

MachinesFile = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        "--machines", metavar="FILE", help="With --backend hosts: your machines (see `nettrial machines`)."
    ),
]


Verbose = Annotated[
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        callback=log.begin,
        show_default=False,
        metavar="",
        help="Log to standard error; -vv: in detail.",
    ),
]


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


@app.command("run", epilog=examples("run"))
def _run(
    study: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(metavar="[STUDY]", help="A shipped study's name, or a study file."),
    ] = None,
    full: Full = False,
    set: Set = None,
    replicates: Replicates = None,
    seed: Seed = None,
    until: Until = None,
    min_blocks: MinBlocks = None,
    max_blocks: MaxBlocks = None,
    backend: BackendName = None,
    machines_file: MachinesFile = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="DIR", help="The run's directory, which must not exist.", show_default="runs/STUDY-TIME"
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in --out.")] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="A trial with a warning counts as failed.")
    ] = False,
    capture: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="TRIALS",
            help="Capture packets as pcapng files: of the `first` block's trials, or of `all`.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check that everything could run, and write nothing.")
    ] = False,
    verbose: Verbose = 0,
) -> None:
    """Run a study and report it.

    Ctrl-C ends it after the trials that are running.

    Exit status: 0 done, 2 bad input, 3 this machine can't run it, 4 trials failed, 130 interrupted.
    """
    from nettrial.cli import run
    from nettrial.cli.design import DesignOptions

    sets = (*(set or ()), *([f"measurement.capture.trials={capture}"] if capture else []))
    options = DesignOptions(full, sets, replicates, seed, tuple(until or ()), min_blocks, max_blocks, backend)
    if resume:
        raise typer.Exit(run.resume(study, options, out, strict, machines_file))
    raise typer.Exit(run.start(study, options, out, strict, machines_file, dry_run))


@app.command("resume", epilog=examples("resume"))
def _resume(
    directory: Annotated[Path, typer.Argument(metavar="RUN", help="A run's directory.")],
    machines_file: MachinesFile = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="A trial with a warning counts as failed.")
    ] = False,
    verbose: Verbose = 0,
) -> None:
    """Go on with a run that was stopped, or whose trials failed.

    Exit status: 0 done, 2 bad input, 3 this machine can't run it, 4 trials failed, 130 interrupted.
    """
    from nettrial.cli import run
    from nettrial.cli.design import DesignOptions

    raise typer.Exit(run.resume(None, DesignOptions(), directory, strict, machines_file))


@app.command("runs", epilog=examples("runs"))
def _runs(
    directory: Annotated[Path, typer.Argument(metavar="[DIR]", help="The directory with runs in it.")] = Path(
        "runs"
    ),
    json: Annotated[bool, typer.Option("--json", help="Print the list as one JSON document.")] = False,
    verbose: Verbose = 0,
) -> None:
    """List stored runs: study, state, size."""
    from nettrial.cli import runs

    runs.show(directory, json)


@app.command("init", epilog=examples("init"))
def _init(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="The study's directory, which must not exist.")
    ],
    verbose: Verbose = 0,
) -> None:
    """Begin a study of your own from a commented template."""
    from nettrial.cli import init

    init.write(directory)


@app.command("show", epilog=examples("show"))
def _show(
    study: StudyName,
    full: Full = False,
    set: Set = None,
    replicates: Replicates = None,
    seed: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=0, max=2**63 - 1, metavar="N", help="Show the trial order of this seed."),
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
            help="With --until: show how many trials that takes and how long, by this earlier run. May be "
            "given more than once.",
        ),
    ] = None,
    verbose: Verbose = 0,
) -> None:
    """Show what a study would run, and for how long. Nothing is run."""
    from nettrial.cli import show
    from nettrial.cli.design import DesignOptions

    options = DesignOptions(
        full, tuple(set or ()), replicates, seed, tuple(until or ()), min_blocks, max_blocks, backend
    )
    show.show(study, options, earlier or ())


@app.command("report", epilog=examples("report"))
def _report(
    directory: Annotated[Path, typer.Argument(metavar="RUN", help="A run's directory.")],
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
    verbose: Verbose = 0,
) -> None:
    """Report a stored run again: the answer, the effects, the warnings."""
    from nettrial.cli import run

    run.report_again(directory, figures, tables, show, also)


@app.command("book", epilog=examples("book"))
def _book(
    directories: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Directories of runs.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The book's directory, which must not exist.")],
    verbose: Verbose = 0,
) -> None:
    """Put published and measured figures of several runs into a book.

    Writes book.html, book.md and, by a browser of this machine (chromium, google-chrome), book.pdf.
    """
    from nettrial.cli import book

    book.show(directories, out)


@app.command("watch", epilog=examples("watch"))
def _watch(
    directory: Annotated[Path, typer.Argument(metavar="RUN", help="A run's directory.")],
    port: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=0, max=65535, metavar="PORT", help="The port.", show_default="any that is free"),
    ] = None,
    verbose: Verbose = 0,
) -> None:
    """Follow a run live in your browser, until Ctrl-C.

    The page follows the run: it is drawn again when trials were added, as long as a browser shows it.
    Drawing takes CPU time, and trials that run meanwhile may say so. Exit status: 2 bad input, 3 the
    port can't be opened.
    """
    from nettrial.cli import watch

    watch.watch(directory, port)


@app.command("export", epilog=examples("export"))
def _export(
    directory: Annotated[Path, typer.Argument(metavar="RUN", help="A run's directory.")],
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

    Tables of trials, flows, hosts, interfaces, time series and warnings. Columns have their units in
    their names; a row of each table says which trial, block and levels it is of.
    """
    from nettrial.cli import export

    export.export_run(directory, to, out)


@app.command("compare", epilog=examples("compare"))
def _compare(
    first: Annotated[Path, typer.Argument(metavar="RUN_A", help="The directory of the run before.")],
    second: Annotated[Path, typer.Argument(metavar="RUN_B", help="The directory of the run after.")],
    fail_if: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--fail-if",
            metavar="CONDITION",
            help='RESPONSE < PERCENT or RESPONSE > PERCENT, such as "throughput < -3%": exit status 1 where '
            "a change is beyond it and its interval excludes no change. May be given more than once.",
        ),
    ] = None,
    response: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            metavar="NAME",
            help="Compare by this response alone: fewer comparisons have narrower intervals. May be given "
            "more than once.",
            show_default="all",
        ),
    ] = None,
    verbose: Verbose = 0,
) -> None:
    """Compare two runs: what changed, by how much, how sure.

    Runs of other machines, kernels or versions, of the same study.

    Exit status: 0 compared, 1 a condition of --fail-if holds, 2 bad input, 4 a condition can't be judged.
    """
    from nettrial.cli import compare

    raise typer.Exit(compare.show(first, second, fail_if or (), response or ()))


@app.command("predict", epilog=examples("predict"))
def _predict(
    directory: Annotated[Path, typer.Argument(metavar="RUN", help="A run's directory.")],
    mtu: Annotated[str, typer.Option(metavar="SIZE,...", help="The MTUs, such as 3000,6000.")],
    verbose: Verbose = 0,
) -> None:
    """Predict results at MTUs that a run did not have.

    Goodput and CPU time, by a model fitted on the MTUs it had. Shows the error on each level when the
    others predict it. Needs three MTUs.

    Exit status: 0 predicted, 2 bad input, or a run that allows no model.
    """
    from nettrial.cli import predict

    predict.show(directory, mtu)


@app.command("calibrate", epilog=examples("calibrate"))
def _calibrate(
    directory: Annotated[Path, typer.Argument(metavar="RUN", help="A run's directory.")],
    json: Annotated[bool, typer.Option("--json", help="Print costs and fits as one JSON document.")] = False,
    verbose: Verbose = 0,
) -> None:
    """Fit the cost of packets to hosts, for the simulator.

    Fits what a packet and a kilobyte cost each host of a run. Shows the error on each level when the
    others tell it. Needs several packet sizes, such as MTUs.

    Exit status: 0 fitted, 2 bad input, or a run that counted no CPU time or no packets.
    """
    from nettrial.cli import calibrate

    calibrate.show(directory, json)


@app.command("list", epilog=examples("list"))
def _list(
    what: Annotated[str, typer.Argument(metavar="WHAT", help=f"{', '.join(LISTS)}.")],
    verbose: Verbose = 0,
) -> None:
    """List studies, topologies, metrics, stacks and more."""
    from nettrial.cli import listing

    listing.show(what)


@app.command("draw", epilog=examples("draw"))
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
            metavar="FILE", help="A picture (.svg, .png), or a page with picture and facts (.html)."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the facts as one JSON document.")] = False,
    verbose: Verbose = 0,
) -> None:
    """Draw a topology and print its properties.

    Path lengths, diameter, bisection, spectral gap. A topology that joins a study's hosts is drawn with
    four, or as many as it takes. Of a study it is the network of the first treatment: stations of a radio
    channel that have positions are drawn there, with their carrier sense ranges.
    """
    from nettrial.cli import draw

    draw.draw(topology, set or (), out, json)


@app.command("doctor", epilog=examples("doctor"))
def _doctor(
    backend: Annotated[
        Optional[str],  # noqa: UP045
        typer.Argument(metavar="[BACKEND]", help="The one backend to look at, such as sim."),
    ] = None,
    verbose: Verbose = 0,
) -> None:
    """Check what this machine supports, and what is missing.

    Exit status: 0 the backend can run trials (without BACKEND: every one can), 2 bad input, 3 it can't.
    """
    from nettrial.cli import doctor

    raise typer.Exit(doctor.doctor(backend))


machines_app = typer.Typer(no_args_is_help=True, help="Manage your own machines, for --backend hosts.")
app.add_typer(machines_app, name="machines")
InventoryFile = Annotated[Path, typer.Option("--machines", metavar="FILE", help="The inventory.")]
MACHINES_FILE = Path("machines.yaml")
MachineNames = Annotated[
    Optional[list[str]],  # noqa: UP045
    typer.Argument(metavar="[MACHINE]...", help="Machines by name; all where none is given."),
]


@machines_app.command("check")
def _machines_check(file: InventoryFile = MACHINES_FILE, verbose: Verbose = 0) -> None:
    """Reach every machine and print what it is, how large packets pass, and what is missing.

    The MTU of interfaces that may be changed is raised for it, and restored. Exit status: 0 nothing is
    missing, 2 bad input, 3 something is.
    """
    from nettrial.cli import machines

    raise typer.Exit(machines.check(file))


@machines_app.command("list")
def _machines_list(file: InventoryFile = MACHINES_FILE, verbose: Verbose = 0) -> None:
    """List the machines of the inventory. None is reached."""
    from nettrial.cli import machines

    machines.show(file)


@machines_app.command("add")
def _machines_add(
    name: Annotated[str, typer.Argument(metavar="MACHINE", help="Its name in studies and reports.")],
    interface: Annotated[
        list[str],
        typer.Option(
            metavar="NAME=ADDRESS,...",
            help="An interface and the addresses there that traffic may use. May be given more than once.",
        ),
    ],
    ssh: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="DESTINATION", help="Reach it by `ssh DESTINATION`."),
    ] = None,
    command: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="COMMAND", help='Reach it by a command, such as "docker exec -i web".'),
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
            metavar="NODE", help="A node of studies that it stands for. May be given more than once."
        ),
    ] = None,
    file: InventoryFile = MACHINES_FILE,
    verbose: Verbose = 0,
) -> None:
    """Add a machine to the inventory, which is made where there is none. Nothing is reached."""
    from nettrial.cli import machines

    machines.add(file, name, ssh, command, interface, may_change or (), node or ())


@machines_app.command("install")
def _machines_install(
    names: MachineNames = None, file: InventoryFile = MACHINES_FILE, verbose: Verbose = 0
) -> None:
    """Copy the engine to machines, into the user's home directory there, checked by its hash.

    Exit status: 0 done, 2 bad input, 3 a machine has it not.
    """
    from nettrial.cli import machines

    raise typer.Exit(machines.copy_engine(file, names or ()))


@machines_app.command("restore")
def _machines_restore(
    names: MachineNames = None, file: InventoryFile = MACHINES_FILE, verbose: Verbose = 0
) -> None:
    """Restore what a session left changed on machines, such as after a power cut.

    Sessions restore what they change themselves, however they end; so does the next one on a machine, before
    it begins. Exit status: 0 done, 2 bad input, 3 something could not be restored.
    """
    from nettrial.cli import machines

    raise typer.Exit(machines.undo(file, names or ()))


@app.command("path", epilog=examples("path"))
def _path(
    host: Annotated[str, typer.Argument(metavar="HOST", help="The far host's name or address.")],
    ip: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="4|6", help="The IP version.", show_default="each that the host has"),
    ] = None,
    max_mtu: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="SIZE", help="The largest IP packet to try.", show_default="the interface's MTU"
        ),
    ] = None,
    rate: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="RATE",
            help='The path\'s rate, such as "10 Gbit/s".',
            show_default="the interface's speed",
        ),
    ] = None,
    port: Annotated[
        Optional[list[int]],  # noqa: UP045
        typer.Option(
            metavar="PORT",
            help="A TCP port to look at the segment size with; nothing is sent to it. May be given more than "
            "once: the first open one is used.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON document.")] = False,
    verbose: Verbose = 0,
) -> None:
    """Examine the path to a host, and whether jumbo frames pass.

    Finds the MTU in each direction and by hop. Runs unprivileged; with the privilege to send ICMP echo
    it measures the reverse path, too. Exit status: 0 examined, whatever the verdict, 2 bad input, 3
    this machine can't probe.
    """
    from nettrial.cli import path

    path.examine(host, ip, max_mtu, rate, port or (), json)


TokenFile = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(metavar="FILE", help="The file with the token.", show_default="NETTRIAL_TOKEN"),
]


@app.command("serve", epilog=examples("serve"))
def _serve(
    iperf3: Annotated[bool, typer.Option("--iperf3", help="Serve iperf3's clients instead.")] = False,
    port: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            min=0, max=65535, metavar="PORT", help="The port; 0: any.", show_default="5210, iperf3: 5201"
        ),
    ] = None,
    bind: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="ADDRESS", help="Address to serve at.", show_default="every address"),
    ] = None,
    token_file: TokenFile = None,
    verbose: Verbose = 0,
) -> None:
    """Let other machines measure against this one, until Ctrl-C.

    Clients show the token of --token-file or of the environment variable NETTRIAL_TOKEN; without
    either, one is made and printed. With --iperf3 there is no token: anyone who reaches the port is
    served. Exit status: 2 bad input, 3 the port can't be opened.
    """
    from nettrial.cli import serve

    serve.serve(iperf3, port, bind, token_file)


@app.command("measure", epilog=examples("measure"))
def _measure(
    host: Annotated[str, typer.Argument(metavar="HOST", help="The machine that serves.")],
    kind: Annotated[
        str, typer.Argument(metavar="[KIND]", help="tcp, udp, or rr: requests and responses over TCP.")
    ] = "tcp",
    iperf3: Annotated[bool, typer.Option("--iperf3", help="Measure with an iperf3 server.")] = False,
    port: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, max=65535, metavar="PORT", help="Its port.", show_default="5210, iperf3: 5201"),
    ] = None,
    ip: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="4|6", help="The IP version.", show_default="what the name gives"),
    ] = None,
    replicates: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="Number of repeats, after a warm-up.")
    ] = 10,
    time: Annotated[str, typer.Option(metavar="TIME", help="Duration of each repeat: 5, 500 ms.")] = "5 s",
    reverse: Annotated[bool, typer.Option("--reverse", "-R", help="The other machine sends.")] = False,
    rate: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="RATE",
            help="Rate to send at: 100M, 10 Mbit/s.",
            show_default="udp: 10 Mbit/s, tcp: unlimited",
        ),
    ] = None,
    size: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            metavar="SIZE",
            help="Size of a packet, message or write: 1400, 16 KiB.",
            show_default="udp: 1400 B, rr: 64 B",
        ),
    ] = None,
    seed: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            min=0, max=2**63 - 1, metavar="N", help="Seed of the random numbers.", show_default="random"
        ),
    ] = None,
    token_file: TokenFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print figures and records as JSON.")] = False,
    verbose: Verbose = 0,
) -> None:
    """Measure between this machine and one that serves.

    That one runs `nettrial serve`, or an iperf3 server.

    Exit status: 0 done, 2 bad input, 3 no session with that machine, 4 repeats failed, 130 interrupted.
    """
    from nettrial.cli import measure

    options = measure.MeasureOptions(
        host, kind, iperf3, port, ip, replicates, time, reverse, rate, size, seed, token_file, as_json
    )
    raise typer.Exit(measure.measure(options))
