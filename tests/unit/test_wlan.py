"""The topology `wlan`: stations that share a radio channel."""

import pytest
from pydantic import ValidationError

from nettrial.errors import BadInput
from nettrial.report.content import gather
from nettrial.report.html import page
from nettrial.scenario import ChannelRecord
from nettrial.study import load
from nettrial.topology import TOPOLOGIES, interfaces
from tests.records import CHANNEL, full_record
from tests.unit.synthetic import make_run, record

STUDY = """
study: stations
title: Stations
question: How do stations share?
backend: sim
replicates: 1
full_replicates: 1
warmup: 0
network:
  topology: wlan
  parameters: {stations: 3, wired: 1}
  wlan: {standard: n, width_mhz: 40}
  ip: 4
  mtu: 1500 B
  rate: 1 Gbit/s
  queue: 1000 packets
hosts:
  every: {stack: linux-cubic}
workload:
  - {flow: up, from: station-1, to: wired-1, transport: tcp, traffic: {kind: transfer, duration: 1 s}}
measurement: {interval: 100 ms, queue_drops: allowed}
factors:
  mcs: {title: MCS, sets: network.wlan.mcs, levels: [0, 7], baseline: 0}
layout: {rows: mcs}
responses:
  - {name: airtime, title: Airtime, metric: airtime, of: station-1, unit: "%"}
"""


def study(tmp_path, **replaced):
    text = STUDY
    for old, new in replaced.values():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "study.yaml").write_text(text)
    return load(tmp_path / "study.yaml")


def test_stations_share_one_link_whose_first_interface_is_the_access_points(tmp_path):
    from nettrial.design.treatment_scenario import resolve

    found = resolve(study(tmp_path), {"mcs": "7"})
    channel, cable = found.scenario.links
    assert channel.medium.root == "wlan"
    assert [end.node for end in channel.ends] == ["access-point", "station-1", "station-2", "station-3"]
    assert (channel.wlan.mcs, channel.wlan.width_mhz, channel.rate, channel.queue) == (7, 40, None, None)
    assert [end.interface for end in channel.ends] == ["eth0"] * 4
    assert [(end.node, end.interface) for end in cable.ends] == [
        ("wired-1", "eth0"),
        ("access-point", "eth1"),
    ]
    assert cable.wlan is None
    place = found.origins.place("/links/0/wlan/width_mhz")
    assert place == ("network", "wlan", "width_mhz")
    # A backend that refuses the medium names the topology in its error.
    assert found.origins.place("/links/0/medium") == ("network", "topology")
    assert found.origins.place("/links/0/delay")[0] == "network"


