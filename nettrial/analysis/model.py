"""What an MTU costs and gives: a model that predicts MTUs which were not run, tested on levels held out.

Two things bound a transfer. On the wire each packet takes its headers and what Ethernet puts around a frame,
so a larger MTU leaves more of the line rate to the payload; that is arithmetic, and only the share of the
line rate that the transfer keeps busy is fitted. At a host each packet takes time and each byte takes time:
a cost of two parameters, fitted on the levels that were run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

import numpy as np
from scipy import special

from nettrial import units
from nettrial.analysis.intervals import CONFIDENCE, Interval
from nettrial.analysis.summary import Levels, ResponseSummary, plan_treatments, summarise
from nettrial.errors import BadInput
from nettrial.store import Run, Trial
from nettrial.study import Study

ETHERNET_BYTES = 38
"""Around each IP packet: header 14, frame check sequence 4, preamble 8, gap 12 (IEEE 802.3 clauses 3,
4.4.2)."""
SETTING = "network.mtu"
"""The setting that the model is of."""
FEWEST_LEVELS = 3
"""Two parameters take two levels, and a third to be tested on."""
LINK_SHARE = 0.9
"""Of what the wire leaves to the payload: a transfer that has as much is bounded by the link."""
BUSY_PERCENT = 95.0
"""A processor in use that much is the bound: what the engine warns of as `processor_saturated`."""
BITS_PER_KILOBYTE = 8000.0
DOING = "fitting the model"

Bound = Literal["link", "host", "neither"]


def efficiency(mtu_bytes: float, header_bytes: float) -> float:
    """The share of the line rate that is payload: what a packet of the MTU carries behind its headers, over
    what its frame occupies. With 40 bytes of IPv4 and TCP and 12 of timestamps: 0.941 at 1500 bytes, 0.990
    at 9000."""
    return (mtu_bytes - header_bytes) / (mtu_bytes + ETHERNET_BYTES)


@dataclass(frozen=True)
class WireUse:
    """Goodput of a transfer that the link bounds, Mbit/s."""

    rate_mbps: float
    header_bytes: float
    share: float
    """Of what the wire leaves to the payload, the share that the transfer has; it is fitted."""
    spread: float
    """Standard deviation of its logarithm over levels."""
    levels: tuple[float, ...]
    """The MTUs it was fitted on, bytes."""
    errors: dict[float, float]
    """By MTU: by how much the model that is fitted on the others misses it, in percent of it, signed."""

    @classmethod
    def of(cls, rate_mbps: float, header_bytes: float, means: Mapping[float, float]) -> WireUse:
        """Fitted on the mean goodput (Mbit/s) at each MTU (bytes), two or more of them."""

        def logs(of: Sequence[float]) -> list[float]:
            return [math.log(means[mtu] / rate_mbps / efficiency(mtu, header_bytes)) for mtu in of]

        levels = tuple(sorted(means))
        every = logs(levels)
        errors = {
            mtu: 100 * math.expm1(fmean(logs([other for other in levels if other != mtu])) - log)
            for mtu, log in zip(levels, every, strict=True)
        }
        spread = float(np.std(every, ddof=1))
        return cls(rate_mbps, header_bytes, math.exp(fmean(every)), spread, levels, errors)

    def at(self, mtu_bytes: float) -> tuple[float, Interval | None]:
        """Mbit/s, with Student's prediction interval of the logarithm over levels."""
        value = self.share * self.rate_mbps * efficiency(mtu_bytes, self.header_bytes)
        count = len(self.levels)
        quantile = float(special.stdtrit(count - 1, (1 + CONFIDENCE) / 2))
        half = quantile * self.spread * math.sqrt(1 + 1 / count)
        return value, Interval(value * math.exp(-half), value * math.exp(half))

    def words(self) -> str:
        """What was fitted."""
        rate = units.RATE.print(round(self.rate_mbps * 1e6))
        return f"{100 * self.share:.1f}% of what {rate} leaves to the payload"


