"""The pilot of a run with a budget: a small run of the same study, with traffic of two durations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean
from typing import Any, TypeAlias

from nettrial.analysis.pilot import PilotVariation, variation
from nettrial.analysis.run_digest import trial_responses
from nettrial.store import Run
from nettrial.study import Study
from nettrial.study.document import Document
from nettrial.units import DURATION

_Groups: TypeAlias = dict[tuple[str, ...], dict[int, float]]
"""The values of a response by treatment and block."""
SCALES = (0.25, 0.5, 1.0)
"""The durations from which one is chosen, as shares of the study's. The pilot runs the first and the last."""
SHORTEST_SECONDS = 0.25
"""The shortest duration that is chosen: the CPU time of hosts is counted in ticks of 10 ms."""
FACTOR = "pilot_duration"
"""The name of the factor by which traffic of the pilot's trials has several durations."""
FEWEST_BLOCKS, MOST_BLOCKS = 2, 5
"""The limits of the number of the pilot's blocks."""
SHARE = 0.25
"""The share of the budget that a pilot of more than the fewest blocks may take."""


@dataclass(frozen=True)
class Durations:
    """The durations that a study's traffic may have."""

    paths: Sequence[str]
    """The settings of the durations; none if they can't be changed."""
    seconds: Sequence[float]
    """The durations of the traffic as a whole, from the shortest to the study's own."""
    scales: Sequence[float]
    """The same as shares of the study's own."""

    def settings(self, study: Study, scale: float) -> dict[str, str]:
        """Returns the settings that give traffic this share of its duration, by dotted path."""
        settings = {}
        for entry in study.workload:
            path = f"workload.{entry.flow}.traffic.duration"
            if path in self.paths:
                length = getattr(entry.traffic, "duration")  # noqa: B009 - not all kinds of traffic have one
                settings[path] = DURATION.print(round(DURATION.parse(length) * scale))
        return settings


def durations(study: Study, seconds: float) -> Durations:
    """Returns the durations of a study whose traffic takes `seconds`. The only one is its own if traffic ends
    by itself, starts later or has a factor for its duration, or if links fail at given times."""
    paths = [f"workload.{entry.flow}.traffic.duration" for entry in study.workload]
    kinds = [entry.traffic for entry in study.workload]
    set_by_factors = {path for factor in study.factors.values() for path in factor.paths}
    fixed = (
        any(getattr(kind, "duration", None) is None for kind in kinds)
        or any(DURATION.parse(entry.start) for entry in study.workload)
        or any(path.startswith(("workload", "network.events")) and _is_time(path) for path in set_by_factors)
        or bool(study.network and study.network.events)
    )
    if fixed:
        return Durations((), (seconds,), (1.0,))
    scales = [scale for scale in SCALES if scale == 1.0 or seconds * scale >= SHORTEST_SECONDS]
    return Durations(paths, [seconds * scale for scale in scales], scales)


def _is_time(path: str) -> bool:
    return path.endswith((".duration", ".start", ".traffic")) or path.startswith("network.events")


def pilot_study(study: Study, times: Durations) -> Study:
    """Returns the study of a pilot: two levels of the factor that the study's answer is about, the baselines
    of all others, and traffic of the shortest and the longest of the durations."""
    compared = (study.headline and study.headline.factor) or study.layout.rows
    levels = {}
    for name, factor in study.factors.items():
        base = factor.baseline or factor.levels[0]
        others = [level for level in factor.levels if level != base]
        levels[name] = [base, *others[-1:]] if name == compared else [base]
    document: dict[str, Any] = study.model_dump(by_alias=True)
    for name, kept in levels.items():
        document["factors"][name] |= {"levels": kept, "baseline": kept[0]}
        if not isinstance(study.factors[name].sets, str):
            sets = document["factors"][name]["sets"]
            document["factors"][name]["sets"] = {level: sets[level] for level in kept}
    if len(times.scales) > 1:
        shown = [f"{seconds:g} s" for seconds in (times.seconds[0], times.seconds[-1])]
        scales = (times.scales[0], times.scales[-1])
        document["factors"][FACTOR] = {
            "title": "Duration",
            "sets": {level: times.settings(study, scale) for level, scale in zip(shown, scales, strict=True)},
            "levels": shown,
            "baseline": shown[-1],
        }
        document["layout"]["columns"].append(FACTOR)
    document |= {"headline": None, "published": None, "conclusions": [], "until": None, "full": {}}
    document["title"] = f"Pilot: {study.title}"
    made = Document.in_python({name: value for name, value in document.items() if value is not None})
    return Study.of(replace(made, path=study.document.path))


@dataclass(frozen=True)
class PilotFindings:
    """The findings of a pilot."""

    variations: Sequence[PilotVariation]
    """The variation of each response with values."""
    overhead: float
    """The time of a trial beside its traffic, in seconds."""


def measured(run: Run, times: Durations) -> PilotFindings:
    """Returns the findings of a finished pilot."""
    others = [name for name in run.study.factors if name != FACTOR]
    values: dict[str, dict[float, _Groups]] = {}
    for each in trial_responses(run):
        if each.value is None:
            continue
        levels = each.trial.treatment
        seconds = float(levels[FACTOR].split()[0]) if FACTOR in levels else times.seconds[-1]
        groups = values.setdefault(each.response, {}).setdefault(seconds, {})
        groups.setdefault(tuple(levels[name] for name in others), {})[each.trial.block] = each.value
    variations = []
    for response in run.study.responses:
        by_duration = values.get(response.name, {})
        if len(by_duration) < min(len(times.scales), 2):
            continue
        varied = variation(response.name, _common(by_duration), response.smallest_effect)
        if varied is not None:
            variations.append(varied)
    return PilotFindings(variations, overhead(run, times))


def _common(by_duration: Mapping[float, _Groups]) -> dict[float, list[list[float]]]:
    """Returns the values of the treatments and blocks that all durations have, in the same order."""
    treatments = sorted(set.intersection(*(set(groups) for groups in by_duration.values())))
    return {
        seconds: [
            [
                groups[treatment][block]
                for block in sorted(
                    set.intersection(*(set(each[treatment]) for each in by_duration.values()))
                )
            ]
            for treatment in treatments
        ]
        for seconds, groups in by_duration.items()
    }


def overhead(run: Run, times: Durations) -> float:
    """Returns the mean time between the beginnings of two trials, less the duration of the first one's
    traffic."""
    trials = sorted(run.each_trial(), key=lambda trial: trial.record.started_unix_ns)
    gaps = []
    for before, after in pairwise(trials):
        level = before.planned.treatment.get(FACTOR)
        seconds = float(level.split()[0]) if level else times.seconds[-1]
        gaps.append((after.record.started_unix_ns - before.record.started_unix_ns) / 1e9 - seconds)
    return max(fmean(gaps), 0.0) if gaps else 0.0
