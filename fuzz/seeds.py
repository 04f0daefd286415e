"""Valid inputs of the engine's fuzz targets, from which fuzzing begins."""

from __future__ import annotations

import json
import socket
import struct
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from nettrial.design import scenario_of
from nettrial.study import load
from tests.records import record

ROOT = Path(__file__).parents[1]


def _text(*documents: Any) -> list[bytes]:
    return [json.dumps(document).encode() for document in documents]


def _scenario(study: str) -> Any:
    loaded = load(study)
    scenario = scenario_of(loaded, {name: factor.levels[0] for name, factor in loaded.factors.items()})
    return scenario.model_dump(mode="json", by_alias=True, exclude_none=True)


def _scenarios() -> Iterable[bytes]:
    scenarios = [_scenario(name) for name in ("jumbo-ipv6", "wlan-settings", "kernel-versions")]
    flow = {"name": "m", "from": "client", "to": "server", "transport": "tcp", "ip": 4}
    flow["traffic"] = {"kind": "transfer", "duration": "1 s"}
    measure = {"trial": "1", "flow": flow, "streams": 2, "interval": "1 s"}
    requests: list[Any] = [{"request": "preflight"}, {"request": "check", "scenario": scenarios[0]}]
    requests += [{"request": "run", "trial": "1", "scenario": scenario} for scenario in scenarios]
    return _text(*scenarios, *requests, measure)


def _guest() -> Iterable[bytes]:
    yield b'!0.1.0 6.1 of mine\n<{"a": 1}\n-\n?\n+{}\n>{}\n'
    yield Path(sys.executable).read_bytes()[:2048]


def _images() -> Iterable[bytes]:
    vectors = json.loads((ROOT / "tests" / "vectors" / "disks.json").read_text())
    for vector in vectors:
        image = bytes.fromhex(vector["image"])
        yield image.ljust(min(vector["bytes"], 4096), b"\0")


def _report() -> dict[str, Any]:
    flow = record().model_dump(mode="json", by_alias=True, exclude_none=True)["flows"][0]
    return {"number": 1, "reply": {"finished": [flow, []]}}


def _orders() -> list[dict[str, Any]]:
    side = {
        "flow": _scenario("jumbo-ipv6")["workload"][0],
        "cookie": list(range(16)),
        "address": "192.0.2.1",
        "congestion_control": "cubic",
        "clock_offset": {"ahead_ns": 1, "error_ns": 2},
        "round_trip": "1 ms",
    }
    inspect = {"side": side, "destination": "192.0.2.2:1"}
    commands = [{"listen": side}, {"inspect": inspect}, {"start": {**inspect, "sample_ns": 10}}]
    return [{"number": number, "command": command} for number, command in enumerate(commands)]


def _traffic() -> Iterable[bytes]:
    header = struct.pack(">QQIxxxx", 1, 2, 24)
    failed = {"number": 1, "reply": {"failed": {"kind": "other", "message": "why"}}}
    return [*_text(*_orders(), _report(), failed, {"number": 1, "reply": {"listening": {"port": 1}}}), header]


def _machines() -> Iterable[bytes]:
    changes = [
        {"setting": {"mtu": {"interface": "eth0"}}, "value": "1500"},
        {"setting": {"sysctl": {"name": "net.ipv4.tcp_sack"}}, "value": "1"},
        {"setting": "icmp", "value": "answered"},
    ]
    reading = {"at_ns": 1, "processors": [{"processor": 0, "idle_ns": 1, "steal_ns": 0, "interrupt_ns": 1}]}
    counted = {"name": "eth0", "sent_bytes": 1, "sent_pkts": 1, "received_bytes": 1, "received_pkts": 1}
    counted |= {"carrier_changes": 1, "speed_bps": 10, "wireless": None}
    pace = {"policies": ["performance 1"], "on_mains": True, "throttled": 0, "slept": 0}
    observed = {"processors": reading, "wall_ns": 1, "interfaces": [counted], "pace": pace, "late_ns": 1}
    times = {"heard_ns": 1, "answered_ns": 2, "wall_ns": 3}
    yield from _text({"observed": observed}, {"time": times}, {"report": _report()})
    yield from _text(*({"order": order} for order in _orders()))
    yield from _text({"begin": {"settings": changes, "agent": True}}, {"observe": {"interfaces": ["eth0"]}})
    yield from _text(
        "still_here", "begun", {"failed": {"kind": "busy", "message": "why"}}, {"version": "0.1.0"}
    )
    yield b"\n".join(_text(*changes))


def _radio() -> Iterable[bytes]:
    lines = ["Name : Wi-Fi", "BSSID : 02:00:00:AA:BB:CC", "Band : 5 GHz", "Channel : 36", "Signal : 85%"]
    lines += ["Rssi : -41", "Receive rate (Mbps) : 1201", "Transmit rate (Mbps) : 864.7", "Name : Wi-Fi 2"]
    yield "\n".join(f"    {line}" for line in lines).encode()
    network = {"spairport_network_channel": "36 (5GHz, 80MHz)", "spairport_network_rate": 866}
    network["spairport_signal_noise"] = "-52 dBm / -92 dBm"
    interface = {"_name": "en0", "spairport_current_network_information": network}
    yield from _text({"SPAirPortDataType": [{"spairport_airport_interfaces": [interface]}]})
    yield b"\tssid home channel 36 (5180 MHz 11a ht/40+) bssid 02:00:00:aa:bb:cc\n\0ADDR AID RATE\na 1 270M\n"


