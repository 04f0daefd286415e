"""Links and nodes that fail during the traffic: how a study describes them."""

from pathlib import Path

import pytest

from nettrial.design import resolve
from nettrial.study import Study, load

STUDY = """
study: outages
title: Outages
question: How long until it has recovered?
backend: sim
replicates: 1
full_replicates: 1
warmup: 0
network:
  topology: leaf-spine
  parameters: {leaves: 2, spines: 2, hosts_per_switch: 1}
  ip: 4
  mtu: 1500 B
  rate: 20 Mbit/s
  delay: 100 us
  queue: 50 packets
  events:
    - {at: 1 s, fails: [leaf-1, spine-1], returns: 2 s}
hosts:
  every: {stack: linux-cubic}
workload:
  - {flow: data, from: host-1, to: host-2, transport: tcp, traffic: {kind: transfer, duration: 4 s}}
measurement: {interval: 50 ms, queue_drops: allowed}
factors:
  routing: {title: Routing, sets: network.routing.policy, levels: [shortest_path, ecmp]}
responses:
  - {name: recovery, title: Time to recover, metric: time_to_recover, of: data, unit: ms}
layout: {rows: routing, columns: []}
headline: {factor: routing, responses: [recovery]}
"""


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Returns the study above."""
    path = tmp_path / "study.yaml"
    path.write_text(STUDY)
    return load(str(path))


def test_events_come_from_their_place_in_the_study(study: Study) -> None:
    found = resolve(study, {})
    [event] = found.scenario.events or []
    assert (event.at.root, event.fails, event.returns and event.returns.root) == (
        "1 s",
        ["leaf-1", "spine-1"],
        "2 s",
    )
    assert found.origins.place("/events/0/fails") == ("network", "events", 0, "fails")