@pytest.mark.parametrize(
    ("replaced", "said"),
    [
        (
            ("topology: wlan\n  parameters: {stations: 3, wired: 1}", "topology: jellyfish"),
            "no radio channel",
        ),
        (("stations: 3, wired: 1", "stations: 1"), "2 hosts or more"),
        (("stations: 3, wired: 1", "stations: 3"), "left out"),
        (("width_mhz: 40", "hidden: true"), "unknown field"),
        (("of: station-1", "of: station-9"), "station-1"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, replaced, said):
    text = (replaced, ("from: station-1, to: wired-1", "from: every, to: next"))
    with pytest.raises(BadInput) as error:
        study(tmp_path, **{str(number): each for number, each in enumerate(text)})
    assert said in str(error.value)


def test_every_station_has_an_address_in_the_network_of_the_hosts_with_cables():
    graph = TOPOLOGIES["wlan"].graph(TOPOLOGIES["wlan"].parameters(stations=2, wired=2))
    ends = [end for link in interfaces(graph, 4) for end in link if end.address]
    assert [end.address for end in ends] == [f"10.0.0.{number}/24" for number in range(1, 5)]


def test_stations_without_an_access_point_are_in_one_network():
    graph = TOPOLOGIES["wlan"].graph(TOPOLOGIES["wlan"].parameters(stations=3, access_point=False))
    (channel,) = interfaces(graph, 4)
    assert [(end.node, end.name, end.address) for end in channel] == [
        (f"station-{number}", "eth0", f"10.0.0.{number}/24") for number in (1, 2, 3)
    ]
    with pytest.raises(ValidationError, match="not allowed here"):
        TOPOLOGIES["wlan"].parameters(wired=1, access_point=False)


TOPOLOGY = "topology: wlan\n  parameters: {stations: 3, wired: 1}"
LEAVES = "topology: leaf-spine\n  parameters: {leaves: 2, spines: 1, hosts_per_switch: 1}"


def test_stations_are_added_to_any_topology(tmp_path):
    from nettrial.design.treatment_scenario import resolve

    shape = (TOPOLOGY, f"{LEAVES}\n  stations: {{at: leaf-2, count: 2}}")
    found = resolve(study(tmp_path, shape=shape, to=("to: wired-1", "to: host-2")), {"mcs": "7"}).scenario
    kinds = [(node.name, node.kind.root) for node in found.nodes]
    assert kinds[:4] == [(name, "host") for name in ("host-1", "host-2", "station-1", "station-2")]
    assert kinds[4:] == [
        ("leaf-1", "router"),
        ("leaf-2", "router"),
        ("spine-1", "router"),
        ("access-point", "switch"),
    ]
    channel = next(link for link in found.links if link.wlan)
    assert [end.node for end in channel.ends] == ["access-point", "station-1", "station-2"]
    cable = next(link for link in found.links if link is not channel and link.ends[1].node == "access-point")
    # The router's interface to the cable is in the stations' network.
    assert [cable.ends[0].node, cable.ends[0].addresses[0].root] == ["leaf-2", "10.0.2.3/24"]
    assert [end.addresses[0].root for end in channel.ends[1:]] == ["10.0.2.1/24", "10.0.2.2/24"]


def test_stations_of_a_topology_that_joins_hosts_are_named_as_these(tmp_path):
    named = "hosts: {a: {stack: linux-cubic}, b: {stack: linux-cubic}, station-1: {stack: linux-bbr}}"
    replaced = {
        "shape": (TOPOLOGY, "topology: routed\n  stations: {at: router}"),
        "to": ("to: wired-1", "to: b"),
        "hosts": ("hosts:\n  every: {stack: linux-cubic}", named),
    }
    assert study(tmp_path, **replaced).settings({"mcs": "7"}).host_names() == ["a", "b", "station-1"]
    replaced["hosts"] = (replaced["hosts"][0], named.replace("station-1", "c"))
    with pytest.raises(BadInput, match="an entry for station-1"):
        study(tmp_path, **replaced)


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (f"{TOPOLOGY}\n  stations: {{at: access-point}}", "it has stations of its own"),
        (f"{LEAVES}\n  stations: {{at: leaf-3}}", "leaf-1, leaf-2, spine-1"),
        (f"{LEAVES}\n  stations: {{at: leaf-1, count: 0}}", "stations.count"),
    ],
)
def test_stations_where_they_cannot_be_are_refused(tmp_path, shape, said):
    with pytest.raises(BadInput) as error:
        study(tmp_path, shape=(TOPOLOGY, shape), to=("to: wired-1", "to: host-2"))
    assert said in str(error.value)


def test_a_station_has_settings_of_its_own(tmp_path):
    from nettrial.design.treatment_scenario import resolve

    own = (
        "wlan: {standard: n, width_mhz: 40}",
        "wlan: {standard: n, width_mhz: 40, stations: {station-1: {snr_db: 30}, station-2: {mcs: 1}}}",
    )
    factor = ("sets: network.wlan.mcs", "sets: network.wlan.stations.station-1.mcs")
    found = resolve(study(tmp_path, own=own, factor=factor), {"mcs": "0"})
    stations = found.scenario.links[0].wlan.stations
    assert (stations["station-1"].mcs, stations["station-1"].snr_db) == (0, 30)
    assert (stations["station-2"].mcs, stations["station-2"].snr_db) == (1, None)
    place = found.origins.place("/links/0/wlan/stations/station-2/mcs")
    assert place == ("network", "wlan", "stations", "station-2", "mcs")


