"""The report as one self-contained HTML page: it has no external fonts, makes no requests, and has one small
script, which a Content-Security-Policy allows by its hash."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from nettrial.analysis import baseline
from nettrial.files import Unsafe, refuse_foreign
from nettrial.report import (
    agreement_charts,
    airtime,
    change_words,
    charts,
    conclusions,
    distribution_charts,
    explained,
    forest,
    networks,
    pages,
    percentiles,
    response_warnings,
    sentences,
    series,
    sweep_charts,
    sweeps,
    tables,
    vega,
    verdicts,
    views,
)
from nettrial.report.comparison_tables import Earlier
from nettrial.report.content import Report, Section, gather
from nettrial.report.data_tables import data_tables
from nettrial.report.formats import as_json
from nettrial.report.vega import Chart
from nettrial.store import Run
from nettrial.texts import visible

NAME = "report.html"
"""The name of the page in the run's directory."""
_SECTION = re.compile(r'<section[^>]* id="([^"]+)">\s*<h2>([^<]+)</h2>')
"""The beginning of a section of the page."""


@dataclass(frozen=True)
class Charts:
    """The charts of a report, before they are drawn."""

    answer: Chart | None
    """The chart of the headline's changes."""
    responses: dict[str, list[Chart]]
    """The charts of each response's means and changes."""
    views: dict[str, list[Chart]]
    """The charts of each response's trials: their distribution, and their run order."""
    sweeps: list[tuple[str, list[Chart]]]
    """The charts of each combination of the columns' levels, with the name of the combination."""
    interactions: dict[str, list[Chart]]
    """The charts of the interactions shown by each response's data."""
    agreement: list[Chart]
    """The charts of published and measured figures."""
    variation: Chart | None
    """The chart of the shares of the variation; None without an analysis of variance."""
    airtime: list[Chart]
    """The chart of each radio channel."""
    percentiles: list[Chart]
    """The charts of percentiles of delays."""
    series: list[series.Series]
    """The charts of single trials over time."""
    series_note: str
    """The note on trials whose charts over time were left out; empty if there are none."""
    delays: list[Chart]
    """The charts of the cumulative distribution of delays."""
    delays_note: str
    """The note on such charts that were left out; empty if there are none."""
    ranked: list[Chart]
    """The charts of the goodput of flows by rank."""
    ranked_note: str
    """The note on such charts that were left out; empty if there are none."""

    def every(self) -> Iterator[Chart]:
        """Yields all charts, in the page's order."""
        if self.answer:
            yield self.answer
        for name, drawn in self.responses.items():
            yield from drawn
            yield from self.interactions[name]
            yield from self.views[name]
        yield from self.agreement
        if self.variation:
            yield self.variation
        yield from self.airtime
        for _, drawn in self.sweeps:
            yield from drawn
        yield from self.percentiles
        yield from self.delays
        yield from self.ranked
        for each in self.series:
            yield from each.charts


def write(run: Run, report: Report | None = None, earlier: Earlier | None = None) -> Path:
    """Writes a run's page into its directory and returns its path. `report` is the gathered content, if it
    was gathered before, and `earlier` an earlier run with which the page compares this one.

    The page appears completely or not at all. Raises BadInput if the directory can't be written to, or is not
    the user's own."""
    target, doing = run.directory / NAME, "writing the report"
    try:
        refuse_foreign(run.directory.resolve())
    except Unsafe as why:
        raise why.as_bad_input(doing, run.directory) from None
    pages.replace(target, page(report or gather(run), earlier=earlier).encode(), doing)
    return target


