"""The report on the terminal: its content and width, and that it is plain text."""

import csv
import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from nettrial.analysis import summarise
from nettrial.design import PlannedTrial
from nettrial.report import terminal
from nettrial.scenario import Absence, Record
from nettrial.store import Run
from nettrial.study import load
from tests.unit.synthetic import BUSY, altered_study, make_run, record


def text(run: Run, width: int = 80, spread: bool = False) -> str:
    """Returns the report as it is written to a pipe."""
    file = io.StringIO()
    terminal.render(run, Console(file=file, width=width), spread=spread)
    return file.getvalue()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("runs") / "run")


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_no_line_of_a_table_is_wider_than_the_terminal_nor_folded(run: Run, width: int) -> None:
    lines = text(run, width).splitlines()
    assert max(map(len, lines)) <= width
    changes = [line for line in lines if line.startswith("9000 B") and "±" in line]
    assert all(line.count("[") == line.count("]") for line in changes)


def test_wide_terminals_get_the_papers_shape(run: Run) -> None:
    lines = text(run, 170).splitlines()
    rows = [line for line in lines if line.startswith("9000 B") and line.count("±") == 4]
    assert len(rows) == 7
    header = lines[lines.index(rows[0]) - 5]
    assert "classic –" in header


def test_standard_deviations_and_numbers_of_trials_are_shown_where_asked_for(run: Run) -> None:
    shown = text(run, 170, spread=True)
    cell = next(each for each in summarise(run).responses if each.response.name == "throughput").cells[0]
    told = [f" (SD {cell.deviation:.{digits}f}, n {cell.n})" for digits in (2, 3)]
    assert any(text in shown for text in told)
    assert "(SD" not in text(run, 170)


def test_every_published_figure_is_there(run: Run) -> None:
    shown = text(run, 170)
    for row in csv.DictReader((load("jumbo-ipv6").published_text() or "").splitlines()):
        assert row["value"] in shown
        assert row["change_percent"] in shown


def test_the_counterpart_is_compared_and_the_others_are_named_as_without(run: Run) -> None:
    shown = " ".join(text(run).split())
    assert (
        "Published Sender ubuntu-14.04 – Receiver ubuntu-14.04 is the counterpart of Sender linux-" in shown
    )
    throughput = shown.split("Throughput, Mbit/s")[1].split("CPU, sender, %")[0]
    assert "+25.03 outside the interval" in throughput
    assert shown.count(" in the interval") + shown.count("outside the interval") == 5 * 2


def test_it_says_how_to_run_it_again_and_what_it_cannot_say(run: Run) -> None:
    shown = " ".join(text(run).split())
    assert "nettrial run jumbo-ipv6 --replicates 5 --seed 7" in shown
    assert "60 of 60 trials (12 treatments × 5 blocks), seed 7" in shown
    assert "windows-server-2012-r2 as Sender and Receiver" in shown
    assert "All hosts of the lab are on one machine" in shown
    assert "In 60 trials, work of router ran on sender's CPU" in shown


def test_warnings_are_marked_and_explained(run: Run) -> None:
    shown = text(run, 170)
    assert "*1 router: CPU 0 was busy" in shown
    assert f"(4 trials); {BUSY.consequence}" in shown
    marked = [line for line in shown.splitlines() if line.startswith("1500 B") and "±" in line]
    assert all(line.count("*1") == 2 for line in marked)


def test_a_warning_of_every_treatment_is_said_once_and_marks_no_cell(tmp_path: Path) -> None:
    shown = text(make_run(tmp_path / "run", 2, maker=lambda trial: record(trial, [BUSY])))
    assert "In every treatment: warning 1." in shown
    assert "Warnings in 24 of 24 trials: 1 warning may bias the answer." in " ".join(shown.split())
    assert shown.count("*1") == 1


def test_answer_has_estimates_with_their_intervals(run: Run) -> None:
    answer = " ".join(text(run).split("\n\n")[1].split())
    first, second, *_ = answer.split("(95% intervals).")
    assert first.startswith("With MTU 4000 B instead of 1500 B, averaged over sender and receiver: ")
    assert second.startswith(" With MTU 9000 B instead of 1500 B")
    assert re.search(r"throughput rises from \d+ to \d+ Mbit/s \(\+\d\.\d%, \d\.\d to \d\.\d%\)", first)
    assert first.count(" falls from ") == 2


def test_absent_metrics_and_failures_are_told(tmp_path: Path) -> None:
    def maker(trial: PlannedTrial) -> Record | str:
        if trial.number == 3:
            return "the receiver's agent died"
        made = record(trial)
        made.hosts[1].cpu_percent = None
        made.absent = [Absence(metric="cpu", object="receiver", reason="one CPU only")]
        return made

    shown = " ".join(text(make_run(tmp_path / "run", maker=maker)).split())
    assert "CPU, receiver: one CPU only (59 trials)" in shown
    assert "the receiver's agent died (trial 3)" in shown
    assert "1 trial of the plan did not finish" in shown
    assert "absent" in shown.split("CPU, receiver, %")[1]


@pytest.mark.parametrize(
    ("replicates", "trials", "said"),
    [
        (5, 0, "No trial has finished yet: nothing can be concluded."),
        (5, 1, "No response has a value at both levels yet"),
        (1, None, "; one block: no interval)"),
    ],
)
def test_runs_with_little_in_them(tmp_path: Path, replicates: int, trials: int | None, said: str) -> None:
    shown = " ".join(text(make_run(tmp_path / "run", replicates=replicates, trials=trials)).split())
    assert said in shown
    assert "Traceback" not in shown
    assert "nan" not in shown


def test_equal_values_show_no_change(tmp_path: Path) -> None:
    equal = PlannedTrial(1, 1, {"mtu": "1500 B", "sender": "classic", "receiver": "classic"})
    shown = " ".join(text(make_run(tmp_path / "run", maker=lambda trial: record(equal))).split())
    said = "(0%; all blocks have the same change, which is no evidence of its spread: no interval)"
    assert said in shown


def test_one_level_of_the_rows_has_nothing_to_compare(tmp_path: Path) -> None:
    of_one = {"mtu": "9000", "sender": "classic"}
    shown = " ".join(text(make_run(tmp_path / "rows", replicates=2, overrides=of_one)).split())
    assert "There is only one level" in shown
    assert "(means ±" not in shown


def test_the_answer_of_a_single_treatment_is_its_means(tmp_path: Path) -> None:
    run = make_run(
        tmp_path / "run", replicates=2, overrides={"mtu": "9000", "sender": "classic", "receiver": "classic"}
    )
    shown = " ".join(text(run).split())
    means = r"Throughput [\d.]+ ± [\d.]+ Mbit/s; .*\(means ± half-widths of their 95% intervals\)"
    assert re.search(rf"{means}\. There is only one level", shown)


def test_names_are_no_markup(tmp_path: Path) -> None:
    title = "[bold red]Loud[/bold red] [/nonsense]"
    study = altered_study(tmp_path / "study", {"title: Jumbo frames over IPv6": f'title: "{title}"'})
    warned = BUSY.model_copy(update={"message": "[link=x]busy[/link]"})
    shown = text(make_run(tmp_path / "run", 1, maker=lambda t: record(t, [warned]), study=study))
    assert title in shown
    assert "[link=x]busy[/link]" in shown
    assert "\x1b" not in shown
