"""The documents that commands print with `--json`, and the source of docs/reference/json.md.

Each document states its kind (`document`), the version of its form (`format`) and the version of nettrial.
Adding a field leaves `format` unchanged; removing a field or changing its meaning raises it."""

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
"""The direction of a change that is shown."""
Verdict = Literal["better", "worse", "none"]
"""The direction of a change that is shown, as better or worse."""
BoundBy = Literal["link", "host", "none"]
"""The limit of a transfer."""


class Part(BaseModel):
    """A part of a document."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True, populate_by_name=True)


class Document(Part):
    """A whole document."""

    format: Literal[1] = 1
    """The version of the document's form."""
    nettrial: str = nettrial.__version__
    """The version of nettrial that wrote it."""


class Trials(Part):
    """The trials of a run, counted."""

    planned: int
    """The number of planned trials."""
    finished: int
    """The number of trials that have a record."""
    failed: int
    """The number of trials that ran without giving a record."""
    warned: int
    """The number of finished trials with a warning."""


class Value(Part):
    """The values of a response under one treatment."""

    response: str
    """The response's name."""
    unit: str
    """The unit of `mean`, `median` and `interval`."""
    treatment: Levels
    """The level of each factor."""
    n: int
    """The number of trials that gave a value."""
    mean: float | None
    """The arithmetic mean; null where no trial gave a value."""
    median: float | None
    """The median; null where no trial gave a value."""
    interval: Bounds | None
    """The 95% confidence interval of the mean; null where fewer than two trials gave a value."""
    absent: dict[str, int]
    """The number of trials without a value, by reason."""


class Effect(Part):
    """The change of a response from a factor's baseline to another of its levels, averaged over the other
    factors."""

    response: str
    """The response's name."""
    factor: str
    """The factor's name."""
    baseline: str
    """The level from which the change is measured."""
    level: str
    """The level to which the change leads."""
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
    """The p-value under the hypothesis of no change, corrected for the factor's levels by Holm's method."""
    blocks: int
    """The number of blocks in which both levels gave a value."""
    shown: Shown
    """The direction of the change, if its interval excludes zero: `interval` or, where that is null or
    reaches a hundredfold, `difference_interval`."""
    verdict: Verdict | Literal["mixed"]
    """The same as better or worse: for some metrics, lower is better. `mixed` if both `rises` and `falls` are
    above 0: the change is an average of opposite changes."""
    rises: int
    """The number of combinations of the other factors' levels at which a rise is shown."""
    falls: int
    """The number of combinations of the other factors' levels at which a fall is shown."""
    absent: str | None
    """The reason why the change or its interval is absent."""


class WarningGroup(Part):
    """Warnings with the same message."""

    code: str
    """The kind of warning, such as `processor_saturated`."""
    object: str
    """The host, flow, link or response that the warning concerns."""
    message: str
    """The observation, in words."""
    consequence: str
    """The consequence for the results, in words."""
    effect: Literal["bias", "narrower", "wider", "nothing"]
    """The effect on the answer: possible bias, intervals that may be too narrow, wider intervals, or
    nothing."""
    trials: int
    """The number of trials that have the warning."""


class FailureGroup(Part):
    """Trials that failed for the same reason."""

    message: str
    """The error message."""
    trials: list[int]
    """The numbers of the failed trials."""


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
    """The seed for the trial order."""
    trials: Trials
    """The numbers of trials."""
    answer: str
    """The answer to the study's question, in words."""
    effects: list[Effect]
    """The effect of each level of each factor on each response."""
    values: list[Value]
    """The values of each response under each treatment."""
    warnings: list[WarningGroup]
    """The warnings of trials, and those derived from the run's order and values."""
    failures: list[FailureGroup]
    """The trials that failed."""
    stopping: list[str]
    """The state of the run's stopping rule, in words; empty where there is none."""
    page: str | None
    """The HTML file of the report; null if it could not be written."""


