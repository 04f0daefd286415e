"""Captures of radio channels of both backends, as tshark reads them."""

import csv
from pathlib import Path

import pytest

from tests.end_to_end.test_capture import captured, frames
from tests.end_to_end.test_commands import nettrial

STUDY = """
study: sniffed
title: Sniffed
question: What is on air?
backend: sim
replicates: 1
full_replicates: 1
warmup: 0
network:
  topology: wlan
  parameters: {stations: 2}
  ip: 4
  mtu: 1500 B
  wlan: {standard: n, width_mhz: 40, streams: 2, mcs: 5, mpdu_loss: 0.1, beacon_interval: 51.2 ms}
hosts:
  every: {stack: linux-cubic}
workload:
  - flow: across
    from: station-1
    to: station-2
    transport: tcp
    traffic: {kind: transfer, duration: 100 ms}
measurement:
  interval: 100 ms
  queue_drops: allowed
  capture: {interfaces: ["access-point:eth0-air"]}
factors:
  standard: {title: Standard, sets: network.wlan.standard, levels: [n], baseline: n}
layout: {rows: standard}
responses:
  - {name: goodput, title: Goodput, metric: goodput, of: across, unit: Mbit/s}
"""
FIELDS = (
    "frame.time_epoch",
    "wlan.fc.type_subtype",
    "wlan.ta",
    "wlan.ra",
    "wlan.sa",
    "wlan.da",
    "wlan.fc.retry",
    "wlan.seq",
    "radiotap.mcs.index",
    "radiotap.ampdu.reference",
    "ip.src",
    "tcp.len",
    "_ws.malformed",
)
BEACON, ACK, BLOCK_ACK, DATA = ("0x0008", "0x001d", "0x0019", "0x0028")


def on_air(directory: Path, *arguments: str) -> list[Path]:
    """Returns the capture of the study's channel in each trial."""
    (directory / "study.yaml").write_text(STUDY)
    files = captured(directory, "study.yaml", "--capture", "first", "--seed", "1", *arguments)
    assert all(name.endswith("-access-point-eth0-air.pcapng") for name in files), files
    return list(files.values())


def stations(directory: Path) -> list[dict[str, str]]:
    """Returns the rows of the run's table of stations."""
    done = nettrial(directory, "export", "run", "--to", "csv", "--out", "tables")
    assert done.returncode == 0, done.stderr
    with (directory / "tables" / "stations.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.settles
@pytest.mark.end_to_end
@pytest.mark.parametrize("backend", ["sim", "lab"])
def test_a_channel_is_captured_with_what_its_stations_send(backend: str, tmp_path: Path) -> None:
    (file,) = on_air(tmp_path, "--backend", backend)
    seen = [dict(zip(FIELDS, frame, strict=True)) for frame in frames(file, fields=FIELDS)]
    assert not [frame for frame in seen if frame["_ws.malformed"]]
    times = [float(frame["frame.time_epoch"]) for frame in seen]
    assert times == sorted(times)
    counted = stations(tmp_path)

    def total(column: str) -> int:
        return sum(int(row[column]) for row in counted)

    data = [frame for frame in seen if frame["wlan.fc.type_subtype"] == DATA]
    retries = [frame for frame in data if frame["wlan.fc.retry"] in ("1", "True")]
    assert len(data) == total("mpdus_pkts")
    assert len(retries) == total("retries_pkts") > 0
    kinds = {frame["wlan.fc.type_subtype"] for frame in seen}
    assert kinds == {BEACON, ACK, BLOCK_ACK, DATA}
    assert {frame["radiotap.mcs.index"] for frame in data} == {"13"}, "MCS 5 of two streams"
    assert len({frame["radiotap.ampdu.reference"] for frame in data}) > 10
    # A packet between two stations crosses the air twice, because the access point forwards it.
    segments = [frame for frame in data if frame["tcp.len"] == "1448"]
    ends = {(frame["wlan.sa"], frame["wlan.da"]) for frame in segments}
    assert len(ends) == 1
    hops = {(frame["wlan.ta"], frame["wlan.ra"]) for frame in segments}
    ((source, destination),) = ends
    assert len(hops) == 2
    assert {source, destination} < {address for hop in hops for address in hop}


@pytest.mark.end_to_end
def test_rates_of_ac_and_ax_and_protection_are_read(tmp_path: Path) -> None:
    changes = "standard=ac,ax", "network.wlan.rts_threshold=500 B", "network.wlan.width_mhz=80"
    files = on_air(tmp_path, *(word for change in changes for word in ("--set", change)))
    fields = ("wlan.fc.type_subtype", "radiotap.vht.mcs.0", "radiotap.vht.bw", "radiotap.he.data_3.data_mcs")
    rows = {tuple(row) for file in files for row in frames(file, fields=(*fields, "_ws.malformed"))}
    assert not [row for row in rows if row[4]]
    assert {row[:2] for row in rows if row[2]} == {(DATA, "5")}
    assert {("0x001b", "", "", "", ""), ("0x001c", "", "", "", "")} <= rows, "RTS and CTS"
    assert [row for row in rows if row[3]]
