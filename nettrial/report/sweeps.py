"""The report's section on sweeps: round-trip times at a few sizes, and the steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from nettrial.analysis import (
    Curve,
    Interval,
    Ratio,
    Step,
    Steps,
    baseline,
    curves,
    estimate,
    mean_interval,
    ratios,
    steps,
)
from nettrial.report import numbers, tables
from nettrial.report.tables import Table, TableCell
from nettrial.store import Run
from nettrial.study import Study

SIZES_SHOWN = 10
"""The number of sizes shown in a table, out of thousands, spread evenly on a logarithmic scale."""
DECIMALS = 2
"""The number of decimals of microseconds."""


@dataclass(frozen=True)
class Sweeps:
    """The curves, ratios and steps of the sweeps of a run."""

    curves: list[Curve]
    """The curve of each sweep under each treatment."""
    steps: list[Steps]
    """The steps of each curve."""
    ratios: list[Ratio]
    """The ratios of the curves to the baseline, by size."""
    table: Table
    """The round-trip times at a few sizes in microseconds."""
    findings: list[str]
    """The findings on each curve's steps, in a few sentences each."""


def gather(run: Run) -> Sweeps | None:
    """Returns the sweeps of a run; None if none has finished."""
    swept = curves(run)
    if not swept:
        return None
    stepped = steps(swept)
    compared = ratios(run.study, swept)
    return Sweeps(
        curves=swept,
        steps=stepped,
        ratios=compared,
        table=_table(run.study, swept, compared),
        findings=[finding(run.study, each) for each in stepped],
    )


def name(study: Study, curve: Curve) -> str:
    """Returns the name of a curve by its levels, with that of the rows' factor first: "MTU 9000 B – Transport
    udp"."""
    rows = study.layout.rows
    return tables.label(study, {rows: curve.treatment[rows]} | curve.treatment)


def finding(study: Study, reached: Steps) -> str:
    """Returns the steps of one curve in words."""
    curve = reached.curve
    kind = "fragment" if curve.transport == "udp" else "segment"
    parts = []
    if reached.expected:
        shown = sum(step.is_shown for step in reached.expected)
        costs = reached.packet_us
        bounds = mean_interval(costs)
        cost = numbers.signed(fmean(costs), DECIMALS)
        cost += f" {numbers.bounds(bounds, DECIMALS)}" if bounds else ""
        parts.append(f"one more {kind} costs {cost} us on average")
        alone = f"individually, {shown} of {numbers.counted(len(reached.expected), 'step')} are shown"
        parts.append(alone if bounds else "one trial can't show single steps")
    if reached.skipped:
        parts.append(f"too few sizes to test {numbers.counted(reached.skipped, 'further step')}")
    if reached.unsearched:
        parts.append(f"no search for other steps: {reached.unsearched}")
    else:
        seen = sum(step.seen for step in reached.in_reach)
        parts.append(
            f"a search without knowledge of the boundaries finds {seen} of the {len(reached.in_reach)} "
            "within its range"
        )
        others = (
            numbers.listed(_elsewhere(step) for step in reached.other) if reached.other else "none elsewhere"
        )
        parts.append(others)
    return f"{name(study, curve)}: {'; '.join(parts)}."


def _elsewhere(step: Step) -> str:
    return f"one elsewhere after {step.after_bytes:.0f} B, of {height(step)} us"


def height(step: Step) -> str:
    """Returns a step's height with its interval, in microseconds."""
    text = numbers.signed(step.height_us, DECIMALS)
    return f"{text} {numbers.bounds(step.interval, DECIMALS)}" if step.interval else text


def listed(step: Step) -> list[str]:
    """Returns a step as a table row: the size after which it occurs, the packets, the height, whether it is
    significant, and whether the search found it."""
    packets = f"{step.packets} → {step.packets + 1}" if step.packets else "elsewhere"
    if step.packets is None:
        verdict = "yes"
    elif step.probability is None:
        verdict = "can't be judged with one trial"
    else:
        verdict = "yes" if step.is_shown else "not shown"
    return [f"{step.after_bytes:.0f} B", packets, height(step), verdict, "yes" if step.seen else "no"]


LISTED = ("after", "packets", "height of the minimum, us [95%]", "a step", "found by search")
"""The headings of those rows."""


def every(reached: Steps) -> list[Step]:
    """Returns the steps of a curve at boundaries and elsewhere, ordered by size."""
    return sorted([*reached.expected, *reached.other], key=lambda step: step.after_bytes)


def _table(study: Study, all_curves: Sequence[Curve], compared: Sequence[Ratio]) -> Table:
    """Returns a table with a column for each curve, and changes from the baseline where they exist."""
    asked = {float(response.of.partition(".")[2]) for response in study.responses if "." in response.of}
    sizes = np.unique(np.concatenate([curve.sizes for curve in all_curves]))
    spread = np.geomspace(sizes[0], sizes[-1], SIZES_SHOWN)
    chosen = {float(sizes[np.abs(sizes - size).argmin()]) for size in spread} | (asked & set(sizes))
    rows = sorted(chosen)
    changes = {tuple(ratio.treatment.values()): ratio for ratio in compared}
    entries = tuple(tuple(_entry(curve, size, changes) for curve in all_curves) for size in rows)
    columns = tuple(name(study, curve) for curve in all_curves)
    return Table("Size", tuple(f"{size:.0f} B" for size in rows), columns, entries)


def _entry(curve: Curve, size: float, changes: dict[tuple[str, ...], Ratio]) -> TableCell:
    at = np.flatnonzero(curve.sizes == size)
    if not len(at):
        return TableCell(note="this size was not measured")
    shown = estimate(curve.sizes[at], curve.rtt_us[:, at])
    mean, several = float(shown.mean[0]), len(curve.blocks) > 1
    half = numbers.fixed(float(shown.high[0]) - mean, DECIMALS) if several else ""
    change, interval = _change(size, changes.get(tuple(curve.treatment.values())))
    return TableCell(
        value=numbers.fixed(mean, DECIMALS),
        half_interval=half,
        change=change,
        change_interval=interval,
        n=len(curve.blocks),
    )


def _change(size: float, ratio: Ratio | None) -> tuple[str, str]:
    """Returns the change from the baseline at a size in percent, and its interval."""
    if ratio is None or size not in ratio.ratio.sizes:
        return "", ""
    at = int(np.flatnonzero(ratio.ratio.sizes == size)[0])
    mean, low, high = (
        100 * (float(part[at]) - 1) for part in (ratio.ratio.mean, ratio.ratio.low, ratio.ratio.high)
    )
    interval = numbers.bounds(Interval(low, high), 1) if ratio.pairs > 1 else ""
    return numbers.signed(mean, 1), interval


def caption(study: Study) -> str:
    """Returns the baseline of the table's changes in words."""
    return f"{study.factors[study.layout.rows].title} {baseline(study)}"
