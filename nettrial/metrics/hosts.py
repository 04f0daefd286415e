"""Metrics of the CPU cost of traffic on a host."""

from __future__ import annotations

from nettrial.metrics.metric import add

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
