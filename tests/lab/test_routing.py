"""Packets take the paths that the routing policy prescribes, as the interfaces' counters show."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_interface
from typing import Any

import pytest

from nettrial.scenario import Record, Scenario
from nettrial.stacks import STACKS

Run = Callable[[Scenario], Record]
IDLE_PKTS = 30
"""The highest number of frames that neighbour discovery, path MTU probes and the like send on an idle
link."""


class Network:
    """Nodes and links, which a test adds one by one. Each link is an IP network; all links with an end at a
    switch together are one."""

    def __init__(self, ip: int, hosts: list[str], routers: str = "", switches: str = "") -> None:
        self._ip = ip
        stack = STACKS["linux-cubic"].stack.model_dump()
        self._nodes: list[dict[str, Any]] = [{"name": name, "kind": "host", "stack": stack} for name in hosts]
        self._nodes += [{"name": name, "kind": "router"} for name in routers]
        self._nodes += [{"name": name, "kind": "switch"} for name in switches]
        self._switches = switches
        self._links: list[dict[str, Any]] = []

    def link(self, *nodes: str) -> None:
        """Joins two nodes. The interface of each has the other's name, with a number if there are several."""
        number = len(self._links)
        switched = any(node in self._switches for node in nodes)
        ends = []
        for place, (node, other) in enumerate([nodes, nodes[::-1]]):
            network, host = (0, 1 + 2 * number + place) if switched else (1 + number, 1 + place)
            own = f"10.0.{network}.{host}/24" if self._ip == 4 else f"fd00:{network:x}::{host:x}/64"
            taken = sum(node in link["names"] and other in link["names"] for link in self._links)
            ends.append(
                {
                    "node": node,
                    "interface": f"{other}{taken or ''}",
                    "mtu": "1500 B",
                    "addresses": [] if node in self._switches else [own],
                }
            )
        self._links.append({"names": nodes, "ends": ends})

    def address(self, node: str, other: str) -> str:
        """Returns the address of the interface of `node` towards `other`."""
        ends = [end for link in self._links for end in link["ends"]]
        found = next(end for end in ends if (end["node"], end["interface"]) == (node, other))
        return str(ip_interface(found["addresses"][0]).ip)

    def scenario(self, routing: dict[str, Any], flows: int = 1, transport: str = "tcp") -> Scenario:
        """Returns a scenario with transfers from `a` to `b`, which last a second."""
        flow = {
            "from": "a",
            "to": "b",
            "transport": transport,
            "ip": self._ip,
            "traffic": {"kind": "transfer", "duration": "1 s"},
        }
        shape = {"rate": "20 Mbit/s", "queue": "100 packets"}
        return Scenario.model_validate(
            {
                "format": 1,
                "nodes": self._nodes,
                "links": [{"ends": link["ends"], **shape} for link in self._links],
                "routing": routing,
                "workload": [{**flow, "name": f"flow-{number}"} for number in range(flows)],
                "measurement": {"interval": "100 ms", "queue_drops": "allowed"},
            }
        )


def frames(record: Record) -> dict[str, int]:
    """Returns the number of frames that each interface sent, by NODE.INTERFACE."""
    return {f"{end.node}.{end.interface}": end.frames_pkts for end in record.ends}


def busy(record: Record, ends: str) -> dict[str, bool]:
    """Returns, by interface, whether it sent more frames than an idle link."""
    sent = frames(record)
    return {end: sent[end] > IDLE_PKTS for end in ends.split()}


def diamond(ip: int) -> Network:
    """Returns the network a - l - (u or v) - r - b."""
    network = Network(ip, ["a", "b"], routers="luvr")
    for ends in ("al", "lu", "lv", "ur", "vr", "rb"):
        network.link(*ends)
    return network


both_versions = pytest.mark.parametrize("ip", [4, 6])


@both_versions
def test_the_shortest_path_named_first_is_taken_there_and_back(ip: int, run: Run) -> None:
    record = run(diamond(ip).scenario({"policy": "shortest_path"}, flows=4))
    assert all(busy(record, "l.u u.r r.u u.l").values())
    assert not any(busy(record, "l.v v.r r.v v.l").values())
    assert all(check.passed for check in record.checks)


@both_versions
def test_equal_paths_share_the_flows(ip: int, run: Run) -> None:
    # All 20 flows take the same path by chance with a probability of 1 in 500,000.
    record = run(diamond(ip).scenario({"policy": "ecmp", "seed": 1}, flows=20))
    assert all(busy(record, "l.u u.r l.v v.r").values())
    # Acknowledgments are hashed independently of the data.
    assert all(busy(record, "r.u u.l r.v v.l").values())


@both_versions
def test_a_flow_keeps_to_one_of_equal_paths(ip: int, run: Run) -> None:
    record = run(diamond(ip).scenario({"policy": "ecmp", "seed": 1}))
    assert sorted(busy(record, "l.u l.v").values()) == [False, True]


@both_versions
def test_routers_in_a_spanning_tree_leave_the_link_that_closes_the_ring(ip: int, run: Run) -> None:
    # The spanning tree's root is l. Nodes u and v keep their links to it, and r keeps its link to u.
    network = Network(ip, ["a", "b"], routers="luvr")
    for ends in ("av", "lu", "lv", "ur", "vr", "rb"):
        network.link(*ends)
    record = run(network.scenario({"policy": "spanning_tree"}))
    assert all(busy(record, "v.l l.u u.r r.u u.l l.v").values())
    assert not any(busy(record, "v.r r.v").values())
    record = run(network.scenario({"policy": "shortest_path"}))
    assert busy(record, "v.r l.u") == {"v.r": True, "l.u": False}


