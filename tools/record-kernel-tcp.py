#!/usr/bin/env python3
"""Records the segments that this machine's kernel sends, and the acknowledgments upon which it sends them.

    sudo python tools/record-kernel-tcp.py engine/sim/tests/kernel/segments.txt [SCENARIO ...]

Two sockets of the kernel exchange data over two TUN interfaces, each in a network namespace of its own. This
program forwards the packets between them with a rate and a delay, and drops, delays or duplicates some of
them as the scenario says. The test `engine/sim/tests/kernel` hands the same acknowledgments to the
simulator's sender, and compares the segments that it sends. Needs Linux and root; the machine should have
nothing else to do. With names of scenarios, only these are recorded again.

Each scenario of the file is a line with its settings, and lines of these kinds, whose times count
microseconds from the first SYN:

    = TIME                                       the application wrote as many bytes as the settings say
    > TIME SEQUENCE COUNT [LENGTH]               the kernel sent full segments, or one of LENGTH bytes
    < TIME ACK WINDOW ECHO [e] [START-END ...]   the kernel received an acknowledgment, e: with ECE

Sequence numbers count from 0, that of the SYN. ECHO is the end of the millisecond of the echoed timestamp,
in microseconds, or `-`."""

from __future__ import annotations

import ctypes
import fcntl
import heapq
import os
import platform
import random
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

CLONE_NEWNET = 0x40000000
TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x1, 0x1000
PR_SET_TIMERSLACK = 29
ADDRESSES = ("10.0.0.1", "10.0.0.2")
PORT = 5001
SYN, ACK = 0x02, 0x10
ECE = 0x40
MARKED = 3
LONGEST_S = 40
"""The time after which a scenario ends, if the data has not been acknowledged before."""


@dataclass(frozen=True)
class Fate:
    """The fate of a packet on its way."""

    is_lost: bool = False
    """True if it is lost."""
    late_ms: float = 0
    """The time by which it is late, in milliseconds."""
    copies: int = 1
    """The number of times that it arrives."""
    is_marked: bool = False
    """True if it gets the mark that congestion was experienced (RFC 3168)."""


PASSES = Fate()
LOST = Fate(is_lost=True)
Judge = Callable[[int], Fate]
"""Returns the fate of a packet, from the number of packets before it in its direction."""


@dataclass(frozen=True)
class Scenario:
    """A transfer over a lossy path."""

    name: str
    """The name in the file and in the test."""
    control: str = "reno"
    """The congestion control."""
    has_sack: bool = True
    """True if both hosts use SACK."""
    has_timestamps: bool = True
    """True if both hosts use timestamps."""
    has_ecn: bool = False
    """True if both hosts use ECN."""
    size: int = 217_200
    """The bytes to send."""
    pauses_ms: tuple[int, ...] = ()
    """The time before each further write of `size` bytes."""
    rate_mbps: float = 20
    """The rate at which data leaves."""
    delay_ms: float = 20
    """The delay of each direction."""
    queue_packets: int = 1000
    """The data packets that wait at most."""
    window: int | None = None
    """The receive buffer (SO_RCVBUF), in bytes."""
    sleeps: tuple[tuple[int, int], ...] = ()
    """The receiving application's sleeps: the bytes it reads before each, and its time in milliseconds."""
    data: Judge = lambda _: PASSES
    """The fate of each data packet, retransmissions included."""
    acks: Judge = lambda _: PASSES
    """The fate of each acknowledgment."""

    def settings(self) -> str:
        """Returns the line of the file that describes it."""
        options = {
            "control": self.control,
            "sack": int(self.has_sack),
            "timestamps": int(self.has_timestamps),
            "ecn": int(self.has_ecn),
            "bytes": self.size,
        }
        return f"scenario {self.name} " + " ".join(f"{key}={value}" for key, value in options.items())


def losing(*numbers: int) -> Judge:
    """Loses the data packets of those numbers."""
    return lambda number: LOST if number in numbers else PASSES


def losing_span(first: int, last: int) -> Judge:
    """Loses the packets from `first` to `last`."""
    return lambda number: LOST if first <= number <= last else PASSES


def at_random(seed: int, share: float, fate: Fate) -> Judge:
    """Gives that share of the packets that fate."""
    generator = random.Random(seed)
    return lambda _: fate if generator.random() < share else PASSES


