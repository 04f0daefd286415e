"""Metrics of the cost of traffic to a host."""

from __future__ import annotations

from nettrial.metrics.metric import add

add(
    "cpu",
    "%",
    "CPU",
    "time the host's CPU was not idle while traffic went, interrupts included",
    "Linux Documentation/filesystems/proc.rst: /proc/stat",
    "lower",
    host=lambda host: host.cpu_percent,
)
add(
    "service_demand",
    "us/kB",
    "Service demand",
    "CPU time per kilobyte (1000 bytes) of payload that the host's transfers moved",
    "netperf's service demand",
    "lower",
    host=lambda host: host.service_demand_us_per_kb,
)
