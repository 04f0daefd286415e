"""The checks of a whole study: of its factors, responses and conclusions against its settings and each
other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from nettrial.bounds import MOST_TREATMENTS
from nettrial.fields import Wrong, as_text, in_short, wrong
from nettrial.metrics import METRICS
from nettrial.registry import near
from nettrial.study.conclusions import Conclusion
from nettrial.study.flows import EVERY
from nettrial.study.paths import LINKS, NoSuchSetting, setting, steps_of
from nettrial.study.source_levels import checked, is_system

if TYPE_CHECKING:
    from nettrial.study.model import Study

IN_WORDS = {"link": "interface", "station": "station of a radio channel, including its access point"}
"""The kinds of objects of metrics that have different names in words."""
RESERVED = ("number", "block", "response", "unit", "value", "absent")
"""Column names in the table of a run's trials, in which each factor also has a column."""

MOST_CANONICAL = 4096
"""The number of levels whose canonical forms are kept."""
_CANONICAL: dict[tuple[bytes, str, bytes, bool], str] = {}
"""The canonical forms of levels, by the settings to which they were applied. A command checks the same levels
several times: as the study has them, with the changes of `--set` and `--full`, and as its run file has
them."""


def digest(content: Any) -> bytes:
    """Returns a digest of plain data, which may contain a trace of megabytes."""
    return blake2b(repr(content).encode(), digest_size=16).digest()


def check(study: Study, as_written: bool) -> None:
    """Converts levels to their canonical form, and checks the study; raises pydantic's errors. A study
    `as_written` names no levels that it doesn't have; `--set` and `--full` may leave out some that others of
    its fields name."""
    _check_factors(study)
    if as_written:
        _check_named_levels(study)
    _check_responses(study)
    _check_description(study)
    _check_until(study)
    _check_layout(study)
    _check_headline(study, as_written)
    _check_published(study)
    _check_conclusions(study, as_written)


def _check_factors(study: Study) -> None:
    """Converts levels to their canonical form, for which each is applied to the settings."""
    combinations = math.prod(len(factor.levels) for factor in study.factors.values())
    if combinations > MOST_TREATMENTS:
        counts = " x ".join(str(len(factor.levels)) for factor in study.factors.values())
        expected = f"up to {MOST_TREATMENTS} treatments: combinations of levels"
        raise wrong(("factors",), f"{counts} levels make {combinations} treatments", expected)
    for name, factor in list(study.factors.items()):
        at = ("factors", name)
        if name in RESERVED:
            raise wrong(at, name, f"a name other than {', '.join(RESERVED)}", "they name other columns")
        for other, before in study.factors.items():
            if other == name:
                break
            for path in factor.paths:
                if path in before.paths:
                    raise wrong((*at, "sets"), path, "another setting", f"the factor {other} already sets it")
        levels: list[str] = []
        for number, level in enumerate(factor.levels):
            text = study.checked_level(name, level, (*at, "levels", number))
            if text in levels:
                raise wrong((*at, "levels", number), text, "each level once")
            levels.append(text)
        baseline = levels[0]
        if factor.baseline is not None:
            baseline = study.checked_level(name, factor.baseline, (*at, "baseline"))
            if baseline not in levels:
                raise wrong((*at, "baseline"), baseline, ", ".join(levels))
        study.factors[name] = factor.model_copy(update={"levels": levels, "baseline": baseline})


def _check_named_levels(study: Study) -> None:
    """Requires that the levels which the study's fields name are levels of its factors."""
    for factor, level, at in _named_levels(study):
        if factor not in study.factors:
            continue  # another check names the factors
        if is_system(study, factor, level):
            continue
        canonical = checked(study, factor, level, at)
        levels = [*study.factors[factor].levels, *_full_levels(study, factor)]
        if canonical not in levels:
            raise wrong(at, level, in_short(list(dict.fromkeys(levels))), near(canonical, levels))