def kinds() -> Iterator[tuple[str, dict[str, object]]]:
    """Yields the name and the settings of each kind of scenario."""
    yield "plain", {}
    yield "one-loss", {"data": losing(60)}
    yield "one-loss-odd", {"data": losing(61)}
    yield "two-losses", {"data": losing(60, 66)}
    yield "three-losses", {"data": losing(50, 52, 60)}
    yield "burst-loss", {"data": losing_span(60, 79)}
    yield "early-loss", {"data": losing(3)}
    yield "tail-loss", {"data": losing(149)}
    yield "tail-loss-two", {"data": losing(148, 149)}
    yield "lost-again", {"data": losing(60, 92, 93, 94, 95, 96, 97)}
    yield "stall", {"data": losing_span(60, 130)}
    yield "random-loss", {"data": at_random(1, 0.02, LOST)}
    yield "random-loss-2", {"data": at_random(2, 0.05, LOST)}
    yield "reordering", {"data": at_random(3, 0.02, Fate(late_ms=4))}
    yield "reordering-far", {"data": at_random(4, 0.02, Fate(late_ms=30))}
    yield "lost-acks", {"data": losing(60, 75), "acks": at_random(5, 0.3, LOST)}
    yield "duplicates", {"data": at_random(6, 0.05, Fate(copies=2))}
    yield "delayed", {"data": lambda number: Fate(late_ms=600) if 60 <= number < 140 else PASSES}
    yield "full-queue", {"queue_packets": 20, "size": 434_400}
    yield "idle", {"size": 72_400, "pauses_ms": (1000, 100), "data": losing(70)}


def scenarios() -> Iterator[Scenario]:
    """Yields all scenarios."""
    variants = {
        "reno": {"control": "reno"},
        "cubic": {"control": "cubic"},
        "no-sack": {"control": "reno", "has_sack": False},
        "classic": {"control": "reno", "has_sack": False, "has_timestamps": False},
    }
    for variant, settings in variants.items():
        for kind, more in kinds():
            yield Scenario(name=f"{variant}-{kind}", **settings, **more)  # type: ignore[arg-type]
    for control in ("reno", "cubic"):
        marked = at_random(7, 0.02, Fate(is_marked=True))
        yield Scenario(name=f"{control}-ecn", control=control, has_ecn=True, data=marked)
    sleeps = ((100_000, 1500),)
    yield Scenario(name="reno-pausing-reader", window=40_000, sleeps=sleeps)
    yield Scenario(
        name="reno-pausing-reader-lost-acks", window=40_000, sleeps=sleeps, acks=losing_span(40, 46)
    )


@dataclass
class Direction:
    """The path from one host to the other."""

    scenario: Scenario
    """The scenario, with the rate and the delay."""
    judge: Judge
    """The fate of each packet."""
    is_limited: bool
    """True if packets wait for each other at the rate."""
    count: int = 0
    """The packets so far."""
    free_at: int = 0
    """The time in nanoseconds at which the last packet has left."""
    leaves: list[int] = field(default_factory=list)
    """The times at which the packets that wait will have left."""

    def times(self, packet: bytes, now: int) -> tuple[list[int], bool]:
        """Returns the times in nanoseconds at which the packet arrives, and whether it is marked."""
        fate = self.judge(self.count)
        self.count += 1
        if fate.is_lost:
            return [], False
        at = now
        if self.is_limited:
            self.leaves = [leave for leave in self.leaves if leave > now]
            if len(self.leaves) > self.scenario.queue_packets:
                return [], False
            self.free_at = max(self.free_at, now) + int((len(packet) + 38) * 8e3 / self.scenario.rate_mbps)
            self.leaves.append(self.free_at)
            at = self.free_at
        at += int((self.scenario.delay_ms + fate.late_ms) * 1e6)
        return [at] * fate.copies, fate.is_marked


def set_option(name: str, value: object) -> None:
    """Sets an option of this network namespace."""
    Path("/proc/sys/net/ipv4", name).write_text(str(value))


