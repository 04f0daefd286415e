"""A run's results for continuous integration: as JUnit XML, and as Markdown for a results page."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from nettrial.analysis import digest
from nettrial.cli.ci_files import JunitSuite, in_line, write_junit, write_markdown
from nettrial.design.trial_order import in_words
from nettrial.report import conclusions, numbers, screen
from nettrial.report.content import Report
from nettrial.scenario import Warning
from nettrial.texts import visible


def write(report: Report, junit: Path | None, markdown: Path | None) -> None:
    """Writes the requested files, each completely or not at all; raises BadInput for a file that can't be
    written."""
    if junit is not None:
        write_junit(junit, as_junit(report))
    if markdown is not None:
        write_markdown(markdown, as_markdown(report))


def as_junit(report: Report) -> bytes:
    """Returns a test suite with a test case for each planned trial: a failed trial is an error, a trial that
    has not run is skipped, and warnings are in the test case's output."""
    run = report.run
    failures = {failure.planned.number: failure.message for failure in run.failures()}
    read = digest(run)
    spans = {planned.number: total for planned, (_, total) in zip(read.finished, read.spans, strict=True)}
    warned: dict[int, list[Warning]] = {}
    for warning, planned in read.warnings:
        warned.setdefault(planned.number, []).append(warning)
    skipped = len(run.plan) - len(spans) - len(failures)
    counts = {"tests": len(run.plan), "failures": 0, "errors": len(failures), "skipped": skipped}
    suite = JunitSuite(run.study.study, counts)
    for planned in run.plan:
        group = f"{run.study.study}.{in_words(planned.treatment)}"
        case = suite.case(group, f"trial {planned.number}, block {planned.block}")
        if planned.number in spans:
            case.set("time", f"{spans[planned.number] / 1e9:.3f}")
            of_trial = warned.get(planned.number, [])
            lines = [f"{each.object}: {each.message}; {each.consequence}" for each in of_trial]
            if lines:
                ElementTree.SubElement(case, "system-out").text = visible("\n".join(lines))
        elif planned.number in failures:
            ElementTree.SubElement(case, "error", message=visible(failures[planned.number]))
        else:
            ElementTree.SubElement(case, "skipped", message="not run yet")
    return suite.encoded()


def as_markdown(report: Report) -> str:
    """Returns the answer, a table of effects, the warnings and the failures as Markdown."""
    study = report.run.study
    lines = [
        f"## {in_line(study.study)}: {in_line(study.title)}",
        "",
        in_line(study.question),
        "",
        *(line for sentence in conclusions.sentences(report) for line in (in_line(sentence), "")),
        in_line(f"{', '.join(report.facts)}."),
    ]
    effects = screen.effects(report)
    if effects:
        lines += [
            "",
            "| response | level | | change | 95% interval | |",
            "| --- | --- | --- | ---: | ---: | --- |",
        ]
    for finding, effect in effects:
        level = f"{study.factors[finding.factor].title} {effect.level} instead of {finding.baseline}"
        said = screen.effect_words(finding, effect)
        arrow = screen.ARROWS[said.shown] if said.interval else ""
        cells = (finding.response.title, level, arrow, said.change, said.interval, said.verdict)
        lines.append(f"| {' | '.join(map(in_line, cells))} |")
    warnings = [
        (f"{each.object}: {each.message}; {each.consequence}", each.trials) for each in report.warnings
    ]
    failures = [(each.message, len(each.trials)) for each in report.failures]
    for title, problems in (("Warnings", warnings), ("Failures", failures)):
        if problems:
            lines += ["", f"### {title}", ""]
            lines += [f"- {in_line(text)} ({numbers.counted(count, 'trial')})" for text, count in problems]
    return "\n".join(lines) + "\n"
