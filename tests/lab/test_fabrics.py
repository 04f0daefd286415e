"""Fabrics in the lab: the network that a study's topology describes carries traffic, over IPv4 and IPv6."""

from collections.abc import Callable
from pathlib import Path

import pytest

from nettrial.scenario import Record, Scenario
from tests.lab.fabric_study import fabric_scenario


@pytest.fixture
def fabric(tmp_path: Path) -> Callable[..., Scenario]:
    """Returns a function that makes a scenario with this topology."""

    def make(
        topology: str, parameters: dict[str, int], sender: str, ip: int, forwarding: str = "routers"
    ) -> Scenario:
        network = {
            "topology": topology,
            "parameters": parameters,
            "forwarding": forwarding,
            "ip": ip,
            "mtu": "9000 B",
            "rate": "200 Mbit/s",
            "links": {"fabric": {"rate": "50 Mbit/s", "mtu": "4000 B"}},
        }
        transfer = {"kind": "transfer", "duration": "500 ms"}
        flow = {"flow": "data", "from": sender, "to": "host-1", "transport": "tcp", "traffic": transfer}
        return fabric_scenario(tmp_path, network, flow)

    return make


@pytest.mark.parametrize("ip", [4, 6])
@pytest.mark.parametrize(
    ("topology", "parameters", "sender"),
    [
        ("parking-lot", {"switches": 3}, "host-3"),
        ("leaf-spine", {"leaves": 2, "spines": 2}, "host-2"),
        ("fat-tree", {"k": 4, "hosts": 8}, "host-8"),
        ("jellyfish", {"switches": 8, "ports": 4, "degree": 3}, "host-5"),
        ("xpander", {"switches": 8, "ports": 4, "degree": 3}, "host-5"),
    ],
)
def test_traffic_crosses_a_fabric_at_the_rate_and_mtu_of_its_links(
    topology: str,
    parameters: dict[str, int],
    sender: str,
    ip: int,
    fabric: Callable[..., Scenario],
    run: Callable[[Scenario], Record],
) -> None:
    record = run(fabric(topology, parameters, sender, ip))
    assert [check for check in record.checks if not check.passed] == []
    assert {check.found for check in record.checks if check.name == "path_mtu"} == {"4000 B"}
    # The narrow links are the bottleneck; a host's own link is four times as fast.
    flow = record.flows[0]
    assert 0 < flow.bytes * 8 / flow.active_ns * 1e9 < 50e6


@pytest.mark.parametrize("ip", [4, 6])
def test_bridges_in_a_row_are_one_network(
    ip: int, fabric: Callable[..., Scenario], run: Callable[[Scenario], Record]
) -> None:
    scenario = fabric("parking-lot", {"switches": 3}, "host-3", ip, "bridges")
    for link in scenario.links:
        for end in link.ends:
            end.mtu.root = "4000 B"  # A bridge can't report that a link behind it has a smaller MTU.
    record = run(scenario)
    assert [check for check in record.checks if not check.passed] == []
    assert record.flows[0].bytes > 0
