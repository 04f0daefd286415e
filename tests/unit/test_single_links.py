"""Settings of single links and of directions: whose they are, what is refused, and what they do in the
simulator and in the fluid model."""

import json

import networkx as nx
import pytest
import yaml

from nettrial.backends import Backend
from nettrial.design import resolve, scenario_of, slowest_transfer_bps
from nettrial.errors import BadInput
from nettrial.scenario import TransferTraffic
from nettrial.study import load
from nettrial.units import DURATION, RATE
from tests.asymmetric import CORE, DOWN_MBPS, RTT_MS, UP_MBPS, asymmetric

SLOW, FAST = {"core": "2 Mbit/s"}, {"core": "4 Mbit/s"}


@pytest.fixture(scope="module")
def simulator():
    with Backend("sim") as started:
        yield started


def links_of(scenario):
    """Returns the rate and the delay of each direction of the links, by its nodes."""
    found = {}
    for link in scenario.links:
        one, other = (end.node for end in link.ends)
        rate, delay = RATE.parse(link.rate.root) / 1e6, DURATION.parse(link.delay.root) / 1e6
        found[one, other] = rate, delay
        back = link.reverse
        found[other, one] = (
            RATE.parse(back.rate.root) / 1e6 if back and back.rate else rate,
            DURATION.parse(back.delay.root) / 1e6 if back and back.delay else delay,
        )
    return found


def test_a_link_has_the_settings_of_its_name_then_of_its_kind_then_of_the_network(tmp_path):
    links = {"core": CORE, "host": {"delay": "3 ms"}, "left-client": {"rate": "7 Mbit/s"}}
    found = links_of(scenario_of(asymmetric(tmp_path, "sim", links=links), FAST))
    assert found == {
        ("left", "right"): (4, 5),
        ("right", "left"): (10, 20),
        ("client", "left"): (7, 3),
        ("left", "client"): (7, 3),
        ("server", "right"): (100, 3),
        ("right", "server"): (100, 3),
    }


@pytest.mark.parametrize(
    ("mtu", "tunnel", "inside"),
    [("1500 B", "4in6", "1460 B"), ("1600 B", "6in4", "1580 B"), ("1500 B", "nat64", "1520 B")],
)
def test_a_tunnel_takes_its_header_from_the_mtu_of_its_link(tmp_path, mtu, tunnel, inside):
    links = {"core": {**CORE, "mtu": mtu, "tunnel": tunnel}}
    found = scenario_of(asymmetric(tmp_path, "sim", links=links), SLOW)
    tunnels = {link.ends[0].node: link.tunnel and link.tunnel.root for link in found.links}
    mtus = {link.ends[0].node: {end.mtu.root for end in link.ends} for link in found.links}
    assert tunnels == {"left": tunnel, "client": None, "server": None}
    assert mtus == {"left": {inside}, "client": {"1500 B"}, "server": {"1500 B"}}


@pytest.mark.parametrize(
    ("link", "between"),
    [("left-right", None), ("right-left", None), ("a", ["left", "right"]), ("a", ["right", "left"])],
)
def test_the_direction_is_that_in_which_a_link_is_named(tmp_path, link, between):
    own = {"reverse": {"rate": "10 Mbit/s"}, **({"between": between} if between else {})}
    found = links_of(scenario_of(asymmetric(tmp_path, "sim", link, links={link: own}), SLOW))
    one, other = between or link.split("-")
    assert (found[one, other][0], found[other, one][0]) == (2, 10)


def test_links_to_hosts_have_a_rate_down_and_a_rate_up(tmp_path):
    links = {"core": CORE, "host": {"rate": "1 Mbit/s", "reverse": {"rate": "10 Mbit/s"}}}
    found = links_of(scenario_of(asymmetric(tmp_path, "sim", links=links), SLOW))
    assert (found["client", "left"][0], found["left", "client"][0]) == (1, 10)
    assert (found["server", "right"][0], found["right", "server"][0]) == (1, 10)


def test_a_link_that_the_study_does_not_mention_can_be_set(tmp_path):
    study = asymmetric(tmp_path, "sim").with_overrides(
        {"network.links.left-client.rate": "3 Mbit/s,6 Mbit/s"}
    )
    assert study.factors["network.links.left-client.rate"].levels == ["3 Mbit/s", "6 Mbit/s"]
    levels = {**SLOW, "network.links.left-client.rate": "6 Mbit/s"}
    assert links_of(scenario_of(study, levels))["client", "left"] == (6, 1)
    study = asymmetric(tmp_path, "sim").with_overrides({"network.links.left-client.reverse.rate": "8 Mbit/s"})
    assert links_of(scenario_of(study, SLOW))["client", "left"] == (8, 1)
    study = asymmetric(tmp_path, "sim").with_overrides({"network.links.core.reverse.rate": "5 Mbit/s"})
    assert links_of(scenario_of(study, SLOW))["right", "left"] == (5, 20)


