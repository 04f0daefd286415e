"""Compares the time that a real-time study takes until its answer is known to 2%: with intervals that have
the spread of all treatments instead of that of each pair, and with shorter traffic.

    python benches/time_to_precision.py DIR [--study STUDY ...] [--replicates 5]
    python benches/time_to_precision.py DIR --analyse

A run has every treatment of the study with traffic of the study's own duration and of each shorter one that
`run --budget` considers, in the same blocks, so that all have the same disturbances. For each duration and
both kinds of intervals, the bench states:

- the half-width in percent of the headline's change after the run's blocks: the median over all places, whose
  intervals hold together;
- the number of blocks after which it is 2%, if the deviations remain those of the run;
- the time that these blocks take, with the measured overhead of a trial.

A run that exists is kept. The bench needs the privileges of the backend `lab`. With 5 replicates, the three
studies take about 20 minutes."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import nettrial
from nettrial.analysis import summarise
from nettrial.analysis.changes import Change, change
from nettrial.analysis.intervals import StandardError
from nettrial.analysis.run_model import changes
from nettrial.running import pilot
from nettrial.store import Run
from nettrial.study import Study, load
from nettrial.study.document import Document
from nettrial.units import DURATION

STUDIES = ("jumbo-ipv6", "jellyfish-mptcp-hosts", "examples/round-trip-time")
WANTED_PERCENT = 2.0
MOST_BLOCKS = 100_000
"""The number of blocks beyond which none is searched for."""


@dataclass(frozen=True)
class Reached:
    """The precision of one kind of interval with one duration of the traffic."""

    duration: float
    """The duration of the traffic, in seconds."""
    kind: str
    """The kind of the interval."""
    made: int
    """The number of blocks of the run."""
    half_width: float
    """The half-width after these blocks, in percent."""
    blocks: int | None
    """The number of blocks that are needed."""
    seconds: float
    """The time of one block."""


def with_durations(study: Study) -> tuple[Study, pilot.Durations]:
    """Returns the study with the duration of its traffic as one more factor, and these durations."""
    lengths = [DURATION.parse(getattr(entry.traffic, "duration")) for entry in study.workload]  # noqa: B009
    durations = pilot.durations(study, max(lengths) / 1e9)
    shown = [f"{seconds:g} s" for seconds in durations.seconds]
    document: dict[str, Any] = study.model_dump(by_alias=True)
    document["factors"][pilot.FACTOR] = {
        "title": "Duration",
        "sets": {
            level: durations.settings(study, scale)
            for level, scale in zip(shown, durations.scales, strict=True)
        },
        "levels": shown,
        "baseline": shown[-1],
    }
    document["layout"]["columns"].append(pilot.FACTOR)
    document |= {"headline": None, "published": None, "conclusions": [], "until": None, "full": {}}
    made = Document.in_python({name: value for name, value in document.items() if value is not None})
    return Study.of(replace(made, path=study.document.path)), durations


def reached(run: Run, study: Study, durations: pilot.Durations) -> Iterator[Reached]:
    """Yields the precision of each kind of interval with each duration."""
    headline = study.headline
    factor = (headline and headline.factor) or study.layout.rows
    response = headline.responses[0] if headline and headline.responses else study.responses[0].name
    base = study.factors[factor].baseline or study.factors[factor].levels[0]
    [summary] = [each for each in summarise(run).responses if each.response.name == response]
    overhead = pilot.overhead(run, durations)
    for seconds in durations.seconds:
        cells = [cell for cell in summary.cells if cell.treatment[pilot.FACTOR] == f"{seconds:g} s"]
        positions = {tuple(sorted(cell.treatment.items())): at for at, cell in enumerate(cells)}
        compared = [
            (positions[tuple(sorted({**cell.treatment, factor: base}.items()))], at)
            for at, cell in enumerate(cells)
            if cell.treatment[factor] != base
        ]
        values = [cell.values for cell in cells]
        both = [
            (values[there], [block for block in values[there] if block in values[here]], values[here])
            for there, here in compared
        ]
        alone = [change([(there[block], here[block]) for block in blocks]) for there, blocks, here in both]
        kinds = {
            "each pair's spread": alone,
            "all treatments' spread": changes(values, compared, exact=False, sequential=False),
        }
        for kind, known in kinds.items():
            widths = [half_width(each, each.pairs, len(known)) for each in known]
            needed = [blocks_for(each, len(known)) for each in known]
            blocks = None if None in needed else math.ceil(median(each for each in needed if each))
            yield Reached(
                seconds, kind, known[0].pairs, median(widths), blocks, len(cells) * (seconds + overhead)
            )


def half_width(own: Change, blocks: int, family: int) -> float:
    """Returns the half-width in percent that a change has after a number of blocks; infinite without an
    interval. The standard error falls with the root of the number of blocks, and its degrees of freedom rise
    with the number less one."""
    if own.log_error is None or blocks < 2:
        return math.inf
    scale = (blocks - 1) / (own.pairs - 1)
    parts = tuple(
        (error * math.sqrt(own.pairs / blocks), freedom * scale) for error, freedom in own.log_error.parts
    )
    return 100 * math.expm1(StandardError(parts).half_width(family))


def blocks_for(own: Change, family: int) -> int | None:
    """Returns the number of blocks after which the half-width is the wanted one; None without an interval."""
    low, high = 1, MOST_BLOCKS
    if half_width(own, high, family) > WANTED_PERCENT:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if half_width(own, middle, family) <= WANTED_PERCENT else (middle, high)
    return high


def show(name: str, rows: Sequence[Reached]) -> None:
    """Prints a study's table."""
    first = rows[-2]
    print(f"{name}: {first.made} blocks, half-width of {WANTED_PERCENT:g}% wanted")
    for row in rows:
        blocks = "more than 100,000" if row.blocks is None else str(row.blocks)
        time = math.inf if row.blocks is None else row.blocks * row.seconds
        ratio = time / (first.blocks * first.seconds) if first.blocks else math.nan
        print(
            f"  traffic of {row.duration:g} s, {row.kind}: ±{row.half_width:.2f}%; "
            f"{blocks} blocks, {time:.0f} s, {ratio:.2f} of before"
        )


def main() -> None:
    """Makes and analyses the runs."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--study", nargs="+", default=STUDIES)
    parser.add_argument("--replicates", type=int, default=5)
    parser.add_argument("--analyse", action="store_true")
    given = parser.parse_args()
    for name in given.study:
        study = load(name)
        several, durations = with_durations(study)
        out = given.directory / name.replace("/", "-")
        if not given.analyse and not out.exists():
            nettrial.run(several, replicates=given.replicates, seed=1, reruns=0, backend="lab", out=out)
        run = Run.open(out)
        show(name, list(reached(run, study, durations)))


if __name__ == "__main__":
    main()
