"""Traffic in a study file, and the scenarios that follow from it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettrial import units
from nettrial.design import scenario_of, traffic_seconds
from nettrial.errors import BadInput
from nettrial.scenario import Scenario
from nettrial.study import Study, imix, load

THREE_HOSTS = load("mtu-packet-size")
STUDY = """
study: mine
title: Mine
question: What happens?
backend: lab
replicates: 2
full_replicates: 3
warmup: 0
network: {topology: switched, ip: 4, mtu: 1500 B}
hosts: {one: {stack: classic}, two: {stack: classic}, three: {stack: classic}}
workload:
  - flow: data
    from: one
    to: two
    transport: udp
    traffic: TRAFFIC
measurement: {interval: 100 ms, queue_drops: allowed}
factors: {mtu: {title: MTU, sets: network.mtu, levels: [1500 B, 9000 B]}}
responses: [{name: goodput, title: Goodput, metric: goodput, of: data, unit: Mbit/s}]
layout: {rows: mtu}
"""
PACKETS = "{kind: packets, size: 1400 B, gap: 1 ms, duration: 1 s}"


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Returns a function that loads a study with this traffic, after replacing parts of its text."""
    monkeypatch.chdir(tmp_path)

    def make(traffic=PACKETS, *replacements):
        text = STUDY.replace("TRAFFIC", traffic)
        for old, new in replacements:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        Path("study.yaml").write_text(text)
        return load("study.yaml")

    return make


def traffic_of(study, levels=None, block=1):
    """Returns the traffic of the scenario's first flow, as the engine receives it."""
    text = scenario_of(study, levels or {}, block).model_dump_json(by_alias=True, exclude_none=True)
    return Scenario.model_validate_json(text).model_dump(exclude_none=True)["workload"][0]["traffic"]


KINDS = {
    "transfer": "{kind: transfer, size: 5 MB, duration: 2 s}",
    "file": "{kind: file_transfer, file: /etc/hosts}",
    "requests": "{kind: request_response, request: 64 B, response: 64 B, count: 100, in_flight: 8}",
    "connecting": "{kind: request_response, request: 64, response: 64, count: 9, connecting: each_request}",
    "packets": PACKETS,
    "paced": "{kind: packets, size: 64 B, rate: 10 Mbit/s, count: 1000, seed: 7}",
    "sweep": "{kind: sweep, first: 64 B, last: 9 kB, step: 8, repeats: 2, bytes: 1 MB, answer: echo}",
}


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_reaches_the_scenario_and_comes_back(study, name):
    made = study(KINDS[name])
    traffic = traffic_of(made)
    assert traffic["kind"] == made.workload[0].traffic.kind
    again = Study.model_validate_json(made.model_dump_json(by_alias=True, exclude_none=True))
    assert again.model_dump() == made.model_dump()
    assert traffic_of(again) == traffic


def test_a_plain_value_is_a_constant_and_a_bare_number_is_bytes(study):
    traffic = traffic_of(study("{kind: packets, size: 1400, gap: 1 ms, count: 1}"))
    assert traffic["size"] == {"distribution": "constant", "value": "1400 B"}
    assert traffic["gap"] == {"distribution": "constant", "value": "1 ms"}


DISTRIBUTIONS = {
    "constant": "{distribution: constant, value: 1 ms}",
    "uniform": "{distribution: uniform, minimum: 1 ms, maximum: 2 ms}",
    "exponential": "{distribution: exponential, mean: 1 ms}",
    "normal": "{distribution: normal, mean: 2 ms, deviation: 1 ms, truncation: {minimum: 0 ns}}",
    "pareto": "{distribution: pareto, scale: 1 ms, shape: 1.5}",
    "cauchy": "{distribution: cauchy, location: 0 s, scale: 1 ms, truncation: {minimum: 0 s, maximum: 9 s}}",
    "gamma": "{distribution: gamma, shape: 2, scale: 1 ms}",
    "weibull": "{distribution: weibull, shape: 0.5, scale: 1 ms}",
    "mix": "{distribution: mix, shares: [{value: 1 ms, share: 3}, {value: 2 ms, share: 0.5}]}",
    "listed": "{distribution: listed, values: [1 ms, 3 ms]}",
}


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_every_distribution_reaches_the_scenario(study, name):
    made = study(f"{{kind: packets, size: 64 B, gap: {DISTRIBUTIONS[name]}, count: 9}}")
    assert traffic_of(made)["gap"]["distribution"] == name


