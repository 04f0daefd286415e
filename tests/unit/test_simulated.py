"""Studies on the simulator: the settings that only it has, the meaning of replicates, and the reports."""

from functools import cache
from itertools import product

import pytest

from nettrial.backends import BACKENDS
from nettrial.capabilities import CAPABILITIES
from nettrial.congestion import CONTROLS, backends_of
from nettrial.design import plan, scenario_of, treatments
from nettrial.errors import BadInput
from nettrial.study import Block, load
from nettrial.topology import TOPOLOGIES, interfaces

STUDY = load("jumbo-ipv6")
SMALL = ("run", "jumbo-ipv6", "--set", "mtu=1500,9000", "--replicates", "2", "--seed", "1")


def scenario(overrides, levels=None):
    return scenario_of(STUDY.with_overrides(overrides).on("sim"), levels or {}, 1, 7)


def test_every_backend_states_what_it_can_do():
    assert sorted(BACKENDS) == sorted(CAPABILITIES)
    lab, simulator = STUDY.capabilities, STUDY.on("sim").capabilities
    assert (lab.warm_up, lab.shared_kernel, lab.kernel_congestion_controls) == (True, True, True)
    abilities = [lab.parallel, lab.deterministic, lab.estimates, lab.simulated_time, lab.modelled_hosts]
    assert not any(abilities)
    assert simulator.parallel
    assert simulator.deterministic
    assert not simulator.warm_up
    assert (STUDY.warm_up_trials, STUDY.on("sim").warm_up_trials) == (STUDY.warmup, 0)
    shared = {setting.root for setting in lab.settings} & {setting.root for setting in simulator.settings}
    assert shared == {
        *("bursts", "delay_trace", "ecn", "events", "filters_icmp", "impairment", "mechanisms"),
        *("mtu_probing", "packet_sizes", "queue_interval", "rate_trace", "routing", "tunnel", "window"),
    }


def test_a_block_of_a_run_has_a_seed_of_its_own_in_the_simulator_alone():
    study = STUDY.on("sim")
    seeds = {
        (run, block): {scenario_of(study, each.levels, block, run).seed for each in treatments(study)}
        for run in (1, 2)
        for block in (1, 2)
    }
    assert all(len(found) == 1 for found in seeds.values()), "treatments of a block share it"
    assert len(set.union(*seeds.values())) == 4
    assert scenario_of(STUDY, {}, 1, 7).seed is None


RANDOM = {
    "impairment": (
        ("jumbo-ipv6", "network.impairment.seed", {"network.impairment.loss": "0.1"}, {}),
        lambda made: [[link.impairment.seed for link in made.links]],
    ),
    "routing": (
        ("jumbo-ipv6", "network.routing.seed", {"network.routing.policy": "ecmp"}, {}),
        lambda made: [made.routing.root.seed],
    ),
    "topology": (
        ("jellyfish-mptcp", "network.parameters.seed", {"switches": "10"}, {"switches": "10"}),
        lambda made: [[[end.node for end in link.ends] for link in made.links]],
    ),
    "traffic": (
        ("mtu-packet-size", "workload.sweep.traffic.seed", {}, {}),
        lambda made: [made.workload[0].traffic.root.seed],
    ),
    "permutation and pairs": (
        (
            "jellyfish-vs-fat-tree",
            "workload.permutation.seed",
            {"network.parameters.fat-tree.k": "4", "network.parameters.fat-tree.hosts": "16"},
            {"transport": "TCP 8 flows", "fabric": "fat-tree ECMP"},
        ),
        lambda made: [[flow.to for flow in made.workload], [flow.pair for flow in made.workload]],
    ),
}
"""The random quantities. Each has a study, the setting that seeds it, further settings and levels, and a
function that reads it, or several of them, from a scenario."""


@pytest.mark.parametrize("backend", ["sim", pytest.param("lab", marks=pytest.mark.slow)])
@pytest.mark.parametrize("quantity", RANDOM)
def test_what_is_random_follows_from_the_runs_seed_and_the_block(quantity, backend):
    (name, setting, settings, levels), drawn = RANDOM[quantity]
    studies = [load(name).with_overrides({**settings, setting: seed}).on(backend) for seed in ("0", "1")]

    def draws():
        places = product(studies, (0, 1, 99), (1, 2))
        made = [drawn(scenario_of(study, levels, block, run)) for study, run, block in places]
        return [[repr(value) for value in values] for values in zip(*made, strict=True)]

    # No block of any seed, whether of the study or of the run, equals another.
    once = draws()
    assert [len(set(values)) for values in once] == [12] * len(once)
    assert once == draws()


