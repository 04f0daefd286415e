"""The charts of a run's report as Altair charts, for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nettrial.errors import BadInput, without_extra
from nettrial.registry import near
from nettrial.report import charts as response_charts
from nettrial.report import distribution_charts, explained, forest, series, vega, views
from nettrial.report.content import Report, Section

if TYPE_CHECKING:
    import altair

DRAWING = "drawing a chart"
"""The current action, for error messages."""


class Plots:
    """The charts of a run's report as Altair charts, which can be changed further: `results.plot`. Each has
    the values that the report draws. A chart of values that the run has not recorded is an error. Needs the
    extra `nettrial[tables]`.

    >>> import nettrial
    >>> plot = nettrial.load("runs/loss").plot
    >>> plot.means("goodput").to_dict()["title"]
    'Goodput, Mbit/s'
    >>> plot.over_time("goodput").properties(width=600).width
    600"""

    def __init__(self, report: Report) -> None:
        """Wraps the content of a report; use `Results.plot`."""
        self._report = report

    def answer(self) -> altair.LayerChart:
        """Returns the changes that answer the study's question, with their intervals."""
        return self._layers(forest.draw(self._report), "the answer has no change with an interval")

    def means(self, response: str) -> altair.LayerChart:
        """Returns the mean of a response under each treatment with its 95% interval, and every trial."""
        return self._of(response, response_charts.values(self._report, self._section(response)))

    def changes(self, response: str) -> altair.LayerChart:
        """Returns the changes of a response from the baseline in percent, with their intervals."""
        return self._of(response, response_charts.changes(self._report, self._section(response)))

    def distribution(self, response: str) -> altair.LayerChart:
        """Returns every trial of each treatment with the median."""
        return self._of(response, views.distribution(self._report, self._section(response)))

    def run_order(self, response: str) -> altair.LayerChart:
        """Returns the deviation of each trial from the mean of its treatment, in run order."""
        return self._of(response, views.order(self._report, self._section(response)))

    def variation(self) -> altair.LayerChart:
        """Returns each factor's share of the variation of each response."""
        return self._layers(explained.shares(self._report), "the run has no analysis of variance")

    def delays(self) -> altair.VConcatChart:
        """Returns the cumulative distribution of the delays of requests and packets by treatment, for each
        flow that recorded them."""
        return self._below(distribution_charts.delays(self._report)[0], "no flow recorded all its delays")

    def ranked_goodput(self) -> altair.VConcatChart:
        """Returns the goodput of each flow by rank, from the lowest, the mean over trials, by treatment."""
        few = f"no trial has {distribution_charts.FEWEST_FLOWS} flows with a goodput"
        return self._below(distribution_charts.ranked(self._report)[0], few)

    def over_time(self, figure: series.Figure, trial: int | None = None) -> altair.LayerChart:
        """Returns a figure over the time of a trial, such as "goodput", "rtt", "retransmissions" or "cwnd",
        with a line for each flow. `trial` is its number in run order; by default that of the first treatment
        whose first response is nearest to the median."""
        if trial is None:
            examples = series.draw(self._report)[0]
            drawn = examples[0].charts if examples else []
        else:
            finished = [planned.number for planned in self._report.trials]
            if trial not in finished:
                expected = (
                    f"the number of a finished trial, such as {finished[0]}"
                    if finished
                    else "a finished trial"
                )
                raise BadInput(DRAWING, "trial", str(trial), expected)
            drawn = series.of_trial(self._report.run.trial(trial))
        by_figure = {chart.name.split("-", 2)[2]: chart for chart in drawn}
        if figure not in by_figure:
            recorded = ", ".join(by_figure) or "a trial that recorded samples over time"
            raise BadInput(DRAWING, repr(figure), "no such samples", recorded, near(figure, by_figure))
        return self._layers(by_figure[figure], "")

    def _section(self, response: str) -> Section:
        sections = {section.name: section for section in self._report.sections}
        if response not in sections:
            raise BadInput(
                DRAWING,
                repr(response),
                "there is no such response",
                ", ".join(sections),
                near(response, sections),
            )
        return sections[response]

    def _of(self, response: str, chart: vega.Chart | None) -> altair.LayerChart:
        return self._layers(chart, f"{response} has too few values")

    def _layers(self, chart: vega.Chart | None, why_not: str) -> altair.LayerChart:
        if chart is None:
            raise BadInput(DRAWING, str(self._report.run.directory), why_not, "a run with these values")
        made: altair.LayerChart = _altair().LayerChart.from_dict(vega.on_paper(chart))
        return made

    def _below(self, charts: Sequence[vega.Chart], why_not: str) -> altair.VConcatChart:
        """Returns charts below each other, each with its own legend."""
        if not charts:
            raise BadInput(DRAWING, str(self._report.run.directory), why_not, "a run with these values")
        whole = [vega.on_paper(chart) for chart in charts]
        shared = ("config", "padding")
        parts = [{name: each for name, each in part.items() if name not in shared} for part in whole]
        spec = {
            "vconcat": parts,
            "resolve": {"scale": {"color": "independent", "shape": "independent"}},
            **{name: whole[0][name] for name in shared},
        }
        made: altair.VConcatChart = _altair().VConcatChart.from_dict(spec)
        return made


def _altair() -> Any:
    """Returns the module altair, which is slow to load; raises CannotRun if it is not installed."""
    try:
        import altair
    except ModuleNotFoundError as error:
        if error.name != "altair":
            raise
        raise without_extra(DRAWING, "altair", "tables") from None
    return altair