def test_on_and_off_times_are_random_too(study):
    on_off = "{on: {distribution: exponential, mean: 1 s}, off: 2 s}"
    traffic = traffic_of(study(f"{{kind: packets, size: imix, on_off: {on_off}, duration: 9 s}}"))
    assert traffic["on_off"]["on"] == {"distribution": "exponential", "mean": "1 s"}
    assert traffic["on_off"]["off"] == {"distribution": "constant", "value": "2 s"}


@pytest.mark.parametrize(("ip", "sizes"), [(4, [24, 548, 1472]), (6, [24, 528, 1452])])
def test_imix_is_a_mix_of_payloads(study, ip, sizes):
    made = study("{kind: packets, size: imix, count: 12}", ("ip: 4", f"ip: {ip}"))
    mix = traffic_of(made)["size"]
    assert mix["distribution"] == "mix"
    assert [(share["value"], share["share"]) for share in mix["shares"]] == [
        (f"{size} B", share) for size, share in zip(sizes, (7, 4, 1), strict=True)
    ]
    assert mix == imix(ip)


def test_a_file_beside_the_study_gives_the_values(study):
    Path("gaps.csv").write_text("1 ms\n\n2.5 ms\n")
    made = study("{kind: packets, size: 64 B, gap: {distribution: file, file: gaps.csv}, count: 9}")
    assert traffic_of(made)["gap"] == {"distribution": "listed", "values": ["1 ms", "2.5 ms"]}
    Path("gaps.csv").unlink()  # The run file contains the values, so the file is no longer needed.
    again = Study.model_validate_json(made.model_dump_json(by_alias=True, exclude_none=True))
    assert traffic_of(again) == traffic_of(made)
    assert traffic_of(made.with_overrides({"network.ip": "6"})) == traffic_of(made)


def wrong(size, gap="1 ms"):
    return f"{{kind: packets, size: {size}, gap: {gap}, count: 9}}"


@pytest.mark.parametrize(
    ("traffic", "message"),
    [
        ("{kind: packet}", "workload.data.traffic.kind: 'packet'\n  expected: 'transfer'"),
        (wrong("large"), "workload.data.traffic.size: 'large'\n  expected: a number and one of B"),
        (wrong("64 B", "imix"), "workload.data.traffic.gap: 'imix'\n  expected: a number and one of ns"),
        (wrong("{value: 64 B}"), "traffic.size.distribution: missing\n  expected: constant, uniform"),
        (wrong("{distribution: expo, mean: 64 B}"), "size.distribution: expo\n  expected: constant, uniform"),
        (wrong("{distribution: uniform, minimum: 64 B}"), "size.maximum: missing"),
        (
            wrong("64 B", "{distribution: exponential, mena: 1 s}"),
            "gap.mena: unknown field\n  expected: dist",
        ),
        (
            wrong("{distribution: file, file: none.csv}"),
            "size.file: none.csv\n  expected: a file in the directory of the study file, of up to ",
        ),
        (
            wrong("{distribution: file, file: bad.csv}"),
            "size.file: bad.csv:3: '12 miles'\n  expected: a number and",
        ),
        (wrong("{distribution: file, file: empty.csv}"), "size.file: empty.csv has no values"),
        (
            wrong("{distribution: file, fiel: bad.csv}"),
            "size.fiel: unknown field\n  expected: distribution, file",
        ),
        ("{kind: file_transfer, file: hosts}", "traffic.file: 'hosts'\n  expected: an absolute path"),
        (
            "{kind: request_response, request: 64, response: 64, connecting: always}",
            "traffic.connecting: 'always'\n  expected: 'once' or 'each_request'",
        ),
        (
            wrong("64 B").replace("count: 9", "count: 0"),
            "traffic.count: 0\n  expected: greater than or equal to 1",
        ),
    ],
)
def test_an_error_names_file_line_and_field(study, traffic, message):
    Path("bad.csv").write_text("64 B\n\n12 miles\n")
    Path("empty.csv").write_text("\n")
    with pytest.raises(BadInput) as caught:
        study(traffic)
    assert message in str(caught.value)
    assert "study.yaml:16: workload.data.traffic" in str(caught.value)


