"""The share of a response's variation that each factor explains: analysis of variance.

The design is a complete factorial in complete blocks, so that sums of squares follow from means, whatever
their type (Montgomery, Design and Analysis of Experiments, chapters 4 and 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import special

from nettrial.analysis.intervals import CONFIDENCE, Interval, holm, mean_interval
from nettrial.analysis.summary import ResponseSummary
from nettrial.study import Response, Study

Floats: TypeAlias = npt.NDArray[np.float64]
Kind: TypeAlias = Literal["factor", "interaction", "higher", "block", "residual"]
NORMALITY_LEVEL = 0.05
"""Residuals count as normal unless Shapiro and Wilk's test gives less. F tests refuse no more often than they
say then, too, but see less (docs/explanation/statistics.md)."""
_SHAPIRO_MOST = 5000
"""Residuals that test takes; of more it gets so many, evenly spread over the run."""


@dataclass(frozen=True)
class Term:
    """A row of the analysis of variance."""

    kind: Kind
    """`higher`: interactions of three factors and more, together."""
    factors: tuple[str, ...]
    """One of a factor, two of an interaction; else none."""
    freedom: int
    """Degrees of freedom."""
    sum_of_squares: float
    share: float
    """The share of the whole variation, from 0 to 1: eta squared."""
    omega_squared: float | None = None
    """The same less what chance alone is expected to give, not below 0; of factors and interactions."""
    statistic: float | None = None
    """F against the residual, of factors and interactions."""
    p_value: float | None = None
    p_corrected: float | None = None
    """Corrected for the number of tests of the response (Holm)."""


@dataclass(frozen=True)
class Point:
    """The mean at a level of each of two factors, over the others and over blocks."""

    levels: tuple[str, str]
    mean: float
    """In the response's unit."""
    interval: Interval | None
    """The interval of the mean over blocks."""


@dataclass(frozen=True)
class Interaction:
    """Two factors, each of which changes the response by another amount at another level of the other."""

    factors: tuple[str, str]
    p_corrected: float
    points: tuple[Point, ...]
    """For drawing: the levels of the second change fastest."""


@dataclass(frozen=True)
class Variation:
    """The analysis of variance of one response."""

    response: Response
    scale: Literal["logarithm", "value"]
    """The scale of the analysis: logarithms where all values are above 0, so that effects are ratios."""
    blocks: int
    """Complete blocks, which alone are analysed."""
    left_out: int
    """Blocks that have some values but not all."""
    terms: tuple[Term, ...]
    """Factors, interactions of two, higher ones, block, residual; those that the design has."""
    normality: float | None
    """The p-value of Shapiro and Wilk's test of the residuals."""
    interactions: tuple[Interaction, ...]
    """The interactions whose corrected p-value is below 0.05, the strongest first."""
    absent: str | None
    """Why there are no terms, or only no tests."""


def variation(study: Study, summary: ResponseSummary) -> Variation:
    """The analysis of variance of a response over the factors that have several levels."""
    factors = [name for name, factor in study.factors.items() if len(factor.levels) > 1]
    empty = Variation(summary.response, "value", 0, 0, (), None, (), None)
    if not factors:
        return replace(empty, absent="no factor has several levels")
    lacking = [cell for cell in summary.cells if not cell.values]
    if len(lacking) == len(summary.cells):
        return replace(empty, absent="there is no value")
    if lacking:
        levels = ", ".join(
            f"{study.factors[name].title} {level}" for name, level in lacking[0].treatment.items()
        )
        more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
        return replace(empty, absent=f"no value of {levels}{more}: effects could not be told apart")
    some = set().union(*(cell.values for cell in summary.cells))
    complete = sorted(set.intersection(*(set(cell.values) for cell in summary.cells)))
    empty = replace(empty, blocks=len(complete), left_out=len(some) - len(complete))
    if not complete:
        return replace(empty, absent="no block has a value of every treatment")
    shape = [len(study.factors[name].levels) for name in factors]
    by_levels = {tuple(cell.treatment[name] for name in factors): cell for cell in summary.cells}
    ordered = [by_levels[key] for key in _keys(study, factors)]
    values = np.array([[cell.values[block] for block in complete] for cell in ordered])
    if values.min() == values.max():
        return replace(empty, absent="all values are equal")
    return _analysed(study, factors, empty, values.reshape(*shape, len(complete)))


def _keys(study: Study, factors: Sequence[str]) -> list[tuple[str, ...]]:
    """The levels of every treatment, the last factor's changing fastest."""
    keys: list[tuple[str, ...]] = [()]
    for name in factors:
        keys = [(*key, level) for key in keys for level in study.factors[name].levels]
    return keys


def _analysed(study: Study, factors: Sequence[str], empty: Variation, values: Floats) -> Variation:
    """The analysis of `values`: an axis for each factor, the last one for blocks."""
    positive = bool((values > 0).all())
    data: Floats = np.log(values) if positive else values
    terms, residuals = _terms(factors, data)
    found = replace(empty, scale="logarithm" if positive else "value", terms=terms)
    error = next((term for term in terms if term.kind == "residual"), None)
    if error is None:
        return replace(found, absent="one block leaves nothing to test against: no replicate")
    if error.sum_of_squares <= 1e-20 * sum(term.sum_of_squares for term in terms):
        return replace(found, absent="treatments explain everything: no variation is left to test against")
    tested = _corrected(_tested(terms))
    interactions = _interactions(study, factors, tested, values)
    return replace(found, terms=tested, normality=_normality(residuals), interactions=interactions)


