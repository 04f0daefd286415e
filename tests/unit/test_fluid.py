"""The fluid model: its results beside those of the simulator, and the figures that it does not have."""

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
        parts = [*record.flows, *(subflow for flow in record.flows for subflow in flow.subflows or ())]
        assert {part.retransmissions_pkts is None for part in parts} == {backend.name == "fluid"}
        assert {part.marks_pkts for part in parts} == {None if backend.name == "fluid" else 0}
        total.append(sum(flow.goodput_bps for flow in record.flows))
    computed, simulated = total
    assert computed == pytest.approx(simulated, rel=0.1)
    print(f"{case}: {computed / 1e6:.2f} {simulated / 1e6:.2f} {100 * (computed / simulated - 1):+.1f}%")


def test_what_there_is_none_of_is_absent_and_not_0():
    found = full_record()
    found.backend = "fluid"
    times = ("srtt", "min_rtt", "rtt", "cwnd", "subflow_cwnd", "connect_time")
    for name in ("retransmissions", "marks", *times):
        assert METRICS[name].backends() == ["hosts", "lab", "sim", "virtual"]
        assert METRICS[name].read(found, "transfer") == (
            f"the backend fluid has no {METRICS[name].title.lower()}"
        )
    assert METRICS["goodput"].read(found, "transfer") == 941.5


def test_a_small_form_of_the_study_of_supported_hosts_runs(backends):
    """More hosts on the same number of switches get less goodput each."""
    fluid, _ = backends
    study, found = load("jellyfish-supported-hosts"), {}
    for fabric in ("fat-tree", "Jellyfish +0%", "Jellyfish +40%"):
        scenario = scenario_of(study, {"ports": "8", "fabric": fabric}, 1, 1)
        hosts = sum(node.kind.root == "host" for node in scenario.nodes)
        record = fluid.run(fabric, scenario, 60)
        names = [flow.name for flow in record.flows]
        found[fabric] = (hosts, METRICS["goodput_per_host"].combined(record, names))
    fat_tree, *jellyfish = found.values()
    assert [hosts for hosts, _ in found.values()] == [128, 128, 179]
    goodputs = [goodput for _, goodput in jellyfish]
    assert goodputs == sorted(goodputs, reverse=True)
    assert jellyfish[-1][1] < fat_tree[1] < 100 * 1428 / 1538
