"""Calls the server of a process many times from another host and then says nothing, and prints where the
server listens, how many connections and threads it has, and its limits."""

import contextlib
import ipaddress
import json
import os
import socket
import struct
import sys
import time
from pathlib import Path

LISTENS, ESTABLISHED, UNCONNECTED = "0A", "01", "07"
REQUEST = b"\0\1file\0octet\0"
"""A request of TFTP (RFC 1350)."""
SETTLED_SECONDS, LONGEST_SECONDS = 2.0, 300.0


def sockets(process: int, table: str) -> list[tuple[str, int, str, str]]:
    """Returns the address, port, state and inode of each socket of a process's network namespace."""
    found = []
    for version in (table, f"{table}6"):
        for line in Path(f"/proc/{process}/net/{version}").read_text().splitlines()[1:]:
            fields = line.split()
            address, port = fields[1].split(":")
            count = len(address) // 8  # Each 32 bits are in the order of the machine.
            packed = struct.pack(f"={count}I", *struct.unpack(f">{count}I", bytes.fromhex(address)))
            found.append((str(ipaddress.ip_address(packed)), int(port, 16), fields[3], fields[9]))
    return found


def held(process: int) -> set[str]:
    """Returns the inodes of a process's sockets."""
    links = []
    for entry in Path(f"/proc/{process}/fd").iterdir():
        with contextlib.suppress(OSError):
            links.append(os.readlink(entry))
    return {link[8:-1] for link in links if link.startswith("socket:[")}


def limit(process: int, name: str) -> str:
    """Returns a soft limit of a process in the kernel's words."""
    lines = Path(f"/proc/{process}/limits").read_text().splitlines()
    return next(line for line in lines if line.startswith(name)).removeprefix(name).split()[0]


def main() -> None:
    """Calls the server of the process in the arguments, as often as they say, and waits until it serves no
    more connections than they allow."""
    process, transport, callers, allowed = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[5])
    state = LISTENS if transport == "tcp" else UNCONNECTED

    def listening() -> list[tuple[str, int, str, str]]:
        own = held(process)
        return [found for found in sockets(process, transport) if found[3] in own and found[2] == state]

    began = time.monotonic()
    while not (at := listening()):
        assert time.monotonic() - began < LONGEST_SECONDS, "it listens nowhere"
        time.sleep(0.05)
    port = min(found[1] for found in at)
    limits = {"descriptors": limit(process, "Max open files"), "memory": limit(process, "Max address space")}
    to = (sys.argv[4], port)
    opened = []
    for _ in range(callers):
        caller = socket.socket(
            socket.AF_INET, socket.SOCK_STREAM if transport == "tcp" else socket.SOCK_DGRAM
        )
        caller.setblocking(False)
        if transport == "udp":
            caller.sendto(REQUEST, to)
        else:
            with contextlib.suppress(BlockingIOError):
                caller.connect(to)
        opened.append(caller)

    def look() -> tuple[int, int]:
        # A connection that the server has not accepted has no inode yet.
        served = [
            found
            for found in sockets(process, "tcp")
            if found[1] == port and found[2] == ESTABLISHED and found[3] != "0"
        ]
        return len(served), len(os.listdir(f"/proc/{process}/task"))

    def look_again() -> tuple[int, int]:
        try:
            return look()
        except OSError:  # It has ended.
            return 0, 0

    began = changed = time.monotonic()
    last = most = look_again()

    def settled() -> bool:
        # On a busy machine, a connection that the server is about to refuse may last longer.
        return last[0] <= allowed and time.monotonic() - changed >= SETTLED_SECONDS

    while not settled() and time.monotonic() - began < LONGEST_SECONDS:
        time.sleep(0.05)
        now = look_again()
        most = (max(most[0], now[0]), max(most[1], now[1]))
        if now != last:
            last, changed = now, time.monotonic()
    said = {
        "addresses": sorted({found[0] for found in at}),
        "port": port,
        "served": last[0],
        "most_served": most[0],
        "most_threads": most[1],
    }
    print(json.dumps(said | limits))


if __name__ == "__main__":
    main()
