"""The content of a report before it is drawn, which is gathered once and shown on both terminal and page."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from nettrial import metrics
from nettrial.analysis import (
    Answers,
    FailureGroup,
    FlowDistributions,
    PublishedRow,
    ResponseSummary,
    Summary,
    WarningGroup,
    answers,
    digest,
    failures,
    summarise,
)
from nettrial.design import PlannedTrial
from nettrial.report import disturbed, numbers, sentences, stopping, sweeps, tables, wires
from nettrial.scenario import Machine
from nettrial.store import Run, Trial


@dataclass(frozen=True)
class Section:
    """A response with its measured and published figures."""

    response: ResponseSummary
    """The results of the response."""
    name: str
    """The response's name."""
    title: str
    """The response's title."""
    unit: str
    """The response's unit."""
    definition: str
    """The definition of the metric, and the flow or host at which it is measured."""
    measured: tables.Table
    """The table of measured values and changes."""
    published: tables.Table | None
    """The table of published values and changes; None if there are none."""
    published_table: str
    """The place of the published figures in the source, such as "table 2"."""
    comparisons: list[tables.PublishedComparison]
    """The measured changes that have a published counterpart."""
    sentences: list[str]
    """Sentences about the effect of each factor, the variation that each explains, the precision reached,
    outliers, and the warnings that concern the response."""

    @property
    def is_measured(self) -> bool:
        """Returns whether any trial has a value of the response."""
        return any(cell.n for cell in self.response.cells)


@dataclass(frozen=True)
class Absent:
    """A response that trials could not measure, with the reason."""

    title: str
    """The response's title."""
    reason: str
    """The reason, in words."""
    trials: int
    """The number of trials without a value."""


@dataclass(frozen=True)
class Placement:
    """The CPU on which a host's work ran, and the number of trials."""

    host: str
    """The host's name."""
    processor: str
    """The number of the CPU, as text."""
    shared_with: str
    """The nodes whose work ran on the same CPU, in words; "nothing" if there was none."""
    trials: int
    """The number of trials."""


@dataclass(frozen=True)
class Report:
    """The whole content of a report."""

    run: Run
    """The run."""
    trials: list[PlannedTrial]
    """The finished trials."""
    detailed: list[Trial]
    """The finished trials with sweeps, pacing, packet sizes or radio channels, with these parts of their
    records alone."""
    distributions: FlowDistributions
    """The delays and the goodput of single flows."""
    summary: Summary
    """The values and changes of each response."""
    answers: Answers
    """The results of the analysis beyond the summary."""
    published: list[PublishedRow]
    """The published figures; empty if there are none."""
    warnings: list[WarningGroup]
    """The warnings of records, and those that follow from the run's order and values, the gravest first."""
    warned_trials: int
    """The number of finished trials with a warning."""
    sections: list[Section]
    """One for each response; none before a trial has finished."""
    absent: list[Absent]
    """The responses that were not measured."""
    failures: list[FailureGroup]
    """The failed trials, grouped by message."""
    placements: list[Placement]
    """The CPUs on which hosts' work ran."""
    sweeps: sweeps.Sweeps | None
    """The findings by packet size, if the study has a sweep."""
    disturbed: list[str]
    """Sentences about trials that something else disturbed; none if there are none."""
    stopping: list[str]
    """Sentences about the end of a run with a stopping rule, and about its kind of intervals."""
    pacing: list[str]
    """The accuracy with which senders kept to the requested departure times, in a sentence for each flow."""
    packet_sizes: list[wires.Sizes]
    """The packet sizes on the wires, where packets were counted."""
    machines: list[str]
    """The user's machines on which trials ran, each with its operating system and version, and the sets of
    machines with their numbers of trials."""
    traffic_share: float | None
    """The mean share of a trial's duration during which traffic was sent, from 0 to 1; None for simulated
    trials and measurements."""
    trial_seconds: float | None
    """The mean duration of a trial in seconds; None for simulated trials and measurements."""

    @property
    def general_warnings(self) -> list[int]:
        """Returns the numbers, from 1, of the warnings that every treatment has, for which marks in tables
        would be useless. Warnings of a single response are excluded, because its section names them."""
        treatments = {tuple(planned.treatment.items()) for planned in self.run.plan}
        groups = enumerate(self.warnings, start=1)
        return [number for number, group in groups if _general(group, len(treatments))]

    @property
    def facts(self) -> list[str]:
        """Returns the progress, for trials the seed and the backend, and the factors with one level."""
        made = (
            [] if self.run.study.measured else [f"seed {self.run.seed}", f"backend {self.run.study.backend}"]
        )
        return [self.progress, *made, *(f"{title} {level}" for title, level in self.constants.items())]

    @property
    def constants(self) -> dict[str, str]:
        """Returns the level of each factor that has only one, by the factor's title."""
        factors = self.run.study.factors.values()
        return {factor.title: factor.levels[0] for factor in factors if len(factor.levels) == 1}

    @property
    def progress(self) -> str:
        """Returns the progress of the plan in words."""
        blocks = len({planned.block for planned in self.run.plan})
        treatments = len(self.run.plan) // blocks if blocks else 0
        size = f"{numbers.counted(treatments, 'treatment')} × {numbers.counted(blocks, 'block')}"
        return f"{len(self.trials)} of {numbers.counted(len(self.run.plan), 'trial')} ({size})"


