"""The frames by which a controller discovers links: IEEE 802.1AB with the three mandatory TLVs."""

from __future__ import annotations

import struct

ETHERTYPE = 0x88CC
"""The EtherType of LLDP (IEEE 802.1AB)."""
_MULTICAST = bytes.fromhex("0180c200000e")
"""The Ethernet address of the nearest bridge (IEEE 802.1AB)."""
_SOURCE = bytes.fromhex("020000000001")
_LOCAL = 7
"""The subtype of an identifier that the sender assigned (locally assigned)."""
_SECONDS = 120


def frame(switch: int, port: int) -> bytes:
    """Returns the frame that a switch, given by its datapath, sends from a port."""
    chassis = bytes([_LOCAL]) + switch.to_bytes(8, "big")
    own = bytes([_LOCAL]) + port.to_bytes(4, "big")
    tlvs = _tlv(1, chassis) + _tlv(2, own) + _tlv(3, struct.pack("!H", _SECONDS)) + _tlv(0, b"")
    return _MULTICAST + _SOURCE + struct.pack("!H", ETHERTYPE) + tlvs


def read(data: bytes) -> tuple[int, int] | None:
    """Returns the switch and the port that sent a frame; None for a frame of another sender."""
    if len(data) < 35 or data[12:14] != struct.pack("!H", ETHERTYPE):
        return None
    if (data[14:17], data[25:28]) != (_head(1, 9), _head(2, 5)):
        return None
    return int.from_bytes(data[17:25], "big"), int.from_bytes(data[28:32], "big")


def _head(kind: int, length: int) -> bytes:
    return struct.pack("!HB", kind << 9 | length, _LOCAL)


def _tlv(kind: int, value: bytes) -> bytes:
    return struct.pack("!H", kind << 9 | len(value)) + value
