"""Radio channels in the lab: real TCP/IP over the simulator's model of the medium."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nettrial.backends import Backend
from nettrial.design import scenario_of, treatments
from nettrial.scenario import ChannelRecord, Record, Scenario
from nettrial.study import load

STUDY = """
study: stations
title: Stations
question: How do stations share?
backend: lab
replicates: 1
full_replicates: 1
warmup: 0
network:
  topology: wlan
  parameters: {stations: 2, wired: 1}
  ip: 4
  mtu: 1500 B
  rate: 1 Gbit/s
  queue: 1000 packets
hosts:
  every: {stack: linux-cubic}
workload:
  - {flow: up, from: station-1, to: wired-1, transport: tcp, traffic: {kind: transfer, duration: 500 ms}}
  - {flow: down, from: wired-1, to: station-2, transport: tcp, traffic: {kind: transfer, duration: 500 ms}}
  - flow: across
    from: station-1
    to: station-2
    transport: udp
    traffic: {kind: packets, size: 500 B, rate: 200 kbit/s, duration: 500 ms}
measurement: {interval: 100 ms, queue_drops: allowed}
factors:
  ip: {title: IP, sets: network.ip, levels: [4, 6], baseline: 4}
layout: {rows: ip}
responses:
  - {name: goodput, title: Goodput, metric: goodput, of: up, unit: Mbit/s}
  - {name: airtime, title: Airtime, metric: airtime, of: station-1, unit: "%"}
"""


def scenario(directory: Path, ip: str = "4", text: str = STUDY, **wlan: object) -> Scenario:
    """Returns the study's scenario with this version of IP and with these settings of the channel."""
    path = directory / "study.yaml"
    path.write_text(text.replace("  ip: 4\n", f"  ip: 4\n  wlan: {json.dumps(wlan)}\n", 1))
    study = load(path)
    levels = next(each.levels for each in treatments(study) if each.levels["ip"] == ip)
    return scenario_of(study, levels, seed=1)


def used_ps(channel: ChannelRecord) -> int:
    """Returns the sum of idle time, collisions and the stations' airtime."""
    stations = (station.airtime for station in channel.stations)
    used = sum(time.data_ps + time.errors_ps + time.overhead_ps for time in stations)
    return channel.idle_ps + channel.collisions_ps + used


@pytest.mark.parametrize("ip", ["4", "6"])
def test_real_stacks_share_a_channel_whose_time_and_packets_add_up(
    ip: str, tmp_path: Path, run: Callable[[Scenario], Record]
) -> None:
    record = run(scenario(tmp_path, ip))
    assert all(flow.goodput_bps > 0 for flow in record.flows)
    (channel,) = record.channels
    assert channel.access_point == "access-point"
    assert used_ps(channel) == channel.elapsed_ps >= 500e9
    access_point, first, second = channel.stations
    assert [access_point.node, first.node, second.node] == ["access-point", "station-1", "station-2"]
    # A packet from station to station crosses the air twice, because the access point forwards it.
    across = next(flow for flow in record.flows if flow.name == "across")
    assert across.bytes > 0
    assert access_point.delivered_pkts > second.delivered_pkts
    assert all(station.exchanges == sum(station.aggregates) for station in channel.stations)
    assert access_point.beacons >= 4
    assert {check.passed for check in record.checks if check.name == "path_mtu"} == {True}


def test_a_channel_that_loses_all_mpdus_but_some_drops_packets_after_its_tries(
    tmp_path: Path, run: Callable[[Scenario], Record]
) -> None:
    (channel,) = run(scenario(tmp_path, mpdu_loss=0.4, tries=3)).channels
    assert sum(station.retry_drops_pkts for station in channel.stations) > 0
    assert sum(station.airtime.errors_ps for station in channel.stations) > 0


def test_hidden_stations_choose_rates_and_have_fair_queues_and_a_voice_flow(
    tmp_path: Path, run: Callable[[Scenario], Record]
) -> None:
    text = STUDY.replace("    transport: udp\n", "    transport: udp\n    socket: {dscp: 46}\n")
    text = text.replace("interval: 100 ms, queue", "interval: 100 ms, queue_interval: 20 ms, queue")
    # The range of carrier sense is 51 m, and the stations are 70 m apart.
    places = {"access-point": (0, 0), "station-1": (-35, 0), "station-2": (35, 0)}
    wanted = scenario(
        tmp_path,
        text=text,
        rate_control="minstrel_ht",
        discipline="fq_codel",
        rts_threshold="500 B",
        stations={name: {"x_m": x, "y_m": y} for name, (x, y) in places.items()},
    )
    assert next(flow for flow in wanted.workload if flow.name == "across").socket.dscp == 46
    (channel,) = run(wanted).channels
    assert used_ps(channel) == channel.elapsed_ps
    # The TCP connection of a hidden station may lose its first segments, and then waits longer than its flow
    # lasts.
    assert all(station.delivered_pkts > 0 for station in channel.stations)
    access_point, first, _ = channel.stations
    # Stations start with the slowest rate and find others.
    assert all(len(station.rates) > 2 and station.rate_series for station in (access_point, first))
    # A sample's contention delay is absent if nothing was sent in its 100 ms, and 0 if the channel was idle.
    assert any(sample.contention_delay_ns for sample in first.delay_series)
    assert any(sample.queue_delay_ns is not None for sample in first.delay_series)


def test_tso_at_a_radio_channel_is_refused_where_it_is_set(tmp_path: Path, lab: Backend) -> None:
    wanted = scenario(tmp_path)
    node = next(node for node in wanted.nodes if node.name == "station-1")
    node.offloads.tso = True
    (problem,) = lab.check(wanted)
    assert problem.pointer == "/nodes/0/offloads/tso"
    assert "false with a radio channel" in problem.expected
