"""The curves measured by a sweep, by size: round-trip times with intervals, and the ratio of two levels.

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
from nettrial.analysis.run_digest import digest
from nettrial.analysis.summary import Levels, baseline, plan_treatments
from nettrial.scenario import FlowRecord, SizeRecord
from nettrial.store import Run, Trial
from nettrial.study import Study

Floats: TypeAlias = npt.NDArray[np.float64]
"""An array of numbers."""


@dataclass(frozen=True)
class CurveMeans:
    """The means over trials, with their intervals, at several sizes."""

    sizes: Floats
    """The sizes in bytes; for a group of sizes, their mean."""
    mean: Floats
    """The mean at each size."""
    low: Floats
    """The lower bounds of the 95% intervals; the means themselves for a single trial."""
    high: Floats
    """The upper bounds, in the same way."""


@dataclass(frozen=True)
class Curve:
    """The sweep of a flow under a treatment."""

    flow: str
    """The flow's name."""
    treatment: Levels
    """The level of each factor."""
    transport: str
    """The flow's transport: tcp, udp or mptcp."""
    ip: int
    """The IP version: 4 or 6."""
    mtu_bytes: int
    """The smallest MTU of the network's links."""
    mss_bytes: int
    """The sender's effective maximum segment size."""
    sizes: Floats
    """The sizes that every trial measured, in bytes."""
    blocks: tuple[int, ...]
    """The block of each trial."""
    rtt_us: Floats
    """The mean round-trip time of requests, with a row for each trial and a column for each size."""
    minimum_us: Floats
    """The smallest round-trip time of requests, in the same layout."""
    total_us: Floats
    """The total time of all bytes, in the same layout."""


@dataclass(frozen=True)
class Ratio:
    """The comparison of two levels of the rows' factor at each size."""

    treatment: Levels
    """The treatment of the level that is not the baseline."""
    baseline: str
    """The level with which it is compared."""
    pairs: int
    """The number of blocks in which both levels gave values."""
    ratio: CurveMeans
    """The geometric means of the paired ratios to the baseline."""


def curves(run: Run) -> list[Curve]:
    """Returns the sweeps of a run's finished trials, in the order of treatments; empty if the study has
    none."""
    if not any(flow.traffic.kind == "sweep" for flow in run.study.workload):
        return []
    finished = digest(run).detailed
    swept = []
    for treatment in plan_treatments(run):
        of = [trial for trial in finished if trial.planned.treatment == treatment]
        for flow in _sweeps(run.study, treatment):
            curve = _curve(flow, treatment, of)
            if curve is not None:
                swept.append(curve)
    return swept


def _sweeps(study: Study, treatment: Levels) -> list[str]:
    """Returns the names of the flows whose traffic is a sweep."""
    entries = [flow.flow for flow in study.workload if flow.traffic.kind == "sweep"]
    return [name for entry in entries for name in study.group(treatment, entry)]


def _curve(flow: str, treatment: Levels, trials: Sequence[Trial]) -> Curve | None:
    """Returns the curve from these trials of a treatment; None if they have no results."""
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


def estimate(sizes: Floats, values: Floats, groups: int | None = None) -> CurveMeans:
    """Returns the means over trials (the rows of `values`) with intervals. With `groups`, neighbouring sizes
    are averaged to that many groups, unless there are no more sizes than that."""
    if groups is not None and len(sizes) > groups:
        starts = np.linspace(0, len(sizes), groups, endpoint=False).astype(int)
        counts = np.diff([*starts, len(sizes)])
        sizes = np.add.reduceat(sizes, starts) / counts
        values = np.add.reduceat(values, starts, axis=1) / counts
    mean = values.mean(axis=0)
    half = _half_width(values)
    return CurveMeans(sizes, mean, mean - half, mean + half)


def _half_width(values: Floats) -> Floats:
    """Returns the half-width of Student's t interval of the mean of each column; 0 for a single row."""
    count = len(values)
    if count < 2:
        return np.zeros(values.shape[1])
    factor = float(special.stdtrit(count - 1, (1 + CONFIDENCE) / 2))
    error: Floats = values.std(axis=0, ddof=1) / math.sqrt(count)
    return factor * error


def ratios(study: Study, all_curves: Sequence[Curve], groups: int | None = None) -> list[Ratio]:
    """Returns the ratio of each curve that is not at the baseline of the rows' factor to the corresponding
    curve at the baseline, paired by block."""
    rows, base = study.layout.rows, baseline(study)
    by_place = {(curve.flow, *_others(curve, rows), curve.treatment[rows]): curve for curve in all_curves}
    made = []
    for curve in all_curves:
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
        ratio = CurveMeans(logs.sizes, np.exp(logs.mean), np.exp(logs.low), np.exp(logs.high))
        made.append(Ratio(curve.treatment, base, len(blocks), ratio))
    return made


def _others(curve: Curve, rows: str) -> tuple[str, ...]:
    """Returns the levels of the other factors."""
    return tuple(level for name, level in curve.treatment.items() if name != rows)
