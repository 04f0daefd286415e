"""The plan of a study: treatments, the order of trials, and the scenarios that follow from levels."""

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettrial.design import plan, scenario_of, traffic_seconds, treatments
from nettrial.errors import BadInput
from nettrial.scenario import Scenario
from nettrial.study import load

STUDY = load("jumbo-ipv6")


def in_blocks(trials):
    return [list(block) for _, block in groupby(trials, key=lambda trial: trial.block)]


@given(replicates=st.integers(1, 8), seed=st.integers(0, 2**63))
def test_every_block_holds_every_treatment_once(replicates, seed):
    trials = plan(STUDY, replicates, seed)
    assert [trial.number for trial in trials] == list(range(1, 12 * replicates + 1))
    blocks = in_blocks(trials)
    assert [block[0].block for block in blocks] == list(range(1, replicates + 1))
    every = sorted(tuple(treatment.levels.items()) for treatment in treatments(STUDY))
    assert all(sorted(tuple(trial.treatment.items()) for trial in block) == every for block in blocks)


@given(seed=st.integers(0, 2**32), other=st.integers(0, 2**32))
def test_the_seed_alone_gives_the_order(seed, other):
    assert plan(STUDY, 5, seed) == plan(STUDY, 5, seed)
    # The probability that two of (12!)^5 orders are equal is negligible.
    assert (plan(STUDY, 5, seed) == plan(STUDY, 5, other)) == (seed == other)


def test_blocks_have_orders_of_their_own():
    orders = [[trial.treatment for trial in block] for block in in_blocks(plan(STUDY, 5, 1))]
    assert all(orders[0] != order for order in orders[1:])


def test_a_seed_keeps_its_meaning():
    """A published seed must give the same order in later versions, too."""
    first = plan(STUDY, 1, 7)[0]
    assert first.treatment == {"mtu": "4000 B", "sender": "classic", "receiver": "classic"}


def test_treatments_are_every_combination():
    found = [tuple(treatment.levels.values()) for treatment in treatments(STUDY)]
    assert len(set(found)) == len(found) == 3 * 2 * 2
    assert found[:2] == [
        ("1500 B", "linux-cubic", "linux-cubic"),
        ("1500 B", "linux-cubic", "classic"),
    ]


def test_a_scenario_has_the_treatments_levels_and_the_studys_settings():
    levels = {"mtu": "9000 B", "sender": "classic", "receiver": "linux-cubic"}
    scenario = scenario_of(STUDY, levels)
    nodes = {node.name: node for node in scenario.nodes}
    assert {name: node.kind.root for name, node in nodes.items()} == {
        "sender": "host",
        "receiver": "host",
        "router": "router",
    }
    assert nodes["sender"].stack.name == "classic"
    assert nodes["receiver"].stack.name == "linux-cubic"
    assert nodes["router"].stack is None
    ends = [end for link in scenario.links for end in link.ends]
    assert {end.mtu.root for end in ends} == {"9000 B"}
    assert all("/64" in end.addresses[0].root for end in ends)
    assert {(link.rate.root, link.queue.root, link.delay.root) for link in scenario.links} == {
        ("1 Gbit/s", "1000 packets", "0 ns")
    }
    transfer, probe = scenario.workload
    assert (transfer.from_, transfer.to, transfer.ip.root) == ("sender", "receiver", 6)
    assert transfer.traffic.root.size.root == "5 MB"
    assert probe.traffic.root.interval.root == "5 ms"
    assert scenario.measurement.cpu == ["sender", "receiver"]
    text = scenario.model_dump_json(by_alias=True, exclude_none=True)
    assert Scenario.model_validate_json(text) == scenario


def test_levels_of_other_settings_reach_the_scenario():
    study = STUDY.with_overrides({"network.offloads.tso": "true,false", "network.ip": "4"})
    scenario = scenario_of(study, {"network.offloads.tso": "true"})
    assert all(node.offloads.tso for node in scenario.nodes)
    assert {flow.ip.root for flow in scenario.workload} == {4}
    assert scenario.links[0].ends[0].addresses[0].root == "10.0.0.1/24"


def test_a_hosts_own_congestion_control_goes_before_its_stacks():
    study = STUDY.with_overrides({"hosts.sender.congestion_control": "reno,lia"})
    scenario = scenario_of(study, {"hosts.sender.congestion_control": "lia"})
    stacks = {node.name: node.stack for node in scenario.nodes if node.stack}
    assert stacks["sender"].congestion_control == "lia"
    assert stacks["receiver"].congestion_control == "cubic"
    assert stacks["sender"].name == stacks["receiver"].name == "linux-cubic"


def test_a_smaller_link_in_the_middle_and_silent_routers_reach_the_scenario():
    levels = {"mtu": "9000 B", "middle": "1500 B", "icmp": "filtered"}
    scenario = scenario_of(load("jumbo-path"), levels)
    mtus = {frozenset((end.node, end.mtu.root) for end in link.ends) for link in scenario.links}
    assert mtus == {
        frozenset({("sender", "9000 B"), ("left", "9000 B")}),
        frozenset({("left", "1500 B"), ("right", "1500 B")}),
        frozenset({("right", "9000 B"), ("receiver", "9000 B")}),
    }
    assert {node.name for node in scenario.nodes if node.filters_icmp} == {"left", "right"}
    clean = scenario_of(load("jumbo-path").with_overrides({"icmp": "answered"}), {})
    assert not any(node.filters_icmp for node in clean.nodes)


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ({"network.links.fabric.mtu": "1500"}, r"network\.links\.fabric\.mtu=1500: 1500 B"),
        ({"network.topology": "pair", "network.icmp": "filtered"}, r"network\.icmp=filtered: filtered"),
    ],
)
def test_settings_of_routers_that_are_not_there_are_refused(overrides, told):
    with pytest.raises(BadInput, match=told):
        STUDY.with_overrides(overrides)


def test_levels_that_do_not_fit_together_name_the_treatment():
    study = STUDY.with_overrides({"network.topology": "routed,switched"})
    study.hosts["third"] = study.hosts["sender"]
    with pytest.raises(BadInput, match=r"treatment network\.topology routed: hosts: sender, receiver, third"):
        scenario_of(study, {"network.topology": "routed"})


@pytest.mark.parametrize(
    ("overrides", "seconds"),
    [
        ({}, 2),
        ({"workload.probe.start": "1 s"}, 3),
        ({"workload.transfer.traffic.duration": "90 s"}, 90),
    ],
)
def test_traffic_lasts_until_its_last_flow_ends(overrides, seconds):
    study = STUDY.with_overrides(overrides)
    assert traffic_seconds(scenario_of(study, {})) == seconds


def test_a_transfer_of_a_size_lasts_as_the_slowest_link_says():
    scenario = scenario_of(STUDY.with_overrides({"network.rate": "100 Mbit/s"}), {})
    scenario.workload = [scenario.workload[0]]
    scenario.workload[0].traffic.root.duration = None
    assert traffic_seconds(scenario) == pytest.approx(5e6 * 8 / 100e6)
