"""The networks of a run: one drawing, or one for each level of the factors that change nodes and links."""

from __future__ import annotations

from dataclasses import dataclass

from nettrial.design import PlannedTrial
from nettrial.report import numbers, topology
from nettrial.report.content import Report
from nettrial.report.picture import Drawing
from nettrial.report.tables import label
from nettrial.store import Trial

MOST_DRAWN = 8
"""The largest number of networks that are drawn."""


@dataclass(frozen=True)
class Networks:
    """The networks of a run's trials."""

    drawings: list[tuple[str, Drawing]]
    """The drawings, each with the levels that have this network; no text if all trials have it."""
    note: str
    """The note on networks that are not drawn; empty if there are none."""


def draw(report: Report) -> Networks:
    """Returns the networks of the finished trials, each drawn once. Networks with too many hosts are left
    out."""
    study = report.run.study
    if study.measured or not report.trials:
        return Networks([], "")
    shaping = [
        name
        for name, factor in study.factors.items()
        if len(factor.levels) > 1 and any(path.startswith(topology.SHAPE) for path in factor.paths)
    ]
    first: dict[tuple[str, ...], PlannedTrial] = {}
    for planned in report.trials:
        first.setdefault(tuple(planned.treatment[name] for name in shaping), planned)
    drawn: dict[tuple[tuple[str, ...], ...], tuple[list[str], Trial]] = {}
    hosts = left_out = 0
    for planned in sorted(first.values(), key=lambda each: _order(report, each.treatment)):
        if len(drawn) == MOST_DRAWN:
            left_out += 1
            continue
        trial = report.run.trial(planned.number)
        links = tuple(tuple(end.node for end in link.ends) for link in trial.scenario.links)
        title = label(study, {name: planned.treatment[name] for name in shaping}) if shaping else ""
        if links in drawn:
            drawn[links][0].append(title)
        elif hosts + len(trial.record.hosts) > topology.MOST_HOSTS:
            left_out += 1
        else:
            hosts += len(trial.record.hosts)
            drawn[links] = [title], trial
    return Networks(
        [
            ("; ".join(titles), topology.draw(study, trial.scenario, trial.planned.treatment))
            for titles, trial in drawn.values()
        ],
        _note(left_out, len(drawn)),
    )


def _order(report: Report, treatment: dict[str, str]) -> tuple[int, ...]:
    factors = report.run.study.factors
    return tuple(factors[name].levels.index(level) for name, level in treatment.items())


def _note(left_out: int, drawn: int) -> str:
    if not left_out:
        return ""
    if not drawn:
        return f"Networks of more than {topology.MOST_HOSTS} hosts are not drawn."
    limits = f"{MOST_DRAWN} networks, with {topology.MOST_HOSTS} hosts together"
    return f"At most {limits}, are drawn; {numbers.counted(left_out, 'more level')} left out."
