"""The simulator beside the lab: goodput, round-trip time under load and fairness, by `simulator-agreement`.

    python benches/simulator_against_lab.py [REPEATS]

Each case REPEATS times (default 5) in the lab, in blocks, and with as many seeds in the simulator. Prints a
table in Markdown: means with half of their 95% intervals (Student's t), and how far the simulator is from the
lab, whose round-trip times have the time of the probe's own frames added (see `frames_ms`). It exits with 1
where that is more than WITHIN.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from statistics import fmean

import networkx as nx

from nettrial.analysis import mean_interval
from nettrial.backends import Backend
from nettrial.capabilities import CAPABILITIES
from nettrial.design import scenario_of, traffic_seconds, treatments
from nettrial.metrics import METRICS
from nettrial.scenario import Record
from nettrial.study import load
from nettrial.units import RATE

STUDY = load("simulator-agreement")
CASES = {each.levels["case"]: each.levels for each in treatments(STUDY)}
WITHIN = {"goodput": 0.03, "rtt": 0.10, "fairness": 0.05}
"""Bounds by response on the distance between simulator and lab: a difference for fairness, else a ratio."""
GRACE_SECONDS = 60.0
"""Seconds that a trial may take beyond its traffic."""

Figures = Mapping[str, Sequence[float]]
"""The values of each response."""


PROBE_PAYLOAD_BYTES = 64
"""IP bytes of the study's probe, there and back."""
HEADERS_BYTES = {4: 20 + 8, 6: 40 + 8}
"""IP and UDP, by the version of IP."""
ETHERNET_BYTES = 38
"""Bytes that Ethernet adds to an IP packet: header 14, frame check sequence 4, preamble 8, gap 12."""


def frames_ms(case: str) -> float:
    """Returns the transmission time of the probe's two frames on all links of the path, in milliseconds.

    The lab's shaper hands a frame over when its transmission may begin, a wire when its last bit has come. So
    a round-trip time of the lab's lacks this much: the frame's bits over the rate, for each link with one."""
    scenario = scenario_of(STUDY, CASES[case])
    probe = next(flow for flow in scenario.workload if flow.name == "probe")
    graph = nx.Graph()
    for link in scenario.links:
        near, far = (end.node for end in link.ends)
        graph.add_edge(near, far, rate=link.rate and RATE.parse(link.rate.root))
    path = nx.shortest_path(graph, probe.from_, probe.to)
    rates = [graph.edges[step]["rate"] for step in nx.utils.pairwise(path)]
    bits = 8 * (PROBE_PAYLOAD_BYTES + HEADERS_BYTES[probe.ip.root] + ETHERNET_BYTES)
    return float(2 * sum(bits / rate for rate in rates if rate) * 1e3)


def trial(backend: Backend, case: str, seed: int) -> Record:
    """One trial of a case; `seed` is that of the run. Raises TrialFailed."""
    scenario = scenario_of(STUDY.on(backend.name), CASES[case], seed=seed)
    grace = None if CAPABILITIES[backend.name].simulated_time else traffic_seconds(scenario) + GRACE_SECONDS
    return backend.run(case, scenario, grace)


def figures(case: str, records: Sequence[Record]) -> dict[str, list[float]]:
    """The values of each response in trials of a case, the lab's round-trip time with `frames_ms`.

    Raises ValueError where one is absent."""
    found: dict[str, list[float]] = {response.name: [] for response in STUDY.responses}
    for record in records:
        for response in STUDY.responses:
            value = METRICS[response.metric].combined(record, STUDY.group(CASES[case], response.of))
            if isinstance(value, str):
                raise ValueError(f"{case}: {response.name} is absent: {value}")
            left_out = frames_ms(case) if (record.backend, response.name) == ("lab", "rtt") else 0.0
            found[response.name].append(value + left_out)
    return found


def off(response: str, measured: Figures, simulated: Figures) -> float:
    """Returns the distance of the simulator's mean from the lab's, in the terms of `WITHIN`."""
    there, here = fmean(measured[response]), fmean(simulated[response])
    return here - there if response == "fairness" else here / there - 1


def main() -> int:
    """Measures, prints, and gives the exit status."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    records: dict[tuple[str, str], list[Record]] = {}
    with Backend("lab") as lab, Backend("sim") as simulator:
        for block in range(repeats):
            for case in CASES:
                for backend in (lab, simulator):
                    records.setdefault((backend.name, case), []).append(trial(backend, case, block))
            print(f"{block + 1} of {repeats} blocks", file=sys.stderr)
    print("| case | response | lab | simulator | difference | |\n| --- | --- | --- | --- | --- | --- |")
    missed = False
    for case in CASES:
        measured, simulated = (figures(case, records[name, case]) for name in ("lab", "sim"))
        for response, bound in WITHIN.items():
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
