"""The verdict on a change, which every output takes from one function."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import nettrial
from nettrial.analysis import Change, Interval, Merit, merit
from nettrial.report import change_words
from nettrial.store import Run
from tests.unit.synthetic import make_run

PACKAGE = Path(nettrial.__file__).parent


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("verdicts") / "run", 2)


def _change(low: float, high: float) -> Change:
    return Change((low + high) / 2, Interval(low, high), 5, None, simultaneous=Interval(low, high))


@pytest.mark.parametrize(
    ("low", "high", "higher", "lower"),
    [
        (2, 3, "better", "worse"),
        (-3, -2, "worse", "better"),
        (0.5, 1.5, "better", "worse"),
        (0.2, 0.9, "small", "small"),
        (-0.9, 0.9, "small", "small"),
        (-0.5, 1.5, "none", "none"),
    ],
)
def test_a_change_is_judged_by_its_interval(
    run: Run, low: float, high: float, higher: str, lower: str
) -> None:
    """Throughput is better if higher, the round-trip time if lower; 1% is the smallest size of interest."""
    responses = {response.name: response for response in run.study.responses}
    change = _change(low, high)
    assert merit(responses["throughput"], change, change.shown) == higher
    assert merit(responses["rtt"], change, change.shown) == lower
    assert merit(responses["throughput"], change, change.shown, is_mixed=True) is Merit.MIXED


def test_a_response_states_the_size_of_interest(run: Run) -> None:
    response = run.study.responses[0].model_copy(update={"smallest_effect": 5.0})
    assert merit(response, _change(2, 3), 1) is Merit.SMALL
    assert change_words.merit_in_words(Merit.SMALL, response.smallest_effect) == "below 5%"


def test_no_other_module_decides_what_is_better() -> None:
    """Modules other than that of the verdict print a metric's better direction, and never compare it."""
    comparing = [
        str(file.relative_to(PACKAGE))
        for file in sorted(PACKAGE.rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
        if isinstance(side, ast.Attribute) and side.attr == "better"
    ]
    assert comparing == ["analysis/merits.py"]
