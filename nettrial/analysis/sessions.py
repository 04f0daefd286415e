"""Several runs of one study as independent sessions: what a repetition keeps, and what more of which kind
would gain.

The trials of a run share all that is common to its session: the state of the machine, other work, the
placement of memory. A run's own intervals hold for its session only. Here a session counts once, by its
means, so that intervals include the differences between sessions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nettrial.analysis.changes import Change, in_percent
from nettrial.analysis.intervals import Floats, Interval, around, quantile
from nettrial.analysis.level_effects import Finding, findings
from nettrial.analysis.summary import Cell, Levels, ResponseSummary, cell_of, plan_treatments, summarise
from nettrial.errors import BadInput
from nettrial.store import Run
from nettrial.study import Response, Study

DOING = "pooling the runs"
"""The current action, for error messages."""
PREDICTION = "Student's t over sessions, of one more"
"""The method of the interval of a repeated run."""


@dataclass(frozen=True)
class SessionMean:
    """The mean of a response under a treatment over sessions, in the response's unit."""

    treatment: Levels
    """The level of each factor."""
    means: tuple[float | None, ...]
    """The mean of each session; None without a value."""
    mean: float | None
    """The mean of the sessions' means; None without a value."""
    interval: Interval | None
    """The 95% interval of the mean over all sessions; None for fewer than two, or for equal ones."""
    prediction: Interval | None
    """The interval that contains the mean of one more session with a probability of 95%."""


@dataclass(frozen=True)
class Shares:
    """The variance of one value, by its origin, as shares of 1. Values above 0 are analysed as logarithms."""

    session: float
    """The share of differences between sessions that all treatments have in common."""
    treatment_by_session: float
    """The share of differences between sessions that treatments do not have in common: it limits changes."""
    block: float
    """The share of differences between the blocks of a session."""
    residual: float
    """The share of the differences between trials of one treatment and session that remains."""
    deviation: float
    """The standard deviation of one value: relative, in percent, for logarithms; otherwise in the response's
    unit."""


@dataclass(frozen=True)
class Gain:
    """The half-width of the interval of a treatment's mean, in the unit of `Shares.deviation`, as expected
    from the shares of the variance."""

    now: float
    """The half-width with the sessions and blocks of these runs."""
    sessions: float
    """The half-width with twice the sessions."""
    blocks: float
    """The half-width with twice the blocks in each session."""


@dataclass(frozen=True)
class PooledResponse:
    """A response over several sessions."""

    response: Response
    """The response."""
    means: tuple[SessionMean, ...]
    """The mean under each treatment."""
    cells: tuple[Cell, ...]
    """The sessions' means under each treatment, with the session in place of the block."""
    findings: tuple[Finding, ...]
    """The effects of each factor, with the session in place of the block; their intervals hold for
    repetitions."""
    shares: Shares | None
    """The origin of the variance; None without two complete sessions, or if no value varies."""
    gain: Gain | None
    """The gain of more sessions or blocks; None without `shares`."""


@dataclass(frozen=True)
class Pool:
    """Several runs of one study."""

    study: Study
    """The study of the first run."""
    sessions: int
    """The number of runs."""
    blocks: int
    """The number of blocks of the run that has the fewest."""
    responses: tuple[PooledResponse, ...]
    """Each response that all runs have."""


def pool(runs: Sequence[Run]) -> Pool:
    """Returns what several runs of one study show together; raises BadInput for fewer than two, and for runs
    of different studies or treatments."""
    if len(runs) < 2:
        given = str(runs[0].directory) if runs else "no run"
        raise BadInput(DOING, "RUN", given, "at least two runs, each from its own session")
    first = runs[0]
    treatments = plan_treatments(first)
    for run in runs[1:]:
        if run.study.study != first.study.study or plan_treatments(run) != treatments:
            said = f"{run.study.study}, {len(plan_treatments(run))} treatments"
            expected = f"a run of {first.study.study} with the same {len(treatments)} treatments"
            raise BadInput(DOING, str(run.directory), said, expected)
    summaries = [summarise(run) for run in runs]
    by_name = [{each.response.name: each for each in summary.responses} for summary in summaries]
    pooled = [
        _pooled(first.study, [known[response.name] for known in by_name])
        for response in first.study.responses
        if all(response.name in known for known in by_name)
    ]
    blocks = min(max((trial.block for trial in run.plan), default=0) for run in runs)
    return Pool(first.study, len(runs), blocks, tuple(pooled))


def _pooled(study: Study, sessions: Sequence[ResponseSummary]) -> PooledResponse:
    cells = [_cell(study, treatment) for treatment in zip(*(each.cells for each in sessions), strict=True)]
    of_sessions = ResponseSummary(sessions[0].response, tuple(cell for cell, _ in cells))
    values = [[cell.values for cell in each.cells] for each in sessions]
    shares = variance_shares(values)
    return PooledResponse(
        response=sessions[0].response,
        means=tuple(mean for _, mean in cells),
        cells=of_sessions.cells,
        findings=findings(study.model_copy(update={"until": None}), of_sessions),
        shares=shares,
        gain=None if shares is None else gain(shares, len(sessions), _blocks(values)),
    )


