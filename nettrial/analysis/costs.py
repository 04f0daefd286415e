"""What packets cost hosts: the two costs of a simulated host, fitted on the processor time of real trials.

The simulator's host takes a time for each packet that it sends or receives, and a time for each 1000 bytes of
it, headers of IP included (`HostCost` of the scenario). Here the same sum is fitted to what processors of
trials did: each treatment is one observation, for treatments scatter about the model by more than their
trials do. An interrupt's cost and how many packets share one can't be told: no record counts interrupts, so
theirs is part of what a packet costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from nettrial.analysis.intervals import CONFIDENCE, Floats, Interval
from nettrial.analysis.model import ETHERNET_BYTES
from nettrial.analysis.summary import Levels, plan_treatments
from nettrial.capabilities import CAPABILITIES
from nettrial.errors import BadInput
from nettrial.scenario import HostRecord, Record, Scenario
from nettrial.store import Run, Trial

DOING = "fitting the costs"
DISTURBED = "other_work"
"""The warning of trials that are left out: other processes' work is in the processor time."""
LARGEST_INFLATION = 10.0
"""Of the variance of a cost, by the other one's being fitted, too: beyond it the two can't be told apart
(Kutner, Nachtsheim, Neter and Li, Applied Linear Statistical Models, section 10.5)."""
COSTS = ("per_packet", "per_kilobyte")
"""What is fitted, as the setting `hosts.NAME.cost` names it."""


@dataclass(frozen=True)
class Work:
    """What a host did in the trials of a treatment: means."""

    treatment: Levels
    trials: int
    busy_us: float
    """Processor time."""
    busy_percent: float
    """Of the time that passed."""
    packets: float
    """Sent and received."""
    kilobytes: float
    """Sent and received in IP packets, 1000 bytes each."""


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
    work: tuple[Work, ...]
    """By treatment, what it was fitted on."""
    errors: dict[tuple[str, str], float]
    """By factor and level: by how much the costs that are fitted on the other levels miss the processor time
    there, in percent of it, signed; of several treatments with the level the furthest miss."""
    r_squared: float | None
    """Of the variance of the processor time of a kilobyte over treatments, the share that the costs explain;
    None where it does not vary."""
    cautions: tuple[str, ...]
    """Why the costs may not be what they seem."""

    @property
    def trials(self) -> int:
        """How many it was fitted on."""
        return sum(work.trials for work in self.work)

    def costs(self) -> dict[str, Cost]:
        """Both by name."""
        return dict(zip(COSTS, (self.per_packet, self.per_kilobyte), strict=True))


@dataclass(frozen=True)
class Costs:
    """The costs of a run's hosts."""

    hosts: tuple[HostFit, ...]
    absent: dict[str, str]
    """By host: why nothing could be fitted."""
    left_out: tuple[int, ...]
    """Numbers of the trials that were left out, as other processes worked beside them."""


def costs(run: Run) -> Costs:
    """The costs of each host whose processor was measured. Raises BadInput where there is none of them."""
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
        work, reason = _work(plan_treatments(run), kept, name)
        if work:
            fits.append(fit(name, work, _cautions(name, kept)))
        elif reason:
            absent[name] = reason
    if not fits:
        said = "; ".join(f"{name}: {reason}" for name, reason in absent.items())
        legal = "a run in which the processor of a host (`measurement.cpu`) and its packets were counted"
        raise BadInput(DOING, str(run.directory), said or "no processor was measured", legal)
    left_out = tuple(trial.planned.number for trial in trials if _is_disturbed(trial))
    return Costs(tuple(fits), absent, left_out)


def _is_disturbed(trial: Trial) -> bool:
    return any(warning.code == DISTURBED for warning in trial.record.warnings)


