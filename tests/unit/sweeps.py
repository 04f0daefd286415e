"""A run of the study mtu-packet-size with artificial records whose steps are known."""

import random
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from nettrial.analysis import Curve, boundaries
from nettrial.design import PlannedTrial
from nettrial.scenario import FlowRecord, Record
from nettrial.store import Run
from nettrial.study import load
from tests.unit.synthetic import make_run, record, spread_of

PACKET_US = 1.5
"""The time in microseconds that each packet adds to a message."""
BYTE_US = 0.0004
PAGE_BYTES, PAGE_US = 32_000, 2.0
"""The size in bytes and the height in microseconds of a step that no packet boundary explains."""
NOISE_US = 0.4


def mss(mtu: int) -> int:
    """Returns the MSS over IPv4 with timestamps, in bytes."""
    return mtu - 52


def known_boundaries(transport: str, mtu: int) -> list[int]:
    """Returns the message sizes above which one more packet is needed."""
    no_values = np.zeros((1, 1))
    sizes = np.array([65_500.0])
    return boundaries(
        Curve("sweep", {}, transport, 4, mtu, mss(mtu), sizes, (1,), no_values, no_values, no_values)
    )


def smallest_us(size: int, places: Iterable[int], draw: random.Random, noise: float) -> float:
    """Returns a message's smallest round-trip time in microseconds."""
    packets = 1 + sum(place < size for place in places)
    page = PAGE_US if size > PAGE_BYTES else 0
    return 12 + BYTE_US * size + PACKET_US * packets + page + draw.gauss(0, noise)


def sweep_record(trial: PlannedTrial, step: int = 100, noise: float = NOISE_US) -> Record:
    """Returns a possible record of a trial of the study."""
    draw = random.Random(trial.number)
    transport = trial.treatment["transport"]
    mtu = int(trial.treatment["mtu"].split()[0])
    places = known_boundaries(transport, mtu)
    sizes = []
    for size in range(1000, 65_501, step):
        rtt = smallest_us(size, places, draw, noise) + 0.2 * trial.block
        sizes.append(
            {
                "size_bytes": size,
                "rtt_us": [1.1 * rtt],
                "rtt_minimum_us": [rtt],
                "total_us": [rtt * -(-1_000_000 // size)],
                "resent_pkts": 0,
            }
        )
    made = record(PlannedTrial(trial.number, trial.block, {"mtu": trial.treatment["mtu"]}))
    flow = {
        "name": "sweep",
        "transport": transport,
        "ip": 4,
        "congestion_control": "cubic",
        "mss_bytes": mss(mtu) if transport == "tcp" else 0,
        "connections": 1,
        "bytes": 1_000_000 * len(sizes),
        "active_ns": 2_000_000_000,
        "connect_us": spread_of(100),
        "retransmissions_pkts": 0,
        "srtt_us": spread_of(30),
        "min_rtt_us": 9,
        "sizes": sizes,
        "intervals": [],
    }
    made.flows = [FlowRecord.model_validate(flow)]
    for host, name in zip(made.hosts, ("client", "server"), strict=True):
        host.name = name
    return made


def make_sweep_run(
    directory: Path, replicates: int = 5, trials: int | None = None, step: int = 100, noise: float = NOISE_US
) -> Run:
    """Makes a run in a new directory."""
    return make_run(
        directory,
        replicates=replicates,
        trials=trials,
        maker=lambda trial: sweep_record(trial, step, noise),
        study=load("mtu-packet-size"),
    )