def _named_levels(study: Study) -> Iterator[tuple[str, str, tuple[str | int, ...]]]:
    """Yields each level that a field other than `factors` names, with its factor and the path to it."""
    if study.headline is not None:
        compared = study.headline.factor or study.layout.rows
        if study.headline.level is not None:
            yield compared, study.headline.level, ("headline", "level")
        for factor, level in study.headline.place.items():
            yield factor, level, ("headline", "place", factor)
    for factor, levels in (study.published.levels if study.published else {}).items():
        for theirs, ours in levels.items():
            yield factor, ours, ("published", "levels", factor, theirs)
    for number, each in enumerate(study.conclusions):
        at = ("conclusions", number)
        for factor, level in each.where.items():
            yield factor, level, (*at, "where", factor)
        if each.factor is not None:
            if each.level is not None:
                yield each.factor, each.level, (*at, "level")
            for place, level in enumerate(each.than):
                yield each.factor, level, (*at, "than", place)


def _full_levels(study: Study, factor: str) -> list[str]:
    """Returns the levels that `--full` gives a factor, in canonical form."""
    names = (factor, study.factors[factor].sets)
    texts = [text for name, text in study.full.items() if name in names]
    return [study.canonical(factor, level.strip()) for text in texts for level in text.split(",")]


def canonical_level(study: Study, factor: str, level: str, at: tuple[str | int, ...]) -> str:
    """Returns a level in its setting's canonical form. `at` is its place in the study; raises pydantic's
    error for it."""
    sets = study.factors[factor].sets
    place: tuple[str | int, ...] = ("factors", factor, "sets")
    if not isinstance(sets, str) and level not in sets:
        raise wrong(at, level, ", ".join(sets), near(level, sets))
    known = (
        study.settings_digest,
        level,
        digest(study.factors[factor].settings(level)),
        isinstance(sets, str),
    )
    if known in _CANONICAL:
        return _CANONICAL[known]
    try:
        settings = study.settings({factor: level})
    except NoSuchSetting as error:
        names = ", ".join(error.names)
        raise wrong(place, error.path, names, near(error.path.split(".")[-1], error.names)) from None
    except ValidationError as error:
        fault = Wrong.of(error)[0]
        if not isinstance(sets, str):
            said = f"{fault.value} ({'.'.join(map(str, fault.place))})"
            raise wrong((*place, level), said, fault.expected, fault.hint) from None
        if fault.unknown_field and fault.place[-1] == sets.split(".")[-1]:
            raise wrong(place, sets, fault.expected, fault.hint) from None
        if fault.place == tuple(steps_of(sets))[:-1] and fault.place[:2] == LINKS:
            raise wrong(place, fault.value, fault.expected, fault.hint) from None
        raise wrong(at, level, fault.expected, fault.hint) from None
    text = as_text(setting(settings.model_dump(by_alias=True), sets)) if isinstance(sets, str) else level
    if len(_CANONICAL) == MOST_CANONICAL:
        _CANONICAL.clear()
    _CANONICAL[known] = text
    return text


def _check_responses(study: Study) -> None:
    flows = [flow.flow for flow in study.workload]
    made = [member.name for flow in flows for member in study.members(flow)]
    named = list(dict.fromkeys([*flows, *made]))
    expected = {"flow": named, "group": named, "size": named}
    expected |= {
        "host": study.host_names(),
        "link": study.ends(),
        "station": study.stations(),
        "controller": ["controller"],
        "network": ["network"],
    }
    for number, response in enumerate(study.responses):
        metric, at = METRICS[response.metric], ("responses", number)
        if response.name in [other.name for other in study.responses[:number]]:
            raise wrong((*at, "name"), response.name, "a name that no other response has")
        of, kind = response.of, IN_WORDS.get(metric.of, metric.of)
        if metric.of == "size":
            of, _, size = of.partition(".")
            if not size.isdecimal():
                raise wrong((*at, "of"), response.of, "FLOW.BYTES", "such as sweep.11000")
        if of not in expected[metric.of]:
            hint = f"{metric.name} is a metric of a {kind}"
            raise wrong((*at, "of"), response.of, in_short(expected[metric.of]), hint)
        if response.unit != metric.unit:
            raise wrong((*at, "unit"), response.unit, metric.unit, f"the unit of {metric.name}")


