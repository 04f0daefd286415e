"""Compares the simulator with Linux's own TCP/IP in virtual time: goodput, round-trip time under load,
retransmissions, congestion marks and fairness in the cases of `benches/agreement.yaml`.

    python -m benches.simulator_against_virtual [CASE ...]
    python -m benches.simulator_against_virtual --record

Runs each case, or each CASE, in the simulator with each seed of the figures that the kernel gave, which are
in `benches/agreement_kernel.jsonl`, and compares both. With `--record` each case runs in virtual time first,
two trials at a time, which writes that file and needs a kernel: with `SEEDS`, and also with `MORE_SEEDS` if
`SEEDS` leave a figure of the case open. Prints a table in Markdown: the means of both, and the mean
difference of the simulator from the kernel with the half-width of its interval, in bold if it is beyond its
bound and in italics if it is open (see `Verdict`). Both backends are deterministic, so another run prints the
same table. Standard error has the number of figures with each verdict, and those that are beyond and not
stated (`STATED`), with which the exit status is 1."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import product
from pathlib import Path
from statistics import fmean

from benches.simulator_against_lab import Comparison
from nettrial.analysis import mean_interval
from nettrial.backends import BACKENDS, Backend, Configuration
from nettrial.metrics import METRICS

SEEDS = range(5)
"""The seeds of each case's trials: of flows' starts, impairments, and the kernel's random numbers."""
MORE_SEEDS = range(SEEDS.stop, 25)
"""Further seeds for a case with an open figure."""
AT_ONCE = 2
"""The number of trials in virtual time that run at the same time."""


@dataclass(frozen=True)
class Bound:
    """The largest difference of the simulator from the kernel that counts as agreement."""

    share: float = 0.0
    """The difference as a share of the kernel's figure."""
    absolute: float = 0.0
    """The difference in the figure's unit, if that is more."""
    if_any: bool = False
    """True if a case does not have the response where it is 0 on both sides with every seed."""

    def of(self, kernel: float) -> float:
        """Returns the largest difference from a figure of the kernel."""
        return max(self.share * abs(kernel), self.absolute) + 1e-9


