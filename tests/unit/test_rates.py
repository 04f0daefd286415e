"""Rates of several flows: an amount over one stated time, and never more than a link's rate."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nettrial.backends import Backend
from nettrial.design import scenario_of
from nettrial.metrics import METRICS
from nettrial.metrics.spans import union_ns
from nettrial.scenario import Record, Scenario
from nettrial.study import Study, load
from tests.link_rates import assert_within_link_rates
from tests.records import full_record

STUDIES = Path(__file__).parent / "studies"


@pytest.fixture(scope="module")
def backends():
    with Backend("sim") as simulator, Backend("fluid") as fluid:
        yield {"sim": simulator, "fluid": fluid}


def study_of(name: str) -> Study:
    return load(str(STUDIES / f"{name}.yaml"))


def ran(backend: Backend, study: Study, **levels: str) -> tuple[Scenario, Record]:
    scenario = scenario_of(study.on(backend.name), levels, 1, 1)
    return scenario, backend.run("test", scenario, 300)


def combined(metric: str, study: Study, record: Record, levels: dict[str, str], of: str = "f") -> float:
    found = METRICS[metric].combined(record, study.group(levels, of), study.senders(levels, of))
    assert isinstance(found, float), found
    return found


@pytest.mark.parametrize("backend", ["sim", "fluid"])
@pytest.mark.parametrize("stagger", ["0 s", "6 s"])
def test_two_transfers_have_the_rate_of_their_link_beside_and_after_each_other(backends, backend, stagger):
    """One after the other they had 19.99 Mbit/s on a link of 10: a sum of rates over different times."""
    study = study_of("one-after-other")
    scenario, record = ran(backends[backend], study, stagger=stagger)
    assert_within_link_rates(scenario, record)
    levels = {"stagger": stagger}
    assert combined("goodput", study, record, levels) == pytest.approx(10 * 1448 / 1538, rel=0.01)
    assert combined("wire_rate", study, record, levels) == pytest.approx(10, rel=0.01)
    assert combined("goodput_per_host", study, record, levels) == pytest.approx(10 * 1448 / 1538, rel=0.01)
    fairness = METRICS["fairness"].combined(record, study.group(levels, "f"))
    if stagger == "0 s":
        assert fairness > 0.9
    else:
        assert fairness == "f-2 began when f-1 had ended, so they did not share anything"


def test_an_incast_has_at_most_the_rate_of_its_link_whatever_its_timeouts(backends):
    """The sum of the senders' own rates rose from 949 to 3548 Mbit/s on a link of 1 Gbit/s."""
    study, found = study_of("incast"), {}
    for timeout in ("200 ms", "1 ms"):
        scenario, record = ran(backends["sim"], study, timeout=timeout)
        assert_within_link_rates(scenario, record)
        found[timeout] = combined("goodput", study, record, {"timeout": timeout})
        own = sum(flow.goodput_bps / 1e6 for flow in record.flows)
        assert found[timeout] < 1000 * 1448 / 1538
        assert own > 1.05 * found[timeout], "the case is one in which the sum is wrong"
    assert found["1 ms"] > found["200 ms"] > 500


@pytest.mark.parametrize("loss", ["0.0", "0.5"])
def test_what_arrives_after_the_duration_does_not_count(backends, loss):
    """A transfer of 10 s drains until 11.1 s, or 11.6 s with a write more, while nothing competes, both as in
    virtual time, by the seed: its goodput and that of the other were 2.11 Mbit/s together on a link of 2."""
    study = study_of("half-lost")
    scenario, record = ran(backends["sim"], study, loss=loss)
    assert_within_link_rates(scenario, record)
    transfer = record.flows[0]
    assert transfer.span is not None
    assert transfer.ended_ns is not None
    assert transfer.span.ended_ns == pytest.approx(10e9, rel=1e-3)  # A start varies by up to a millisecond.
    assert transfer.span.bytes < transfer.bytes
    assert transfer.goodput_bps == pytest.approx(transfer.span.bytes * 8e9 / transfer.span.active_ns)
    assert sum(flow.goodput_bps for flow in record.flows) <= 2e6
    if loss == "0.0":
        assert transfer.ended_ns > 11_000_000_000
        assert transfer.goodput_bps == pytest.approx(1.4e6, rel=0.05)


FLOWS = st.lists(
    st.tuples(st.integers(0, 3000), st.sampled_from(["duration", "size", "both"]), st.integers(50, 2000)),
    min_size=1,
    max_size=5,
)


@settings(max_examples=40, deadline=None)
@given(FLOWS)
def test_flows_at_any_times_have_together_at_most_the_rate_of_their_link(backends, flows):
    study = study_of("one-after-other")
    scenario = scenario_of(study.on("fluid"), {"stagger": "0 s"}, 1, 1)
    model, made = scenario.workload[0], []
    for number, (start_ms, kind, amount) in enumerate(flows):
        traffic = {"kind": "transfer"}
        if kind != "size":
            traffic["duration"] = f"{amount} ms"
        if kind != "duration":
            traffic["size"] = f"{amount} kB"
        changed = {"name": f"f-{number}", "start": f"{start_ms} ms", "traffic": traffic}
        made.append(type(model).model_validate({**model.model_dump(by_alias=True), **changed}))
    scenario.workload = made
    assert_within_link_rates(scenario, backends["fluid"].run("test", scenario, 60))


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 50)), max_size=20))
def test_the_union_of_times_counts_each_moment_once(times):
    spans = [(began, began + length) for began, length in times]
    assert union_ns(spans) == len({moment for began, ended in spans for moment in range(began, ended)})


def test_a_group_of_a_record_without_times_says_so_and_one_flow_keeps_its_rate():
    """Records of earlier versions have no times."""
    found = full_record()
    flow = found.flows[0]
    flow.span = flow.ended_ns = None
    found.flows = [flow, flow.model_copy(update={"name": "another"})]
    assert METRICS["goodput"].combined(found, ["transfer"]) == 941.5
    for name in ("goodput", "ip_rate", "wire_rate", "packet_rate", "transaction_rate"):
        said = METRICS[name].combined(found, ["transfer", "another"])
        assert "does not state when transfer began and ended" in said, name
        assert "run the study again" in said, name
    for name in ("fairness", "goodput_per_host", "host_fairness"):
        assert "does not state when" in METRICS[name].combined(found, ["transfer", "another"], ["a", "b"])
    assert METRICS["goodput_per_flow"].combined(found, ["transfer", "another"]) == 941.5
    assert METRICS["retransmissions"].combined(found, ["transfer", "another"]) == 6