def test_what_only_the_simulator_has_is_in_the_scenario():
    made = scenario(
        {
            "network.discipline": "codel",
            "network.links.host.queue": "20 packets",
            "network.impairment.bursts.enter": "0.01",
            "hosts.sender.cost.per_packet": "2 us",
            "hosts.sender.ecn": "true",
            "hosts.sender.minimum_rto": "10 ms",
            "hosts.receiver.scheduler": "round_robin",
            "hosts.receiver.small_queues": "false",
        }
    )
    link = made.links[0]
    assert link.discipline.root.interval.root == "100 ms"
    assert (link.impairment.bursts.enter, link.impairment.bursts.loss) == (0.01, 1)
    nodes = {node.name: node for node in made.nodes}
    sender, receiver = nodes["sender"], nodes["receiver"]
    assert (sender.cost.per_packet.root, sender.cost.coalescing.root) == ("2 us", "0 ns")
    assert (sender.stack.ecn, sender.stack.minimum_rto.root) == (True, "10 ms")
    assert (receiver.cost, receiver.stack.ecn) == (None, None)
    assert receiver.stack.scheduler.root == "round_robin"
    assert (sender.stack.small_queues, receiver.stack.small_queues) == (None, False)
    assert receiver.stack.congestion_control == "cubic"


def test_what_is_not_said_is_not_in_the_scenario():
    made = scenario_of(STUDY, {})
    assert {link.discipline for link in made.links} == {None}
    assert {link.impairment for link in made.links} == {None}
    assert {node.cost for node in made.nodes} == {None}


def test_disciplines_are_levels_of_a_factor():
    study = STUDY.with_overrides({"network.discipline": "drop_tail,codel"}).on("sim")
    assert study.factors["network.discipline"].levels == ["drop_tail", "codel"]
    found = [
        scenario_of(study, {"network.discipline": level}).links[0].discipline
        for level in ("drop_tail", "codel")
    ]
    assert (found[0], found[1].root.discipline) == (None, "codel")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("network.discipline", "fifo", "'drop_tail', 'mark', 'red', 'codel'"),
        ("network.discipline", "red", ""),
        ("network.impairment.bursts.leave", "2", ""),
        ("hosts.sender.scheduler", "fastest", "'linux', 'lowest_rtt' or 'round_robin'"),
        ("network.addresses", "9", ""),
    ],
)
def test_what_is_no_setting_is_refused(name, value, expected):
    with pytest.raises(BadInput) as caught:
        STUDY.with_overrides({name: value})
    assert expected in str(caught.value)


def test_the_simulators_congestion_controls_are_named():
    brought = {name: set(CAPABILITIES[name].congestion_controls) for name in CAPABILITIES}
    assert set(CONTROLS) >= brought["sim"] | brought["lab"]
    assert brought["lab"] == {name for name in CONTROLS if CONTROLS[name].own}
    assert {name for name in CONTROLS if not CONTROLS[name].kernel} == {
        f"{name}-kernel" for name in brought["lab"]
    }
    found = {name: backends_of(name) for name in ("cubic", "hybla", "lia", "lia-kernel")}
    assert found == {
        "cubic": ("fluid", "hosts", "lab", "sim", "virtual"),
        "hybla": ("hosts", "lab", "virtual"),
        "lia": ("fluid", "lab", "sim", "virtual"),
        "lia-kernel": ("sim",),
    }


FABRIC = load("jellyfish-vs-fat-tree")


@cache
def settings_of_permutation(seed):
    study = FABRIC.with_overrides(
        {
            "workload.permutation.seed": str(seed),
            "network.parameters.fat-tree.k": "4",
            "network.parameters.fat-tree.hosts": "16",
            "fabric": "fat-tree ECMP",
        }
    )
    return study.settings({"fabric": "fat-tree ECMP"})


def permutation(seed, block):
    members = settings_of_permutation(seed).members("permutation", Block(block))
    return [(member.from_, member.to) for member in members]


def test_a_permutation_sends_every_host_to_another_and_differs_by_block():
    drawn = [permutation(1, block) for block in range(1, 40)]
    for pairs in drawn:
        senders, receivers = zip(*pairs, strict=True)
        assert sorted(senders) == sorted(receivers) == sorted(f"host-{n}" for n in range(1, 17))
        assert all(one != other for one, other in pairs)
    assert len({tuple(pairs) for pairs in drawn}) == len(drawn)
    assert permutation(1, 2) != permutation(2, 1)
    # In 39 draws, each of 15 other hosts is drawn 2.6 times on average. The bound allows for hosts that are
    # missed by chance.
    assert len({pairs[0][1] for pairs in drawn}) >= 10