def _general(group: WarningGroup, treatments: int) -> bool:
    return not group.responses and len(group.treatments) == treatments


def gather(run: Run) -> Report:
    """Analyses a run for its report."""
    read = digest(run)
    summary = summarise(run)
    analysed = answers(run, summary)
    rows = list({id(each.row): each.row for each in analysed.agreement}.values())
    groups = list(analysed.warnings)
    spans = [] if run.study.measured or run.study.capabilities.simulated_time else read.spans
    shares = [traffic / max(total, 1) for traffic, total in spans]
    return Report(
        run=run,
        trials=read.finished,
        detailed=read.detailed,
        distributions=read.distributions,
        summary=summary,
        answers=analysed,
        published=rows,
        warnings=groups,
        warned_trials=len(read.warned),
        sections=[
            _section(run, response, rows, groups, analysed) for response in summary.responses if read.finished
        ],
        absent=_absent(summary),
        failures=failures(run),
        placements=_placements(read.placements),
        sweeps=sweeps.gather(run),
        disturbed=disturbed.sentences(run, read),
        stopping=stopping.sentences(run),
        pacing=wires.pacing(read.detailed),
        packet_sizes=wires.packet_sizes(run.study, read.detailed),
        machines=[
            *(f"{name}: {m.system}, {m.kernel}" for name, m in _machines(run).items()),
            *_sets(read.sets),
        ],
        traffic_share=sum(shares) / len(shares) if shares else None,
        trial_seconds=sum(total for _, total in spans) / 1e9 / len(spans) if spans else None,
    )


def _machines(run: Run) -> dict[str, Machine]:
    """Returns the user's machines by name, as the last session found them."""
    return {
        machine.name: machine for session in run.sessions for machine in session.environment.machines or []
    }


def _sets(sets: Mapping[int, str]) -> list[str]:
    """Returns the number of trials that each set of machines ran."""
    counted = Counter(sets.values())
    return [f"set {name}: {numbers.counted(counted[name], 'trial')}" for name in sorted(counted)]


def _section(
    run: Run,
    summary: ResponseSummary,
    rows: list[PublishedRow],
    groups: list[WarningGroup],
    answered: Answers,
) -> Section:
    response = summary.response
    metric = metrics.METRICS[response.metric]
    systems = {name: machine.system for name, machine in _machines(run).items()}
    measured = tables.measured(run.study, summary, groups, systems)
    return Section(
        response=summary,
        name=response.name,
        title=response.title,
        unit=response.unit,
        definition=f"{metric.title} of {response.of}: {metric.definition}",
        measured=measured,
        published=tables.published(run.study, response.name, rows),
        published_table=next((_where(row.table) for row in rows if row.response == response.name), ""),
        comparisons=tables.comparisons(run.study, summary, measured, answered.agreement),
        sentences=_sentences(run, summary, answered, groups),
    )


def _sentences(
    run: Run, summary: ResponseSummary, answered: Answers, groups: list[WarningGroup]
) -> list[str]:
    name = summary.response.name
    said = sentences.findings(run.study, answered.findings[name])
    said.append(sentences.variation(run.study, answered.variations[name]))
    said += [
        sentences.precision(run.study, each) for each in answered.precisions if each.response.name == name
    ]
    said.append(sentences.outliers(run.study, summary))
    about = [number for number, group in enumerate(groups, start=1) if name in group.responses]
    said += [f"These values as a whole are subject to {numbers.numbered(about, 'warning')}."] if about else []
    return [sentence for sentence in said if sentence]


def _where(table: str) -> str:
    """Returns a place in the source in words; a bare number is a table's."""
    return f"table {table}" if table.isdigit() else table


def _absent(summary: Summary) -> list[Absent]:
    return [
        Absent(response.response.title, reason, count)
        for response in summary.responses
        for reason, count in sum(
            (Counter(cell.absent) for cell in response.cells), Counter[str]()
        ).most_common()
    ]


def _placements(places: Mapping[tuple[str, int | None, tuple[str, ...]], int]) -> list[Placement]:
    placements = [
        Placement(
            host, "none of its own" if cpu is None else str(cpu), ", ".join(shared_with) or "nothing", count
        )
        for (host, cpu, shared_with), count in places.items()
    ]
    return sorted(placements, key=lambda place: (place.host, place.processor, place.shared_with))
