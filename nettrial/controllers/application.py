"""The controller as an application of os-ken: OpenFlow messages in and out.

The engine provides the locations of hosts, and LLDP discovers the links between switches. A single thread of
os-ken handles all events."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any

from os_ken.base.app_manager import OSKenApp
from os_ken.controller import ofp_event
from os_ken.controller.event import EventBase
from os_ken.controller.handler import CONFIG_DISPATCHER, DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from nettrial.controllers import frames, lldp
from nettrial.controllers.fabric import FabricDescription, say
from nettrial.controllers.learning import Learning
from nettrial.controllers.rules import OF_FLOW, Fabric, Match, Rule, difference

FABRIC: FabricDescription | None = None
"""The engine's line; set before os-ken creates the application."""

_TO_CONTROLLER = 65_000
"""The priority of the rule that sends LLDP frames to the controller."""
_IDLE_SECONDS = 10
"""The time in seconds after which the rules of a flow without packets are removed."""
_LISTEN_SECONDS = 30
_AGAIN_SECONDS = 0.25
"""The time in seconds between LLDP frames at a port that has come up: its far end may come up later."""
_ATTEMPTS = 8


class EventCountsRequested(EventBase):
    """The event of a line from the engine."""

    def __init__(self, line: str) -> None:
        """Creates the event of a line."""
        super().__init__()
        self.line = line


class EventAgain(EventBase):
    """The event of the time for further LLDP frames."""


