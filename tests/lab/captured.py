"""Reads captures."""

import struct
from pathlib import Path

ENHANCED_PACKET = 6
"""The type of a block with a packet."""


def packets(capture: Path) -> list[tuple[int, int, bytes]]:
    """Returns the time of each packet of a pcapng file, in nanoseconds, its length, and the bytes that were
    kept."""
    content, at, found = capture.read_bytes(), 0, []
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        if kind == ENHANCED_PACKET:
            high, low, kept, size = struct.unpack_from("<IIII", content, at + 12)
            found.append((high << 32 | low, size, content[at + 28 : at + 28 + kept]))
        at += length
    return found


def arrivals(capture: Path) -> list[tuple[int, int]]:
    """Returns the time of each packet of a pcapng file, in nanoseconds, and its length."""
    return [(at, length) for at, length, _ in packets(capture)]
