"""Every metric: its description, its figure from a record, and its figure for a group of flows."""

import itertools
import math
import shutil

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettrial.design import scenario_of, treatments
from nettrial.metrics import METRICS
from nettrial.metrics.groups import jain
from nettrial.scenario import Absence, Distribution, Figure
from nettrial.study.catalogue import FOLDER, load
from nettrial.topology.scenario_graph import graph_of
from tests.records import full_record, record

OF = {
    "flow": "transfer",
    "group": "transfer",
    "size": "transfer.11000",
    "host": "sender",
    "link": "sender",
    "station": "sender",
    "controller": "controller",
}
OF_RECORDS = [name for name in METRICS if METRICS[name].of != "network"]


@pytest.mark.parametrize("name", OF_RECORDS)
def test_every_metric_is_read_and_described(name):
    """Every metric has to pass this conformance test."""
    metric = METRICS[name]
    assert metric.name == name
    assert metric.unit
    assert metric.definition
    assert metric.source
    value = metric.read(full_record(), OF[metric.of])
    assert isinstance(value, float)
    assert math.isfinite(value)
    assert value >= 0 or metric.unit == "dBm"


@pytest.mark.parametrize("name", OF_RECORDS)
def test_every_metric_is_absent_with_a_reason(name):
    metric = METRICS[name]
    of = OF[metric.of]
    found = record()
    found.flows, found.hosts, found.ends, found.channels = [], [], [], []
    found.controller = None
    assert metric.title.lower() in metric.read(found, of)
    found.absent = [Absence(metric=name, object=of, reason="two CPUs are needed")]
    assert metric.read(found, of) == "two CPUs are needed"
    assert metric.read(found, "another") != "two CPUs are needed"


@pytest.mark.parametrize("name", OF_RECORDS)
def test_a_record_without_the_figure_gives_a_reason_and_never_a_number(name):
    """The record is minimal: a flow that transferred nothing, a host and an interface without
    measurements."""
    metric, found = METRICS[name], record()
    flow = found.flows[0]
    for field in type(flow).model_fields:
        if getattr(flow, field) is not None and type(flow).model_fields[field].default is None:
            setattr(flow, field, None)
    none = Distribution(count=0, mean=0, deviation=0, minimum=0, p50=0, p90=0, p99=0, maximum=0)
    flow.connect_us = flow.srtt_us = none
    flow.min_rtt_us = flow.active_ns = 0
    found.hosts[0].cpu_percent = found.hosts[0].shaper_percent = None
    found.hosts[0].service_demand_us_per_kb = found.hosts[0].radio = None
    assert isinstance(metric.read(found, OF[metric.of]), str)


VALUES = {
    "goodput": 941.5,
    "controller_connect": 30.0,
    "link_discovery": 40.0,
    "controller_ready": 80.0,
    "flow_setup": 1.5,
    "packet_ins": 12.0,
    "rules_per_switch": 4.5,
    "controller_cpu": 20.0,
    "switches_cpu": 90.0,
    "ip_rate": 1000.0,
    "wire_rate": 1024.0,
    "packet_rate": 490.0,
    "transaction_rate": 833.25,
    "completion_time": 41.0,
    "rate_error": 1.0,
    "lateness_p99": 42.0,
    "rtt": 1.2,
    "rtt_p50": 1.2,
    "rtt_p90": 1.2,
    "rtt_p99": 2.5,
    "rtt_p99_9": 3.1,
    "rtt_p99_99": 3.2,
    "rtt_p99_999": 3.3,
    "sweep_rtt": 0.021,
    "size_rtt": 0.031,
    "size_rise": 10.0,
    "owd": 1.2,
    "owd_p50": 1.2,
    "owd_p90": 1.2,
    "owd_p99": 2.5,
    "owd_p99_9": 3.1,
    "owd_p99_99": 3.2,
    "owd_p99_999": 3.3,
    "owd_error": 0.015,
    "delay_variation_p50": 1.2,
    "delay_variation_p90": 1.2,
    "delay_variation_p99": 2.5,
    "delay_variation_p99_9": 3.1,
    "delay_variation_p99_99": 3.2,
    "delay_variation_p99_999": 3.3,
    "jitter_rfc3550": 0.03,
    "delay_difference_mean": 0.05,
    "loss": 2.0,
    "loss_burst_mean": 2.5,
    "loss_burst_longest": 7,
    "reordering": 5.0,
    "duplication": 10.0,
    "sweep_resent": 6,
    "srtt": 0.9,
    "min_rtt": 0.08,
    "cwnd": 20,
    "delivery_rate": 800,
    "retransmissions": 3,
    "marks": 11,
    "connect_time": 0.1,
    "time_to_recover": 350.0,
    "sending_time": 0.001,
    "queue_time": 0.002,
    "wire_time": 0.003,
    "reading_time": 0.004,
    "answering_time": 0.005,
    "subflows": 2,
    "subflow_share": 75,
    "subflow_srtt": 2.0,
    "subflow_cwnd": 40,
    "cpu": 66.5,
    "cpu_shaper": 7.5,
    "service_demand": 5.25,
    "radio_rate": 270.0,
    "radio_signal": -52.0,
    "radio_retries": 6.0,
    "queue_length": 12,
    "queue_length_p99": 90,
    "queue_length_max": 90,
    "queue_drops": 4,
    "packet_size_mean": 1356,
    "packet_size_median": 1500,
    "airtime": 50,
    "airtime_data": 30,
    "airtime_overhead": 15,
    "channel_idle": 40,
    "channel_collisions": 10,
    "collided_attempts": 25,
    "aggregate_size": 7 / 3,
    "mpdu_retries": 10,
    "mpdu_loss": 5,
    "radio_drops": 7,
    "radio_queue_delay": 2.5,
    "contention_delay": 0.125,
}
"""The value of each metric in the record of `full_record`."""


