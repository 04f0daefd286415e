"""A user's own controller, written with os-ken: each switch learns the locations of hosts.

    python own_controller.py PORT 1.0|1.3 [loop]

Datagrams get no rules, so each passes through the controller. With `loop`, switches return experimental
frames (EtherType 0x88b5) by the port of arrival, and the first packet-in of a switch causes such a frame."""

import os
import sys
from typing import Any

from os_ken.base.app_manager import AppManager, OSKenApp  # isort: skip
from os_ken import cfg  # isort: skip
from os_ken.controller import ofp_event
from os_ken.controller.handler import CONFIG_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
from os_ken.ofproto import ofproto_v1_0, ofproto_v1_3

PORT, VERSION = sys.argv[1:3]
IS_FIRST = VERSION == "1.0"
LOOPS = "loop" in sys.argv
EXPERIMENTAL = 0x88B5
TCP = 6
TO_ALL = b"\xff" * 6


class Learning(OSKenApp):
    OFP_VERSIONS = [(ofproto_v1_0 if IS_FIRST else ofproto_v1_3).OFP_VERSION]

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.ports: dict[tuple[int, bytes], int] = {}
        self.begun: set[int] = set()

    @set_ev_cls(ofp_event.EventOFPSwitchFeatures, CONFIG_DISPATCHER)
    def features(self, event: Any) -> None:
        switch = event.msg.datapath
        if not IS_FIRST:
            self.add(switch, 0, {}, switch.ofproto.OFPP_CONTROLLER)
        if LOOPS:
            kind = {"dl_type" if IS_FIRST else "eth_type": EXPERIMENTAL}
            self.add(switch, 100, kind, switch.ofproto.OFPP_IN_PORT)

    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)
    def packet_in(self, event: Any) -> None:
        message = event.msg
        switch, data = message.datapath, bytes(message.data)
        port = message.in_port if IS_FIRST else message.match["in_port"]
        self.ports[switch.id, data[6:12]] = port
        known = self.ports.get((switch.id, data[:6]))
        if known is not None and data[12:14] == b"\x08\x00" and data[23] == TCP:
            names = ("dl_type", "nw_proto", "dl_dst") if IS_FIRST else ("eth_type", "ip_proto", "eth_dst")
            to = data[:6] if IS_FIRST else data[:6].hex(":")
            self.add(switch, 1, dict(zip(names, (0x0800, TCP, to), strict=True)), known)
        self.output(switch, port, known or switch.ofproto.OFPP_FLOOD, data)
        if LOOPS and switch.id not in self.begun:
            self.begun.add(switch.id)
            frame = TO_ALL + bytes([2, 0, 0, 0, 0, 9]) + EXPERIMENTAL.to_bytes(2, "big") + bytes(46)
            self.output(switch, switch.ofproto.OFPP_CONTROLLER, switch.ofproto.OFPP_FLOOD, frame)

    def add(self, switch: Any, priority: int, match: dict[str, Any], port: int) -> None:
        parser = switch.ofproto_parser
        actions = [parser.OFPActionOutput(port, 0xFFFF)]
        fields = {"datapath": switch, "priority": priority, "match": parser.OFPMatch(**match)}
        if IS_FIRST:
            switch.send_msg(parser.OFPFlowMod(**fields, command=0, actions=actions))
        else:
            apply = parser.OFPInstructionActions(switch.ofproto.OFPIT_APPLY_ACTIONS, actions)
            switch.send_msg(parser.OFPFlowMod(**fields, instructions=[apply]))

    def output(self, switch: Any, port: int, to: int, data: bytes) -> None:
        parser, none = switch.ofproto_parser, 0xFFFFFFFF
        actions = [parser.OFPActionOutput(to)]
        switch.send_msg(
            parser.OFPPacketOut(datapath=switch, buffer_id=none, in_port=port, actions=actions, data=data)
        )


if __name__ == "__main__":
    cfg.CONF(["--ofp-listen-host", "127.0.0.1", "--ofp-tcp-listen-port", PORT], project="os_ken")
    AppManager.run_apps(["own_controller", "os_ken.controller.ofp_handler"])
    os._exit(0)