@dataclass(frozen=True)
class HostCost:
    """Time that a kilobyte (1000 bytes) of payload takes a host, us: a packet's share and a byte's."""

    header_bytes: float
    packet_us: float
    kilobyte_us: float
    means: dict[float, float]
    """By MTU, what it was fitted on."""
    errors: dict[float, float]
    """By MTU: by how much the model that is fitted on the others misses it, in percent of it, signed."""

    @classmethod
    def of(cls, header_bytes: float, means: Mapping[float, float]) -> HostCost:
        """Fitted on the mean cost (us/kB) at each MTU (bytes), three or more of them, by least squares of
        relative errors."""
        packet, kilobyte = _fitted(header_bytes, means)
        errors = {}
        for mtu, value in means.items():
            others = {other: mean for other, mean in means.items() if other != mtu}
            held_out = _fitted(header_bytes, others)
            errors[mtu] = 100 * (float(_terms(header_bytes, mtu) @ held_out) / value - 1)
        return cls(header_bytes, float(packet), float(kilobyte), dict(sorted(means.items())), errors)

    @property
    def levels(self) -> tuple[float, ...]:
        """The MTUs it was fitted on, bytes."""
        return tuple(self.means)

    def at(self, mtu_bytes: float) -> tuple[float, Interval | None]:
        """us/kB, with statsmodels' prediction interval: levels scatter about the model by more than their
        trials do, so levels are what is counted."""
        from statsmodels.regression.linear_model import WLS  # here: it takes a second to import

        levels = self.levels
        design = np.array([_terms(self.header_bytes, mtu) for mtu in levels])
        values = np.array(list(self.means.values()))
        fitted = WLS(values, design, weights=1 / values**2).fit()
        terms = _terms(self.header_bytes, mtu_bytes)
        value = float(terms @ np.array([self.packet_us, self.kilobyte_us]))
        predicted = fitted.get_prediction(terms[None, :], weights=1 / value**2 if value else 1)
        ((low, high),) = predicted.conf_int(obs=True, alpha=1 - CONFIDENCE)
        return value, Interval(float(low), float(high))

    def words(self) -> str:
        """What was fitted."""
        return f"{self.packet_us:.3g} us a packet and {self.kilobyte_us:.3g} us a kilobyte"