def test_every_metric_has_a_row():
    assert set(VALUES) == {name for name in OF_RECORDS if METRICS[name].of != "group"}


@pytest.mark.parametrize(("name", "value"), VALUES.items())
def test_values_are_in_the_metrics_unit(name, value):
    assert METRICS[name].read(full_record(), OF[METRICS[name].of]) == pytest.approx(value)


def test_a_percentile_of_too_few_values_says_how_many_it_takes():
    found = full_record()
    found.flows[0].rtt_us.count, found.flows[0].rtt_us.p99_99 = 5000, None
    said = METRICS["rtt_p99_99"].read(found, "transfer")
    assert said == "5000 values are too few: 10000 are needed"


def test_no_loss_has_no_mean_burst():
    found = full_record()
    found.flows[0].packets.lost_pkts = found.flows[0].packets.loss_bursts = 0
    assert METRICS["loss"].read(found, "transfer") == 0
    assert METRICS["loss_burst_mean"].read(found, "transfer") == "no packet was lost"


def test_a_node_with_two_interfaces_needs_the_interface():
    found = full_record()
    found.ends.append(found.ends[0].model_copy(update={"interface": "eth1", "drops_pkts": 9}))
    metric = METRICS["queue_drops"]
    assert isinstance(metric.read(found, "sender"), str)
    assert (metric.read(found, "sender.eth0"), metric.read(found, "sender.eth1")) == (4, 9)


def test_a_size_that_was_not_measured_is_absent():
    assert isinstance(METRICS["size_rtt"].read(full_record(), "transfer.12000"), str)
    assert isinstance(METRICS["size_rise"].read(full_record(), "transfer.1000"), str)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_absent(value):
    found = record()
    found.flows[0].goodput_bps = value
    assert isinstance(METRICS["goodput"].read(found, "transfer"), str)


def several():
    """Returns a record of three flows whose figures are multiplied by 1, 2 and 3. All take 2 s, and each
    begins a second after the previous one."""
    found = full_record()
    first = found.flows[0]
    found.flows = []
    for times in (1, 2, 3):
        flow = first.model_copy(deep=True, update={"name": f"transfer-{times}"})
        flow.goodput_bps, flow.min_rtt_us = times * 100e6, times * 100
        began_ns = (times - 1) * 1_000_000_000
        flow.span.began_ns, flow.span.ended_ns = began_ns, began_ns + 2_000_000_000
        flow.span.bytes, flow.ended_ns = times * 25_000_000, flow.span.ended_ns
        flow.rtt_us.mean, flow.completion_us.mean = times * 1000, times * 1000
        found.flows.append(flow)
    return found, [flow.name for flow in found.flows]