def test_a_hosts_interface_has_as_many_addresses_as_asked_for():
    graph = TOPOLOGIES["fat-tree"].graph()
    one, eight = interfaces(graph, 4), interfaces(graph, 4, 8)
    firsts = [[(end.node, end.address) for pair in made for end in pair] for made in (one, eight)]
    assert firsts[0] == firsts[1]
    kinds = dict(graph.nodes(data="kind"))
    assert {len(end.further) for pair in eight for end in pair if kinds[end.node] == "host"} == {7}
    assert {len(end.further) for pair in eight for end in pair if kinds[end.node] != "host"} == {0}
    every = [address for pair in eight for end in pair for address in (end.address, *end.further)]
    assert len(set(every)) == len(every)


def test_jellyfish_can_use_every_port():
    shape = TOPOLOGIES["jellyfish"]
    graph = shape.graph(
        shape.parameters(switches=245, ports=14, degree=10, spare_ports=True, hosts=780, seed=3)
    )
    switches = [node for node in graph if node.startswith("switch")]
    assert {graph.degree[switch] for switch in switches} == {14}
    assert graph.number_of_edges() == 780 + (245 * 14 - 780) // 2


def test_the_fabrics_of_the_study_have_the_same_switches():
    sizes = []
    for fabric in ("fat-tree ECMP", "Jellyfish 8 shortest"):
        graph = FABRIC.settings({"fabric": fabric}).graph()
        kinds = [kind for _, kind in graph.nodes(data="kind")]
        sizes.append((kinds.count("router"), kinds.count("host")))
    assert sizes == [(245, 686), (245, 780)]


def test_no_simulated_trial_warms_up_and_its_time_is_simulated(nettrial):
    shown = nettrial("run", "--dry-run", "jumbo-ipv6", "--backend", "sim").stdout
    assert "warm up" not in shown
    assert "2 min 0 s simulated" in shown
    assert len(plan(STUDY, 5, 1)) * 2 == 120


def test_an_unknown_backend_is_refused(nettrial):
    refused = nettrial(*SMALL, "--backend", "simulator")
    assert refused.returncode == 2
    assert "--backend" in refused.stderr
    assert "lab, sim" in refused.stderr


def test_reports_and_comparisons_say_what_was_simulated(nettrial):
    assert nettrial(*SMALL, "--out", "lab").returncode == 0
    done = nettrial(*SMALL, "--out", "sim", "--backend", "sim")
    assert done.returncode == 0
    assert "backend sim" in done.stdout
    shown = " ".join(nettrial("report", "sim", "--tables").stdout.split())
    assert "All hosts of the lab are on one machine" not in shown
    assert "were simulated, packet by packet" in shown
    assert "none of its own" not in shown
    page = (nettrial.directory / "sim" / "report.html").read_text()
    assert "The trials were simulated: neither the machine nor the order of trials" in page
    assert "CPUs of the hosts" not in page
    compared = nettrial("compare", "lab", "sim")
    assert compared.returncode == 0
    assert ["backend", "lab", "sim"] in [line.split() for line in compared.stdout.splitlines()]


def test_equal_values_of_simulated_trials_are_no_fault(nettrial):
    """All replicates with one seed are equal: the interval has no width, and there is no warning."""
    done = nettrial(*SMALL, "--out", "sim", "--backend", "sim", FAKE_SAME="1")
    assert done.returncode == 0
    assert "all values of a treatment are equal" not in nettrial("report", "sim", "--tables").stdout
    assert "Traceback" not in done.stderr


def test_a_plan_that_takes_days_says_so_before_it_begins(nettrial):
    begin = (*SMALL, "--backend", "sim", "--out")
    assert "this will take" not in nettrial(*begin, "short").stderr
    said = nettrial(*begin, "long", FAKE_WORK="50000", FAKE_PROCESSORS="4").stderr
    # The plan has 16 trials of 50000 s on four CPUs.
    assert "this will take about 55 h 33 min on this machine, for 1.6e+10 transmissions of a packet" in said
    assert said.index("this will take") < said.index("0/16 trials")


def test_flows_of_tcp_spread_over_pairs_of_addresses():
    study = FABRIC.with_overrides(
        {"network.parameters.fat-tree.k": "4", "network.parameters.fat-tree.hosts": "16"}
    )
    levels = {"transport": "TCP 8 flows", "fabric": "fat-tree ECMP"}
    drawn = [[flow.pair for flow in scenario_of(study, levels, block).workload] for block in (1, 2)]
    assert set(drawn[0]) == set(range(8))
    assert drawn[0] != drawn[1]
    assert scenario_of(STUDY, {}).workload[0].pair is None