def _terms(factors: Sequence[str], data: Floats) -> tuple[tuple[Term, ...], Floats]:
    """The rows of the analysis, with shares but without tests, and the residuals."""
    blocks = data.shape[-1]
    whole = float(((data - data.mean()) ** 2).sum())
    axes = range(len(factors))
    named: list[tuple[Kind, tuple[int, ...]]] = [("factor", (axis,)) for axis in axes]
    named += [("interaction", pair) for pair in combinations(axes, 2)]
    effects = {chosen: _effect(data, chosen) for _, chosen in named}
    block = _effect(data, (len(factors),))
    cells = data.mean(axis=-1, keepdims=True) - data.mean()
    higher = cells - sum(effects.values())
    residuals = data - data.mean() - cells - block

    def term(kind: Kind, chosen: tuple[int, ...], effect: Floats, freedom: int) -> Term:
        squares = float((np.broadcast_to(effect, data.shape) ** 2).sum())
        return Term(kind, tuple(factors[axis] for axis in chosen), freedom, squares, squares / whole)

    found = [
        term(kind, chosen, effects[chosen], int(np.prod([data.shape[axis] - 1 for axis in chosen])))
        for kind, chosen in named
    ]
    treatments = data.size // blocks
    if len(factors) > 2:
        found.append(term("higher", (), higher, treatments - 1 - sum(made.freedom for made in found)))
    if blocks > 1:
        found.append(term("block", (), block, blocks - 1))
        found.append(term("residual", (), residuals, (treatments - 1) * (blocks - 1)))
    return tuple(found), residuals


def _effect(data: Floats, chosen: tuple[int, ...]) -> Floats:
    """Returns what a factor, or two together beyond each, add to the mean; of one size along other axes."""
    if len(chosen) == 1:
        others = tuple(axis for axis in range(data.ndim) if axis not in chosen)
        made: Floats = data.mean(axis=others, keepdims=True) - data.mean()
        return made
    others = tuple(axis for axis in range(data.ndim) if axis not in chosen)
    both: Floats = data.mean(axis=others, keepdims=True) - data.mean()
    first, second = chosen
    return both - _effect(data, (first,)) - _effect(data, (second,))


def _normality(residuals: Floats) -> float | None:
    """The p-value of Shapiro and Wilk's test; None of fewer than 3 residuals."""
    from scipy import stats  # here: it takes a second to import

    flat = residuals.ravel()
    if flat.size < 3:
        return None
    if flat.size > _SHAPIRO_MOST:
        flat = flat[np.linspace(0, flat.size - 1, _SHAPIRO_MOST).astype(int)]
    return float(stats.shapiro(flat).pvalue)


def _tested(terms: Sequence[Term]) -> tuple[Term, ...]:
    """The rows of factors and interactions with omega squared and the F test against the residual."""
    error = next(term for term in terms if term.kind == "residual")
    mean_square = error.sum_of_squares / error.freedom
    whole = sum(term.sum_of_squares for term in terms)
    found = []
    for term in terms:
        if not term.factors:
            found.append(term)
            continue
        statistic = term.sum_of_squares / term.freedom / mean_square
        p_value = float(special.fdtrc(term.freedom, error.freedom, statistic))
        omega = (term.sum_of_squares - term.freedom * mean_square) / (whole + mean_square)
        found.append(replace(term, omega_squared=max(0.0, omega), statistic=statistic, p_value=p_value))
    return tuple(found)


def _corrected(terms: Sequence[Term]) -> tuple[Term, ...]:
    p_values = iter(holm([term.p_value for term in terms if term.p_value is not None]))
    return tuple(
        term if term.p_value is None else replace(term, p_corrected=next(p_values)) for term in terms
    )


def _interactions(
    study: Study, factors: Sequence[str], terms: Sequence[Term], values: Floats
) -> tuple[Interaction, ...]:
    found = [
        _interaction(study, factors, term, values)
        for term in terms
        if term.kind == "interaction" and term.p_corrected is not None and term.p_corrected < 1 - CONFIDENCE
    ]
    return tuple(sorted(found, key=lambda interaction: interaction.p_corrected))


def _interaction(study: Study, factors: Sequence[str], term: Term, values: Floats) -> Interaction:
    assert term.p_corrected is not None
    first, second = term.factors
    kept = (factors.index(first), factors.index(second), len(factors))
    others = tuple(axis for axis in range(values.ndim) if axis not in kept)
    means = values.mean(axis=others)
    points = tuple(
        Point((one, other), float(row.mean()), mean_interval(row.tolist()))
        for one, by_second in zip(study.factors[first].levels, means, strict=True)
        for other, row in zip(study.factors[second].levels, by_second, strict=True)
    )
    return Interaction((first, second), term.p_corrected, points)
