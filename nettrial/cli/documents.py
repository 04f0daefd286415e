"""The documents that commands print with `--json`: docs/reference/json.md has them, made from here.

Each names itself (`document`), the version of its form (`format`) and nettrial's. A field that is added
leaves `format` as it is; one that is taken away or means something else raises it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, Field

import nettrial
from nettrial.scenario import Environment, Shortfall

Levels = dict[str, str]
"""The level of each factor, by the factor's name."""
Bounds = Annotated[list[float], Field(min_length=2, max_length=2)]
"""The ends of an interval: the lower, then the upper."""
Shown = Literal["higher", "lower", "none"]
Verdict = Literal["better", "worse", "none"]
BoundBy = Literal["link", "host", "none"]


class Part(BaseModel):
    """A part of a document."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, populate_by_name=True)


class Document(Part):
    """A document of its own."""

    format: Literal[1] = 1
    """The version of the document's form."""
    nettrial: str = nettrial.__version__
    """The version of nettrial that wrote it."""


class Trials(Part):
    """The trials of a run, counted."""

    planned: int
    """Trials of the plan."""
    finished: int
    """Trials that have a record."""
    failed: int
    """Trials that were tried and have none."""
    warned: int
    """Finished trials that carry a warning."""


class Value(Part):
    """A response under one treatment."""

    response: str
    """The response's name."""
    unit: str
    """The unit of `mean`, `median` and `interval`."""
    treatment: Levels
    """The level of each factor."""
    n: int
    """Trials that gave a value."""
    mean: float | None
    """The arithmetic mean; null where no trial gave a value."""
    median: float | None
    """The median; null where no trial gave a value."""
    interval: Bounds | None
    """The 95% confidence interval of the mean; null where fewer than two trials gave a value."""
    absent: dict[str, int]
    """The number of trials that gave no value, by the reason."""


class Effect(Part):
    """The change of a response from a factor's baseline to another of its levels, over all else that
    varies."""

    response: str
    """The response's name."""
    factor: str
    """The factor's name."""
    baseline: str
    """The level that the change is from."""
    level: str
    """The level that the change is to."""
    percent: float | None
    """The change in percent of the baseline; null where a value of 0 or less allows no ratio."""
    interval: Bounds | None
    """The 95% confidence interval of `percent`, which holds together with those of the factor's other
    levels."""
    difference: float | None
    """The change in the response's unit."""
    difference_interval: Bounds | None
    """The 95% confidence interval of `difference`, which holds together with those of the factor's other
    levels."""
    unit: str
    """The unit of `difference`."""
    p_value: float | None
    """The p-value of no change, corrected for the factor's levels by Holm's method."""
    blocks: int
    """Blocks in which both sides gave a value."""
    shown: Shown
    """The direction, where the interval excludes no change."""
    verdict: Verdict
    """The same in terms of the metric, some of which are better when they are low."""
    absent: str | None
    """Why the change, or its interval, is absent."""


class WarningGroup(Part):
    """Warnings that say the same."""

    code: str
    """The kind of warning, such as `processor_saturated`."""
    object: str
    """The host, flow, link or response that it is about."""
    message: str
    """The observation."""
    consequence: str
    """The consequence for the results, in words."""
    effect: Literal["bias", "wider", "nothing"]
    """The harm to the answer: possible bias, wider intervals, or nothing."""
    trials: int
    """The number of trials that carry it."""


class FailureGroup(Part):
    """Trials that failed alike."""

    message: str
    """The fault."""
    trials: list[int]
    """The numbers of the trials."""


class ReportDocument(Document):
    """The results of a run, so far."""

    document: Literal["report"] = "report"
    """The kind of document."""
    run: str
    """The run's directory."""
    study: str
    """The study's name."""
    title: str
    """The study's title."""
    question: str
    """The study's question."""
    command: str
    """The command that makes the same run."""
    backend: str
    """The backend that ran the trials."""
    seed: int
    """Seed of the order of trials."""
    trials: Trials
    """The trials, counted."""
    answer: str
    """The answer to the study's question, in words."""
    effects: list[Effect]
    """The change that each level of each factor makes to each response."""
    values: list[Value]
    """The responses under each treatment."""
    warnings: list[WarningGroup]
    """The warnings of trials, and those that follow from the run's order and values."""
    failures: list[FailureGroup]
    """The trials that failed."""
    stopping: list[str]
    """The state of the run's stopping rule, in words; empty where there is none."""
    page: str
    """The file of the report for browsers."""


