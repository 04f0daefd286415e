"""The comparison of two runs: the changes with their intervals, and the other differences between the
runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from nettrial.analysis.apparatus import apart
from nettrial.analysis.changes import NO_RATIO, Change, corrected, session_change
from nettrial.analysis.intervals import Interval
from nettrial.analysis.outcomes import Outcome, above, below
from nettrial.analysis.run_digest import digest, trial_responses
from nettrial.analysis.summary import Levels, plan_treatments
from nettrial.analysis.warning_effects import HarmOfWarnings
from nettrial.analysis.warning_groups import warnings
from nettrial.metrics import METRICS
from nettrial.store import Run
from nettrial.study import Response, Settings

CONDITION_EXPECTED = 'RESPONSE < PERCENT or RESPONSE > PERCENT, such as "throughput < -3%" or "rtt > 10%"'
"""The expected form of a condition, for error messages."""
_CONDITION = re.compile(r"\s*(\S+?)\s*([<>])\s*([+-]?\d+(?:\.\d+)?)\s*%\s*")


@dataclass(frozen=True)
class Difference:
    """The difference of one response between two runs under one treatment."""

    response: Response
    """The response that is compared."""
    treatment: Levels
    """The level of each factor."""
    means: tuple[float | None, float | None]
    """The means of both runs, in the response's unit; None if no trial gave a value."""
    counts: tuple[int, int]
    """The number of trials of each run that gave a value."""
    biased: tuple[int, int]
    """The number of trials of each run with a warning that may bias the response."""
    change: Change
    """The unpaired change from the first run to the second; its `simultaneous` interval holds together with
    all others at 95%."""
    absent: str | None
    """The reason why the change in percent, or only its interval, is absent."""

    @property
    def percent(self) -> float | None:
        """Returns the ratio of the second run's geometric mean to the first run's, minus one, times 100."""
        return self.change.percent

    @property
    def interval(self) -> Interval | None:
        """Returns the simultaneous interval of `percent`."""
        return self.change.simultaneous

    @property
    def shown(self) -> int:
        """Returns 1 or -1 if the interval of the change or, without a usable ratio, that of the difference
        lies above or below 0, and otherwise 0."""
        return self.change.shown


@dataclass(frozen=True)
class RunComparison:
    """The differences between two runs."""

    differences: tuple[Difference, ...]
    """The differences of the treatments that both runs have, by response, then by treatment."""
    intervals: int
    """The number of differences that have an interval; the intervals hold together (Bonferroni)."""
    apparatus: tuple[tuple[str, str, str], ...]
    """The facts of the apparatus that differ: the name of each, and its value in each run."""
    circumstances: tuple[tuple[str, str, str], ...]
    """The other circumstances that differ: the name of each, and its value in each run."""
    sessions: int
    """The number of sessions of the first run's system: 1 without a history, in which case the intervals hold
    for these two sessions only, and nothing is known of the differences between sessions."""
    exact: bool
    """True if both runs are of a deterministic backend, whose sessions do not differ."""
    stopped_by_rule: tuple[bool, bool]
    """A flag for the first and the second run: true if blocks were added until the run was precise. Intervals
    between runs assume numbers of trials that were fixed beforehand."""
    treatments_of_one: tuple[tuple[Levels, ...], tuple[Levels, ...]]
    """The treatments that only the first run has, and those that only the second has."""
    responses_of_one: tuple[tuple[str, ...], tuple[str, ...]]
    """The names of the responses that only the first run has, and of those that only the second has,
    including responses of the same name that measure something else."""


@dataclass(frozen=True)
class Condition:
    """An undesired change: RESPONSE < PERCENT, or RESPONSE > PERCENT."""

    response: str
    """The response's name."""
    relation: Literal["<", ">"]
    """The direction: "<" for a fall, ">" for a rise."""
    percent: float
    """The limit of the change, in percent: 0 or less for a fall, 0 or more for a rise."""

    def __str__(self) -> str:
        return f"{self.response} {self.relation} {self.percent:+g}%"

    def outcome(self, difference: Difference) -> Outcome:
        """Returns the outcome under a treatment: the condition holds if the whole interval lies beyond the
        limit, and does not hold if no part of it does."""
        beyond = below if self.relation == "<" else above
        return beyond(difference.interval, self.percent)


