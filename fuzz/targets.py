"""The fuzz targets of the package: each reads bytes as one kind of input from outside, and raises only if
that is a fault of nettrial.

A target calls the function that a command calls, with a file in memory where that reads a file."""

from __future__ import annotations

import io
import json
import lzma
import sqlite3
import struct
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from http import HTTPStatus
from pathlib import Path

from websockets.exceptions import InvalidHandshake
from websockets.http11 import Request
from websockets.server import ServerProtocol

from nettrial import export
from nettrial.controllers import frames, lldp
from nettrial.errors import BadInput
from nettrial.files import RUN_FILE
from nettrial.guests import Disk, kernel
from nettrial.guests.kernel import Unfit
from nettrial.imports.reading import Reader
from nettrial.machines import Inventory
from nettrial.metrics import METRICS
from nettrial.monitor import mesh
from nettrial.monitor.archive import FILE as ARCHIVE_FILE
from nettrial.monitor.archive import Archive, KnownSession
from nettrial.monitor.outcome import MeasuredValue, MeasuredValues
from nettrial.monitor.schedule import Gap, Spent
from nettrial.protocols.ndt7.server import refusal
from nettrial.protocols.ndt7.wire import measurement
from nettrial.protocols.stamp import packet
from nettrial.report.serving import Handler
from nettrial.scenario import Record
from nettrial.store import Run
from nettrial.store.lean import lean
from nettrial.study import delay_trace, published, rate_trace, trace_file
from nettrial.study.catalogue import EXAMPLES, load, read
from nettrial.topology import graph_file

ROOT = Path(__file__).parents[1]
KEY = bytes(range(16))


@dataclass(frozen=True)
class Target:
    """A kind of input."""

    read: Callable[[bytes], None]
    """Reads an input; raises anything for a fault of nettrial."""
    seeds: Callable[[], Iterable[bytes]]
    """Returns valid inputs, from which fuzzing begins."""
    words: tuple[str, ...] = ()
    """Words of which inputs consist."""


@cache
def _directory() -> tempfile.TemporaryDirectory[str]:
    """Returns this process's directory of files, in memory where there is one. It is removed at exit."""
    memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
    return tempfile.TemporaryDirectory(prefix="nettrial-fuzz-", dir=memory)


def _folder() -> Path:
    return Path(_directory().name)


def _file(name: str, data: bytes) -> Path:
    path = _folder() / name
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        file.write(data)
    return path


def _of_files(*patterns: str) -> Callable[[], Iterable[bytes]]:
    return lambda: [file.read_bytes() for pattern in patterns for file in sorted(ROOT.glob(pattern))]


SMALLEST_STUDY = """study: a
title: A
question: Which?
warmup: 0
backend: lab
replicates: 2
full_replicates: 2
factors: {mtu: {title: MTU, sets: network.mtu, levels: [1500 B, 9000 B]}}
network: {topology: pair, ip: 4, rate: 1 Gbit/s, delay: 1 ms, queue: 9 packets, mtu: 1500 B}
hosts: {client: {stack: linux-cubic}, server: {stack: linux-cubic}}
workload: [{flow: t, from: client, to: server, transport: tcp, traffic: {kind: transfer, duration: 1 s}}]
measurement: {interval: 100 ms, queue_drops: allowed}
responses: [{name: g, title: G, metric: goodput, of: t, unit: Mbit/s}]
layout: {rows: mtu, columns: []}
"""
MOST_STUDIES = 5
"""The number of other studies from which fuzzing begins, the smallest ones: inputs are read the faster."""


def _study(data: bytes) -> None:
    with suppress(BadInput):
        read(_file("study.yaml", data)).published_text()


def _study_seeds() -> Iterable[bytes]:
    found = sorted(EXAMPLES.glob("*/study.yaml"), key=lambda file: file.stat().st_size)
    return [SMALLEST_STUDY.encode(), *(file.read_bytes() for file in found[:MOST_STUDIES])]


