"""The progress of a run on a terminal and in a file."""

import io
import re
import time
from itertools import pairwise
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from nettrial.analysis import mean_interval, summarise
from nettrial.cli import progress
from nettrial.cli.means_table import means_table
from nettrial.cli.progress import Display
from nettrial.running import remaining
from nettrial.running.remaining import Remaining
from nettrial.running.running_means import Estimates, Spread
from tests.unit.conftest import without_periodic_lines
from tests.unit.synthetic import make_run


class Clock:
    """A clock that the test sets."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    monkeypatch.setattr(remaining, "time", made)
    return made


def run_trials(display, clock, trials, seconds):
    display.begin()
    predicted = Remaining([1.0] * trials, 1.0)
    for number in range(trials):
        clock.now += seconds
        predicted.ended(1.0)
        display.current = "mtu 9000 B" if number == trials - 1 else ""
        if number == 3:
            display.failed("trial 4: no such device", predicted.seconds())
        else:
            display.finished(2 if number == 1 else 0, predicted.seconds())


def test_longer_trials_are_expected_to_take_longer(clock):
    """A fabric of 90 switches does not take as long as one of 20, which was run before it."""
    predicted = Remaining([1.0, 1.0, 8.0], None)
    assert predicted.seconds() is None
    predicted.begin()
    clock.now += 6.0
    predicted.ended(1.0)
    assert predicted.seconds() == pytest.approx(54.0)
    clock.now += 4.0
    assert predicted.seconds() == pytest.approx(50.0)
    clock.now += 2.0
    predicted.ended(1.0, again=True)
    assert predicted.seconds() == pytest.approx(54.0)
    predicted.add([2.0])
    assert predicted.seconds() == pytest.approx(66.0)
    clock.now += 1000.0
    assert predicted.seconds() == 0.0


def test_without_a_terminal_a_line_every_ten_seconds(clock, capsys):
    with Display(done=2, total=22, left=60) as display:
        run_trials(display, clock, 20, 3.0)
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.splitlines() == [
        "2/22 trials, 0 s elapsed, 1 min 0 s left, warnings: 0",
        "failed: trial 4: no such device",
        "5/22 trials, 12 s elapsed, 48 s left, warnings: 2, failed: 1",
        "9/22 trials, 24 s elapsed, 36 s left, warnings: 2, failed: 1",
        "13/22 trials, 36 s elapsed, 24 s left, warnings: 2, failed: 1",
        "17/22 trials, 48 s elapsed, 12 s left, warnings: 2, failed: 1",
        "21/22 trials, 1 min 0 s elapsed, warnings: 2, failed: 1; now mtu 9000 B",
        "21/22 trials, 1 min 0 s elapsed, warnings: 2, failed: 1",
    ]


def test_golden_files_have_no_lines_that_a_slow_machine_adds():
    first, last = "mine\n0/4 trials, 9 s left\nfailed: no\n", "4/4 trials, warnings: 0\nend\n"
    slow = f"{first}3/4 trials, 3 s left\n4/4 trials, warnings: 0; now mtu\n{last}"
    assert without_periodic_lines(slow) == first + last
    assert without_periodic_lines(first + last) == first + last


class Terminal(Console):
    """A terminal that keeps its output."""

    def __init__(self, width=100, height=30):
        super().__init__(
            file=io.StringIO(), force_terminal=True, width=width, height=height, color_system=None
        )

    @property
    def shown(self):
        return self.file.getvalue()


def test_a_terminal_is_drawn_at_most_once_a_second(clock, monkeypatch):
    drawn = []
    show = progress.View.show
    monkeypatch.setattr(progress, "errors", Terminal)
    monkeypatch.setattr(
        progress.View, "show", lambda *given: (drawn.append((clock.now, given[1])), show(*given))
    )
    with Display(done=0, total=40, left=10) as display:
        display.begin()
        for _ in range(40):
            clock.now += 0.25
            display.finished(0, None)
    times = [at for at, _ in drawn[:-1]]  # The last drawing is at the end of the run.
    assert all(later - earlier >= 1 for earlier, later in pairwise(times))
    assert len(times) == 11
    assert drawn[-1][1] == 40


def test_a_terminal_shows_responses_and_leaves_the_bar(clock, monkeypatch, tmp_path):
    terminal = Terminal(width=120)
    monkeypatch.setattr(progress, "errors", lambda: terminal)
    run = make_run(tmp_path / "run", replicates=3)
    with Display(done=20, total=36, left=10, estimates=Estimates(run)) as display:
        display.current = "mtu 9000 B"
        display.begin()
        display.note("failed: [a] device")
        display.extend(4, 13.0)
        shown = terminal.shown
        assert "1500 B / linux-cubic / classic" in shown
        assert "now mtu 9000 B" in shown
        assert "20/36 trials, 0 s elapsed, 10 s left, warnings: 0" in shown
        assert "failed: [a] device" in shown
        assert re.search(r"\d+\.\d+ ± \d+\.\d+", shown)
    last = terminal.shown.splitlines()[-1]
    assert last.endswith("20/40 trials, 0 s elapsed, 13 s left, warnings: 0")


def test_running_means_and_intervals_are_those_of_the_report(tmp_path):
    run = make_run(tmp_path / "run", replicates=4, trials=40)
    estimates = Estimates(run)
    for section, at in zip(summarise(run).responses, range(99), strict=False):
        for cell in section.cells:
            spread = estimates._spreads[tuple(cell.treatment.values())][at]
            assert spread.count == cell.n
            assert spread.mean == pytest.approx(cell.mean, rel=1e-12)
            assert spread.half_width == pytest.approx(cell.interval.half_width, rel=1e-9)


# The squares of smaller numbers lose digits or underflow.
MAGNITUDES = st.just(0.0) | st.floats(1e-100, 1e9) | st.floats(-1e9, -1e-100)


@given(st.lists(MAGNITUDES, min_size=2, max_size=30))
def test_values_one_by_one_give_what_all_at_once_give(values):
    spread = Spread()
    for value in values:
        spread.add(value)
    interval = mean_interval(values)
    scale = max(*map(abs, values), 1e-300)
    assert spread.mean == pytest.approx(fmean(values), abs=1e-9 * scale)
    assert spread.half_width == pytest.approx(interval.half_width, abs=1e-6 * scale)


@pytest.mark.parametrize(("width", "height"), [(66, 4), (80, 8), (120, 24), (400, 60)])
def test_responses_fit_the_terminal_and_what_is_left_out_is_told(tmp_path, width, height):
    terminal = Terminal(width=width, height=height)
    run = make_run(tmp_path / "run", replicates=2)
    terminal.print(means_table(Estimates(run), width, height))
    lines = terminal.shown.splitlines()
    assert max(map(len, lines)) <= max(width, 60)
    rows = [line for line in lines if " / linux-cubic" in line or " / classic" in line]
    treatments = 12 if height >= 12 else max(height - 1, 1)
    assert len(rows) == treatments
    assert ("more treatments" in terminal.shown) == (treatments < 12)
    assert ("more responses" in terminal.shown) == (width < 400)


def test_a_response_that_has_no_value_yet(tmp_path):
    run = make_run(tmp_path / "run", replicates=2, trials=0)
    estimates = Estimates(run)
    assert {str(spread) for spreads in estimates._spreads.values() for spread in spreads} == {"–"}
    spread = Spread()
    spread.add(0.5)
    assert str(spread) == "0.5"
    spread.add(0.5)
    assert (str(spread), spread.half_width) == ("0.5", 0)


def test_bringing_up_to_date_costs_little(tmp_path):
    run = make_run(tmp_path / "run", replicates=2)
    estimates = Estimates(run)
    began = time.process_time()
    for trial in run.trials() * 40:
        estimates.add(trial.planned, trial.record)
    for _ in range(10):
        terminal = Terminal(width=160, height=40)
        terminal.print(means_table(estimates, 160, 34))
    # The work is a thousand trials, each of which would take seconds, and ten drawings.
    assert time.process_time() - began < 1.5
