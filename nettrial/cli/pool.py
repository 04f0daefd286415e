"""`nettrial pool`: several runs of one study together, each as one session."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nettrial.analysis.limits import LimitJudgement
from nettrial.analysis.sessions import Pool, pool, repeated_change
from nettrial.cli.console import print_table, say
from nettrial.cli.documents import base as documents
from nettrial.cli.documents import pool as pool_documents
from nettrial.cli.limits import ANYTHING, Gate, as_documents
from nettrial.files import RUN_FILE
from nettrial.report import pages, pooled
from nettrial.store import Run
from nettrial.store.directory import require_directory

WRITING = "writing the page"
"""The current action, for error messages."""


def show(directories: Sequence[Path], as_json: bool, page: Path | None = None, gate: Gate = ANYTHING) -> int:
    """Prints what runs of one study show together, judges the conditions of `gate`, and returns the exit
    status; writes an HTML page on request. A directory of sessions, as `nettrial run --sessions` writes it,
    stands for all its runs. Raises BadInput, and what `Gate.decide` raises."""
    require_directory("--html", page)
    runs = [Run.open(each) for each in expanded(directories)]
    together = pool(runs)
    if page is not None:
        pages.write(page, pooled.page(together).encode(), WRITING)
    judged = gate.judge(together.study, together.responses)
    if as_json:
        documents.show(_document(together, runs, judged))
    else:
        _print(together)
    return gate.decide(judged, as_json)


def expanded(directories: Sequence[Path]) -> list[Path]:
    """Returns the directories of runs; for one that contains runs, these, in the order of their names."""
    return [run for each in directories for run in _runs(each)]


def _runs(directory: Path) -> list[Path]:
    if (directory / RUN_FILE).exists():
        return [directory]
    return sorted(file.parent for file in directory.glob(f"*/{RUN_FILE}")) or [directory]


def _print(joint: Pool) -> None:
    print(pooled.title(joint))
    for table in pooled.tables(joint):
        print(f"\n{table.caption}")
        print_table(table.headings, table.lines)
    if caution := pooled.caution(joint):
        say(caution)


def _document(
    joint: Pool, runs: Sequence[Run], judged: Sequence[LimitJudgement]
) -> pool_documents.PoolDocument:
    return pool_documents.PoolDocument(
        study=joint.study.study,
        runs=[str(run.directory) for run in runs],
        blocks=joint.blocks,
        means=[
            pool_documents.SessionMean(
                response=response.response.name,
                unit=response.response.unit,
                treatment=each.treatment,
                means=list(each.means),
                mean=each.mean,
                interval=documents.bounds(each.interval),
                one_more=documents.bounds(each.prediction),
            )
            for response in joint.responses
            for each in response.means
        ],
        changes=[
            pool_documents.SessionChange(
                response=response.response.name,
                factor=finding.factor,
                level=effect.level,
                against=finding.baseline,
                at=None if others is None else {name: others[name] for name in finding.others},
                percent=change.percent,
                interval=documents.bounds(change.simultaneous),
                one_more=documents.bounds(repeated_change(change)),
                absent=change.absent,
            )
            for response in joint.responses
            for finding in response.findings
            for effect in finding.effects
            for others, change in [
                (None, effect.overall),
                *((place.others, place.change) for place in effect.places),
            ]
        ],
        conditions=as_documents(judged),
        variance=[
            pool_documents.SessionVariance(
                response=response.response.name,
                session=response.shares.session,
                treatment_by_session=response.shares.treatment_by_session,
                block=response.shares.block,
                residual=response.shares.residual,
                deviation=response.shares.deviation,
                half_width=response.gain.now,
                half_width_twice_sessions=response.gain.sessions,
                half_width_twice_blocks=response.gain.blocks,
            )
            for response in joint.responses
            if response.shares is not None and response.gain is not None
        ],
    )
