"""A run's results in Python, for notebooks: tables as data frames, the analysis, and charts that notebooks
display."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from nettrial import export
from nettrial.errors import BadInput
from nettrial.metrics.base_units import factor_columns
from nettrial.plots import Plots
from nettrial.registry import near
from nettrial.report import conclusions, figure_files, html, vega
from nettrial.report.content import Report, gather
from nettrial.report.data_tables import CHANGE_COLUMNS, change_values, data_tables
from nettrial.report.formats import DataTable
from nettrial.store import Run
from nettrial.study import Study

CHOOSING = "choosing from the results"
"""The current action, for error messages."""
Entry = TypeVar("Entry")


def load(directory: str | Path) -> Results:
    """Returns the results of the run in a directory, such as "runs/mine".

    Raises BadInput if there is no run, or if it was made by a newer version. Data is read on first access and
    then cached: load the run again to see newer trials."""
    return Results(Run.open(Path(directory)))


class Named(dict[str, Entry]):
    """Entries by name; an unknown name is an error that lists the existing ones."""

    def __missing__(self, name: str) -> Entry:
        raise BadInput(
            CHOOSING, repr(name), "there is no entry of that name", ", ".join(self), near(name, self)
        )


class Chart:
    """A chart that notebooks display: by Vega-Lite if they support it, otherwise as SVG."""

    def __init__(self, chart: vega.Chart) -> None:
        """Wraps a chart; use `Results.charts`."""
        self._chart = chart

    @property
    def name(self) -> str:
        """The chart's name, unique within the run."""
        return self._chart.name

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The Vega-Lite specification including the data; `altair.Chart.from_dict(chart.spec)` converts it
        into an Altair chart."""
        return vega.on_paper(self._chart)

    @cached_property
    def svg(self) -> str:
        """Returns the chart as SVG, black on white."""
        return figure_files.drawn(self._chart)

    def save(self, file: str | Path) -> None:
        """Writes the chart in the format given by the file's extension: .svg, .pdf or .png. Raises
        BadInput."""
        figure_files.save(self._chart, Path(file))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {
            "application/vnd.vegalite.v5+json": self.spec,
            "image/svg+xml": self.svg,
            "text/plain": repr(self),
        }

    def __repr__(self) -> str:
        return f"<chart {self.name}: {self._chart.said}>"


class Results:
    """The results of a run. Every row of a data frame has the trial's `number`, its `block` and its levels,
    and column names contain units: see the page "Exported tables" of the reference."""

    def __init__(self, run: Run) -> None:
        """Wraps a run; use `nettrial.load`."""
        self.run = run
        """The run itself."""
        self._frames = Named(export.frames(run))
        self._read: dict[str, pl.DataFrame] = {}

    @property
    def study(self) -> Study:
        """The study as it was run."""
        return self.run.study

    @cached_property
    def report(self) -> Report:
        """The analysis behind the report: summary, warnings, sections."""
        return gather(self.run)

    @property
    def answer(self) -> str:
        """The answer to the study's question, in words."""
        return conclusions.answer(self.report)

    def table(self, name: str) -> pl.DataFrame:
        """Returns the table of that name in `nettrial export`; raises BadInput for an unknown name."""
        if name not in self._read:
            self._read[name] = self._frames[name]()
        return self._read[name]

    @property
    def trials(self) -> pl.DataFrame:
        """Returns a row for each trial of the plan, with its state, its responses in base units, and its
        number of warnings."""
        return self.table("trials")

    @property
    def responses(self) -> pl.DataFrame:
        """Returns a row for each finished trial and response, with the value in the response's unit, or the
        reason why there is none."""
        return self.table("responses")

    @property
    def flows(self) -> pl.DataFrame:
        """Returns a row for each flow of each finished trial."""
        return self.table("flows")

    @property
    def hosts(self) -> pl.DataFrame:
        """Returns a row for each host of each finished trial."""
        return self.table("hosts")

    @property
    def links(self) -> pl.DataFrame:
        """Returns a row for each interface of each finished trial whose queue or packets were counted."""
        return self.table("links")

    @property
    def samples(self) -> pl.DataFrame:
        """Returns the transport state of flows over time, with a row for each sample."""
        return self.table("samples")

    @property
    def sizes(self) -> pl.DataFrame:
        """Returns the results of sweeps, with a row for each repeat of each size."""
        return self.table("sizes")

    @property
    def warnings(self) -> pl.DataFrame:
        """Returns a row for each warning of each finished trial."""
        return self.table("warnings")

    @property
    def reruns(self) -> pl.DataFrame:
        """Returns a row for each attempt at a trial that was repeated because something else disturbed it,
        with the reason."""
        return self.table("reruns")

    @property
    def failures(self) -> pl.DataFrame:
        """Returns a row for each trial whose last attempt gave no record."""
        return self.table("failures")

    def summary(self) -> pl.DataFrame:
        """Returns a row for each response under each treatment, in the response's `unit`: the number of
        trials, the mean, median and standard deviation, and the 95% intervals of mean and median."""
        rows: list[list[Any]] = []
        for section in self.report.summary.responses:
            for cell in section.cells:
                mean, median = cell.interval, cell.median_interval
                bounds = [(each.low, each.high) if each else (None, None) for each in (mean, median)]
                rows.append(
                    [
                        *(
                            section.response.name,
                            section.response.unit,
                            *self._levels(cell.treatment),
                            cell.n,
                        ),
                        *(cell.mean, *bounds[0], cell.median, *bounds[1], cell.deviation),
                        "; ".join(cell.absent) or None,
                    ]
                )
        figures_of = ("mean", "mean_low", "mean_high", "median", "median_low", "median_high", "deviation")
        columns = {"trials": pl.Int64, **dict.fromkeys(figures_of, pl.Float64), "absent": pl.String}
        return self._frame(rows, columns)

    def changes(self) -> pl.DataFrame:
        """Returns the change of each response from the baseline at the same other levels: in percent with its
        95% interval, paired by block, and with the interval and the p-value corrected for all comparisons of
        the response, and the verdict: "better", "worse", "small" (below the smallest effect of interest) or
        "none"."""
        rows = [
            [
                *(section.response.name, section.response.unit, *self._levels(cell.treatment)),
                *change_values(section.response, cell.change),
            ]
            for section in self.report.summary.responses
            for cell in section.cells
            if cell.change is not None
        ]
        columns: dict[str, Any] = dict.fromkeys(CHANGE_COLUMNS, pl.Float64)
        texts = {"verdict": pl.String, "change_absent": pl.String}
        return self._frame(rows, {**columns, "pairs": pl.Int64, **texts})

    @cached_property
    def charts(self) -> Named[Chart]:
        """The report's charts by name; a notebook displays a chart at the end of a cell."""
        return Named({chart.name: Chart(chart) for chart in html.chosen(self.report).every()})

    @cached_property
    def plot(self) -> Plots:
        """The report's charts as Altair charts, such as `results.plot.means("goodput")`, to change them
        further."""
        return Plots(self.report)

    @cached_property
    def tables(self) -> Named[DataTable]:
        """The report's tables by name; notebooks display them, and `nettrial.report.formats` converts them
        into LaTeX, Markdown and CSV."""
        return Named({table.name: table for table in data_tables(self.report)})

    def _levels(self, treatment: dict[str, str]) -> Iterable[str]:
        return (treatment[name] for name in self.study.factors)

    def _frame(self, rows: list[list[Any]], columns: dict[str, Any]) -> pl.DataFrame:
        """Returns a data frame with the response, the unit, the levels and these columns."""
        names = factor_columns(self.study.factors, {"response", "unit", *columns})
        levels = {names[name]: pl.Enum(factor.levels) for name, factor in self.study.factors.items()}
        schema = {"response": pl.String, "unit": pl.String, **levels, **columns}
        return pl.DataFrame(rows, schema=schema, orient="row")

    def __repr__(self) -> str:
        planned, done = len(self.run.plan), self.run.finished()
        responses = ", ".join(response.name for response in self.study.responses)
        return (
            f"<run of {self.study.study} in {self.run.directory}: {done} of {planned} trials\n"
            f" responses: {responses}\n"
            f" tables: {', '.join(self._frames)}\n"
            " .summary(), .changes(), .charts, .plot, .tables>"
        )
