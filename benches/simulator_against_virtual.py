"""Compares the simulator with Linux's own TCP/IP in virtual time: goodput, round-trip time under load,
retransmissions and fairness in the cases of `benches/agreement.yaml`.

    python -m benches.simulator_against_virtual [CASE ...]

Runs each case, or each CASE, once on both backends with the same seed, two cases at a time, and prints a
table in Markdown: both figures, and the simulator's difference from the kernel's. Both backends are
deterministic, so another run prints the same table. Exits with 1 if a difference exceeds its bound (see
`BOUNDS`) and is not among those whose cause is known (`STATED`)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benches.simulator_against_lab import Comparison
from nettrial.backends import BACKENDS, Backend, Configuration


@dataclass(frozen=True)
class Bound:
    """The largest difference of the simulator from the kernel that counts as agreement."""

    share: float = 0.0
    """The difference as a share of the kernel's figure."""
    absolute: float = 0.0
    """The difference in the figure's unit, if that is more."""

    def holds(self, kernel: float, simulated: float) -> bool:
        """Returns whether a simulated figure agrees with the kernel's."""
        return abs(simulated - kernel) <= max(self.share * abs(kernel), self.absolute) + 1e-9


BOUNDS = {
    "goodput": Bound(share=0.005),
    "rtt": Bound(share=0.02),
    "retransmissions": Bound(share=0.05, absolute=2.0),
    "fairness": Bound(absolute=0.01),
}
"""The bounds of each response. Two packets are one drop more or less at the two queues of a path."""
AGREEMENT = Comparison(str(Path(__file__).with_name("agreement.yaml")), {})
"""The cases."""
STATED: Mapping[tuple[str, str], str] = {}
"""The differences beyond a bound, by case and response, with their causes."""
AT_ONCE = 2
"""The number of cases that run at the same time."""

Figures = dict[str, tuple[float, float]]
"""The kernel's and the simulator's value of each response."""
Place = tuple[Backend, Backend]
"""A backend in virtual time, and a simulator."""


def compared(case: str, kernel: Backend, simulator: Backend) -> Figures:
    """Returns the kernel's and the simulator's value of each response in a case. Raises TrialFailed."""
    found = [AGREEMENT.figures(case, [AGREEMENT.trial(backend, case, 0)]) for backend in (kernel, simulator)]
    return {response: (found[0][response][0], found[1][response][0]) for response in BOUNDS}


def main() -> int:
    """Compares, prints the table, and returns the exit status."""
    cases = sys.argv[1:] or list(AGREEMENT.cases)
    missed = False
    print("| case | response | virtual | sim | difference | |\n| --- | --- | --- | --- | --- | --- |")
    with ExitStack() as stack, ThreadPoolExecutor(AT_ONCE) as pool:
        places: list[Place] = []
        for _ in range(AT_ONCE):
            kernel = stack.enter_context(BACKENDS["virtual"].start(Configuration()))
            places.append((kernel, stack.enter_context(Backend("sim"))))

        def one(case: str) -> Figures:
            place = places.pop()
            try:
                return compared(case, *place)
            finally:
                places.append(place)

        for case, found in zip(cases, pool.map(one, cases), strict=True):
            for response, (there, here) in found.items():
                cause = STATED.get((case, response))
                beyond = not BOUNDS[response].holds(there, here)
                missed |= beyond and cause is None
                mark = (f"beyond: {cause}" if cause else "**beyond**") if beyond else ""
                cells = f"{there:.4g} | {here:.4g} | {_said(there, here, response)}"
                print(f"| {case} | {response} | {cells} | {mark} |", flush=True)
    return 1 if missed else 0


def _said(kernel: float, simulated: float, response: str) -> str:
    if response == "fairness" or not kernel:
        return f"{simulated - kernel:+.3g}"
    return f"{100 * (simulated / kernel - 1):+.2f}%"


if __name__ == "__main__":
    sys.exit(main())
