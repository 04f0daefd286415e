"""The fluid model: what it computes beside the simulator, and what it has no figures for."""

import pytest

from nettrial.backends import Backend
from nettrial.design import scenario_of
from nettrial.metrics import METRICS
from nettrial.study import load
from tests.records import full_record

STUDY = load("simulator-agreement").on("sim")
CASES = ("plain", "MTU 9000", "MTU 1280 IPv6", "8 flows", "MPTCP LIA", "MPTCP OLIA", "MPTCP BALIA")


@pytest.fixture(scope="module")
def backends():
    with Backend("fluid") as fluid, Backend("sim") as simulator:
        yield fluid, simulator


@pytest.mark.parametrize("case", CASES)
def test_goodput_of_long_flows_is_within_a_tenth_of_the_simulators(backends, case):
    scenario = scenario_of(STUDY, {"case": case}, 1, 7)
    scenario.workload = [flow for flow in scenario.workload if flow.transport.root != "udp"]
    total = []
    for backend in backends:
        assert backend.check(scenario) == []
        record = backend.run(case, scenario, 60)
        assert record.warnings == []
        total.append(sum(flow.goodput_bps for flow in record.flows))
    computed, simulated = total
    assert computed == pytest.approx(simulated, rel=0.1)
    print(f"{case}: {computed / 1e6:.2f} {simulated / 1e6:.2f} {100 * (computed / simulated - 1):+.1f}%")


def test_what_there_is_none_of_is_absent_and_not_0():
    found = full_record()
    found.backend = "fluid"
    for name in ("retransmissions", "srtt", "min_rtt", "rtt", "cwnd", "subflow_cwnd", "connect_time"):
        assert METRICS[name].backends() == ["hosts", "lab", "sim"]
        assert METRICS[name].read(found, "transfer") == (
            f"the backend fluid has no {METRICS[name].title.lower()}"
        )
    assert METRICS["goodput"].read(found, "transfer") == 941.5
