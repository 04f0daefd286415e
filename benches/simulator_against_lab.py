"""Compares the simulator with the lab: goodput, round-trip time under load and fairness in
`simulator-agreement`.

    python benches/simulator_against_lab.py [REPEATS] [wires|radio] [CASE ...]

Runs each case, or each CASE, REPEATS times (default 5) in the lab, in blocks, and with as many seeds in the
simulator. The cases are those of `simulator-agreement`, or with `radio` those of
`benches/radio_agreement.yaml`. Prints a table in Markdown: means with the half-widths of their 95% intervals
(Student's t), and the difference of the simulator from the lab, whose round-trip times have the time of the
probe's own frames added (see `Comparison.frames_ms`). Exits with 1 if a difference exceeds the comparison's
bounds. Warnings of the lab's trials are printed on standard error."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

import networkx as nx

from nettrial.analysis import mean_interval
from nettrial.backends import Backend
from nettrial.capabilities import CAPABILITIES
from nettrial.design import scenario_of, traffic_seconds, treatments
from nettrial.metrics import METRICS
from nettrial.scenario import Record, Scenario
from nettrial.study import load
from nettrial.units import DURATION, RATE

GRACE_SECONDS = 60.0
"""The seconds that a trial may take in addition to its traffic."""

Figures = Mapping[str, Sequence[float]]
"""The values of each response."""


PROBE_PAYLOAD_BYTES = 64
"""The payload bytes of a study's probe, in both directions."""
HEADERS_BYTES = {4: 20 + 8, 6: 40 + 8}
"""The bytes of IP and UDP headers, by the version of IP."""
ETHERNET_BYTES = 38
"""The bytes that Ethernet adds to an IP packet: header 14, frame check sequence 4, preamble 8, gap 12."""


class Comparison:
    """The cases of a study that should agree on both backends."""

    def __init__(self, study: str, within: Mapping[str, float]) -> None:
        """`within` limits the distance between simulator and lab for each response: a difference for
        fairness, otherwise a ratio."""
        self.study = load(study)
        self.cases = {each.levels["case"]: each.levels for each in treatments(self.study)}
        self.within = within

    def frames_ms(self, case: str) -> float:
        """Returns the milliseconds of the probe's two frames on the links of the path without a delay.

        The lab's shaper delivers a frame when its transmission may begin, whereas a wire delivers it after
        its last bit. Round-trip times of the lab therefore lack this time: the frame's bits over the rate,
        for each link with a rate. A link with a delay and a radio channel deliver a frame after its last bit
        on both backends."""
        scenario = scenario_of(self.study, self.cases[case])
        probe = next(flow for flow in scenario.workload if flow.name == "probe")
        graph = nx.Graph()
        for link in scenario.links:
            first, *others = (end.node for end in link.ends)
            has_line = link.delay is not None and DURATION.parse(link.delay.root) > 0
            rate = RATE.parse(link.rate.root) if link.rate and not has_line else None
            graph.add_edges_from(((first, other) for other in others), rate=rate)
        path = nx.shortest_path(graph, probe.from_, probe.to)
        rates = [graph.edges[step]["rate"] for step in nx.utils.pairwise(path)]
        bits = 8 * (PROBE_PAYLOAD_BYTES + HEADERS_BYTES[probe.ip.root] + ETHERNET_BYTES)
        return float(2 * sum(bits / rate for rate in rates if rate) * 1e3)

    def scenario(self, case: str, seed: int, backend: str = "lab") -> Scenario:
        """Returns the scenario of a case with the seed of the run."""
        return scenario_of(self.study.on(backend), self.cases[case], seed=seed)

    def trial(self, backend: Backend, case: str, seed: int) -> Record:
        """Runs a trial of a case with the seed of the run. Raises TrialFailed."""
        scenario = self.scenario(case, seed, backend.name)
        is_simulated = CAPABILITIES[backend.name].simulated_time
        grace = None if is_simulated else traffic_seconds(scenario) + GRACE_SECONDS
        return backend.run(case, scenario, grace)

    def figures(self, case: str, records: Sequence[Record]) -> dict[str, list[float]]:
        """Returns the values of each response in trials of a case; the lab's round-trip time includes
        `frames_ms`.

        Raises ValueError if a value is absent."""
        values: dict[str, list[float]] = {response.name: [] for response in self.study.responses}
        for record in records:
            for response in self.study.responses:
                value = METRICS[response.metric].combined(
                    record, self.study.group(self.cases[case], response.of)
                )
                if isinstance(value, str):
                    raise ValueError(f"{case}: {response.name} is absent: {value}")
                is_short = (record.backend, response.name) == ("lab", "rtt")
                values[response.name].append(value + (self.frames_ms(case) if is_short else 0.0))
        return values


def off(response: str, measured: Figures, simulated: Figures) -> float:
    """Returns the distance of the simulator's mean from the lab's, as a ratio or a difference (see
    `Comparison`)."""
    there, here = fmean(measured[response]), fmean(simulated[response])
    return here - there if response == "fairness" else here / there - 1


WIRES = Comparison("simulator-agreement", {"goodput": 0.03, "rtt": 0.10, "fairness": 0.05})
RADIO = Comparison(str(Path(__file__).with_name("radio_agreement.yaml")), {"goodput": 0.05, "rtt": 0.15})
COMPARISONS = {"wires": WIRES, "radio": RADIO}
TOLD_LATE = "a sender of the lab is told that its packets have left after its station has contended again"
SPREAD = "its round-trip times vary too much from trial to trial for a few blocks"
BEYOND = {
    "TCP up 130": TOLD_LATE,
    "TCP up 65": TOLD_LATE,
    "TCP up 13": TOLD_LATE,
    "3 stations TCP up 65": SPREAD,
    "3 stations UDP up 65": SPREAD,
}
"""The cases of `RADIO` that are known to exceed the bounds, with the cause."""


def main() -> int:
    """Measures, prints the table, and returns the exit status."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    comparison = COMPARISONS[sys.argv[2] if len(sys.argv) > 2 else "wires"]
    cases = sys.argv[3:] or list(comparison.cases)
    records: dict[tuple[str, str], list[Record]] = {}
    with Backend("lab") as lab, Backend("sim") as simulator:
        for block in range(repeats):
            for case in cases:
                for backend in (lab, simulator):
                    record = comparison.trial(backend, case, block)
                    records.setdefault((backend.name, case), []).append(record)
                for warning in records["lab", case][-1].warnings:
                    print(f"{case}: {warning.code}: {warning.message}", file=sys.stderr)
            print(f"{block + 1} of {repeats} blocks", file=sys.stderr)
    print("| case | response | lab | simulator | difference | |\n| --- | --- | --- | --- | --- | --- |")
    missed = False
    for case in cases:
        measured, simulated = (comparison.figures(case, records[name, case]) for name in ("lab", "sim"))
        for response, bound in comparison.within.items():
            difference = off(response, measured, simulated)
            said = f"{difference:+.3f}" if response == "fairness" else f"{100 * difference:+.1f}%"
            beyond = abs(difference) > bound
            mark = "**beyond**" if beyond else ""
            missed |= beyond
            cells = [_cell(values[response]) for values in (measured, simulated)]
            print(f"| {case} | {response} | {cells[0]} | {cells[1]} | {said} | {mark} |")
    return 1 if missed else 0


def _cell(values: Sequence[float]) -> str:
    interval = mean_interval(values)
    half = f" ± {(interval.high - interval.low) / 2:.2g}" if interval else ""
    return f"{fmean(values):.4g}{half}"


if __name__ == "__main__":
    sys.exit(main())
