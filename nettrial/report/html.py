"""The report as one page that needs nothing but itself: no script, no font, no request."""

from pathlib import Path
from typing import Any

from nettrial.analysis import baseline
from nettrial.report import charts, conclusions, pages, percentiles, sweep_charts, sweeps, tables, topology
from nettrial.report.content import Report, Section, gather
from nettrial.store import Run

NAME = "report.html"
"""The page's name in the run's directory."""


def write(run: Run) -> Path:
    """Write a run's page into its directory and return its path.

    It appears whole or not at all. Raises BadInput where the directory can't be written.
    """
    target = run.directory / NAME
    pages.write(target, _page(gather(run)).encode(), "writing the report")
    return target


def _page(report: Report) -> str:
    """The page's text. Charts are our own mark-up."""
    study = report.run.study
    trials = report.trials
    return (
        pages.environment()
        .get_template("report.html.j2")
        .render(
            report=report,
            run=report.run,
            study=study,
            answer=conclusions.answer(report),
            limits=conclusions.limits(report),
            level=conclusions.extreme_level(report),
            baseline=baseline(study),
            rows_title=study.factors[study.layout.rows].title,
            columns_title=tables.column_title(study),
            counterparts=tables.counterparts(study, report.published),
            glance=_glance(report),
            legend=_legend(report),
            drawing=topology.draw(study, trials[0].scenario) if trials else None,
            sweeps=sweeps,
            sweep_charts=sweep_charts.draw(study, report.sweeps) if report.sweeps else [],
            levels=_levels(report),
            percentiles=percentiles.draw(report),
            charts={section.name: _charts(report, section) for section in report.sections},
        )
    )


def _charts(report: Report, section: Section) -> list[str]:
    drawn = (charts.values(report, section), charts.changes(report, section))
    return [svg for svg in drawn if svg]


def _legend(report: Report) -> list[dict[str, str]]:
    """How each group of columns looks in the charts."""
    groups = [tables.label(group) for group in tables.combinations(report.run.study)]
    return [{"label": group, **charts.look(index)} for index, group in enumerate(groups)]


def _levels(report: Report) -> list[dict[str, str]]:
    """How each level of the rows' factor looks in the charts of sweeps."""
    study = report.run.study
    levels = study.factors[study.layout.rows].levels
    return [
        {"label": level, "colour": charts.look(index)["colour"], "shape": "circle"}
        for index, level in enumerate(levels)
    ]


def _glance(report: Report) -> list[dict[str, Any]]:
    """For each response its change at the last level, by group of columns."""
    level = conclusions.extreme_level(report)
    if level is None:
        return []
    study = report.run.study
    lines = []
    for section in report.sections:
        row = section.measured.entries[section.measured.rows.index(level)]
        groups = tables.combinations(study)
        cells = [section.response.cell({**group, study.layout.rows: level}) for group in groups]
        shown = [
            bool(c and c.change and c.change.interval and not c.change.interval.contains(0)) for c in cells
        ]
        lines.append({"section": section, "entries": list(zip(row, shown, strict=True))})
    return lines
