"""The changes of a run's headline in words: a single one, and those at many levels of a factor."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from nettrial.analysis import Change, Contrast, Interval, Merit, merit
from nettrial.analysis.detectable import Detectable, detectable
from nettrial.report import numbers
from nettrial.report.tables import label
from nettrial.study import Study

_HEAD = re.compile(r",| (?:of|among|over|under|at|to|in|with) ")
"""The end of a title's head, which is singular or plural."""


WOULD_BE = "would be: shown with a probability of 80% if it were that large"
"""The note on verdicts such as "no change shown; 12% would be"."""
VERBS = ("rises", "falls")
"""The words with which changes at many levels begin that are a sentence of the response."""


@dataclass(frozen=True)
class _Estimate:
    """A change on the scale on which it is told."""

    subject: str
    """The level with its factor's title."""
    middle: float
    """The change."""
    bounds: Interval | None
    """Its simultaneous interval; None if there is only one block, or if all blocks are alike."""
    unit: str
    """The unit, as it follows a number."""
    difference: float
    """The size of the difference in the response's unit, by which changes in different units are compared."""
    absent: str
    """The reason why there is no interval."""
    values: tuple[float, float] | None
    """The means before and after the change; None if either is absent."""
    of_value: str
    """The unit of the values."""
    sign: int
    """1 or -1 if a rise or a fall is shown that may have the smallest size of interest, otherwise 0."""
    smallest: float | None
    """The smallest size of interest in percent, if the change is known to be smaller; otherwise None."""
    detectable: Detectable | None
    """The change that the run could have shown; None if the interval does not say that."""


def _estimate(contrast: Contrast) -> _Estimate | None:
    """Returns a change in percent or, if that is unclear, as a difference; None if it has no value."""
    shift, unit = contrast.change, "%"
    middle, bounds = shift.percent, shift.relative
    if bounds is None and (middle is None or shift.simultaneous_difference):
        middle, bounds = shift.difference, shift.simultaneous_difference
        unit = numbers.unit_of_difference(contrast.response.unit)
    if middle is None:
        return None
    absent = "one block" if shift.pairs < 2 else shift.absent or "there is no interval"
    difference, of_value = abs(shift.difference or 0), contrast.response.unit
    is_small = merit(contrast.response, shift, shift.shown) is Merit.SMALL
    return _Estimate(
        *(contrast.subject, middle, bounds, unit, difference, absent, contrast.values, of_value),
        sign=0 if is_small else shift.shown,
        smallest=contrast.response.smallest_effect if is_small else None,
        detectable=detectable(shift, contrast.response.smallest_effect),
    )


def change(study: Study, contrast: Contrast, names_place: bool = True) -> str:
    """Returns what happens to a response in words, with its values, the change and the place: "throughput
    rises from 934 to 986 Mbit/s (+5.6%, 5.2 to 5.9%)". It must have a value. The place is left out if
    `names_place` is false, because the sentence has it."""
    told = _estimate(contrast)
    assert told is not None
    title, unit = contrast.response.title, contrast.response.unit
    name = quantity(title)
    place = f" at {label(study, contrast.at)}" if contrast.at and names_place else ""
    ends = f"; {_ends(study, contrast)}" if contrast.ends else ""
    before, after = (numbers.three(each) for each in contrast.values) if contrast.values else ("", "")
    size = _sized(told)
    if told.bounds is None:
        values = f" from {before} to {numbers.with_unit(after, unit)}" if contrast.values else ""
        return f"{name}{values}{place} ({size}; {told.absent}: no interval{ends})"
    smallest = contrast.response.smallest_effect
    if told.smallest is not None:
        about = f", {numbers.with_unit(before, unit)}" if contrast.values else ""
        return f"{name}: no change of {smallest:g}% or more{place} ({size}{about}{ends})"
    if told.bounds.side == 0:
        about = f", from {before} to {numbers.with_unit(after, unit)}" if contrast.values else ""
        return f"{name}: no change shown{place} ({size}{about}{ends}{_could_show([told.detectable])})"
    verb = ("rise" if told.bounds.side > 0 else "fall") + ("" if _is_plural(title) else "s")
    if not contrast.values:
        return f"{name} {verb}{place} ({size}{ends})"
    if before == after:
        return f"{name} {verb} slightly, from {numbers.with_unit(before, unit)}{place} ({size}{ends})"
    return f"{name} {verb} from {before} to {numbers.with_unit(after, unit)}{place} ({size}{ends})"


