"""The merit of a change, and what could have been shown where none is, as documents have it."""

from __future__ import annotations

from nettrial.analysis import Change, Merit
from nettrial.analysis.detectable import detectable
from nettrial.cli.documents.base import Detectable, Verdict
from nettrial.study import Response

VERDICTS: dict[Merit, Verdict] = {
    Merit.BETTER: "better",
    Merit.WORSE: "worse",
    Merit.SMALL: "small",
    Merit.MIXED: "mixed",
    Merit.NONE: "none",
}
"""The word in documents for each merit."""


def could_show(change: Change, response: Response) -> Detectable | None:
    """Returns the change that a run could have shown; None where one is shown, and where the interval does
    not say that."""
    missed = None if change.shown else detectable(change, response.smallest_effect)
    if missed is None:
        return None
    return Detectable(percent=missed.percent, wanted=missed.wanted, more_blocks=missed.blocks)
