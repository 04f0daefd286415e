"""The document of `nettrial pool`."""

from __future__ import annotations

from typing import Literal

from nettrial.cli.documents.base import Bounds, Condition, JsonDocument, Levels, Part


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


class PoolDocument(JsonDocument):
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
    conditions: list[Condition]
    """The conditions of `nettrial run --sessions --fail-if`, judged by the means over sessions."""
    variance: list[SessionVariance]
    """The origin of the variance of each response; empty without complete blocks in two sessions."""
