"""The findings of the analysis, in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from nettrial.analysis import (
    Agreement,
    Change,
    Finding,
    Interval,
    LevelEffect,
    Merit,
    Precision,
    ResponseSummary,
    SimpleEffect,
    Variation,
    merit,
)
from nettrial.analysis.analysis_of_variance import NORMALITY_LEVEL, Term
from nettrial.report import numbers
from nettrial.report.change_words import could_show, quantity
from nettrial.report.tables import label
from nettrial.study import Study

MOST_LEVELS = 4
"""The number of levels above which a sentence gives only the number of levels with an effect and the largest
change."""
MOST_NAMED = 4
"""The largest number of exceptions or treatments that a sentence names; further ones are only counted."""
TOLD = 0.001
"""The share of the variation below which shares are reported together."""
NOT_NORMAL = "residuals are not normal: they may miss effects"
"""The caution about the tests if residuals are not normal; the rate of false positives still holds."""
_KINDS = {
    "opposite": "the opposite direction",
    "larger": "a larger change",
    "smaller": "a smaller change",
    "apart": "a change",
}


def findings(study: Study, results: Sequence[Finding]) -> list[str]:
    """Returns a sentence about the effect of each factor on a response; factors without a finding share
    one."""
    said = [finding(study, each) for each in results if _shown_effects(each)]
    silent: dict[str, list[str]] = {}
    for each in results:
        if not _shown_effects(each):
            reason = next(effect.overall.absent or "" for effect in each.effects)
            silent.setdefault(reason, []).append(study.factors[each.factor].title)
    for reason, titles in silent.items():
        name = quantity(results[0].response.title)
        said.append(f"The effect of {numbers.listed(titles)} on {name} is not known: {reason}.")
    return said


def _shown_effects(result: Finding) -> list[LevelEffect]:
    """Returns the levels that have a finding."""
    return [effect for effect in result.effects if effect.overall.stated]


def finding(study: Study, result: Finding) -> str:
    """Returns the effect of a factor on a response in a sentence: "MTU 9000 B raises throughput by 5.2% to
    5.6% over 1500 B, in every pair of Sender and Receiver". At least one level must have a
    finding."""
    name, shown = quantity(result.response.title), _shown_effects(result)
    if len(result.effects) > MOST_LEVELS:
        return f"{_many(study, result, shown)}{_exceptions(study, result)}."
    phrases = [_effect(study, result, effect, name if i == 0 else "it") for i, effect in enumerate(shown)]
    phrases += [
        f"the effect of {study.factors[result.factor].title} {effect.level} is not known: "
        f"{effect.overall.absent}"
        for effect in result.effects
        if effect not in shown
    ]
    return f"{'; '.join(phrases)}{_exceptions(study, result)}."


def _effect(study: Study, result: Finding, effect: LevelEffect, name: str) -> str:
    """Returns the effect of one level in words: the direction and the size of the change."""
    level, change = f"{study.factors[result.factor].title} {effect.level}", effect.overall
    by, unit = _bounds(change, result.response.unit)
    judged = merit(result.response, change, change.shown)
    if judged is Merit.SMALL:
        size = f"{result.response.smallest_effect:g}%"
        return f"{level} against {result.baseline}: no change of {name} of {size} or more ({_span(by, unit)})"
    if judged is Merit.NONE:
        could = could_show(change, result.response.smallest_effect)
        return f"{level} against {result.baseline}: no difference in {name} shown ({_span(by, unit)}{could})"
    word, against = ("raises", "over") if change.shown > 0 else ("lowers", "against")
    return f"{level} {word} {name} by {_size(by, unit)} {against} {result.baseline}"


def _bounds(change: Change, unit: str) -> tuple[Interval, str]:
    """Returns a change's simultaneous interval, in percent if ratios exist, and its unit as it is printed."""
    if change.relative is not None:
        return change.relative, "%"
    assert change.simultaneous_difference is not None
    return change.simultaneous_difference, numbers.unit_of_difference(unit)


def _digits(bounds: Interval) -> int:
    """Returns the decimals: one, or as many as distinguish the bounds from each other, and from 0 if they
    exclude it."""
    near = 0.0 if bounds.contains(0) else min(abs(bounds.low), abs(bounds.high))
    size = min(size for size in (bounds.half_width, near or bounds.half_width) if size >= 0)
    return next((digits for digits in range(1, 6) if size >= 0.05 * 10 ** (1 - digits)), 1)


def _span(bounds: Interval, unit: str) -> str:
    """Returns an interval with signs: "-1.2 to +3.4%"."""
    low, high = (numbers.signed(bound, _digits(bounds)) for bound in (bounds.low, bounds.high))
    return f"{low}{unit}, {numbers.narrow(bounds)}" if low == high else f"{low} to {high}{unit}"


