"""Measures how much faster a trial of the simulator is in several threads than in one.

    python benches/parallel.py [SECONDS] [THREADS...]

Runs unprivileged, and needs a CPU for each thread that does nothing else. Each large fabric of
`benches/simulator.py` runs for SECONDS simulated seconds (default 1) in one thread and in each number of
THREADS (default: as many as there are CPUs) in turn, five times. Times are medians on the clock from the
request to the record, and ratios are those of each turn. The records have to be the same."""

from __future__ import annotations

import os
import sys
from statistics import median

from benches.engine import simulated
from benches.simulator import LARGE, large

REPEATS = 5


def main() -> None:
    """Prints the seconds in one thread and in several, and their ratios."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    numbers = [int(argument) for argument in sys.argv[2:]] or [len(os.sched_getaffinity(0))]
    for name, treatment in LARGE.items():
        scenario = large(treatment, seconds)
        rounds = [[simulated(scenario, threads=threads) for threads in (1, *numbers)] for _ in range(REPEATS)]
        if len({trial.answer for each in rounds for trial in each}) != 1:
            sys.exit(f"{name}: the records differ")
        print(f"{name}, {seconds} s: 1 thread {median(each[0].seconds for each in rounds):.2f} s")
        for place, threads in enumerate(numbers, 1):
            ratios = [each[0].seconds / each[place].seconds for each in rounds]
            print(
                f"  {threads} threads {median(each[place].seconds for each in rounds):.2f} s:"
                f" {median(ratios):.2f} times as fast ({min(ratios):.2f} to {max(ratios):.2f})",
                flush=True,
            )


if __name__ == "__main__":
    main()