def _terms(header_bytes: float, mtu_bytes: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Packets in a kilobyte of payload, and 1."""
    return np.array([1000 / (mtu_bytes - header_bytes), 1.0])


def _fitted(
    header_bytes: float, means: Mapping[float, float]
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    values = np.array(list(means.values()))
    design = np.array([_terms(header_bytes, mtu) for mtu in means])
    solved: np.ndarray[tuple[int], np.dtype[np.float64]]
    solved, *_ = np.linalg.lstsq(design / values[:, None], np.ones(len(values)), rcond=None)
    return solved


Fit: TypeAlias = WireUse | HostCost
"""A model of one figure by the MTU."""


@dataclass(frozen=True)
class Prediction:
    """A response at an MTU."""

    others: Levels
    """The levels of the other factors."""
    mtu_bytes: int
    response: str
    unit: str
    value: float | None
    interval: Interval | None
    """In which the mean of a treatment with this MTU lies at `CONFIDENCE`, if the model holds there."""
    notes: tuple[str, ...]
    """What bounds it, whether it is outside the levels run, or why there is none."""


@dataclass(frozen=True)
class Model:
    """The model of the treatments that differ in the MTU alone."""

    others: Levels
    """The levels of the other factors."""
    header_bytes: int
    """IP and transport headers of a full packet, options included, as measured: the MTU less the segment
    size."""
    rate_mbps: float | None
    """The line rate of the slowest link; None where no link has one."""
    bounds: dict[str, dict[float, Bound]]
    """By response of goodput and MTU: what bounded the transfer."""
    wires: dict[str, WireUse]
    """By response: goodput where the link is the bound."""
    transfers: dict[str, HostCost]
    """By response: time of a kilobyte where the host is the bound."""
    hosts: dict[str, HostCost]
    """By response of service demand: processor time of a kilobyte."""
    absent: dict[str, str]
    """By response: why it has no model."""


def models(run: Run) -> list[Model]:
    """The model of each combination of the other factors. Raises BadInput where the study's factors or the
    finished trials don't allow one."""
    factor = _factor(run.study)
    found: dict[tuple[tuple[str, str], ...], dict[float, list[Trial]]] = {}
    for treatment in plan_treatments(run):
        of = [trial for trial in run.trials() if trial.planned.treatment == treatment]
        others = tuple((name, level) for name, level in treatment.items() if name != factor)
        if of:
            found.setdefault(others, {})[units.SIZE.parse(treatment[factor])] = of
    most = max((len(levels) for levels in found.values()), default=0)
    if most < FEWEST_LEVELS:
        value = f"trials with {most} level{'' if most == 1 else 's'} of {factor}"
        legal = f"{FEWEST_LEVELS} levels or more: two parameters take two, and a third tests them"
        raise BadInput(DOING, str(run.directory), value, legal, f"such as --set {factor}=1500,4000,9000")
    responses = summarise(run).responses
    return [
        _model(run.study, factor, dict(others), levels, responses)
        for others, levels in found.items()
        if len(levels) >= FEWEST_LEVELS
    ]


def _factor(study: Study) -> str:
    """The factor that sets the MTU, and nothing else."""
    for name, factor in study.factors.items():
        if factor.sets == SETTING:
            return name
    legal = f"a factor that sets {SETTING}, with {FEWEST_LEVELS} levels or more"
    raise BadInput(DOING, f"study {study.study}", f"its factors are {', '.join(study.factors)}", legal)


def _model(
    study: Study,
    factor: str,
    others: Levels,
    trials: Mapping[float, Sequence[Trial]],
    responses: Sequence[ResponseSummary],
) -> Model:
    transfers = {flow.flow for flow in study.workload if flow.traffic.kind in ("transfer", "file_transfer")}
    model = Model(others, 0, _rate(trials), {}, {}, {}, {}, {})
    headers: set[int] = set()
    for each in responses:
        response = each.response
        if response.metric not in ("goodput", "service_demand"):
            continue
        means = {
            float(units.SIZE.parse(cell.treatment[factor])): cell.mean
            for cell in each.cells
            if cell.mean and cell.mean > 0 and {**cell.treatment, factor: ""} == {**others, factor: ""}
        }
        if response.metric == "goodput" and response.of not in transfers:
            model.absent[response.name] = "it is of no transfer"
            continue
        flows = [response.of] if response.metric == "goodput" else sorted(transfers)
        overheads = _headers(study, {**others, factor: ""}, factor, flows, trials)
        if len(overheads) != 1:
            seen = ", ".join(f"{size} B" for size in sorted(overheads)) or "none"
            model.absent[response.name] = (
                f"the MTU less the segment size is not the same at each level: {seen}"
            )
        elif len(means) < FEWEST_LEVELS:
            model.absent[response.name] = f"{len(means)} levels have a value, and it takes {FEWEST_LEVELS}"
        elif response.metric == "goodput":
            headers |= overheads
            _fit_goodput(model, response.name, min(overheads), means, trials)
        else:
            headers |= overheads
            model.hosts[response.name] = HostCost.of(min(overheads), means)
    return Model(**{**model.__dict__, "header_bytes": min(headers, default=0)})


def _rate(trials: Mapping[float, Sequence[Trial]]) -> float | None:
    """Mbit/s of the slowest link."""
    links = next(iter(trials.values()))[0].scenario.links
    return min((units.RATE.parse(link.rate.root) / 1e6 for link in links if link.rate), default=None)


def _headers(
    study: Study,
    treatment: Levels,
    factor: str,
    flows: Sequence[str],
    trials: Mapping[float, Sequence[Trial]],
) -> set[int]:
    """The MTU less the segment size that was in force, of these flows' every trial."""
    found = set()
    for mtu, of in trials.items():
        levels = {**treatment, factor: of[0].planned.treatment[factor]}
        names = {name for flow in flows for name in study.group(levels, flow)}
        for trial in of:
            for flow in trial.record.flows:
                if flow.name in names:
                    found.add(int(mtu) - flow.mss_bytes)
    return found


def _fit_goodput(
    model: Model,
    name: str,
    header_bytes: float,
    means: Mapping[float, float],
    trials: Mapping[float, Sequence[Trial]],
) -> None:
    bounds = {
        mtu: _bound(model.rate_mbps, header_bytes, mtu, mean, trials[mtu]) for mtu, mean in means.items()
    }
    model.bounds[name] = bounds
    neither = [mtu for mtu, bound in bounds.items() if bound == "neither"]
    if neither:
        listed = ", ".join(f"{mtu:.0f} B" for mtu in neither)
        model.absent[name] = f"neither the link nor a processor that was measured was in full use at {listed}"
        return
    of_link = {mtu: means[mtu] for mtu, bound in bounds.items() if bound == "link"}
    of_host = {mtu: BITS_PER_KILOBYTE / means[mtu] for mtu, bound in bounds.items() if bound == "host"}
    if len(of_link) > 1 and model.rate_mbps is not None:
        model.wires[name] = WireUse.of(model.rate_mbps, header_bytes, of_link)
    if len(of_host) >= FEWEST_LEVELS:
        model.transfers[name] = HostCost.of(header_bytes, of_host)


def _bound(
    rate_mbps: float | None,
    header_bytes: float,
    mtu_bytes: float,
    goodput_mbps: float,
    trials: Sequence[Trial],
) -> Bound:
    """What bounded the transfers of a level."""
    if rate_mbps and goodput_mbps >= LINK_SHARE * rate_mbps * efficiency(mtu_bytes, header_bytes):
        return "link"
    saturated = sum(_saturated(trial) for trial in trials)
    return "host" if rate_mbps is None or 2 * saturated > len(trials) else "neither"


def _saturated(trial: Trial) -> bool:
    busy = max((host.cpu_percent or 0 for host in trial.record.hosts), default=0)
    return busy >= BUSY_PERCENT or any(
        warning.code == "processor_saturated" for warning in trial.record.warnings
    )


def predict(run: Run, model: Model, mtu_bytes: int) -> list[Prediction]:
    """What the model says of each response at an MTU."""
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


def _of_host(cost: HostCost, mtu_bytes: int) -> Predicted:
    value, interval = cost.at(mtu_bytes)
    notes = _outside(cost, mtu_bytes)
    if min(cost.packet_us, cost.kilobyte_us) < 0:
        notes.append("one of the fitted costs is below 0: the model does not describe this host")
    if value <= 0:
        return None, None, notes
    return value, interval and Interval(max(interval.low, 0.0), interval.high), notes


def _goodput(model: Model, name: str, mtu_bytes: int) -> Predicted:
    """The least of what the link and the hosts allow."""
    limits: list[tuple[float, Interval | None, list[str]]] = []
    wire, transfer = model.wires.get(name), model.transfers.get(name)
    most = model.rate_mbps and model.rate_mbps * efficiency(mtu_bytes, model.header_bytes)
    if wire is not None and most:
        value, interval = wire.at(mtu_bytes)
        held = interval and Interval(min(interval.low, most), min(interval.high, most))
        limits.append((min(value, most), held, ["the link is the bound", *_outside(wire, mtu_bytes)]))
    elif most:
        limits.append((most, None, ["the link is the bound: no more than that"]))
    costs = {"": transfer} if transfer is not None else model.hosts
    for host, cost in costs.items():
        limit = _inverse(cost, mtu_bytes)
        if limit is not None:
            by = f"the host is the bound, by {host}" if host else "the host is the bound"
            limits.append((*limit[:2], [by, *limit[2]]))
    linked = [mtu for mtu, bound in model.bounds[name].items() if bound == "link"]
    if not costs and len(linked) < len(model.bounds[name]) and mtu_bytes < min(linked, default=math.inf):
        return None, None, ["the host is the bound there, and its cost is not known: no service demand"]
    if not limits:
        return None, None, ["nothing that bounds it could be fitted"]
    return min(limits, key=lambda limit: limit[0])


def _inverse(cost: HostCost, mtu_bytes: int) -> tuple[float, Interval | None, list[str]] | None:
    """The goodput in Mbit/s at which a host whose kilobytes cost that much is in full use."""
    value, interval, notes = _of_host(cost, mtu_bytes)
    if value is None:
        return None
    if interval is None or interval.low <= 0:
        notes.append("no interval: the cost may be as low as 0")
        return BITS_PER_KILOBYTE / value, None, notes
    bounds = Interval(BITS_PER_KILOBYTE / interval.high, BITS_PER_KILOBYTE / interval.low)
    return BITS_PER_KILOBYTE / value, bounds, notes


def _outside(fit: Fit, mtu_bytes: int) -> list[str]:
    low, high = min(fit.levels), max(fit.levels)
    if low <= mtu_bytes <= high:
        return []
    return [f"outside the levels it was fitted on, {low:.0f} to {high:.0f} B"]
