"""The document of `nettrial predict`."""

from __future__ import annotations

from typing import Literal

from nettrial.cli.documents.base import Bounds, JsonDocument, Levels, Part
from nettrial.cli.documents.calibrate import BoundBy


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


class PredictDocument(JsonDocument):
    """Predictions for MTUs that a run did not have."""

    document: Literal["predict"] = "predict"
    """The kind of document."""
    run: str
    """The run's directory."""
    models: list[MtuModel]
    """The models, one for each combination of the other factors."""
    predictions: list[Predicted]
    """The predictions."""