def condition(text: str) -> Condition | None:
    """Returns the condition that a text states, or None if it is malformed. A fall has a limit of 0% or less
    and a rise one of 0% or more: any other condition would hold for equal runs."""
    match = _CONDITION.fullmatch(text)
    if match is None:
        return None
    response, relation, percent = match[1], match[2], float(match[3])
    if relation == "<":
        return Condition(response, "<", percent) if percent <= 0 else None
    return Condition(response, ">", percent) if percent >= 0 else None


def compare(first: Run, second: Run, only: Sequence[str] = (), history: Sequence[Run] = ()) -> RunComparison:
    """Compares two runs by the treatments and responses that both have, or only by the responses named in
    `only`. The runs of `history` are further sessions of the system of the first run: with them, changes are
    from the mean of all these sessions, and the intervals allow for the differences between sessions."""
    ours, theirs = plan_treatments(first), plan_treatments(second)
    of_first = {response.name: response for response in first.study.responses}
    of_second = {response.name: response for response in second.study.responses}
    common = [r for name, r in of_first.items() if name in of_second and _alike(r, of_second[name])]
    names = {response.name for response in common}
    values = _values(first), _values(second)
    trials = _Trials(first), _Trials(second)
    earlier = [values[0], *map(_values, history)]
    pairs = [
        (response, treatment, _all(earlier, response, treatment), _of(values[1], response, treatment))
        for response in common
        if not only or response.name in only
        for treatment in ours
        if treatment in theirs
    ]
    exact = all(run.study.capabilities.deterministic for run in (first, second))
    different = apart(first, second)
    changes = corrected(
        [
            session_change([_of(each, response, treatment).numbers for each in earlier], here.numbers, exact)
            for response, treatment, _, here in pairs
        ]
    )
    return RunComparison(
        differences=tuple(
            _difference(*pair, change, trials) for pair, change in zip(pairs, changes, strict=True)
        ),
        intervals=max((change.family for change in changes), default=0),
        apparatus=different,
        circumstances=tuple(_circumstances(first, second, {name for name, _, _ in different})),
        sessions=len(earlier),
        exact=exact,
        stopped_by_rule=(first.study.until is not None, second.study.until is not None),
        treatments_of_one=(
            tuple(treatment for treatment in ours if treatment not in theirs),
            tuple(treatment for treatment in theirs if treatment not in ours),
        ),
        responses_of_one=(
            tuple(name for name in of_first if name not in names),
            tuple(name for name in of_second if name not in names),
        ),
    )


class _Trials:
    """The trials of a run by treatment, and its warnings that may bias responses."""

    def __init__(self, run: Run) -> None:
        self._numbers: dict[tuple[str, ...], set[int]] = {}
        for planned in run.plan:
            self._numbers.setdefault(_key(planned.treatment), set()).add(planned.number)
        self._warnings = [group for group in warnings(run) if group.effect is HarmOfWarnings.BIAS]
        self._hosts = {each.of for each in run.study.responses if METRICS[each.metric].of == "host"}

    def biased(self, response: Response, treatment: Levels) -> int:
        """Returns the number of a treatment's trials with a warning that may bias a response."""
        here = self._numbers.get(_key(treatment), set())
        concerned = [
            group.numbers & here for group in self._warnings if group.concerns(response, self._hosts)
        ]
        return len(set().union(*concerned))


def _key(treatment: Levels) -> tuple[str, ...]:
    return tuple(treatment[name] for name in sorted(treatment))


def _alike(one: Response, other: Response) -> bool:
    return (one.metric, one.of, one.unit) == (other.metric, other.of, other.unit)


@dataclass(frozen=True)
class _Values:
    """The values of a response under a treatment, and the reasons for absent values."""

    numbers: tuple[float, ...] = ()
    absent: tuple[str, ...] = ()