def _iperf3() -> Iterable[bytes]:
    sent = {"udp": True, "omit": 0, "time": 1, "num": 0, "blockcount": 0, "parallel": 2, "reverse": True}
    sent |= {"len": 1448, "bandwidth": 5000000, "udp_counters_64bit": 1, "client_version": "3.12"}
    stream = {"id": 1, "bytes": 9, "retransmits": -1, "jitter": 0.1, "errors": 0, "packets": 3}
    results = {"cpu_util_total": 1, "cpu_util_user": 0.5, "cpu_util_system": 0.5, "streams": [stream]}
    yield from _text(sent, {"tcp": True, "parallel": 1, "MSS": 1400}, results)
    yield struct.pack(">IIQ", 1, 2, 3)
    yield struct.pack("<I", 0x36373839)


def _netlink() -> Iterable[bytes]:
    # A dump of this machine's interfaces (rtnetlink(7)).
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as kernel:
        kernel.send(struct.pack("=IHHIIBxxx", 20, 18, 0x301, 1, 0, 0))
        yield kernel.recv(65536)[:4096]
    frequency, signal = struct.pack("=HHI", 8, 38, 5180), struct.pack("=HHbxxx", 5, 7, -50)
    body = bytes(4) + frequency + struct.pack("=HH", 4 + len(signal), 21) + signal
    yield struct.pack("=IHHII", 16 + len(body), 20, 2, 1, 0) + body
    yield struct.pack("=IHHIIi", 20, 2, 0, 1, 0, -19)


def _openflow() -> Iterable[bytes]:
    def message(version: int, kind: int, body: bytes) -> bytes:
        return struct.pack(">BBHI", version, kind, 8 + len(body), 1) + body

    frame = b"\xff" * 12 + b"\x88\xcc" + bytes(46)
    port = struct.pack(">HHIIxxxx", 1, 12, 0x80000004, 7)
    yield message(4, 6, struct.pack(">Q", 7) + bytes(16)) + message(4, 14, bytes(8))
    yield message(1, 10, b"\xff" * 4 + bytes(6) + frame)
    yield message(4, 10, b"\xff" * 4 + bytes(12) + port + bytes(2) + frame)
    yield message(1, 13, b"\xff" * 4 + b"\0\7\0\x08" + bytes(8) + frame)


def _outputs() -> Iterable[bytes]:
    # The first byte chooses the program and the transport: `read_output` of the crate nettrial-traffic.
    files = sorted((ROOT / "engine" / "traffic" / "tests" / "outputs").iterdir())
    return [bytes([choice]) + file.read_bytes()[:16383] for file in files for choice in range(22)]


def _imports() -> Iterable[bytes]:
    files = sorted((ROOT / "tests" / "iperf3").glob("*.json"))
    return [file.read_bytes()[:16384] for file in files]


def _path() -> Iterable[bytes]:
    echo = struct.pack(">BBHHH", 0, 0, 0, 1, 1)
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 56, 1, 0, 64, 1, 0, b"\x7f\0\0\1", b"\x7f\0\0\1")
    probe = struct.pack(">BBHHH", 8, 0, 0, 1, 1)
    yield from (echo, header + echo, struct.pack(">BBHHH", 3, 4, 0, 0, 1400) + header + probe)
    yield struct.pack(">BBHI", 2, 0, 0, 1280) + struct.pack(">IHBB", 6 << 28, 8, 58, 64) + bytes(32) + probe


def _remote() -> Iterable[bytes]:
    welcome = {"engine_version": "0.1.0", "address": "192.0.2.1", "interface_mtu": 1500}
    welcome |= {"congestion_control": "cubic", "others": 0}
    reading = {"at_ns": 1, "processors": []}
    yield from _text({"welcome": welcome}, {"report": _report()}, {"processors": reading})
    yield from _text(*({"order": order} for order in _orders()))
    yield from _text("new_agent", "time", "processors", {"time": {"heard_ns": 1, "answered_ns": 2}})


def _frames() -> Iterable[bytes]:
    tcp = bytes(12) + b"\x08\0" + struct.pack(">BBHHHBBH", 0x45, 2, 52, 1, 0, 64, 6, 0) + bytes(40)
    udp = bytes(12) + b"\x86\xdd" + struct.pack(">IHBB", 6 << 28 | 1 << 20, 8, 17, 64) + bytes(40)
    for frame in (tcp, udp):
        yield bytes(10) + frame
        yield struct.pack("=BBHHHH", 1, 1, 66, 1448, 34, 16) + frame


SEEDS: dict[str, Callable[[], Iterable[bytes]]] = {
    "frame": _frames,
    "guest": _guest,
    "hosts": _machines,
    "image": _images,
    "imports": _imports,
    "iperf3": _iperf3,
    "netlink": _netlink,
    "openflow": _openflow,
    "outputs": _outputs,
    "path": _path,
    "radio": _radio,
    "remote": _remote,
    "scenario": _scenarios,
    "traffic": _traffic,
}
"""The seeds of each target by its name."""