def _check_description(study: Study) -> None:
    """Requires what trials need; measurements have none of it."""
    for name in ("network", "measurement"):
        if (getattr(study, name) is None) != study.measured:
            value, expected = (
                ("given", "nothing") if study.measured else ("nothing", f"settings of the {name}")
            )
            raise wrong((name,), value, expected)


def _check_until(study: Study) -> None:
    if study.until is None:
        return
    names = [response.name for response in study.responses]
    for name in study.until.percent:
        if name not in names:
            raise wrong(("until", "percent", name), name, ", ".join(names), near(name, names))
    if study.until.maximum < study.until.minimum:
        least = str(study.until.minimum)
        raise wrong(("until", "maximum"), str(study.until.maximum), f"{least} or more, the minimum")


def _check_layout(study: Study) -> None:
    named = [study.layout.rows, *study.layout.columns]
    if sorted(named) != sorted(study.factors):
        expected = f"each factor once: {', '.join(study.factors)}"
        missing = [name for name in study.factors if name not in named]
        is_part = len(set(named)) == len(named) and all(name in study.factors for name in named)
        columns = ", ".join([*study.layout.columns, *missing])
        hint = f"layout: {{rows: {study.layout.rows}, columns: [{columns}]}}" if is_part else ""
        raise wrong(("layout",), ", ".join(named), expected, hint)


def _check_headline(study: Study, as_written: bool) -> None:
    if study.headline is None:
        return
    factor, at = study.headline.factor, ("headline",)
    if factor is not None and factor not in study.factors:
        raise wrong((*at, "factor"), factor, ", ".join(study.factors), near(factor, study.factors))
    name = factor or study.layout.rows
    if study.headline.level is not None:
        canonical = study.checked_level(name, study.headline.level, (*at, "level"))
        if canonical != study.headline.level:
            raise wrong((*at, "level"), study.headline.level, canonical)
        if as_written and canonical == study.factors[name].baseline:
            others = [level for level in study.factors[name].levels if level != canonical]
            hint = "the baseline is what it is compared with"
            raise wrong((*at, "level"), canonical, in_short(others), hint)
    for other, level in study.headline.place.items():
        where = (*at, "place", other)
        if other not in study.factors or other == name:
            expected = ", ".join(each for each in study.factors if each != name)
            raise wrong(where, other, expected, near(other, study.factors))
        study.headline.place[other] = study.checked_level(other, level, where)
    if study.headline.pairs and (factor is not None or study.headline.responses):
        raise wrong(
            (*at, "pairs"), "together with factor or responses", "either pairs, or factor and responses"
        )
    names = [response.name for response in study.responses]
    for name in [*study.headline.responses, *study.headline.pairs, *study.headline.pairs.values()]:
        if name not in names:
            raise wrong(at, name, ", ".join(names), near(name, names))
    units = {response.name: response.unit for response in study.responses}
    for name, other in study.headline.pairs.items():
        if units[name] != units[other]:
            raise wrong((*at, "pairs", name), other, f"a response in {units[name]}")


def _check_published(study: Study) -> None:
    published = study.published
    if published is None:
        return
    for field in ("levels", "systems"):
        for factor in getattr(published, field):
            if factor not in study.factors:
                at = ("published", field, factor)
                raise wrong(at, factor, ", ".join(study.factors), near(factor, study.factors))
    hosts = study.host_names()
    for factor, of in published.systems.items():
        for number, host in enumerate(of):
            if host not in (EVERY, *hosts):
                raise wrong(
                    ("published", "systems", factor, number),
                    host,
                    f"{EVERY}, {in_short(hosts)}",
                    near(host, hosts),
                )
    for factor, levels in published.levels.items():
        for theirs, ours in levels.items():
            levels[theirs] = checked(study, factor, ours, ("published", "levels", factor, theirs))


