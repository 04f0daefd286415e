"""Numbers as text: as many decimals as their uncertainty bears, alike within a table."""

import math
from collections.abc import Iterable, Sequence
from statistics import median

from nettrial.analysis import Cell, Change, Interval

_MOST_DIGITS = 5
_MOST_DECIMALS = 9
_LARGE_PERCENT = 1e5
"""Bounds of a change from here on are written with an exponent: few trials know a ratio no better."""


_UNCLEAR_PERCENT = 1e4
"""A change that may be a hundredfold is no result: its interval rests on too few values, or some near 0."""


def value_decimals(cells: Iterable[Cell]) -> int:
    """Decimals for the values of a response: two digits of the typical half-interval, five in all."""
    cells = list(cells)
    largest = max((abs(cell.mean) for cell in cells if cell.mean), default=1.0)
    halves = [cell.interval.half_width for cell in cells if cell.interval and cell.interval.half_width > 0]
    most = max(0, _MOST_DIGITS - 1 - math.floor(math.log10(largest)))
    wanted = 1 - math.floor(math.log10(median(halves))) if halves else most - 1
    return max(0, min(wanted, most))


def percent_decimals(changes: Iterable[Change]) -> int:
    """Decimals for the changes of a response: one, or two where the intervals are narrow."""
    halves = [change.interval.half_width for change in changes if change.interval]
    return 2 if halves and median(halves) < 0.1 else 1


def decimals_of(interval: Interval) -> int:
    """Decimals for a change by itself: one, or as many as its interval tells, four at most."""
    half = interval.half_width
    return 1 if half <= 0 or half >= 0.1 else min(4, -math.floor(math.log10(half)))


def unclear(interval: Interval) -> bool:
    """Returns whether an interval of a change in percent is so wide that its middle tells nothing."""
    return interval.high >= _UNCLEAR_PERCENT


def unclear_change(change: Change) -> bool:
    """Returns whether a change in percent, or its interval, is too wide to be shown as a result."""
    if change.interval is None:
        return change.percent is not None and change.percent >= _UNCLEAR_PERCENT
    return unclear(change.interval)


def fixed(value: float, decimals: int) -> str:
    """`value` with so many decimals, never "-0.0"."""
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def signed(value: float, decimals: int) -> str:
    """`value` with its sign; zero has none."""
    text = fixed(value, decimals)
    return text if text.startswith("-") or float(text) == 0 else f"+{text}"


def bounds(interval: Interval, decimals: int) -> str:
    """An interval of changes: "[-1.2, +3.4]", with more decimals where its ends would read the same; "[no
    spread]" where they are the same."""
    if without_spread(interval):
        return "[no spread]"
    low, high = (_bound(bound, decimals) for bound in (interval.low, interval.high))
    return f"[{low}, {high}]" if low != high or decimals >= _MOST_DECIMALS else bounds(interval, decimals + 1)


def without_spread(interval: Interval) -> bool:
    """Returns whether the ends of an interval are equal but for rounding: all values that it rests on are
    alike."""
    return interval.high - interval.low <= 1e-12 * max(abs(interval.low), abs(interval.high), 1)


def narrow(interval: Interval) -> str:
    """Returns what to say of an interval whose ends read the same."""
    return "the same in every block" if without_spread(interval) else "certain to the digits shown"


def _bound(value: float, decimals: int) -> str:
    return signed(value, decimals) if abs(value) < _LARGE_PERCENT else f"{value:+.0e}"


def unit_of_difference(unit: str) -> str:
    """The unit of a difference of values, as it follows a number: of percentages it is no percentage."""
    return " percentage points" if unit == "%" else f" {unit}"


def counted(number: int, noun: str) -> str:
    """A number of things: "1 trial", "2 trials"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(words: Iterable[str]) -> str:
    """Words in a row: "a", "a and b", "a, b and c"."""
    *rest, last = words
    return f"{', '.join(rest)} and {last}" if rest else last


def numbered(found: Sequence[int], noun: str) -> str:
    """Things by their numbers: "trial 3", "trials 3, 5 and 8"."""
    return f"{noun if len(found) == 1 else f'{noun}s'} {listed(map(str, found))}"
