"""The report as one page that needs nothing but itself: no script, no font, no request."""

import re
import tempfile
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from nettrial import __version__
from nettrial.analysis import baseline
from nettrial.errors import BadInput
from nettrial.report import charts, conclusions, numbers, percentiles, sweep_charts, sweeps, tables, topology
from nettrial.report.content import Report, Section, gather
from nettrial.store import Run

NAME = "report.html"
"""The page's name in the run's directory."""


def write(run: Run) -> Path:
    """Write a run's page into its directory and return its path.

    It appears whole or not at all. Raises BadInput where the directory can't be written.
    """
    page = _page(gather(run))
    target = run.directory / NAME
    try:
        with tempfile.NamedTemporaryFile(dir=run.directory, prefix=f".{NAME}.", delete=False) as file:
            temporary = Path(file.name)
            try:
                file.write(page.encode())
                file.flush()
                temporary.chmod(0o644)
                temporary.replace(target)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadInput("writing the report", str(target), reason, "a directory to write to") from None
    return target


def _page(report: Report) -> str:
    """The page's text. Whatever comes from users is escaped; charts are our own mark-up."""
    loader = PackageLoader("nettrial.report")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["minus"] = _minus
    environment.filters["counted"] = numbers.counted
    environment.filters["numbered"] = numbers.numbered
    study = report.run.study
    trials = report.trials
    return environment.get_template("report.html.j2").render(
        report=report,
        run=report.run,
        study=study,
        version=__version__,
        style=loader.get_source(environment, "report.css")[0],
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


def _minus(text: str) -> str:
    """Hyphens before numbers as minus signs; those inside names stay."""
    return re.sub(r"(?<!\w)-(?=\d)", "\N{MINUS SIGN}", text)


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