def _work(treatments: Sequence[Levels], trials: Sequence[Trial], host: str) -> tuple[list[Work], str]:
    """What the host did under each treatment; where that is nothing, why, if anybody asked for it."""
    done: list[Work] = []
    reason = ""
    for treatment in treatments:
        of = [_measured(trial, host) for trial in trials if trial.planned.treatment == treatment]
        found = [measured for measured in of if isinstance(measured, tuple)]
        reason = next((why for why in of if isinstance(why, str) and why), reason)
        if found:
            done.append(Work(treatment, len(found), *(fmean(values) for values in zip(*found, strict=True))))
    return done, reason


def _measured(trial: Trial, host: str) -> tuple[float, float, float, float] | str:
    """Processor time in us and in percent, packets and kilobytes of the host in a trial, or why they are not
    known."""
    record = _record(trial.record, host)
    if record is None or not record.cpu_busy_ns:
        absence = next((a for a in trial.record.absent if a.metric == "cpu" and a.object == host), None)
        return absence.reason if absence else ""
    carried = _carried(trial.record, trial.scenario, host)
    if carried is None:
        return (
            "its packets were not counted: that takes a rate of its links (`network.rate`), or "
            "`measurement.packet_sizes: true`"
        )
    packets, kilobytes = carried
    if not packets:
        return "it neither sent nor received"
    return record.cpu_busy_ns / 1000, record.cpu_percent or 0.0, packets, kilobytes


def _record(record: Record, host: str) -> HostRecord | None:
    return next((each for each in record.hosts if each.name == host), None)


def _carried(record: Record, scenario: Scenario, host: str) -> tuple[int, float] | None:
    """Packets and kilobytes that the host's link ends and those opposite sent; None where one was not
    counted. What a queue dropped or a link lost is not looked at."""
    sent = {(end.node, end.interface): end for end in record.ends}
    packets, size = 0, 0
    for link in scenario.links:
        if host not in (end.node for end in link.ends):
            continue
        for end in link.ends:
            counted = sent.get((end.node, end.interface))
            if counted is None:
                return None
            packets += counted.frames_pkts
            size += counted.wire_bytes - ETHERNET_BYTES * counted.frames_pkts
    return packets, size / 1000


def fit(host: str, work: Sequence[Work], cautions: Sequence[str]) -> HostFit:
    """The costs of a host by its work under each treatment; `cautions` beside those that the work gives."""
    design, busy = _observations(work)
    columns = _told_apart(design)
    found = _solved(design, columns)
    bounds = _intervals(design, busy, found)
    said = [*_doubts(work, columns, found), *cautions]
    per_packet, per_kilobyte = (Cost(float(found[n]), bounds.get(n)) for n in range(len(COSTS)))
    return HostFit(
        host, per_packet, per_kilobyte, tuple(work), _held_out(work), _explained(work, found), tuple(said)
    )


def _observations(work: Sequence[Work]) -> tuple[Floats, Floats]:
    """Packets and kilobytes, each over the processor time they are to explain, so that errors are relative;
    and that time."""
    busy = np.array([each.busy_us for each in work])
    return np.array([[each.packets, each.kilobytes] for each in work]) / busy[:, None], busy


def _told_apart(design: Floats) -> tuple[int, ...]:
    """The costs that the observations tell apart: both, or the packet's alone."""
    norms = np.linalg.norm(design, axis=0)
    cosine = float(design[:, 0] @ design[:, 1] / norms.prod())
    # The variance inflation factor of each, there being two and no constant; told by rounding at the least.
    inflation = 1 / max(1 - cosine**2, 1e-12)
    return (0, 1) if inflation <= LARGEST_INFLATION else (0,)


def _solved(design: Floats, columns: Sequence[int]) -> Floats:
    """Both costs by least squares of relative errors, none below 0; of those not in `columns` 0."""
    from scipy import optimize  # it is slow to load, and one command needs it

    found = np.zeros(len(COSTS))
    found[list(columns)], _ = optimize.nnls(design[:, list(columns)], np.ones(len(design)))
    return found