class FabricController(OSKenApp):
    """A controller of nettrial's own."""

    OFP_VERSIONS = [ofp.OFP_VERSION]
    """The versions of OpenFlow that it speaks, from which os-ken chooses."""
    _EVENTS = [EventAgain, EventCountsRequested]

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        """Creates the controller of the network that the engine has described."""
        super().__init__(*arguments, **keywords)
        assert FABRIC is not None
        self.description = FABRIC
        self.fabric = Fabric(self.description)
        self.learning = Learning()
        self.switches: dict[int, Any] = {}
        """The connection of each switch, by its datapath."""
        self.in_force: dict[tuple[int, int, Match], Rule] = {}
        self.groups: dict[tuple[int, tuple[int, ...]], int] = {}
        """The number of the group that chooses one of several ports, by switch and ports."""
        self.awaited: set[int] = set()
        """The switches that have not answered a barrier yet."""
        self.attempts: dict[tuple[int, int], int] = {}
        """The LLDP frames left to send at each switch's port, until a link is known there."""
        self.counted = {"packet_ins": 0, "packet_outs": 0, "changes": 0}
        self.setup_us: list[int] = []
        self.begun = 0.0
        self.first = 0.0
        self.connected = 0.0
        self.discovered = 0.0
        self.is_ready = False
        self.installs = False
        """True once the rules that are installed beforehand have been sent."""
        threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._tick, daemon=True).start()

    def _tick(self) -> None:
        while True:
            time.sleep(_AGAIN_SECONDS)
            if self.attempts:
                self.send_event(self.name, EventAgain())

    def _listen(self) -> None:
        """Reports to the engine that switches may connect, and turns its lines into events; exits when they
        end."""
        deadline = time.monotonic() + _LISTEN_SECONDS
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.description.listen)) == 0:
                    break
            time.sleep(0.01)
        say("listening")
        for line in sys.stdin:
            if line.strip() == "begin":
                self.begun = time.monotonic()
            else:
                self.send_event(self.name, EventCountsRequested(line.strip()))
        os._exit(0)

    @set_ev_cls(EventCountsRequested)
    def _counts_requested(self, _: EventCountsRequested) -> None:
        """Reports the counts so far to the engine."""
        say("counts", **self.counted, setup_us=self.setup_us)
        self.setup_us = []

    @set_ev_cls(ofp_event.EventOFPStateChange, [MAIN_DISPATCHER, DEAD_DISPATCHER])
    def _state(self, event: Any) -> None:
        switch = event.datapath
        if event.state == DEAD_DISPATCHER:
            if self.switches.get(switch.id) == switch:
                del self.switches[switch.id]
            return
        if not 1 <= switch.id <= self.description.switches:
            switch.end()  # Only switches of the trial are served.
            return
        if switch.id in self.switches:
            self.switches[switch.id].end()  # It has connected again.
        now = time.monotonic()
        self.first = self.first or now
        self.switches[switch.id] = switch
        own = [parser.OFPActionOutput(ofp.OFPP_CONTROLLER, ofp.OFPCML_NO_BUFFER)]
        self._add(switch, _TO_CONTROLLER, (("eth_type", lldp.ETHERTYPE),), own)
        self._add(switch, 0, (), own)
        # A switch that receives an LLDP frame must already have the rule for it.
        self._await_barrier(switch)
        if len(self.switches) == self.description.switches:
            self.connected = self.connected or now

    def _ports(self, switch: Any) -> list[int]:
        """Returns the ports of a switch that are up."""
        return sorted(
            number
            for number, port in switch.ports.items()
            if number < ofp.OFPP_MAX and not port.state & ofp.OFPPS_LINK_DOWN
        )

    def _await_barrier(self, switch: Any) -> None:
        """Asks a switch to report when it has processed all messages so far (barrier)."""
        self.awaited.add(switch.id)
        switch.send_msg(parser.OFPBarrierRequest(switch))

    @set_ev_cls(EventAgain)
    def _again(self, _: EventAgain) -> None:
        for (number, port), left in list(self.attempts.items()):
            if self.fabric.links.has((number, port)) or not left or number not in self.switches:
                del self.attempts[number, port]
            else:
                self.attempts[number, port] = left - 1
                self._output(self.switches[number], lldp.frame(number, port), [port], counts=False)

    def _ask_port(self, switch: Any, port: int) -> None:
        """Makes a switch send an LLDP frame from a port."""
        self.attempts[switch.id, port] = _ATTEMPTS
        self._output(switch, lldp.frame(switch.id, port), [port], counts=False)

    @set_ev_cls(ofp_event.EventOFPPortStatus, MAIN_DISPATCHER)
    def _port_status(self, event: Any) -> None:
        switch, port = event.msg.datapath, event.msg.desc
        if port.port_no >= ofp.OFPP_MAX:
            return
        switch.ports[port.port_no] = port
        if event.msg.reason == ofp.OFPPR_DELETE or port.state & ofp.OFPPS_LINK_DOWN:
            if self.fabric.links.remove((switch.id, port.port_no)):
                self._changed()
        else:
            self._ask_port(switch, port.port_no)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def _packet_in(self, event: Any) -> None:
        message, begun = event.msg, time.monotonic()
        switch, port = message.datapath, message.match["in_port"]
        data = bytes(message.data)
        if data[12:14] == lldp.ETHERTYPE.to_bytes(2, "big"):
            far = lldp.read(data)
            if far is not None and self.fabric.links.add(far, (switch.id, port)):
                self._changed()
            return
        if not self.is_ready:
            return  # A loop may contain links that are not known yet.
        self.counted["packet_ins"] += 1
        try:
            frame = frames.read(data)
        except ValueError:
            return
        if self.description.application == "learning":
            self._learn(switch, port, frame, data)
        elif frame.is_to_all:
            self._relay(switch, port, frame, data)
        else:
            self._forward(switch, frame, data, begun)

    def _changed(self) -> None:
        """Updates the rules after a link has appeared or disappeared."""
        self.fabric.changed()
        self.learning.forget()
        if self.is_ready and self.description.mode == "reactive":
            for switch in self.switches.values():
                self._remove_flows(switch)
        if self.is_ready and self.description.mode == "proactive":
            self._install()
        self._look()

    def _look(self) -> None:
        """Installs rules once all switches and links are known, and reports when they are in place."""
        if self.installs or self.awaited or len(self.switches) < self.description.switches:
            return
        if len(self.fabric.links) < self.description.links:
            return
        self.installs = True
        self.discovered = time.monotonic()
        if self.description.mode == "proactive":
            self._install()
        for switch in self.switches.values():
            self._await_barrier(switch)

    @set_ev_cls(ofp_event.EventOFPBarrierReply, MAIN_DISPATCHER)
    def _barrier(self, event: Any) -> None:
        self.awaited.discard(event.msg.datapath.id)
        if self.awaited or self.is_ready or len(self.switches) < self.description.switches:
            return
        if not self.installs:
            for switch in self.switches.values():
                for port in self._ports(switch):
                    self._ask_port(switch, port)
            self._look()
            return
        self.is_ready = True
        now = time.monotonic()
        say(
            "ready",
            connect_ns=_ns(self.connected - self.begun),
            discovery_ns=_ns(self.discovered - self.first),
            ready_ns=_ns(now - self.begun),
        )

    @set_ev_cls(ofp_event.EventOFPErrorMsg, [CONFIG_DISPATCHER, MAIN_DISPATCHER])
    def _error(self, event: Any) -> None:
        message = event.msg
        print(
            f"switch {message.datapath.id} refused a message: type {message.type}, code {message.code}",
            file=sys.stderr,
            flush=True,
        )

    def _install(self) -> None:
        """Installs the rules that the application wants, and removes others."""
        new, gone = difference(self.in_force, list(self.fabric.proactive()))
        for rule in gone:
            del self.in_force[rule.switch, rule.priority, rule.match]
            if rule.switch in self.switches:
                self._delete(self.switches[rule.switch], rule)
        for rule in new:
            self.in_force[rule.switch, rule.priority, rule.match] = rule
            if rule.switch in self.switches:
                switch = self.switches[rule.switch]
                self._add(switch, rule.priority, rule.match, self._actions(switch, rule.ports))

    def _actions(self, switch: Any, ports: tuple[int, ...]) -> list[Any]:
        """Returns the actions that send a packet to one of several ports."""
        if len(ports) == 1:
            return [parser.OFPActionOutput(ports[0])]
        key = (switch.id, ports)
        if key not in self.groups:
            self.groups[key] = number = len(self.groups) + 1
            buckets = [
                parser.OFPBucket(weight=1, watch_port=port, actions=[parser.OFPActionOutput(port)])
                for port in ports
            ]
            switch.send_msg(parser.OFPGroupMod(switch, ofp.OFPGC_ADD, ofp.OFPGT_SELECT, number, buckets))
            self.counted["changes"] += 1
        return [parser.OFPActionGroup(self.groups[key])]

    def _forward(self, switch: Any, frame: frames.Frame, data: bytes, begun: float) -> None:
        """Handles a frame to a single host that matches no rule. With reactive rules, a flow's first packet
        leads to the installation of the flow's rules; any other frame is sent from its host's port."""
        host = self.fabric.by_mac.get(frame.destination)
        if host is None:
            return
        rules = []
        if frame.flow is not None and self.description.mode == "reactive":
            rules = self.fabric.reactive(switch.id, frame.flow)
        for rule in rules:
            if rule.switch in self.switches:
                at = self.switches[rule.switch]
                self._add(at, rule.priority, rule.match, self._actions(at, rule.ports), _IDLE_SECONDS)
        if rules:
            self._output(switch, data, rules[-1].ports)
            self.setup_us.append(round((time.monotonic() - begun) * 1e6))
        elif host.switch in self.switches:
            self._output(self.switches[host.switch], data, [host.port])

    def _relay(self, switch: Any, port: int, frame: frames.Frame, data: bytes) -> None:
        """Forwards a frame for all hosts to the host that it asks for or, if it asks for none, to all hosts
        except the sender."""
        owner = self.fabric.by_address.get(frame.requested or "")
        for host in [owner] if owner else self.description.hosts:
            if (host.switch, host.port) != (switch.id, port) and host.switch in self.switches:
                self._output(self.switches[host.switch], data, [host.port])

    def _learn(self, switch: Any, port: int, frame: frames.Frame, data: bytes) -> None:
        """Handles a frame like a learning switch."""
        links = self.fabric.links
        ports = [
            each
            for each in self._ports(switch)
            if not links.has((switch.id, each)) or (switch.id, each) in self.learning.tree(self.fabric.graph)
        ]
        if port not in ports:
            return
        known = self.learning.learn(switch.id, port, frame)
        if known is None:
            self._output(switch, data, [each for each in ports if each != port])
            return
        match = (("in_port", port), ("eth_src", frame.source), ("eth_dst", frame.destination))
        self._add(switch, OF_FLOW, match, [parser.OFPActionOutput(known)], _IDLE_SECONDS)
        self._output(switch, data, [known])

    def _add(
        self, switch: Any, priority: int, match: Match, actions: list[Any], idle_seconds: int = 0
    ) -> None:
        instructions = [parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, actions)]
        switch.send_msg(
            parser.OFPFlowMod(
                datapath=switch,
                cookie=priority,
                priority=priority,
                match=parser.OFPMatch(**dict(match)),
                instructions=instructions,
                idle_timeout=idle_seconds,
            )
        )
        self.counted["changes"] += 1

    def _delete(self, switch: Any, rule: Rule) -> None:
        match = parser.OFPMatch(**dict(rule.match))
        self._remove(switch, command=ofp.OFPFC_DELETE_STRICT, priority=rule.priority, match=match)

    def _remove_flows(self, switch: Any) -> None:
        """Removes the rules of all flows, because links have changed."""
        self._remove(switch, command=ofp.OFPFC_DELETE, cookie=OF_FLOW, cookie_mask=2**64 - 1)

    def _remove(self, switch: Any, **which: Any) -> None:
        anywhere = {"out_port": ofp.OFPP_ANY, "out_group": ofp.OFPG_ANY}
        switch.send_msg(parser.OFPFlowMod(datapath=switch, **anywhere, **which))
        self.counted["changes"] += 1

    def _output(self, switch: Any, data: bytes, ports: Iterable[int], counts: bool = True) -> None:
        """Makes a switch send a frame from these ports."""
        actions = [parser.OFPActionOutput(port) for port in ports]
        switch.send_msg(parser.OFPPacketOut(switch, ofp.OFP_NO_BUFFER, ofp.OFPP_CONTROLLER, actions, data))
        self.counted["packet_outs"] += counts


def _ns(seconds: float) -> int:
    return max(0, round(seconds * 1e9))
