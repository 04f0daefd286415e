"""The document of `nettrial compare`."""

from __future__ import annotations

from typing import Literal

from nettrial.cli.documents.base import Bounds, Detectable, JsonDocument, Levels, Part, Shown, Verdict


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
    """The same as better or worse: for some metrics, lower is better. `small` if the change is known to be
    smaller than the response's `smallest_effect`."""
    detectable: Detectable | None
    """The change that would have been shown with a probability of 80%; null where one is shown, and where the
    interval does not say that."""
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


class CompareDocument(JsonDocument):
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
