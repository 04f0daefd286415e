"""Numbers as text, with as many decimals as their uncertainty justifies, the same throughout a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # loading it takes longer than examining a path, whose page has numbers too
    from nettrial.analysis import Cell, Change, Interval

_MOST_DIGITS = 5
_MOST_DECIMALS = 9
_LARGE_PERCENT = 1e5
"""The bounds of a change from which on they are written with an exponent: few trials determine a ratio no
better."""

ONLY_BOUNDS_BELOW_0 = (
    "where no value is below 0, a bound below 0 shows only that the values are few or vary much"
)
"""The note on an interval of a mean that extends below 0 although no value does."""


def value_decimals(cells: Iterable[Cell]) -> int:
    """Returns the decimals for a response's values: those of two digits of the typical half-width, with at
    most five digits in all."""
    cells = list(cells)
    largest = max((abs(cell.mean) for cell in cells if cell.mean), default=1.0)
    halves = [cell.interval.half_width for cell in cells if cell.interval and cell.interval.half_width > 0]
    most = max(0, _MOST_DIGITS - 1 - math.floor(math.log10(largest)))
    wanted = 1 - math.floor(math.log10(median(halves))) if halves else most - 1
    return max(0, min(wanted, most))


def percent_decimals(changes: Iterable[Change]) -> int:
    """Returns the decimals for a response's changes: one, or two if the intervals are narrow."""
    halves = [change.interval.half_width for change in changes if change.interval]
    return 2 if halves and median(halves) < 0.1 else 1


def decimals_of(interval: Interval) -> int:
    """Returns the decimals for a single change: one, or as many as its interval justifies, at most four."""
    half = interval.half_width
    return 1 if half <= 0 or half >= 0.1 else min(4, -math.floor(math.log10(half)))


def fixed(value: float, decimals: int) -> str:
    """Returns `value` with that many decimals, never "-0.0"."""
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def with_half_width(cell: Cell, decimals: int | None = None) -> str:
    """Returns the mean of a cell and the half-width of its 95% interval, if it has one: "12.3 ± 0.4". By
    default, with as many decimals as the cell justifies. The cell must have a mean."""
    assert cell.mean is not None
    decimals = value_decimals([cell]) if decimals is None else decimals
    half = f" ± {fixed(cell.interval.half_width, decimals)}" if cell.interval else ""
    return fixed(cell.mean, decimals) + half


def three(value: float) -> str:
    """Returns a value with three significant digits, and a small whole number without decimals: "934",
    "1.20", "12300", "2"."""
    if value == 0 or not math.isfinite(value) or (value == int(value) and abs(value) < 1000):
        return fixed(value, 0)
    decimals = 2 - math.floor(math.log10(abs(value)))
    return fixed(round(value, decimals), max(0, decimals))


def two(value: float) -> str:
    """Returns a value with two significant digits: "9.7", "75", "1200"."""
    if value == 0:
        return "0"
    decimals = 1 - math.floor(math.log10(abs(value)))
    return fixed(round(value, decimals), max(0, decimals))


def changed(percent: float, interval: Interval | None = None) -> str:
    """Returns a change in percent with its interval, in at most three digits: "+5.6%, 5.2 to 5.9%", "-5.6%,
    -5.9 to -5.2%". From +100% on, it is a factor: "9.6 times, 9.1 to 10"."""
    if percent >= 100:
        text = f"{two(1 + percent / 100)} times"
        ends = None if interval is None else [two(1 + end / 100) for end in (interval.low, interval.high)]
        return text if ends is None else f"{text}, {_between(ends, interval)}"
    size = abs(percent)
    digits = 0 if size >= 10 or not size else 1 if size >= 1 else 2
    text = f"{signed(percent, digits)}%"
    if interval is None:
        return text
    low, high = interval.low, interval.high
    if not interval.contains(0) and fixed(low, digits) == fixed(high, digits) and digits < 2:
        digits += 1
    ends = [signed(end, digits) if low <= 0 else fixed(end, digits) for end in (low, high)]
    return f"{text}, {_between(ends, interval)}{'' if ends[0] == ends[1] else '%'}"


def _between(ends: Sequence[str], interval: Interval | None) -> str:
    """Returns the ends of an interval as text, or that they read the same."""
    assert interval is not None
    return f"{ends[0]} to {ends[1]}" if ends[0] != ends[1] else narrow(interval)


def at_most_three(value: float, decimals: int) -> str:
    """Returns `value` with that many decimals, and at most three significant digits: "5.63", "4730"."""
    if not value or not math.isfinite(value):
        return fixed(value, decimals)
    digits = min(decimals, 2 - math.floor(math.log10(abs(value))))
    return fixed(value, digits) if digits >= 0 else fixed(round(value, digits), 0)


def as_printed(percent: float) -> str:
    """Returns a published change with its sign and the two decimals that sources print."""
    text = fixed(percent, 2)
    return text if text.startswith("-") or float(text) == 0 else f"+{text}"


def signed(value: float, decimals: int) -> str:
    """Returns `value` with its sign, with at most three significant digits; zero has no sign."""
    text = at_most_three(value, decimals)
    return text if text.startswith("-") or float(text) == 0 else f"+{text}"


def bounds(interval: Interval, decimals: int) -> str:
    """Returns an interval of changes as text: "[-1.2, +3.4]", with up to three significant digits if its ends
    would look the same, and "[no spread]" if they are the same."""
    if without_spread(interval):
        return "[no spread]"
    low, high = (_bound(bound, decimals) for bound in (interval.low, interval.high))
    return f"[{low}, {high}]" if low != high or decimals >= _MOST_DECIMALS else bounds(interval, decimals + 1)


def without_spread(interval: Interval) -> bool:
    """Returns whether the ends of an interval are equal except for rounding, because all its values are
    equal."""
    return interval.high - interval.low <= 1e-12 * max(abs(interval.low), abs(interval.high), 1)


def narrow(interval: Interval) -> str:
    """Returns the words for an interval whose ends look the same."""
    return "the same in every block" if without_spread(interval) else "the same to the digits shown"


def _bound(value: float, decimals: int) -> str:
    return signed(value, decimals) if abs(value) < _LARGE_PERCENT else f"{value:+.0e}"


def with_unit(value: str, unit: str) -> str:
    """Returns a number with its unit: "934 Mbit/s", "5%"."""
    return f"{value}{unit}" if unit == "%" else f"{value} {unit}"


def unit_of_difference(unit: str) -> str:
    """Returns the unit of a difference as it follows a number: for percentages, percentage points."""
    return " percentage points" if unit == "%" else f" {unit}"


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun: "1 trial", "2 trials"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(words: Iterable[str]) -> str:
    """Returns words as an enumeration: "a", "a and b", "a, b and c"."""
    *rest, last = words
    return f"{', '.join(rest)} and {last}" if rest else last


def numbered(numbers: Sequence[int], noun: str) -> str:
    """Returns numbered things as an enumeration: "trial 3", "trials 3, 5 and 8"."""
    return f"{noun if len(numbers) == 1 else f'{noun}s'} {listed(map(str, numbers))}"


def as_time(seconds: float) -> str:
    """Returns a duration in words: `45 s`, `2 min 18 s`, `1 h 5 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