def make_host(scenario: Scenario, number: int) -> tuple[int, socket.socket]:
    """Moves to a new network namespace with a host; returns its TUN interface and a socket of it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "a network namespace can't be made")
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", b"tun0", IFF_TUN | IFF_NO_PI))
    for words in (
        f"address add {ADDRESSES[number]}/24 dev tun0",
        "link set tun0 up mtu 1500 txqueuelen 10000",
    ):
        subprocess.run(["ip", *words.split()], check=True)
    set_option("tcp_sack", int(scenario.has_sack))
    # 2: without an offset that differs from connection to connection.
    set_option("tcp_timestamps", 2 if scenario.has_timestamps else 0)
    set_option("tcp_ecn", 1 if scenario.has_ecn else 0)
    # The buffers limit no scenario that does not say so.
    for buffer in ("tcp_rmem", "tcp_wmem"):
        set_option(buffer, "4096 4194304 4194304")
    # Each segment that arrives out of order is acknowledged.
    set_option("tcp_comp_sack_nr", 0)
    return tun, socket.socket(socket.AF_INET, socket.SOCK_STREAM)


def run_applications(scenario: Scenario, client: socket.socket, server: socket.socket, written: int) -> None:
    """Sends and receives the data, in a process of its own. The times of writes go to the pipe `written`."""

    def receive() -> None:
        connection, _ = server.accept()
        for size, pause_ms in scenario.sleeps:
            left = size
            while left > 0:
                left -= len(connection.recv(left))
            time.sleep(pause_ms / 1e3)
        while connection.recv(1 << 20):
            pass

    threading.Thread(target=receive, daemon=True).start()
    client.connect((ADDRESSES[1], PORT))
    data = bytes(scenario.size)
    for pause_ms in (0, *scenario.pauses_ms):
        time.sleep(pause_ms / 1e3)
        os.write(written, struct.pack("q", time.monotonic_ns()))
        client.sendall(data)
    time.sleep(LONGEST_S + 5)


def with_mark(packet: bytes) -> bytes:
    """Returns an ECN-capable packet with the mark that congestion was experienced."""
    if packet[1] & MARKED == 0:
        return packet
    header = bytearray(packet[:20])
    header[1] |= MARKED
    header[10:12] = b"\0\0"
    total = sum(struct.unpack("!10H", header))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    header[10:12] = struct.pack("!H", ~total & 0xFFFF)
    return bytes(header) + packet[20:]


@dataclass
class Segment:
    """The fields of a TCP segment that matter."""

    sequence: int
    """The sequence number of its first byte."""
    ack: int
    """The sequence number expected next."""
    flags: int
    """The flags of the header's fourteenth byte."""
    window: int
    """The window as the header has it, not scaled."""
    length: int
    """The bytes of payload."""
    timestamps: tuple[int, int] | None = None
    """The timestamp and its echo, in milliseconds."""
    blocks: tuple[tuple[int, int], ...] = ()
    """The SACK blocks."""
    scale: int | None = None
    """The window scale of a SYN."""


def parse(packet: bytes) -> Segment | None:
    """Returns the TCP segment of an IPv4 packet."""
    if packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
        return None
    _, _, sequence, ack, offset, flags, window = struct.unpack_from("!HHIIBBH", packet, 20)
    end = 20 + (offset >> 4) * 4
    segment = Segment(sequence, ack, flags, window, len(packet) - end)
    at = 40
    while at < end and packet[at] != 0:
        if packet[at] == 1:
            at += 1
            continue
        kind, length = packet[at], packet[at + 1]
        if kind == 3:
            segment.scale = packet[at + 2]
        elif kind == 5:
            edges = struct.unpack_from(f"!{(length - 2) // 4}I", packet, at + 2)
            segment.blocks = tuple(zip(edges[::2], edges[1::2], strict=True))
        elif kind == 8:
            segment.timestamps = struct.unpack_from("!II", packet, at + 2)
        at += length
    return segment


