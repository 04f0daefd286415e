"""Test packets of STAMP (RFC 8762, 4.2 and 4.3; RFC 8972) and TWAMP Light (RFC 5357, 4.1.2 and 4.2.1)."""

from __future__ import annotations

import hashlib
import hmac
import struct
from dataclasses import dataclass

from nettrial.protocols.stamp.clock import ErrorEstimate

BASE, SECURED_BASE = 44, 112
"""The size of a test packet without extensions, unauthenticated and authenticated, in both directions."""
TWAMP_LEAST = 41
"""The size of the smallest packet of a TWAMP reflector. The answer to a shorter packet would be longer than
that packet."""
LARGEST = 65_507
"""The largest payload of a UDP packet over IPv4."""
HMAC_SIZE = 16
"""The size of an HMAC: SHA-256, truncated to 128 bits (RFC 8762, 4.4)."""
TLV_HEADER = 4
"""The size of the header of an extension, in bytes."""
PADDING_TYPE, HMAC_TYPE = 1, 8
"""The types of the extensions Extra Padding and HMAC (RFC 8972, 4.1 and 4.8)."""
UNKNOWN, MALFORMED, NOT_GENUINE = 0x80, 0x40, 0x20
"""The flags of an extension: U, M and I (RFC 8972, 4)."""
LEAST_KEY = 16
"""The length of the shortest key in bytes, that of the HMAC."""

# The offsets of the fields in unauthenticated and in authenticated packets.
_OFFSETS = {
    False: {"sequence": 0, "sent": 4, "estimate": 12, "ssid": 14}
    | {"received": 16, "sender_sequence": 24, "sender_sent": 28, "sender_estimate": 36, "ttl": 40},
    True: {"sequence": 0, "sent": 16, "estimate": 24, "ssid": 26}
    | {"received": 32, "sender_sequence": 48, "sender_sent": 64, "sender_estimate": 72, "ttl": 80},
}
_FORMS = {"sequence": "!I", "sender_sequence": "!I", "sent": "!Q", "received": "!Q", "sender_sent": "!Q"} | {
    "estimate": "!H",
    "sender_estimate": "!H",
    "ssid": "!H",
    "ttl": "!B",
}


class NotATestPacket(ValueError):
    """The error for a payload that is not a test packet; the text is the reason."""


@dataclass(frozen=True)
class Sent:
    """The fields of a sender's packet."""

    sequence: int
    """The sequence number of the packet."""
    sent: int
    """The timestamp at which it was sent."""
    estimate: int
    """The Error Estimate field."""
    ssid: int
    """The number of the session (RFC 8972, 3); 0 if the sender gives none."""


@dataclass(frozen=True)
class Reflected:
    """The fields of a reflector's packet."""

    sequence: int
    """The reflector's sequence number."""
    sent: int
    """The timestamp at which the reflector sent the packet."""
    estimate: ErrorEstimate
    """The reflector's estimate of its clock error."""
    ssid: int
    """The number of the session (RFC 8972, 3)."""
    received: int
    """The timestamp at which the sender's packet arrived."""
    sender_sequence: int
    """The sequence number of the sender's packet."""
    sender_sent: int
    """The timestamp at which the sender sent its packet."""
    ttl: int
    """The TTL or hop limit with which the sender's packet arrived."""


def base_size(key: bytes | None) -> int:
    """Returns the size of a packet without extensions."""
    return BASE if key is None else SECURED_BASE


def sizes(key: bytes | None) -> str:
    """Returns the sizes that a sender's packet may have, in words."""
    base = base_size(key)
    return f"{base} B, or {base + TLV_HEADER} to {LARGEST} B"


def is_size(size: int, key: bytes | None) -> bool:
    """Returns whether a sender's packet may have this size: an extension has at least four bytes."""
    base = base_size(key)
    return size == base or base + TLV_HEADER <= size <= LARGEST


def sender_packet(fields: Sent, size: int, key: bytes | None) -> bytearray:
    """Returns a sender's packet of that size, with an Extra Padding TLV beyond the base."""
    packet = bytearray(size)
    base = base_size(key)
    for name in ("sequence", "sent", "estimate", "ssid"):
        _put(packet, name, getattr(fields, name), key)
    if size > base:
        struct.pack_into("!BBH", packet, base, UNKNOWN, PADDING_TYPE, size - base - TLV_HEADER)
    _seal(packet, key)
    return packet


def read_sent(packet: bytes, key: bytes | None) -> Sent:
    """Returns the fields of a sender's packet; raises NotATestPacket."""
    least = TWAMP_LEAST if key is None else SECURED_BASE
    if len(packet) < least:
        raise NotATestPacket(
            f"{len(packet)} bytes; a packet that is reflected at its size has {least} or more"
        )
    _verify(packet, key)
    return Sent(**{name: _get(packet, name, key) for name in ("sequence", "sent", "estimate", "ssid")})