@pytest.mark.parametrize("path", ["workload.data.traffic.size", "workload.data.traffic.size.value"])
def test_a_size_can_be_set_and_be_a_factor(study, path):
    made = study().with_overrides({path: "64 B"})
    assert traffic_of(made)["size"] == {"distribution": "constant", "value": "64 B"}
    several = study().with_overrides({path: "64,1.4 kB"})
    assert several.factors[path].levels == ["64 B", "1400 B"]
    assert traffic_of(several, {path: "1400 B"})["size"]["value"] == "1400 B"


def test_imix_can_be_a_level_beside_sizes(study):
    made = study().with_overrides({"workload.data.traffic.size": "64,imix"})
    assert made.factors["workload.data.traffic.size"].levels == ["64 B", "imix"]
    assert traffic_of(made, {"workload.data.traffic.size": "imix"})["size"] == imix(4)


def test_socket_options_can_be_a_factor(study):
    made = study().with_overrides({"workload.data.socket.udp_gso": "false,true"})
    assert made.factors["workload.data.socket.udp_gso"].levels == ["false", "true"]
    assert scenario_of(made, {}).workload[0].socket is None
    options = scenario_of(made, {"workload.data.socket.udp_gso": "true"}).workload[0].socket
    assert options.udp_gso is True


def test_impairments_are_those_of_every_link_and_can_be_a_factor(study):
    assert all(link.impairment is None for link in scenario_of(study(), {}).links)
    made = study().with_overrides({"network.impairment.loss": "0,0.01,1e-05", "network.impairment.seed": "5"})
    name = "network.impairment.loss"
    assert made.factors[name].levels == ["0", "0.01", "1e-05"]
    links = scenario_of(made, {name: "0.01"}).links
    assert [link.impairment.loss for link in links] == [0.01] * 3
    assert len({link.impairment.seed for link in links}) == 3
    with pytest.raises(BadInput, match=r"a fraction below 1, such as 0\.01, or a percentage up to 100%"):
        study().with_overrides({name: "2"})


def test_measurements_reach_the_scenario(study):
    made = study(
        PACKETS, ("queue_drops: allowed", "queue_drops: allowed, queue_interval: 1 ms, packet_sizes: true")
    )
    measurement = scenario_of(made, {}).measurement
    assert (measurement.queue_interval.root, measurement.packet_sizes) == ("1 ms", True)


def flows(study, levels=None):
    return [
        (flow.name, flow.from_, flow.to, flow.start.root)
        for flow in scenario_of(study, levels or {}).workload
    ]


def test_many_to_one_in_words_or_by_name(study):
    expected = [("data-one", "one", "two", "0 ns"), ("data-three", "three", "two", "0 ns")]
    assert flows(study(PACKETS, ("from: one", "from: others"))) == expected
    assert flows(study(PACKETS, ("from: one", "from: [one, three]"))) == expected


def test_parallel_flows_start_one_after_the_other(study):
    made = study(PACKETS, ("from: one", "from: one\n    count: 3\n    stagger: 100 ms\n    start: 1 s"))
    assert flows(made) == [
        ("data-1", "one", "two", "1 s"),
        ("data-2", "one", "two", "1.1 s"),
        ("data-3", "one", "two", "1.2 s"),
    ]


