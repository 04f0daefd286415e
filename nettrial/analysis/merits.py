"""The merit of a change, better or worse: the only place that decides it, for every report and document."""

from __future__ import annotations

from enum import StrEnum

from nettrial.analysis.changes import Change
from nettrial.metrics import METRICS
from nettrial.study import Response


class Merit(StrEnum):
    """The merit of a change."""

    BETTER = "better"
    """A change in the direction that is better is shown."""
    WORSE = "worse"
    """A change in the other direction is shown."""
    SMALL = "small"
    """The change is known to be smaller than the response's smallest effect of interest, so that its
    direction does not matter."""
    MIXED = "mixed"
    """Opposite changes are shown at different places, and their average says nothing."""
    NONE = "none"
    """No change is shown."""


def merit(response: Response, change: Change, shown: int, is_mixed: bool = False) -> Merit:
    """Returns the merit of a change of a response that is shown as a rise (1), as a fall (-1) or not at all
    (0)."""
    if is_mixed:
        return Merit.MIXED
    if change.is_smaller_than(response.smallest_effect):
        return Merit.SMALL
    if shown == 0:
        return Merit.NONE
    better = 1 if METRICS[response.metric].better == "higher" else -1
    return Merit.BETTER if shown == better else Merit.WORSE
