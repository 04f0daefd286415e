"""Metrics of the CPU cost of traffic on a host, and of its radio."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from nettrial.metrics.metric import Better, add, scaled, share
from nettrial.scenario import Figure, HostRecord

Read: TypeAlias = Callable[[HostRecord], float | None]
"""A function that reads a figure of a host's record."""

add(
    "cpu",
    "%",
    "CPU",
    "share of the time during the traffic in which the host's CPU was not idle, including interrupts, but "
    "without `cpu_shaper` where that was measured",
    "Linux Documentation/filesystems/proc.rst: /proc/stat",
    "lower",
    host=lambda host: host.cpu_percent,
)
add(
    "cpu_shaper",
    "%",
    "CPU, shapers",
    "share of the time during the traffic in which the lab's shapers used the host's CPU, from samples of "
    "the kernel's stacks",
    "perf_event_open(2): cpu-clock",
    "lower",
    host=lambda host: host.shaper_percent,
)
add(
    "service_demand",
    "us/kB",
    "Service demand",
    "CPU time per kilobyte (1000 bytes) of payload transferred by the host",
    "netperf's service demand",
    "lower",
    host=lambda host: host.service_demand_us_per_kb,
)


def _retries(host: HostRecord) -> float | None:
    """Returns the retries per packet sent in percent; None if the driver does not count them."""
    if host.radio is None:
        return None
    before, after = host.radio.before, host.radio.after
    if None in (before.retries, after.retries, before.sent_pkts, after.sent_pkts):
        return None
    retries = (after.retries or 0) - (before.retries or 0)
    return share(max(0, retries), max(0, (after.sent_pkts or 0) - (before.sent_pkts or 0)))


def _radio(name: str, unit: str, title: str, definition: str, better: Better, read: Read) -> None:
    """Registers a metric of a host's Wi-Fi interface."""
    source = "Linux include/uapi/linux/nl80211.h: NL80211_STA_INFO"
    add(name, unit, title, definition, source, better, host=read, needs=Figure("radio"))


_radio(
    "radio_rate",
    "Mbit/s",
    "Rate of the radio",
    "bit rate of frames to the access point, as the driver of the interface reports it after the traffic",
    "higher",
    lambda host: scaled(host.radio.after.sent_bps, 1e6) if host.radio else None,
)
_radio(
    "radio_signal",
    "dBm",
    "Signal",
    "strength of the access point's signal at the host's Wi-Fi interface after the traffic",
    "higher",
    lambda host: scaled(host.radio.after.signal_dbm, 1) if host.radio else None,
)
_radio(
    "radio_retries",
    "%",
    "Retries of the radio",
    "number of retransmissions by the host's Wi-Fi interface during the traffic, per packet sent",
    "lower",
    _retries,
)
