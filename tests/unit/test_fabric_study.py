"""Fabrics in a study file, and the scenarios that follow from them."""

from pathlib import Path

import networkx as nx
import pytest

from nettrial.design import scenario_of, treatments
from nettrial.errors import BadInput
from nettrial.study import Study, load

STUDY = """
study: mine
title: Mine
question: What happens?
backend: lab
replicates: 2
full_replicates: 3
warmup: 0
network:
  topology: jellyfish
  parameters: {switches: 8, ports: 6, degree: 4, seed: 5}
  ip: 4
  mtu: 1500 B
  rate: 1 Gbit/s
  queue: 100 packets
hosts: {every: {stack: linux-cubic}, host-1: {stack: classic}}
workload:
  - flow: incast
    from: others
    to: host-1
    transport: tcp
    traffic: {kind: transfer, duration: 1 s}
measurement: {interval: 100 ms, queue_drops: allowed}
factors: {switches: {title: Switches, sets: network.parameters.switches, levels: [8, 12]}}
responses: [{name: goodput, title: Goodput, metric: goodput, of: incast, unit: Mbit/s}]
layout: {rows: switches}
"""
FACTORS = "factors: {switches: {title: Switches, sets: network.parameters.switches, levels: [8, 12]}}"
PARAMETERS = "  parameters: {switches: 8, ports: 6, degree: 4, seed: 5}\n"
HOSTS = "hosts: {every: {stack: linux-cubic}, host-1: {stack: classic}}"


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Returns a function that loads the study after replacing parts of its text."""
    monkeypatch.chdir(tmp_path)

    def make(*replacements):
        text = STUDY
        for old, new in replacements:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        Path("study.yaml").write_text(text)
        return load("study.yaml")

    return make


def fabric_of(scenario):
    return {
        frozenset(end.node for end in link.ends)
        for link in scenario.links
        if not any(end.node.startswith("host") for end in link.ends)
    }


def test_levels_of_a_parameter_give_other_networks(study):
    mine = study()
    for treatment, switches in zip(treatments(mine), (8, 12), strict=True):
        assert treatment.levels == {"switches": str(switches)}
        scenario = scenario_of(mine, treatment.levels)
        kinds = [node.kind.root for node in scenario.nodes]
        assert (kinds.count("host"), kinds.count("router")) == (switches, switches)
        assert len(fabric_of(scenario)) == 2 * switches
        assert len(scenario.workload) == switches - 1
        assert {flow.to for flow in scenario.workload} == {"host-1"}


def test_every_block_has_a_graph_of_its_own(study):
    mine = study()
    first, again, second = (scenario_of(mine, {"switches": "12"}, block) for block in (1, 1, 2))
    assert fabric_of(first) == fabric_of(again) != fabric_of(second)
    other = mine.with_overrides({"network.parameters.seed": "6"})
    assert fabric_of(scenario_of(other, {"switches": "12"}, 1)) not in (fabric_of(first), fabric_of(second))


def test_single_hosts_differ_from_every(study):
    stacks = {node.name: node.stack for node in scenario_of(study(), {}).nodes}
    assert stacks["host-1"].name == "classic"
    assert {stacks[f"host-{number}"].name for number in range(2, 9)} == {"linux-cubic"}
    assert stacks["switch-1"] is None


def test_the_stack_of_every_host_can_be_a_factor(study):
    new = "factors: {stack: {title: Stack, sets: hosts.every.stack, levels: [classic, linux-bbr]}}"
    mine = study((FACTORS, new), ("rows: switches", "rows: stack"))
    found = scenario_of(mine, {"stack": "linux-bbr"})
    assert {node.stack.name for node in found.nodes if node.stack} == {"classic", "linux-bbr"}


def test_a_fabric_study_is_the_same_out_of_its_dump(study):
    mine = study()
    again = Study.model_validate_json(mine.model_dump_json(by_alias=True, exclude_none=True))
    assert again.model_dump() == mine.model_dump()
    assert scenario_of(again, {"switches": "12"}, 2) == scenario_of(mine, {"switches": "12"}, 2)


def test_kinds_of_links_have_settings_of_their_own(study):
    links = """  links:
    host: {mtu: 9000 B}
    fabric: {rate: 100 Mbit/s, delay: 1 ms, queue: 64 KiB, impairment: {loss: 0.5, seed: 3}}
