"""Analysis of variance: the share of a response's variation that each factor explains.

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
"""An array of numbers."""
Kind: TypeAlias = Literal["factor", "interaction", "higher", "block", "residual"]
"""The kind of a term in the analysis of variance."""
NORMALITY_LEVEL = 0.05
"""The p-value of Shapiro and Wilk's test below which residuals do not count as normally distributed. F tests
still keep their significance level then, but have less power (docs/explanation/coverage.md)."""
_SHAPIRO_MOST = 5000
"""The largest number of residuals in that test; of more, a subset spread evenly over the run is used."""


@dataclass(frozen=True)
class Term:
    """A row of the analysis of variance."""

    kind: Kind
    """The kind of term; `higher` stands for all interactions of three or more factors together."""
    factors: tuple[str, ...]
    """The factors of the term: one for a factor, two for an interaction, otherwise none."""
    freedom: int
    """The degrees of freedom."""
    sum_of_squares: float
    """The sum of squares, in the squared unit of `Variation.scale`."""
    share: float
    """The share of the total variation, from 0 to 1 (eta squared)."""
    omega_squared: float | None = None
    """For factors and interactions, the share minus the share expected by chance, at least 0."""
    statistic: float | None = None
    """For factors and interactions, F against the residual."""
    p_value: float | None = None
    """For factors and interactions, the p-value of the F test."""
    p_corrected: float | None = None
    """The p-value corrected for the number of tests of the response (Holm)."""


@dataclass(frozen=True)
class CellMean:
    """The mean at a level of each of two factors, over the other factors and over blocks."""

    levels: tuple[str, str]
    """The level of each of the two factors."""
    mean: float
    """The mean in the response's unit."""
    interval: Interval | None
    """The interval of the mean over blocks."""


@dataclass(frozen=True)
class Interaction:
    """An interaction: two factors, of which the effect of each depends on the level of the other."""

    factors: tuple[str, str]
    """The names of the two factors."""
    p_corrected: float
    """The p-value, corrected for the number of tests of the response (Holm)."""
    points: tuple[CellMean, ...]
    """The points to draw; the levels of the second factor vary fastest."""


@dataclass(frozen=True)
class Variation:
    """The analysis of variance of a response."""

    response: Response
    """The response whose variation was analysed."""
    scale: Literal["logarithm", "value"]
    """The scale of the analysis: logarithms if all values are above 0, so that effects are ratios."""
    blocks: int
    """The number of complete blocks; only these are analysed."""
    left_out: int
    """The number of blocks with some but not all values."""
    terms: tuple[Term, ...]
    """The terms of the design: factors, interactions of two factors, higher ones, blocks, and the
    residual."""
    normality: float | None
    """The p-value of Shapiro and Wilk's test of the residuals; None if they can't be tested."""
    interactions: tuple[Interaction, ...]
    """The interactions whose corrected p-value is below 0.05, the strongest first."""
    absent: str | None
    """The reason why there are no terms, or only no tests."""


def variation(study: Study, summary: ResponseSummary) -> Variation:
    """Returns the analysis of variance of a response over the factors with several levels."""
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
        return replace(empty, absent=f"no value of {levels}{more}: effects could not be separated")
    some = set().union(*(cell.values for cell in summary.cells))
    complete = sorted(set.intersection(*(set(cell.values) for cell in summary.cells)))
    empty = replace(empty, blocks=len(complete), left_out=len(some) - len(complete))
    if not complete:
        return replace(empty, absent="no block has values of all treatments")
    shape = [len(study.factors[name].levels) for name in factors]
    by_levels = {tuple(cell.treatment[name] for name in factors): cell for cell in summary.cells}
    ordered = [by_levels[key] for key in _keys(study, factors)]
    values = np.array([[cell.values[block] for block in complete] for cell in ordered])
    if values.min() == values.max():
        return replace(empty, absent="all values are equal")
    return _analysed(study, factors, empty, values.reshape(*shape, len(complete)))


def _keys(study: Study, factors: Sequence[str]) -> list[tuple[str, ...]]:
    """Returns the levels of every treatment, with the last factor's varying fastest."""
    keys: list[tuple[str, ...]] = [()]
    for name in factors:
        keys = [(*key, level) for key in keys for level in study.factors[name].levels]
    return keys


def _analysed(study: Study, factors: Sequence[str], empty: Variation, values: Floats) -> Variation:
    """Returns the analysis of `values`, which have an axis for each factor, and a last one for blocks."""
    positive = bool((values > 0).all())
    scaled: Floats = np.log(values) if positive else values
    terms, residuals = _terms(factors, scaled)
    untested = replace(empty, scale="logarithm" if positive else "value", terms=terms)
    error = next((term for term in terms if term.kind == "residual"), None)
    if error is None:
        return replace(untested, absent="with a single block there are no replicates to test against")
    if error.sum_of_squares <= 1e-20 * sum(term.sum_of_squares for term in terms):
        return replace(
            untested, absent="treatments explain the whole variation: none is left to test against"
        )
    tested = _corrected(_tested(terms))
    interactions = _interactions(study, factors, tested, values)
    return replace(untested, terms=tested, normality=_normality(residuals), interactions=interactions)


