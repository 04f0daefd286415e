"""Metrics of the packets sent by an interface, and of its queue."""

from __future__ import annotations

from nettrial.metrics.metric import add, mean_of
from nettrial.scenario import InterfaceRecord


def _mean_size(interface: InterfaceRecord) -> float | None:
    sizes = interface.packet_sizes or []
    packets = sum(size.packets for size in sizes)
    return sum(size.size_bytes * size.packets for size in sizes) / packets if packets else None


def _median_size(interface: InterfaceRecord) -> float | None:
    sizes = sorted(interface.packet_sizes or [], key=lambda size: size.size_bytes)
    packets = sum(size.packets for size in sizes)
    seen = 0
    for size in sizes:
        seen += size.packets
        if 2 * seen >= packets > 0:
            return float(size.size_bytes)
    return None


add(
    "queue_length",
    "packets",
    "Queue length",
    "mean number of frames in the interface's queue over the samples",
    "Linux include/uapi/linux/gen_stats.h: gnet_stats_queue qlen",
    "lower",
    link=lambda interface: mean_of(interface.queue_pkts, 1),
)
add(
    "queue_length_p99",
    "packets",
    "Queue length, 99th percentile",
    "99th percentile of the number of frames in the interface's queue over the samples",
    "Linux include/uapi/linux/gen_stats.h: gnet_stats_queue qlen",
    "lower",
    link=lambda interface: (
        interface.queue_pkts.p99 if interface.queue_pkts and interface.queue_pkts.count else None
    ),
)
add(
    "queue_length_max",
    "packets",
    "Queue length, largest",
    "largest number of frames in the interface's queue over the samples",
    "Linux include/uapi/linux/gen_stats.h: gnet_stats_queue qlen",
    "lower",
    link=lambda interface: (
        interface.queue_pkts.maximum if interface.queue_pkts and interface.queue_pkts.count else None
    ),
)
add(
    "queue_drops",
    "packets",
    "Queue drops",
    "frames that the interface's queue dropped",
    "Linux include/uapi/linux/gen_stats.h: gnet_stats_queue drops",
    "lower",
    link=lambda interface: float(interface.drops_pkts),
)
add(
    "packet_size_mean",
    "B",
    "Packet size",
    "mean size of the IP packets that the interface sent",
    "RFC 6985: sizes on the wire, whatever was requested",
    "higher",
    link=_mean_size,
)
add(
    "packet_size_median",
    "B",
    "Packet size, median",
    "median size of the IP packets that the interface sent",
    "RFC 6985: sizes on the wire, whatever was requested",
    "higher",
    link=_median_size,
)