def merit_in_words(judged: Merit, smallest: float) -> str:
    """Returns the merit of a change in words, such as "better", "no change shown" or "below 1%", where
    `smallest` is the smallest effect of interest in percent."""
    if judged is Merit.SMALL:
        return f"below {smallest:g}%"
    return "no change shown" if judged is Merit.NONE else str(judged)


def verdict_in_words(judged: Merit, estimate: Change, smallest: float) -> str:
    """Returns the merit of a change in words and, where no change is shown, the one that would have been: "no
    change shown; 12% would be"."""
    could = detectable(estimate, smallest) if judged is Merit.NONE else None
    said = merit_in_words(judged, smallest)
    if could is None:
        return said
    ratio = 1 + could.percent / 100
    return (
        f"{said}; {f'{numbers.two(could.percent)}%' if ratio < 2 else f'{numbers.two(ratio)} times'} would be"
    )


def could_show(estimate: Change, smallest: float) -> str:
    """Returns what a run that shows no change could have shown, after a semicolon; empty if the interval does
    not say that."""
    return _could_show([detectable(estimate, smallest)])


def compared(contrast: Contrast) -> str:
    """Returns a comparison of two responses of the same trials in words: "Goodput of iperf3 920 against 934
    Mbit/s of Goodput (-1.5%, -2.0 to -1.0%)"."""
    told = _estimate(contrast)
    assert told is not None
    size = _sized(told) if told.bounds else f"{_sized(told)}; {told.absent}: no interval"
    mixed = f"; {_mixed(contrast)}" if contrast.is_mixed else ""
    judged = merit(contrast.response, contrast.change, contrast.change.shown, contrast.is_mixed)
    is_none = told.bounds is not None and judged in (Merit.SMALL, Merit.NONE)
    smallest = contrast.response.smallest_effect
    none = f"; {verdict_in_words(judged, contrast.change, smallest)}" if is_none else ""
    if not contrast.values:
        return f"{contrast.subject} against {contrast.against} ({size}{none}{mixed})"
    before, after = (numbers.three(each) for each in contrast.values)
    return (
        f"{contrast.subject} {after} against {numbers.with_unit(before, contrast.response.unit)} of "
        f"{quantity(contrast.against)} ({size}{none}{mixed})"
    )


def quantity(title: str) -> str:
    """Returns a title in the form that it has within a sentence: the first letter is lower case unless it
    begins an abbreviation."""
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def _is_plural(title: str) -> bool:
    """Returns whether a title, such as "Lost packets of the flow", is plural."""
    head = _HEAD.split(title)[0].strip()
    return head.endswith("s") and not head.endswith(("ss", "us"))


def _sized(estimate: _Estimate) -> str:
    """Returns a change with its interval."""
    if estimate.unit == "%":
        return numbers.changed(estimate.middle, estimate.bounds)
    text = f"{'+' if estimate.middle > 0 else ''}{numbers.three(estimate.middle)}{estimate.unit}"
    if estimate.bounds is None:
        return text
    low, high = (numbers.three(bound) for bound in (estimate.bounds.low, estimate.bounds.high))
    return f"{text}, {f'{low} to {high}' if low != high else numbers.narrow(estimate.bounds)}"


def _ends(study: Study, contrast: Contrast) -> str:
    """Returns the smallest and the largest change with the levels of the other factors there: "depending on
    sender and receiver, from -19% with classic and linux-cubic to +28% with classic and classic"."""
    assert contrast.ends is not None
    said = []
    for place in contrast.ends:
        assert place.change.percent is not None
        levels = numbers.listed(place.others[name] for name in contrast.at)
        said.append(f"{numbers.changed(place.change.percent)} with {levels}")
    factors = numbers.listed(quantity(study.factors[name].title) for name in contrast.at)
    return f"depending on {factors}, from {' to '.join(said)}"


def _could_show(still: Sequence[Detectable | None]) -> str:
    """Returns what a run that shows no change could have shown at every one of the levels in words, and how
    many more blocks would show a smaller one, after a semicolon; empty if an interval does not say that."""
    known = [each for each in still if each]
    if not known or len(known) < len(still):
        return ""
    largest = max(known, key=lambda each: each.percent)
    seen = f"; changes above {numbers.two(largest.percent)}% would have been seen"
    if largest.blocks is None:
        return seen
    return f"{seen}; {numbers.counted(largest.blocks, 'more block')} would show {largest.wanted:g}%"


def _mixed(contrast: Contrast) -> str:
    """Returns the numbers of opposite changes in words."""
    return (
        f"an average of opposite changes (higher at {contrast.rises} and lower at {contrast.falls} of "
        f"{contrast.places} combinations of the other factors)"
    )