class Source(Part):
    """The publication that a study reproduces."""

    authors: str
    """Its authors."""
    title: str
    """Its title."""
    venue: str
    """The journal, conference or publisher."""
    year: int | None
    """The year, if it is known."""


class Factor(Part):
    """A factor of a study."""

    name: str
    """Its name."""
    sets: list[str]
    """The dotted paths of the settings that the factor varies."""
    levels: list[str]
    """Its levels, in order."""
    baseline: str | None
    """The level from which changes are measured, if the study names one."""


class Response(Part):
    """A response of a study."""

    name: str
    """Its name."""
    metric: str
    """The metric that it measures."""
    of: str
    """The flow, host or link at which it is measured."""
    unit: str
    """Its unit."""
    better: str
    """The direction that is better: `higher` or `lower`."""


class OrderedTrial(Part):
    """A trial of a plan."""

    trial: int
    """Its number, from 1."""
    block: int
    """The number of its block, from 1."""
    treatment: Levels
    """The level of each factor."""


class ShowDocument(Document):
    """The design of a study, without results."""

    document: Literal["show"] = "show"
    """The kind of document."""
    study: str
    """The study's name."""
    title: str
    """The study's title."""
    question: str
    """The study's question."""
    source: Source | None
    """The publication that the study reproduces; null if there is none."""
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
    commands: list[str]
    """The programs that it starts only with `--allow-exec`, as a shell reads them: commands of its own, and
    tools with arguments that can do more than shape their traffic."""
    files: list[str]
    """The files on senders that it sends only with `--allow-exec`."""
    replicates: int
    """The number of replicates of each treatment; with a stopping rule, the fewest."""
    most_replicates: int | None
    """The largest number of replicates that the stopping rule allows; null without such a rule."""
    trials: int
    """The number of trials; with a stopping rule, the fewest."""
    warm_up_trials: int
    """The number of warm-up trials, which are run first and not kept."""
    seconds: float
    """The expected duration in seconds; for a simulator, the simulated time."""
    order: list[OrderedTrial] | None
    """The trial order with `--seed`; null without it."""


class ListDocument(Document):
    """A list of registered items."""

    document: Literal["list"] = "list"
    """The kind of document."""
    list: str
    """The name of the list, such as `metrics`."""
    entries: Sequence[dict[str, str]]
    """The entries, each with its values by column name."""


class BackendState(Part):
    """The preflight of a backend."""

    backend: str
    """The backend's name."""
    can_run: bool
    """True if it can run trials on this machine."""
    missing: list[Shortfall]
    """The reasons why the backend can't run trials."""
    limits: list[Shortfall]
    """The shortfalls that do not prevent trials."""
    environment: Environment
    """The environment of this machine."""


class DoctorDocument(Document):
    """The backends that this machine supports, and what the others lack."""

    document: Literal["doctor"] = "doctor"
    """The kind of document."""
    backends: list[BackendState]
    """The backends that were checked."""


class RunState(Part):
    """A stored run."""

    run: str
    """The run's directory."""
    study: str
    """The study's name; empty if the run can't be read."""
    state: str
    """The progress of the run, in words."""
    bytes: int
    """The size of all files of the run, in bytes."""


class RunsDocument(Document):
    """The stored runs of a directory."""

    document: Literal["runs"] = "runs"
    """The kind of document."""
    runs: list[RunState]
    """The runs, in the order of their names."""


class Circumstance(Part):
    """A difference between two runs other than in their results."""

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
    """The number of trials of the first run that gave a value."""
    n_b: int
    """The number of trials of the second run that gave a value."""
    biased_a: int
    """The number of trials of the first run with a warning that may bias the response."""
    biased_b: int
    """The number of trials of the second run with a warning that may bias the response."""
    mean_a: float | None
    """The mean of the first run; null where no trial gave a value."""
    mean_b: float | None
    """The mean of the second run; null where no trial gave a value."""
    percent: float | None
    """The change in percent of the first run's value."""
    interval: Bounds | None
    """The 95% confidence interval of `percent`, which holds together with all others."""
    shown: Shown
    """The direction of the change, if its interval excludes zero."""
    verdict: Verdict
    """The same as better or worse: for some metrics, lower is better."""
    absent: str | None
    """The reason why the change or its interval is absent."""


