"""The document of `nettrial run --dry-run`."""

from __future__ import annotations

from typing import Literal

from nettrial.cli.documents.base import JsonDocument, Levels, Part


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


class DesignDocument(JsonDocument):
    """The design of a study, without results."""

    document: Literal["design"] = "design"
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
