"""The commands that measure without a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Optional

import typer

from nettrial.cli import READING
from nettrial.cli.help import command
from nettrial.cli.options import JSON_HELP, Ip, Json, Quiet, Verbose, address, between
from nettrial.errors import BadInput

commands = typer.Typer()
"""The parser of these commands."""


@command(commands, "path")
def _path(
    host: Annotated[str, typer.Argument(metavar="HOST", help="The remote host's name or address.")],
    ip: Ip = None,
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
            help="A TCP port to read the segment size from; no data is sent to it. May be given more than "
            "once: the first open one is used.",
        ),
    ] = None,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="FILE",
            help="Also write the report to this file, which must not exist, as a JSON document, to compare "
            "with a later one.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON document.")] = False,
    verbose: Verbose = 0,
) -> None:
    """Examine the path to a host, and whether jumbo frames pass.

    Finds the MTU in each direction, and the largest packet that reaches each hop. Runs unprivileged; with the
    privilege to send ICMP echo it measures the reverse path, too. Exit status: 0 examined, whatever the
    verdict, 2 bad input, 3 this machine can't probe.
    """
    from nettrial.cli import path

    path.examine(host, ip, max_mtu, rate, port or (), json, out)


TokenFile = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(metavar="FILE", help="The file with the token.", show_default="NETTRIAL_TOKEN"),
]
"""The option `--token-file`."""


@command(commands, "serve")
def _serve(
    iperf3: Annotated[bool, typer.Option("--iperf3", help="Serve iperf3 clients instead.")] = False,
    ndt7: Annotated[bool, typer.Option("--ndt7", help="Serve ndt7 clients (M-Lab) instead.")] = False,
    stamp: Annotated[
        bool, typer.Option("--stamp", help="Reflect packets of STAMP and TWAMP Light instead.")
    ] = False,
    port: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            callback=between(0, 65535),
            metavar="PORT",
            help="The port; 0 for any free one.",
            show_default="5210, iperf3: 5201, ndt7: 4443, stamp: 862",
        ),
    ] = None,
    bind: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            callback=address,
            metavar="ADDRESS",
            help="Address to listen on: 0.0.0.0 or :: for every network.",
            show_default="127.0.0.1, which only this machine reaches",
        ),
    ] = None,
    token_file: TokenFile = None,
    certificate: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="FILE",
            help="ndt7: the certificate, in PEM format.",
            show_default="a generated one, which no client trusts",
        ),
    ] = None,
    key: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="FILE", help="ndt7: the certificate's key.", show_default="in the certificate's file"
        ),
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="ndt7: serve without TLS.")] = False,
    as_json: Json = False,
    verbose: Verbose = 0,
) -> None:
    """Let other machines measure to and from this one, until Ctrl-C.

    Clients need the token in --token-file or in the environment variable NETTRIAL_TOKEN; without either, a
    token is generated and printed. With --iperf3 or --ndt7 there is no token: anyone who can reach the port
    is served. With --stamp, the token is the key of authenticated mode; without one, anyone is served.
    Exit status: 2 bad input, 3 the port can't be opened."""
    from nettrial.cli import serve

    serve.serve(
        serve.ServeOptions(iperf3, ndt7, stamp, port, bind, token_file, certificate, key, plain, as_json)
    )


