"""Compares the simulator with Linux's own TCP/IP in virtual time: goodput, round-trip time under load,
retransmissions and fairness in the cases of `benches/agreement.yaml`.

    python -m benches.simulator_against_virtual [CASE ...]

Runs each case, or each CASE, on both backends with each of `SEEDS`, two trials at a time, and prints a table
in Markdown: the means of both, and the mean difference of the simulator from the kernel with the half-width
of its interval, in bold if it is beyond its bound and in italics if it is open (see `Verdict`). Both backends
are deterministic, so another run with the same kernel prints the same table. Standard error has the number of
figures with each verdict, and those that are beyond and not stated (`STATED`), with which the exit status is
1."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from pathlib import Path
from statistics import fmean

from benches.simulator_against_lab import Comparison
from nettrial.analysis import mean_interval
from nettrial.backends import BACKENDS, Backend, Configuration
from nettrial.metrics import METRICS

SEEDS = range(5)
"""The seeds of each case's trials: of flows' starts, impairments, and the kernel's random numbers."""
AT_ONCE = 2
"""The number of trials that run at the same time."""


@dataclass(frozen=True)
class Bound:
    """The largest difference of the simulator from the kernel that counts as agreement."""

    share: float = 0.0
    """The difference as a share of the kernel's figure."""
    absolute: float = 0.0
    """The difference in the figure's unit, if that is more."""

    def of(self, kernel: float) -> float:
        """Returns the largest difference from a figure of the kernel."""
        return max(self.share * abs(kernel), self.absolute) + 1e-9


BOUNDS = {
    "goodput": Bound(share=0.005),
    "rtt": Bound(share=0.02),
    "retransmissions": Bound(share=0.05, absolute=2.0),
    "fairness": Bound(absolute=0.01),
}
"""The bounds of each response. Two packets are one drop more or less at the two queues of a path."""
ABSENT = " |  | "
"""The cells of a response that a case does not have."""
HEAD = (
    "| case | goodput: virtual | sim | | round trip: virtual | sim | | resent: virtual | sim | "
    "| Jain: virtual | sim | |\n" + "|" + " --- |" * 13
)
"""The head of the table."""
AGREEMENT = Comparison(str(Path(__file__).with_name("agreement.yaml")), {})
"""The cases."""
ROUND = "the kernel takes the path for full a round earlier (bbr_check_full_bw_reached): cause not found"
SCHEDULER = "another scheduler than mptcp_subflow_get_send"
MEMORY = "a segment of the kernel takes 128 bytes more since it has tunnels (MAX_HEADER)"
FLOW_BY_FLOW = "CoDel judges each flow by its own bytes, and not by those of all flows (fq_codel_dequeue)"
STATED: Mapping[tuple[str, str], str] = {
    ("1 Gbit/s", "rtt"): MEMORY,
    ("window 32 KiB 5 ms", "goodput"): MEMORY,
    ("stack of 64 KiB", "goodput"): MEMORY,
    ("stack of 64 KiB", "rtt"): MEMORY,
    ("classic stack", "rtt"): MEMORY,
    ("transfers of 300 kB", "rtt"): MEMORY,
    ("BBR", "retransmissions"): ROUND,
    ("8 flows FQ-CoDel", "retransmissions"): FLOW_BY_FLOW,
    ("MPTCP LIA", "retransmissions"): SCHEDULER,
    ("MPTCP OLIA", "retransmissions"): SCHEDULER,
    ("MPTCP BALIA", "retransmissions"): SCHEDULER,
    ("MPTCP wVegas", "rtt"): SCHEDULER,
    ("MPTCP failover", "goodput"): SCHEDULER,
    ("MPTCP failover", "retransmissions"): SCHEDULER,
}
"""The differences beyond a bound, by case and response, with what is known of their causes."""


class Verdict(StrEnum):
    """A result about a response, from the trials of a case."""

    AGREES = "agree"
    """The mean difference is within the bound."""
    OPEN = "are open"
    """The mean difference exceeds the bound, but may do so by chance: its interval reaches the bound."""
    BEYOND = "are beyond"
    """All of the interval is outside the bound."""


