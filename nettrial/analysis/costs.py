"""The costs of packets to hosts: the two costs of a simulated host, fitted on the CPU time of real
trials.

Each treatment is one observation, for treatments scatter about the model by more than their trials do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nettrial.analysis.host_cost import PARTS, HostCost, told_apart
from nettrial.analysis.host_work import TreatmentWork, cautions_of, work_of
from nettrial.analysis.intervals import Interval
from nettrial.analysis.summary import plan_treatments
from nettrial.errors import BadInput
from nettrial.store import Run, Trial

DOING = "fitting the costs"
DISTURBED = "other_work"
"""The warning of trials that are left out: other processes' work is in the CPU time."""


@dataclass(frozen=True)
class Cost:
    """One fitted cost, us."""

    value: float
    interval: Interval | None
    """At `CONFIDENCE`, by Student's t over treatments; None where it was not fitted, is 0, or no treatment is
    left to tell how far they scatter."""


@dataclass(frozen=True)
class HostFit:
    """The costs of one host."""

    host: str
    per_packet: Cost
    per_kilobyte: Cost
    work: tuple[TreatmentWork, ...]
    """The observations that it was fitted on, by treatment."""
    errors: dict[tuple[str, str], float]
    """Errors by factor and level: by how much the costs that are fitted on the other levels miss the
    CPU time there, in percent of it, signed; of several treatments with the level the furthest miss."""
    r_squared: float | None
    """Share of the variance of the CPU time of a kilobyte over treatments that the costs explain;
    None where it does not vary."""
    cautions: tuple[str, ...]
    """Why the costs may not be what they seem."""

    @property
    def trials(self) -> int:
        """The number of trials that it was fitted on."""
        return sum(work.trials for work in self.work)

    def costs(self) -> dict[str, Cost]:
        """Both by name."""
        return dict(zip(PARTS, (self.per_packet, self.per_kilobyte), strict=True))


@dataclass(frozen=True)
class Costs:
    """The costs of a run's hosts."""

    hosts: tuple[HostFit, ...]
    absent: dict[str, str]
    """The reasons why nothing could be fitted, by host."""
    left_out: tuple[int, ...]
    """Numbers of the trials that were left out, as other processes worked beside them."""


def costs(run: Run) -> Costs:
    """The costs of each host whose CPU was measured. Raises BadInput where there is none of them."""
    trials = run.trials()
    if not trials:
        raise BadInput(DOING, str(run.directory), "no trial is finished", "a run with finished trials")
    kept = [trial for trial in trials if not _is_disturbed(trial)]
    if not kept:
        said = f"other processes worked beside each of its {len(trials)} trials ({DISTURBED})"
        raise BadInput(DOING, str(run.directory), said, "a run on a machine that does nothing else")
    fits: list[HostFit] = []
    absent: dict[str, str] = {}
    for name in dict.fromkeys(host.name for trial in kept for host in trial.record.hosts):
        work, reason = work_of(plan_treatments(run), kept, name)
        if work:
            fits.append(fit(name, work, cautions_of(name, kept)))
        elif reason:
            absent[name] = reason
    if not fits:
        said = "; ".join(f"{name}: {reason}" for name, reason in absent.items())
        expected = "a run in which the CPU of a host (`measurement.cpu`) and its packets were counted"
        raise BadInput(DOING, str(run.directory), said or "no CPU was measured", expected)
    left_out = tuple(trial.planned.number for trial in trials if _is_disturbed(trial))
    return Costs(tuple(fits), absent, left_out)


def _is_disturbed(trial: Trial) -> bool:
    return any(warning.code == DISTURBED for warning in trial.record.warnings)


def fit(host: str, work: Sequence[TreatmentWork], cautions: Sequence[str]) -> HostFit:
    """The costs of a host by its work under each treatment; `cautions` beside those that the work gives."""
    found = HostCost.of(work, told_apart(work))
    bounds = found.intervals()
    per_packet, per_kilobyte = (
        Cost(value, bounds.get(name)) for name, value in zip(PARTS, found.values, strict=True)
    )
    said = (*_doubts(found), *cautions)
    return HostFit(
        host, per_packet, per_kilobyte, tuple(work), _held_out(work, found.parts), _explained(found), said
    )


def _held_out(work: Sequence[TreatmentWork], parts: Sequence[int]) -> dict[tuple[str, str], float]:
    """The error at each level of each factor, of costs fitted without it as they are with it."""
    errors: dict[tuple[str, str], float] = {}
    for factor in work[0].treatment:
        for level in dict.fromkeys(each.treatment[factor] for each in work):
            held = [each for each in work if each.treatment[factor] == level]
            others = [each for each in work if each.treatment[factor] != level]
            if len(others) < len(parts) or told_apart(others) != parts:
                continue
            found = HostCost.of(others, parts)
            errors[factor, level] = max((found.error_percent(each) for each in held), key=abs)
    return errors


def _explained(found: HostCost) -> float | None:
    demands = np.array([each.busy_us / each.kilobytes for each in found.work])
    told = np.array([found.at(each.packets, each.kilobytes) / each.kilobytes for each in found.work])
    spread = float(((demands - demands.mean()) ** 2).sum())
    # Rounding leaves a spread of about 1e-16 where all are equal.
    if spread <= (1e-12 * demands.mean()) ** 2:
        return None
    return 1 - float(((demands - told) ** 2).sum()) / spread


def _doubts(found: HostCost) -> list[str]:
    """Returns what the observations don't tell."""
    sizes = [1000 * each.kilobytes / each.packets for each in found.work]
    if len(found.parts) < len(PARTS):
        return [
            f"a packet's cost and a kilobyte's can't be told apart: packets had {min(sizes):.0f} to "
            f"{max(sizes):.0f} B on average. Both are in per_packet, which holds for packets of that size "
            "alone; run several MTUs"
        ]
    said = [
        f"{name} comes out as 0: what this host's CPU time follows is "
        f"{'bytes' if name == PARTS[0] else 'packets'} alone, or something that is not in the model"
        for name in found.zeros
    ]
    if len(found.work) <= len(PARTS) - len(found.zeros):
        said.append("there are as many costs as treatments, so that nothing tests them")
    return said