BOUNDS = {
    "goodput": Bound(share=0.005),
    "rtt": Bound(share=0.02),
    "retransmissions": Bound(share=0.05, absolute=2.0),
    "marks": Bound(share=0.05, absolute=2.0, if_any=True),
    "fairness": Bound(absolute=0.01),
}
"""The bounds of each response. Two packets are one drop more or less at the two queues of a path."""
ABSENT = " |  | "
"""The cells of a response that a case does not have."""
HEAD = (
    "| case | goodput: virtual | sim | | round trip: virtual | sim | | resent: virtual | sim | "
    "| marked: virtual | sim | | Jain: virtual | sim | |\n" + "|" + " --- |" * 16
)
"""The head of the table."""
AGREEMENT = Comparison(str(Path(__file__).with_name("agreement.yaml")), {})
"""The cases."""
RECORDED = Path(__file__).with_name("agreement_kernel.jsonl")
"""The file with the kernel's figures: a line about the kernel, and one for each trial."""
STATED: Mapping[tuple[str, str], str] = {
    (
        "MPTCP failover",
        "goodput",
    ): "whether the first two timeouts of the connection repeat all that was in flight",
    (
        "32 flows",
        "fairness",
    ): "these seeds of the kernel: 0.874 ± 0.013 of 120, and 0.892 ± 0.010 of 200 simulated",
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


Values = dict[str, float]
"""The value of each response in a trial, without responses that it does not have."""


def values(backend: Backend, case: str, seed: int) -> Values:
    """Runs a trial of a case with a seed, and returns its values. Raises TrialFailed."""
    record, study = AGREEMENT.trial(backend, case, seed), AGREEMENT.study
    read = {
        response.name: METRICS[response.metric].combined(
            record, study.group(AGREEMENT.cases[case], response.of)
        )
        for response in study.responses
        if response.name in BOUNDS
    }
    return {name: value for name, value in read.items() if not isinstance(value, str)}


def figures(kernel: Sequence[Values], simulated: Sequence[Values]) -> list[Figure]:
    """Returns the figures of a case from its trials on both sides, without responses that too few seeds have
    on both: a probe whose packets are lost has no round-trip time."""
    made = []
    for name, bound in BOUNDS.items():
        pairs = [
            (there[name], here[name])
            for there, here in zip(kernel, simulated, strict=True)
            if name in there and name in here
        ]
        if len(pairs) >= min(len(SEEDS), len(kernel)) and not (
            bound.if_any and all(pair == (0, 0) for pair in pairs)
        ):
            made.append(Figure(name, *map(list, zip(*pairs, strict=True))))
    return made


@dataclass(frozen=True)
class Recorded:
    """The content of `RECORDED`."""

    kernel: str
    """The kernel's name, release and version."""
    trials: Mapping[str, Sequence[Values]]
    """The values of each case, in the order of the seeds."""


@cache
def recorded() -> Recorded:
    """Reads `RECORDED`."""
    about, *lines = map(json.loads, RECORDED.read_text().splitlines())
    trials: dict[str, list[Values]] = {}
    for line in lines:
        trials.setdefault(line["case"], []).append(line["values"])
    return Recorded(about["kernel"], trials)


def judge(simulator: Backend, case: str) -> list[Figure]:
    """Runs a case in the simulator, and returns its figures beside the kernel's. Raises TrialFailed."""
    return beside(recorded().trials[case], simulator, case)


def beside(kernel: Sequence[Values], simulator: Backend, case: str) -> list[Figure]:
    """Runs a case in the simulator with as many seeds as the kernel has trials, and returns the figures of
    both. Raises TrialFailed."""
    return figures(kernel, [values(simulator, case, seed) for seed in range(len(kernel))])


def is_open(of_case: Sequence[Figure]) -> bool:
    """Returns whether more seeds are needed to judge a figure of a case."""
    return any(figure.verdict is Verdict.OPEN for figure in of_case)


def record() -> None:
    """Runs all cases in virtual time, and writes `RECORDED`. Raises TrialFailed."""
    with ExitStack() as stack, ThreadPoolExecutor(AT_ONCE) as pool:
        kernels = [stack.enter_context(BACKENDS["virtual"].start(Configuration())) for _ in range(AT_ONCE)]
        environment = kernels[0].preflight().environment

        def one(trial: tuple[str, int]) -> Values:
            kernel = kernels.pop()
            try:
                return values(kernel, *trial)
            finally:
                kernels.append(kernel)

        def run(cases: Iterable[str], seeds: range) -> None:
            work = list(product(cases, seeds))
            for (case, _), of_trial in zip(work, pool.map(one, work), strict=True):
                trials[case].append(of_trial)

        trials: dict[str, list[Values]] = {case: [] for case in AGREEMENT.cases}
        run(trials, SEEDS)
        simulator = stack.enter_context(Backend("sim"))
        run([case for case in trials if is_open(beside(trials[case], simulator, case))], MORE_SEEDS)
    about = {"kernel": environment.kernel, "engine": environment.engine_version}
    lines = [
        {"case": case, "seed": seed, "values": of_trial}
        for case, of_case in trials.items()
        for seed, of_trial in enumerate(of_case)
    ]
    RECORDED.write_text("".join(json.dumps(line) + "\n" for line in [about, *lines]))


def main() -> int:
    """Compares, prints the table, and returns the exit status."""
    asked = sys.argv[1:]
    if asked == ["--record"]:
        record()
        asked = []
    verdicts: list[Verdict] = []
    missed: list[str] = []
    print(HEAD)
    with Backend("sim") as simulator:
        for case in asked or AGREEMENT.cases:
            of_case = {figure.response: figure for figure in judge(simulator, case)}
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