class Source(Part):
    """The publication that a study repeats."""

    authors: str
    """Its authors."""
    title: str
    """Its title."""
    venue: str
    """The journal, conference or publisher."""
    year: int | None
    """The year, where it is known."""


class Factor(Part):
    """A factor of a study."""

    name: str
    """Its name."""
    sets: list[str]
    """The dotted paths of the settings that it sets."""
    levels: list[str]
    """Its levels, in their order."""
    baseline: str | None
    """The level that changes are from, where the study names one."""


class Response(Part):
    """A response of a study."""

    name: str
    """Its name."""
    metric: str
    """The metric that it is of."""
    of: str
    """The flow, host or link that it is measured at."""
    unit: str
    """Its unit."""
    better: str
    """The better direction: `higher` or `lower`."""


class OrderedTrial(Part):
    """A trial of a plan."""

    trial: int
    """Its number, from 1."""
    block: int
    """The number of its block, from 1."""
    treatment: Levels
    """The level of each factor."""


class ShowDocument(Document):
    """The design of a study. Nothing is run."""

    document: Literal["show"] = "show"
    """The kind of document."""
    study: str
    """The study's name."""
    title: str
    """The study's title."""
    question: str
    """The study's question."""
    source: Source | None
    """The publication that it repeats; null where it repeats none."""
    backend: str
    """The backend that would run the trials."""
    changed: dict[str, str]
    """The settings that `--full` changes, by their dotted paths."""
    factors: list[Factor]
    """The factors."""
    treatments: list[Levels]
    """The treatments."""
    responses: list[Response]
    """The responses."""
    replicates: int
    """Replicates of each treatment; with a stopping rule the fewest."""
    most_replicates: int | None
    """The most replicates under the stopping rule; null where there is none."""
    trials: int
    """The number of trials; with a stopping rule the fewest."""
    warm_up_trials: int
    """Trials before the first, which are not kept."""
    seconds: float
    """The expected time; with a simulator the time that is simulated."""
    order: list[OrderedTrial] | None
    """The order of trials with `--seed`; null without."""


class ListDocument(Document):
    """A list of registered things."""

    document: Literal["list"] = "list"
    """The kind of document."""
    list: str
    """The name of the list, such as `metrics`."""
    entries: Sequence[dict[str, str]]
    """The entries, each by the columns of the table."""


class BackendState(Part):
    """The preflight of a backend."""

    backend: str
    """The backend's name."""
    can_run: bool
    """True if it can run trials on this machine."""
    missing: list[Shortfall]
    """The reasons why it can't."""
    limits: list[Shortfall]
    """The shortfalls that it can do without."""
    environment: Environment
    """The machine."""


class DoctorDocument(Document):
    """The backends that this machine supports, and what is missing."""

    document: Literal["doctor"] = "doctor"
    """The kind of document."""
    backends: list[BackendState]
    """The backends that were looked at."""


class RunState(Part):
    """A stored run."""

    run: str
    """The run's directory."""
    study: str
    """The study's name; empty where the run can't be read."""
    state: str
    """The progress, in words."""
    bytes: int
    """The size of all its files."""


class RunsDocument(Document):
    """The stored runs of a directory."""

    document: Literal["runs"] = "runs"
    """The kind of document."""
    runs: list[RunState]
    """The runs, by name."""


class Circumstance(Part):
    """A difference between two runs beside their results."""

    name: str
    """Its name, such as `kernel`."""
    a: str
    """Its value in the first run."""
    b: str
    """Its value in the second run."""


class Difference(Part):
    """The change of a response under one treatment, from the first run to the second."""

    response: str
    """The response's name."""
    unit: str
    """The unit of the means."""
    treatment: Levels
    """The level of each factor."""
    n_a: int
    """Trials of the first run that gave a value."""
    n_b: int
    """Trials of the second run that gave a value."""
    mean_a: float | None
    """The mean of the first run; null where no trial gave a value."""
    mean_b: float | None
    """The mean of the second run; null where no trial gave a value."""
    percent: float | None
    """The change in percent of the first run's value."""
    interval: Bounds | None
    """The 95% confidence interval of `percent`, which holds together with all others."""
    shown: Shown
    """The direction, where the interval excludes no change."""
    verdict: Verdict
    """The same in terms of the metric, some of which are better when they are low."""
    absent: str | None
    """Why the change, or its interval, is absent."""


class Judgement(Part):
    """A condition of `--fail-if` under one treatment."""

    condition: str
    """The condition."""
    treatment: Levels
    """The level of each factor."""
    holds: bool | None
    """True if the change is beyond it; null where it can't be judged."""


