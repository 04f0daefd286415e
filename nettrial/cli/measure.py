"""`nettrial measure`: measures the network between this machine and a server."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nettrial.analysis import absences, repeated, seen
from nettrial.backends import Measurer, TrialFailed, find_server, measured_flow, streams_of
from nettrial.backends.remote import IPERF3_PORT, PORT
from nettrial.cli import READING, documents
from nettrial.cli.console import print_lists, print_table, say
from nettrial.cli.progress import Display
from nettrial.cli.run import INTERRUPTED
from nettrial.cli.serve import check_token
from nettrial.cli.signals import Signals
from nettrial.errors import BadInput, CannotRun, TrialsFailed
from nettrial.metrics import METRICS
from nettrial.report import numbers
from nettrial.running.stop import Stop
from nettrial.scenario import Flow, Record
from nettrial.store.directory import refuse_existing
from nettrial.units import DURATION, RATE, SIZE, Quantity, UnitError

TOKEN = "NETTRIAL_TOKEN"
"""The environment variable with the token."""

KEEPING = "keeping the measurement"
"""The current action, for error messages."""
STREAM_METRICS = ("goodput", "transaction_rate", "rtt", "retransmissions", "loss", "jitter_rfc3550", "owd")
"""The metrics shown in the table of streams, if the streams have them."""
KINDS = ("tcp", "udp", "rr")
"""The kinds of measurement."""
TIME = "5 s"
"""The default of `--time`."""
SET_UP_SECONDS = 0.2
"""The time that a repeat takes in addition to its traffic."""
IPERF3_UNITS = {
    "time": {"": "s"},
    "rate": {"": "bit/s", "K": "kbit/s", "M": "Mbit/s", "G": "Gbit/s", "T": "Tbit/s"},
    "size": {"": "B", "K": "KiB", "M": "MiB", "G": "GiB"},
}
"""The units for iperf3's notation of numbers with a one-letter suffix or none: "--time 5", "--rate 100M",
"--size 1400"."""


@dataclass(frozen=True)
class MeasureOptions:
    """The options of the command, as they were given."""

    host: str
    """The name or address of the server's machine."""
    kind: str
    """The kind of measurement, one of `KINDS`."""
    iperf3: bool
    """True if the server is iperf3's."""
    port: int | None
    """The server's port; None for the default one."""
    ip: int | None
    """The IP version; None for the host's."""
    replicates: int
    """The number of repeats, without the warm-up."""
    parallel: int
    """The number of streams at the same time."""
    time: str
    """The duration of each repeat, as given."""
    reverse: bool
    """True if the server sends."""
    rate: str | None
    """The rate of each stream, as given; None for the default one."""
    size: str | None
    """The size of packets, messages or writes, as given; None for the default one."""
    seed: int | None
    """The seed of the random numbers; None for a random one."""
    token_file: Path | None
    """The file with the token."""
    as_json: bool
    """True if a JSON document is printed."""
    quiet: bool = False
    """True if no progress is shown."""
    out: Path | None = None
    """The directory of the run as which the measurement is stored."""

    def streams(self) -> list[str]:
        """Returns the names of the streams in the records."""
        return streams_of(self.parallel)