def test_both_directions_start_together(study):
    made = study(PACKETS, ("from: one", "from: one\n    both_directions: true"))
    assert flows(made) == [
        ("data-forward", "one", "two", "0 ns"),
        ("data-reverse", "two", "one", "0 ns"),
    ]
    assert made.group({}, "data") == ["data-forward", "data-reverse"]
    assert made.group({}, "data-reverse") == ["data-reverse"]


def test_every_host_sends_to_the_next_one(study):
    ring = [("one", "two"), ("two", "three"), ("three", "one")]
    made = study(PACKETS, ("from: one\n    to: two", "from: every\n    to: next\n    stagger: 1 s"))
    assert flows(made) == [
        (f"data-{sender}", sender, to, f"{second} s" if second else "0 ns")
        for second, (sender, to) in enumerate(ring)
    ]
    some = study(PACKETS, ("from: one\n    to: two", "from: [three, one]\n    to: next"))
    assert [flow[1:3] for flow in flows(some)] == [("three", "one"), ("one", "three")]


def test_the_number_of_flows_can_be_a_factor(study):
    made = study().with_overrides({"workload.data.count": "1,3"})
    name = "workload.data.count"
    assert made.group({name: "1"}, "data") == ["data"]
    assert made.group({name: "3"}, "data") == ["data-1", "data-2", "data-3"]


def test_a_group_can_be_absent(study):
    second = "  - {flow: more, from: one, to: three, transport: udp, traffic: " + PACKETS + "}\nmeasurement"
    made = study(PACKETS, ("measurement", second)).with_overrides({"workload.more.count": "0,1"})
    assert [len(flows(made, {"workload.more.count": count})) for count in "01"] == [1, 2]


@given(
    count=st.integers(1, 5),
    stagger=st.integers(0, 10**9),
    senders=st.lists(st.sampled_from(["one", "three"]), min_size=1, unique=True),
    both=st.booleans(),
)
def test_a_group_has_every_flow_once(count, stagger, senders, both):
    made = THREE_HOSTS
    entry = made.workload[0].model_copy(
        update={
            "count": count,
            "from_": senders,
            "to": "two",
            "stagger": units.DURATION.print(stagger),
            "both_directions": both,
        }
    )
    members = made.model_copy(update={"workload": [entry]}).members("sweep")
    assert len({member.name for member in members}) == len(members) == count * len(senders) * (1 + both)
    starts = [units.DURATION.parse(member.start) for member in members]
    assert sorted(starts) == starts
    assert starts[-1] == (count * len(senders) - 1) * stagger
    assert {member.to for member in members} == ({"two", *senders} if both else {"two"})


@pytest.mark.parametrize(
    ("replacement", "message"),
    [
        (("from: one", "from: [one, four]"), "workload.data.from: four\n  expected: one, two, three"),
        (
            ("from: one", "from: [one, one]"),
            "workload.data.from: one, one\n  expected: one or more hosts, each once",
        ),
        (("from: one", "from: []"), "workload.data.from: none\n  expected: one or more hosts"),
        (("from: one", "from: one\n    count: -1"), "workload.data.count: -1"),
        (
            ("from: one", "from: every"),
            "workload.data.from: every\n  expected: one, two, three\n  hint: where `to` is two",
        ),
        (
            ("to: two", "to: next"),
            "workload.data.to: next\n  expected: one, two, three\n  hint: it takes several",
        ),
        (("three: {", "next: {"), "hosts.next: next\n  expected: another name"),
        (("three: {", "others: {"), "hosts.others: others\n  expected: another name"),
        (("of: data,", "of: data-9,"), "responses.goodput.of: data-9\n  expected: data"),
        (
            ("metric: goodput, of: data,", "metric: queue_drops, of: four,"),
            "of: four\n  expected: one, two, three",
        ),
        (("metric: goodput, of: data,", "metric: size_rtt, of: data,"), "of: data\n  expected: FLOW.BYTES"),
        (("metric: goodput, of: data,", "metric: size_rtt, of: dada.64,"), "of: dada.64\n  expected: data"),
    ],
)
def test_what_does_not_fit_is_told(study, replacement, message):
    with pytest.raises(BadInput) as caught:
        study(PACKETS, replacement)
    assert message in str(caught.value)


