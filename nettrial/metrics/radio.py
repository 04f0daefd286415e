"""Metrics of a station's use of a radio channel, and of its frames."""

from __future__ import annotations

from nettrial.metrics.metric import add, share
from nettrial.scenario import ChannelRecord, StationRecord

STANDARD = "IEEE 802.11-2020"
"""The standard to which metrics of radio channels refer."""


def _used(station: StationRecord) -> int:
    airtime = station.airtime
    return airtime.data_ps + airtime.errors_ps + airtime.overhead_ps


def _aggregate(_: ChannelRecord, station: StationRecord) -> float | None:
    counts = station.aggregates
    mpdus = sum(size * count for size, count in enumerate(counts, start=1))
    ppdus = sum(counts)
    return mpdus / ppdus if ppdus else None


add(
    "airtime",
    "%",
    "Airtime",
    "share of the trial's time in which the station used the channel, excluding collisions",
    STANDARD,
    "lower",
    station=lambda channel, station: share(_used(station), channel.elapsed_ps),
)
add(
    "airtime_data",
    "%",
    "Airtime of data",
    "share of the trial's time taken by the bytes of the station's MPDUs that arrived",
    STANDARD,
    "higher",
    station=lambda channel, station: share(station.airtime.data_ps, channel.elapsed_ps),
)
add(
    "airtime_overhead",
    "%",
    "Airtime of overhead",
    "share of the trial's time taken by the station's preambles, padding, acknowledgments, RTS, CTS, beacons "
    "and "
    "the gaps between them",
    STANDARD,
    "lower",
    station=lambda channel, station: share(station.airtime.overhead_ps, channel.elapsed_ps),
)
add(
    "channel_idle",
    "%",
    "Idle channel",
    "share of the trial's time in which nobody used the channel of the station, including backoff",
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
    "share of the station's transmission attempts that collided with another station's",
    "Bianchi, IEEE JSAC 18(3), 2000: conditional collision probability",
    "lower",
    station=lambda _, station: share(station.collisions, station.collisions + station.exchanges),
)
add(
    "aggregate_size",
    "packets",
    "MPDUs of a PPDU",
    "mean number of MPDUs in those of the station's PPDUs that did not collide",
    f"{STANDARD} clause 9.7",
    "higher",
    station=_aggregate,
)
add(
    "mpdu_retries",
    "%",
    "MPDUs retransmitted",
    "share of the MPDUs sent by the station that had been sent before",
    STANDARD,
    "lower",
    station=lambda _, station: share(station.retries_pkts, station.mpdus_pkts),
)
add(
    "mpdu_loss",
    "%",
    "MPDUs lost to noise",
    "share of the MPDUs sent by the station that were lost, excluding collisions",
    STANDARD,
    "lower",
    station=lambda _, station: share(station.lost_mpdus_pkts, station.mpdus_pkts),
)
add(
    "radio_drops",
    "packets",
    "Drops at the station",
    "IP packets that the station dropped because of a full queue, by CoDel, or after the last attempt",
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
    "mean time from an IP packet's arrival at the station's interface until its first transmission",
    STANDARD,
    "lower",
    station=lambda _, station: station.queue_delay_mean_ns / 1e6,
)
add(
    "contention_delay",
    "ms",
    "Contention delay",
    "mean time from the start of the station's contention for the channel until it transmits",
    STANDARD,
    "lower",
    station=lambda _, station: station.contention_delay_mean_ns / 1e6,
)