class Judgement(Part):
    """A condition of `--fail-if` under one treatment."""

    condition: str
    """The condition."""
    treatment: Levels
    """The level of each factor."""
    holds: bool | None
    """True if the whole interval is beyond the limit, false if no part of it is; null if the interval has
    changes on both sides of the limit, or if there is none."""
    reason: str | None
    """The reason why `holds` is null."""


class CompareDocument(Document):
    """The comparison of two runs."""

    document: Literal["compare"] = "compare"
    """The kind of document."""
    a: str
    """The directory of the first run."""
    b: str
    """The directory of the second run."""
    apparatus: list[Circumstance]
    """The facts of the apparatus that differ between the runs, or whether each recorded its apparatus if one
    did not."""
    circumstances: list[Circumstance]
    """The other differences between the runs, apart from their results."""
    sessions_of_a: int
    """The number of sessions of the first run's system: with 1, intervals hold for these two sessions only,
    and nothing is known of the differences between sessions; with more (`--history`), they allow for them."""
    intervals: int
    """The number of intervals that hold together at 95% (Bonferroni)."""
    differences: list[Difference]
    """The changes of the treatments and responses that both runs have."""
    treatments_of_a: list[Levels]
    """The treatments that only the first run has."""
    treatments_of_b: list[Levels]
    """The treatments that only the second run has."""
    responses_of_a: list[str]
    """The responses that only the first run has."""
    responses_of_b: list[str]
    """The responses that only the second run has."""
    conditions: list[Judgement]
    """The conditions of `--fail-if`, with the outcome for each treatment."""


class SessionMean(Part):
    """The mean of a response under a treatment over sessions."""

    response: str
    """The response's name."""
    unit: str
    """The response's unit."""
    treatment: Levels
    """The level of each factor."""
    means: list[float | None]
    """The mean of each session, in the order of `runs`; null without a value."""
    mean: float | None
    """The mean of the sessions' means."""
    interval: Bounds | None
    """The 95% interval of the mean over all sessions, by Student's t over sessions."""
    one_more: Bounds | None
    """The interval that contains the mean of one more session with a probability of 95%."""


class SessionChange(Part):
    """The change that a level makes, over sessions."""

    response: str
    """The response's name."""
    factor: str
    """The factor's name."""
    level: str
    """The level."""
    against: str
    """The factor's baseline."""
    at: Levels | None
    """The levels of the other factors that have several; null for the average over all of them."""
    percent: float | None
    """The change in percent; null without a ratio."""
    interval: Bounds | None
    """The interval in percent that holds together with those of all places of the factor at 95%."""
    one_more: Bounds | None
    """The interval that contains the change of one more session with a probability of 95%."""
    absent: str | None
    """The reason why the change, or its interval, is absent."""


class SessionVariance(Part):
    """The origin of the variance of one value of a response."""

    response: str
    """The response's name."""
    session: float
    """The share of 1 of differences between sessions that all treatments have in common."""
    treatment_by_session: float
    """The share of differences between sessions that treatments do not have in common."""
    block: float
    """The share of differences between the blocks of a session."""
    residual: float
    """The remaining share: differences between trials of one treatment and session."""
    deviation: float
    """The standard deviation of one value, in percent of it or, if a value is 0 or less, in the response's
    unit. The half-widths have the same unit."""
    half_width: float
    """The expected half-width of the interval of a mean with the sessions and blocks of these runs."""
    half_width_twice_sessions: float
    """The expected half-width with twice the sessions."""
    half_width_twice_blocks: float
    """The expected half-width with twice the blocks in each session."""


