"""The document of `nettrial run` and `nettrial report`."""

from __future__ import annotations

from typing import Literal

from nettrial.cli.documents.base import (
    Bounds,
    Condition,
    Detectable,
    JsonDocument,
    Levels,
    Part,
    Shown,
    Verdict,
)


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
    reruns: int | None
    """The number of attempts that were repeated because something else disturbed them, and that no figure
    includes; null in simulated time and for measurements, which are not repeated."""


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
    verdict: Verdict
    """The same as better or worse: for some metrics, lower is better. `small` if the change is known to be
    smaller than the response's `smallest_effect`; `mixed` if both `rises` and `falls` are above 0: the change
    is an average of opposite changes."""
    detectable: Detectable | None
    """The change that would have been shown with a probability of 80%; null where one is shown, and where the
    interval does not say that."""
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


class ReportDocument(JsonDocument):
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
    conditions: list[Condition]
    """The conditions of `nettrial run --fail-if`; empty for a run that is not whole, and with `report`."""
    page: str | None
    """The HTML file of the report; null if it could not be written."""
