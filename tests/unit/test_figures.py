"""The tables of the studies' pages name the cells of their figures, and a tool writes them again."""

import re
from pathlib import Path

import pytest
import yaml

from nettrial.study import load
from tools import figures
from tools.figures import Value

PAGES = [page for page in figures.ROOT.glob("studies/*/README.md") if figures.TABLE.search(page.read_text())]
VALUE = Value(1234.5678, 0.0567, 0.2345, (-1.234, -2.0, 0.04))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" 1.23 ± 0.45 ", " 1234.57 ± 0.06 "),
        (" 48.27; 1.2 ± 0.4 ", " 48.27; 1234.6 ± 0.1 "),
        (" 97.7 (SD 0.00) ", " 1234.6 (SD 0.23) "),
        (" 1.654 ± 0.057 (0.046) ", " 1234.568 ± 0.057 (0.234) "),
        (" 1,600.5 ", " 1,234.6 "),
        (" 3 ± 1, +28.9% [+28.8, +28.9] ", " 1235 ± 0, −1.2% [−2.0, 0.0] "),
        (" −28.9 [−29.4, −28.4] ", " −1.2 [−2.0, 0.0] "),
        (" 0.006, 0.0% ", " 1234.568, −1.2% "),
        (" +5.2 ", " −1.2 "),
        (" 0.9 times ", " 1.0 times "),
        (" – ", " – "),
        (" the same ", " the same "),
    ],
)
def test_a_cell_has_the_runs_figures_with_the_digits_that_it_had(old: str, new: str) -> None:
    assert figures.cell(old, VALUE) == new


def test_a_rise_has_its_sign_and_a_missing_value_a_dash() -> None:
    assert figures.cell(" −1.0% [−2.0, −0.5] ", Value(1, 1, 1, (1.0, 0.5, 2.0))) == " +1.0% [+0.5, +2.0] "
    assert figures.cell(" 5.79 ", Value(None, None, None, (None, None, None))) == " – "


def test_a_scaled_value_keeps_its_change() -> None:
    value = Value(0.1096, None, 0.001, VALUE.change).scaled(1000)
    assert figures.cell(" 12.3 us (SD 9.9) ", value) == " 109.6 us (SD 9.9) "
    assert figures.cell(" 12.3 (SD 9.9) ", value) == " 109.6 (SD 1.0) "
    assert figures.cell(" +9.9 ", value) == " −1.2 "


def test_a_table_whose_run_takes_long_is_left_with_the_reason(tmp_path: Path) -> None:
    command = "nettrial run wlan-stacks --full --seed 16"
    layout = "<!-- figures\ncolumns: [rtt]\nrows: {}\n-->"
    text = f"`{command}`\n\n{layout}\n\n| | rtt |\n| --- | --- |\n| a | 1 |\n"
    new, commands = figures.page(text, tmp_path)
    assert new == text
    assert "--long" in str(commands[command])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_every_table_names_its_cells(page: Path) -> None:
    study = load(page.parent.name)
    text = page.read_text(encoding="utf-8")
    factors = {*study.factors, *re.findall(r"--set\s+\W?([\w.-]+)=", text)}
    responses = {response.name for response in study.responses}
    for found in figures.TABLE.finditer(text):
        layout = yaml.safe_load(found[1])
        _, rule, *lines = found[2].splitlines()
        rows = list(figures.treatments(layout["rows"]))
        assert len(rows) == len(lines)
        assert len(layout["columns"]) < rule.count("|") - 1
        for row in filter(None, rows):
            for column in filter(None, layout["columns"]):
                own = {"response": column} if isinstance(column, str) else column
                cell = {**own, **row}
                assert cell.pop("response") in responses
                assert set(cell) <= factors
