"""Several runs of one study together, in tables and on a page."""

from __future__ import annotations

from collections.abc import Iterator

from nettrial.analysis import Change, Interval
from nettrial.analysis.sessions import Pool, PooledResponse, SessionMean, repeated_change
from nettrial.design.trial_order import in_words
from nettrial.report import numbers, pages
from nettrial.report.formats import DataTable, plain

FEW = 4
"""The number of sessions below which the intervals are very wide, and the output says so."""


def title(pool: Pool) -> str:
    """Returns the study with the numbers of sessions and blocks."""
    sessions = numbers.counted(pool.sessions, "session")
    return f"{pool.study.title}: {sessions} of {numbers.counted(pool.blocks, 'block')}"


def caution(pool: Pool) -> str:
    """Returns what is to be said about the width of the intervals; empty if there is nothing."""
    said = []
    if pool.sessions < FEW:
        said.append(
            f"{numbers.counted(pool.sessions, 'session')} hardly show how much sessions differ, so these "
            f"intervals are wide: with {FEW} or more they are much narrower"
        )
    means = [each for response in pool.responses for each in response.means]
    if any(_is_only_below_0(each) for each in means):
        said.append(numbers.ONLY_BOUNDS_BELOW_0)
    return "; ".join(said)


def _is_only_below_0(session_mean: SessionMean) -> bool:
    """Returns whether an interval extends below 0 although no session's mean does."""
    values = [value for value in session_mean.means if value is not None]
    bounds = (session_mean.interval, session_mean.prediction)
    return any(each is not None and each.only_itself_below_0(values) for each in bounds)


def tables(pool: Pool) -> list[DataTable]:
    """Returns the tables of means, of changes and of the origin of the variance; the last is absent if
    nothing varies."""
    means = plain(
        "means",
        "Means over sessions, with the 95% interval of the mean of all sessions and that of one more "
        "session's mean (Student's t; a session counts once)",
        ["response", "treatment", "mean", "interval", "one more session", "unit"],
        [row for response in pool.responses for row in _means(response)],
    )
    changes = plain(
        "changes",
        "Changes in percent; the intervals of all places of a factor hold together at 95%",
        ["response", "change", "at", "percent", "interval", "one more session"],
        [row for response in pool.responses for row in _changes(pool, response)],
    )
    shares = plain(
        "variance",
        "Origin of the variance of one value, and the expected half-width of a mean's interval: now, with "
        "twice the sessions and with twice the blocks (in percent; without ratios, in the response's unit)",
        [
            *("response", "session", "treatment by session", "block", "residual"),
            *("now", "2× sessions", "2× blocks"),
        ],
        list(_shares(pool)),
    )
    return [table for table in (means, changes, shares) if table.lines]


def page(pool: Pool) -> str:
    """Returns a self-contained HTML page."""
    template = pages.environment().get_template("pool.html.j2")
    return template.render(
        study=pool.study,
        title=title(pool),
        caution=caution(pool),
        tables=tables(pool),
        policy=pages.policy(script=False),
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


def _decimals(session_mean: SessionMean) -> int:
    """Returns the decimals that two digits of the half-width justify."""
    if session_mean.interval is None or session_mean.interval.half_width <= 0:
        return 3
    return numbers.decimals_of(session_mean.interval)


def _span(bounds: Interval | None, decimals: int) -> str:
    if bounds is None:
        return ""
    return f"{numbers.fixed(bounds.low, decimals)} to {numbers.fixed(bounds.high, decimals)}"


def _changes(pool: Pool, response: PooledResponse) -> Iterator[list[str]]:
    for finding in response.findings:
        factor = pool.study.factors[finding.factor].title
        for effect in finding.effects:
            name = f"{factor} {effect.level} instead of {finding.baseline}"
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


def _shares(pool: Pool) -> Iterator[list[str]]:
    for each in pool.responses:
        shares, gain = each.shares, each.gain
        if shares is None or gain is None:
            continue
        origins = (shares.session, shares.treatment_by_session, shares.block, shares.residual)
        yield [
            each.response.name,
            *(f"{100 * share:.0f}%" for share in origins),
            *(f"{width:.2g}" for width in (gain.now, gain.sessions, gain.blocks)),
        ]
