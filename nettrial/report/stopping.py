"""The stopping rule of a run and its result, in sentences."""

from __future__ import annotations

import math

from nettrial.analysis import CONFIDENCE, Stopping, Width, stopping
from nettrial.design.trial_order import in_words
from nettrial.report import numbers
from nettrial.store import Run
from nettrial.study import Until

KIND = (
    "The intervals of means and changes form a confidence sequence: they hold at all numbers of blocks "
    "simultaneously, so stopping when they are narrow does not make them too narrow. They are wider than "
    "Student's t intervals of the same number of blocks. They assume that rare values have been seen: if one "
    "trial in twenty gives half the value of the others, a run may stop before such a trial occurs; in "
    "simulations, the intervals then contained the mean in 30% to 91% of runs of 5 or more blocks, and in "
    "95% of runs of 60 or more."
)
"""The description of the intervals in reports."""


def rule(until: Until) -> str:
    """Returns the condition of a rule in words: "each mean is known: of rtt to ±5%; of throughput to ±2%"."""
    names: dict[float, list[str]] = {}
    for name, percent in until.percent.items():
        names.setdefault(percent, []).append(name)
    each = [f"of {numbers.listed(of)} to ±{percent:g}%" for percent, of in names.items()]
    return f"each mean is known: {'; '.join(each)}"


def end(run: Run) -> str:
    """Returns a sentence about the reason why the run ended, or the condition it is waiting for; empty if
    there is no rule."""
    state = stopping(run)
    if state is None:
        return ""
    blocks = numbers.counted(state.blocks, "block")
    allowed = f"{state.until.minimum} to {state.until.maximum} were allowed"
    if state.goes_on or not state.done:
        said = f"The run is not complete after {blocks} ({allowed}): it continues until {rule(state.until)}."
    elif state.wide:
        said = (
            f"The run ended after {blocks}, the most allowed, without reaching the desired precision: "
            f"{_wide(state)}."
        )
    else:
        said = (
            f"The run ended after {blocks} ({allowed}) because {rule(state.until)}. {_unseen(state.blocks)}"
        )
    if state.unmeasured:
        said += f" Ignored where they have no value: {numbers.listed(state.unmeasured)}."
    if state.equal:
        said += f" Ignored where all values are equal and so show no spread: {numbers.listed(state.equal)}."
    return said


def sentences(run: Run) -> list[str]:
    """Returns a report's sentences about the end of the run and its intervals; none if there is no rule."""
    return [end(run), KIND] if run.study.until else []


def progress(outcome: Stopping) -> str:
    """Returns a line about the run's distance from its end, to be shown after a block."""
    return f"after {numbers.counted(outcome.blocks, 'block')}: {_wide(outcome)}"


def _wide(outcome: Stopping) -> str:
    """Returns the number of intervals that are too wide, and the widest one, in words."""
    wide = outcome.wide
    if not wide:
        return "no interval is too wide"
    of = f"{len(wide)} of {numbers.counted(len(outcome.widths), 'interval')} too wide"
    return f"{of}, the widest {_width(wide[0])}"


def _unseen(blocks: int) -> str:
    """Returns a sentence about the largest share of trials with values not seen so far that is compatible
    with that many trials of a treatment (the exact binomial bound for zero observations)."""
    share = 1 - (1 - CONFIDENCE) ** (1 / blocks)
    return (
        f"In so few blocks, values that occur in up to {100 * share:.2g}% of trials may not have been seen "
        f"({100 * CONFIDENCE:g}% confidence)."
    )


def _width(width: Width) -> str:
    reached = "not known yet" if math.isinf(width.percent) else f"±{width.percent:.2g}%"
    if width.percent >= 100 and not math.isinf(width.percent):
        reached = f"±{width.percent:.0f}%"
    return f"{width.response} ({in_words(width.treatment)}): {reached}, wanted ±{width.wanted:g}%"