"""
    scenario = scenario_of(study((PARAMETERS, PARAMETERS + links)), {})
    seeds = set()
    for link in scenario.links:
        mtus = {end.mtu.root for end in link.ends}
        if any(end.node.startswith("host") for end in link.ends):
            assert (link.rate.root, link.queue.root) == ("1 Gbit/s", "100 packets")
            assert (link.delay.root, mtus, link.impairment) == ("0 ns", {"9000 B"}, None)
        else:
            assert (link.rate.root, link.queue.root) == ("100 Mbit/s", "64 KiB")
            assert (link.delay.root, mtus, link.impairment.loss) == ("1 ms", {"1500 B"}, 0.5)
            seeds.add(link.impairment.seed)
    assert len(seeds) == 16


def test_the_impairment_of_one_kind_can_be_set_alone(study):
    mine = study().with_overrides({"network.links.fabric.impairment.loss": "0,0.1"})
    name = "network.links.fabric.impairment.loss"
    found = scenario_of(mine, {name: "0.1"})
    losses = [link.impairment.loss if link.impairment else 0 for link in found.links]
    assert losses.count(0.1) == 16
    assert losses.count(0) == 8


def test_devices_can_be_bridges(study):
    mine = study().with_overrides({"network.forwarding": "routers,bridges"})
    for forwarding, kind in (("routers", "router"), ("bridges", "switch")):
        found = scenario_of(mine, {"network.forwarding": forwarding})
        assert {node.kind.root for node in found.nodes} == {"host", kind}


FABRICS = """  parameters:
    interfaces_per_host: 2
    jellyfish: {switches: 12, degree: 4, ports: 6}
    xpander: {switches: 10, degree: 4, ports: 6}
    fat-tree: {k: 4}
