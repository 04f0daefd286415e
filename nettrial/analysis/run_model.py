"""A model of all trials of a response: the standard errors of changes within blocks, from the spread of all
treatments instead of that of each pair alone.

Three replicates determine the spread of one pair with two degrees of freedom, which is too few for narrow
intervals. Each treatment's variance therefore comes from its residuals after the means of treatments and of
blocks are removed (F. E. Grubbs, "On estimating precision of measuring instruments and product variability",
Journal of the American Statistical Association 43, 1948). It is shrunk to the mean variance of all treatments
with one prior degree of freedom. This is the estimate of limma (G. K. Smyth, Statistical Applications in
Genetics and Molecular Biology 3, 2004) with a prior that is weak on purpose: stronger ones fail if spreads
differ. The variance of a pair's differences, shrunk in the same way, replaces the sum of both variances if it
is larger, as it is if a block affects levels differently. Noisy treatments lend a quiet pair no more than the
upper bound of its own variance: otherwise, treatments a hundred times as noisy would widen its interval to
thirty times that of the pair alone. tests/unit/test_run_model.py has the coverage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from nettrial.analysis.changes import ROUNDING, Change, averaged_change, change, corrected, with_error
from nettrial.analysis.intervals import Floats, StandardError
from nettrial.analysis.sequential import family

PRIOR = 1.0
"""The prior degrees of freedom with which a variance is shrunk to the mean of all variances."""
BOUND = 0.975
"""The confidence level of the upper bound of a pair's variance from its own differences."""
_FITS = 100
"""The largest number of passes of the fit of incomplete blocks; each removes most of the rest."""
Indices: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Side = Mapping[int, float]
"""The values of a treatment, by block."""


@dataclass(frozen=True)
class Errors:
    """The standard errors of changes."""

    error: Floats
    """The standard error of each change; NaN without two blocks."""
    freedom: Floats
    """The degrees of freedom of each."""

    def of(self, number: int) -> StandardError | None:
        """Returns the standard error of one change; None if there is no evidence of its spread."""
        if not np.isfinite(self.error[number]):
            return None
        return StandardError(((float(self.error[number]), float(self.freedom[number])),))


def errors(
    rows: Floats, base: Indices, here: Indices, floor: Floats | float = 0.0, fixed: Mask | None = None
) -> Errors:
    """Returns the standard errors of the mean differences within blocks of the treatments `here` and `base`.

    `rows` has the values by treatment and block in its last two axes, with NaN for absent values; leading
    axes are separate experiments. `floor` is the smallest variance of each treatment's values, such as that
    of rounding. `fixed` treatments are known not to vary, so that they say nothing about the others."""
    fixed = np.zeros(rows.shape[-2], dtype=bool) if fixed is None else fixed
    floors = np.broadcast_to(np.asarray(floor, dtype=float), rows.shape[:-1])
    rounding = floors[..., here] + floors[..., base]
    alone, freedom, count = _of_pairs(rows[..., here, :] - rows[..., base, :])
    alone = np.maximum(alone, rounding)
    varying = ~(fixed[here] & fixed[base])
    of_pairs = np.where(varying, _lent(alone, np.where(varying, freedom, np.nan)), alone)
    several = (np.isfinite(rows).sum(-1) > 1).reshape(-1, rows.shape[-2]).any(0) & ~fixed
    if several.sum() <= 2:
        return Errors(np.sqrt(of_pairs / count), freedom)
    own, own_freedom, most = _of_treatments(rows[..., several, :])
    of_rows, of_freedom = np.zeros(rows.shape[:-1]), np.ones(rows.shape[:-1])
    of_rows[..., several], of_freedom[..., several] = own, own_freedom
    of_rows = np.maximum(of_rows, floors)
    mine, theirs = of_rows[..., here], of_rows[..., base]
    with np.errstate(invalid="ignore", divide="ignore"):
        both = (mine + theirs) ** 2 / (mine**2 / of_freedom[..., here] + theirs**2 / of_freedom[..., base])
        bound = alone * freedom / special.chdtri(freedom, BOUND)
    both = np.minimum(np.where(np.isfinite(both), both, freedom), most)
    return Errors(np.sqrt(np.minimum(np.maximum(mine + theirs, of_pairs), bound) / count), both)


