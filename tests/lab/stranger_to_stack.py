"""Attacks the port of a stack that is a program from the namespace of the flow's other host, and prints what
it got.

Hosts that do not exist begin connections and never open them. Connections show random bytes, a part of a
secret, or nothing; frames are random, or begin as those of IP and ARP do; datagrams to the port of packets
are no packets of the flow."""

import contextlib
import json
import random
import select
import socket
import struct
import sys
import time
from pathlib import Path

ESTABLISHED = "01"
CALLERS = 200
BEGINNERS = 500
FRAMES = 2000
DATAGRAMS = 2000
ANSWER_SECONDS = 0.2
LONGEST_SECONDS = 300.0
ETHERNET_BYTES = 14


def peer(process: int, transport: str) -> tuple[str, int] | None:
    """Returns the address and the port of the other end of a connected socket of the process."""
    for line in Path(f"/proc/{process}/net/{transport}").read_text().splitlines()[1:]:
        _, _, remote, state, *_ = line.split()
        if state == ESTABLISHED:
            packed, port = remote.split(":")
            return socket.inet_ntoa(bytes.fromhex(packed)[::-1]), int(port, 16)
    return None


def checksum(data: bytes) -> int:
    """Returns the Internet checksum (RFC 1071) of an even number of bytes."""
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    return ~(total % 0xFFFF) & 0xFFFF


def opening(source: bytes, port: int, at: tuple[str, int]) -> bytes:
    """Returns the packet with the SYN of a connection."""
    to = socket.inet_aton(at[0])
    segment = bytearray(struct.pack("!HHIIBBHHH", port, at[1], port, 0, 0x50, 2, 1000, 0, 0))
    segment[16:18] = checksum(source + to + struct.pack("!BBH", 0, 6, 20) + segment).to_bytes(2)
    header = bytearray(struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40, 0, 0, 64, 6, 0, source, to))
    header[10:12] = checksum(bytes(header)).to_bytes(2)
    return bytes(header + segment)


def main() -> None:
    """Attacks the peer of the process in the arguments."""
    process, chance = int(sys.argv[1]), random.Random(1)
    began = time.monotonic()
    while not ((at := peer(process, "tcp")) and (to := peer(process, "udp"))):
        assert time.monotonic() - began < LONGEST_SECONDS, "there is no connection"
        time.sleep(0.02)
    device = next(name for _, name in socket.if_nameindex() if name != "lo")
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind((device, 0))
        own = raw.getsockname()[4]
        for number in range(BEGINNERS):
            source = socket.inet_aton(at[0])[:3] + bytes([100 + number % 100])
            raw.send(b"\xff" * 6 + own + b"\x08\x00" + opening(source, 1024 + number, at))
    held, answered = [], 0
    for number in range(CALLERS):
        caller = socket.create_connection(at, LONGEST_SECONDS)
        held.append(caller)
        if number % 4:
            caller.sendall(chance.randbytes(chance.choice([1, 16, 17, 40, 5000])))
    for caller in select.select(held, [], [], ANSWER_SECONDS)[0]:
        with contextlib.suppress(OSError):
            answered += len(caller.recv(100))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind((device, 0))
        for number in range(FRAMES):
            kind = chance.choice([b"\x08\x00", b"\x86\xdd", b"\x08\x06"])
            body = bytearray(chance.randbytes(chance.randrange(1, 1400)))
            if kind == b"\x08\x00" and len(body) >= 20:
                body[0] = 0x45
                body[9] = chance.choice([1, 6, 17])
                body[16:20] = socket.inet_aton(at[0])
            raw.send((b"\xff" * 6 if number % 2 else chance.randbytes(6)) + own + kind + bytes(body))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for number in range(DATAGRAMS):
            # The beginning is that of a packet with this number and a length, but for the secret.
            header = struct.pack("!QQI", number, number, 24 + number % 1000) + chance.randbytes(4)
            sender.sendto((header + bytes(number % 1000))[: chance.choice([0, 16, 24, 1400])], to)
    said = {"callers": len(held), "answered_bytes": answered, "frames": FRAMES, "datagrams": DATAGRAMS}
    print(json.dumps(said))


main()
