"""The values of each treatment, and the changes between treatments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from nettrial.analysis.changes import Change
from nettrial.analysis.intervals import Interval, mean_interval, median_interval
from nettrial.analysis.outlying_values import Outlier, outliers
from nettrial.analysis.responses import TrialResponse
from nettrial.analysis.run_digest import TreatmentKey, digest, trial_responses
from nettrial.analysis.run_model import changes
from nettrial.analysis.sequential import widened
from nettrial.store import Run
from nettrial.study import Response, Study

Levels = dict[str, str]
"""One level of each factor, by the factor's name."""


@dataclass(frozen=True)
class Cell:
    """The results of a response under a treatment, in the response's unit."""

    treatment: Levels
    """The level of each factor."""
    values: dict[int, float]
    """The value of each block that has one."""
    mean: float | None
    """The mean over trials; None if there is no value."""
    median: float | None
    """The median over trials; None if there is no value."""
    deviation: float | None
    """The sample standard deviation; absent for fewer than two values."""
    interval: Interval | None
    """The 95% interval of the mean; absent for fewer than two values, and for equal ones that were
    measured."""
    change: Change | None
    """The change from the baseline level of the rows' factor at the same levels of all other factors; None at
    the baseline."""
    absent: dict[str, int]
    """The number of trials without a value, by reason."""
    median_interval: Interval | None = None
    """The 95% interval of the median; absent for fewer than six values."""
    outliers: tuple[Outlier, ...] = ()
    """The values far from the others, which are included in all figures."""
    trials: dict[int, int] = field(default_factory=dict)
    """The number in run order of the trial of each block that has a value."""

    @property
    def n(self) -> int:
        """Returns the number of trials that gave a value."""
        return len(self.values)

    @property
    def precision(self) -> float | None:
        """Returns the half-width of the mean's interval in percent of the mean; None without an interval, or
        for a mean of 0."""
        if self.interval is None or not self.mean:
            return None
        return 100 * self.interval.half_width / abs(self.mean)


@dataclass(frozen=True)
class ResponseSummary:
    """The results of a response under every treatment of the plan."""

    response: Response
    """The response."""
    cells: tuple[Cell, ...]
    """The results under each treatment, in the order of treatments."""

    def cell(self, treatment: Levels) -> Cell | None:
        """Returns the cell of a treatment, if the plan contains it."""
        return next((cell for cell in self.cells if cell.treatment == treatment), None)


@dataclass(frozen=True)
class Summary:
    """The results of all responses of a run under every treatment of its plan."""

    responses: tuple[ResponseSummary, ...]
    """The results of each response, in the study's order."""
    comparisons: int
    """The number of changes that have an interval; if there are many, some miss the true value by chance."""
    sets: Mapping[int, str] = field(default_factory=dict)
    """The set of machines that ran each trial, by the trial's number; empty without sets."""
    systems: Mapping[TreatmentKey, Mapping[str, Collection[str]]] = field(default_factory=dict)
    """The operating systems that each host reported, by treatment; empty for modelled hosts."""


def baseline(study: Study) -> str:
    """Returns the level of the rows' factor to which changes are relative."""
    factor = study.factors[study.layout.rows]
    return factor.baseline or factor.levels[0]


def summarise(run: Run) -> Summary:
    """Returns the means, medians, standard deviations, intervals and changes of a run, complete or not."""
    measured: dict[tuple[str, ...], list[TrialResponse]] = {}
    for each in trial_responses(run):
        measured.setdefault((each.response, *_levels(run.study, each.trial.treatment)), []).append(each)
    order = plan_treatments(run)
    sets = digest(run).sets
    responses = tuple(_response(run.study, each, order, measured, sets) for each in run.study.responses)
    comparisons = sum(
        cell.change is not None and cell.change.interval is not None
        for response in responses
        for cell in response.cells
    )
    return Summary(responses, comparisons, sets, digest(run).systems)


