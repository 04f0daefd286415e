"""Measures how much faster a trial of the simulator is in several threads than in one.

    python benches/parallel.py [SECONDS] [THREADS...]

Runs unprivileged, and needs a CPU for each thread that does nothing else. Each large fabric of
`benches/simulator.py` runs for SECONDS simulated seconds (default 1) in one thread and in each number of
THREADS (default: as many as there are CPUs) in turn, five times. Times are medians on the clock from the
request to the record, and ratios are those of each turn. The records have to be the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from statistics import median
from typing import Any

from benches.simulator import LARGE, large
from nettrial.backends.find import engine

REPEATS = 5


def run(scenario: dict[str, Any], threads: int) -> tuple[float, str]:
    """Returns the seconds of a trial in that many threads, and its record as text."""
    request = {"request": "run", "trial": "bench", "scenario": scenario, "threads": threads}
    command = [str(engine()), "sim"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        began = time.monotonic()
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        seconds = time.monotonic() - began
        process.stdin.close()
    if '"event":"record"' not in answer[:100]:
        sys.exit(answer[:1000])
    return seconds, answer


def main() -> None:
    """Prints the seconds in one thread and in several, and their ratios."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    numbers = [int(argument) for argument in sys.argv[2:]] or [len(os.sched_getaffinity(0))]
    for name, treatment in LARGE.items():
        scenario = large(treatment, seconds)
        rounds = [[run(scenario, threads) for threads in (1, *numbers)] for _ in range(REPEATS)]
        if len({record for each in rounds for _, record in each}) != 1:
            sys.exit(f"{name}: the records differ")
        print(f"{name}, {seconds} s: 1 thread {median(each[0][0] for each in rounds):.2f} s")
        for place, threads in enumerate(numbers, 1):
            ratios = [each[0][0] / each[place][0] for each in rounds]
            print(
                f"  {threads} threads {median(each[place][0] for each in rounds):.2f} s: {median(ratios):.2f}"
                f" times as fast ({min(ratios):.2f} to {max(ratios):.2f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
