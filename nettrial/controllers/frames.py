"""The parts of frames that controllers read."""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass

IPV4, IPV6, ARP = 0x0800, 0x86DD, 0x0806
TCP, UDP, ICMPV6 = 6, 17, 58
_FRAGMENT_OFFSET = 0x1FFF
_NEIGHBOR_SOLICITATION = 135


@dataclass(frozen=True)
class FiveTuple:
    """The addresses, the protocol and the ports of a packet; its ports are 0 if it has none."""

    source: str
    """The IP address of the sender."""
    destination: str
    """The IP address of the receiver."""
    protocol: int
    """The number of the IP protocol (IANA, Protocol Numbers)."""
    source_port: int = 0
    """The sender's port."""
    destination_port: int = 0
    """The receiver's port."""


@dataclass(frozen=True)
class Frame:
    """The parts of a frame that controllers read."""

    destination: str
    """The Ethernet address."""
    source: str
    """The Ethernet address of the sender."""
    ethertype: int
    """The EtherType (IEEE 802.3), such as 0x0800 for IPv4."""
    flow: FiveTuple | None
    """The flow; None for a frame without an IP packet, and for a fragment other than the first."""
    requested: str | None
    """The IP address whose Ethernet address is requested (ARP; RFC 4861, neighbor solicitation), or None."""

    @property
    def is_to_all(self) -> bool:
        """Returns whether it is a broadcast or multicast frame."""
        return bool(int(self.destination[:2], 16) & 1)


def read(data: bytes) -> Frame:
    """Returns the parts of a frame; raises ValueError if it is truncated."""
    if len(data) < 14:
        raise ValueError("a frame without a header")
    ethertype = struct.unpack_from("!H", data, 12)[0]
    flow, requested = None, None
    try:
        if ethertype == IPV4:
            flow = _ipv4(data)
        elif ethertype == IPV6:
            flow = _ipv6(data)
            if flow.protocol == ICMPV6 and data[54] == _NEIGHBOR_SOLICITATION:
                requested = str(ipaddress.IPv6Address(data[62:78]))
        elif ethertype == ARP:
            requested = str(ipaddress.IPv4Address(data[38:42]))
    except (struct.error, IndexError, ipaddress.AddressValueError):
        raise ValueError("a packet that is cut off") from None
    return Frame(_mac(data[:6]), _mac(data[6:12]), ethertype, flow, requested)


def _ipv4(data: bytes) -> FiveTuple | None:
    header = (data[14] & 15) * 4
    if struct.unpack_from("!H", data, 20)[0] & _FRAGMENT_OFFSET:
        return None
    source, destination = (str(ipaddress.IPv4Address(data[at : at + 4])) for at in (26, 30))
    return FiveTuple(source, destination, data[23], *_ports(data, data[23], 14 + header))


def _ipv6(data: bytes) -> FiveTuple:
    source, destination = (str(ipaddress.IPv6Address(data[at : at + 16])) for at in (22, 38))
    return FiveTuple(source, destination, data[20], *_ports(data, data[20], 54))


def _ports(data: bytes, protocol: int, at: int) -> tuple[int, ...]:
    return struct.unpack_from("!HH", data, at) if protocol in (TCP, UDP) else (0, 0)


def _mac(data: bytes) -> str:
    return data.hex(":")
