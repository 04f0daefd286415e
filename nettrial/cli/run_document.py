"""The results of a run as a JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from nettrial.analysis import Finding, HarmOfWarnings, LevelEffect, ResponseSummary, merit
from nettrial.analysis.limits import LimitJudgement
from nettrial.cli import limits
from nettrial.cli.documents import base as documents
from nettrial.cli.documents import merits
from nettrial.cli.documents import report as report_documents
from nettrial.cli.documents.merits import VERDICTS
from nettrial.cli.documents.report import ReportDocument
from nettrial.report import conclusions
from nettrial.report.content import Report

EFFECTS: dict[HarmOfWarnings, Literal["bias", "narrower", "wider", "nothing"]] = {
    HarmOfWarnings.BIAS: "bias",
    HarmOfWarnings.NARROWER: "narrower",
    HarmOfWarnings.WIDER: "wider",
    HarmOfWarnings.NOTHING: "nothing",
}
"""The word in the document for each effect of warnings."""


def report_document(
    report: Report, page: Path | None, judged: Sequence[LimitJudgement] = ()
) -> ReportDocument:
    """Returns the results of a run as a document, with the outcomes of conditions; `page` is the file of its
    report, or None if there is none."""
    run, study = report.run, report.run.study
    return ReportDocument(
        run=str(run.directory),
        study=study.study,
        title=study.title,
        question=study.question,
        command=run.command,
        backend=study.backend,
        seed=run.seed,
        trials=report_documents.Trials(
            planned=len(run.plan),
            finished=len(report.trials),
            failed=sum(len(group.trials) for group in report.failures),
            warned=report.warned_trials,
            reruns=None
            if study.measured or study.capabilities.simulated_time
            else sum(run.disturbed_attempts().values()),
        ),
        answer=conclusions.answer(report),
        effects=[
            _effect(finding, effect)
            for section in report.sections
            for finding in report.answers.findings[section.name]
            for effect in finding.effects
        ],
        values=[value for response in report.summary.responses for value in _values(response)],
        warnings=[
            report_documents.WarningGroup(
                code=group.code,
                object=group.object,
                message=group.message,
                consequence=group.consequence,
                effect=EFFECTS[group.effect],
                trials=group.trials,
            )
            for group in report.warnings
        ],
        failures=[
            report_documents.FailureGroup(message=group.message, trials=list(group.trials))
            for group in report.failures
        ],
        stopping=report.stopping,
        conditions=limits.as_documents(judged),
        page=None if page is None else str(page),
    )


def _effect(finding: Finding, effect: LevelEffect) -> report_documents.Effect:
    change = effect.overall
    return report_documents.Effect(
        response=finding.response.name,
        factor=finding.factor,
        baseline=finding.baseline,
        level=effect.level,
        percent=change.percent,
        interval=documents.bounds(change.simultaneous),
        difference=change.difference,
        difference_interval=documents.bounds(change.simultaneous_difference),
        unit=finding.response.unit,
        p_value=change.p_corrected,
        blocks=change.pairs,
        shown=documents.direction(change.shown),
        verdict=VERDICTS[merit(finding.response, change, change.shown, effect.is_mixed)],
        detectable=merits.could_show(change, finding.response),
        rises=effect.rises,
        falls=effect.falls,
        absent=change.absent,
    )


def _values(summary: ResponseSummary) -> list[report_documents.Value]:
    return [
        report_documents.Value(
            response=summary.response.name,
            unit=summary.response.unit,
            treatment=cell.treatment,
            n=cell.n,
            mean=cell.mean,
            median=cell.median,
            interval=documents.bounds(cell.interval),
            absent=cell.absent,
        )
        for cell in summary.cells
    ]