def _intervals(design: Floats, busy: Floats, found: Floats) -> dict[int, Interval]:
    """Of the costs above 0, where more treatments than costs tell how far treatments scatter."""
    from statsmodels.regression.linear_model import WLS  # here: it takes a second to import

    above = [column for column in range(len(COSTS)) if found[column] > 0]
    if not above or len(design) <= len(above):
        return {}
    fitted = WLS(busy, design[:, above] * busy[:, None], weights=1 / busy**2).fit()
    bounds = fitted.conf_int(alpha=1 - CONFIDENCE)
    return {
        column: Interval(max(float(low), 0.0), float(high))
        for column, (low, high) in zip(above, bounds, strict=True)
    }


def _held_out(work: Sequence[Work]) -> dict[tuple[str, str], float]:
    """The error at each level of each factor, of costs fitted without it as they are with it."""
    columns = _told_apart(_observations(work)[0])
    errors: dict[tuple[str, str], float] = {}
    for factor in work[0].treatment:
        for level in dict.fromkeys(each.treatment[factor] for each in work):
            held = [each for each in work if each.treatment[factor] == level]
            others = [each for each in work if each.treatment[factor] != level]
            if len(others) < len(columns) or _told_apart(_observations(others)[0]) != columns:
                continue
            found = _solved(_observations(others)[0], columns)
            misses = 100 * (_observations(held)[0] @ found - 1)
            errors[factor, level] = float(max(misses, key=abs))
    return errors


def _explained(work: Sequence[Work], found: Floats) -> float | None:
    demands = np.array([each.busy_us / each.kilobytes for each in work])
    told = np.array([(found @ [each.packets, each.kilobytes]) / each.kilobytes for each in work])
    spread = float(((demands - demands.mean()) ** 2).sum())
    # Rounding leaves a spread of about 1e-16 where all are equal.
    if spread <= (1e-12 * demands.mean()) ** 2:
        return None
    return 1 - float(((demands - told) ** 2).sum()) / spread


def _doubts(work: Sequence[Work], columns: Sequence[int], found: Floats) -> list[str]:
    """What the observations don't tell."""
    sizes = [1000 * each.kilobytes / each.packets for each in work]
    if len(columns) < len(COSTS):
        return [
            f"a packet's cost and a kilobyte's can't be told apart: packets had {min(sizes):.0f} to "
            f"{max(sizes):.0f} B on average. Both are in per_packet, which holds for packets of that size "
            "alone; run several MTUs"
        ]
    said = [
        f"{name} comes out as 0: what this host's processor time follows is "
        f"{'bytes' if name == COSTS[0] else 'packets'} alone, or something that is not in the model"
        for name, value in zip(COSTS, found, strict=True)
        if value == 0
    ]
    if len(work) <= np.count_nonzero(found):
        said.append("there are as many costs as treatments, so that nothing tests them")
    return said


def _cautions(host: str, trials: Sequence[Trial]) -> list[str]:
    """What in the trials is in the processor's time and is no cost of the host's packets, or hides it."""
    records = [_record(trial.record, host) for trial in trials]
    shared = dict.fromkeys(name for record in records if record for name in record.processor_shared_with)
    scenarios = [trial.scenario for trial in trials]
    said = []
    if any(CAPABILITIES[trial.record.backend].modelled_hosts for trial in trials):
        said.append("it was simulated: these are the costs that the study gave it, and no evidence of others")
    if shared:
        said.append(f"its processor did the work of {', '.join(shared)}, too: that is in the costs")
    if any(_has_offloads(scenario, host) for scenario in scenarios):
        said.append(
            "it had offloads: it worked at GSO packets, and the packets counted are those on the wire"
        )
    if any(_polls(scenario, host) for scenario in scenarios):
        said.append("its reads poll (`busy_poll`): they keep the processor busy whatever arrives")
    return said


def _has_offloads(scenario: Scenario, host: str) -> bool:
    offloads = next(node.offloads for node in scenario.nodes if node.name == host)
    return offloads is not None and any(offloads.model_dump().values())


def _polls(scenario: Scenario, host: str) -> bool:
    return any(
        flow.socket is not None and flow.socket.busy_poll is not None
        for flow in scenario.workload
        if host in (flow.from_, flow.to)
    )
