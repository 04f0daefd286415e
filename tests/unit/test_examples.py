"""The cookbook: each study under examples/ runs in the simulator, and its answer is that of the page."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nettrial import metrics
from nettrial.backends import BACKENDS, Backend, Configuration
from nettrial.design import scenario_of, treatments
from nettrial.errors import BadInput
from nettrial.scenario import Record
from nettrial.study import Study, examples, load

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.parent.name for path in ROOT.glob("examples/*/study.yaml"))
PAGE = (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8")
ANSWERS = {
    "bufferbloat": ("rtt", "CoDel", -1),
    "loss": ("goodput", "0.01", -1),
    "marks": ("rtt", "DCTCP", -1),
    "parallel-connections": ("goodput", "16", 1),
    "round-trip-time": ("goodput", "linux-bbr", 0),
    "rrul": ("rtt", "FQ-CoDel", -1),
    "sharing": ("second", "linux-bbr", -1),
    "short-transfers": ("time", "50 ms", 1),
    "two-paths": ("goodput", "mptcp", 1),
    "voice": ("delay", "CoDel", -1),
    "window": ("goodput", "512 KiB", 1),
}
"""A response and a level for each study, and the direction of the change; 0 means less than 5%."""


@pytest.fixture(scope="module")
def simulator() -> Iterator[Backend]:
    with BACKENDS["sim"].start(Configuration()) as backend:
        yield backend


def value(study: Study, name: str, record: Record, levels: dict[str, str]) -> float:
    response = next(each for each in study.responses if each.name == name)
    found = metrics.METRICS[response.metric].combined(record, study.group(levels, response.of))
    assert isinstance(found, float)
    return found


def test_there_are_eleven_and_the_page_has_each() -> None:
    assert len(NAMES) == 11
    assert set(ANSWERS) == set(NAMES)
    assert set(re.findall(r"examples/([a-z-]+)", PAGE)) == set(NAMES)
    for name in NAMES:
        assert load(str(ROOT / "examples" / name)).question in PAGE


def test_they_are_found_by_name_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [load(name).document.path.parent.name for name in examples()] == NAMES
    with pytest.raises(BadInput, match=r"did you mean 'examples/window'\?"):
        load("examples/windows")


@pytest.mark.parametrize("name", NAMES)
def test_its_answer_is_that_of_the_page(name: str, simulator: Backend) -> None:
    study = load(str(ROOT / "examples" / name)).on("sim")
    response, level, direction = ANSWERS[name]
    rows = study.layout.rows
    first = {name: factor.levels[0] for name, factor in study.factors.items()}
    values = []
    for wanted in (first[rows], level):
        levels = first | {rows: wanted}
        assert levels in [each.levels for each in treatments(study)]
        record = simulator.run(name, scenario_of(study, levels, 1, 1), None)
        values.append(value(study, response, record, levels))
    change = values[1] / values[0] - 1
    assert (0 if abs(change) < 0.05 else 1 if change > 0 else -1) == direction
