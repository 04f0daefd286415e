"""What each treatment gave, and what it changed."""

from collections import Counter
from dataclasses import dataclass, replace
from statistics import fmean, median, stdev

import polars as pl

from nettrial.analysis.frame import frame
from nettrial.analysis.intervals import Change, Interval, change, mean_interval
from nettrial.analysis.sequential import widened, widened_change
from nettrial.store import Run
from nettrial.study import Response, Study

Levels = dict[str, str]
"""One level of each factor, by the factor's name."""


@dataclass(frozen=True)
class Cell:
    """One response under one treatment, in the response's unit."""

    treatment: Levels
    values: dict[int, float]
    """The value of each block that has one."""
    mean: float | None
    median: float | None
    deviation: float | None
    """Sample standard deviation; absent for fewer than two values."""
    interval: Interval | None
    """95% interval of the mean; absent for fewer than two values."""
    change: Change | None
    """Against the baseline level of the rows' factor, other factors alike; None at the baseline."""
    absent: dict[str, int]
    """Why trials gave no value: reason, and how many."""

    @property
    def n(self) -> int:
        """How many trials gave a value."""
        return len(self.values)


@dataclass(frozen=True)
class ResponseSummary:
    """One response under every treatment of the plan."""

    response: Response
    cells: tuple[Cell, ...]

    def cell(self, treatment: Levels) -> Cell | None:
        """The cell of a treatment, if the plan has it."""
        return next((cell for cell in self.cells if cell.treatment == treatment), None)


@dataclass(frozen=True)
class Summary:
    """Every response of a run under every treatment of its plan."""

    responses: tuple[ResponseSummary, ...]
    comparisons: int
    """How many changes have an interval: with many, some miss by chance."""


def baseline(study: Study) -> str:
    """The level of the rows' factor that changes are relative to."""
    factor = study.factors[study.layout.rows]
    return factor.baseline or factor.levels[0]


def summarise(run: Run) -> Summary:
    """Means, medians, deviations, intervals and changes of a run, however little of it is done."""
    table = frame(run)
    order = plan_treatments(run)
    responses = tuple(_response(run.study, response, order, table) for response in run.study.responses)
    if run.study.until is not None:
        responses = tuple(_widened(response) for response in responses)
    comparisons = sum(
        cell.change is not None and cell.change.interval is not None
        for response in responses
        for cell in response.cells
    )
    return Summary(responses, comparisons)


def _widened(response: ResponseSummary) -> ResponseSummary:
    """The same with intervals that hold at every number of blocks at once."""
    return replace(
        response,
        cells=tuple(
            replace(
                cell,
                interval=widened(cell.interval, cell.n),
                change=None if cell.change is None else widened_change(cell.change),
            )
            for cell in response.cells
        ),
    )


def plan_treatments(run: Run) -> list[Levels]:
    """The plan's treatments in the order of the factors' levels, not in the random order of the plan."""
    treatments = {tuple(sorted(p.treatment.items())): p.treatment for p in run.plan}.values()
    factors = run.study.factors
    ranks = {name: {level: i for i, level in enumerate(f.levels)} for name, f in factors.items()}
    return sorted(treatments, key=lambda t: [ranks[name][t[name]] for name in factors])


def _response(
    study: Study, response: Response, treatments: list[Levels], table: pl.DataFrame
) -> ResponseSummary:
    rows = table.filter(pl.col("response") == response.name)
    values: dict[tuple[str, ...], dict[int, float]] = {}
    reasons: dict[tuple[str, ...], Counter[str]] = {}
    for row in rows.iter_rows(named=True):
        key = tuple(row[name] for name in study.factors)
        if row["value"] is None:
            reasons.setdefault(key, Counter())[row["absent"]] += 1
        else:
            values.setdefault(key, {})[row["block"]] = row["value"]

    def of(treatment: Levels) -> dict[int, float]:
        return values.get(tuple(treatment[name] for name in study.factors), {})

    cells = []
    for treatment in treatments:
        here = of(treatment)
        base = of({**treatment, study.layout.rows: baseline(study)})
        at_baseline = treatment[study.layout.rows] == baseline(study)
        pairs = [(base[block], here[block]) for block in sorted(here.keys() & base.keys())]
        numbers = list(here.values())
        cells.append(
            Cell(
                treatment=treatment,
                values=here,
                mean=fmean(numbers) if numbers else None,
                median=median(numbers) if numbers else None,
                deviation=stdev(numbers) if len(numbers) > 1 else None,
                interval=mean_interval(numbers),
                change=None if at_baseline else change(pairs),
                absent=dict(reasons.get(tuple(treatment[name] for name in study.factors), {})),
            )
        )
    return ResponseSummary(response, tuple(cells))
