"""Predictions for an MTU that was not run, by the model of those that were."""

from __future__ import annotations

import math
from dataclasses import dataclass

from nettrial.analysis.intervals import Interval
from nettrial.analysis.model import BITS_PER_KILOBYTE, Model
from nettrial.analysis.mtu_fits import Fit, PayloadCost, efficiency
from nettrial.analysis.summary import Levels
from nettrial.store import Run


@dataclass(frozen=True)
class Prediction:
    """The prediction of a response at an MTU."""

    others: Levels
    """The levels of the other factors."""
    mtu_bytes: int
    """The MTU in bytes."""
    response: str
    """The response's name."""
    unit: str
    """The unit of the value."""
    value: float | None
    """The predicted mean; None if there is no prediction."""
    interval: Interval | None
    """The interval of the mean of a treatment with this MTU at `CONFIDENCE`, provided that the model holds
    there."""
    notes: tuple[str, ...]
    """Notes: the limit of the transfer, an MTU outside the measured range, or the reason why there is no
    prediction."""


def predict(run: Run, model: Model, mtu_bytes: int) -> list[Prediction]:
    """Returns the model's predictions for all responses at an MTU."""
    made = []
    for response in run.study.responses:
        if response.metric not in ("goodput", "service_demand"):
            continue
        name = response.name
        value: float | None = None
        interval: Interval | None = None
        notes = [model.absent[name]] if name in model.absent else []
        if not notes and response.metric == "service_demand":
            value, interval, notes = _of_host(model.hosts[name], mtu_bytes)
        elif not notes:
            value, interval, notes = _goodput(model, name, mtu_bytes)
        made.append(Prediction(model.others, mtu_bytes, name, response.unit, value, interval, tuple(notes)))
    return made


Predicted = tuple[float | None, Interval | None, list[str]]
"""A predicted value with its interval and notes."""
Limit = tuple[float, Interval | None, list[str]]
"""A limit with its interval and notes."""


def _of_host(cost: PayloadCost, mtu_bytes: int) -> Limit:
    value, interval = cost.at(mtu_bytes)
    notes = _outside(cost, mtu_bytes)
    notes += [f"{name} is 0: the model may not describe this host" for name in cost.cost.zeros]
    return value, interval and Interval(max(interval.low, 0.0), interval.high), notes


def _goodput(model: Model, name: str, mtu_bytes: int) -> Predicted:
    """Returns the smallest of the limits set by the link and the hosts."""
    limits: list[Limit] = []
    wire, transfer = model.wires.get(name), model.transfers.get(name)
    most = model.rate_mbps and model.rate_mbps * efficiency(mtu_bytes, model.header_bytes)
    if wire is not None and most:
        value, interval = wire.at(mtu_bytes)
        held = interval and Interval(min(interval.low, most), min(interval.high, most))
        limits.append((min(value, most), held, ["the link is the limit", *_outside(wire, mtu_bytes)]))
    elif most:
        limits.append((most, None, ["the link is the limit: this is an upper bound"]))
    costs = {"": transfer} if transfer is not None else model.hosts
    for host, cost in costs.items():
        value, interval, notes = _inverse(cost, mtu_bytes)
        by = f"the host is the limit, from {host}" if host else "the host is the limit"
        limits.append((value, interval, [by, *notes]))
    linked = [mtu for mtu, bound in model.bounds[name].items() if bound == "link"]
    if not costs and len(linked) < len(model.bounds[name]) and mtu_bytes < min(linked, default=math.inf):
        return (
            None,
            None,
            ["the host is the limit there, and its cost is unknown: there is no service demand"],
        )
    if not limits:
        return None, None, ["no limit of it could be fitted"]
    return min(limits, key=lambda limit: limit[0])


def _inverse(cost: PayloadCost, mtu_bytes: int) -> Limit:
    """Returns the goodput in Mbit/s at which a host with that cost of a kilobyte is saturated."""
    value, interval, notes = _of_host(cost, mtu_bytes)
    if interval is None or interval.low <= 0:
        notes.append("no interval: the cost may be as low as 0")
        return BITS_PER_KILOBYTE / value, None, notes
    bounds = Interval(BITS_PER_KILOBYTE / interval.high, BITS_PER_KILOBYTE / interval.low)
    return BITS_PER_KILOBYTE / value, bounds, notes


def _outside(fit: Fit, mtu_bytes: int) -> list[str]:
    low, high = min(fit.levels), max(fit.levels)
    if low <= mtu_bytes <= high:
        return []
    return [f"outside the range of the fit, {low:.0f} to {high:.0f} B"]