def _cell(study: Study, sessions: Sequence[Cell]) -> tuple[Cell, SessionMean]:
    """Returns a treatment's cell whose blocks are sessions, and its mean over these."""
    values = {number: cell.mean for number, cell in enumerate(sessions, start=1) if cell.mean is not None}
    cell = cell_of(sessions[0].treatment, values, {}, {}, exact=study.capabilities.deterministic)
    interval = cell.interval
    return cell, SessionMean(
        treatment=cell.treatment,
        means=tuple(each.mean for each in sessions),
        mean=cell.mean,
        interval=interval,
        prediction=None if interval is None else one_more(interval, cell.n),
    )


def one_more(interval: Interval, sessions: int) -> Interval:
    """Converts the interval of a mean over that many sessions into the one that contains the mean of a
    further session (Hahn and Meeker, Statistical Intervals, 1991, 4.7)."""
    middle = (interval.low + interval.high) / 2
    return around(middle, interval.half_width * math.sqrt(sessions + 1), PREDICTION)


def repeated_change(change: Change) -> Interval | None:
    """Returns the interval in percent that contains the change that a repeated run would show, for a change
    whose blocks are sessions; None without an interval."""
    if change.log_ratio is None or change.log_error is None or change.interval is None:
        return None
    half = change.log_error.half_width() * math.sqrt(change.pairs + 1)
    return in_percent(around(change.log_ratio, half, PREDICTION))


def variance_shares(sessions: Sequence[Sequence[Mapping[int, float]]]) -> Shares | None:
    """Returns the origin of the variance of values by session, treatment and block, from the mean squares of
    the complete blocks (Searle, Casella and McCulloch, Variance Components, 1992, chapter 4); None if there
    are too few for an estimate."""
    tables = [_complete(rows) for rows in sessions]
    if len(tables) < 2 or any(table.shape[-1] < 2 or not table.size for table in tables):
        return None
    if all((table > 0).all() for table in tables):
        tables, scale = [np.log(table) for table in tables], 100.0
    else:
        scale = 1.0
    means = np.array([table.mean(-1) for table in tables])  # by session and treatment
    counts = np.array([table.shape[-1] for table in tables])
    groups, treatments = means.shape
    typical = groups / (1 / counts).sum()
    residual = sum(_residual_squares(table) for table in tables) / max(
        1, (treatments - 1) * (counts - 1).sum()
    )
    block = treatments * sum(table.mean(0).var() * table.shape[-1] for table in tables) / (counts - 1).sum()
    mixed = typical * _residual_squares(means) / max(1, (groups - 1) * (treatments - 1))
    session = typical * treatments * means.mean(-1).var(ddof=1)
    if treatments == 1:
        residual, block, mixed = block, 0.0, block
    of_block = max(0.0, (block - residual) / treatments)
    of_mixed = max(0.0, (mixed - residual) / typical) if treatments > 1 else 0.0
    of_session = max(0.0, (session - residual - treatments * of_block - typical * of_mixed))
    of_session /= typical * treatments
    total = of_session + of_mixed + of_block + residual
    if total <= 0:
        return None
    return Shares(
        session=float(of_session / total),
        treatment_by_session=float(of_mixed / total),
        block=float(of_block / total),
        residual=float(residual / total),
        deviation=scale * math.sqrt(total),
    )


def gain(shares: Shares, sessions: int, blocks: int) -> Gain:
    """Returns the expected half-widths of the interval of a mean, now and with twice the sessions or
    blocks."""
    between = shares.session + shares.treatment_by_session
    within = shares.block + shares.residual

    def half(groups: int, each: int) -> float:
        return shares.deviation * quantile(groups - 1) * math.sqrt((between + within / each) / groups)

    return Gain(half(sessions, blocks), half(2 * sessions, blocks), half(sessions, 2 * blocks))


def _complete(rows: Sequence[Mapping[int, float]]) -> Floats:
    """Returns the values by treatment and block, of the blocks that have all of them."""
    blocks = sorted(set.intersection(*(set(row) for row in rows))) if rows else []
    return np.array([[row[block] for block in blocks] for row in rows], dtype=float)


def _residual_squares(table: Floats) -> float:
    """Returns the sum of squares that the means of rows and columns leave."""
    left = table - table.mean(-1, keepdims=True) - table.mean(-2, keepdims=True) + table.mean()
    return float((left**2).sum())


def _blocks(sessions: Sequence[Sequence[Mapping[int, float]]]) -> int:
    return max(1, min(len(row) for rows in sessions for row in rows))