def changes(contrasts: Sequence[Contrast]) -> str:
    """Returns the changes of a response at several levels in words: the levels at which it is higher and
    lower, those with the least and the largest change, and the number of those without a change."""
    levels = len(contrasts)
    told = [estimate for each in contrasts if (estimate := _estimate(each))]
    sure = [(each, each.bounds) for each in told if each.bounds]
    loose = [each for each in told if not each.bounds]
    parts = [_in_direction(sure, side, levels) for side in (1, -1)]
    small = [(each, bounds) for each, bounds in sure if each.smallest is not None]
    if small:
        named = _levels([each.subject for each, _ in small], levels, "any level")
        parts.append(f"no change of {small[0][0].smallest:g}% or more at {named}{_within(small)}")
    still = [(each, bounds) for each, bounds in sure if not each.sign and each.smallest is None]
    if still:
        named = _levels([each.subject for each, _ in still], levels, "any level")
        could = _could_show([each.detectable for each, _ in still])
        parts.append(f"no change shown at {named}{_within(still, could)}")
    if loose:
        first, last = min(loose, key=lambda each: each.middle), max(loose, key=lambda each: each.middle)
        ends = [f"{numbers.signed(each.middle, 1)}{each.unit} at {each.subject}" for each in (first, last)]
        reasons = "; ".join(dict.fromkeys(each.absent for each in loose))
        parts.append(f"{' to '.join(dict.fromkeys(ends))} ({reasons}: no intervals)")
    absent = [each.subject for each in contrasts if _estimate(each) is None]
    if absent:
        parts.append(f"no value at {_levels(absent, levels, 'any level')}")
    mixed = [each.subject for each in contrasts if each.is_mixed]
    if mixed:
        parts.append(f"an average of opposite changes at {_levels(mixed, levels, 'every level')}")
    return "; ".join(part for part in parts if part)


def _in_direction(sure: Sequence[tuple[_Estimate, Interval]], side: int, levels: int) -> str:
    """Returns the rises or the falls in words, with the values at their ends; empty if there are none."""
    group = [each for each, _ in sure if each.sign == side]
    if not group:
        return ""
    alike = len({each.unit for each in group}) == 1
    group.sort(key=lambda each: abs(each.middle) if alike else each.difference)
    verb = "rises" if side > 0 else "falls"
    if len(group) == 1:
        return f"{verb}{_start(group)}{_end(group[0])}"
    named = _levels([each.subject for each in group], levels, f"all {levels} levels")
    return f"{verb} at {named}{_start(group)}: least{_end(group[0])}, most{_end(group[-1])}"


def _start(group: Sequence[_Estimate]) -> str:
    """Returns the baseline's value, if it is known and the same for all."""
    values = {numbers.three(each.values[0]) if each.values else "" for each in group}
    start = values.pop()
    return "" if values or not start else f" from {start}"


def _end(estimate: _Estimate) -> str:
    """Returns the value at a level, as far as it is known, and the change: " to 986 Mbit/s at MTU 9000 B
    (+5.6%, 5.2 to 5.9%)"."""
    value = (
        f" to {numbers.with_unit(numbers.three(estimate.values[1]), estimate.of_value)}"
        if estimate.values
        else ""
    )
    return f"{value} at {estimate.subject} ({_sized(estimate)})"


def _levels(subjects: Sequence[str], levels: int, every: str) -> str:
    """Returns levels in words: the only one by its name, otherwise their number, or `every`."""
    if len(subjects) == levels:
        return every
    return subjects[0] if len(subjects) == 1 else f"{len(subjects)} levels"


def _within(still: Sequence[tuple[_Estimate, Interval]], more: str = "") -> str:
    """Returns the range that contains the intervals of changes that are not shown, and `more`, in
    parentheses; without the range if the units of the changes differ."""
    units = {each.unit for each, _ in still}
    if len(units) > 1:
        return f" ({more.removeprefix('; ')})" if more else ""
    hull = Interval(min(bounds.low for _, bounds in still), max(bounds.high for _, bounds in still))
    within = "intervals within " if len(still) > 1 else ""
    return f" ({within}{_span(hull, units.pop())}{more})"


def _span(bounds: Interval, unit: str) -> str:
    """Returns an interval with signs: "-1.2 to +3.4%"."""
    digits = numbers.decimals_of(bounds)
    low, high = (numbers.signed(bound, digits) for bound in (bounds.low, bounds.high))
    return f"{low} to {high}{unit}" if low != high else f"{low}{unit}, {numbers.narrow(bounds)}"
