"""The model of the MTU: exact values, levels left out of the fit, limits, intervals, the command."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from statsmodels.regression.linear_model import WLS

from nettrial.analysis.host_cost import HostCost, Work
from nettrial.analysis.model import models
from nettrial.analysis.mtu_fits import PayloadCost, WireUse, efficiency
from nettrial.analysis.predictions import predict
from nettrial.design import PlannedTrial
from nettrial.errors import BadInput
from nettrial.scenario import Record
from tests.unit.synthetic import BUSY, altered_study, make_run, record

HEADERS = 40 + 20 + 12  # The headers are IPv6, and TCP with timestamps.
PACKET_US, KILOBYTE_US = 3.0, 1.5
FOUR = {"mtu": "1500,3000,6000,9000", "sender": "linux-cubic", "receiver": "linux-cubic"}


def cost(mtu: float, packet_us: float = PACKET_US, kilobyte_us: float = KILOBYTE_US) -> float:
    return (1000 * packet_us + kilobyte_us * mtu) / (mtu - HEADERS)


def maker(
    goodput_mbps: Callable[[float], float],
    demand: Callable[[float], float] | None,
    busy: Callable[[float], bool],
) -> Callable[[PlannedTrial], Record]:
    """Makes records with this goodput and service demand at each MTU, and with CPUs that are busy or not."""

    def made(trial: PlannedTrial) -> Record:
        found, mtu = record(trial), int(trial.treatment["mtu"].split()[0])
        found.warnings = [BUSY] if busy(mtu) else []
        for flow in found.flows:
            flow.mss_bytes = mtu - HEADERS
        found.flows[0].goodput_bps = 1e6 * goodput_mbps(mtu)
        for host in found.hosts:
            host.cpu_percent = 99.0 if busy(mtu) else 40.0
            host.service_demand_us_per_kb = demand(mtu) if demand else None
        return found

    return made


def wire(mtu: float) -> float:
    return 0.98 * 1000 * (mtu - HEADERS) / (mtu + 38)


def test_the_wires_arithmetic_is_that_of_ethernet() -> None:
    assert efficiency(1500, 20 + 20 + 12) == pytest.approx(0.941, abs=5e-4)
    assert efficiency(9000, 20 + 20 + 12) == pytest.approx(0.990, abs=5e-4)
    assert efficiency(1500, 20 + 20) == pytest.approx(1460 / 1538)
    assert efficiency(1500, HEADERS) == pytest.approx(1428 / 1538)


def test_a_link_bound_run_gives_its_share_and_costs_exactly(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 2, FOUR, maker(wire, cost, lambda mtu: False))
    (model,) = models(run)
    assert (model.header_bytes, model.rate_mbps, model.absent) == (HEADERS, 1000, {})
    assert set(model.bounds["throughput"].values()) == {"link"}
    assert model.wires["throughput"].share == pytest.approx(0.98)
    for host in model.hosts.values():
        assert host.cost.per_packet == pytest.approx(PACKET_US)
        assert host.cost.per_kilobyte == pytest.approx(KILOBYTE_US)
        assert list(host.errors.values()) == pytest.approx([0] * 4, abs=1e-6)
    found = {each.response: each for each in predict(run, model, 4500)}
    assert found["throughput"].value == pytest.approx(wire(4500))
    assert found["throughput"].notes == ("the link is the limit",)
    assert found["service_demand_sender"].value == pytest.approx(cost(4500))
    assert found["service_demand_sender"].notes == ()
    assert found["service_demand_sender"].interval is not None
    assert found["service_demand_sender"].interval.half_width == pytest.approx(0, abs=1e-6)


def test_a_host_bound_run_is_predicted_by_the_hosts_cost(tmp_path: Path) -> None:
    def slow(mtu: float) -> float:
        return 8000 / cost(mtu, 20, 10)

    run = make_run(tmp_path / "run", 2, FOUR, maker(slow, None, lambda mtu: True))
    (model,) = models(run)
    assert model.wires == {}
    assert set(model.bounds["throughput"].values()) == {"host"}
    transfer = model.transfers["throughput"]
    assert transfer.cost.values == (pytest.approx(20), pytest.approx(10))
    (throughput, *others) = predict(run, model, 4500)
    assert throughput.value == pytest.approx(slow(4500))
    assert throughput.notes == ("the host is the limit",)
    assert {each.value for each in others} == {None}
    assert others[0].notes == ("only 0 levels have a value, and 3 are needed",)


def test_a_host_bound_at_small_mtus_alone_gives_way_to_the_link(tmp_path: Path) -> None:
    """At 1500 bytes, the limit is the host, whose cost is known from the service demand. From 3000 bytes on,
    it is the link."""
    slow = 8000 / cost(1500, 10, 3)

    def goodput(mtu: float) -> float:
        return slow if mtu == 1500 else wire(mtu)

    made = maker(goodput, lambda mtu: cost(mtu, 10, 3), lambda mtu: mtu == 1500)
    run = make_run(tmp_path / "run", 2, FOUR, made)
    (model,) = models(run)
    assert model.bounds["throughput"] == {1500: "host", 3000: "link", 6000: "link", 9000: "link"}
    at = {
        mtu: next(p for p in predict(run, model, mtu) if p.response == "throughput")
        for mtu in (1500, 1600, 4500)
    }
    assert at[1500].value == pytest.approx(slow)
    assert at[1600].value == pytest.approx(8000 / cost(1600, 10, 3))
    assert "the host is the limit, from service_demand_sender" in at[1600].notes
    assert at[4500].value == pytest.approx(wire(4500))
    assert at[4500].notes == ("the link is the limit",)
    blind = make_run(tmp_path / "blind", 2, FOUR, maker(goodput, None, lambda mtu: mtu == 1500))
    (model,) = models(blind)
    unknown = predict(blind, model, 1600)[0]
    assert unknown.value is None
    reason = "the host is the limit there, and its cost is unknown: there is no service demand"
    assert unknown.notes == (reason,)
    assert predict(blind, model, 4500)[0].value == pytest.approx(wire(4500))


def test_where_neither_is_in_full_use_goodput_is_not_predicted(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 2, FOUR, maker(lambda mtu: 300 + mtu / 100, cost, lambda mtu: False))
    (model,) = models(run)
    reason = "neither the link nor a measured CPU was saturated at 1500 B, 3000 B, 6000 B, 9000 B"
    assert model.absent == {"throughput": reason}
    found = predict(run, model, 4500)
    assert found[0].value is None
    assert found[0].notes == (reason,)
    assert found[1].value == pytest.approx(cost(4500))


def test_a_level_is_held_out_of_the_fit_that_predicts_it() -> None:
    """The errors are those of statsmodels' fits to the other levels."""
    means = {1500.0: 4.1, 3000.0: 2.4, 6000.0: 2.1, 9000.0: 1.7}
    fitted = PayloadCost.of(HEADERS, means)
    for held, value in means.items():
        others = [mtu for mtu in means if mtu != held]
        design = np.array([[1000 / (mtu - HEADERS), mtu / (mtu - HEADERS)] for mtu in others])
        values = np.array([means[mtu] for mtu in others])
        packet, kilobyte = WLS(values, design, weights=1 / values**2).fit().params
        assert fitted.errors[held] == pytest.approx(100 * (cost(held, packet, kilobyte) / value - 1))
        assert fitted.errors[held] != 0
    shares = {1500.0: 900.0, 6000.0: 975.0, 9000.0: 980.0}
    use = WireUse.of(1000, HEADERS, shares)
    alone = math.sqrt(975 / efficiency(6000, HEADERS) * 980 / efficiency(9000, HEADERS)) * efficiency(
        1500, HEADERS
    )
    assert use.errors[1500.0] == pytest.approx(100 * (alone / 900 - 1))


