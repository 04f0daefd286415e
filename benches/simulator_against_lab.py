"""The simulator beside the lab: goodput, round-trip time under load and fairness, by `simulator-agreement`.

    python benches/simulator_against_lab.py [REPEATS]

Each case REPEATS times (default 5) in the lab, in blocks, and with as many seeds in the simulator. Prints a
table in Markdown: means with half of their 95% intervals (Student's t), and how far the simulator is from the
lab. It exits with 1 where that is more than WITHIN and docs/explanation/simulator-against-lab.md does not
explain it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from nettrial.analysis import mean_interval
from nettrial.backends import Backend
from nettrial.design import scenario_of, traffic_seconds, treatments
from nettrial.metrics import METRICS
from nettrial.scenario import Record
from nettrial.study import SIMULATOR, load

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "simulator-against-lab.md"
STUDY = load("simulator-agreement")
CASES = {each.levels["case"]: each.levels for each in treatments(STUDY)}
WITHIN = {"goodput": 0.03, "rtt": 0.10, "fairness": 0.05}
"""By response: how far the simulator may be from the lab, of fairness as a difference, else as a ratio."""
GRACE_SECONDS = 60.0
"""What a trial may take beyond its traffic."""

Figures = Mapping[str, Sequence[float]]
"""The values of each response."""


def explained() -> set[tuple[str, str]]:
    """Cases with the responses in which they differ, as the page has them: `- **CASE, RESPONSE**: why`."""
    found = re.findall(r"^- \*\*(.+), (\w+)\*\*:", PAGE.read_text(), re.M)
    return {(case, response) for case, response in found}


def trial(backend: Backend, case: str, seed: int) -> Record:
    """One trial of a case; `seed` is that of the run. Raises TrialFailed."""
    scenario = scenario_of(STUDY.on(backend.name), CASES[case], seed=seed)
    grace = None if backend.name == SIMULATOR else traffic_seconds(scenario) + GRACE_SECONDS
    return backend.run(case, scenario, grace)


def figures(case: str, records: Sequence[Record]) -> dict[str, list[float]]:
    """The values of each response in trials of a case; raises ValueError where one is absent."""
    found: dict[str, list[float]] = {response.name: [] for response in STUDY.responses}
    for record in records:
        for response in STUDY.responses:
            value = METRICS[response.metric].combined(record, STUDY.group(CASES[case], response.of))
            if isinstance(value, str):
                raise ValueError(f"{case}: {response.name} is absent: {value}")
            found[response.name].append(value)
    return found


def off(response: str, measured: Figures, simulated: Figures) -> float:
    """How far the simulator's mean is from the lab's, in the terms of `WITHIN`."""
    there, here = fmean(measured[response]), fmean(simulated[response])
    return here - there if response == "fairness" else here / there - 1


def main() -> int:
    """Measures, prints, and gives the exit status."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    records: dict[tuple[str, str], list[Record]] = {}
    with Backend("lab") as lab, Backend(SIMULATOR) as simulator:
        for block in range(repeats):
            for case in CASES:
                for backend in (lab, simulator):
                    records.setdefault((backend.name, case), []).append(trial(backend, case, block))
            print(f"{block + 1} of {repeats} blocks", file=sys.stderr)
    print("| case | response | lab | simulator | difference | |\n| --- | --- | --- | --- | --- | --- |")
    missed = False
    for case in CASES:
        measured, simulated = (figures(case, records[name, case]) for name in ("lab", SIMULATOR))
        for response, bound in WITHIN.items():
            difference = off(response, measured, simulated)
            said = f"{difference:+.3f}" if response == "fairness" else f"{100 * difference:+.1f}%"
            beyond = abs(difference) > bound
            why = "" if not beyond else "explained" if (case, response) in explained() else "**beyond**"
            missed |= why == "**beyond**"
            cells = [_cell(values[response]) for values in (measured, simulated)]
            print(f"| {case} | {response} | {cells[0]} | {cells[1]} | {said} | {why} |")
    return 1 if missed else 0


def _cell(values: Sequence[float]) -> str:
    interval = mean_interval(values)
    half = f" ± {(interval.high - interval.low) / 2:.2g}" if interval else ""
    return f"{fmean(values):.4g}{half}"


if __name__ == "__main__":
    sys.exit(main())