@both_versions
@pytest.mark.parametrize("transport", ["tcp", "mptcp"])
def test_each_pair_of_addresses_keeps_to_its_path(ip: int, transport: str, run: Run) -> None:
    """The paths from l to r pass u, v, or w and x. Both hosts have three interfaces to their router."""
    network = Network(ip, ["a", "b"], routers="luvwxr")
    for ends in ("al", "al", "al", "rb", "rb", "rb", "lu", "ur", "lv", "vr", "lw", "wx", "xr"):
        network.link(*ends)
    scenario = network.scenario({"policy": "k_shortest_paths", "paths": 8}, transport=transport)
    record = run(scenario)
    others = "l.v v.r r.v v.l l.w w.x x.r r.x x.w w.l a.l1 a.l2 b.r1 b.r2"
    assert all(busy(record, "a.l l.u u.r r.b b.r r.u u.l l.a").values())
    assert set(busy(record, others).values()) == {transport == "mptcp"}
    if transport == "mptcp":
        pairs = [(address(subflow.local), address(subflow.remote)) for subflow in subflows(record)]
        assert len(pairs) == 3
        expected = {
            (network.address("a", f"l{number}"), network.address("b", f"r{number}")) for number in ("", 1, 2)
        }
        assert set(pairs) == expected
        # The bound is the sum of the three paths' rates, less headers.
        assert (record.flows[0].goodput_bps or 0) > 45e6
    scenario.routing.root.paths = 1  # type: ignore[union-attr]
    record = run(scenario)
    assert not any(busy(record, "l.v v.l l.w w.l").values())
    assert busy(record, "a.l2")["a.l2"] == (transport == "mptcp")


def address(socket: str) -> str:
    return socket.rpartition(":")[0].strip("[]")


def subflows(record: Record) -> list[Any]:
    return record.flows[0].subflows or []


@both_versions
def test_subflows_of_two_addresses_on_one_link_take_a_path_each(ip: int, run: Run) -> None:
    scenario = diamond(ip).scenario({"policy": "k_shortest_paths", "paths": 8}, transport="mptcp")
    for link in scenario.links:
        for end in link.ends:
            if end.node in ("a", "b"):
                own = ip_interface(end.addresses[0].root)
                end.addresses.append(end.addresses[0].__class__(f"{own.ip + 16}/{own.network.prefixlen}"))
    record = run(scenario)
    pairs = {(address(subflow.local), address(subflow.remote)) for subflow in subflows(record)}
    near, far = ([ip_interface(each.root).ip for each in addresses_of(scenario, host)] for host in "ab")
    assert pairs == {(str(one), str(other)) for one, other in zip(near, far, strict=True)}
    assert all(busy(record, "l.u u.r l.v v.r r.u u.l r.v v.l").values())


def addresses_of(scenario: Scenario, host: str) -> list[Any]:
    ends = (end for link in scenario.links for end in link.ends if end.node == host)
    return [each for end in ends for each in end.addresses]


@both_versions
@pytest.mark.parametrize("count", [2, 8])
def test_subflows_join_the_addresses_pair_by_pair(ip: int, count: int, run: Run) -> None:
    """Each pair of addresses has its own router and no other path."""
    routers = "lmnopqrs"[:count]
    network = Network(ip, ["a", "b"], routers=routers)
    for router in routers:
        network.link("a", router)
        network.link(router, "b")
    record = run(network.scenario({"policy": "shortest_path"}, transport="mptcp"))
    assert len(subflows(record)) == count
    assert all(busy(record, " ".join(f"a.{router} {router}.b {router}.a" for router in routers)).values())
    assert all(check.passed for check in record.checks)


@both_versions
@pytest.mark.parametrize(("own", "other"), [(1, 3), (3, 1), (2, 3)])
def test_the_accepting_host_has_a_subflow_for_each_of_its_addresses(
    ip: int, own: int, other: int, run: Run
) -> None:
    network = Network(ip, ["a", "b"], routers="r")
    for ends in ["ar"] * own + ["rb"] * other:
        network.link(*ends)
    record = run(network.scenario({"policy": "shortest_path"}, transport="mptcp"))
    sources = [address(subflow.local) for subflow in subflows(record)]
    assert len(sources) == other
    assert len(set(sources)) == min(own, other)


@both_versions
def test_switches_in_a_ring_do_not_loop_frames(ip: int, run: Run) -> None:
    network = Network(ip, ["a", "b"], switches="stu")
    for ends in ("as", "st", "su", "tu", "bu"):
        network.link(*ends)
    record = run(network.scenario({"policy": "shortest_path"}))
    sent = frames(record)
    assert busy(record, "s.u u.b u.s") == {"s.u": True, "u.b": True, "u.s": True}
    # The spanning tree's root is s, and t and u keep their links to it. Kernels send some multicast frames by
    # themselves.
    assert max(sent["t.u"], sent["u.t"]) < 10
    # The frames that s floods to t return on no link.
    assert sent["s.t"] < IDLE_PKTS
    assert all(check.passed for check in record.checks)


@both_versions
def test_hosts_with_two_interfaces_on_one_switch_use_both(ip: int, run: Run) -> None:
    network = Network(ip, ["a", "b"], switches="s")
    for ends in ("as", "as", "bs", "bs"):
        network.link(*ends)
    record = run(network.scenario({"policy": "shortest_path"}, transport="mptcp"))
    assert len(subflows(record)) == 2
    assert all(busy(record, "a.s a.s1 s.b s.b1 b.s b.s1").values())