"""
FABRIC = "factors: {fabric: {title: Fabric, sets: network.topology, levels: [jellyfish, xpander, fat-tree]}}"


def test_the_topology_can_be_a_factor(study):
    mine = study((PARAMETERS, FABRICS), (FACTORS, FABRIC), ("rows: switches", "rows: fabric"))
    found = [scenario_of(mine, treatment.levels) for treatment in treatments(mine)]
    routers = [sum(node.kind.root == "router" for node in scenario.nodes) for scenario in found]
    assert routers == [12, 10, 20]
    for scenario in found:
        ends = [end for link in scenario.links for end in link.ends if end.node == "host-2"]
        assert len(ends) == 2


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (FABRIC, FABRIC.replace("fat-tree]", "leaf-spine, pair]"), "levels.3: pair\n"),
        (
            "    fat-tree: {k: 4}\n",
            "    fat-tree: {k: 4, pods: 3}\n",
            "parameters.fat-tree.pods: unknown field",
        ),
        (
            "    fat-tree: {k: 4}\n",
            "    fat-tree: {k: 5}\n",
            "levels.2: fat-tree\n  expected: an even number",
        ),
        ("    fat-tree: {k: 4}\n", "    fat-tree: 4\n", "parameters.fat-tree: 4\n"),
        (
            "    fat-tree: {k: 4}\n",
            "    switches: 12\n",
            "jellyfish.switches: 12\n  expected: each parameter in one",
        ),
        (
            "  parameters:\n",
            "  parameters:\n    seed: 3\n",
            "levels.2: fat-tree\n  expected: interfaces",
        ),
        ("    jellyfish: {switches: 12,", "    jellyfish: {switches: 0,", "jellyfish.switches: 0\n"),
    ],
)
def test_parameters_of_several_topologies_are_checked(study, old, new, told):
    changes = [(PARAMETERS, FABRICS), (FACTORS, FABRIC), ("rows: switches", "rows: fabric"), (old, new)]
    with pytest.raises(BadInput) as caught:
        study(*changes)
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "switches: 8,",
            "switchs: 8,",
            "LINE: network.parameters.switchs: unknown field\n  expected: interfaces",
        ),
        ("switches: 8,", "switchs: 8,", "hint: did you mean 'switches'?"),
        (
            "switches: 8,",
            "switches: 2,",
            "LINE: network.parameters.switches: 2\n  expected: greater than or equal",
        ),
        ("degree: 4", "degree: 6", "network.parameters.degree: 6\n  expected: below 6"),
        ("levels: [8, 12]", "levels: [8, 4]", "factors.switches.levels.1: 4"),
        (
            "parameters.switches, l",
            "parameters.switchs, l",
            "factors.switches.sets: network.parameters.switchs",
        ),
        (PARAMETERS, "  parameters: 8\n", "network.parameters: 8"),
        (HOSTS, "hosts: {every: {stack: classic}, host-9: {stack: classic}}", "hosts.host-9: host-9\n"),
        (HOSTS, "hosts: {host-1: {stack: classic}}", "hosts: host-1\n  expected: an entry `every`"),
        ("to: host-1", "to: host-9", "workload.incast.to: host-9\n  expected: host-1, host-2, host-3"),
        ("to: host-1", "to: every", "workload.incast.to: every\n"),
        ("topology: jellyfish\n" + PARAMETERS, "topology: switched\n", "hosts.every: every\n"),
        (
            "topology: jellyfish",
            "topology: switched",
            "parameters.switches: unknown field\n  expected: no such parameter with",
        ),
        (
            "  ip: 4\n",
            "  ip: 4\n  forwarding: hubs\n",
            "network.forwarding: 'hubs'\n  expected: 'routers', 'bridges' or",
        ),
        ("  ip: 4\n", "  ip: 4\n  links: {core: {mtu: 1500}}\n", "network.links.core: no link 'core'"),
        ("  ip: 4\n", "  ip: 4\n  icmp: filtered\n  forwarding: bridges\n", "network.icmp: filtered\n"),
    ],
)
def test_an_error_says_what_is_expected(study, old, new, told):
    with pytest.raises(BadInput) as caught:
        study((old, new))
    line = STUDY[: STUDY.index(old)].count("\n") + 1
    assert told.replace("LINE", str(line)) in str(caught.value)
    assert len(str(caught.value).splitlines()) <= 24


def test_forwarding_is_only_for_what_can_have_both():
    for topology, expected in (
        ("routed", "expected: routers"),
        ("pair", "expected: left out with the topology pair"),
    ):
        with pytest.raises(BadInput, match=expected):
            load("jumbo-ipv6").with_overrides({"network.topology": topology, "network.forwarding": "bridges"})


def test_a_graph_of_ones_own_is_kept_with_the_study(study):
    nx.write_graphml(nx.path_graph(["left", "middle", "right"]), "mine.graphml")
    changes = [
        ("topology: jellyfish\n" + PARAMETERS, "topology: file\n  parameters: {path: mine.graphml}\n"),
        (", host-1: {stack: classic}}", "}"),
        (FACTORS, "factors: {switches: {title: MTU, sets: network.mtu, levels: [1500 B, 1400 B]}}"),
    ]
    mine = study(*changes)
    Path("mine.graphml").unlink()
    again = Study.model_validate_json(mine.model_dump_json(by_alias=True, exclude_none=True))
    scenario = scenario_of(again, {"switches": "1400 B"})
    assert [node.name for node in scenario.nodes] == [
        *("host-1", "host-2", "host-3"),
        *("left", "middle", "right"),
    ]
    assert fabric_of(scenario) == {frozenset({"left", "middle"}), frozenset({"middle", "right"})}
    with pytest.raises(BadInput, match=r"study.yaml:11: network.parameters.path: mine.graphml: No such file"):
        study(*changes)


@pytest.mark.parametrize("name", ["../secret.graphml", "/etc/hostname", "link.graphml"])
def test_a_graph_of_a_study_is_in_the_studys_directory(study, tmp_path, monkeypatch, name):
    """A graph is stored with the run, and parts of any other file are in the error."""
    nx.write_graphml(nx.path_graph(["left", "middle", "right"]), tmp_path / "secret.graphml")
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    Path("link.graphml").symlink_to(tmp_path / "secret.graphml")
    parameters = f"topology: file\n  parameters: {{path: {name}}}\n"
    with pytest.raises(BadInput, match=f"path: {name}: it is outside the directory of the study file"):
        study(("topology: jellyfish\n" + PARAMETERS, parameters))


def test_a_file_is_no_level_of_a_factor(study):
    for name in ("one", "two"):
        nx.write_graphml(nx.path_graph(["left", "middle", "right"]), f"{name}.graphml")
    with pytest.raises(BadInput, match=r"levels.1: two.graphml\n  expected: a file that is not a level"):
        study(
            ("topology: jellyfish\n" + PARAMETERS, "topology: file\n  parameters: {path: one.graphml}\n"),
            (
                "network.parameters.switches, levels: [8, 12]",
                "network.parameters.path, levels: [one.graphml, two.graphml]",
            ),
        )


def test_a_large_fabric_has_an_address_for_every_interface(study):
    mine = study((FACTORS, FACTORS.replace("[8, 12]", "[8, 1000]")))
    for ip in (4, 6):
        scenario = scenario_of(mine.with_overrides({"network.ip": str(ip)}), {"switches": "1000"})
        addresses = [end.addresses[0].root for link in scenario.links for end in link.ends]
        assert len(set(addresses)) == len(addresses) == 2 * 3000
