"""Metrics of the OpenFlow controller of the switches, and of their rules."""

from __future__ import annotations

from nettrial.metrics.metric import add, mean_of


def _ms(ns: int | None) -> float | None:
    return None if ns is None else ns / 1e6


SWITCH = "ONF TS-025, OpenFlow Switch Specification 1.3.5"
"""The specification to which metrics of controllers refer."""

add(
    "controller_connect",
    "ms",
    "Switches connected",
    "time from configuring the controller's address in the switches until the last switch connected",
    f"{SWITCH}, section 6.3.1",
    "lower",
    controller=lambda controller: controller.connect_ns / 1e6,
)
add(
    "link_discovery",
    "ms",
    "Links discovered",
    "time from the first switch's connection until the controller knew every link between switches, by LLDP",
    "IEEE 802.1AB-2016",
    "lower",
    controller=lambda controller: _ms(controller.discovery_ns),
)
add(
    "controller_ready",
    "ms",
    "Controller ready",
    "time from configuring the controller's address in the switches until all rules that it installs "
    "beforehand were in place",
    f"{SWITCH}, section 7.3.8 (barrier)",
    "lower",
    controller=lambda controller: _ms(controller.ready_ns),
)
add(
    "flow_setup",
    "ms",
    "Flow setup",
    "mean time from when the controller had the first packet of a flow until it had sent the flow's rules",
    f"{SWITCH}, section 6.1.2 (packet-in)",
    "lower",
    controller=lambda controller: (
        mean_of(controller.setup_us) if controller.setup_us else "no flow's first packet came to it"
    ),
)
add(
    "packet_ins",
    "packets",
    "Packet-ins",
    "packets that switches sent to the controller while traffic went, LLDP frames not counted",
    f"{SWITCH}, section 7.4.1",
    "lower",
    controller=lambda controller: float(controller.packet_ins),
)
add(
    "rules_per_switch",
    "rules",
    "Rules per switch",
    "mean number of rules in the tables of a switch after the traffic",
    f"{SWITCH}, section 7.3.5.3",
    "lower",
    controller=lambda controller: controller.rules.mean,
)
add(
    "controller_cpu",
    "ms",
    "CPU of the controller",
    "CPU time that the controller used while traffic went",
    "Linux Documentation/filesystems/proc.rst: /proc/PID/stat",
    "lower",
    controller=lambda controller: _ms(controller.cpu_ns),
)
add(
    "switches_cpu",
    "ms",
    "CPU of the switches",
    "CPU time that Open vSwitch used for all switches while traffic went",
    "Linux Documentation/filesystems/proc.rst: /proc/PID/stat",
    "lower",
    controller=lambda controller: controller.switches_cpu_ns / 1e6,
)