def _graph(data: bytes) -> None:
    _file("graph", data)
    with suppress(graph_file.GraphError):
        graph_file.read(_folder(), "graph")


def _trace(data: bytes) -> None:
    _file("trace", data)
    for reader in (rate_trace.read, delay_trace.read):
        with suppress(trace_file.TraceError):
            reader(_folder(), "trace")


def _trace_seeds() -> Iterable[bytes]:
    yield b"0\n1\n1\n7\n"
    yield b"0, 10 Mbit/s # first\n1.5 s, 0\n2 s, 1 Gbit/s\n10 s, end\n"
    yield b"0, 1 ms\n1 s, 0\n2 s, end\n"


def _graph_seeds() -> Iterable[bytes]:
    nodes, links = [{"id": name, "kind": "switch"} for name in "ab"], [{"source": "a", "target": "b"}]
    yield json.dumps({"nodes": nodes, "links": links}).encode()
    yield json.dumps({"directed": True, "multigraph": True, "nodes": nodes, "edges": links * 2}).encode()
    kind = '<key id="k" for="node" attr.name="kind" attr.type="string"/>'
    ends = "".join(f'<node id="{name}"><data key="k">host</data></node>' for name in "ab")
    graph = f'<graph edgedefault="undirected">{ends}<edge source="a" target="b"/></graph>'
    yield f'<graphml xmlns="http://graphml.graphdrawing.org/xmlns">{kind}{graph}</graphml>'.encode()
    yield from _of_files("tests/graphs/*.graphml", "tests/graphs/*.g*", "tests/graphs/*.yml")()


def _inventory(data: bytes) -> None:
    with suppress(BadInput):
        Inventory.load(_file("machines.yaml", data))


def _inventory_seeds() -> Iterable[bytes]:
    machine = "{ssh: root@h, interfaces: {eth0: [10.0.0.1, 'fd00::1']}, may_change: [mtu], nodes: [client]}"
    return [f"machines:\n  one: {machine}\n".encode(), b"machines: {a: {local: true, interfaces: {}}}\n"]


def _mesh(data: bytes) -> None:
    with suppress(BadInput):
        mesh.load(_file("mesh.yaml", data))


def _mesh_seeds() -> Iterable[bytes]:
    hosts = "hosts: {a: {address: 10.0.0.1}, b: {address: 10.0.0.2, serves: nettrial}}"
    to = "{kind: tcp, from: [a], to: [b], every: 1 min, duration: 1 s, thresholds: {goodput: {alarm: '< 1'}}}"
    return [f"mesh: m\n{hosts}\nmeasurements: {{m: {to}}}\n".encode()]


@cache
def _reader() -> Reader:
    """Returns a reader whose engine ends with this process."""
    return Reader()


def _imports(data: bytes) -> None:
    for each in _reader().read(_file("measurements.json", data)).imported:
        each.record.model_dump_json()


def _import_seeds() -> Iterable[bytes]:
    for file in sorted(ROOT.glob("tests/iperf3/*.json")):
        text = file.read_text().lstrip()
        with suppress(ValueError):
            yield text[: json.JSONDecoder().raw_decode(text)[1]].encode()
    yield json.dumps(
        {"test": {"type": "rtt"}, "result": {"succeeded": True, "min": "PT0.01S", "roundtrips": []}}
    ).encode()


@cache
def _of_published() -> object:
    return load("jumbo-ipv6")


def _published(data: bytes) -> None:
    with suppress(BadInput):
        published.read(data.decode(errors="replace"), _of_published())  # type: ignore[arg-type]


def _run_file(data: bytes) -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    # SQLite refuses an empty database here; `Run.open` reads a file of no bytes as one without tables.
    connection.deserialize(data or bytes(1))
    try:
        run = Run.of(Path("run"), connection)
        assert run.pending() is not None
        assert run.sessions is not None
        # All tables would take fifteen times as long; which one is read depends on the input alone.
        tables = list(export.frames(run).values())
        tables[zlib.crc32(data) % len(tables)]()
    except BadInput:
        pass
    finally:
        connection.close()


