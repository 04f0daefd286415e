"""Measures a large run: the bytes per trial in the run file, and the cost of its report, analysis and export.

    python benches/large_run.py [TRIALS [SAMPLES]]

Runs unprivileged and without an engine. TRIALS trials (default 10 000) of `jumbo-ipv6` are generated and
saved by the real store, one transaction each as in a run. They have the size of the lab's records without
time series: two flows, two hosts, four interfaces, the checks. Every figure has noise, so that it compresses
as badly as a measured one. With SAMPLES, there are that many samples of each flow's transport, too. One in
twenty trials has a warning. Then each of the following runs in its own process, and its CPU time and peak
memory are printed:

- `nettrial report`
- `nettrial export --to parquet`
- `nettrial.load`, then `.flows`, `.summary()` and `.compare()`
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from nettrial.design import PlannedTrial  # noqa: E402
from nettrial.files import RUN_FILE  # noqa: E402
from nettrial.scenario import Record  # noqa: E402
from tests.unit.synthetic import BUSY, make_run, record  # noqa: E402

TREATMENTS = 12
"""The number of treatments of the study jumbo-ipv6."""
LOAD = """
import nettrial
results = nettrial.load({run!r})
results.flows, results.summary(), results.compare()
"""


def noisy(value: Any, noise: random.Random, name: str = "") -> Any:
    """Returns a copy of a document in which every figure is slightly changed."""
    if isinstance(value, dict):
        return {key: noisy(part, noise, key) for key, part in value.items()}
    if isinstance(value, list):
        return [noisy(part, noise, name) for part in value]
    if isinstance(value, float):
        return value * noise.uniform(0.99, 1.01)
    if isinstance(value, int) and value > 100 and name.endswith(("_ns", "_pkts", "_bytes", "bytes")):
        return round(value * noise.uniform(0.99, 1.01))
    return value


def ends() -> list[dict[str, Any]]:
    """Returns the lab's counters of interfaces."""
    of = {"drops_pkts": 0, "frames_pkts": 180_000, "wire_bytes": 260_000_000}
    places = (("sender", "eth0"), ("router", "eth0"), ("router", "eth1"), ("receiver", "eth0"))
    return [{"node": node, "interface": interface, **of} for node, interface in places]


def checks() -> list[dict[str, Any]]:
    """Returns the lab's checks."""
    flows = [
        {"name": name, "object": flow, "expected": value, "found": value, "passed": True}
        for flow in ("transfer", "probe")
        for name, value in (
            ("congestion_control", "cubic"),
            ("mss", "1428"),
            ("tcp_options", "sack, timestamps"),
        )
    ]
    paths = [
        {"name": "path_mtu", "object": way, "expected": "1500 B", "found": "1500 B", "passed": True}
        for way in ("sender to receiver", "receiver to sender")
    ]
    return [*flows, *paths]


def samples(count: int) -> list[dict[str, Any]]:
    """Returns samples of a flow's transport, every 100 ms."""
    of = {"bytes": 11_000_000, "cwnd_pkts": 420, "delivery_rate_bps": 940_000_000, "srtt_us": 1600}
    rest = {"min_rtt_us": 90, "retransmissions_pkts": 0}
    return [{"at_ns": (at + 1) * 100_000_000, **of, **rest} for at in range(count)]


def maker(trial: PlannedTrial, count: int = 0) -> Record:
    """Returns the record of a trial, with `count` samples of each flow."""
    noise = random.Random(trial.number)
    busy = f"CPU 0 was busy {noise.uniform(95, 99):.1f} % of the time"
    warnings = [BUSY.model_copy(update={"message": busy})] if noise.random() < 0.05 else []
    made = noisy(record(trial, warnings).model_dump(by_alias=True, exclude_none=True), noise)
    for flow in made["flows"]:
        flow["intervals"] = noisy(samples(count), noise)
    return Record.model_validate({**made, "ends": noisy(ends(), noise), "checks": checks()})


def cost(name: str, command: list[str]) -> None:
    """Runs a command, and prints its times and its peak memory."""
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed: status {status}")
    took, busy = time.monotonic() - began, used.ru_utime + used.ru_stime
    peak = used.ru_maxrss / 1024
    print(f"{name:24} {busy:5.1f} s of CPU time, {took:5.1f} s, {peak:5.0f} MiB at most", flush=True)


def main() -> None:
    """Generates the run and measures it."""
    trials, count = (*map(int, sys.argv[1:]), *(10_000, 0)[len(sys.argv) - 1 :])
    with tempfile.TemporaryDirectory(prefix="nettrial-bench-") as folder:
        directory = Path(folder) / "run"
        blocks = -(-trials // TREATMENTS)
        began = time.monotonic()
        made = make_run(directory, replicates=blocks, maker=partial(maker, count=count), trials=trials)
        size = (directory / RUN_FILE).stat().st_size
        print(f"{trials} trials made in {time.monotonic() - began:.0f} s: {size / trials:.0f} bytes a trial")
        del made
        nettrial = [sys.executable, "-m", "nettrial.cli"]
        cost("load, summary, compare", [sys.executable, "-c", LOAD.format(run=str(directory))])
        cost("export", [*nettrial, "export", str(directory), "--to", "parquet", "--out", f"{folder}/out"])
        cost("report", [*nettrial, "report", str(directory)])


if __name__ == "__main__":
    main()
