"""The effect of warnings on the answer: each has a class, equal ones are merged, and the gravest is first."""

import re
from pathlib import Path

from nettrial.analysis import HarmOfWarnings
from nettrial.analysis.warning_effects import _NARROWER, _NOTHING, _WIDER, effect_of
from nettrial.design import PlannedTrial
from nettrial.report import book, conclusions, numbers, response_warnings
from nettrial.report.content import gather
from nettrial.report.data_tables import data_tables
from nettrial.report.html import page
from nettrial.report.tables import UNCLEAR
from nettrial.scenario import Record
from tests.unit.edge_runs import EDGE_RUNS
from tests.unit.synthetic import BUSY, make_run, record

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "read-warnings.md"
GIVEN = re.compile(r'(?:Warning::new|warn)\(\s*"(\w+)"|Warning \{\s*code: "(\w+)"')
"""Matches the code of a warning in the engine's source."""


def test_every_code_is_documented() -> None:
    documented = {
        code
        for line in PAGE.read_text().splitlines()
        if line[:2] == "| "
        for code in re.findall(r"`(\w+)`", line.split("|")[1])
    }
    sources = [path.read_text() for path in (ROOT / "engine").rglob("*.rs")]
    given = {code for source in sources for codes in GIVEN.findall(source) for code in codes if code}
    assert len(given) > 20
    assert given | {*_WIDER, *_NARROWER, *_NOTHING} <= documented
    assert effect_of("processor_saturated") is effect_of("anything else") is HarmOfWarnings.BIAS


def test_the_gravest_come_first_and_one_line_says_what_they_do(tmp_path: Path) -> None:
    work = BUSY.model_copy(update={"code": "other_work", "object": "the machine"})
    run = make_run(
        tmp_path / "run", 2, maker=lambda trial: record(trial, [work, BUSY] if trial.number == 1 else [work])
    )
    warnings = gather(run).warnings
    assert [each.code for each in warnings[:2]] == ["processor_saturated", "other_work"]
    said = response_warnings.summary(warnings)
    assert said.startswith("1 warning may bias the answer, ")
    assert "may widen intervals" in said


def test_warnings_about_all_values_make_intervals_too_narrow_and_belong_to_no_trial(tmp_path: Path) -> None:
    for code in ("skewed_values", "autocorrelation", "equal_values"):
        assert effect_of(code) is HarmOfWarnings.NARROWER
    run = make_run(tmp_path / "run", maker=lambda trial: record(PlannedTrial(1, 1, trial.treatment)))
    report = gather(run)
    assert {each.code for each in report.warnings} == {"equal_values"}
    said = response_warnings.summary(report.warnings)
    assert said == "1 warning may make intervals too narrow"
    assert conclusions.sentences(report)[-1] == f"{said}."
    facts = book.chapter(run).facts
    assert said in facts
    assert "no warnings" not in facts
    assert "They follow from the values of all trials." in page(report)
    (table,) = [table for table in data_tables(report) if table.name == "warnings"]
    assert table.caption == "Warnings, which follow from the values of all trials."


def test_what_is_said_of_several_responses_is_one_warning(tmp_path: Path) -> None:
    report = gather(EDGE_RUNS["equal_within_treatments"](tmp_path / "run"))
    (equal,) = [each for each in report.warnings if each.code == "equal_values"]
    assert len(equal.responses) > 1
    assert equal.trials == len(report.trials)


def test_a_change_that_may_be_a_hundredfold_is_no_result(tmp_path: Path) -> None:
    def wild(trial: PlannedTrial) -> Record:
        made = record(trial)
        if trial.treatment["mtu"] == "9000 B":
            made.flows[0].goodput_bps *= 10 ** (3 * trial.block - 2)
        return made

    run = make_run(tmp_path / "wild", 2, maker=wild)
    table = next(each.measured for each in gather(run).sections if each.name == "throughput")
    row = table.entries[table.rows.index("9000 B")]
    assert [entry.change for entry in row] == [UNCLEAR] * len(row)
    assert all(not entry.change_interval for entry in row)
    assert numbers.counted(1, "more warning") == "1 more warning"