@pytest.mark.parametrize(
    ("links", "told"),
    [
        ({"cor": {}}, "network.links.cor: no link 'cor'"),
        ({"left-rigth": {}}, "did you mean 'left-right'?"),
        ({"left.right": {}}, "host, fabric, or a link's name: letters, digits, - and _"),
        ({"a": {"between": ["left", "rigth"]}}, "links.a.between.1: rigth"),
        ({"a": {"between": ["client", "server"]}}, "expected: two nodes with a link between them"),
        ({"left-right": {}}, "core is the same link"),
        ({"a": {"between": ["left", "client"], "speed": 1}}, "links.a.speed: unknown field"),
        ({"a": {"between": ["left", "client"], "reverse": {"mtu": 9000}}}, "reverse.mtu: unknown field"),
    ],
)
def test_what_is_no_link_is_refused_by_name(tmp_path, links, told):
    with pytest.raises(BadInput) as caught:
        asymmetric(tmp_path, "sim", links={"core": CORE, **links})
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("links", "place"),
    [
        ({"host": {"reverse": {"rate": "1 kbit/s"}}}, "network.links.host.reverse.rate"),
        ({"a": {"between": ["left", "client"], "mtu": 10}}, "network.links.a.mtu"),
        (
            {"left-client": {"delay": "1 ns"}, "core": {**CORE, "reverse": {"queue": "0 packets"}}},
            "core.reverse.queue",
        ),
    ],
)
def test_a_problem_of_a_direction_has_its_place_in_the_study(tmp_path, simulator, links, place):
    resolved = resolve(asymmetric(tmp_path, "sim", links={"core": CORE, **links}), SLOW)
    problem = simulator.check(resolved.scenario)[0]
    assert resolved.origins.where(problem.pointer).endswith(place)


def test_a_rate_in_one_direction_alone_is_refused(tmp_path):
    one_way = {"core": CORE, "client-left": {"reverse": {"rate": "9 Mbit/s"}}}
    with pytest.raises(BadInput) as caught:
        asymmetric(tmp_path, "sim", rate=None, queue=None, links=one_way)
    assert "network.links.client-left.reverse.rate: 9 Mbit/s" in str(caught.value)


def test_parallel_links_have_numbers(tmp_path):
    def rates(link, **links):
        parallel = {"topology": "parallel", "parameters": {"links": 2}}
        made = scenario_of(asymmetric(tmp_path, "sim", link, **parallel, links=links), SLOW)
        return [RATE.parse(link.rate.root) / 1e6 for link in made.links]

    assert rates("server-client-2") == [100, 2]
    assert rates("both", both={"between": ["client", "server"]}) == [2, 2]
    with pytest.raises(BadInput, match="no link 'client-server'"):
        rates("client-server")


def test_a_name_that_means_two_links_is_refused(tmp_path):
    """The link from a-b to c and that from a to b-c."""
    graph = nx.Graph([("a-b", "c"), ("a", "b-c"), ("c", "a")])
    (tmp_path / "graph.json").write_text(json.dumps(nx.node_link_data(graph, edges="links")))
    asymmetric(tmp_path, "sim")
    data = yaml.safe_load((tmp_path / "study.yaml").read_text())
    data["network"] |= {"topology": "file", "parameters": {"path": "graph.json"}, "links": {"a-b-c": {}}}
    data["hosts"] = {"every": {"stack": "linux-cubic"}}
    data["factors"]["core"]["sets"] = "network.links.a-b-c.rate"
    for flow in data["workload"]:
        flow["from"], flow["to"] = "host-1", "host-2"
    (tmp_path / "study.yaml").write_text(yaml.safe_dump(data))
    with pytest.raises(BadInput, match="several have it: say its nodes with `between`"):
        load(str(tmp_path / "study.yaml"))


def test_directions_carry_their_rates_and_delays_in_the_simulator(tmp_path, simulator):
    scenario = scenario_of(asymmetric(tmp_path, "sim", seconds=8), SLOW)
    record = simulator.run("trial", scenario, 60)
    up, down, ping = record.flows
    assert up.goodput_bps / 1e6 == pytest.approx(UP_MBPS, rel=0.005)
    assert down.goodput_bps / 1e6 == pytest.approx(DOWN_MBPS, rel=0.005)
    assert ping.rtt_us.p50 / 1e3 == pytest.approx(RTT_MS, rel=0.001)


def with_transfers(made):
    """Returns a scenario whose packets are transfers."""
    del made.workload[2]
    for flow in made.workload:
        flow.transport.root = "tcp"
        flow.traffic.root = TransferTraffic(kind="transfer", duration="2 s")
    return made


def test_the_rate_of_transfers_is_that_of_their_paths_and_direction(tmp_path):
    slow = {"core": CORE, "left-client": {"rate": "5 Mbit/s", "reverse": {"rate": "1 Mbit/s"}}}
    made = with_transfers(scenario_of(asymmetric(tmp_path, "sim", links=slow), SLOW))
    assert slowest_transfer_bps(made) == 1_000_000
    del made.workload[0]
    assert slowest_transfer_bps(made) == 5_000_000
    for link in made.links:
        link.rate = link.reverse = None
    assert slowest_transfer_bps(made) is None


def test_directions_carry_their_rates_in_the_fluid_model(tmp_path):
    made = with_transfers(scenario_of(asymmetric(tmp_path, "sim"), SLOW))
    with Backend("fluid") as fluid:
        record = fluid.run("trial", made, 60)
    rates = [flow.goodput_bps / 1e6 for flow in record.flows]
    assert rates == pytest.approx([2 * 1448 / 1538, 10 * 1448 / 1538], rel=0.001)