class CompareDocument(Document):
    """Two runs beside each other."""

    document: Literal["compare"] = "compare"
    """The kind of document."""
    a: str
    """The directory of the first run."""
    b: str
    """The directory of the second run."""
    circumstances: list[Circumstance]
    """The differences beside the results."""
    intervals: int
    """The number of intervals that hold together at 95% (Bonferroni)."""
    differences: list[Difference]
    """The treatments and responses that both runs have."""
    treatments_of_a: list[Levels]
    """The treatments of the first run alone."""
    treatments_of_b: list[Levels]
    """The treatments of the second run alone."""
    responses_of_a: list[str]
    """The responses of the first run alone."""
    responses_of_b: list[str]
    """The responses of the second run alone."""
    conditions: list[Judgement]
    """The conditions of `--fail-if`, judged."""


class ModelFit(Part):
    """A fit of one response."""

    response: str
    """The response's name."""
    bound_by: BoundBy
    """The bound of the transfer; of CPU time `none`."""
    fitted: str
    """The fitted law, in words."""
    errors_held_out_percent: dict[str, float]
    """The error on each MTU when the others predict it, by the MTU in bytes."""


class MtuModel(Part):
    """The model of the treatments that differ in the MTU alone."""

    others: Levels
    """The levels of the other factors."""
    header_bytes: int
    """IP and transport headers of a full packet."""
    rate_mbps: float | None
    """The line rate of the slowest link in Mbit/s; null where no link has one."""
    fits: list[ModelFit]
    """The fits."""
    absent: dict[str, str]
    """The reasons why a response has no model, by response."""


class Predicted(Part):
    """A response at an MTU."""

    others: Levels
    """The levels of the other factors."""
    mtu_bytes: int
    """The MTU."""
    response: str
    """The response's name."""
    unit: str
    """The unit of `value` and `interval`."""
    value: float | None
    """The prediction; null where there is none."""
    interval: Bounds | None
    """The interval that holds the mean of a treatment with that MTU at 95%, if the model holds there."""
    notes: list[str]
    """The bound of it, whether it is outside the MTUs that were run, or why there is none."""


class PredictDocument(Document):
    """Predictions for MTUs that a run did not have."""

    document: Literal["predict"] = "predict"
    """The kind of document."""
    run: str
    """The run's directory."""
    models: list[MtuModel]
    """The models, one for each combination of the other factors."""
    predictions: list[Predicted]
    """The predictions."""


class Measured(Part):
    """A metric over the repeats of a measurement."""

    metric: str
    """The metric's name."""
    unit: str
    """Its unit."""
    repeats: int
    """Repeats that gave a value."""
    mean: float | None
    """The arithmetic mean."""
    median: float | None
    """The median."""
    deviation: float | None
    """The standard deviation."""
    interval: Bounds | None
    """The 95% confidence interval of the mean; null where there is one repeat."""


class Stream(Part):
    """One of the streams of a measurement."""

    flow: str
    """The name of its flow in the records."""
    metrics: list[Measured]
    """The metrics of this stream over all repeats."""


class MeasureDocument(Document):
    """A measurement between this machine and another."""

    document: Literal["measure"] = "measure"
    """The kind of document."""
    command: str
    """The command as it was given."""
    seed: int
    """Seed of the random numbers."""
    metrics: list[Measured]
    """The metrics of all streams together, over all repeats: goodputs, for example, are added."""
    streams: list[Stream]
    """Each stream; one without `--parallel`."""
    records: list[dict[str, Any]]
    """The record of each repeat, as the [reference of records](documents.md#record) has it."""


class PairsOfNodes(Part):
    """The shortest paths between each two nodes of a kind, in links."""

    pairs: dict[int, int]
    """The number of pairs, by the length of their path."""
    mean: float
    """The mean length."""
    diameter: int
    """The longest of the lengths."""


class EqualPaths(Part):
    """The shortest paths between two switches, over each two that a path joins: those that routing by equal
    cost (ECMP) can choose from."""

    mean: float
    """The mean number of paths."""
    several: float
    """The share of pairs with more than one path, from 0 to 1."""
    most: int
    """The most paths of a pair."""


class Bisection(Part):
    """The number of links to cut to part the switches into two halves."""

    at_least: int
    """The lower bound, by the spectrum."""
    at_most: int
    """The best cut that was found."""
    per_host: float
    """`at_most` for each host of a half: 1 or more is full bisection, where all links have the same rate."""


class Spectrum(Part):
    """Eigenvalues of the adjacency matrix of the switches."""

    second: float
    """The second largest eigenvalue."""
    gap: float
    """The largest eigenvalue less the second largest."""
    bound: float
    """The bound below which the second largest can't stay in large regular graphs."""