def measure(options: MeasureOptions) -> int:
    """Measures, prints the results, and returns the exit status; raises BadInput, CannotRun and
    TrialsFailed."""
    options = _with_units(options)
    _check(options)
    if options.out:
        refuse_existing(options.out, KEEPING, hint="choose another directory for each measurement")
    seconds = _quantity("--time", DURATION, options.time) / 1e9
    server, version = server_at(
        options.host, options.port or (IPERF3_PORT if options.iperf3 else PORT), options.ip
    )
    seed = int.from_bytes(os.urandom(4)) if options.seed is None else options.seed
    warm_up = _flow(options, version, seed)
    if not options.iperf3 and options.token_file is None and not os.environ.get(TOKEN):
        expected = f"the file with the token that `nettrial serve` printed, or the token in {TOKEN}"
        hint = "against a server that has no token: --iperf3, --ndt7 or --stamp"
        raise BadInput(READING, "--token-file", "missing", expected, hint)
    if options.token_file is not None:
        check_token(options.token_file)
    repeats = numbers.counted(options.replicates, "repeat")
    if not options.quiet:
        say(f"{_in_words(options)}: {repeats} of {options.time} after a warm-up, IPv{version}, seed {seed}")
    records: list[Record] = []
    failures: list[str] = []
    with (
        Measurer(server, options.iperf3, options.token_file) as measurer,
        Signals(Stop(measurer.kill), unit="repeat") as stop,
    ):
        measurer.warm_up(warm_up, options.parallel, seconds)
        length = options.replicates * (seconds + SET_UP_SECONDS)
        with Display(0, options.replicates, length, quiet=options.quiet, unit="repeats") as display:
            display.begin()
            for number in range(1, options.replicates + 1):
                if stop.wanted:
                    break
                try:
                    flow = _flow(options, version, seed + number)
                    record = measurer.run(str(number), flow, options.parallel, seconds)
                except (TrialFailed, CannotRun) as failed:
                    if stop.at_once:
                        break
                    failures.append(f"repeat {number}: {failed}")
                    display.failed(failures[-1])
                else:
                    records.append(record)
                    display.finished(len(record.warnings))
        stopped = stop.wanted
    if records:
        if options.out:
            # imported only when needed: it needs studies, which are slow to load
            from nettrial.cli.measured_run import Part, keep

            keep(options.out, _in_words(options), [Part(warm_up, options.streams())], seed, records)
        if options.as_json:
            _print_json(options, seed, records)
        else:
            _print(options, records)
    if failures:
        raise TrialsFailed(f"{len(failures)} of {options.replicates} repeats failed")
    return INTERRUPTED if stopped else 0


def seconds_of(time: str, option: str = "--time") -> float:
    """Returns the duration that was given as an option, in seconds; raises BadInput."""
    return _quantity(option, DURATION, _with_unit(time, IPERF3_UNITS["time"])) / 1e9


def bytes_of(size: str) -> int:
    """Returns the size that was given as `--size`, in bytes; raises BadInput."""
    return _quantity("--size", SIZE, _with_unit(size, IPERF3_UNITS["size"]))


def _with_units(options: MeasureOptions) -> MeasureOptions:
    """Returns the options with a unit added to each bare number."""
    return replace(
        options,
        time=_with_unit(options.time, IPERF3_UNITS["time"]),
        rate=options.rate and _with_unit(options.rate, IPERF3_UNITS["rate"]),
        size=options.size and _with_unit(options.size, IPERF3_UNITS["size"]),
    )


def _with_unit(text: str, units: dict[str, str]) -> str:
    """Returns a bare number with its unit, and any other text unchanged."""
    match = re.fullmatch(r"([0-9.]+)([A-Z]?)", text.upper())
    unit = units.get(match[2]) if match else None
    return f"{match[1]} {unit}" if match and unit else text


def _check(options: MeasureOptions) -> None:
    """Raises BadInput for options that can't be combined."""
    if options.kind not in KINDS:
        raise BadInput(READING, "KIND", options.kind, ", ".join(KINDS))
    if options.iperf3 and options.kind == "rr":
        raise BadInput(READING, "KIND", "rr", "tcp, udp", "iperf3 has no request-response traffic")
    if options.iperf3 and options.token_file:
        raise BadInput(READING, "--token-file", str(options.token_file), "none with --iperf3")
    if options.kind == "rr" and options.rate is not None:
        hint = "a request follows a response at once"
        raise BadInput(READING, "--rate", options.rate, "none with rr", hint)


def _quantity(option: str, quantity: Quantity, text: str) -> int:
    try:
        return quantity.parse(text)
    except UnitError as error:
        raise BadInput(READING, option, error.text, error.expected) from None