def _size(bounds: Interval, unit: str) -> str:
    """Returns an interval that excludes 0 without signs: "5.2% to 5.6%"."""
    near, far = sorted((abs(bounds.low), abs(bounds.high)))
    digits = _digits(bounds)
    shown = [numbers.at_most_three(size, digits) for size in (near, far)]
    if shown[0] == shown[1]:
        return f"{shown[0]}{unit} ({numbers.narrow(bounds)})"
    mark = unit if unit == "%" else ""
    return f"{shown[0]}{mark} to {shown[1]}{unit}"


def _many(study: Study, result: Finding, effects: Sequence[LevelEffect]) -> str:
    """Returns the effect of a factor with many levels in words: the numbers of levels that raise and lower
    the response, and the largest change."""
    name = quantity(result.response.title)
    judged = [merit(result.response, effect.overall, effect.overall.shown) for effect in effects]
    shown = [
        effect for effect, each in zip(effects, judged, strict=True) if each in (Merit.BETTER, Merit.WORSE)
    ]
    counts = [sum(effect.overall.shown == way for effect in shown) for way in (1, -1)]
    still = len(result.effects) - sum(counts)
    raised, lowered, same = (str(count) if count else "none" for count in (*counts, still))
    said = (
        f"Of {len(result.effects)} levels of {study.factors[result.factor].title}, {raised} raise {name} "
        f"against {result.baseline}, {lowered} lower it, and {same} show no difference of interest"
    )
    if not shown:
        return said
    most = max(shown, key=lambda effect: abs(effect.overall.percent or effect.overall.difference or 0))
    return f"{said}; the largest change: {_effect(study, result, most, 'it')}"


def _exceptions(study: Study, result: Finding) -> str:
    """Returns where the effect differs, in words, if there are other factors."""
    if not result.others:
        return ""
    titles = [study.factors[name].title for name in result.others]
    kind = {1: "level", 2: "pair"}.get(len(titles), "combination")
    of = f"of {numbers.listed(titles)}"
    named = [(effect, place) for effect in result.effects for place in effect.places if place.is_exception]
    unshown = any(place.exceptional in ("not shown", "absent") for e in result.effects for place in e.places)
    if not named and not any(effect.overall.shown for effect in result.effects):
        return ""
    if not named:
        if unshown:
            return f"; no difference between {kind}s {of} shown, but the effect is not significant in each"
        return f", in every {kind} {of}"
    apart = {label(study, {name: place.others[name] for name in result.others}) for _, place in named}
    every = {
        label(study, {name: place.others[name] for name in result.others})
        for effect in result.effects
        for place in effect.places
    }
    if len(apart) == len(every) > 1:
        return f"; the effect differs between the {len(every)} {kind}s {of}: see the table"
    said = [_exception(study, result, effect, place) for effect, place in named[:MOST_NAMED]]
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return f"; the effect differs at {'; '.join(said)}{more}"


def _exception(study: Study, result: Finding, effect: LevelEffect, place: SimpleEffect) -> str:
    """Returns in words where an effect differs, at which level, and how."""
    where = label(study, {name: place.others[name] for name in result.others})
    by, unit = _bounds(place.change, result.response.unit)
    level = f"{effect.level}, " if len(result.effects) > 1 else ""
    return f"{where} ({level}{_KINDS[place.exceptional]}: {_span(by, unit)})"


def variation(study: Study, shares: Variation) -> str:
    """Returns a sentence about the variation that each factor explains; empty if the design has no variation
    to explain."""
    if not shares.terms:
        return ""
    parts = [f"{_term(study, term)} {_share(term.share)}" for term in shares.terms if term.share >= TOLD]
    small = sum(term.share < TOLD for term in shares.terms)
    if small:
        parts.append(f"{'all else' if small > 1 else 'the rest'} under {100 * TOLD:g}%")
    scale = "variation of the logarithm" if shares.scale == "logarithm" else "variation"
    left = f"; {numbers.counted(shares.left_out, 'incomplete block')} left out" if shares.left_out else ""
    said = f"Shares of the {scale} (eta squared{left}): {', '.join(parts)}."
    if shares.absent:
        return f"{said} No test: {shares.absent}."
    pairs = [" × ".join(study.factors[name].title for name in each.factors) for each in shares.interactions]
    if any(term.kind == "interaction" for term in shares.terms):
        what = f"Significant interactions: {', '.join(pairs)}" if pairs else "No significant interaction"
        weak = shares.normality is not None and shares.normality < NORMALITY_LEVEL
        said += f" {what} (F tests{f'; {NOT_NORMAL}' if weak else ''})."
    return said


