"""The CPU costs of packets: the two costs of a simulated host, fitted to the CPU time of real trials.

Each treatment is one observation, because treatments scatter around the model more than their trials do."""

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
"""The current action, for error messages."""
DISTURBED = "other_work"
"""The code of the warning whose trials are left out, because the CPU time includes other processes' work."""


@dataclass(frozen=True)
class Cost:
    """A fitted cost in microseconds."""

    value: float
    """The cost in microseconds."""
    interval: Interval | None
    """The interval at `CONFIDENCE`, by Student's t over treatments; None if the cost was not fitted or is 0,
    or if there are too few treatments to estimate their scatter."""


@dataclass(frozen=True)
class HostFit:
    """The costs of one host."""

    host: str
    """The host's name."""
    per_packet: Cost
    """The CPU time for a packet."""
    per_kilobyte: Cost
    """The CPU time for 1000 bytes."""
    work: tuple[TreatmentWork, ...]
    """The observations to which it was fitted, one for each treatment."""
    errors: dict[tuple[str, str], float]
    """The signed error by factor and level of the CPU time predicted by costs fitted to the other levels, in
    percent of the CPU time; for several treatments with the level, the largest error."""
    r_squared: float | None
    """The share of the variance over treatments of the CPU time for a kilobyte that the costs explain; None
    if it does not vary."""
    cautions: tuple[str, ...]
    """Reasons to doubt the costs."""

    @property
    def trials(self) -> int:
        """Returns the number of trials to which it was fitted."""
        return sum(work.trials for work in self.work)

    def costs(self) -> dict[str, Cost]:
        """Returns both costs by name."""
        return dict(zip(PARTS, (self.per_packet, self.per_kilobyte), strict=True))


@dataclass(frozen=True)
class Costs:
    """The costs of a run's hosts."""

    hosts: tuple[HostFit, ...]
    """The costs of each host to which they could be fitted."""
    absent: dict[str, str]
    """The reasons why no costs could be fitted, by host."""
    left_out: tuple[int, ...]
    """The numbers of the trials that were left out because other processes ran at the same time."""


def costs(run: Run) -> Costs:
    """Returns the costs of each host whose CPU time was measured; raises BadInput if there are none."""
    trials = run.trials()
    if not trials:
        raise BadInput(DOING, str(run.directory), "no trial is finished", "a run with finished trials")
    kept = [trial for trial in trials if not _is_disturbed(trial)]
    if not kept:
        said = f"other processes ran during each of its {len(trials)} trials ({DISTURBED})"
        raise BadInput(DOING, str(run.directory), said, "a run on an otherwise idle machine")
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
        expected = "a run with the CPU time (`measurement.cpu`) and the packet counts of a host"
        raise BadInput(DOING, str(run.directory), said or "no CPU time was measured", expected)
    left_out = tuple(trial.planned.number for trial in trials if _is_disturbed(trial))
    return Costs(tuple(fits), absent, left_out)


def _is_disturbed(trial: Trial) -> bool:
    return any(warning.code == DISTURBED for warning in trial.record.warnings)


def fit(host: str, work: Sequence[TreatmentWork], cautions: Sequence[str]) -> HostFit:
    """Returns the costs of a host from its work under each treatment; `cautions` are added to those that
    follow from the work."""
    cost = HostCost.of(work, told_apart(work))
    bounds = cost.intervals()
    per_packet, per_kilobyte = (
        Cost(value, bounds.get(name)) for name, value in zip(PARTS, cost.values, strict=True)
    )
    said = (*_doubts(cost), *cautions)
    return HostFit(
        host, per_packet, per_kilobyte, tuple(work), _held_out(work, cost.parts), _explained(cost), said
    )


def _held_out(work: Sequence[TreatmentWork], parts: Sequence[int]) -> dict[tuple[str, str], float]:
    """Returns the error at each level of each factor, of the same costs fitted without that level."""
    errors: dict[tuple[str, str], float] = {}
    for factor in work[0].treatment:
        for level in dict.fromkeys(each.treatment[factor] for each in work):
            held = [each for each in work if each.treatment[factor] == level]
            others = [each for each in work if each.treatment[factor] != level]
            if len(others) < len(parts) or told_apart(others) != parts:
                continue
            cost = HostCost.of(others, parts)
            errors[factor, level] = max((cost.error_percent(each) for each in held), key=abs)
    return errors


def _explained(cost: HostCost) -> float | None:
    demands = np.array([each.busy_us / each.kilobytes for each in cost.work])
    told = np.array([cost.at(each.packets, each.kilobytes) / each.kilobytes for each in cost.work])
    spread = float(((demands - demands.mean()) ** 2).sum())
    # Rounding leaves a spread of about 1e-16 if all are equal.
    if spread <= (1e-12 * demands.mean()) ** 2:
        return None
    return 1 - float(((demands - told) ** 2).sum()) / spread


def _doubts(cost: HostCost) -> list[str]:
    """Returns the limits of what the observations show."""
    sizes = [1000 * each.kilobytes / each.packets for each in cost.work]
    if len(cost.parts) < len(PARTS):
        return [
            f"the costs of a packet and of a kilobyte can't be distinguished: packets had {min(sizes):.0f} "
            "to "
            f"{max(sizes):.0f} B on average. per_packet contains both, and holds only for packets of that "
            "size; run several MTUs"
        ]
    said = [
        f"{name} is 0: this host's CPU time depends on "
        f"{'bytes' if name == PARTS[0] else 'packets'} only, or on something that is not in the model"
        for name in cost.zeros
    ]
    if len(cost.work) <= len(PARTS) - len(cost.zeros):
        said.append("there are as many costs as treatments, so that the fit can't be tested")
    return said
