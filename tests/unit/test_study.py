"""Study files: their values, their checks, and settings that change them."""

import shutil
from pathlib import Path

import pytest

from nettrial.design import scenario_of, treatments
from nettrial.errors import BadInput
from nettrial.study import Study, load, published, shipped, yaml_values
from nettrial.study.document import Document
from nettrial.topology import TOPOLOGIES
from nettrial.units import SIZE

SHIPPED = Path(__file__).parents[2] / "studies"
BEYOND = "    expect: lower\n    where: {sender: ubuntu-14.04, receiver: ubuntu-14.04}\n  - name: jitter-"
"""The lines after the levels of the conclusion `rtt-beyond-4000`."""
TEXT = (SHIPPED / "jumbo-ipv6" / "study.yaml").read_text()


def line_of(part):
    return TEXT[: TEXT.index(part)].count("\n") + 1


@pytest.fixture
def edited(tmp_path, monkeypatch):
    """Returns a function that loads the shipped study after replacing parts of its text."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    shutil.copy(SHIPPED / "jumbo-ipv6" / "published.csv", "mine")

    def edit(*replacements):
        text = TEXT
        for old, new in replacements:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        Path("mine/study.yaml").write_text(text)
        return load("mine")

    return edit


@pytest.mark.parametrize("name", shipped())
def test_every_shipped_study_loads(name):
    study = load(name)
    assert study.study == name
    assert study.directory == SHIPPED / name
    assert study.document.text == (SHIPPED / name / "study.yaml").read_text()
    if study.published:
        assert study.published_text() == (study.directory / study.published.file).read_text()


@pytest.mark.parametrize(
    "folder", sorted((SHIPPED.parent / "examples").iterdir()), ids=lambda path: path.name
)
def test_every_example_loads_and_resolves(folder):
    study = load(str(folder))
    assert study.study == folder.name
    assert [scenario_of(study, treatment.levels) for treatment in treatments(study)]


def test_the_shipped_study_is_the_papers():
    study = load("jumbo-ipv6")
    assert study.factors["mtu"].levels == ["1500 B", "4000 B", "9000 B"]
    assert (study.network.ip, study.network.rate, study.full_replicates) == (6, "1 Gbit/s", 20)
    assert study.workload[0].traffic.size == "5 MB"


def test_a_study_is_the_same_out_of_its_dump():
    study = load("jumbo-ipv6")
    again = Study.model_validate_json(study.model_dump_json(by_alias=True, exclude_none=True))
    assert again.model_dump() == study.model_dump()
    assert again.where("network", "mtu") == "study jumbo-ipv6: network.mtu"


def test_a_value_of_a_merged_mapping_has_the_place_of_the_mapping(edited):
    before = "traffic: {kind: transfer, size: 5 MB, duration: 2 s}"
    place = f"mine/study.yaml:{line_of(before)}: workload.transfer.traffic.size: '5 xB'"
    with pytest.raises(BadInput, match=place):
        edited((before, "traffic: {<<: {kind: transfer, size: 5 xB}, duration: 2 s}"))


def test_a_group_that_a_level_sets_does_not_hide_its_fields(edited):
    """A merge key of YAML puts what it adds after what is written beside it."""
    fields = "{network.offloads.gso: true, network.offloads: {tso: true, gso: false, gro: false}}"
    levels = load("jumbo-ipv6").factors["mtu"].levels
    sets = "".join(f"      {level}: {fields}\n" for level in levels)
    study = edited(("    sets: network.mtu\n", f"    sets:\n{sets}"))
    of_9000 = next(each for each in treatments(study) if each.levels["mtu"] == "9000 B")
    offloads = [node.offloads for node in scenario_of(study, of_9000.levels).nodes if node.offloads]
    assert {(each.tso, each.gso) for each in offloads} == {(True, True)}


def test_levels_have_one_form(edited):
    study = edited(
        ("[1500 B, 4000 B, 9000 B]", "[1500, 4 kB, 9000B]"), ("baseline: 1500 B", "baseline: 1.5 kB")
    )
    assert study.factors["mtu"].levels == ["1500 B", "4000 B", "9000 B"]
    assert study.factors["mtu"].baseline == "1500 B"


def test_the_first_level_is_the_baseline_where_none_is_given():
    assert load("jumbo-ipv6").factors["sender"].baseline == "linux-cubic"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "  delay: 0 ms",
            "  dellay: 0 ms",
            "mine/study.yaml:LINE: network.dellay: unknown field\n  expected: topology, parameters",
        ),
        ("  delay: 0 ms", "  dellay: 0 ms", "hint: did you mean 'delay'?"),
        (
            "  rate: 1 Gbit/s",
            "  rate: 1 Gbps",
            "mine/study.yaml:LINE: network.rate: '1 Gbps'\n  expected: a number and",
        ),
        (
            "  queue: 1000 packets",
            "  queue: 1000",
            'mine/study.yaml:LINE: network.queue: 1000\n  expected: "1000 packets"',
        ),
        ("  ip: 6", "  ip: 5", "mine/study.yaml:LINE: network.ip: 5\n  expected: 4 or 6"),
        ("  ip: 6", "  ip: six", "network.ip: 'six'\n  expected: 4 or 6"),
        ("  mtu: 1500 B", "  mtu: large", "network.mtu: 'large'\n  expected: a number and one of B, kB"),
        (
            "  topology: routed",
            "  topology: ruted",
            "unknown topology 'ruted'\n  expected: pair, parallel, routed, switched",
        ),
        ("  topology: routed", "", "network.topology: missing"),
        ("{tso: false,", "{tso: maybe,", "network.offloads.tso: 'maybe'\n  expected: true or false"),
        (
            "  sender: {stack: linux-cubic}",
            "  sender: {stack: linux}",
            "hosts.sender.stack: unknown stack 'linux'",
        ),
        (
            "  sender: {stack: linux-cubic}",
            "  router: {stack: classic}",
            "hosts.router: router\n  expected: another name",
        ),
        (
            "  sender: {stack: linux-cubic}\n",
            "",
            "hosts: receiver\n  expected: 2 hosts with the topology routed",
        ),
        ("levels: [1500 B, 4000 B, 9000 B]", "levels: []", "mtu.levels: []\n  expected: 1 or more entries"),
        ("kind: transfer, size: 5 MB", "kind: transfer, size: 5", None),
        ("kind: transfer, size: 5 MB", "kind: transfer, size: x", "workload.transfer.traffic.size: 'x'"),
        ("kind: transfer, size", "kind: burst, size", "workload.transfer.traffic.kind: 'burst'"),
        ("kind: transfer, size", "size", "workload.transfer.traffic.kind: missing"),
        (
            "  - flow: probe\n    from: sender",
            "  - flow: probe\n    from: sendr",
            "workload.probe.from: sendr\n  expected: sender, receiver",
        ),
        (
            "  - flow: probe",
            "  - flow: transfer",
            "workload.transfer.flow: transfer\n  expected: a name that no other",
        ),
        (
            "cpu: [sender, receiver]",
            "cpu: [sender, router]",
            "measurement.cpu.1: router\n  expected: sender, receiver",
        ),
        (
            "queue_drops: unexpected",
            "queue_drops: often",
            "queue_drops: 'often'\n  expected: 'allowed' or 'unexpected'",
        ),
        (
            "levels: [1500 B, 4000 B, 9000 B]",
            "levels: [1500 B, wide]",
            "factors.mtu.levels.1: wide\n  expected: a number",
        ),
        (
            "levels: [1500 B, 4000 B, 9000 B]",
            "levels: [1500 B, 1500]",
            "factors.mtu.levels.1: 1500 B\n  expected: each level once",
        ),
        ("levels: [1500 B, 4000 B, 9000 B]", "levels: []", "factors.mtu.levels: []"),
        (
            "levels: [1500 B, 4000 B, 9000 B]",
            "levels: [1500 B, [4000 B]]",
            "factors.mtu.levels.1: ['4000 B']",
        ),
        (
            "baseline: 1500 B",
            "baseline: 2000 B",
            "factors.mtu.baseline: 2000 B\n  expected: 1500 B, 4000 B, 9000 B",
        ),
        (
            "sets: network.mtu",
            "sets: network.mtv",
            "factors.mtu.sets: network.mtv\n  expected: topology, parameters",
        ),
        ("sets: network.mtu", "sets: network.mtv", "hint: did you mean 'mtu'?"),
        (
            "sets: network.mtu",
            "sets: netwrk.mtu",
            "factors.mtu.sets: netwrk.mtu\n  expected: network, stacks, hosts, workload, measurement",
        ),
        ("sets: network.mtu", "sets: network", "factors.mtu.sets: network"),
        ("sets: network.mtu", "sets: network.offloads", "factors.mtu.levels.0: 1500 B"),
        (
            "sets: hosts.receiver.stack",
            "sets: hosts.sender.stack",
            "factors.receiver.sets: hosts.sender.stack\n  expected: another",
        ),
        ("metric: rtt,", "metric: rrt,", "responses.rtt.metric: unknown metric 'rrt'"),
        (
            "metric: rtt, of: probe",
            "metric: rtt, of: sender",
            "responses.rtt.of: sender\n  expected: transfer, probe",
        ),
        (
            "metric: goodput, of: transfer, unit: Mbit/s",
            "metric: goodput, of: transfer, unit: bit/s",
            "unit: bit/s\n  expected: Mbit/s",
        ),
        ("name: jitter,", "name: rtt,", "responses.rtt.name: rtt\n  expected: a name that no other"),
        (
            "columns: [sender, receiver]",
            "columns: [sender]",
            "layout: mtu, sender\n  expected: each factor once: mtu, sender, receiver\n  hint: layout: "
            "{rows: mtu, columns: [sender, receiver]}",
        ),
        (
            "sets: hosts.sender.stack\n    levels: [linux-cubic, classic]",
            "sets: hosts.sender.stack\n    levels: [{stack: linux-cubic}, classic]",
            "levels.0: {'stack': 'linux-cubic'}\n  expected: a list of names or values\n  hint: settings of",
        ),
        (
            "file: published.csv",
            "file: publishd.csv",
            "published.file: publishd.csv\n  expected: a file in the directory of the study file",
        ),
        (
            "sender: {ubuntu-14.04: linux-cubic}",
            "sender: {ubuntu-14.04: windoze}",
            "published.levels.sender.ubuntu-14.04: windoze\n  expected: linux-cubic, classic; or a system",
        ),
        (
            "    sender: {ubuntu",
            "    sendr: {ubuntu",
            "published.levels.sendr: sendr\n  expected: mtu, sender, receiver",
        ),
        (
            "replicates: 5\n",
            "replicates: 0\n",
            "mine/study.yaml:LINE: replicates: 0\n  expected: greater than or equal to 1",
        ),
        (
            "  mtu:\n    title",
            "  block:\n    title",
            "factors.block: block\n  expected: a name other than number",
        ),
        (
            "study: jumbo-ipv6",
            "study: jumbo ipv6",
            "study: 'jumbo ipv6'\n  expected: letters, digits, - and _",
        ),
        ("warmup: 2", "warmup: 2\nwarmup: 2", "mine/study.yaml:NEXT: the key 'warmup' occurs"),
        ("network:", "network: [", "mine/study.yaml:1"),
        (
            "headline: {factor: mtu, level: 9000 B,",
            "headline: {factor: mtu, level: 9001 B,",
            "mine/study.yaml:LINE: headline.level: 9001 B\n  expected: 1500 B, 4000 B, 9000 B\n"
            "  hint: did you mean '9000 B'?",
        ),
        (
            "headline: {factor: mtu, level: 9000 B,",
            "headline: {factor: mtu, level: 1500 B,",
            "mine/study.yaml:LINE: headline.level: 1500 B\n  expected: 4000 B, 9000 B",
        ),
        (
            "headline: {factor: mtu, level: 9000 B,",
            "headline: {factor: mtu, place: {sender: linux-reno},",
            "headline.place.sender: linux-reno\n  expected: linux-cubic, classic",
        ),
        (
            "sender: {ubuntu-14.04: linux-cubic}",
            "sender: {ubuntu-14.04: linux-reno}",
            "mine/study.yaml:LINE: published.levels.sender.ubuntu-14.04: linux-reno\n  expected: linux",
        ),
        (
            f"    than: 4000 B\n{BEYOND}",
            f"    than: [1500 B, 4001 B]\n{BEYOND}",
            "mine/study.yaml:LINE: conclusions.rtt-beyond-4000.than.1: 4001 B\n  expected: 1500 B, 4000 B",
        ),
        (
            f"    than: 4000 B\n{BEYOND}",
            f"    than: 9000 B\n{BEYOND}",
            "conclusions.rtt-beyond-4000.level: 9000 B\n",
        ),
        (
            "    level: 9000 B\n    expect: lower\n    size: 24.74%",
            "    level: 8000 B\n    expect: lower\n    size: 24.74%",
            "conclusions.rtt.level: 8000 B\n  expected: 1500 B, 4000 B, 9000 B",
        ),
        (
            "    where: {sender: ubuntu-14.04, receiver: ubuntu-14.04}\n  - name: jitter\n",
            "    where: {sender: linux-reno, receiver: ubuntu-14.04}\n  - name: jitter\n",
            "mine/study.yaml:LINE: conclusions.rtt.where.sender: linux-reno\n  expected: linux-cubic",
        ),
    ],
)
def test_an_error_names_file_line_field_value_and_what_is_expected(edited, old, new, message):
    if message is None:
        edited((old, new))
        return
    with pytest.raises(BadInput) as caught:
        edited((old, new)).published_text()
    assert message.replace("LINE", str(line_of(old))).replace("NEXT", str(line_of(old) + 1)) in str(
        caught.value
    )
    assert caught.value.exit_code == 2
    assert len(str(caught.value).splitlines()) <= 24


def test_full_and_options_choose_among_the_levels_that_a_study_names(edited):
    """A level may be one that only `--full` has, and `--set` may leave a level out."""
    named = ("headline: {factor: mtu, level: 9000 B,", "headline: {factor: mtu, level: 6000 B,")
    study = edited(("warmup: 2\n", 'warmup: 2\nfull: {mtu: "1500, 6000, 9000"}\n'), named)
    assert study.headline.level == "6000 B"
    left_out = load("jumbo-ipv6").with_overrides({"mtu": "1500,4000", "sender": "classic"})
    assert left_out.headline.level == "9000 B"
    assert left_out.factors["mtu"].levels == ["1500 B", "4000 B"]


def test_the_sources_levels_are_those_of_the_published_file(edited):
    study = edited(("sender: {ubuntu-14.04: linux-cubic}", "sender: {ubuntu-14.4: linux-cubic}"))
    with pytest.raises(BadInput) as caught:
        published.refuse_unknown_levels(published.read(study.published_text(), study), study)
    assert "published.levels.sender.ubuntu-14.4: ubuntu-14.4\n" in str(caught.value)
    assert "did you mean 'ubuntu-14.04'?" in str(caught.value)


def test_off_is_a_text_as_in_yaml_1_2(edited):
    with pytest.raises(BadInput, match="'off'"):
        edited(("cpu: [sender, receiver]", "cpu: off"))


def test_every_fault_is_told_at_once(edited):
    with pytest.raises(BadInput) as caught:
        edited(("rate: 1 Gbit/s", "rate: fast"), ("interval: 100 ms", "interval: often"))
    assert [fault.object for fault in caught.value.faults] == [
        f"mine/study.yaml:{line_of('rate: 1 Gbit/s')}: network.rate",
        f"mine/study.yaml:{line_of('interval: 100 ms')}: measurement.interval",
    ]


def mappings(node):
    """Yields every mapping in a document."""
    if isinstance(node, dict):
        yield node
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from mappings(each)


def without_each_field(document):
    """Yields the name of each field while the document has it nowhere."""
    for name in dict.fromkeys(name for mapping in mappings(document) for name in mapping):
        owners = [mapping for mapping in mappings(document) if name in mapping]
        values = [mapping.pop(name) for mapping in owners]
        yield name
        for mapping, value in zip(owners, values, strict=True):
            mapping[name] = value


@pytest.mark.parametrize("name", ["jumbo-ipv6", "jellyfish-mptcp"])
def test_a_missing_field_says_what_is_expected(name):
    content = yaml_values.read(load(name).document.text)
    missing = []
    for field in without_each_field(content):
        try:
            Study.of(Document.in_python(content))
        except BadInput as refused:
            missing += [(field, fault) for fault in refused.faults if fault.value == "missing"]
    assert len(missing) > 20
    assert not [fault.object for _, fault in missing if not fault.expected]
    expected = {field: fault.expected for field, fault in missing}
    assert expected["question"] == "a text"
    assert expected["replicates"] == "a whole number"
    assert expected["topology"] == ", ".join(TOPOLOGIES)
    assert expected["mtu"] == SIZE.expected
    assert expected["workload"] == "a list"


@pytest.mark.parametrize("text", ["", "- a list", "just text", "study: [", "\x00"])
def test_what_is_no_study_is_refused(tmp_path, text):
    file = tmp_path / "study.yaml"
    file.write_text(text)
    with pytest.raises(BadInput):
        load(str(file))


def test_what_is_no_text_is_refused(tmp_path):
    (tmp_path / "study.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(BadInput, match="UTF-8"):
        load(str(tmp_path))


def test_an_unknown_study_suggests_the_near_one():
    with pytest.raises(BadInput, match="there is no study 'jumbo-ip6'") as caught:
        load("jumbo-ip6")
    assert "did you mean 'jumbo-ipv6'?" in str(caught.value)


def levels(study):
    return {name: factor.levels for name, factor in study.factors.items()}


@pytest.mark.parametrize("name", ["mtu", "network.mtu"])
def test_levels_can_be_set_by_factor_or_by_setting(name):
    study = load("jumbo-ipv6").with_overrides({name: "9000,1.5 kB"})
    assert levels(study)["mtu"] == ["9000 B", "1500 B"]
    assert study.factors["mtu"].baseline == "1500 B"
    assert list(study.factors) == ["mtu", "sender", "receiver"]


def test_a_baseline_that_is_no_level_any_more_gives_way():
    study = load("jumbo-ipv6").with_overrides({"mtu": "9000,4000"})
    assert study.factors["mtu"].baseline == "9000 B"


def test_one_value_fixes_a_setting():
    study = load("jumbo-ipv6").with_overrides(
        {"network.rate": "100 Mbit/s", "workload.probe.traffic.interval": "1 ms"}
    )
    assert study.network.rate == "100 Mbit/s"
    assert study.workload[1].traffic.interval == "1 ms"
    assert list(study.factors) == ["mtu", "sender", "receiver"]


def test_several_values_make_a_setting_a_factor():
    study = load("jumbo-ipv6").with_overrides({"network.offloads.tso": "true,false"})
    assert levels(study)["network.offloads.tso"] == ["true", "false"]
    assert study.layout.columns == ["sender", "receiver", "network.offloads.tso"]


def test_overrides_leave_the_study_as_it_was():
    study = load("jumbo-ipv6")
    before = study.model_dump()
    study.with_overrides({"mtu": "9000", "network.ip": "4,6"})
    assert study.model_dump() == before


def test_a_missing_file_says_what_is_expected():
    with pytest.raises(BadInput, match=r"parameters\.path: missing\n  expected: a readable file"):
        load("jumbo-ipv6").with_overrides({"network.topology": "file"})


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"mtu": "1500,wide"}, "--set mtu=1500,wide: wide\n  expected: a number"),
        ({"mtu": "1500,1500"}, "--set mtu=1500,1500: 1500 B\n  expected: each level once"),
        ({"mtu": ""}, "--set mtu=: a value is empty"),
        ({"mtu": "1500,"}, "a value is empty"),
        ({"sender": "linux-cubik"}, "did you mean 'linux-cubic'?"),
        ({"sendr": "classic"}, "no such factor or setting\n  expected: mtu, sender, receiver, network"),
        ({"sendr": "classic"}, "did you mean 'sender'?"),
        ({"MTU": "9000"}, "did you mean 'mtu'?"),
        ({"Sender": "classic"}, "did you mean 'sender'?"),
        ({"rate": "1"}, "did you mean 'network.rate'?"),
        ({"congestion": "bbr"}, "did you mean 'hosts.sender.congestion_control'?"),
        ({"sender.congestion": "bbr"}, "did you mean 'hosts.sender.congestion_control'?"),
        ({"Interval": "1 ms"}, "did you mean 'measurement.interval'?"),
        ({"busy_poll": "1 ms"}, "did you mean 'workload.transfer.socket.busy_poll'?"),
        ({"network.mtuu": "9000"}, "--set network.mtuu=9000: unknown field\n  expected: topology"),
        ({"network.loss": "1%"}, "\n  hint: did you mean 'impairment.loss'?"),
        ({"network.discipline": "fq_codl"}, "\n  hint: did you mean 'fq_codel'?"),
        ({"network.discipline": "red"}, "--set network.discipline=red: minimum is missing"),
        ({"workload.transfer.duration": "1 s"}, "\n  hint: did you mean 'traffic.duration'?"),
        ({"network.mtuu": "9000,1500"}, "--set network.mtuu=9000,1500: "),
        ({"network.topology": "switchd"}, "did you mean 'switched'?"),
        ({"network.topology.name": "x"}, "no such factor or setting"),
        ({"workload.prob.start": "1 s"}, "expected: transfer, probe"),
        ({"replicates": "3"}, "no such factor or setting"),
        ({"network": "x"}, "no such factor or setting"),
        (
            {"network.impairment.loss": "1"},
            "--set network.impairment.loss=1: 1\n  expected: a fraction below 1, such as 0.01, or a "
            "percentage up to 100%, such as 1%\n  hint: 1 without a unit may mean 1% or 100%",
        ),
        ({"measurement.cpu": "sender"}, "--set measurement.cpu=sender: 'sender'\n  expected: a list"),
    ],
)
def test_a_bad_override_names_the_option(overrides, message):
    with pytest.raises(BadInput) as caught:
        load("jumbo-ipv6").with_overrides(overrides)
    assert message in str(caught.value)
    assert "study.yaml" not in str(caught.value)


def test_a_level_is_applied_once_to_the_same_settings(monkeypatch):
    study, applied, settings = load("jumbo-ipv6"), [], Study.settings
    monkeypatch.setattr(
        Study, "settings", lambda self, levels: applied.append(levels) or settings(self, levels)
    )
    overrides = {"network.queue": "1001 packets", "network.icmp": "answered,filtered"}  # of no other test
    once = study.with_overrides(overrides)
    assert {"network.icmp": "filtered"} in applied
    applied.clear()
    assert study.with_overrides(overrides).factors == once.factors
    assert applied == []
    # The same level is wrong with other settings, with which it is checked anew.
    with pytest.raises(BadInput, match="it has no router"):
        study.with_overrides({**overrides, "network.topology": "pair"})