def _terms(factors: Sequence[str], values: Floats) -> tuple[tuple[Term, ...], Floats]:
    """Returns the rows of the analysis, with shares but without tests, and the residuals."""
    blocks = values.shape[-1]
    whole = float(((values - values.mean()) ** 2).sum())
    axes = range(len(factors))
    named: list[tuple[Kind, tuple[int, ...]]] = [("factor", (axis,)) for axis in axes]
    named += [("interaction", pair) for pair in combinations(axes, 2)]
    effects = {chosen: _effect(values, chosen) for _, chosen in named}
    block = _effect(values, (len(factors),))
    cells = values.mean(axis=-1, keepdims=True) - values.mean()
    higher = cells - sum(effects.values())
    residuals = values - values.mean() - cells - block

    def term(kind: Kind, chosen: tuple[int, ...], effect: Floats, freedom: int) -> Term:
        squares = float((np.broadcast_to(effect, values.shape) ** 2).sum())
        return Term(kind, tuple(factors[axis] for axis in chosen), freedom, squares, squares / whole)

    terms = [
        term(kind, chosen, effects[chosen], int(np.prod([values.shape[axis] - 1 for axis in chosen])))
        for kind, chosen in named
    ]
    treatments = values.size // blocks
    if len(factors) > 2:
        terms.append(term("higher", (), higher, treatments - 1 - sum(made.freedom for made in terms)))
    if blocks > 1:
        terms.append(term("block", (), block, blocks - 1))
        terms.append(term("residual", (), residuals, (treatments - 1) * (blocks - 1)))
    return tuple(terms), residuals


def _effect(values: Floats, chosen: tuple[int, ...]) -> Floats:
    """Returns the contribution to the mean of a factor, or of two factors' interaction, with size 1 along the
    other axes."""
    if len(chosen) == 1:
        others = tuple(axis for axis in range(values.ndim) if axis not in chosen)
        made: Floats = values.mean(axis=others, keepdims=True) - values.mean()
        return made
    others = tuple(axis for axis in range(values.ndim) if axis not in chosen)
    both: Floats = values.mean(axis=others, keepdims=True) - values.mean()
    first, second = chosen
    return both - _effect(values, (first,)) - _effect(values, (second,))


def _normality(residuals: Floats) -> float | None:
    """Returns the p-value of Shapiro and Wilk's test; None for fewer than 3 residuals or equal ones."""
    from scipy import stats  # imported here: it takes a second

    flat = residuals.ravel()
    if flat.size < 3 or flat.min() == flat.max():
        return None
    if flat.size > _SHAPIRO_MOST:
        flat = flat[np.linspace(0, flat.size - 1, _SHAPIRO_MOST).astype(int)]
    return float(stats.shapiro(flat).pvalue)


def _tested(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Returns the rows of factors and interactions with omega squared and the F test against the residual."""
    error = next(term for term in terms if term.kind == "residual")
    mean_square = error.sum_of_squares / error.freedom
    whole = sum(term.sum_of_squares for term in terms)
    tested = []
    for term in terms:
        if not term.factors:
            tested.append(term)
            continue
        statistic = term.sum_of_squares / term.freedom / mean_square
        p_value = float(special.fdtrc(term.freedom, error.freedom, statistic))
        omega = (term.sum_of_squares - term.freedom * mean_square) / (whole + mean_square)
        tested.append(replace(term, omega_squared=max(0.0, omega), statistic=statistic, p_value=p_value))
    return tuple(tested)


def _corrected(terms: Sequence[Term]) -> tuple[Term, ...]:
    p_values = iter(holm([term.p_value for term in terms if term.p_value is not None]))
    return tuple(
        term if term.p_value is None else replace(term, p_corrected=next(p_values)) for term in terms
    )


def _interactions(
    study: Study, factors: Sequence[str], terms: Sequence[Term], values: Floats
) -> tuple[Interaction, ...]:
    significant = [
        _interaction(study, factors, term, values)
        for term in terms
        if term.kind == "interaction" and term.p_corrected is not None and term.p_corrected < 1 - CONFIDENCE
    ]
    return tuple(sorted(significant, key=lambda interaction: interaction.p_corrected))


def _interaction(study: Study, factors: Sequence[str], term: Term, values: Floats) -> Interaction:
    assert term.p_corrected is not None
    first, second = term.factors
    kept = (factors.index(first), factors.index(second), len(factors))
    others = tuple(axis for axis in range(values.ndim) if axis not in kept)
    means = values.mean(axis=others)
    points = tuple(
        CellMean((one, other), float(row.mean()), mean_interval(row.tolist()))
        for one, by_second in zip(study.factors[first].levels, means, strict=True)
        for other, row in zip(study.factors[second].levels, by_second, strict=True)
    )
    return Interaction((first, second), term.p_corrected, points)