def _term(study: Study, term: Term) -> str:
    if term.kind == "factor":
        return study.factors[term.factors[0]].title
    if term.kind == "interaction":
        return " × ".join(study.factors[name].title for name in term.factors)
    return {"block": "blocks", "residual": "residual", "higher": "interactions of more"}[term.kind]


def _share(share: float) -> str:
    """Returns a share from 0 to 1 as text in percent."""
    return f"{numbers.fixed(100 * share, 1)}%"


def outliers(study: Study, summary: ResponseSummary) -> str:
    """Returns a sentence about the values far from the others of their treatment, furthest first; empty if
    there are none."""
    far = [(cell, outlier) for cell in summary.cells for outlier in cell.outliers]
    if not far:
        return ""
    far.sort(key=lambda pair: -abs(pair[1].score))
    decimals = numbers.value_decimals(summary.cells)
    named = []
    for cell, outlier in far[:MOST_NAMED]:
        value, usual = (numbers.fixed(each, decimals) for each in (outlier.value, cell.median or 0))
        where = label(study, cell.treatment)
        named.append(f"trial {outlier.trial} ({where}: {value}; the median is {usual})")
    more = len(far) - MOST_NAMED
    rest = f" and {more} more" if more > 0 else ""
    return f"Far from the others of their treatment, and kept: {', '.join(named)}{rest}."


def precision(study: Study, achieved: Precision) -> str:
    """Returns a sentence about the treatments that did not reach the study's desired precision."""
    name, wanted = quantity(achieved.response.title), f"{achieved.wanted:g}%"
    if achieved.reached:
        return f"Every treatment's interval of {name} reached ±{wanted}."
    named = [
        f"{label(study, short.treatment)} "
        f"({'no interval' if short.reached is None else f'±{short.reached:.2g}%'})"
        for short in achieved.shortfalls[:MOST_NAMED]
    ]
    more = len(achieved.shortfalls) - MOST_NAMED
    rest = f" and {more} more" if more > 0 else ""
    count = f"{len(achieved.shortfalls)} of {numbers.counted(achieved.treatments, 'treatment')}"
    return f"The interval of {name} did not reach ±{wanted} in {count}: {', '.join(named)}{rest}."


def agreement(agreements: Sequence[Agreement]) -> str:
    """Returns a sentence about the run's agreement with the published figures; empty if none has a
    counterpart."""
    compared = [each for each in agreements if each.cell is not None and each.cell.mean is not None]
    if not compared:
        return ""
    directions = [each.direction for each in compared if each.direction]
    have = "has" if len({id(each.row) for each in compared}) == 1 else "have"
    published = numbers.counted(len({id(each.row) for each in agreements}), "published figure")
    said = f"{len({id(each.row) for each in compared})} of {published} {have} a counterpart here."
    if directions:
        words = {"same": "as published", "opposite": "opposite", "not shown": "not shown"}
        counts = [f"{directions.count(way)} {word}" for way, word in words.items() if way in directions]
        said += f" Direction of {numbers.counted(len(directions), 'change')}: {', '.join(counts)}."
    inside = [each.inside for each in compared if each.inside is not None]
    if inside:
        said += f" Published values within the measured interval: {sum(inside)} of {len(inside)}."
    ratios = [each.ratio for each in compared if each.ratio is not None]
    if ratios:
        said += f" Ratio of measured to published values: {_ratio(min(ratios))} to {_ratio(max(ratios))}, "
        said += f"median {_ratio(median(ratios))}."
    return said


F_TEST = (
    "Spreads are compared by the F test, with fewer degrees of freedom where values are far from normal. If "
    "they are, 85% to 97% of its 95% intervals contain the true ratio."
)
"""The note on the test by which spreads are compared."""


def spreads(agreements: Sequence[Agreement]) -> str:
    """Returns sentences that compare the measured spreads with the published ones; empty if no published
    spread has a counterpart."""
    compared = [each.spread for each in agreements if each.spread is not None]
    if not compared:
        return ""
    tested = [spread.verdict for spread in compared if spread.interval]
    said = f"{numbers.counted(len(compared), 'published standard deviation')} with a counterpart: "
    counts = [(tested.count(word), f"{word} here") for word in ("larger", "smaller")]
    counts += [(tested.count("no difference shown"), "with no difference shown")]
    counts += [(len(compared) - len(tested), "without a test")]
    return said + ", ".join(f"{count} {word}" for count, word in counts if count) + f". {F_TEST}"


def _ratio(ratio: float) -> str:
    """Returns a ratio with three digits."""
    return f"{ratio:.3g}"
