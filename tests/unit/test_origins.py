"""The place in the study from which each value of a scenario comes."""

import json
from pathlib import Path

import pytest

from nettrial.design import resolve, treatments
from nettrial.study import Study, load, shipped

TOGETHER = {
    "rate",
    "delay",
    "queue",
    "mtu",
    "traffic",
    "transport",
    "interval",
    "cpu",
    "policy",
    "loss",
    "jitter",
}
"""Steps of a JSON pointer, below which a scenario has the same values as its study."""
DRAWN = {"seed"}


def pointers(value, at=""):
    """Yields the JSON pointer of every value in a document, and the value."""
    yield at, value
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for step, member in members:
        yield from pointers(member, f"{at}/{step}")


def walk(value, place):
    for step in place:
        value = value[step]
    return value


@pytest.mark.parametrize("name", shipped())
def test_every_value_of_a_scenario_comes_from_a_place_in_the_study(name):
    study = load(name)
    for treatment in (treatments(study)[0], treatments(study)[-1]):
        found = resolve(study, treatment.levels)
        settings = {**found.origins.settings.model_dump(by_alias=True), "study": study.study}
        document = json.loads(found.scenario.model_dump_json(by_alias=True, exclude_none=True))
        seen = set()
        for pointer, value in pointers(document):
            place = found.origins.place(pointer)
            there = walk(settings, place)
            if not isinstance(value, dict | list) and TOGETHER & set(pointer.split("/")):
                if place[-1] in DRAWN or there == {"distribution": "imix"}:
                    continue
                if place[-1] == "mtu" and "tunnel" in document["links"][int(pointer.split("/")[2])]:
                    continue  # It is smaller by the header of the tunnel.
                assert there == value, (pointer, place)
                seen.add(place[0])
        assert seen >= {"network", "workload", "measurement"}


STUDY = """
study: mine
title: Mine
question: Where does it come from?
backend: sim
replicates: 1
full_replicates: 1
warmup: 0
network:
  topology: dumbbell
  ip: 4
  mtu: 1500 B
  rate: 1 Gbit/s
  queue: 100 packets
  impairment: {loss: 0.1}
  links:
    fabric:
      rate: 10 Mbit/s
hosts:
  a: {stack: linux-cubic, minimum_rto: 1 ms}
  b: {stack: linux-cubic}
  c: {stack: linux-cubic}
  d: {stack: linux-cubic}
workload:
  - flow: first
    from: a
    to: c
    transport: tcp
    traffic: {kind: transfer, duration: 1 s}
  - flow: datagrams
    from: [a, b]
    to: d
    transport: udp
    traffic:
      kind: packets
      size: 1000 B
      gap: {distribution: exponential, mean: 1 ms}
      duration: 1 s
measurement:
  interval: 100 ms
  cpu: [a, d]
  queue_drops: allowed
factors:
  mtu:
    title: MTU
    sets: network.mtu
    levels: [1500 B, 9000 B]
  how:
    title: How
    sets:
      slow: {workload.first.start: 1 s, hosts.b.ecn: false}
      fast: {hosts.b.ecn: true}
    levels: [slow, fast]
layout: {rows: mtu, columns: [how]}
responses:
  - {name: goodput, title: Goodput, metric: goodput, of: first, unit: Mbit/s}
"""


@pytest.fixture
def study(tmp_path, monkeypatch) -> Study:
    monkeypatch.chdir(tmp_path)
    Path("study.yaml").write_text(STUDY)
    return load("study.yaml")


def line(text):
    return STUDY[: STUDY.index(text)].count("\n") + 1


@pytest.mark.parametrize(
    ("pointer", "text", "path"),
    [
        ("/nodes/0/stack/minimum_rto", "a: {stack", "hosts.a.minimum_rto"),
        ("/nodes/0/stack/sack", "a: {stack", "hosts.a.stack"),
        ("/nodes/1/stack/ecn", "fast: {hosts", "factors.how.sets.fast.hosts.b.ecn"),
        ("/nodes/0/stack/ecn", "a: {stack", "hosts.a.stack"),
        ("/nodes/0/cost/per_packet", "a: {stack", "hosts.a.cost.per_packet"),
        ("/nodes/1/name", "b: {stack", "hosts.b"),
        ("/links/0/rate", "rate: 1 Gbit/s", "network.rate"),
        ("/links/4/rate", "rate: 10 Mbit/s", "network.links.fabric.rate"),
        ("/links/4/queue", "queue: 100", "network.queue"),
        ("/links/4/ends/1/mtu", "levels: [1500 B", "factors.mtu.levels.1"),
        ("/links/4/ends/1/addresses/0", "topology: dumbbell", "network.topology"),
        ("/links/1/impairment/loss", "impairment: {", "network.impairment.loss"),
        ("/links/1/impairment/bursts/enter", "impairment: {", "network.impairment.bursts.enter"),
        ("/links/0/discipline/target", "network:", "network.discipline"),
        ("/routing/policy", "network:", "network.routing.policy"),
        ("/workload/0/name", "- flow: first", "workload.first.flow"),
        ("/workload/2/traffic/gap/truncation", "gap: {dist", "workload.datagrams.traffic.gap.truncation"),
        (
            "/workload/2/traffic/gap/truncation/maximum",
            "gap: {dist",
            "workload.datagrams.traffic.gap.truncation",
        ),
        ("/workload/1/traffic/size/value", "size: 1000 B", "workload.datagrams.traffic.size"),
        ("/workload/1/ip", "ip: 4", "network.ip"),
        ("/workload/1/pair", "- flow: datagrams", "workload.datagrams.pairs"),
        ("/workload", "workload:", "workload"),
        ("/measurement/cpu/1", "cpu: [a, d]", "measurement.cpu.1"),
        ("/seed", "study: mine", "study"),
        ("", "study: mine", "study"),
    ],
)
def test_a_place_in_a_scenario_is_a_line_of_the_study(study, pointer, text, path):
    origins = resolve(study, {"mtu": "9000 B", "how": "fast"}).origins
    assert origins.where(pointer) == f"study.yaml:{line(text)}: {path}"


def test_what_an_option_gave_comes_from_the_option(study):
    set_ = study.with_overrides({"network.links.fabric.rate": "1 Mbit/s", "mtu": "500"})
    origins = resolve(set_, {"mtu": "500 B", "how": "slow"}).origins
    assert origins.where("/links/4/rate") == "--set network.links.fabric.rate=1 Mbit/s"
    assert origins.where("/links/4/ends/0/mtu") == "--set mtu=500"
    assert origins.where("/workload/0/start").endswith("factors.how.sets.slow.workload.first.start")
