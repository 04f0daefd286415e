"""The simulator gives what Linux's own TCP/IP gives, within what the documentation says, or says why not."""

import re
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import pytest

from nettrial.backends import Backend
from nettrial.design import scenario_of, traffic_seconds, treatments
from nettrial.metrics import METRICS
from nettrial.scenario import Record
from nettrial.study import load

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "simulator-against-lab.md"
STUDY = load("simulator-agreement")
CASES = {each.levels["case"]: each.levels for each in treatments(STUDY)}
WITHIN = {"goodput": 0.03, "rtt": 0.10, "fairness": 0.05}
"""By response: how far the simulator may be from the lab, of fairness as a difference, else as a ratio."""
SEEDS = 3
"""Simulated trials of each case, whose mean is compared: they cost next to nothing."""


def explained() -> set[tuple[str, str]]:
    """Cases with their responses that the page names, as `- **CASE, RESPONSE**: why`."""
    found = re.findall(r"^- \*\*(.+), (\w+)\*\*:", PAGE.read_text(), re.M)
    return {(case, response) for case, response in found}


@pytest.fixture(scope="module")
def simulator() -> Iterator[Backend]:
    """The simulator, which runs anywhere."""
    with Backend("sim") as backend:
        assert backend.preflight().missing == []
        yield backend


def figures(case: str, record: Record) -> dict[str, float]:
    """Each response of a trial of the case."""
    found = {}
    for response in STUDY.responses:
        names = STUDY.group(CASES[case], response.of)
        value = METRICS[response.metric].combined(record, names)
        assert not isinstance(value, str), f"{case}: {response.name} is absent: {value}"
        found[response.name] = value
    return found


def simulated(case: str, simulator: Backend) -> dict[str, float]:
    """The mean of some seeds."""
    study = STUDY.on("sim")
    records = [simulator.run("test", scenario_of(study, CASES[case], 1, seed), 60) for seed in range(SEEDS)]
    found = [figures(case, record) for record in records]
    return {name: fmean(each[name] for each in found) for name in found[0]}


def test_what_is_explained_is_a_case() -> None:
    assert explained() <= {(case, response) for case in CASES for response in WITHIN}


@pytest.mark.parametrize("case", CASES)
def test_the_simulator_agrees_with_the_lab(case: str, lab: Backend, simulator: Backend) -> None:
    scenario = scenario_of(STUDY, CASES[case])
    there = lab.preflight(thorough=True).environment.congestion_controls
    controls = {node.stack.congestion_control for node in scenario.nodes if node.stack}
    if not controls <= set(there):
        pytest.skip(f"congestion controls that can't be loaded here: {', '.join(controls - set(there))}")
    measured = figures(case, lab.run("test", scenario, traffic_seconds(scenario) + 60))
    found = simulated(case, simulator)
    for response, bound in WITHIN.items():
        difference = abs(found[response] - measured[response])
        off = difference if response == "fairness" else difference / measured[response]
        said = f"{response}: {measured[response]:.4g} in the lab, {found[response]:.4g} simulated"
        if (case, response) not in explained():
            assert off <= bound, said
