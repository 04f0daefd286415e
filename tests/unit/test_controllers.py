"""Controllers: the frames that they parse, the paths that they choose, and the resulting rules; without
os-ken."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
from dataclasses import replace

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from nettrial.controllers import frames, lldp
from nettrial.controllers.fabric import FabricDescription, Host
from nettrial.controllers.frames import FiveTuple
from nettrial.controllers.learning import Learning
from nettrial.controllers.paths import Links, next_hops, random_shortest_path, shortest_paths, tree
from nettrial.controllers.rules import OF_PAIR, Fabric, difference
from nettrial.fields import Wrong
from nettrial.study.network import ControllerSettings


def told(
    graph: nx.MultiGraph, application: str, mode: str = "proactive", addresses: int = 1
) -> FabricDescription:
    """Returns the configuration of a controller for a graph with one host on each switch; all hosts exchange
    packets."""
    hosts = tuple(
        Host(f"02:00:00:00:00:{switch:02x}", switch, 1, tuple(f"10.0.{n}.{switch}" for n in range(addresses)))
        for switch in sorted(graph)
    )
    pairs = tuple(
        (near.addresses[n], far.addresses[n])
        for near in hosts
        for far in hosts
        if near.switch < far.switch
        for n in range(addresses)
    )
    return FabricDescription(application, mode, 4, 7, 6653, len(graph), graph.number_of_edges(), hosts, pairs)  # type: ignore[arg-type]


def fabric(graph: nx.MultiGraph, application: str, mode: str = "proactive", addresses: int = 1) -> Fabric:
    """Returns a fabric that has discovered each link of a graph. Ports to other switches begin at 2."""
    made = Fabric(told(graph, application, mode, addresses))
    used = dict.fromkeys(graph, 1)
    for near, far in graph.edges():
        used[near] += 1
        used[far] += 1
        assert made.links.add((near, used[near]), (far, used[far]))
        assert made.links.add((far, used[far]), (near, used[near]))
    return made


def ring(count: int) -> nx.MultiGraph:
    return nx.MultiGraph([(number, number % count + 1) for number in range(1, count + 1)])


def deliver(made: Fabric, rules, start: int, packet: dict, choose: random.Random) -> list[int]:
    """Returns the switches that a packet passes, starting at `start`. Each switch applies its matching rule
    of the highest priority."""
    path = [start]
    while len(path) < 50:
        fits = [
            rule
            for rule in rules
            if rule.switch == path[-1] and all(packet.get(name) == value for name, value in rule.match)
        ]
        port = choose.choice(max(fits, key=lambda rule: rule.priority).ports)
        far = made.links._far.get((path[-1], port))
        if far is None:
            assert port == 1
            return path
        path.append(far[0])
    raise AssertionError(f"a loop: {path}")


graphs = st.builds(
    lambda seed, count: nx.MultiGraph(
        nx.relabel_nodes(nx.connected_watts_strogatz_graph(count, 4, 0.5, seed=seed), lambda node: node + 1)
    ),
    st.integers(0, 1000),
    st.integers(6, 12),
)


@settings(max_examples=15, deadline=None)
@given(graphs, st.sampled_from(["shortest_path", "ecmp", "k_shortest_paths"]), st.randoms())
def test_rules_lead_every_packet_to_its_host_by_a_shortest_path(graph, application, draw):
    made = fabric(graph, application)
    rules = list(made.proactive())
    for _ in range(10):
        near, far = draw.sample(made.description.hosts, 2)
        packet = {"eth_dst": far.mac, "eth_type": 0x0800}
        packet |= {"ipv4_src": near.addresses[0], "ipv4_dst": far.addresses[0]}
        path = deliver(made, rules, near.switch, packet, draw)
        assert path[-1] == far.switch
        assert len(path) - 1 == nx.shortest_path_length(graph, near.switch, far.switch)


@settings(max_examples=15, deadline=None)
@given(graphs, st.sampled_from(["shortest_path", "ecmp", "k_shortest_paths"]), st.randoms())
def test_a_flow_gets_rules_on_its_way_the_last_switch_first(graph, application, draw):
    made = fabric(graph, application, "reactive")
    near, far = draw.sample(made.description.hosts, 2)
    flow = FiveTuple(near.addresses[0], far.addresses[0], frames.TCP, 40_000, 80)
    rules = made.reactive(near.switch, flow)
    assert (rules[0].switch, rules[0].ports) == (far.switch, (1,))
    assert rules[-1].switch == near.switch
    assert len(rules) == nx.shortest_path_length(graph, near.switch, far.switch) + 1
    packet = {"eth_type": 0x0800, "ipv4_src": flow.source, "ipv4_dst": flow.destination}
    packet |= {"ip_proto": 6, "tcp_src": 40_000, "tcp_dst": 80}
    assert deliver(made, rules, near.switch, packet, draw)[-1] == far.switch


def test_pairs_of_addresses_take_different_paths_and_come_back_the_same_way():
    made = fabric(ring(6), "k_shortest_paths", addresses=2)
    rules = list(made.proactive())
    near, far = made.description.hosts[0], made.description.hosts[2]
    paths = []
    for number in range(2):
        there = {"eth_type": 0x0800, "ipv4_src": near.addresses[number], "ipv4_dst": far.addresses[number]}
        back = {"eth_type": 0x0800, "ipv4_src": far.addresses[number], "ipv4_dst": near.addresses[number]}
        paths.append(deliver(made, rules, 1, there, random.Random(1)))
        assert deliver(made, rules, 3, back, random.Random(1)) == paths[-1][::-1]
    assert paths == [[1, 2, 3], [1, 6, 5, 4, 3]]
    assert {rule.priority for rule in rules} >= {OF_PAIR}


def test_pairs_of_interfaces_take_different_paths():
    hosts = tuple(
        Host(f"02:00:00:00:0{port}:0{switch}", switch, port + 10, (f"10.0.{port}.{switch}",), before=port)
        for switch in (1, 3)
        for port in (0, 1)
    )
    made = fabric(ring(4), "k_shortest_paths")
    made = Fabric(replace(made.description, hosts=hosts, pairs=()))
    for near, far in (((1, 2), (2, 2)), ((2, 3), (3, 2)), ((3, 3), (4, 2)), ((4, 3), (1, 3))):
        made.links.add(near, far)
        made.links.add(far, near)
    paths = [made._path_of_pair(f"10.0.{port}.1", f"10.0.{port}.3") for port in (0, 1)]
    assert paths == [[1, 2, 3], [1, 4, 3]]


def test_equal_paths_share_a_group_and_a_link_that_fails_leaves_it():
    made = fabric(ring(4), "ecmp")
    before = list(made.proactive())
    match = (("eth_dst", made.description.hosts[2].mac),)
    [rule] = [rule for rule in before if (rule.switch, rule.match) == (1, match)]
    assert sorted(rule.ports) == [2, 3]
    in_force = {(rule.switch, rule.priority, rule.match): rule for rule in before}
    assert difference(in_force, before) == ([], [])
    assert made.links.remove((1, 2))
    assert not made.links.remove((1, 2))
    made.changed()
    new, gone = difference(in_force, list(made.proactive()))
    assert not gone
    assert {(rule.switch, rule.match): rule.ports for rule in new}[1, rule.match] == (3,)


def test_parallel_links_are_equal_paths():
    made = fabric(nx.MultiGraph([(1, 2), (1, 2)]), "ecmp")
    ports = {rule.ports for rule in made.proactive() if rule.switch == 1}
    assert {tuple(sorted(each)) for each in ports} == {(1,), (2, 3)}
    assert len(made.links) == 2
    one = fabric(nx.MultiGraph([(1, 2), (1, 2)]), "shortest_path")
    assert {rule.ports for rule in one.proactive() if rule.switch == 1} == {(1,), (2,)}


def test_a_link_counts_once_both_directions_are_found():
    links = Links()
    links.add((1, 2), (2, 2))
    assert (len(links), links.has((2, 2)), list(links.graph().edges)) == (0, True, [])
    links.add((2, 2), (1, 2))
    assert (len(links), list(links.graph().edges)) == (1, [(1, 2)])


@settings(max_examples=15, deadline=None)
@given(graphs)
def test_a_spanning_tree_reaches_all_without_a_loop(graph):
    made = fabric(graph, "learning", "reactive")
    ports = tree(made.graph)
    kept = [near for near, far in made.links._far.items() if near in ports and far in ports]
    edges = {frozenset((near[0], made.links._far[near][0])) for near in kept}
    assert len(edges) == len(graph) - 1
    assert nx.is_tree(nx.Graph(tuple(edge) for edge in edges))


def test_switches_learn_from_what_comes():
    learning = Learning()
    here, there = "02:00:00:00:00:01", "02:00:00:00:00:02"
    assert learning.learn(1, 4, frames.Frame("ff:ff:ff:ff:ff:ff", here, 0x0806, None, None)) is None
    assert learning.learn(1, 5, frames.Frame(here, there, 0x0800, None, None)) == 4
    assert learning.learn(2, 5, frames.Frame(here, there, 0x0800, None, None)) is None
    learning.forget()
    assert learning.learn(1, 5, frames.Frame(here, there, 0x0800, None, None)) is None


def test_next_hops_and_paths_where_there_is_no_way():
    graph = nx.Graph([(1, 2), (3, 4)])
    assert next_hops(graph, 9) == {}
    assert next_hops(graph, 2) == {1: [2]}
    assert shortest_paths(graph, 1, 3, 2) == []
    assert shortest_paths(graph, 2, 2, 2) == [[2]]
    assert random_shortest_path(graph, 1, 3, random.Random(1)) is None


def test_a_frame_of_lldp_says_who_sent_it_where():
    data = lldp.frame(2**63 + 5, 70_000)
    assert lldp.read(data) == (2**63 + 5, 70_000)
    for cut in range(len(data) - 1):
        assert lldp.read(data[:cut]) in (None, (2**63 + 5, 70_000))
    assert lldp.read(data[:12] + b"\x08\x00" + data[14:]) is None
    assert lldp.read(data[:16] + b"\x04" + data[17:]) is None


ETHERNET = bytes.fromhex("020000000002 020000000001")


def test_what_is_read_of_packets():
    v4 = bytes.fromhex("4500002800004000 4006 0000 0a000001 0a000002".replace(" ", ""))
    tcp = struct.pack("!HH", 1000, 80) + bytes(16)
    read = frames.read(ETHERNET + b"\x08\x00" + v4 + tcp)
    assert read.flow == FiveTuple("10.0.0.1", "10.0.0.2", 6, 1000, 80)
    assert (read.destination, read.is_to_all) == ("02:00:00:00:00:02", False)
    later = v4[:6] + b"\x00\x10" + v4[8:]
    assert frames.read(ETHERNET + b"\x08\x00" + later + tcp).flow is None
    v6 = b"\x60" + bytes(5) + bytes([frames.ICMPV6, 255]) + bytes(15) + b"\x01" + bytes(15) + b"\x02"
    solicited = frames.read(ETHERNET + b"\x86\xdd" + v6 + bytes([135]) + bytes(7) + bytes(15) + b"\x09")
    assert solicited.requested == "::9"
    assert solicited.flow == FiveTuple("::1", "::2", frames.ICMPV6)
    arp = bytes(24) + bytes([10, 0, 0, 7]) + bytes(18)
    assert frames.read(b"\xff" * 6 + ETHERNET[6:] + b"\x08\x06" + arp).requested == "10.0.0.7"


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=100), st.sampled_from([b"\x08\x00", b"\x86\xdd", b"\x08\x06", b"\x88\xcc"]))
def test_no_frame_is_more_than_cut_off(tail, ethertype):
    lldp.read(ETHERNET + ethertype + tail)
    with contextlib.suppress(ValueError):
        frames.read(ETHERNET + ethertype + tail)


def test_the_engine_tells_a_line():
    line = (
        '{"application": "ecmp", "mode": "proactive", "paths": 8, "listen": 6653, "switches": 1, "links": 0,'
        ' "hosts": [{"mac": "02:00:00:00:00:01", "switch": 1, "port": 1, "addresses": ["10.0.0.1"],'
        ' "before": 0}],'
        ' "pairs": [["10.0.0.1", "10.0.0.2"]]}'
    )
    read = FabricDescription.of(line)
    assert read.hosts == (Host("02:00:00:00:00:01", 1, 1, ("10.0.0.1",)),)
    assert (read.seed, read.pairs) == (0, (("10.0.0.1", "10.0.0.2"),))
    with pytest.raises(TypeError):
        FabricDescription.of(line.replace("listen", "listens"))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"command": ["a"], "address": "tcp:a:1"}, "one of the two"),
        ({"command": ["a"], "mode": "reactive"}, "none beside `command`"),
        ({"address": "tcp:a:1", "application": "ecmp"}, "none beside `address`"),
    ],
)
def test_a_controller_of_ones_own_has_no_settings_of_applications(given, expected):
    with pytest.raises(ValidationError) as refused:
        ControllerSettings.model_validate(given)
    assert Wrong.of(refused.value)[0].expected == expected
    assert ControllerSettings.model_validate({"command": ["a"], "settle": "2 s"}).application is None


def test_a_connection_that_tells_nothing_ends(monkeypatch):
    pytest.importorskip("os_ken.base.app_manager")
    from os_ken import cfg

    from nettrial.controllers import admission

    cfg.CONF([], project="os_ken")
    monkeypatch.setattr(admission, "OPENING_SECONDS", -1.0)
    monkeypatch.setattr(admission, "_LOOK_SECONDS", 0.01)
    listener = admission.SwitchListener(("127.0.0.1", 0))
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    with socket.create_connection(listener.server.getsockname(), 300) as stranger:
        while stranger.recv(100):  # It is greeted, and then hung up on.
            pass
