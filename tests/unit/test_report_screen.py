"""The report on one screen: the answer, a table of effects, and the gravest warnings."""

import io
from pathlib import Path

from rich.console import Console

from nettrial.design import PlannedTrial
from nettrial.report import conclusions, screen, sentences
from nettrial.report.content import gather
from nettrial.scenario import Absence, Record
from nettrial.store import Run
from tests.unit.synthetic import BUSY, make_run, record


def text(run: Run, width: int = 100) -> str:
    """Returns the report as it is written to a pipe."""
    file = io.StringIO()
    screen.render(gather(run), Console(file=file, width=width))
    return file.getvalue()


def test_a_run_fits_a_screen_and_says_the_answer_the_effects_and_their_direction(tmp_path: Path) -> None:
    shown = text(make_run(tmp_path / "run"))
    lines = shown.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert "MTU 9000 B instead of 1500 B" in shown
    (row,) = [line for line in lines if line.startswith("Throughput") and "MTU 9000 B" in line]
    assert "▲" in row
    assert row.rstrip().endswith("better")
    assert "All tables: nettrial report --tables" in shown


def test_on_a_narrow_terminal_levels_stand_below_their_response_and_no_title_is_broken(
    tmp_path: Path,
) -> None:
    run = make_run(tmp_path / "run")
    lines = text(run, 72).splitlines()
    assert max(map(len, lines)) <= 72
    titles = {response.title for response in run.study.responses}
    assert titles & {line.strip() for line in lines}
    assert sum(line.startswith("  MTU 9000 B ") for line in lines) == sum(
        line.strip() in titles for line in lines
    )


def test_the_verdict_is_that_of_the_interval_that_is_printed(tmp_path: Path) -> None:
    """The ratio's interval excludes 1, but the effect may be a hundredfold. The report therefore prints the
    difference, whose interval includes 0."""

    def wild(trial: PlannedTrial) -> Record:
        made = record(trial)
        if trial.treatment["mtu"] == "9000 B":
            made.flows[0].goodput_bps *= (20, 100, 300, 50)[trial.block - 1]
        return made

    run = make_run(tmp_path / "wild", 4, maker=wild)
    report = gather(run)
    said = {
        found.response.name: (effect.overall, screen.effect_words(found, effect))
        for found, effect in screen.effects(report)
        if (found.factor, effect.level) == ("mtu", "9000 B")
    }
    change, told = said["throughput"]
    assert change.simultaneous is not None
    assert change.simultaneous.low > 0
    assert told.change.endswith("Mbit/s")
    assert told.interval.startswith("[-")
    assert (told.shown, told.verdict) == (0, "no change shown")
    assert "throughput: no change shown (" in conclusions.answer(report)
    assert "MTU 9000 B against 1500 B: no difference in it shown (-" in sentences.finding(
        run.study, next(each for each in report.answers.findings["throughput"] if each.factor == "mtu")
    )


def test_warnings_are_shown_whole_and_are_counted_beyond_a_few(tmp_path: Path) -> None:
    def warned(number: int) -> object:
        return BUSY.model_copy(
            update={"code": f"code-{number}", "message": f"{'abcdefgh'[number]} {'word ' * 30}end"}
        )

    made = make_run(
        tmp_path / "run", 2, maker=lambda trial: record(trial, [warned(number) for number in range(6)])
    )
    lines = [line for line in text(made).splitlines() if line.startswith("bias ")]
    assert "6 warnings may bias the answer:" in text(made)
    assert len(lines) == screen.WARNINGS_SHOWN == text(made).count(" word end (")
    assert " more warnings" in text(made)


def test_a_response_that_was_not_measured_is_a_line_with_its_reason_and_no_row(tmp_path: Path) -> None:
    def without(trial: PlannedTrial) -> Record:
        made = record(trial)
        reason = "needs root"
        made.absent = [Absence(metric="cpu", object=host, reason=reason) for host in ("sender", "receiver")]
        for host in made.hosts:
            host.cpu_percent = None
        return made

    shown = text(make_run(tmp_path / "run", maker=without))
    assert "absent CPU, sender; CPU, receiver: needs root" in shown
    assert not [line for line in shown.splitlines() if line.startswith("CPU, ")]


def test_a_change_below_the_smallest_of_interest_is_neither_better_nor_worse(tmp_path: Path) -> None:
    """Values that differ by a part in a million have an interval that excludes 0 in every block alike."""

    def slightly(trial: PlannedTrial) -> Record:
        made = record(trial)
        level = 1 if trial.treatment["mtu"] == "9000 B" else 0
        made.flows[0].goodput_bps = round(9e8 * (1 + 1e-4 * level + 1e-6 * trial.block))
        return made

    report = gather(make_run(tmp_path / "slight", 4, maker=slightly))
    (said,) = [
        screen.effect_words(found, effect)
        for found, effect in screen.effects(report)
        if found.response.name == "throughput" and found.factor == "mtu" and effect.level == "9000 B"
    ]
    assert (said.shown, said.verdict) == (0, "below 1%")