class PoolDocument(Document):
    """Several runs of one study, each as one session."""

    document: Literal["pool"] = "pool"
    """The kind of document."""
    study: str
    """The study's name."""
    runs: list[str]
    """The directory of each run."""
    blocks: int
    """The number of blocks of the run that has the fewest."""
    means: list[SessionMean]
    """The mean of each response under each treatment."""
    changes: list[SessionChange]
    """The changes of each factor, over all places and at each."""
    variance: list[SessionVariance]
    """The origin of the variance of each response; empty without complete blocks in two sessions."""


class ModelFit(Part):
    """The fit of one response."""

    response: str
    """The response's name."""
    bound_by: BoundBy
    """The limit of the transfer; `none` for CPU time."""
    fitted: str
    """The fitted law, in words."""
    errors_held_out_percent: dict[str, float]
    """The error in percent at each MTU when the others predict it, by the MTU in bytes."""


class MtuModel(Part):
    """The model of the treatments that differ only in the MTU."""

    others: Levels
    """The levels of the other factors."""
    header_bytes: int
    """The size of the IP and transport headers of a full packet, in bytes."""
    rate_mbps: float | None
    """The line rate of the slowest link in Mbit/s; null if no link has a rate."""
    fits: list[ModelFit]
    """The fits of the responses."""
    absent: dict[str, str]
    """The reasons why a response has no model, by response."""


class Predicted(Part):
    """The prediction of a response at an MTU."""

    others: Levels
    """The levels of the other factors."""
    mtu_bytes: int
    """The MTU in bytes."""
    response: str
    """The response's name."""
    unit: str
    """The unit of `value` and `interval`."""
    value: float | None
    """The predicted value; null if there is none."""
    interval: Bounds | None
    """The 95% confidence interval of the mean of a treatment with that MTU, provided that the model holds
    there."""
    notes: list[str]
    """Notes: the limit of the transfer, an MTU outside the measured range, or the reason why there is no
    prediction."""


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
    """The number of repeats that gave a value."""
    mean: float | None
    """The arithmetic mean."""
    median: float | None
    """The median."""
    deviation: float | None
    """The standard deviation."""
    interval: Bounds | None
    """The 95% confidence interval of the mean; null for a single repeat."""


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
    """The command, as it was given."""
    seed: int
    """The seed of the random numbers."""
    metrics: list[Measured]
    """The metrics of all streams together over all repeats; the goodput, for example, is their bytes over the
    union of their times."""
    streams: list[Stream]
    """The streams; a single one without `--parallel`."""
    records: list[dict[str, Any]]
    """The record of each repeat, as described in the [reference of records](documents.md#record)."""


class DirectedMeasured(Measured):
    """A metric in one direction over the repeats of a measurement with another program."""

    direction: str
    """The direction: `download` or `upload`; of STAMP `round trip`, `forward` or `backward`."""


class AbsentMetric(Part):
    """A metric that some repeats did not give."""

    direction: str
    """The direction."""
    metric: str
    """The metric's name."""
    reason: str
    """The reason."""
    repeats: int
    """The number of repeats for which it holds."""


class Observed(Part):
    """A warning of a measurement with another program."""

    message: str
    """The observation and its consequence, in words."""
    repeats: int
    """The number of repeats that have the warning."""


class PeerDocument(Document):
    """A measurement with another program."""

    command: str
    """The command, as it was given."""
    server: str
    """The server's address with its port."""
    metrics: list[DirectedMeasured]
    """The metrics over all repeats."""
    absent: list[AbsentMetric]
    """The metrics that could not be measured, with the reasons."""
    warnings: list[Observed]
    """The warnings."""


class Ndt7Transfer(Part):
    """A download or an upload of an ndt7 test."""

    num_bytes: int
    """The number of bytes of messages that this machine received (download), or handed to its kernel
    (upload)."""
    elapsed_us: int
    """The time from the end of the WebSocket handshake to the last of these bytes, in microseconds."""
    ended: str | None
    """The reason why the connection ended abruptly; null for an orderly end."""
    tls: str | None
    """The version of TLS and the cipher; null without TLS."""
    congestion_control: str | None
    """The congestion control of this machine's end; null where the system does not tell."""
    busy_percent: float
    """The CPU time of nettrial, in percent of the duration."""
    kernel: dict[str, Any] | None
    """The last figures of this machine's kernel, with the names of `TCPInfo` in ndt7's specification; null
    where the system has none."""
    messages: list[dict[str, Any]]
    """The server's measurement messages, with the names of ndt7's specification."""