@pytest.mark.parametrize("kilobyte_us", [KILOBYTE_US, 0.0])
def test_intervals_of_costs_are_those_of_statsmodels(kilobyte_us: float) -> None:
    """One cost is 0 and left out of the regression in the second case."""
    draw = np.random.default_rng(5)
    sizes = (0.066, 0.5, 1.5, 3.0, 9.0, 9.0)
    busy = [
        (PACKET_US * 1000 + kilobyte_us * 1000 * size) * noise
        for size, noise in zip(sizes, np.exp(draw.normal(0, 0.05, len(sizes))), strict=True)
    ]
    found = HostCost.of(
        [Work(each, 1000.0, 1000.0 * size) for each, size in zip(busy, sizes, strict=True)],
        (0, 1) if kilobyte_us else (0,),
    )
    design = np.array([[1000.0, 1000.0 * size] for size in sizes])[:, : 2 if kilobyte_us else 1]
    theirs = WLS(np.array(busy), design, weights=1 / np.array(busy) ** 2).fit()
    ours = [end for interval in found.intervals().values() for end in (interval.low, interval.high)]
    assert ours == pytest.approx(list(np.ravel(theirs.conf_int(alpha=0.05))))
    at = found.at(1000.0, 4000.0)
    terms = [[1000.0, 4000.0][: design.shape[1]]]
    low, high = theirs.get_prediction(terms, weights=1 / at**2).conf_int(obs=True, alpha=0.05)[0]
    interval = found.interval_at(1000.0, 4000.0)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((low, high))