def plan_treatments(run: Run) -> list[Levels]:
    """Returns the plan's treatments in the order of the factors' levels instead of the random order of the
    plan."""
    treatments = {tuple(sorted(p.treatment.items())): p.treatment for p in run.plan}.values()
    factors = run.study.factors
    ranks = {name: {level: i for i, level in enumerate(f.levels)} for name, f in factors.items()}
    return sorted(treatments, key=lambda t: [ranks[name][t[name]] for name in factors])


def cell_of(
    treatment: Levels,
    values: Mapping[int, float],
    trials: Mapping[int, int],
    absent: Mapping[str, int],
    sets: Mapping[int, str] | None = None,
    exact: bool = False,
) -> Cell:
    """Returns a cell with the figures of its own values and without a change. Outliers are those among the
    values of one set of machines; `sets` has each trial's. The mean of equal values has an interval, of width
    zero, only if they are `exact`, as those of a deterministic backend are."""
    numbers = list(values.values())
    data = np.array(numbers)
    equal = bool(numbers) and min(numbers) == max(numbers)
    return Cell(
        treatment=treatment,
        values=dict(values),
        mean=None if not numbers else numbers[0] if equal else float(data.mean()),
        median=float(np.median(data)) if numbers else None,
        deviation=None if len(numbers) < 2 else 0.0 if equal else float(data.std(ddof=1)),
        interval=None if equal and not exact else mean_interval(numbers),
        change=None,
        absent=dict(absent),
        median_interval=median_interval(numbers),
        outliers=tuple(
            outlier
            for blocks in by_set(trials, sets or {})
            for outlier in outliers(_only(values, blocks), trials)
        ),
        trials=dict(trials),
    )


def by_set(trials: Mapping[int, int], sets: Mapping[int, str]) -> list[list[int]]:
    """Returns the blocks of a treatment's `trials` by the set of machines that ran them."""
    blocks: dict[str | None, list[int]] = {}
    for block, trial in trials.items():
        blocks.setdefault(sets.get(trial), []).append(block)
    return list(blocks.values())


def _only(values: Mapping[int, float], blocks: Sequence[int]) -> dict[int, float]:
    return {block: values[block] for block in blocks if block in values}


def _response(
    study: Study,
    response: Response,
    treatments: Sequence[Levels],
    measured: Mapping[tuple[str, ...], Sequence[TrialResponse]],
    sets: Mapping[int, str],
) -> ResponseSummary:
    cells = []
    for treatment in treatments:
        results = measured.get((response.name, *_levels(study, treatment)), ())
        values = {each.trial.block: each.value for each in results if each.value is not None}
        numbers = {each.trial.block: each.trial.number for each in results if each.value is not None}
        reasons = Counter(str(each.absent) for each in results if each.value is None)
        cell = cell_of(treatment, values, numbers, reasons, sets, study.capabilities.deterministic)
        cells.append(replace(cell, interval=widened(cell.interval, cell.n)) if study.until else cell)
    return ResponseSummary(response, _changed(study, cells))


def _levels(study: Study, treatment: Levels) -> tuple[str, ...]:
    """Returns the levels of a treatment in the order of the study's factors."""
    return tuple(treatment[name] for name in study.factors)


def _changed(study: Study, cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """Returns the cells with their changes from the baseline of the rows' factor, which form one family."""
    rows, base = study.layout.rows, baseline(study)
    positions = {tuple(cell.treatment.items()): number for number, cell in enumerate(cells)}
    compared = [
        (positions.get(tuple({**cell.treatment, rows: base}.items())), number)
        for number, cell in enumerate(cells)
        if cell.treatment[rows] != base
    ]
    sequential, exact = study.until is not None, study.capabilities.deterministic
    family = changes([cell.values for cell in cells], compared, exact, sequential)
    changed = dict(zip((here for _, here in compared), family, strict=True))
    return tuple(replace(cell, change=changed.get(number)) for number, cell in enumerate(cells))