def chosen(report: Report) -> Charts:
    """Returns the charts of a report."""
    study = report.run.study
    over_time, note = series.draw(report)
    delays, delays_note = distribution_charts.delays(report)
    ranked, ranked_note = distribution_charts.ranked(report)
    return Charts(
        answer=forest.draw(report),
        responses=_of_sections(report, charts.values, charts.changes),
        views=_of_sections(report, views.distribution, views.order),
        sweeps=sweep_charts.draw(study, report.sweeps) if report.sweeps else [],
        interactions={each.name: explained.interactions(report, each) for each in report.sections},
        agreement=agreement_charts.draw(report),
        variation=explained.shares(report),
        airtime=airtime.draw(study, report.detailed),
        percentiles=percentiles.draw(report),
        series=over_time,
        series_note=note,
        delays=delays,
        delays_note=delays_note,
        ranked=ranked,
        ranked_note=ranked_note,
    )


def _of_sections(report: Report, *kinds: Callable[[Report, Section], Chart | None]) -> dict[str, list[Chart]]:
    """Returns the charts of the given kinds by response, without empty ones."""
    return {
        section.name: [chart for kind in kinds if (chart := kind(report, section))]
        for section in report.sections
    }


def page(report: Report, live: str = "", earlier: Earlier | None = None) -> str:
    """Returns the text of the page. With `live`, the run's revision, the page asks its server for newer
    versions. With `earlier`, it has a section on the changes since that run."""
    study = report.run.study
    first = report.run.trial(report.trials[0].number) if report.trials else None
    hosts = {host.name for host in first.record.hosts} if first else set()
    environment = pages.environment()
    environment.globals["draw"] = vega.on_page
    environment.globals["look"] = vega.look
    environment.filters["quantity"] = change_words.quantity
    environment.filters["contents"] = _contents
    made = environment.get_template("report.html.j2").render(
        report=report,
        run=report.run,
        study=study,
        live=live,
        earlier=earlier,
        policy=pages.policy(live=bool(live)),
        answer=conclusions.sentences(report),
        harm=response_warnings.summary(report.warnings),
        HARM=response_warnings.HARM,
        limits=conclusions.limits(report),
        level=conclusions.extreme_level(study),
        baseline=baseline(study),
        rows_title=study.factors[study.layout.rows].title,
        columns_title=tables.column_title(study),
        agreement=sentences.agreement(report.answers.agreement),
        agreement_table=tables.agreement(study, report.answers.agreement),
        sources=agreement_charts.SOURCES,
        parts=explained.parts(report),
        AGREEMENT=tables.AGREEMENT,
        spreads=sentences.spreads(report.answers.agreement),
        spreads_table=tables.spreads(study, report.answers.agreement),
        SPREADS=tables.SPREADS,
        verdicts=verdicts,
        counterparts=tables.counterparts(study, report.answers.agreement),
        glance=_glance(report),
        legend=[tables.label(study, group) for group in tables.combinations(study)],
        networks=networks.draw(report),
        sweeps=sweeps,
        charts=chosen(report),
        cautions={
            each.name: response_warnings.cautions(study, each.response.response, report.warnings, hosts)
            for each in report.sections
        },
        where=response_warnings.where,
        label=tables.label,
        copies=as_json(data_tables(report)),
    )
    return visible(made)


def _contents(results: str) -> list[tuple[str, Markup]]:
    """Returns the identifier and the heading of each section of the page's main part, in order."""
    return [(place, Markup(words)) for place, words in _SECTION.findall(results)]


def _glance(report: Report) -> list[dict[str, Any]]:
    """Returns for each measured response its change at the last level, by group of columns."""
    study = report.run.study
    level = conclusions.extreme_level(study)
    if level is None:
        return []
    lines = []
    for section in report.sections:
        if not section.is_measured:
            continue
        row = section.measured.entries[section.measured.rows.index(level)]
        groups = tables.combinations(study)
        cells = [section.response.cell({**group, study.layout.rows: level}) for group in groups]
        shown = [
            bool(c and c.change and c.change.interval and not c.change.interval.contains(0)) for c in cells
        ]
        lines.append({"section": section, "entries": list(zip(row, shown, strict=True))})
    return lines