class Recorder:
    """Writes what a sender sends and receives."""

    def __init__(self, scenario: Scenario) -> None:
        """Begins the record of a scenario."""
        self.lines = [scenario.settings()]
        self.sent: list[tuple[int, int, int]] = []
        self.began_at = 0
        self.own = self.other = -1
        self.scale = 0
        self.mss = 1448 if scenario.has_timestamps else 1460
        self.acked = 0

    def on_sent(self, segment: Segment, now: int) -> None:
        """Records a segment that the kernel sent."""
        if segment.flags & SYN and self.own < 0:
            self.own, self.began_at = segment.sequence, now
        if segment.length:
            sequence = (segment.sequence - self.own) & 0xFFFFFFFF
            self.sent.append(((now - self.began_at) // 1000, sequence, segment.length))

    def on_received(self, segment: Segment, now: int) -> None:
        """Records an acknowledgment that the kernel received."""
        self.flush()
        if segment.flags & SYN:
            self.scale = segment.scale or 0
        window = segment.window << (0 if segment.flags & SYN else self.scale)
        relative = [(edge - self.own) & 0xFFFFFFFF for block in segment.blocks for edge in block]
        blocks = [f" {start}-{end}" for start, end in zip(relative[::2], relative[1::2], strict=True)]
        echo = "-"
        if segment.timestamps is not None:
            # The timestamps are the milliseconds of the clock of `now`; its 32 bits wrap.
            end = now // 1_000_000 & ~0xFFFFFFFF | segment.timestamps[1]
            echo = str(max(0, (end + 1) * 1_000_000 - self.began_at) // 1000)
        self.acked = (segment.ack - self.own) & 0xFFFFFFFF
        at = (now - self.began_at) // 1000
        has_echo = segment.flags & ECE and not segment.flags & SYN
        self.lines.append(f"< {at} {self.acked} {window} {echo}{' e' if has_echo else ''}{''.join(blocks)}")

    def flush(self) -> None:
        """Writes the segments that were sent since the last acknowledgment, with the full ones in groups."""
        groups: list[list[int]] = []
        for at, sequence, length in self.sent:
            last = groups[-1] if groups else None
            is_full = length == self.mss
            follows = last and last[3] == self.mss and last[1] + last[2] * self.mss == sequence
            if last and is_full and follows and at - last[0] < 1000:
                last[2] += 1
            else:
                groups.append([at, sequence, 1, length])
        for at, sequence, count, length in groups:
            self.lines.append(f"> {at} {sequence} {count}" + (f" {length}" if length != self.mss else ""))
        self.sent.clear()


def forward(scenario: Scenario, tuns: tuple[int, int], written: int) -> list[str]:
    """Forwards packets between both hosts until all data is acknowledged; returns the record. The times of
    writes come from the pipe `written`."""
    recorder = Recorder(scenario)
    directions = [Direction(scenario, scenario.data, True), Direction(scenario, scenario.acks, False)]
    waiting: list[tuple[int, int, int, bytes]] = []
    order = 0
    total = scenario.size * (1 + len(scenario.pauses_ms))
    until = time.monotonic_ns() + LONGEST_S * 1_000_000_000
    linger_until = until
    while (now := time.monotonic_ns()) < min(until, linger_until):
        if waiting and waiting[0][0] <= now:
            _, _, to, packet = heapq.heappop(waiting)
            segment = parse(packet)
            if to == 0 and segment is not None:
                recorder.on_received(segment, time.monotonic_ns())
            os.write(tuns[to], packet)
            if recorder.acked > total:
                linger_until = min(linger_until, now + 100_000_000)
            continue
        wait = (waiting[0][0] - now) / 1e9 if waiting else 0.1
        ready, _, _ = select.select(tuns, [], [], max(0, min(wait, 0.1)))
        for tun in ready:
            packet = os.read(tun, 65536)
            now = time.monotonic_ns()
            segment = parse(packet)
            if segment is None:
                continue
            origin = tuns.index(tun)
            if origin == 0:
                recorder.on_sent(segment, now)
            # The handshake, and in one direction packets without data, are not the scenario's subject.
            counts = not segment.flags & SYN and (origin == 1 or segment.length > 0)
            uncounted = Direction(scenario, lambda _: PASSES, False)
            times, is_marked = (directions[origin] if counts else uncounted).times(packet, now)
            for at in times:
                heapq.heappush(waiting, (at, order, 1 - origin, with_mark(packet) if is_marked else packet))
                order += 1
    recorder.flush()
    writes = [at for (at,) in struct.iter_unpack("q", os.read(written, 4096))]
    return [
        recorder.lines[0],
        *(f"= {(at - recorder.began_at) // 1000}" for at in writes),
        *recorder.lines[1:],
    ]


def record(scenario: Scenario) -> list[str]:
    """Runs a scenario in new network namespaces; returns its lines of the file."""
    tun, client = make_host(scenario, 0)
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, scenario.control.encode())
    other_tun, server = make_host(scenario, 1)
    if scenario.window is not None:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, scenario.window)
    server.bind((ADDRESSES[1], PORT))
    server.listen()
    written, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        run_applications(scenario, client, server, write_end)
        os._exit(0)
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1)
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    try:
        return forward(scenario, (tun, other_tun), written)
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        for end in (client, server):
            end.close()
        for descriptor in (tun, other_tun, written, write_end):
            os.close(descriptor)


def read(path: Path) -> dict[str, list[str]]:
    """Returns the scenarios of a file by their names."""
    lines_of: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in path.read_text().splitlines():
        if line.startswith("scenario "):
            lines = lines_of.setdefault(line.split()[1], [])
        if not line.startswith("#"):
            lines.append(line)
    return lines_of


def main() -> None:
    """Records scenarios to the file of the first argument."""
    path, names = Path(sys.argv[1]), sys.argv[2:]
    recorded = read(path) if path.exists() and names else {}
    for scenario in scenarios():
        if not names or scenario.name in names:
            recorded[scenario.name] = record(scenario)
            print(scenario.name, len(recorded[scenario.name]), "lines", file=sys.stderr)
    head = [
        f"# Linux {platform.release()}, recorded by tools/record-kernel-tcp.py, which describes the format."
    ]
    ordered = (scenario.name for scenario in scenarios() if scenario.name in recorded)
    path.write_text("\n".join([*head, *(line for name in ordered for line in recorded[name])]) + "\n")


if __name__ == "__main__":
    main()