@command(commands, "measure")
def _measure(
    host: Annotated[str, typer.Argument(metavar="HOST", help="The machine that runs the server.")],
    kind: Annotated[
        str,
        typer.Argument(
            metavar="[KIND]",
            help="tcp, udp, rr (requests and responses over TCP), ndt7 (M-Lab; each repeat is a download and "
            "an upload), or stamp (delays and loss with a reflector of STAMP or TWAMP Light).",
        ),
    ] = "tcp",
    iperf3: Annotated[bool, typer.Option("--iperf3", help="Measure against an iperf3 server.")] = False,
    ndt7: Annotated[
        bool,
        typer.Option("--ndt7", hidden=True, help="The kind ndt7."),
    ] = False,
    stamp: Annotated[
        bool,
        typer.Option("--stamp", hidden=True, help="The kind stamp."),
    ] = False,
    udp: Annotated[bool, typer.Option("-u", help="The kind udp.")] = False,
    port: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            "--port",
            "-p",
            metavar="PORT",
            help="The server's port.",
            show_default="5210, iperf3: 5201, ndt7: 4443, stamp: 862",
        ),
    ] = None,
    ip: Ip = None,
    ipv4: Annotated[bool, typer.Option("-4", help="The same as --ip 4.")] = False,
    ipv6: Annotated[bool, typer.Option("-6", help="The same as --ip 6.")] = False,
    replicates: Annotated[int, typer.Option(metavar="N", help="Number of repeats, after a warm-up.")] = 10,
    parallel: Annotated[
        int,
        typer.Option(
            "--parallel",
            "-P",
            metavar="N",
            help="Number of streams at the same time.",
        ),
    ] = 1,
    set: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(
            "--set",
            metavar="SETTING=VALUE,VALUE",
            help="Compare these values of a setting, in random order within blocks: mtu, congestion_control, "
            "parallel, window, ip or transport. May be given more than once.",
        ),
    ] = None,
    time: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--time",
            "-t",
            metavar="TIME",
            help="Duration of each repeat: 5, 500 ms; ndt7: of each direction.",
            show_default="5 s, ndt7: 10 s",
        ),
    ] = None,
    reverse: Annotated[
        bool, typer.Option("--reverse", "-R", help="Reverse the direction: the other machine sends.")
    ] = False,
    rate: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--rate",
            "-b",
            metavar="RATE",
            help="Rate of each stream: 100M, 10 Mbit/s.",
            show_default="udp: 10 Mbit/s, tcp: unlimited",
        ),
    ] = None,
    size: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(
            "--size",
            "-l",
            metavar="SIZE",
            help="Size of each packet, message or write: 1400, 16 KiB.",
            show_default="udp: 1400 B, rr: 64 B, stamp: 44 B, with a key 112 B",
        ),
    ] = None,
    interval: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="TIME", help="stamp: time between packets.", show_default="20 ms"),
    ] = None,
    dscp: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", help="stamp: the packets' DSCP.", show_default="0"),
    ] = None,
    seed: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            metavar="N",
            help="Seed of the random numbers.",
            show_default="random",
        ),
    ] = None,
    token_file: TokenFile = None,
    plain: Annotated[bool, typer.Option("--plain", help="ndt7: without TLS.")] = False,
    no_verify: Annotated[bool, typer.Option("--no-verify", help="ndt7: accept every certificate.")] = False,
    out: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(
            metavar="DIR",
            help="Store the repeats as a run in this directory, which must not exist, for `nettrial compare` "
            "and `nettrial report`.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", "-J", help=JSON_HELP)] = False,
    quiet: Quiet = False,
    verbose: Verbose = 0,
) -> None:
    """Measure between this machine and another one.

    The other machine runs `nettrial serve`, or a server of iperf3, ndt7 or STAMP.

    Exit status: 0 done, 2 bad input, 3 no session with that machine, 4 repeats failed, 130 interrupted.
    """
    from nettrial.cli import measure
    from nettrial.measuring.options import MeasureOptions

    for option, name, is_given in (("-u", "udp", udp), ("--ndt7", "ndt7", ndt7), ("--stamp", "stamp", stamp)):
        if is_given and kind not in ("tcp", name):
            raise BadInput(READING, "KIND", kind, f"no {kind} with {option}")
        kind = name if is_given else kind
    for option, version, is_given in (("-4", 4, ipv4), ("-6", 6, ipv6)):
        if is_given and ip not in (None, version):
            raise BadInput(READING, option, "", f"no {option} with --ip {ip}")
        ip = version if is_given else ip
    options = MeasureOptions(
        host=host,
        kind=kind,
        iperf3=iperf3,
        port=port,
        ip=ip,
        replicates=replicates,
        parallel=parallel,
        set=tuple(set or ()),
        time=time,
        reverse=reverse,
        rate=rate,
        size=size,
        interval=interval,
        dscp=dscp,
        seed=seed,
        token_file=token_file,
        plain=plain,
        no_verify=no_verify,
    )
    raise typer.Exit(measure.measure(options, measure.MeasureOutput(as_json, quiet, out)))


@command(commands, "monitor")
def _monitor(
    mesh: Annotated[Path, typer.Argument(metavar="MESH", help="The file with hosts and measurements.")],
    dry: Annotated[
        bool, typer.Option("--dry-run", help="Check the file, and show what would be measured.")
    ] = False,
    systemd: Annotated[
        bool, typer.Option("--systemd", help="Print a systemd unit that runs the monitor as you.")
    ] = False,
    port: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(
            callback=between(0, 65535),
            metavar="PORT",
            help="Serve the page and metrics for Prometheus at this port; 0 for any free one.",
            show_default="no page",
        ),
    ] = None,
    bind: Annotated[
        str,
        typer.Option(
            callback=address,
            metavar="ADDRESS",
            help="The address of the page; 0.0.0.0 or :: for every network.",
        ),
    ] = "127.0.0.1",
    allow_exec: Annotated[
        bool,
        typer.Option(
            "--allow-exec",
            help="Run the command in the mesh file that sends alerts, and those in the inventory.",
        ),
    ] = False,
    quiet: Quiet = False,
    verbose: Verbose = 0,
) -> None:
    """Measure between many hosts again and again, until Ctrl-C.

    Each measurement is repeated at its interval, and no host takes part in two at once. The archive contains
    every measurement, and the reason for every gap. A restarted monitor continues where it stopped.

    Exit status: 0 stopped, 2 bad input, 3 the archive can't be written."""
    from nettrial.cli import monitor

    monitor.monitor(monitor.MonitorOptions(mesh, dry, systemd, quiet, port, bind, allow_exec))