def test_names_that_two_entries_make_are_refused(study):
    second = "  - {flow: data-1, from: one, to: two, transport: udp, traffic: " + PACKETS + "}\nmeasurement"
    with pytest.raises(
        BadInput, match=r"workload\.data-1\.flow: data-1\n  expected: a name that no other flow has"
    ):
        study(PACKETS, ("from: one", "from: one\n    count: 2"), ("measurement", second))


@pytest.mark.parametrize("of", ["one", "switch.eth1"])
def test_an_interface_goes_by_its_node_or_its_interface(study, of):
    made = study(
        PACKETS,
        ("metric: goodput, of: data, unit: Mbit/s", f"metric: queue_drops, of: {of}, unit: packets"),
    )
    assert made.responses[0].of == of


def test_blocks_and_flows_of_a_group_have_random_numbers_of_their_own(study):
    made = study(PACKETS, ("from: one", "from: one\n    count: 3"))
    seeds = [
        [flow.traffic.root.seed for flow in scenario_of(made, {"mtu": mtu}, block).workload]
        for block in (1, 2)
        for mtu in ("1500 B", "9000 B")
    ]
    assert (seeds[0], seeds[2]) == (seeds[1], seeds[3]), "treatments of a block share them"
    assert len({*seeds[0], *seeds[2]}) == 6


def test_full_changes_settings_and_levels(study):
    made = study(
        PACKETS,
        ("warmup: 0", 'warmup: 0\nfull: {workload.data.traffic.count: 99, mtu: "1500,4000,9000"}'),
    )
    full = made.in_full()
    assert (full.workload[0].traffic.count, full.full) == (99, {})
    assert full.factors["mtu"].levels == ["1500 B", "4000 B", "9000 B"]
    assert made.workload[0].traffic.count is None
    assert full.with_overrides({"workload.data.traffic.count": "5"}).workload[0].traffic.count == 5


@pytest.mark.parametrize(
    ("full", "message"),
    [
        ("{workload.data.traffic.cuont: 9}", "study.yaml:9: full.workload.data.traffic.cuont: unknown field"),
        ("{network.mtu.size: 9}", "study.yaml:9: full.network.mtu.size: no such factor or setting"),
        ("{network.rate: fast}", "study.yaml:9: full.network.rate: 'fast'\n  expected: a number"),
        ('{mtu: "1500,"}', "study.yaml:9: full.mtu: a value is empty"),
    ],
)
def test_what_full_changes_is_checked_when_the_study_is_read(study, full, message):
    with pytest.raises(BadInput) as caught:
        study(PACKETS, ("warmup: 0", f"warmup: 0\nfull: {full}"))
    assert message in str(caught.value)


def test_a_sweep_is_expected_to_take_a_while_for_each_request(study):
    made = study("{kind: sweep, first: 1 kB, last: 2 kB, step: 1 kB, repeats: 3, bytes: 8 kB, answer: echo}")
    # Three times, (8 + 4) requests take 40 us each, and 16 kB are sent at 8 Gbit/s.
    assert traffic_seconds(scenario_of(made, {})) == pytest.approx(3 * (12 * 40e-6 + 16e3 * 8 / 8e9))


CONTROL = """factors:
  mtu: {title: MTU, sets: network.mtu, levels: [1500 B, 9000 B]}
  control:
    title: Control
    sets:
      tcp: {workload.data.transport: tcp, workload.data.traffic: {kind: transfer, duration: 1 s}}
      slow: {workload.data.traffic.gap: 10 ms}
      udp: {}
    levels: [tcp, udp]
"""
FACTORS = "factors: {mtu: {title: MTU, sets: network.mtu, levels: [1500 B, 9000 B]}}\n"
SEVERAL = [(FACTORS, CONTROL), ("layout: {rows: mtu}", "layout: {rows: mtu, columns: [control]}")]


