"""Networks of Mininet and containerlab: what their files give, what is refused by name, and that a file of
Mininet's runs without privileges."""

import json
import socket
from pathlib import Path

import pytest

from nettrial import systems
from nettrial.cli import init
from nettrial.design import scenario_of
from nettrial.errors import BadInput
from nettrial.networks import containerlab, mininet
from nettrial.study import load

NETWORKS = Path(__file__).parents[1] / "networks"
HOME, CLAB = NETWORKS / "home.py", NETWORKS / "two.clab.yml"


def test_a_topo_class_becomes_a_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    init.from_mininet(Path("home"), f"{HOME}:home,3")
    made = scenario_of(load("home/study.yaml"), {"control": "reno"})
    kinds = {node.name: node.kind.root for node in made.nodes}
    assert kinds == {**dict.fromkeys(("h1", "h2", "h3", "server"), "host"), "s1": "switch", "r0": "router"}
    server = next(link for link in made.links if {"server", "r0"} == {end.node for end in link.ends})
    assert (server.rate.root, server.queue.root, server.delay.root) == ("10 Mbit/s", "100 packets", "20 ms")
    assert (server.reverse.rate.root, server.reverse.queue.root) == ("1 Mbit/s", "20 packets")
    assert server.impairment.loss == 0.005
    host = next(link for link in made.links if {"h1", "s1"} == {end.node for end in link.ends})
    assert (host.rate.root, host.queue.root, host.delay.root) == ("100 Mbit/s", "1000 packets", "1 ms")
    assert host.reverse is None


def test_a_topology_of_containerlab_becomes_a_study(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    init.from_containerlab(Path("clab"), CLAB)
    made = scenario_of(load("clab/study.yaml"), {"control": "reno"})
    assert {node.name: node.kind.root for node in made.nodes} == {
        "client": "host", "server": "host", "r1": "router", "r2": "router"}  # fmt: skip
    mtus = {frozenset(end.node for end in link.ends): link.ends[0].mtu.root for link in made.links}
    assert mtus[frozenset(("r1", "r2"))] == "1400 B"
    assert mtus[frozenset(("client", "r1"))] == "1500 B"


TOPO = "from mininet.topo import Topo\n"


def topo(tmp_path, body, name=""):
    file = tmp_path / "net.py"
    file.write_text(body)
    return mininet.graph_of(str(file) + name)


def test_a_file_runs_without_privileges_and_output(tmp_path, capfd):
    """Each attempt succeeds in a test as root if the process is not confined."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "secret").chmod(0o600)
    attempts = {
        "reads": f"open({str(tmp_path / 'secret')!r}).read()",
        "writes": f"open({str(tmp_path / 'new')!r}, 'w').write('x')",
        "forks": "os.fork()",
        "connects": "socket.create_connection(('127.0.0.1', PORT), 1)",
    }
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        tries = "".join(
            f"        try: {code.replace('PORT', str(port))}; self.addHost('{name}')\n"
            "        except Exception: pass\n"
            for name, code in attempts.items()
        )
        body = (
            "import os, socket\n"
            + TOPO
            + f"class T(Topo):\n    def build(self):\n        print('said')\n{tries}"
        )
        graph = topo(tmp_path, body + "        self.addHost('ends')\n")
    assert graph.hosts == ["ends"] if systems.is_root() else "forks" not in graph.hosts
    assert not (tmp_path / "new").exists() or (tmp_path / "new").read_text() == ""
    assert capfd.readouterr().out == ""


def test_a_file_that_does_not_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(mininet, "MOST_SECONDS", 1)
    with pytest.raises(BadInput, match="a topology that is built within 1 s"):
        topo(tmp_path, "while True: pass\n")


@pytest.mark.parametrize(
    ("body", "name", "told"),
    [
        ("x = (", "", "line 1: SyntaxError"),
        ("x = 1\ny = x / 0\n", "", "line 2: ZeroDivisionError"),
        ("from mininet.net import Mininet\nnet = Mininet()\n", "", "it uses Mininet's Mininet"),
        ("from mininet.net import Mininet\n", "", "no topology"),
        (f"{TOPO}class A(Topo): pass\nclass B(Topo): pass\n", "", "2 topologies"),
        (f"{TOPO}class A(Topo): pass\n", ":C", "no topology C"),
    ],
    ids=range(6),
)
def test_a_file_without_a_topology_is_refused_with_its_line(tmp_path, body, name, told):
    with pytest.raises(BadInput) as caught:
        topo(tmp_path, body, name)
    assert told in str(caught.value)


ROUTER = {"class": "R", "is_of_mininet": False, "forwards": False}


@pytest.mark.parametrize(
    ("nodes", "links", "told"),
    [
        ([["a b", {}]], [], "the node 'a b'"),
        ([["h1", {"cpu": 0.5}]], [], "the option cpu of h1"),
        ([["h1", {"cls": ROUTER}]], [], "the class R of h1"),
        ([], [["a", "b", {"jitter": "1ms"}]], "the option jitter of the link a - b"),
        ([], [["a", "b", {"enable_red": True}]], "the option enable_red of the link a - b"),
        ([], [["a", "b", {"delay": 5}]], "the delay 5 of the link a - b"),
        ([], [["a", "b", {"delay": "5"}]], "the delay '5' of the link a - b"),
        ([], [["a", "b", {"bw": "fast"}]], "the bw 'fast' of the link a - b"),
        ([], [["a", "b", {"params1": {"bw": 1}}]], "of the link a - b in one direction"),
        ([], [["a", "c", {}]], "expected: a node c"),
    ],
    ids=range(10),
)
def test_what_has_no_counterpart_is_refused_by_name(monkeypatch, nodes, links, told):
    made = {"nodes": [["a", {}], ["b", {}], *nodes], "links": links}
    monkeypatch.setattr(mininet, "_run", lambda *_: json.loads(json.dumps(made)))
    with pytest.raises(BadInput) as caught:
        mininet.graph_of(str(HOME))
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("topology", "told"),
    [
        ({}, "no topology.nodes"),
        ({"nodes": {"a": {}}, "links": [{"endpoints": ["a:eth1", "host:eth1"]}]}, "the endpoint host:eth1"),
        ({"nodes": {"a": {}}, "links": [{"type": "macvlan", "endpoint": {}}]}, "the type macvlan"),
        ({"nodes": {"a": {}}, "links": [{"endpoints": ["a:eth1"]}]}, "topology.links[0]: endpoints"),
        ({"nodes": {"a": {}}, "links": [{"endpoints": ["a:eth1", "b:eth1"]}]}, "the endpoint b"),
        (
            {"nodes": {"a": {}}, "links": [{"endpoints": ["a:1", "a:2"], "speed": 1}]},
            "topology.links[0]: speed",
        ),
    ],
    ids=range(6),
)
def test_what_leads_out_of_a_topology_is_refused_by_name(topology, told):
    with pytest.raises(BadInput) as caught:
        containerlab.graph_of("lab.yml", {"topology": topology})
    assert told in str(caught.value)


def test_a_network_that_is_none_leaves_no_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(
        TOPO + "class T(Topo):\n    def build(self):\n        self.addHost('a')\n        self.addHost('b')\n"
    )
    with pytest.raises(BadInput, match="some nodes are not connected, such as a and b"):
        init.from_mininet(Path("mine"), "net.py")
    assert not (tmp_path / "mine").exists()