class Ndt7Repeat(Part):
    """An ndt7 test."""

    download: Ndt7Transfer
    """Its download."""
    upload: Ndt7Transfer
    """Its upload."""


class Ndt7Document(PeerDocument):
    """A measurement with an ndt7 server."""

    document: Literal["measure-ndt7"] = "measure-ndt7"
    """The kind of document."""
    repeats: list[Ndt7Repeat]
    """The tests."""


class StampEstimate(Part):
    """An estimate of the error of timestamps (RFC 4656, 4.1.2)."""

    synchronised: bool
    """True if the clock is synchronised to UTC, as far as its system knows."""
    seconds: float
    """The estimated error."""


class StampAnswer(Part):
    """An answer to a test packet. Times are in nanoseconds since 1970, each by the clock of the machine that
    took it."""

    number: int
    """The packet's number, from 0."""
    reflector_number: int
    """The reflector's own number."""
    sent_ns: int
    """The time at which this machine sent the packet (T1)."""
    received_ns: int
    """The time at which it arrived at the reflector (T2)."""
    reflected_ns: int
    """The time at which the reflector sent the answer (T3)."""
    arrived_ns: int
    """The time at which the answer arrived (T4)."""
    ttl: int
    """The TTL or hop limit with which the packet arrived at the reflector, of 255; 0 where it does not
    tell."""


class StampRepeat(Part):
    """A session of test packets."""

    sent: int
    """The number of packets sent."""
    foreign: int
    """The number of packets that arrived and are no answers."""
    kernel_departures: bool
    """True if `sent_ns` is the time by the kernel; else that by nettrial, before it sent the packet."""
    kernel_arrivals: bool
    """True if `arrived_ns` is the time by the kernel; else that at which nettrial was told."""
    own_estimate: StampEstimate
    """This machine's estimate of its error."""
    reflector_estimate: StampEstimate
    """The reflector's estimate of its error, in the last answer."""
    answers: list[StampAnswer]
    """The answers in order of arrival, with duplicates."""


class StampDocument(PeerDocument):
    """A measurement with a STAMP or TWAMP Light reflector."""

    document: Literal["measure-stamp"] = "measure-stamp"
    """The kind of document."""
    repeats: list[StampRepeat]
    """The sessions."""


class PairsOfNodes(Part):
    """The shortest paths between every two nodes of a kind, in links."""

    pairs: dict[int, int]
    """The number of pairs by path length."""
    mean: float
    """The mean path length."""
    diameter: int
    """The longest path length."""


class EqualPaths(Part):
    """The number of shortest paths between two switches, over all connected pairs: the paths among which
    equal-cost multipath routing (ECMP) chooses."""

    mean: float
    """The mean number of paths."""
    several: float
    """The share of pairs with more than one path, from 0 to 1."""
    most: int
    """The largest number of paths of a pair."""


class Bisection(Part):
    """The number of links that must be cut to split the switches into two halves."""

    at_least: int
    """The lower bound, from the spectrum."""
    at_most: int
    """The best cut that was found."""
    per_host: float
    """`at_most` divided by the number of hosts in a half: 1 or more is full bisection bandwidth, if all links
    have the same rate."""


class Spectrum(Part):
    """The eigenvalues of the switches' adjacency matrix."""

    second: float
    """The second largest eigenvalue."""
    gap: float
    """The largest eigenvalue less the second largest."""
    bound: float
    """The lower bound of the second largest eigenvalue in large regular graphs."""