def test_intervals_hold_a_level_that_was_not_run() -> None:
    """Levels deviate from the model by 2%, and the interval contains the value of a different level 19 times
    of 20."""
    draw = np.random.default_rng(4)
    rounds, held, wires = 800, 0, 0
    for _ in range(rounds):
        scatter = np.exp(draw.normal(0, 0.02, 5))
        means = {
            mtu: cost(mtu) * noise
            for mtu, noise in zip((1500.0, 3000.0, 6000.0, 9000.0), scatter, strict=False)
        }
        _, interval = PayloadCost.of(HEADERS, means).at(4500)
        assert interval is not None
        held += interval.contains(cost(4500) * scatter[4])
        goodputs = {mtu: wire(mtu) * mean / cost(mtu) for mtu, mean in means.items()}
        _, interval = WireUse.of(1000, HEADERS, goodputs).at(4500)
        assert interval is not None
        wires += interval.contains(wire(4500) * scatter[4])
    error = 3.5 * math.sqrt(0.95 * 0.05 / rounds)
    assert held / rounds == pytest.approx(0.95, abs=error)
    assert wires / rounds == pytest.approx(0.95, abs=error)


def test_outside_the_levels_and_below_zero_is_said(tmp_path: Path) -> None:
    falling = maker(wire, lambda mtu: cost(mtu, -2, 4), lambda mtu: False)
    run = make_run(tmp_path / "run", 2, FOUR, falling)
    (model,) = models(run)
    found = predict(run, model, 16_000)
    assert found[0].notes == ("the link is the limit", "outside the range of the fit, 1500 to 9000 B")
    assert "per_packet is 0: the model may not describe this host" in found[1].notes
    assert found[0].interval is not None
    assert found[0].interval.high <= 1000 * efficiency(16_000, HEADERS)


def test_segments_that_do_not_follow_the_mtu_have_no_model(tmp_path: Path) -> None:
    (model,) = models(make_run(tmp_path / "run", 2, FOUR, record))
    sizes = "72 B, 1572 B, 4572 B, 7572 B"
    said = f"the difference between the MTU and the segment size varies between levels: {sizes}"
    assert model.absent == dict.fromkeys(
        ["throughput", "service_demand_sender", "service_demand_receiver"], said
    )


def test_runs_that_allow_no_model_are_refused(tmp_path: Path) -> None:
    plain = maker(wire, cost, lambda mtu: False)
    with pytest.raises(BadInput, match=r"trials with 2 levels of mtu\n  expected: 3 levels or more"):
        models(make_run(tmp_path / "two", 1, {**FOUR, "mtu": "1500,9000"}, plain))
    with pytest.raises(BadInput, match="trials with 0 levels of mtu"):
        models(make_run(tmp_path / "none", 1, FOUR, plain, trials=0))
    study = altered_study(tmp_path / "s", {"sets: network.mtu": "sets: network.links.host.mtu"})
    with pytest.raises(BadInput, match=r"a factor that sets network\.mtu"):
        models(make_run(tmp_path / "other", 1, {}, study=study, trials=0))


def test_the_command(nettrial, golden) -> None:
    overrides = {**FOUR, "sender": "linux-cubic,classic"}
    scatter = {1500: 1.004, 3000: 0.995, 6000: 1.006, 9000: 0.996}

    def goodput(mtu: float) -> float:
        return wire(mtu) * scatter[int(mtu)]

    made = maker(goodput, lambda mtu: cost(mtu) * scatter[int(mtu)] ** 3, lambda mtu: False)
    make_run(nettrial.directory / "mine", 3, overrides, made)
    done = nettrial("predict", "mine", "--mtu", "4500, 16 kB")
    assert (done.returncode, done.stderr) == (0, "")
    golden("predict", done.stdout)


BAD = {"mtu": ["--mtu", "big"], "small": ["--mtu", "3000,100"], "levels": ["--mtu", "3000"]}


@pytest.mark.parametrize("name", list(BAD))
def test_bad_predictions_are_exit_2_and_print_nothing(nettrial, golden, name) -> None:
    make_run(nettrial.directory / "mine", 1, {**FOUR, "mtu": "1500,9000"})
    done = nettrial("predict", "mine", *BAD[name])
    assert (done.returncode, done.stdout) == (2, "")
    golden(f"error-predict-{name}", done.stderr)