def _values(run: Run) -> dict[tuple[str, ...], _Values]:
    """Returns the values by response and levels."""
    factors = list(run.study.factors)
    numbers: dict[tuple[str, ...], list[float]] = {}
    absent: dict[tuple[str, ...], list[str]] = {}
    for each in trial_responses(run):
        key = (each.response, *(each.trial.treatment[name] for name in sorted(factors)))
        if each.value is None:
            absent.setdefault(key, []).append(str(each.absent))
        else:
            numbers.setdefault(key, []).append(each.value)
    keys = numbers.keys() | absent.keys()
    return {key: _Values(tuple(numbers.get(key, ())), tuple(absent.get(key, ()))) for key in keys}


def _of(values: Mapping[tuple[str, ...], _Values], response: Response, treatment: Levels) -> _Values:
    return values.get((response.name, *_key(treatment)), _Values())


def _all(
    sessions: Sequence[Mapping[tuple[str, ...], _Values]], response: Response, treatment: Levels
) -> _Values:
    """Returns the values of several sessions together."""
    values = [_of(each, response, treatment) for each in sessions]
    return _Values(
        tuple(value for each in values for value in each.numbers),
        tuple(reason for each in values for reason in each.absent),
    )


def _why_not(one: _Values, other: _Values) -> str | None:
    """Returns the reason why two samples have no interval of their ratio; None if they have one."""
    for which, values in (("first", one), ("second", other)):
        if not values.numbers:
            reasons = "; ".join(Counter(values.absent))
            return f"no value in the {which} run: {reasons or 'no finished trial'}"
    if min(*one.numbers, *other.numbers) <= 0:
        return NO_RATIO
    for which, values in (("first", one), ("second", other)):
        if len(values.numbers) < 2:
            return f"one trial in the {which} run gives no interval"
    return None


def _difference(
    response: Response,
    treatment: Levels,
    one: _Values,
    other: _Values,
    change: Change,
    trials: tuple[_Trials, _Trials],
) -> Difference:
    return Difference(
        response=response,
        treatment=treatment,
        means=(
            fmean(one.numbers) if one.numbers else None,
            fmean(other.numbers) if other.numbers else None,
        ),
        counts=(len(one.numbers), len(other.numbers)),
        biased=(trials[0].biased(response, treatment), trials[1].biased(response, treatment)),
        change=change,
        absent=_why_not(one, other) or change.absent,
    )


def _circumstances(first: Run, second: Run, known: Set[str]) -> Iterable[tuple[str, str, str]]:
    """Yields the differences between the runs' machines, versions and studies, except those `known`."""
    sides = _facts(first), _facts(second)
    for name in dict.fromkeys([*sides[0], *sides[1]]):
        if name in known:
            continue
        one, other = (side.get(name, "–") for side in sides)
        if one != other:
            yield name, one, other


def _facts(run: Run) -> dict[str, str]:
    """Returns the software and the machine of a run; for several sessions, each distinct value once."""
    study = run.study
    seen: dict[str, list[str]] = {}
    for session in run.sessions:
        machine = session.environment
        facts_of_session = {
            "nettrial version": machine.engine_version,
            "kernel": machine.kernel,
            "CPU": machine.processor,
            "CPUs": str(machine.processors or ""),
            "privileges": machine.privileges,
        }
        known = {name: value for name, value in facts_of_session.items() if value}  # imported files lack some
        for name, value in {**known, **machine.sysctls}.items():
            seen.setdefault(name, [])
            if value not in seen[name]:
                seen[name].append(value)
    facts = {name: ", then ".join(values) for name, values in seen.items()}
    read = digest(run)
    facts["study"] = study.study
    facts["backend"] = study.backend
    facts["trials"] = f"{len(read.finished)} of {len(run.plan)}"
    facts["trials with warnings"] = str(len(read.warned))
    for name, factor in study.factors.items():
        facts[f"levels of {name}"] = ", ".join(factor.levels)
    settings = study.model_dump(by_alias=True, include=set(Settings.model_fields), exclude_defaults=True)
    varied = {path for factor in study.factors.values() for path in factor.paths}
    return facts | {path: text for path, text in _leaves(settings) if path not in varied}


def _leaves(value: Any, path: str = "") -> Iterable[tuple[str, str]]:
    """Yields every setting with its dotted path, in which flows go by their names."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        for number, inner in enumerate(value, start=1):
            yield from _leaves(inner, f"{path}.{inner.get('flow', number)}")
    else:
        text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        yield path, text.lower() if isinstance(value, bool) else text