def test_a_level_can_set_several_settings(study):
    made = study(PACKETS, *SEVERAL)
    assert made.factors["control"].levels == ["tcp", "udp"]
    assert made.factors["control"].baseline == "tcp"
    (tcp,) = scenario_of(made, {"mtu": "1500 B", "control": "tcp"}).workload
    assert (tcp.transport.root, tcp.traffic.root.kind) == ("tcp", "transfer")
    (udp,) = scenario_of(made, {"mtu": "1500 B", "control": "udp"}).workload
    assert (udp.transport.root, udp.traffic.root.kind) == ("udp", "packets")
    again = Study.model_validate_json(made.model_dump_json(by_alias=True, exclude_none=True))
    assert again.model_dump() == made.model_dump()


def test_such_levels_are_chosen_by_name(study):
    made = study(PACKETS, *SEVERAL).with_overrides({"control": "slow,tcp"})
    assert made.factors["control"].levels == ["slow", "tcp"]
    assert traffic_of(made, {"control": "slow"})["gap"] == {"distribution": "constant", "value": "10 ms"}


def test_a_later_factor_changes_what_a_level_has_set_and_not_the_level_itself(study):
    made = study(PACKETS, *SEVERAL).with_overrides({"workload.data.traffic.duration": "2 s,3 s"})
    levels = {"control": "tcp", "workload.data.traffic.duration": "3 s"}
    assert traffic_of(made, levels)["duration"] == "3 s"
    assert traffic_of(made, {"control": "tcp"})["duration"] == "1 s"


@pytest.mark.parametrize(
    ("replacement", "message"),
    [
        (
            ("levels: [tcp, udp]", "levels: [tcp, upd]"),
            "study.yaml:26: factors.control.levels.1: upd\n  expected: tcp, slow, udp",
        ),
        (
            ("workload.data.transport: tcp", "workload.data.transport: xtp"),
            "factors.control.sets.tcp: 'xtp' (workload.0.transport)\n  expected: 'tcp', 'udp'",
        ),
        (
            ("workload.data.transport: tcp", "workload.dada.transport: tcp"),
            "factors.control.sets: workload.dada.transport\n  expected: data",
        ),
        (
            ("workload.data.transport: tcp", "network.mtu: 4000 B"),
            "factors.control.sets: network.mtu\n  expected: another setting\n  hint: the factor mtu already",
        ),
        (("udp: {}", "udp: 1"), "factors.control.sets"),
    ],
)
def test_what_is_wrong_with_such_levels_is_told(study, replacement, message):
    text = CONTROL.replace(*replacement)
    with pytest.raises(BadInput) as caught:
        study(PACKETS, (FACTORS, text), SEVERAL[1])
    assert message in str(caught.value)


def test_a_setting_that_levels_set_is_no_option_of_its_own(study):
    with pytest.raises(BadInput) as caught:
        study(PACKETS, *SEVERAL).with_overrides({"workload.data.transport": "tcp"})
    assert "--set workload.data.transport=tcp: the factor control sets it" in str(caught.value)
    assert "the factor's levels: tcp, udp" in str(caught.value)


def test_arguments_of_a_program_are_a_list_or_one_text(study):
    tool = "{kind: tool, tool: iperf3, duration: 1 s, arguments: %s}"
    written = [study(tool % arguments) for arguments in ("[-w, 1M, -l, 24K]", "-w 1M -l 24K")]
    assert [made.workload[0].traffic.arguments for made in written] == [["-w", "1M", "-l", "24K"]] * 2
    with pytest.raises(BadInput, match="words in a shell's syntax"):
        study(tool % '"-w \'1M"')
