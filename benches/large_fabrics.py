"""The fluid model of large fabrics: the time and memory that each step of a trial takes.

    python benches/large_fabrics.py [PORTS [FABRIC]]

Runs unprivileged. PORTS (34 by default) is that of the fat-tree whose equipment is used; FABRIC is a level of
the factor `fabric` of the study `jellyfish-supported-hosts` (by default, `fat-tree` and `Jellyfish +25%`).
Each host sends to another over MPTCP with eight subflows. Prints the CPU seconds of Python and of the engine,
and their peak memory.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from nettrial.backends import Backend
from nettrial.design import scenario_of
from nettrial.metrics import METRICS
from nettrial.store.recorder import pack
from nettrial.study import load

T = TypeVar("T")


def timed(what: str, does: Callable[[], T]) -> T:
    """Returns what `does` returns; prints the CPU time that it takes in this process."""
    began, busy = time.monotonic(), time.process_time()
    made = does()
    spent = time.process_time() - busy
    print(f"  {what:32} {spent:6.1f} s of CPU time, {time.monotonic() - began:6.1f} s", flush=True)
    return made


def main() -> None:
    """Runs a trial of each fabric."""
    ports = sys.argv[1] if len(sys.argv) > 1 else "34"
    chosen = sys.argv[2:] or ["fat-tree", "Jellyfish +25%"]
    study = load("jellyfish-supported-hosts")
    for fabric in chosen:
        treatment = {"ports": ports, "fabric": fabric}
        print(f"{fabric}, switches of {ports} ports")
        scenario = timed("scenario", lambda: scenario_of(study, treatment, 1, 1))  # noqa: B023
        hosts = sum(node.kind.root == "host" for node in scenario.nodes)
        print(f"  {hosts} hosts, {len(scenario.nodes)} nodes, {len(scenario.links)} links")
        with Backend("fluid") as backend:
            record = timed("the trial, seen from Python", lambda: backend.run("1", scenario, None))  # noqa: B023
        packed = timed("both documents compressed", lambda: len(pack(scenario)) + len(pack(record)))  # noqa: B023
        flows = [flow.name for flow in record.flows]
        mean = timed("mean goodput of a host", lambda: METRICS["goodput_per_host"].combined(record, flows))  # noqa: B023
        warnings = json.dumps([warning.code for warning in record.warnings])
        print(f"  {mean:.2f} Mbit/s a host, warnings {warnings}, {packed / 2**20:.0f} MiB in the run file")
        engine, here = (resource.getrusage(of) for of in (resource.RUSAGE_CHILDREN, resource.RUSAGE_SELF))
        print(f"  engines so far: {engine.ru_utime + engine.ru_stime:.1f} s of CPU time")
        peaks = f"engine {engine.ru_maxrss / 1024:.0f}, Python {here.ru_maxrss / 1024:.0f} MiB"
        print(f"  peak memory so far: {peaks}")


if __name__ == "__main__":
    main()
