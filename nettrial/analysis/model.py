"""The model of the MTU: the limit of a run's transfers, and the laws fitted to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from nettrial import units
from nettrial.analysis.mtu_fits import PayloadCost, WireUse, efficiency
from nettrial.analysis.summary import Levels, ResponseSummary, plan_treatments, summarise
from nettrial.design import slowest_transfer_bps
from nettrial.errors import BadInput
from nettrial.store import Run, Trial
from nettrial.study import Study

SETTING = "network.mtu"
"""The setting that the model describes."""
FEWEST_LEVELS = 3
"""The least number of levels: two parameters need two, and a third level tests them."""
LINK_SHARE = 0.9
"""The share of the payload rate possible on the wire above which a transfer is limited by the link."""
BUSY_PERCENT = 95.0
"""The CPU utilisation above which a CPU limits a transfer; the engine's warning `processor_saturated` uses
the same value."""
BITS_PER_KILOBYTE = 8000.0
"""The number of bits in 1000 bytes."""
DOING = "fitting the model"
"""The current action, for error messages."""

Bound = Literal["link", "host", "neither"]
"""The limit of a transfer: the link, a host whose CPU is saturated, or neither."""


@dataclass(frozen=True)
class Model:
    """The model of the treatments that differ only in the MTU."""

    others: Levels
    """The levels of the other factors."""
    header_bytes: int
    """The measured size of the IP and transport headers of a full packet with options: the MTU minus the
    segment size."""
    rate_mbps: float | None
    """The line rate of the slowest link; None if no link has a rate."""
    bounds: dict[str, dict[float, Bound]]
    """The limit of the transfer, by goodput response and MTU."""
    wires: dict[str, WireUse]
    """The goodput where the link is the limit, by response."""
    transfers: dict[str, PayloadCost]
    """The time for a kilobyte where the host is the limit, by response."""
    hosts: dict[str, PayloadCost]
    """The CPU time for a kilobyte, by service demand response."""
    absent: dict[str, str]
    """The reasons why a response has no model, by response."""


def models(run: Run) -> list[Model]:
    """Returns the model of each combination of the other factors; raises BadInput if the study's factors or
    the finished trials don't allow a model."""
    factor = _factor(run.study)
    trials: dict[tuple[tuple[str, str], ...], dict[float, list[Trial]]] = {}
    for treatment in plan_treatments(run):
        of = [trial for trial in run.trials() if trial.planned.treatment == treatment]
        others = tuple((name, level) for name, level in treatment.items() if name != factor)
        if of:
            trials.setdefault(others, {})[units.SIZE.parse(treatment[factor])] = of
    most = max((len(levels) for levels in trials.values()), default=0)
    if most < FEWEST_LEVELS:
        value = f"trials with {most} level{'' if most == 1 else 's'} of {factor}"
        expected = f"{FEWEST_LEVELS} levels or more: two parameters need two, and a third tests them"
        raise BadInput(DOING, str(run.directory), value, expected, f"such as --set {factor}=1500,4000,9000")
    responses = summarise(run).responses
    return [
        _model(run.study, factor, dict(others), levels, responses)
        for others, levels in trials.items()
        if len(levels) >= FEWEST_LEVELS
    ]


def _factor(study: Study) -> str:
    """Returns the factor that sets only the MTU; raises BadInput."""
    for name, factor in study.factors.items():
        if factor.sets == SETTING:
            return name
    expected = f"a factor that sets {SETTING}, with {FEWEST_LEVELS} levels or more"
    raise BadInput(DOING, f"study {study.study}", f"its factors are {', '.join(study.factors)}", expected)


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
            model.absent[response.name] = "it belongs to no transfer"
            continue
        flows = [response.of] if response.metric == "goodput" else sorted(transfers)
        overheads = _headers(study, {**others, factor: ""}, factor, flows, trials)
        if len(overheads) != 1:
            seen = ", ".join(f"{size} B" for size in sorted(overheads)) or "none"
            model.absent[response.name] = (
                f"the difference between the MTU and the segment size varies between levels: {seen}"
            )
        elif len(means) < FEWEST_LEVELS:
            model.absent[response.name] = (
                f"only {len(means)} levels have a value, and {FEWEST_LEVELS} are needed"
            )
        elif response.metric == "goodput":
            headers |= overheads
            _fit_goodput(model, response.name, min(overheads), means, trials)
        else:
            headers |= overheads
            model.hosts[response.name] = PayloadCost.of(min(overheads), means)
    return Model(**{**model.__dict__, "header_bytes": min(headers, default=0)})


def _rate(trials: Mapping[float, Sequence[Trial]]) -> float | None:
    """Returns the rate of the slowest link on the paths of transfers in Mbit/s."""
    rate = slowest_transfer_bps(next(iter(trials.values()))[0].scenario)
    return None if rate is None else rate / 1e6


def _headers(
    study: Study,
    treatment: Levels,
    factor: str,
    flows: Sequence[str],
    trials: Mapping[float, Sequence[Trial]],
) -> set[int]:
    """Returns the differences between the MTU and the effective segment size in all trials of these flows."""
    headers = set()
    for mtu, of in trials.items():
        levels = {**treatment, factor: of[0].planned.treatment[factor]}
        names = {name for flow in flows for name in study.group(levels, flow)}
        for trial in of:
            for flow in trial.record.flows:
                if flow.name in names:
                    headers.add(int(mtu) - flow.mss_bytes)
    return headers


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
        model.absent[name] = f"neither the link nor a measured CPU was saturated at {listed}"
        return
    of_link = {mtu: means[mtu] for mtu, bound in bounds.items() if bound == "link"}
    of_host = {mtu: BITS_PER_KILOBYTE / means[mtu] for mtu, bound in bounds.items() if bound == "host"}
    if len(of_link) > 1 and model.rate_mbps is not None:
        model.wires[name] = WireUse.of(model.rate_mbps, header_bytes, of_link)
    if len(of_host) >= FEWEST_LEVELS:
        model.transfers[name] = PayloadCost.of(header_bytes, of_host)


def _bound(
    rate_mbps: float | None,
    header_bytes: float,
    mtu_bytes: float,
    goodput_mbps: float,
    trials: Sequence[Trial],
) -> Bound:
    """Returns the limit of the transfers at a level."""
    if rate_mbps and goodput_mbps >= LINK_SHARE * rate_mbps * efficiency(mtu_bytes, header_bytes):
        return "link"
    saturated = sum(_saturated(trial) for trial in trials)
    return "host" if rate_mbps is None or 2 * saturated > len(trials) else "neither"


def _saturated(trial: Trial) -> bool:
    busy = max(
        ((host.cpu_percent or 0) + (host.shaper_percent or 0) for host in trial.record.hosts), default=0
    )
    return busy >= BUSY_PERCENT or any(
        warning.code == "processor_saturated" for warning in trial.record.warnings
    )
