"""Measurements between this machine and a server in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl

from nettrial.api import READING_ARGUMENTS, arguments, setting_texts
from nettrial.errors import BadInput
from nettrial.measuring.kinds import measurement
from nettrial.measuring.measurement import Measurement, RepeatFinished, Repeats, refuse_directory, repeat
from nettrial.measuring.options import MeasureOptions
from nettrial.results import Results, load
from nettrial.running.stop import Stop
from nettrial.temporary import temporary_directory


class Measurements:
    """The repeats of a measurement."""

    def __init__(
        self, measured: Measurement[Any], repeats: Repeats[Any], compared: Results | None = None
    ) -> None:
        """Wraps the repeats, and the run that compares settings; use `nettrial.measure`."""
        self.words = measured.words
        """The measurement in words."""
        self.results: list[Any] = repeats.results
        """The result of each repeat: a `nettrial.scenario.Record` for the kinds tcp, udp and rr, a
        `nettrial.measuring.ndt7.Ndt7Test`, or a `nettrial.measuring.stamp.StampSession`."""
        self.failures: list[str] = repeats.failures
        """The reason of each repeat that failed."""
        self.answer: str | None = compared.answer if compared is not None else None
        """The comparison of settings, in a sentence; None without `settings`."""
        self._metrics = measured.metrics(self.results)
        self._changes = compared.changes() if compared is not None else None

    def metrics(self) -> pl.DataFrame:
        """Returns a row for each metric over the repeats, with its `unit`: the number of repeats that gave a
        value, their mean with its 95% interval, their median and their standard deviation. With `settings`,
        each treatment has rows of its own, and `direction` names it."""
        numbers = ("mean", "mean_low", "mean_high", "median", "deviation")
        schema = {
            **dict.fromkeys(("direction", "metric", "unit"), pl.String),
            "repeats": pl.Int64,
            **dict.fromkeys(numbers, pl.Float64),
        }
        rows = [
            [
                *(each.direction, each.metric, each.unit, each.cell.n, each.cell.mean),
                *((each.cell.interval.low, each.cell.interval.high) if each.cell.interval else (None, None)),
                *(each.cell.median, each.cell.deviation),
            ]
            for each in self._metrics
        ]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def changes(self) -> pl.DataFrame:
        """Returns the change of each metric from the first value of a setting to each other one, as
        `Results.changes` does; raises BadInput without `settings`."""
        if self._changes is None:
            raise BadInput(READING_ARGUMENTS, "settings", "", "settings to compare, such as mtu")
        return self._changes

    def __repr__(self) -> str:
        more = ", .changes()" if self._changes is not None else ""
        return f"<{self.words}: {len(self.results)} repeats, {len(self.failures)} failed; .metrics(){more}>"


def measure(
    host: str,
    kind: str = "tcp",
    *,
    iperf3: bool = False,
    port: int | None = None,
    ip: int | None = None,
    replicates: int = 10,
    parallel: int = 1,
    settings: Mapping[str, Sequence[object]] | None = None,
    time: str | None = None,
    reverse: bool = False,
    rate: str | None = None,
    size: str | None = None,
    interval: str | None = None,
    dscp: int | None = None,
    seed: int | None = None,
    token_file: str | Path | None = None,
    plain: bool = False,
    no_verify: bool = False,
    out: str | Path | None = None,
    progress: Callable[[RepeatFinished], object] | None = None,
) -> Measurements:
    """Measures between this machine and a server on `host`, as `nettrial measure` does.

    `kind` is tcp, udp or rr (requests and responses over TCP) with a server of `nettrial serve` or, if
    `iperf3` is true, of iperf3; ndt7; or stamp, which is STAMP and TWAMP Light. The other arguments are the
    options of the command, of which each kind takes some; quantities are texts, such as "5 s" and
    "10 Mbit/s". `settings` has the values that are compared, by setting: `{"mtu": [1500, 9000]}` is
    `--set mtu=1500,9000`. `out` stores the repeats as a run, which `load` and `compare` read. `progress` is
    called with an event after each repeat.

    Raises BadInput, and CannotRun if no session with the server began. Repeats that fail later are in
    `failures`.

    >>> import nettrial
    >>> measured = nettrial.measure(
    ...     "127.0.0.1", "udp", port=port, token_file="token", replicates=2, time="200 ms", rate="1 Mbit/s"
    ... )
    >>> measured.metrics().filter(metric="loss")["mean"].to_list()
    [0.0]
    >>> streams = {"parallel": [1, 2]}
    >>> compared = nettrial.measure(
    ...     "127.0.0.1", settings=streams, port=port, token_file="token", replicates=3, time="100 ms"
    ... )
    >>> compared.changes().filter(response="goodput")["parallel"].to_list()
    ['2']
    """
    with arguments():
        options = MeasureOptions(
            host=host,
            kind=kind,
            iperf3=iperf3,
            port=port,
            ip=ip,
            replicates=replicates,
            parallel=parallel,
            set=setting_texts(settings or {}),
            time=time,
            reverse=reverse,
            rate=rate,
            size=size,
            interval=interval,
            dscp=dscp,
            seed=seed,
            token_file=Path(token_file) if token_file is not None else None,
            plain=plain,
            no_verify=no_verify,
        )
        directory = Path(out) if out is not None else None
        measured = measurement(options)
        refuse_directory(directory)
        with measured:
            measured.warm_up()
            repeats = repeat(measured, progress or (lambda event: None), Stop())
        compared = None
        with ExitStack() as stack:
            if settings and directory is None:
                directory = stack.enter_context(temporary_directory()) / "run"
            if directory is not None and repeats.results:
                measured.store(directory, repeats.results)
                compared = load(directory) if settings else None
            return Measurements(measured, repeats, compared)