MARKS = {Verdict.AGREES: "", Verdict.OPEN: "*", Verdict.BEYOND: "**"}
"""The mark of a difference with each verdict in the table."""


@dataclass(frozen=True)
class Figure:
    """A response of a case: its values by seed."""

    response: str
    """The response's name."""
    kernel: Sequence[float]
    """The kernel's values."""
    simulated: Sequence[float]
    """The simulator's values with the same seeds."""

    @property
    def difference(self) -> float:
        """The mean difference of the simulator from the kernel with the same seed."""
        return fmean(self._differences)

    @property
    def half_width(self) -> float:
        """Half of the width of the 95% interval of `difference` (Student's t); 0 for a single seed."""
        interval = mean_interval(self._differences)
        return (interval.high - interval.low) / 2 if interval else 0.0

    @property
    def verdict(self) -> Verdict:
        """The result of these values."""
        bound, distance = BOUNDS[self.response].of(fmean(self.kernel)), abs(self.difference)
        if distance <= bound:
            return Verdict.AGREES
        return Verdict.BEYOND if distance - self.half_width > bound else Verdict.OPEN

    @property
    def _differences(self) -> list[float]:
        return [here - there for there, here in zip(self.kernel, self.simulated, strict=True)]

    def __str__(self) -> str:
        there, here = fmean(self.kernel), fmean(self.simulated)
        if self.response == "fairness" or not there:
            said = f"{self.difference:+.3g} ± {self.half_width:.2g}"
        else:
            said = f"{100 * self.difference / there:+.2f} ± {100 * self.half_width / there:.2g}%"
        said = f"{MARKS[self.verdict]}{said}{MARKS[self.verdict]}".replace("-", "−")
        return f"{there:.4g} | {here:.4g} | {said}"


Values = dict[str, tuple[float, float]]
"""The kernel's and the simulator's value of each response in a trial on both."""
Place = tuple[Backend, Backend]
"""A backend in virtual time, and a simulator."""


def trial(case: str, seed: int, place: Place) -> Values:
    """Returns the kernel's and the simulator's value of each response in a case with a seed, without
    responses that it does not have. Raises TrialFailed."""
    records = [AGREEMENT.trial(backend, case, seed) for backend in place]
    values: Values = {}
    for response in AGREEMENT.study.responses:
        if response.name in BOUNDS:
            flows = AGREEMENT.study.group(AGREEMENT.cases[case], response.of)
            there, here = (METRICS[response.metric].combined(record, flows) for record in records)
            if not isinstance(there, str) and not isinstance(here, str):
                values[response.name] = (there, here)
    return values


def figures(trials: Sequence[Values]) -> list[Figure]:
    """Returns the figures of a case from its trials, without responses that not all of these have."""
    return [
        Figure(response, *zip(*(values[response] for values in trials), strict=True))
        for response in BOUNDS
        if all(response in values for values in trials)
    ]


def main() -> int:
    """Compares, prints the table, and returns the exit status."""
    cases = sys.argv[1:] or list(AGREEMENT.cases)
    verdicts: list[Verdict] = []
    missed: list[str] = []
    print(HEAD)
    with ExitStack() as stack, ThreadPoolExecutor(AT_ONCE) as pool:
        places: list[Place] = []
        for _ in range(AT_ONCE):
            kernel = stack.enter_context(BACKENDS["virtual"].start(Configuration()))
            places.append((kernel, stack.enter_context(Backend("sim"))))

        def one(work: tuple[str, int]) -> Values:
            place = places.pop()
            try:
                return trial(*work, place)
            finally:
                places.append(place)

        trials = pool.map(one, product(cases, SEEDS))
        for case in cases:
            of_case = {figure.response: figure for figure in figures([next(trials) for _ in SEEDS])}
            print(f"| {case} | {' | '.join(str(of_case.get(name, ABSENT)) for name in BOUNDS)} |", flush=True)
            verdicts += [figure.verdict for figure in of_case.values()]
            missed += [
                f"{case}, {name}: {figure}"
                for name, figure in of_case.items()
                if figure.verdict is Verdict.BEYOND and (case, name) not in STATED
            ]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in Verdict)
    print(f"of {len(verdicts)} figures {counts}", *missed, sep="\n", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