def together(found):
    """Lets the flows of `several` run at the same time."""
    for flow in found.flows:
        flow.span.began_ns, flow.span.ended_ns = 0, 2_000_000_000


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("goodput", 300),  # 150 MB in 4 s, while the flows' own rates have the sum 600
        ("ip_rate", 1500),
        ("wire_rate", 1536),
        ("packet_rate", 735),
        ("transaction_rate", 3 * 2 * 833.25 / 4),
        ("rtt", 2),
        ("completion_time", 3),
        ("min_rtt", 0.1),
        ("retransmissions", 9),
        ("marks", 33),
    ],
)
def test_a_group_of_flows_has_one_figure(name, value):
    assert METRICS[name].combined(*several()) == pytest.approx(value)


def test_a_group_has_its_mean_goodput_and_its_fairness():
    found, names = several()
    together(found)
    assert METRICS["goodput_per_flow"].combined(found, names) == pytest.approx(200)
    assert METRICS["fairness"].combined(found, names) == pytest.approx(6**2 / (3 * 14))
    assert METRICS["fairness"].combined(found, names[:1]) == 1
    for flow in found.flows:
        flow.goodput_bps = 0.0
    assert METRICS["fairness"].combined(found, names) == "no flow of the group moved a byte"
    found.flows[1].goodput_bps = None
    assert (
        METRICS["fairness"].combined(found, names) == "the record has no jain's fairness index of transfer-2"
    )


def test_hosts_have_what_their_flows_reach_together():
    found, names = several()
    senders = ["one", "two", "one"]
    # 150 MB in 4 s.
    assert METRICS["goodput_per_host"].combined(found, names, senders) == pytest.approx(150)
    assert METRICS["goodput_per_host"].combined(found, names) == pytest.approx(100)
    # The hosts have 100 MB in 4 s and 50 MB in 2 s.
    assert METRICS["host_fairness"].combined(found, names, senders) == pytest.approx(1)
    together(found)  # The hosts have 100 + 300 and 200 Mbit/s.
    assert METRICS["goodput_per_host"].combined(found, names, senders) == pytest.approx(300)
    assert METRICS["host_fairness"].combined(found, names, senders) == pytest.approx(6**2 / (2 * (16 + 4)))
    assert METRICS["goodput_per_host"].combined(found, names) == pytest.approx(200)


def test_flows_that_were_never_under_way_together_have_no_fairness():
    found, names = several()
    apart = "transfer-3 began when transfer-1 had ended, so they did not share anything"
    assert METRICS["fairness"].combined(found, names) == apart
    assert METRICS["host_fairness"].combined(found, names, names) == apart
    assert METRICS["fairness"].combined(found, names[:2]) == pytest.approx(9 / (2 * 5))


SHARES = st.lists(st.just(0.0) | st.floats(1e-6, 1e12), min_size=1, max_size=50).filter(any)


@given(SHARES)
def test_fairness_lies_between_one_share_of_n_and_one(shares):
    assert 1 / len(shares) * (1 - 1e-9) <= jain(shares) <= 1 + 1e-9


@given(SHARES, st.randoms(use_true_random=False), st.floats(1e-3, 1e3))
def test_fairness_depends_on_neither_the_order_nor_the_unit(shares, generator, unit):
    others = [share * unit for share in shares]
    generator.shuffle(others)
    assert jain(others) == pytest.approx(jain(shares))


@given(st.integers(1, 50), st.integers(0, 50), st.floats(1e-3, 1e9))
def test_fairness_of_equal_shares_is_the_part_of_the_flows_that_have_one(served, starved, share):
    """The index is k/n by definition, if k of n flows have equal shares and the others have none."""
    assert jain([share] * served + [0.0] * starved) == pytest.approx(served / (served + starved))


def test_percentiles_of_flows_do_not_combine():
    said = METRICS["rtt_p99"].combined(*several())
    assert said.endswith("can't be combined from theirs: look at one of them, such as transfer-1")


def test_part_of_a_group_is_no_group():
    found, names = several()
    found.flows[1].goodput_bps = None
    said = METRICS["goodput"].combined(found, names)
    assert said == "the record has no goodput of transfer-2"