class DrawDocument(Document):
    """The properties of a topology, or of the network of a study's first treatment."""

    document: Literal["draw"] = "draw"
    """The kind of document."""
    topology: str | None
    """The topology's name; null for a study."""
    parameters: dict[str, Any] | None
    """The topology's parameters; null for a study."""
    study: str | None
    """The study's name; null for a topology."""
    switches: int
    """The number of routers and switches."""
    hosts: int
    """The number of hosts."""
    host_links: int
    """The number of links with a host at one end."""
    fabric_links: int
    """The number of links between switches."""
    fewest_links: int
    """The smallest number of links from a switch to other switches."""
    most_links: int
    """The largest number of links from a switch to other switches."""
    between_hosts: PairsOfNodes | None
    """The paths between hosts; null if no two are connected."""
    between_switches: PairsOfNodes | None
    """The paths between switches; null if no two are connected."""
    equal_paths: EqualPaths | None
    """The equal shortest paths; null if no two switches are connected."""
    bisection: Bisection | None
    """The bisection; null if no two switches are connected."""
    spectrum: Spectrum | None
    """The spectrum; null if no two switches are connected."""


class HeldOut(Part):
    """The error of the predicted CPU time at a level that was left out of the fit."""

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
    """The number of trials that the fit uses."""
    busy_us: float
    """The CPU time in microseconds."""
    busy_percent: float
    """The CPU time in percent of the trial's duration."""
    packets: float
    """The number of packets sent and received."""
    kilobytes: float
    """The number of kilobytes sent and received."""


class CostFit(Part):
    """The costs of packets on one host."""

    host: str
    """The host's name."""
    per_packet_us: float
    """The CPU time for each packet in microseconds."""
    per_kilobyte_us: float
    """The CPU time for each 1000 bytes in microseconds."""
    per_packet_interval_us: Bounds | None
    """The 95% confidence interval of `per_packet_us`; null if there are too few treatments."""
    per_kilobyte_interval_us: Bounds | None
    """The 95% confidence interval of `per_kilobyte_us`; null if there are too few treatments."""
    r_squared: float | None
    """The coefficient of determination; null if it is undefined."""
    errors_held_out_percent: list[HeldOut]
    """The error of the prediction at each level that can be left out of the fit."""
    treatments: list[WorkOfTreatment]
    """The treatments that the fit is based on."""
    cautions: list[str]
    """Reasons to doubt the fit, in words."""


class CalibrateDocument(Document):
    """The costs of packets on the hosts of a run, for the simulator."""

    document: Literal["calibrate"] = "calibrate"
    """The kind of document."""
    run: str
    """The run's directory."""
    trials_left_out: list[int]
    """The numbers of the trials during which other processes ran."""
    fits: list[CostFit]
    """The costs of each host."""
    absent: dict[str, str]
    """The reason why a host has no costs, by the host's name."""
    warnings: list[str]
    """The warnings of the run, in words."""
    hosts: dict[str, dict[str, dict[str, str]]]
    """The costs in the form of the `hosts` of a study file."""


class ServeDocument(Document):
    """The address of the server, printed on one line when it is listening."""

    document: Literal["serve"] = "serve"
    """The kind of document."""
    address: str
    """The address with its port, such as `0.0.0.0:5210`."""
    port: int
    """The port number."""
    token: str | None
    """The generated token; null if one was given, and with other programs' protocols."""


DOCUMENTS: tuple[type[Document], ...] = (
    ReportDocument,
    ShowDocument,
    ListDocument,
    DoctorDocument,
    RunsDocument,
    CompareDocument,
    PredictDocument,
    MeasureDocument,
    Ndt7Document,
    StampDocument,
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
    """Returns the lower and the upper end of an interval."""
    return None if interval is None else [interval.low, interval.high]


def judged(shown: int, better: str) -> tuple[Shown, Verdict]:
    """Returns the direction of a change from its sign, and its verdict if the direction `better` is
    better."""
    if shown == 0:
        return "none", "none"
    direction: Shown = "higher" if shown > 0 else "lower"
    return direction, "better" if direction == better else "worse"