def server_at(host: str, port: int, ip: int | None) -> tuple[str, int]:
    """Returns a server's address with its port, and the IP version; raises BadInput."""
    try:
        return find_server(host, port, ip)
    except LookupError as why:
        expected = "a name or an address" + (f" with an IPv{ip} address" if ip else "")
        raise BadInput(READING, "HOST", host, expected, str(why)) from None


def _flow(options: MeasureOptions, version: int, seed: int) -> Flow:
    """Returns the traffic of a repeat."""
    for option, quantity, text in (("--size", SIZE, options.size), ("--rate", RATE, options.rate)):
        if text:
            _quantity(option, quantity, text)
    return measured_flow(
        options.kind,
        version,
        options.time,
        seed,
        reverse=options.reverse,
        rate=options.rate,
        size=options.size,
    )


def _in_words(options: MeasureOptions) -> str:
    kind = {"tcp": "TCP", "udp": "UDP", "rr": "requests and responses over TCP"}[options.kind]
    way = f"from {options.host}" if options.reverse else f"to {options.host}"
    streams = f", {numbers.counted(options.parallel, 'stream')}" if options.parallel > 1 else ""
    return f"{kind} {way}{streams}" + (" (iperf3)" if options.iperf3 else "")


def _print(options: MeasureOptions, records: list[Record]) -> None:
    """Prints the table of metrics, a table of the streams if there are several, and warnings."""
    rows = []
    for found in repeated(records, options.streams()):
        cell, metric = found.cell, found.metric
        assert cell.median is not None
        median = numbers.fixed(cell.median, numbers.value_decimals([cell]))
        rows.append([metric.title, numbers.with_half_width(cell), median, metric.unit, str(cell.n)])
    print(f"{_in_words(options)}, {numbers.counted(len(records), 'repeat')} of {options.time}")
    print()
    print_table(["metric", "mean ± half-width of its 95% interval", "median", "unit", "repeats"], rows)
    if options.parallel > 1:
        _print_streams(options, records)
    warned = [
        f"{one.object}: {one.message} ({numbers.counted(one.repeats, 'repeat')}); {one.consequence}"
        for one in seen(records)
    ]
    titles = {metric.name: metric.title for metric in METRICS.values()}
    absent = [
        f"{titles.get(name, name)}: {why}" for name, why in absences(records, options.streams()).items()
    ]
    print_lists({"Warnings": warned, "Not measured": absent})


def _print_streams(options: MeasureOptions, records: list[Record]) -> None:
    """Prints a table with a row for each stream."""
    streams = {
        name: {found.metric.name: found for found in repeated(records, [name])} for name in options.streams()
    }
    shown = [name for name in STREAM_METRICS if any(name in stream for stream in streams.values())]
    titles = [f"{METRICS[name].title.lower()}, {METRICS[name].unit}" for name in shown]
    print()
    print_table(
        ["stream", *titles],
        [
            [
                name,
                *(
                    numbers.with_half_width(stream[metric].cell) if metric in stream else "-"
                    for metric in shown
                ),
            ]
            for name, stream in streams.items()
        ],
    )


def _measured(records: list[Record], flows: Sequence[str]) -> list[documents.Measured]:
    """Returns every metric of the flows together, over the repeats."""
    return [
        documents.Measured(
            metric=found.metric.name,
            unit=found.metric.unit,
            repeats=found.cell.n,
            mean=found.cell.mean,
            median=found.cell.median,
            deviation=found.cell.deviation,
            interval=documents.bounds(found.cell.interval),
        )
        for found in repeated(records, flows)
    ]


def _print_json(options: MeasureOptions, seed: int, records: list[Record]) -> None:
    """Prints the records and the metrics over them as one document."""
    streams = options.streams()
    documents.show(
        documents.MeasureDocument(
            command=shlex.join(["nettrial", *sys.argv[1:]]),
            seed=seed,
            metrics=_measured(records, streams),
            streams=[documents.Stream(flow=name, metrics=_measured(records, [name])) for name in streams],
            records=[r.model_dump(mode="json", by_alias=True, exclude_none=True) for r in records],
        )
    )