def _of_pairs(differences: Floats) -> tuple[Floats, Floats, Floats]:
    """Returns the variances of differences by pair, their degrees of freedom and the number of blocks."""
    count = np.isfinite(differences).sum(-1).astype(float)
    count[count < 2] = np.nan
    means = np.nansum(differences, -1, keepdims=True) / count[..., None]
    return np.nansum((differences - means) ** 2, -1) / (count - 1), count - 1, count


def _lent(variances: Floats, freedom: Floats) -> Floats:
    """Returns variances shrunk to the mean of all that have degrees of freedom; a single one stays."""
    weights = np.nan_to_num(freedom)
    prior = np.nansum(variances * weights, -1, keepdims=True) / np.maximum(weights.sum(-1, keepdims=True), 1)
    return _shrunk(variances, freedom, prior)


def _of_treatments(rows: Floats) -> tuple[Floats, Floats, Floats]:
    """Returns the shrunk variance of each treatment, its degrees of freedom, and those of all residuals."""
    known = np.isfinite(rows) & (np.isfinite(rows).sum(-1) > 1)[..., None]
    count = known.sum(-1).astype(float)
    freedom = np.where(count > 1, count - 1, np.nan)
    treatments = (count > 1).sum(-1, keepdims=True).astype(float)
    blocks = known.any(-2).sum(-1, keepdims=True)
    most = np.maximum(1.0, known.sum((-1, -2))[..., None] - treatments - blocks + 1)
    squares = (_residuals(rows, known) ** 2).sum(-1)
    pooled = squares.sum(-1, keepdims=True) / most
    own = (squares / freedom - pooled / treatments) / (1 - 2 / treatments)
    return _shrunk(np.maximum(own, 0), freedom, pooled), freedom + PRIOR, most


def _residuals(rows: Floats, known: Mask) -> Floats:
    """Returns the `known` values less the effects of treatments and blocks, by least squares, and otherwise
    0."""
    left = np.where(known, rows, 0.0)
    of_rows, of_blocks = (np.maximum(known.sum(axis, keepdims=True), 1) for axis in (-1, -2))
    scale = np.abs(left).max(initial=0.0)
    for _ in range(_FITS):
        left = np.where(known, left - left.sum(-1, keepdims=True) / of_rows, 0.0)
        step = left.sum(-2, keepdims=True) / of_blocks
        left = np.where(known, left - step, 0.0)
        if known.all() or np.abs(step).max(initial=0.0) <= ROUNDING * scale:
            break
    return left


def _shrunk(own: Floats, freedom: Floats, prior: Floats) -> Floats:
    shrunk: Floats = (freedom * own + PRIOR * prior) / (freedom + PRIOR)
    return shrunk


def changes(
    rows: Sequence[Side], compared: Sequence[tuple[int | None, int]], exact: bool, sequential: bool
) -> list[Change]:
    """Returns the changes within blocks of one family, each from the first to the second treatment of a pair
    of positions in `rows`, which has the values of all treatments of a response; None stands for a treatment
    that the run lacks.

    A change of `exact` values that is the same in every block has an interval of width zero; measured values
    have at least the spread of their rounding. The intervals of `sequential` runs hold at any number of
    blocks, and each comes from its own pair: sequences of the model are not known to hold."""
    empty: Side = {}
    alone = [
        change(pairs(empty if base is None else rows[base], rows[here]), exact) for base, here in compared
    ]
    if sequential:
        return family(alone, sequential)
    table = _table(rows)
    return corrected(_modelled(alone, compared, table, _logs(table), exact, _rounding(table)))