def test_marks_that_a_sender_does_not_count_are_absent():
    found = record()
    flow = next(flow for flow in found.flows if flow.name == "transfer")
    flow.marks_pkts = None
    assert METRICS["marks"].read(found, "transfer").startswith("the sender's TCP does not count them")
    flow.connections = 0
    assert METRICS["marks"].read(found, "transfer") == "the record has no congestion marks of transfer"


def test_an_absent_radio_has_its_reason():
    found = full_record()
    host = found.hosts[0]
    host.radio.after.retries = None
    assert (
        METRICS["radio_retries"].read(found, host.name)
        == "the record has no retries of the radio of " + host.name
    )
    host.radio = None
    reason = "its machine's interfaces are no Wi-Fi interfaces of which a driver tells: eth0"
    found.absent = [Absence(metric="radio", object=host.name, reason=reason)]
    for name in ("radio_rate", "radio_signal", "radio_retries"):
        assert METRICS[name].read(found, host.name) == reason


def test_one_flow_is_itself():
    assert METRICS["rtt_p99"].combined(full_record(), ["transfer"]) == pytest.approx(2.5)


def test_what_a_host_and_a_interface_need_is_a_capability():
    for metric in METRICS.values():
        needed = {"host": "cpu", "link": "interfaces", "station": "channels", "controller": "controller"}.get(
            metric.of
        )
        if metric.name.startswith("radio_") and metric.of == "host":
            needed = "radio"  # an interface of a machine, and not a modelled station
        assert needed is None or metric.needs.root == needed, metric.name
        expected = ["hosts", "lab", "sim", "virtual"]
        if not metric.needs:
            expected = ["fluid", *expected]
        if metric.name == "owd_error" or needed == "radio":
            expected = ["hosts"]  # All hosts of one machine have the same clock.
        elif metric.of in ("link", "station"):
            expected = ["lab", "sim", "virtual"]
        elif metric.of == "controller":
            expected = ["lab"]
        elif metric.needs == Figure("mechanisms"):
            expected = ["lab", "sim", "virtual"]
        assert metric.backends() == expected, metric.name


@pytest.mark.parametrize(("arguments", "backend"), [((), "lab"), (("--backend", "sim"), "sim")])
def test_a_response_that_the_backend_cannot_measure_is_refused_by_name(
    nettrial, tmp_path, arguments, backend
):
    text = (FOLDER / "jumbo-ipv6" / "study.yaml").read_text()
    assert "metric: delay_difference_mean" in text
    (tmp_path / "study.yaml").write_text(text.replace("metric: delay_difference_mean", "metric: owd_error"))
    shutil.copy(FOLDER / "jumbo-ipv6" / "published.csv", tmp_path)
    for dry in ((), ("--dry-run",)):
        done = nettrial("run", *dry, str(tmp_path / "study.yaml"), *arguments)
        assert done.returncode == 2
        assert "study.yaml:62: responses.jitter.metric: owd_error\n" in done.stderr
        assert f"expected: a metric that the backend {backend} can measure" in done.stderr


def test_metrics_of_the_network_are_those_of_its_graph():
    study = load("jellyfish-mptcp").with_overrides({"switches": "25"})
    scenario = scenario_of(study, treatments(study)[0].levels)
    found = {name: METRICS[name].of_network(scenario) for name in METRICS if METRICS[name].of == "network"}
    graph = nx.Graph(link for link in graph_of(scenario).edges() if "host" not in "".join(link))
    paths = {
        pair: len(list(nx.all_shortest_paths(graph, *pair))) for pair in itertools.combinations(graph, 2)
    }
    assert found["shortest_paths"] == pytest.approx(sum(paths.values()) / len(paths))
    several = [pair for pair, count in paths.items() if count > 1]
    assert found["several_shortest_paths"] == pytest.approx(100 * len(several) / len(paths))
    assert found["switch_distance"] == pytest.approx(nx.average_shortest_path_length(graph))


def test_a_network_without_switches_has_no_paths_between_them():
    study = load("jumbo-ipv6").with_overrides({"network.topology": "pair"})
    scenario = scenario_of(study, treatments(study)[0].levels)
    assert (
        METRICS["shortest_paths"].of_network(scenario) == "the network has no shortest paths of two switches"
    )
    # The record does not contain this figure.
    assert "network" in METRICS["shortest_paths"].read(record(), "network")
