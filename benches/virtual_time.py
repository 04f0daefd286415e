"""Measures the CPU time of trials in virtual time: of their beginning and end, and of each packet-hop.

    python benches/virtual_time.py [REPEATS]

Runs unprivileged, with the kernel in virtual time that nettrial finds. Each trial runs REPEATS times (default
5) in an engine of its own, and the medians are printed. Seconds are CPU seconds of the engine, the kernel and
its processes, from the start of the engine to its end, so that other work on the machine hardly matters. A
packet-hop is a frame that an interface has sent.

The trials are `jumbo-ipv6` (1500 bytes, IPv4, 1 Gbit/s, two links) and `jellyfish-mptcp` (LIA, 25 switches,
1 Gbit/s), each with transfers as short as possible, and with longer ones. The difference of the two is what
packet-hops cost. Even the shortest transfer still sends what its sender has written ahead."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benches.engine import in_virtual_time  # noqa: E402
from nettrial.design import scenario_of  # noqa: E402
from nettrial.study import load  # noqa: E402

SHORTEST = "1 ms"
PATH = {"sender": "linux-cubic", "receiver": "linux-cubic", "mtu": "1500", "network.ip": "4"}
PATH_TIMES = ("workload.transfer.traffic.duration", "workload.probe.traffic.duration")
FABRIC = {"rate": "1 Gbit/s", "switches": "25", "control": "lia"}
FABRIC_TIMES = ("workload.incast.traffic.duration",)


def scenario(study: str, settings: dict[str, str], times: tuple[str, ...], duration: str) -> dict[str, Any]:
    """Returns the scenario of a study with these settings, whose flows in `times` last for `duration`."""
    changed = load(study).with_overrides(settings | dict.fromkeys(times, duration))
    levels = {name: factor.levels[0] for name, factor in changed.factors.items()}
    return scenario_of(changed, levels).model_dump(mode="json", by_alias=True, exclude_none=True)


def main() -> None:
    """Measures both studies, and prints a table."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    print("| trial | CPU seconds | packet-hops | packet-hops per CPU second beyond the shortest |")
    print("| --- | --- | --- | --- |")
    for study, settings, times, duration in (
        ("jumbo-ipv6", PATH, PATH_TIMES, "2 s"),
        ("jellyfish-mptcp", FABRIC, FABRIC_TIMES, "300 ms"),
    ):
        measured = []
        for given in (SHORTEST, duration):
            trials = [in_virtual_time(scenario(study, settings, times, given)) for _ in range(repeats)]
            frames = {trial.frames for trial in trials}
            assert len(frames) == 1, f"{study} is not deterministic: {frames}"
            measured.append((statistics.median(trial.cpu_seconds for trial in trials), frames.pop()))
        (least, few), (seconds, many) = measured
        print(f"| {study}, {SHORTEST} | {least:.2f} | {few:,} | |")
        print(f"| {study}, {duration} | {seconds:.2f} | {many:,} | {(many - few) / (seconds - least):,.0f} |")


if __name__ == "__main__":
    main()