def overall_changes(
    rows: Sequence[Side], levels: Sequence[Sequence[tuple[int, int]]], exact: bool, sequential: bool
) -> list[Change]:
    """Returns the change of each level of a family, averaged over the level's places: pairs of the positions
    in `rows` of the baseline's treatment and of the level's.

    A block counts once, by the mean over its places, because places of one block are not replicates of each
    other. The model is that of `changes`, of these means."""
    alone = [
        averaged_change([paired(rows[base], rows[here]) for base, here in places], exact) for places in levels
    ]
    if sequential:
        return family(alone, sequential)
    table = _table(rows)
    kept = [[pair for pair in places if rows[pair[0]].keys() & rows[pair[1]].keys()] for places in levels]
    if not any(kept) or len({tuple(base for base, _ in places) for places in kept}) > 1:
        return corrected(alone)
    sides = [[base for base, _ in kept[0]], *([here for _, here in places] for places in kept)]
    logs = _logs(table)
    of_values, of_logs = (np.array([figures[side].mean(0) for side in sides]) for figures in (table, logs))
    compared = [(0, number) for number in range(1, len(sides))]
    rounding = _rounding(table) / len(kept[0])
    return corrected(_modelled(alone, compared, of_values, of_logs, exact, rounding))


def _modelled(
    alone: Sequence[Change],
    compared: Sequence[tuple[int | None, int]],
    table: Floats,
    logs: Floats,
    exact: bool,
    rounding: float,
) -> list[Change]:
    """Returns changes with the standard errors of the model in place of those of each pair."""
    known = [number for number, (base, _) in enumerate(compared) if base is not None]
    base, here = (np.array([compared[number][side] for number in known], dtype=np.int64) for side in (0, 1))
    floor = 0.0 if exact else rounding
    typical = np.exp(
        np.array([row[np.isfinite(row)].mean() if np.isfinite(row).any() else 0.0 for row in logs])
    )
    of_logs = _errors(logs, base, here, floor / typical**2, exact)
    of_values = _errors(table, base, here, floor, exact)
    modelled = list(alone)
    for position, number in enumerate(known):
        single = alone[number]
        if single.pairs < 2 or (exact and single.has_no_spread):
            continue
        model = of_values if single.log_ratio is None else of_logs
        error = None if model is None else model.of(position)
        if error is not None:
            modelled[number] = with_error(single, error)
    return modelled


def _errors(rows: Floats, base: Indices, here: Indices, floor: Floats | float, exact: bool) -> Errors | None:
    """Returns the standard errors of the model; None if no value varies, which is no evidence of spread."""
    known = np.isfinite(rows)
    usable = known & (known.sum(-1) > 1)[:, None]
    scale = np.abs(rows[known]).max(initial=0.0)
    if not len(base) or np.abs(_residuals(rows, usable)).max(initial=0.0) <= ROUNDING * scale:
        return None
    spread = np.where(known, rows, -np.inf).max(-1) - np.where(known, rows, np.inf).min(-1)
    return errors(rows, base, here, floor, (spread <= ROUNDING * scale) if exact else None)


def _table(rows: Sequence[Side]) -> Floats:
    """Returns values by treatment and block, with NaN for absent values."""
    blocks = {block: number for number, block in enumerate(sorted(set().union(*rows)))}
    table = np.full((len(rows), len(blocks)), np.nan)
    for row, values in zip(table, rows, strict=True):
        row[[blocks[block] for block in values]] = list(values.values())
    return table


def _logs(table: Floats) -> Floats:
    """Returns the logarithms of values; NaN for all values of treatments with a value of 0 or less."""
    positive = ~(table <= 0).any(-1, keepdims=True)
    return np.log(np.where(positive, table, np.nan))


def _rounding(table: Floats) -> float:
    """Returns the variance of rounding to the smallest difference between values, which is at most that of
    the true resolution if the values have one, and negligible otherwise."""
    values = np.unique(table[np.isfinite(table)])
    return float(np.diff(values).min()) ** 2 / 12 if len(values) > 1 else 0.0


def pairs(base: Side, values: Side) -> list[tuple[float, float]]:
    """Returns the pairs of values of the blocks that have both, in the order of blocks."""
    return list(paired(base, values).values())


def paired(base: Side, values: Side) -> dict[int, tuple[float, float]]:
    """Returns the pairs of values by block, of the blocks that have both."""
    return {block: (base[block], values[block]) for block in sorted(base.keys() & values.keys())}
