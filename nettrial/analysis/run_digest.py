"""The parts of a run's records that its analysis needs. The records are read in one pass and not kept: those
of 100,000 trials don't fit into memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from nettrial.analysis.flow_distributions import FlowDistributions
from nettrial.analysis.responses import Responses, TrialResponse
from nettrial.design import PlannedTrial
from nettrial.fields import without_collector
from nettrial.scenario import DisturbanceRecord, HostRecord, Record, Warning
from nettrial.store import Run, Trial
from nettrial.store.lean import lean
from nettrial.study.system_names import family

LINUX = ("lab", "virtual")
"""The backends whose hosts have a Linux kernel where they are no guests."""
KEPT = "digest"
"""The name under which a run keeps its digest."""


TreatmentKey: TypeAlias = tuple[tuple[str, str], ...]
"""The levels of a treatment by factor, sorted."""


def treatment_key(treatment: Mapping[str, str]) -> TreatmentKey:
    """Returns the key of a treatment in mappings."""
    return tuple(sorted(treatment.items()))


@dataclass
class Digest:
    """The parts of the records of a run's finished trials, in run order."""

    finished: list[PlannedTrial] = field(default_factory=list)
    """The finished trials of the plan."""
    spans: list[tuple[int, int]] = field(default_factory=list)
    """The duration of each trial's traffic, and its total duration, in nanoseconds."""
    warnings: list[tuple[Warning, PlannedTrial]] = field(default_factory=list)
    """All warnings, each with its trial."""
    clocks: dict[int, list[float]] = field(default_factory=dict)
    """The clock rates of each CPU at the end of the trials' traffic, in MHz; 0 if the kernel did not report
    it."""
    sets: dict[int, str] = field(default_factory=dict)
    """The set of machines that ran each trial, by the trial's number, if there are sets."""
    placements: Counter[tuple[str, int | None, tuple[str, ...]]] = field(default_factory=Counter)
    """The number of trials for each host, its CPU, and the nodes that share the CPU; empty for modelled
    hosts."""
    disturbances: dict[int, list[DisturbanceRecord]] = field(default_factory=dict)
    """The disturbances of the machines of each trial, by the trial's number; empty in simulated time."""
    distributions: FlowDistributions = field(default_factory=FlowDistributions)
    """The delays and the goodput of flows."""
    systems: dict[TreatmentKey, dict[str, set[str]]] = field(default_factory=dict)
    """The operating systems that each host reported, or the stack that is a program, by treatment;
    empty for modelled hosts, and for studies whose source names no systems."""
    detailed: list[Trial] = field(default_factory=list)
    """The trials with sweeps, pacing, packet sizes or radio channels, with these parts of their records
    alone."""

    @property
    def warned(self) -> list[int]:
        """The numbers of the trials with warnings."""
        return list(dict.fromkeys(planned.number for _, planned in self.warnings))


@dataclass(frozen=True)
class _Read:
    """The digest and the responses of a run at one revision."""

    revision: str
    digest: Digest
    responses: Responses


def digest(run: Run) -> Digest:
    """Returns the digest of a run, which is read again if the run has changed."""
    return _read(run).digest


def trial_responses(run: Run) -> Iterable[TrialResponse]:
    """Returns an entry for each finished trial and response, in run order."""
    return _read(run).responses


def _read(run: Run) -> _Read:
    revision = run.revision()
    kept = run.kept.get(KEPT)
    if isinstance(kept, _Read) and kept.revision == revision:
        return kept
    read, measured = Digest(), Responses(run)
    has_placements = not run.study.capabilities.modelled_hosts
    has_systems = has_placements and run.study.published is not None and bool(run.study.published.systems)
    with without_collector():
        for trial in run.each_trial():
            measured.add(trial)
            _add(read, trial, has_placements)
            if has_systems:
                _add_systems(read, trial)
    kept = _Read(revision, read, measured)
    run.kept[KEPT] = kept
    return kept


def _add(digest_so_far: Digest, trial: Trial, has_placements: bool) -> None:
    record, phases = trial.record, trial.record.phases
    digest_so_far.finished.append(trial.planned)
    total = phases.network_ns + phases.checks_ns + phases.traffic_ns + phases.tear_down_ns
    digest_so_far.spans.append((phases.traffic_ns, total))
    digest_so_far.warnings += [(warning, trial.planned) for warning in record.warnings]
    if record.set is not None:
        digest_so_far.sets[trial.planned.number] = record.set
    if record.disturbances:
        digest_so_far.disturbances[trial.planned.number] = record.disturbances
    for processor in record.processors or ():
        digest_so_far.clocks.setdefault(processor.number, []).append(processor.frequency_mhz or 0.0)
    if has_placements:
        digest_so_far.placements.update(
            (host.name, host.processor, tuple(host.processor_shared_with)) for host in record.hosts
        )
    digest_so_far.distributions.add(trial.planned, record)
    details = _details(record)
    if details is not None:
        digest_so_far.detailed.append(replace(trial, record=lean(details)))


def _add_systems(digest_so_far: Digest, trial: Trial) -> None:
    systems = digest_so_far.systems.setdefault(treatment_key(trial.planned.treatment), {})
    for host in trial.record.hosts:
        if reported := _system(trial.record, host):
            systems.setdefault(host.name, set()).add(reported)


def _system(record: Record, host: HostRecord) -> str | None:
    """Returns what a host reported of its system; None if nothing is known of it. A stack that is a program
    comes before the kernel, which only forwards its packets."""
    if host.stack is not None:
        return f"{host.stack.name} {host.stack.version}"
    if host.guest is not None:
        name = host.guest.system if family(host.guest.system) else f"Linux, {host.guest.system}"
        return f"{name} ({host.guest.kernel})"
    if host.system is not None or record.backend not in LINUX:
        return host.system
    return "Linux"


def _details(record: Record) -> Record | None:
    """Returns the record with the parts alone that only some kinds of trials have; None if it has none of
    them."""
    flows = [flow.model_copy(update={"intervals": []}) for flow in record.flows if flow.sizes or flow.pacing]
    ends = [end.model_copy(update={"series": None}) for end in record.ends if end.packet_sizes is not None]
    if not flows and not ends and not record.channels:
        return None
    return record.model_copy(update={"flows": flows, "ends": ends, "checks": [], "absent": [], "hosts": []})