def _run_seeds() -> Iterable[bytes]:
    sys.path.insert(0, str(ROOT))
    from tests.unit.synthetic import make_run

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run" / RUN_FILE
        study = read(_file("study.yaml", SMALLEST_STUDY.encode()))
        make_run(file.parent, 1, trials=2, study=study).close()
        yield _small(file)


def _small(file: Path) -> bytes:
    """Returns a database with the smallest pages: more bytes have a meaning, and it is read in less time."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA page_size = 512")
        connection.execute("VACUUM")
    return file.read_bytes()


def _record(data: bytes) -> None:
    # The documents of a run file are compressed, so that a change in one is only an error in its checksum.
    try:
        record = lean(Record.model_validate_json(data))
    except ValueError:
        return
    flows, hosts = ([each.name for each in kind] for kind in (record.flows, record.hosts))
    for metric in METRICS.values():
        if metric.network is None:
            metric.combined(record, flows)
            for name in (*flows, *hosts):
                metric.read(record, name)


def _record_seeds() -> Iterable[bytes]:
    sys.path.insert(0, str(ROOT))
    from tests.records import full_record, record

    for seed in (record(), full_record()):
        yield seed.model_dump_json(by_alias=True, exclude_none=True).encode()


def _archive(data: bytes) -> None:
    path = _file(f"archive/{ARCHIVE_FILE}", data)
    with suppress(BadInput):
        archive = Archive.open(path.parent)
        try:
            for known in (archive.sessions, archive.latest, archive.metrics, archive.entries):
                known()
            archive.events(0.0)
            for task in archive.tasks():
                archive.hours(task.number, "goodput", 0.0)
                archive.gaps(task.number, 0.0)
                archive.counts(task.number, 0.0)
        finally:
            archive.close()


def _archive_seeds() -> Iterable[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        archive = Archive.create(Path(folder))
        session = archive.begin_session(KnownSession("campus", "1 d", 0.0, 9.0, "running"))
        archive.add_task(
            session, "t a b", ("a", "b"), 60, "t", "TCP", ["goodput"], {"goodput": {"alarm": "< 9"}}
        )
        figure = MeasuredValue("goodput", "Goodput", "Mbit/s", 1.5)
        archive.measured("t a b", 1, Spent(60.0, 1.0, 9), MeasuredValues([figure], 9, "{}"))
        archive.gap(Gap("t a b", 2, 3, "host gone", "b"), 120.0)
        archive.event(120.0, "t a b", "change", "less", "goodput")
        archive.close()
        yield _small(Path(folder) / ARCHIVE_FILE)


def _disk(data: bytes) -> None:
    with suppress(Unfit):
        Disk.read(_file("disk", data))


def _disk_seeds() -> Iterable[bytes]:
    header = struct.pack(
        ">4sIQIIQIIQQIIQQQQII", b"QFI\xfb", 3, 0, 0, 16, 2**30, 0, 1, 65536, 0, 0, 0, 0, 0, 0, 0, 4, 104
    )
    return [header, header + struct.pack(">II", 0x6803F857, 48) + bytes(48), bytes(510) + b"\x55\xaa"]


def _module(data: bytes) -> None:
    with suppress(Unfit):
        kernel.depends(kernel._contents(_file("module.ko", data)))
        kernel._contents(_file("module.ko.xz", data))
        kernel._release(_folder() / "bzImage", data)


def _module_seeds() -> Iterable[bytes]:
    module = b"\x7fELF\0license=GPL\0depends=a-b,c\0name=x\0"
    image = bytes(0x202) + b"HdrS" + bytes(8) + b"\0\x01" + bytes(0xF0) + b"6.1.0 (a@b) #1\0"
    return [module, lzma.compress(module), image]


def _stamp(data: bytes) -> None:
    for key in (None, KEY):
        with suppress(packet.NotATestPacket):
            packet.read_sent(data, key)
            if len(data) >= packet.base_size(key):
                answer = packet.reflected_packet(data, 1, 2, 3, 255, key)
                packet.stamp(answer, 4, key)
                assert len(answer) == len(data)
                packet.read_reflected(bytes(answer), key)
        with suppress(packet.NotATestPacket):
            packet.read_reflected(data, key)


def _stamp_seeds() -> Iterable[bytes]:
    sent = packet.Sent(1, 2**40, 3, 4)
    return [bytes(packet.sender_packet(sent, size, key)) for key in (None, KEY) for size in (112, 200, 300)]


def _ndt7(data: bytes) -> None:
    with suppress(ValueError):
        measurement(data.decode(errors="replace"))
    protocol = ServerProtocol()
    protocol.receive_data(data)
    for event in protocol.events_received():
        if isinstance(event, Request):
            refusal(event)
            with suppress(InvalidHandshake):
                protocol.accept(event)


def _ndt7_seeds() -> Iterable[bytes]:
    lines = ["GET /ndt/v7/download?a=%20b HTTP/1.1", "Host: a", "Connection: Upgrade", "Upgrade: websocket"]
    lines += ["Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Version: 13"]
    lines += ["Sec-WebSocket-Protocol: net.measurementlab.ndt.v7", "", ""]
    yield "\r\n".join(lines).encode()
    yield b'{"AppInfo": {"ElapsedTime": 1, "NumBytes": 2}, "TCPInfo": {"MinRTT": 3}, "Origin": "client"}'


class _Page(Handler):
    """A page that is answered into memory."""

    def __init__(self, request: bytes) -> None:
        self.rfile, self.wfile = io.BytesIO(request), io.BytesIO()  # type: ignore[assignment]
        self.client_address = ("192.0.2.1", 1)
        self.close_connection = True
        for _ in range(4):  # requests of a connection
            self.handle_one_request()
            if self.close_connection:
                break

    def making_an_answer(self) -> AbstractContextManager[None]:
        """Limits no time: there is no connection."""
        return nullcontext()

    def respond(self) -> tuple[HTTPStatus, str, bytes]:
        """Returns a page."""
        return HTTPStatus.OK, "text/html", self.path.encode(errors="replace")


def _page(data: bytes) -> None:
    _Page(data)


def _page_seeds() -> Iterable[bytes]:
    return [
        b"GET /pair/1/version HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
        b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n",
    ]


def _frame(data: bytes) -> None:
    with suppress(ValueError):
        frames.read(data)
    lldp.read(data)


def _frame_seeds() -> Iterable[bytes]:
    head = bytes(12)
    return [
        lldp.frame(1, 2),
        head + b"\x08\x00\x45" + bytes(8) + b"\x06" + bytes(30),
        head + b"\x86\xdd\x60" + bytes(5) + b"\x3a\xff" + bytes(32) + b"\x87" + bytes(24),
        head + b"\x08\x06" + bytes(28),
    ]  # fmt: skip


TARGETS = {
    "study": Target(_study, _study_seeds),
    "graph": Target(_graph, _graph_seeds),
    "trace": Target(_trace, _trace_seeds),
    "inventory": Target(_inventory, _inventory_seeds),
    "mesh": Target(_mesh, _mesh_seeds),
    "imports": Target(_imports, _import_seeds),
    "published": Target(_published, _of_files("studies/*/published.csv")),
    "run_file": Target(_run_file, _run_seeds),
    "record": Target(_record, _record_seeds),
    "archive": Target(_archive, _archive_seeds),
    "disk": Target(_disk, _disk_seeds),
    "module": Target(_module, _module_seeds),
    "stamp": Target(_stamp, _stamp_seeds),
    "ndt7": Target(_ndt7, _ndt7_seeds),
    "page": Target(_page, _page_seeds),
    "frame": Target(_frame, _frame_seeds),
}
"""The targets by name."""