class DrawDocument(Document):
    """The facts of a topology, or of the network of a study's first treatment."""

    document: Literal["draw"] = "draw"
    """The kind of document."""
    topology: str | None
    """The topology's name; null for a study."""
    parameters: dict[str, Any] | None
    """The topology's parameters; null for a study."""
    study: str | None
    """The study's name; null for a topology."""
    switches: int
    """Routers and switches."""
    hosts: int
    """Hosts."""
    host_links: int
    """Links with a host at one end."""
    fabric_links: int
    """Links between switches."""
    fewest_links: int
    """The fewest links of a switch to others."""
    most_links: int
    """The most links of a switch to others."""
    between_hosts: PairsOfNodes | None
    """Paths between hosts; null where no two are joined."""
    between_switches: PairsOfNodes | None
    """Paths between switches; null where no two are joined."""
    equal_paths: EqualPaths | None
    """Equal shortest paths; null where no two switches are joined."""
    bisection: Bisection | None
    """The bisection; null where no two switches are joined."""
    spectrum: Spectrum | None
    """The spectrum; null where no two switches are joined."""


class HeldOut(Part):
    """The error in the CPU time at a level that the fit did not see."""

    factor: str
    """The factor's name."""
    level: str
    """The level."""
    error: float
    """The error in percent."""


class WorkOfTreatment(Part):
    """The work of a host under one treatment, as means over its trials."""

    treatment: Levels
    """The level of each factor."""
    trials: int
    """Trials that count."""
    busy_us: float
    """CPU time in use, microseconds."""
    busy_percent: float
    """The same in percent of the trial."""
    packets: float
    """Packets sent and received."""
    kilobytes: float
    """Kilobytes sent and received."""


class CostFit(Part):
    """The costs of packets on one host."""

    host: str
    """The host's name."""
    per_packet_us: float
    """CPU time for each packet, microseconds."""
    per_kilobyte_us: float
    """CPU time for each 1000 bytes, microseconds."""
    per_packet_interval_us: Bounds | None
    """The 95% confidence interval of `per_packet_us`; null where too few treatments allow none."""
    per_kilobyte_interval_us: Bounds | None
    """The 95% confidence interval of `per_kilobyte_us`; null where too few treatments allow none."""
    r_squared: float | None
    """The coefficient of determination; null where it is not defined."""
    errors_held_out_percent: list[HeldOut]
    """The error at each level that can be left out of the fit."""
    treatments: list[WorkOfTreatment]
    """The treatments that the fit rests on."""
    cautions: list[str]
    """Reasons to doubt the fit, in words."""


class CalibrateDocument(Document):
    """The costs of packets on the hosts of a run, for the simulator."""

    document: Literal["calibrate"] = "calibrate"
    """The kind of document."""
    run: str
    """The run's directory."""
    trials_left_out: list[int]
    """The numbers of the trials beside which other processes worked."""
    fits: list[CostFit]
    """The costs of each host."""
    absent: dict[str, str]
    """The reason for which a host has no costs, by the host's name."""
    warnings: list[str]
    """The warnings of the run, in words."""
    hosts: dict[str, dict[str, dict[str, str]]]
    """The costs as the `hosts` of a study file have them."""


class ServeDocument(Document):
    """The address that is served, printed on one line when it is open."""

    document: Literal["serve"] = "serve"
    """The kind of document."""
    address: str
    """The address with its port, such as `0.0.0.0:5210`."""
    port: int
    """The port."""
    token: str | None
    """The token that was made; null where one was given, and with `--iperf3`."""


DOCUMENTS: tuple[type[Document], ...] = (
    ReportDocument,
    ShowDocument,
    ListDocument,
    DoctorDocument,
    RunsDocument,
    CompareDocument,
    PredictDocument,
    MeasureDocument,
    ServeDocument,
    DrawDocument,
    CalibrateDocument,
)
"""Every document, in the order of the reference."""


def show(document: Document) -> None:
    """Prints a document on standard output."""
    print(document.model_dump_json(indent=2, by_alias=True))


class _Interval(Protocol):
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...


def bounds(interval: _Interval | None) -> list[float] | None:
    """Returns the ends of an interval."""
    return None if interval is None else [interval.low, interval.high]


def judged(shown: int, better: str) -> tuple[Shown, Verdict]:
    """Returns the direction of a change by its sign, and what it is worth where `better` is better."""
    if shown == 0:
        return "none", "none"
    direction: Shown = "higher" if shown > 0 else "lower"
    return direction, "better" if direction == better else "worse"