def _check_conclusions(study: Study, as_written: bool) -> None:
    names = [response.name for response in study.responses]
    for number, each in enumerate(study.conclusions):
        at = ("conclusions", number)
        if each.name in [other.name for other in study.conclusions[:number]]:
            raise wrong((*at, "name"), each.name, "a name that no other conclusion has")
        compared = {"response": each.response, "expect": each.expect}
        if each.not_testable is not None:
            if any(compared.values()) or each.factor or each.than_response:
                raise wrong((*at, "not_testable"), "together with a comparison", "one of the two")
            continue
        for field, value in compared.items():
            if value is None:
                hint = "or not_testable with the reason why there is no comparison"
                raise wrong(at, f"no {field}", "response, expect, and factor or than_response", hint)
        for field in ("response", "than_response"):
            name = getattr(each, field)
            if name is not None and name not in names:
                raise wrong((*at, field), name, ", ".join(names), near(name, names))
        sides = {"factor": each.factor, "than_response": each.than_response}
        given = [name for name, value in sides.items() if value is not None]
        if len(given) > 1 or not (given or each.than_where):
            raise wrong(at, " and ".join(given) or "neither", "one of the two, or `than_where`")
        if each.expect == "same" and not each.by:
            raise wrong(
                (*at, "by"), "0", 'a percentage above 0, such as "5%"', "no two means are exactly equal"
            )
        study.conclusions[number] = _with_levels(study, each, at, as_written)


def _with_levels(
    study: Study, conclusion: Conclusion, at: tuple[str | int, ...], as_written: bool
) -> Conclusion:
    """Returns the conclusion with its levels in canonical form, and with the study's baseline if it names
    none. A run may lack them if `--set` chose others."""
    for name in [*filter(None, [conclusion.factor]), *conclusion.where]:
        if name not in study.factors:
            raise wrong((*at, "where"), name, ", ".join(study.factors), near(name, study.factors))
    for number, levels in enumerate(conclusion.than_where):
        for name in levels:
            if name not in conclusion.where:
                expected = f"{', '.join(conclusion.where) or 'none'}: a factor that `where` names"
                raise wrong((*at, "than_where", number, name), name, expected)
    if conclusion.direction is not None and not (conclusion.than_where and conclusion.factor):
        expected = "nothing without `factor` and `than_where`"
        raise wrong((*at, "direction"), conclusion.direction, expected)

    def canonical(field: str, levels: Mapping[str, str]) -> dict[str, str]:
        return {name: checked(study, name, level, (*at, field, name)) for name, level in levels.items()}

    where = canonical("where", conclusion.where)
    than_where = [canonical("than_where", levels) for levels in conclusion.than_where]
    factor, level = conclusion.factor, conclusion.level
    if factor is None:
        if than_where and conclusion.than_response is not None:
            raise wrong((*at, "than_where"), "together with than_response", "one of the two")
        return conclusion.model_copy(update={"where": where, "than_where": than_where})
    if any(factor in levels for levels in than_where):
        raise wrong((*at, "than_where"), factor, "another factor than the one whose levels are compared")
    if level is None:
        raise wrong((*at, "level"), "none", f"a level of {factor}")
    level = checked(study, factor, level, (*at, "level"))
    than = [checked(study, factor, other, (*at, "than", i)) for i, other in enumerate(conclusion.than)]
    than = than or [study.factors[factor].baseline or study.factors[factor].levels[0]]
    if as_written and level in than:
        raise wrong((*at, "level"), level, "another level than those it is compared with", "see `than`")
    named = {"where": where, "than_where": than_where, "level": level, "than": than}
    return conclusion.model_copy(update=named)
