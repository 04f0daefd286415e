"""The changes that a run could have shown, and the blocks that would show smaller ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy import special

from nettrial.analysis.changes import UNCLEAR_PERCENT, Change
from nettrial.analysis.intervals import quantile
from nettrial.analysis.planning import fewest
from nettrial.analysis.sequential import SEQUENCE

POWER = 0.8
"""The probability with which a change of the size stated is shown."""
MOST_BLOCKS = 1000
"""The largest number of blocks that is worth stating."""
_SERIES = (1, 2, 5)
"""The leading digits of the sizes that are stated."""


@dataclass(frozen=True)
class Detectable:
    """The smallest change that a run shows with the probability `POWER`."""

    percent: float
    """The change in percent."""
    wanted: float
    """A smaller change, in percent."""
    blocks: int | None
    """The number of further blocks that would show it; None for more than `MOST_BLOCKS`, and for a change
    that is not paired by block."""


def detectable(change: Change, smallest: float) -> Detectable | None:
    """Returns the change that a run shows with the probability `POWER`, and the number of blocks for one of
    half that size or less, but not below `smallest`; None for a change without a usable interval of its
    ratio, and for a run that stopped by rule."""
    error, bounds = change.log_error, change.relative
    if error is None or bounds is None or bounds.method.startswith(SEQUENCE):
        return None
    size, comparisons = math.hypot(*(part for part, _ in error.parts)), max(1, change.family)
    if size <= 0:
        return None
    freedom = size**4 / sum(part**4 / each for part, each in error.parts)  # Satterthwaite's
    above = error.half_width(comparisons) + size * float(special.stdtrit(freedom, POWER))
    percent = 100 * math.expm1(min(above, 20.0))
    if percent >= UNCLEAR_PERCENT:
        return None
    wanted = max(smallest, _rounded_down(percent / 2))
    if len(error.parts) != 1:
        return Detectable(percent, wanted, None)

    def reach(freedom: float) -> float:
        return quantile(freedom, comparisons) + float(special.stdtrit(freedom, POWER))

    one = size * math.sqrt(change.pairs)
    by_block = freedom / max(1, change.pairs - 1)
    total = fewest(lambda count: reach(by_block * (count - 1)), one, math.log1p(wanted / 100))
    more = None if total is None else total - change.pairs
    return Detectable(percent, wanted, more if more is not None and 0 < more <= MOST_BLOCKS else None)


def _rounded_down(percent: float) -> float:
    """Returns the largest of 1, 2, 5, 10, 20, 50 and so on that is at most `percent`."""
    scale = 10.0 ** math.floor(math.log10(percent))
    return max(each * scale for each in _SERIES if each * scale <= percent * (1 + 1e-9))
