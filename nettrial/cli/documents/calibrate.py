"""The document of `nettrial calibrate`."""

from __future__ import annotations

from typing import Literal

from nettrial.cli.documents.base import Bounds, JsonDocument, Levels, Part

BoundBy = Literal["link", "host", "none"]
"""The limit of a transfer."""


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


class CalibrateDocument(JsonDocument):
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
