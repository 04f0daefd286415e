"""A run's stopping rule and its result, in sentences."""

from __future__ import annotations

import math

from nettrial.analysis import CONFIDENCE, Stopping, Width, stopping
from nettrial.design.plan import in_words
from nettrial.report import numbers
from nettrial.store import Run
from nettrial.study import Until

KIND = (
    "The intervals of means and changes are of a confidence sequence: they hold at every number of blocks at "
    "once, so stopping when they are narrow does not make them too narrow. They are wider than Student's t "
    "intervals of as many blocks. They suppose that values far from the others are seen: where one "
    "trial of twenty gives half of what the others give, a run may stop before such a trial comes, and its "
    "intervals held the mean in 30% to 91% of simulated runs of 5 blocks or more, and in 95% of 60 or more."
)
"""The sentence with which reports describe the intervals."""


def rule(until: Until) -> str:
    """Returns what a rule waits for: "each mean is known: of rtt to ±5%; of throughput to ±2%"."""
    names: dict[float, list[str]] = {}
    for name, percent in until.percent.items():
        names.setdefault(percent, []).append(name)
    each = [f"of {numbers.listed(of)} to ±{percent:g}%" for percent, of in names.items()]
    return f"each mean is known: {'; '.join(each)}"


def end(run: Run) -> str:
    """Returns what ended the run, or what it still waits for; empty where there is no rule."""
    found = stopping(run)
    if found is None:
        return ""
    blocks = numbers.counted(found.blocks, "block")
    allowed = f"{found.until.minimum} to {found.until.maximum} were allowed"
    if found.goes_on or not found.done:
        said = f"Not at its end after {blocks} ({allowed}): it goes on until {rule(found.until)}."
    elif found.wide:
        said = f"It ended after {blocks}, the most allowed, less precise than it was to be: {_wide(found)}."
    else:
        said = f"It ended after {blocks} ({allowed}) because {rule(found.until)}. {_unseen(found.blocks)}"
    if found.unmeasured:
        said += f" Left out where there is no value: {numbers.listed(found.unmeasured)}."
    if found.equal:
        said += f" Left out where all values are equal, which show no spread: {numbers.listed(found.equal)}."
    return said


def sentences(run: Run) -> list[str]:
    """Returns what a report says of the run's end and of its intervals; nothing where there is no rule."""
    return [end(run), KIND] if run.study.until else []


def progress(found: Stopping) -> str:
    """A line after a block: how far the run is from its end."""
    return f"after {numbers.counted(found.blocks, 'block')}: {_wide(found)}"


def _wide(found: Stopping) -> str:
    """The intervals that are too wide, and the widest of them."""
    wide = found.wide
    if not wide:
        return "no interval is too wide"
    of = f"{len(wide)} of {numbers.counted(len(found.widths), 'interval')} too wide"
    return f"{of}, most of all {_width(wide[0])}"


def _unseen(blocks: int) -> str:
    """Returns how rare the values are that may be missing: the share of trials that give none of those seen,
    which so many trials of a treatment leave possible (the exact binomial bound of none)."""
    share = 1 - (1 - CONFIDENCE) ** (1 / blocks)
    return (
        f"Values that up to {100 * share:.2g}% of trials give may not have shown in so few "
        f"(with {100 * CONFIDENCE:g}%)."
    )


def _width(width: Width) -> str:
    reached = "not known yet" if math.isinf(width.percent) else f"±{width.percent:.2g}%"
    if width.percent >= 100 and not math.isinf(width.percent):
        reached = f"±{width.percent:.0f}%"
    return f"{width.response} ({in_words(width.treatment)}): {reached}, wanted ±{width.wanted:g}%"
