"""The curves that a sweep found, by size: round-trip times with intervals, and the ratio of two levels.

A trial gives one value for each size; intervals are over trials."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from nettrial import units
from nettrial.analysis.intervals import CONFIDENCE
from nettrial.analysis.summary import Levels, baseline, plan_treatments
from nettrial.scenario import FlowRecord, SizeRecord
from nettrial.store import Run, Trial
from nettrial.study import Study

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """Means over trials, with their intervals, for each of several sizes."""

    sizes: Floats
    """Bytes; of a group of sizes their mean."""
    mean: Floats
    low: Floats
    """Lower bounds of the 95% intervals; the means themselves where there is one trial."""
    high: Floats


@dataclass(frozen=True)
class Curve:
    """One flow's sweep under one treatment."""

    flow: str
    treatment: Levels
    transport: str
    ip: int
    mtu_bytes: int
    """The smallest MTU of the network's links."""
    mss_bytes: int
    """The sender's maximum segment size in force."""
    sizes: Floats
    """The sizes that every trial measured, bytes."""
    blocks: tuple[int, ...]
    """The block of each trial."""
    rtt_us: Floats
    """A row for each trial, a column for each size: the mean time of a request."""
    minimum_us: Floats
    """The same of the smallest time of a request."""
    total_us: Floats
    """The same of the time that all bytes took."""


@dataclass(frozen=True)
class Ratio:
    """The comparison of two levels of the rows' factor, size by size."""

    treatment: Levels
    """The treatment of the level that is not the baseline."""
    baseline: str
    pairs: int
    """Blocks in which both levels gave values."""
    ratio: Estimate
    """Geometric means of the paired ratios to the baseline."""


def curves(run: Run) -> list[Curve]:
    """The sweeps of a run's finished trials, in the order of treatments; none where the study has none."""
    if not any(flow.traffic.kind == "sweep" for flow in run.study.workload):
        return []
    finished = run.trials()
    found = []
    for treatment in plan_treatments(run):
        of = [trial for trial in finished if trial.planned.treatment == treatment]
        for flow in _sweeps(run.study, treatment):
            curve = _curve(flow, treatment, of)
            if curve is not None:
                found.append(curve)
    return found


def _sweeps(study: Study, treatment: Levels) -> list[str]:
    """The names of the flows that sweep."""
    entries = [flow.flow for flow in study.workload if flow.traffic.kind == "sweep"]
    return [name for entry in entries for name in study.group(treatment, entry)]


def _curve(flow: str, treatment: Levels, trials: Sequence[Trial]) -> Curve | None:
    """Returns the curve that these trials of one treatment found; None if they found nothing."""
    measured: list[tuple[Trial, FlowRecord, dict[int, SizeRecord]]] = []
    for trial in trials:
        for record in trial.record.flows:
            if record.name == flow and record.sizes:
                measured.append((trial, record, {size.size_bytes: size for size in record.sizes}))
    if not measured:
        return None
    common = sorted(set.intersection(*(set(sizes) for _, _, sizes in measured)))
    first, record, _ = measured[0]
    mtus = [units.SIZE.parse(interface.mtu.root) for link in first.scenario.links for interface in link.ends]

    def rows(value: Callable[[SizeRecord], float]) -> Floats:
        return np.array([[value(sizes[size]) for size in common] for _, _, sizes in measured])

    return Curve(
        flow=flow,
        treatment=treatment,
        transport=record.transport.root,
        ip=record.ip.root,
        mtu_bytes=min(mtus),
        mss_bytes=record.mss_bytes,
        sizes=np.array(common, dtype=float),
        blocks=tuple(trial.planned.block for trial, _, _ in measured),
        rtt_us=rows(lambda size: fmean(size.rtt_us)),
        minimum_us=rows(lambda size: min(size.rtt_minimum_us)),
        total_us=rows(lambda size: fmean(size.total_us)),
    )


def estimate(sizes: Floats, values: Floats, groups: int | None = None) -> Estimate:
    """Means over trials (the rows of `values`) with intervals. With `groups`: of the means of so many groups
    of neighbouring sizes, or of every size where there are no more of them."""
    if groups is not None and len(sizes) > groups:
        starts = np.linspace(0, len(sizes), groups, endpoint=False).astype(int)
        counts = np.diff([*starts, len(sizes)])
        sizes = np.add.reduceat(sizes, starts) / counts
        values = np.add.reduceat(values, starts, axis=1) / counts
    mean = values.mean(axis=0)
    half = _half_width(values)
    return Estimate(sizes, mean, mean - half, mean + half)


def _half_width(values: Floats) -> Floats:
    """Half of Student's t interval of the mean of each column; 0 where there is one row."""
    count = len(values)
    if count < 2:
        return np.zeros(values.shape[1])
    factor = float(special.stdtrit(count - 1, (1 + CONFIDENCE) / 2))
    error: Floats = values.std(axis=0, ddof=1) / math.sqrt(count)
    return factor * error


def ratios(study: Study, found: Sequence[Curve], groups: int | None = None) -> list[Ratio]:
    """For each curve whose level of the rows' factor is not the baseline, its ratio to the curve of the
    baseline, paired by block."""
    rows, base = study.layout.rows, baseline(study)
    by_place = {(curve.flow, *_others(curve, rows), curve.treatment[rows]): curve for curve in found}
    made = []
    for curve in found:
        other = by_place.get((curve.flow, *_others(curve, rows), base))
        if curve.treatment[rows] == base or other is None:
            continue
        blocks = sorted(set(curve.blocks) & set(other.blocks))
        _, here, there = np.intersect1d(curve.sizes, other.sizes, return_indices=True)
        if not blocks or not len(here):
            continue
        ours = curve.rtt_us[[curve.blocks.index(block) for block in blocks]][:, here]
        theirs = other.rtt_us[[other.blocks.index(block) for block in blocks]][:, there]
        logs = estimate(curve.sizes[here], np.log(ours) - np.log(theirs), groups)
        ratio = Estimate(logs.sizes, np.exp(logs.mean), np.exp(logs.low), np.exp(logs.high))
        made.append(Ratio(curve.treatment, base, len(blocks), ratio))
    return made


def _others(curve: Curve, rows: str) -> tuple[str, ...]:
    """The levels of the other factors."""
    return tuple(level for name, level in curve.treatment.items() if name != rows)
