"""`nettrial pool`: several runs of one study together, each as one session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from nettrial.analysis import Change, Interval
from nettrial.analysis.sessions import Pool, PooledResponse, SessionMean, pool, repeated_change
from nettrial.cli.console import print_table, say
from nettrial.cli.documents import base as documents
from nettrial.cli.documents import pool as pool_documents
from nettrial.design.trial_order import in_words
from nettrial.report import numbers
from nettrial.store import Run
from nettrial.store.run import RUN_FILE

FEW = 4
"""The number of sessions below which the intervals are very wide, and the output says so."""


def show(directories: Sequence[Path], as_json: bool) -> None:
    """Prints what runs of one study show together; raises BadInput. A directory of sessions, as `nettrial run
    --sessions` writes it, stands for all its runs."""
    runs = [Run.open(each) for each in expanded(directories)]
    found = pool(runs)
    if as_json:
        documents.show(_document(found, runs))
        return
    _print(found)


def expanded(directories: Sequence[Path]) -> list[Path]:
    """Returns the directories of runs; for one that contains runs, these, in the order of their names."""
    return [run for each in directories for run in _runs(each)]


def _runs(directory: Path) -> list[Path]:
    if (directory / RUN_FILE).exists():
        return [directory]
    return sorted(file.parent for file in directory.glob(f"*/{RUN_FILE}")) or [directory]


def _print(found: Pool) -> None:
    sessions = numbers.counted(found.sessions, "session")
    print(f"{found.study.title}: {sessions} of {numbers.counted(found.blocks, 'block')}")
    print(
        "\nMeans over sessions, with the 95% interval of the mean of all sessions and that of one more "
        "session's mean (Student's t; a session counts once)"
    )
    rows = [row for response in found.responses for row in _means(response)]
    print_table(["response", "treatment", "mean", "interval", "one more session", "unit"], rows)
    print("\nChanges in percent; the intervals of all places of a factor hold together at 95%")
    rows = [row for response in found.responses for row in _changes(found, response)]
    print_table(["response", "change", "at", "percent", "interval", "one more session"], rows)
    _print_shares(found)
    if found.sessions < FEW:
        say(
            f"{sessions} hardly show how much sessions differ, so these intervals are wide: "
            f"with {FEW} or more they are much narrower"
        )


def _means(response: PooledResponse) -> Iterator[list[str]]:
    for each in response.means:
        decimals = _decimals(each)
        yield [
            response.response.name,
            in_words(each.treatment),
            "absent" if each.mean is None else numbers.fixed(each.mean, decimals),
            *(_span(bounds, decimals) for bounds in (each.interval, each.prediction)),
            response.response.unit,
        ]


def _decimals(found: SessionMean) -> int:
    """Returns the decimals that two digits of the half-width justify."""
    if found.interval is None or found.interval.half_width <= 0:
        return 3
    return numbers.decimals_of(found.interval)


def _span(bounds: Interval | None, decimals: int) -> str:
    if bounds is None:
        return ""
    return f"{numbers.fixed(bounds.low, decimals)} to {numbers.fixed(bounds.high, decimals)}"


def _changes(found: Pool, response: PooledResponse) -> Iterator[list[str]]:
    for finding in response.findings:
        title = found.study.factors[finding.factor].title
        for effect in finding.effects:
            name = f"{title} {effect.level} instead of {finding.baseline}"
            if len(effect.places) > 1:
                yield [response.response.name, name, "all places", *_change(effect.overall)]
            for place in effect.places:
                where = {each: place.others[each] for each in finding.others}
                yield [response.response.name, name, in_words(where) if where else "", *_change(place.change)]


def _change(change: Change) -> tuple[str, str, str]:
    """Returns a change, its simultaneous interval and that of a repeated run, as texts."""
    bounds, again = change.simultaneous, repeated_change(change)
    if change.percent is None:
        return "", change.absent or "", ""
    decimals = numbers.decimals_of(bounds) if bounds else 1
    return (
        numbers.signed(change.percent, decimals),
        numbers.bounds(bounds, decimals) if bounds else change.absent or "",
        _signed(again, decimals),
    )


def _signed(bounds: Interval | None, decimals: int) -> str:
    if bounds is None:
        return ""
    return f"{numbers.signed(bounds.low, decimals)} to {numbers.signed(bounds.high, decimals)}"


def _print_shares(found: Pool) -> None:
    rows = []
    for each in found.responses:
        shares, gain = each.shares, each.gain
        if shares is None or gain is None:
            continue
        origins = (shares.session, shares.treatment_by_session, shares.block, shares.residual)
        widths = (gain.now, gain.sessions, gain.blocks)
        rows.append(
            [
                each.response.name,
                *(f"{100 * share:.0f}%" for share in origins),
                *(f"{width:.2g}" for width in widths),
            ]
        )
    if not rows:
        return
    print(
        "\nOrigin of the variance of one value, and the expected half-width of a mean's interval: now, with "
        "twice the sessions and with twice the blocks (in percent; without ratios, in the response's unit)"
    )
    columns = ["session", "treatment by session", "block", "residual", "now", "2× sessions", "2× blocks"]
    print_table(["response", *columns], rows)


def _document(found: Pool, runs: Sequence[Run]) -> pool_documents.PoolDocument:
    return pool_documents.PoolDocument(
        study=found.study.study,
        runs=[str(run.directory) for run in runs],
        blocks=found.blocks,
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
            for response in found.responses
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
            for response in found.responses
            for finding in response.findings
            for effect in finding.effects
            for others, change in [
                (None, effect.overall),
                *((place.others, place.change) for place in effect.places),
            ]
        ],
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
            for response in found.responses
            if response.shares is not None and response.gain is not None
        ],
    )