def test_stations_are_drawn_at_their_positions_with_their_ranges(tmp_path):
    from nettrial.cli.draw import draw as draw_command
    from nettrial.design.treatment_scenario import scenario_of
    from nettrial.report.topology import draw

    places = {"access-point": (0, 0), "station-1": (30, 0), "station-2": (0, 30), "station-3": (-30, 0)}
    stations = ", ".join(f"{name}: {{x_m: {x}, y_m: {y}}}" for name, (x, y) in places.items())
    made = study(tmp_path, own=("width_mhz: 40}", f"width_mhz: 40, stations: {{{stations}}}}}"))
    drawing = draw(made, scenario_of(made, {"mcs": "7"}))
    at = {node.name: node for node in drawing.nodes}
    middle, right, top, left = (at[name] for name in places)
    assert right.x - middle.x == pytest.approx(middle.x - left.x) == pytest.approx(middle.y - top.y)
    assert right.y == middle.y == left.y
    # A transmit power of 16 dBm less 46.7 dB at 1 m is 51.3 dB above the threshold. The level falls by 30 dB
    # when the distance increases tenfold.
    reach = 10 ** (51.3 / 30) * (right.x - middle.x) / 30
    assert [circle.radius for circle in drawing.ranges] == [pytest.approx(reach)] * 4
    assert "carrier sense, with a range of 51.3 m" in drawing.captions[-1]
    draw_command(str(tmp_path / "study.yaml"), (), tmp_path / "drawn.svg", False)
    assert (tmp_path / "drawn.svg").read_text().count("<circle") == 4
    with pytest.raises(BadInput, match="no --set with a study"):
        draw_command(str(tmp_path / "study.yaml"), ("stations=3",), None, False)


def test_stations_without_an_access_point_are_joined_in_pairs():
    from nettrial.report.picture import picture
    from nettrial.topology import TOPOLOGIES

    topology = TOPOLOGIES["wlan"]
    drawing = picture(topology.graph(topology.parameters(stations=4, access_point=False)))
    assert len(drawing.links) == 6
    assert all(link.is_radio for link in drawing.links)


def test_a_report_says_what_the_channel_is_and_which_of_it_is_a_factor(tmp_path):
    from nettrial.design.treatment_scenario import scenario_of
    from nettrial.report.topology import draw

    made = study(tmp_path)
    drawing = draw(made, scenario_of(made, {"mcs": "7"}))
    assert len(drawing.links) == 4
    assert drawing.captions == [
        "3 × 802.11n, 5 GHz, 40 MHz, 1 stream, mcs: factor",
        "1 × 1 Gbit/s, MTU 1500 B",
        "Dashed: radio.",
    ]
    assert [link.is_radio for link in drawing.links] == [True, True, True, False]


def test_the_airtime_of_a_channel_is_a_chart_of_the_report(tmp_path):
    from nettrial.report.airtime import PARTS, draw, shares

    channel = ChannelRecord.model_validate(CHANNEL)
    assert shares(channel) == {"data": 30, "errors": 5, "overhead": 15, "collisions": 10, "idle": 40}

    def maker(trial):
        made = record(trial)
        made.channels = [channel]
        return made

    run = make_run(tmp_path / "run", replicates=2, maker=maker)
    (chart,) = draw(run.study, run.trials())
    assert chart.legend == tuple(PARTS)
    rows = chart.spec["layer"][0]["data"]["values"]
    assert len(rows) == 12 * len(PARTS)
    assert rows[0]["said"] == "Sender linux-cubic – Receiver linux-cubic – MTU 1500 B: data 30.0%, 2 trials"
    assert 'id="chart-airtime-1"' in page(gather(run))
    assert draw(run.study, make_run(tmp_path / "wired", replicates=1).trials()) == []


def test_rates_and_delays_of_stations_are_charts_over_time(tmp_path):
    from nettrial.report.series import draw

    series = [{"at_ns": 0, "rate_bps": 13_000_000}, {"at_ns": 10**8, "rate_bps": 65_000_000}]
    delays = [{"at_ns": 0, "queue_delay_ns": 5_000_000}, {"at_ns": 10**8, "contention_delay_ns": 250_000}]

    def maker(trial):
        made = record(trial)
        (station,) = CHANNEL["stations"]
        channel = {**CHANNEL, "stations": [{**station, "rate_series": series, "delay_series": delays}]}
        made.channels = [ChannelRecord.model_validate(channel)]
        first = full_record().flows[0].intervals[0]
        made.flows[0].intervals = [first, first.model_copy(update={"at_ns": first.at_ns + 1})]
        return made

    found, _ = draw(gather(make_run(tmp_path / "run", replicates=1, maker=maker)))
    drawn = found[0].charts[-3:]
    assert {chart.legend for chart in drawn} == {("sender",)}
    rows = {chart.title: chart.spec["layer"][0]["data"]["values"] for chart in drawn}
    assert {title: [(row["at"], row["value"]) for row in of] for title, of in rows.items()} == {
        "Rate of the radio, Mbit/s": [(0, 13), (0.1, 65)],
        "Wait in the radio's queue, ms": [(0, 5)],
        "Contention, ms": [(0.1, 0.25)],
    }
