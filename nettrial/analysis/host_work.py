"""The work of hosts in the trials of a run, from their CPU times and packet counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from nettrial.analysis.host_cost import Work
from nettrial.analysis.mtu_fits import ETHERNET_BYTES
from nettrial.analysis.summary import Levels
from nettrial.capabilities import CAPABILITIES
from nettrial.scenario import HostRecord, Record, Scenario
from nettrial.store import Trial


@dataclass(frozen=True)
class TreatmentWork(Work):
    """The mean work of a host in the trials of a treatment."""

    busy_percent: float
    """The CPU time in percent of the elapsed time."""
    treatment: Levels
    """The level of each factor."""
    trials: int
    """The number of trials over which the means were taken."""


def work_of(
    treatments: Sequence[Levels], trials: Sequence[Trial], host: str
) -> tuple[list[TreatmentWork], str]:
    """Returns the work of the host under each treatment, and the reason if there is none although the study
    measures it."""
    done: list[TreatmentWork] = []
    reason = ""
    for treatment in treatments:
        of = [_measured(trial, host) for trial in trials if trial.planned.treatment == treatment]
        measurements = [measured for measured in of if isinstance(measured, tuple)]
        reason = next((why for why in of if isinstance(why, str) and why), reason)
        if measurements:
            busy_us, packets, kilobytes, percent = (
                fmean(values) for values in zip(*measurements, strict=True)
            )
            done.append(TreatmentWork(busy_us, packets, kilobytes, percent, treatment, len(measurements)))
    return done, reason


def _measured(trial: Trial, host: str) -> tuple[float, float, float, float] | str:
    """Returns the CPU time in microseconds, packets, kilobytes and CPU time in percent of a host in a trial,
    or the reason why they are unknown."""
    record = _record(trial.record, host)
    if record is None or not record.cpu_busy_ns:
        absence = next((a for a in trial.record.absent if a.metric == "cpu" and a.object == host), None)
        return absence.reason if absence else ""
    carried = _carried(trial.record, trial.scenario, host)
    if carried is None:
        return (
            "its packets were not counted: that requires a rate of its links (`network.rate`), or "
            "`measurement.packet_sizes: true`"
        )
    packets, kilobytes = carried
    if not packets:
        return "it neither sent nor received"
    return record.cpu_busy_ns / 1000, packets, kilobytes, record.cpu_percent or 0.0


def _record(record: Record, host: str) -> HostRecord | None:
    return next((each for each in record.hosts if each.name == host), None)


def _carried(record: Record, scenario: Scenario, host: str) -> tuple[int, float] | None:
    """Returns the packets and kilobytes sent by the host's interfaces and their peers; None if one was not
    counted. Packets dropped by queues or lost on links are not subtracted."""
    sent = {(counted.node, counted.interface): counted for counted in record.ends}
    packets, size = 0, 0
    for link in scenario.links:
        if host not in (interface.node for interface in link.ends):
            continue
        for interface in link.ends:
            counted = sent.get((interface.node, interface.interface))
            if counted is None:
                return None
            packets += counted.frames_pkts
            size += counted.wire_bytes - ETHERNET_BYTES * counted.frames_pkts
    return packets, size / 1000


def cautions_of(host: str, trials: Sequence[Trial]) -> list[str]:
    """Returns circumstances of the trials that add to the CPU time or hide the cost of the host's packets."""
    records = [_record(trial.record, host) for trial in trials]
    shared = dict.fromkeys(name for record in records if record for name in record.processor_shared_with)
    scenarios = [trial.scenario for trial in trials]
    said = []
    if any(CAPABILITIES[trial.record.backend].modelled_hosts for trial in trials):
        said.append("it was simulated: these are the costs that the study set, not evidence of real ones")
    if shared:
        said.append(f"its CPU also did the work of {', '.join(shared)}: that is part of the costs")
    if any(_has_offloads(scenario, host) for scenario in scenarios):
        said.append("it used offloads: it processed GSO packets, while packets were counted on the wire")
    if any(_polls(scenario, host) for scenario in scenarios):
        said.append("its reads poll (`busy_poll`): they keep the CPU busy even if nothing arrives")
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