def reflected_packet(
    packet: bytes,
    sequence: int,
    received: int,
    estimate: int,
    ttl: int,
    key: bytes | None,
) -> bytearray:
    """Returns the answer to a sender's packet, of the same size, without its timestamp (`stamp`): extensions
    are copied and their flags set, and so is the padding of a TWAMP sender.

    A packet of 41 to 43 bytes, which only TWAMP has, gets an answer of the same size: the last three bytes of
    the base, which it omits in part, are zero."""
    base = base_size(key)
    answer = bytearray(max(len(packet), base))
    answer[base : len(packet)] = packet[base:]
    for name, value in (
        ("sequence", sequence),
        ("estimate", estimate),
        ("ssid", _get(packet, "ssid", key)),
        ("received", received),
        ("sender_sequence", _get(packet, "sequence", key)),
        ("sender_sent", _get(packet, "sent", key)),
        ("sender_estimate", _get(packet, "estimate", key)),
        ("ttl", ttl),
    ):
        _put(answer, name, value, key)
    _flag(answer, packet, base, key)
    return answer[: len(packet)]


def stamp(answer: bytearray, sent: int, key: bytes | None) -> None:
    """Writes the timestamp into an answer and adds the HMAC. Must be called as late as possible."""
    _put(answer, "sent", sent, key)
    _seal(answer, key)


def read_reflected(packet: bytes, key: bytes | None) -> Reflected:
    """Returns the fields of a reflector's packet; raises NotATestPacket."""
    least = TWAMP_LEAST if key is None else SECURED_BASE
    if len(packet) < least:
        raise NotATestPacket(f"{len(packet)} bytes; a reflector's packet has {least} or more")
    _verify(packet, key)
    names = ("sequence", "sent", "ssid", "received", "sender_sequence", "sender_sent", "ttl")
    fields = {name: _get(packet, name, key) for name in names}
    return Reflected(**fields, estimate=ErrorEstimate.of(_get(packet, "estimate", key)))


def answers(packet: bytes, key: bytes | None) -> int:
    """Returns the timestamp that a packet would carry as the sender's, if it was a reflector's. In a packet
    of two reflectors that answer each other, this is the time of an earlier answer."""
    return _get(packet, "sender_sent", key)


def _get(packet: bytes | bytearray, name: str, key: bytes | None) -> int:
    value: int = struct.unpack_from(_FORMS[name], packet, _OFFSETS[key is not None][name])[0]
    return value


def _put(packet: bytearray, name: str, value: int, key: bytes | None) -> None:
    struct.pack_into(_FORMS[name], packet, _OFFSETS[key is not None][name], value)


def digest(content: bytes | bytearray, key: bytes) -> bytes:
    """Returns the truncated HMAC of a content."""
    return hmac.new(key, content, hashlib.sha256).digest()[:HMAC_SIZE]


def _seal(packet: bytearray, key: bytes | None) -> None:
    """Puts the HMAC of the base into an authenticated packet."""
    if key is not None:
        at = SECURED_BASE - HMAC_SIZE
        packet[at:SECURED_BASE] = digest(packet[:at], key)


def _verify(packet: bytes, key: bytes | None) -> None:
    if key is not None:
        at = SECURED_BASE - HMAC_SIZE
        if not hmac.compare_digest(digest(packet[:at], key), packet[at:SECURED_BASE]):
            raise NotATestPacket("its HMAC is not that of the key")


def _flag(answer: bytearray, packet: bytes, base: int, key: bytes | None) -> None:
    """Sets the flags of the extensions in an answer to a packet, and seals them (RFC 8972, 4 and 4.8)."""
    extensions, whole = _extensions(packet, base)
    genuine = _is_genuine(packet, base, extensions, key)
    for at, kind, _ in extensions:
        flags = 0 if kind in (PADDING_TYPE, HMAC_TYPE) else UNKNOWN
        answer[at] = flags | (0 if genuine else NOT_GENUINE)
    if extensions and not whole:
        answer[extensions[-1][0]] |= MALFORMED
    last = next((at for at, kind, _ in extensions if kind == HMAC_TYPE), None)
    if key is not None and genuine and last is not None:
        answer[last + TLV_HEADER : last + TLV_HEADER + HMAC_SIZE] = digest(
            answer[:4] + answer[base:last], key
        )


def _extensions(packet: bytes, base: int) -> tuple[list[tuple[int, int, int]], bool]:
    """Returns the offset, the type and the size of each extension, and whether the last one is whole."""
    extensions, at = [], base
    while at + TLV_HEADER <= len(packet):
        _, kind, size = struct.unpack_from("!BBH", packet, at)
        extensions.append((at, kind, size))
        at += TLV_HEADER + size
    return extensions, at == len(packet)


def _is_genuine(packet: bytes, base: int, fields: list[tuple[int, int, int]], key: bytes | None) -> bool:
    """Returns whether the extensions of an authenticated packet are those that the sender sealed: the HMAC
    TLV follows all but Extra Padding, and covers the sequence number and what is before it. Extra Padding
    alone needs none (RFC 8972, 4.8)."""
    if key is None or all(kind == PADDING_TYPE for _, kind, _ in fields):
        return True
    rest = [each for each in fields if each[1] != PADDING_TYPE]
    at, kind, size = rest[-1]
    if kind != HMAC_TYPE or size != HMAC_SIZE or [each[1] for each in rest].count(HMAC_TYPE) != 1:
        return False
    sealed = packet[at + TLV_HEADER : at + TLV_HEADER + HMAC_SIZE]
    return hmac.compare_digest(digest(packet[:4] + packet[base:at], key), sealed)
