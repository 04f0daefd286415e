"""The frames by which a controller finds links: IEEE 802.1AB with the three TLVs that each must have."""

from __future__ import annotations

import struct

ETHERTYPE = 0x88CC
"""The EtherType of LLDP (IEEE 802.1AB)."""
_MULTICAST = bytes.fromhex("0180c200000e")
"""The nearest bridge."""
_SOURCE = bytes.fromhex("020000000001")
_LOCAL = 7
"""The subtype of an identifier that the sender chose."""
_SECONDS = 120


def frame(switch: int, port: int) -> bytes:
    """The frame that a switch, by its datapath, sends at a port."""
    chassis = bytes([_LOCAL]) + switch.to_bytes(8, "big")
    own = bytes([_LOCAL]) + port.to_bytes(4, "big")
    tlvs = _tlv(1, chassis) + _tlv(2, own) + _tlv(3, struct.pack("!H", _SECONDS)) + _tlv(0, b"")
    return _MULTICAST + _SOURCE + struct.pack("!H", ETHERTYPE) + tlvs


def read(data: bytes) -> tuple[int, int] | None:
    """The switch and the port that sent a frame; None where it is none of ours."""
    if len(data) < 35 or data[12:14] != struct.pack("!H", ETHERTYPE):
        return None
    if (data[14:17], data[25:28]) != (_head(1, 9), _head(2, 5)):
        return None
    return int.from_bytes(data[17:25], "big"), int.from_bytes(data[28:32], "big")


def _head(kind: int, length: int) -> bytes:
    return struct.pack("!HB", kind << 9 | length, _LOCAL)


def _tlv(kind: int, value: bytes) -> bytes:
    return struct.pack("!H", kind << 9 | len(value)) + value
