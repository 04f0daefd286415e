"""Metrics of what a station of a radio channel used it for, and of its frames."""

from __future__ import annotations

from nettrial.metrics.metric import add, share
from nettrial.scenario import ChannelRecord, StationRecord

STANDARD = "IEEE 802.11-2020"


def _used(station: StationRecord) -> int:
    airtime = station.airtime
    return airtime.data_ps + airtime.errors_ps + airtime.overhead_ps


def _aggregate(_: ChannelRecord, station: StationRecord) -> float | None:
    counts = [count.root for count in station.aggregates]
    mpdus = sum(size * count for size, count in enumerate(counts, start=1))
    ppdus = sum(counts)
    return mpdus / ppdus if ppdus else None


add(
    "airtime",
    "%",
    "Airtime",
    "share of the trial's time in which the station had the channel, collisions not counted",
    STANDARD,
    "lower",
    station=lambda channel, station: share(_used(station), channel.elapsed_ps),
)
add(
    "airtime_data",
    "%",
    "Airtime of data",
    "share of the trial's time that the bytes of the station's MPDUs took which arrived",
    STANDARD,
    "higher",
    station=lambda channel, station: share(station.airtime.data_ps, channel.elapsed_ps),
)
add(
    "airtime_overhead",
    "%",
    "Airtime of overhead",
    "share of the trial's time that the station's preambles, padding, acknowledgments, RTS, CTS, beacons and "
    "the spaces between them took",
    STANDARD,
    "lower",
    station=lambda channel, station: share(station.airtime.overhead_ps, channel.elapsed_ps),
)
add(
    "channel_idle",
    "%",
    "Idle channel",
    "share of the trial's time in which nobody had the channel of the station, backoff counted",
    STANDARD,
    "lower",
    station=lambda channel, _: share(channel.idle_ps, channel.elapsed_ps),
)
add(
    "channel_collisions",
    "%",
    "Collisions on the channel",
    "share of the trial's time in which frames collided on the channel of the station",
    STANDARD,
    "lower",
    station=lambda channel, _: share(channel.collisions_ps, channel.elapsed_ps),
)
add(
    "collided_attempts",
    "%",
    "Attempts that collided",
    "share of the station's attempts to send that collided with another station's",
    "Bianchi, IEEE JSAC 18(3), 2000: conditional collision probability",
    "lower",
    station=lambda _, station: share(station.collisions, station.collisions + station.exchanges),
)
add(
    "aggregate_size",
    "packets",
    "MPDUs of a PPDU",
    "mean number of MPDUs in the station's PPDUs that did not collide",
    f"{STANDARD} clause 9.7",
    "higher",
    station=_aggregate,
)
add(
    "mpdu_retries",
    "%",
    "MPDUs retransmitted",
    "share of the MPDUs that the station sent which had been sent before",
    STANDARD,
    "lower",
    station=lambda _, station: share(station.retries_pkts, station.mpdus_pkts),
)
add(
    "mpdu_loss",
    "%",
    "MPDUs lost to noise",
    "share of the MPDUs that the station sent which were lost, collisions not counted",
    STANDARD,
    "lower",
    station=lambda _, station: share(station.lost_mpdus_pkts, station.mpdus_pkts),
)
add(
    "radio_drops",
    "packets",
    "Drops at the station",
    "IP packets that the station dropped, for a full queue, by CoDel, or after the last try",
    STANDARD,
    "lower",
    station=lambda _, station: float(
        station.queue_drops_pkts + (station.codel_drops_pkts or 0) + station.retry_drops_pkts
    ),
)
add(
    "radio_queue_delay",
    "ms",
    "Queue delay at the station",
    "mean time from an IP packet's arrival at the station's interface until it is sent for the first time",
    STANDARD,
    "lower",
    station=lambda _, station: station.queue_delay_mean_ns / 1e6,
)
add(
    "contention_delay",
    "ms",
    "Contention delay",
    "mean time from when the station has something to send and may contend for it until it sends",
    STANDARD,
    "lower",
    station=lambda _, station: station.contention_delay_mean_ns / 1e6,
)
