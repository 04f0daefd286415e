"""Compares the simulator with Linux's own TCP/IP in virtual time: goodput, round-trip time under load,
retransmissions and fairness in the cases of `benches/agreement.yaml`.

    python -m benches.simulator_against_virtual [CASE ...]

Runs each case, or each CASE, once on both backends with the same seed, two cases at a time, and prints a
table in Markdown: both figures, and the simulator's difference from the kernel's. Both backends are
deterministic, so another run prints the same table. Exits with 1 if a difference exceeds its bound (see
`BOUNDS`) and is not stated (`STATED`)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benches.simulator_against_lab import Comparison
from nettrial.backends import BACKENDS, Backend, Configuration
from nettrial.metrics import METRICS


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
FATES = "one frame more or less changes the fates of later ones: not compared over several seeds"
DRAWS = "with other random numbers the kernel agreed: not compared over several seeds"
TICKS = "the kernel rounds timers up (calc_wheel_index)"
WINDOW = "cause not found, seen as a receive window that grows earlier in the kernel (tcp_rcv_space_adjust)"
STARTS = "all flows begin at once in virtual time; whether that is all is not known"
BBR = "no bbr_lt_bw_sampling and bbr_packets_in_net_at_edt; whether that is all is not known"
PHASE = "cause not found, seen as probes that only come through an empty queue"
SCHEDULER = "another scheduler than mptcp_subflow_get_send"
STATED: Mapping[tuple[str, str], str] = {
    ("IPv6", "rtt"): DRAWS,
    ("200 Mbit/s", "retransmissions"): WINDOW,
    ("MTU 9000", "rtt"): TICKS,
    ("BBR", "retransmissions"): BBR,
    ("Vegas", "rtt"): WINDOW,
    ("CoDel", "rtt"): DRAWS,
    ("loss 1%", "goodput"): FATES,
    ("loss 1%", "retransmissions"): FATES,
    ("burst loss", "rtt"): FATES,
    ("duplication", "rtt"): FATES,
    ("duplication", "retransmissions"): FATES,
    ("reordering", "rtt"): FATES,
    ("reordering", "retransmissions"): FATES,
    ("8 flows", "retransmissions"): STARTS,
    ("32 flows", "retransmissions"): STARTS,
    ("32 flows", "fairness"): STARTS,
    ("both directions", "goodput"): STARTS,
    ("both directions", "rtt"): STARTS,
    ("both directions", "retransmissions"): STARTS,
    ("datagrams", "rtt"): PHASE,
    ("MPTCP OLIA", "rtt"): SCHEDULER,
    ("MPTCP wVegas", "rtt"): SCHEDULER,
    ("MPTCP failover", "goodput"): SCHEDULER,
    ("MPTCP failover", "rtt"): SCHEDULER,
}
"""The differences beyond a bound, by case and response, with what is known of their causes."""
AT_ONCE = 2
"""The number of cases that run at the same time."""

Figures = dict[str, tuple[float, float]]
"""The kernel's and the simulator's value of each response."""
Place = tuple[Backend, Backend]
"""A backend in virtual time, and a simulator."""


def compared(case: str, kernel: Backend, simulator: Backend) -> Figures:
    """Returns the kernel's and the simulator's value of each response in a case, without responses
    that the case does not have. Raises TrialFailed."""
    records = [AGREEMENT.trial(backend, case, 0) for backend in (kernel, simulator)]
    found: Figures = {}
    for response in AGREEMENT.study.responses:
        if response.name in BOUNDS:
            flows = AGREEMENT.study.group(AGREEMENT.cases[case], response.of)
            there, here = (METRICS[response.metric].combined(record, flows) for record in records)
            if not isinstance(there, str) and not isinstance(here, str):
                found[response.name] = (there, here)
    return found


def beyond(found: Figures) -> set[str]:
    """Returns the responses whose difference exceeds its bound."""
    return {response for response, pair in found.items() if not BOUNDS[response].holds(*pair)}


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
                is_beyond = response in beyond(found)
                missed |= is_beyond and cause is None
                mark = (f"beyond: {cause}" if cause else "**beyond**") if is_beyond else ""
                cells = f"{there:.4g} | {here:.4g} | {_said(there, here, response)}"
                print(f"| {case} | {response} | {cells} | {mark} |", flush=True)
    return 1 if missed else 0


def _said(kernel: float, simulated: float, response: str) -> str:
    if response == "fairness" or not kernel:
        return f"{simulated - kernel:+.3g}"
    return f"{100 * (simulated / kernel - 1):+.2f}%"


if __name__ == "__main__":
    sys.exit(main())
