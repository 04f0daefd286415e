"""A study of two hosts over a link whose directions differ, with the figures that follow from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from nettrial.study import Study, load
from tests.lab_study import lab_study

CORE = {
    "between": ["left", "right"],
    "rate": "2 Mbit/s",
    "delay": "5 ms",
    "queue": "20 packets",
    "reverse": {"rate": "10 Mbit/s", "delay": "20 ms"},
}
"""A link of 2 Mbit/s up and 10 Mbit/s down."""
UP_MBPS, DOWN_MBPS = 2 * 1472 / 1538, 10 * 1472 / 1538
"""The goodput in each direction: packets of 1500 bytes, with 28 of headers, take 1538 on the wire."""
_FRAME_BITS = (100 + 28 + 38) * 8
RTT_MS = 2 + 5 + 2 + 20 + _FRAME_BITS * (1 / 2e6 + 1 / 10e6 + 4 / 100e6) * 1e3
"""The round-trip time of 100 bytes over the propagation delays of all links, and their transmission times."""


def asymmetric(folder: Path, backend: str, link: str = "core", seconds: int = 2, **network: Any) -> Study:
    """Returns a study of packets in both directions at more than the rates, after requests on the idle
    path. The factor is the rate of a link."""
    names = ("client", "server")
    up = {"from": "client", "to": "server", "transport": "udp"}
    down = {"from": "server", "to": "client", "transport": "udp"}
    packets = {"kind": "packets", "size": "1472 B", "gap": "800 us", "duration": f"{seconds} s"}
    requests = {"kind": "request_response", "request": "100 B", "response": "100 B", "count": 10}
    data = lab_study(
        backend=backend,
        network={
            "topology": "dumbbell",
            "ip": 4,
            "mtu": "1500 B",
            "rate": "100 Mbit/s",
            "delay": "1 ms",
            "queue": "100 packets",
            "links": {"core": CORE},
            **network,
        },
        hosts={name: {"stack": "linux-cubic"} for name in names},
        workload=[
            {"flow": "up", **up, "start": "1 s", "traffic": packets},
            {"flow": "down", **down, "start": "1 s", "traffic": packets},
            {"flow": "ping", **up, "traffic": requests},
        ],
        factors={
            "core": {
                "title": "Core",
                "sets": f"network.links.{link}.rate",
                "levels": ["2 Mbit/s", "4 Mbit/s"],
            }
        },
        layout={"rows": "core"},
    )
    (folder / "study.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    return load(str(folder / "study.yaml"))
