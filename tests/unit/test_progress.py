from itertools import pairwise

import pytest

from nettrial.cli import progress
from nettrial.cli.progress import Display


class Clock:
    """Time that passes when told to."""

    def __init__(self):
        self.now = 1000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(progress, "time", made)
    return made


def run_trials(display, clock, trials, seconds):
    display.begin()
    for number in range(trials):
        clock.now += seconds
        if number == 3:
            display.failed("trial 4: no such device")
        else:
            display.finished(warnings=2 if number == 1 else 0)


def test_without_a_terminal_a_line_every_ten_seconds(clock, capsys):
    with Display(done=2, total=22, seconds=60) as display:
        run_trials(display, clock, 20, 3.0)
    output, errors = capsys.readouterr()
    assert output == ""
    assert errors.splitlines() == [
        "2/22 trials, 1 min 0 s left, warnings: 0",
        "failed: trial 4: no such device",
        "5/22 trials, 48 s left, warnings: 2, failed: 1",
        "9/22 trials, 36 s left, warnings: 2, failed: 1",
        "13/22 trials, 24 s left, warnings: 2, failed: 1",
        "17/22 trials, 12 s left, warnings: 2, failed: 1",
        "21/22 trials, warnings: 2, failed: 1",
        "21/22 trials, warnings: 2, failed: 1",
    ]


def test_a_terminal_is_drawn_at_most_once_a_second(clock, monkeypatch):
    class Terminal:
        is_terminal = True

    drawn = []

    class Bar:
        def __init__(self, *columns, console, auto_refresh):
            assert not auto_refresh

        def add_task(self, description, total):
            return 0

        def start(self):
            pass

        def stop(self):
            pass

        def update(self, task, *, completed, description, refresh):
            assert refresh
            drawn.append((clock.now, completed))

    monkeypatch.setattr(progress, "errors", Terminal)
    monkeypatch.setattr(progress, "Progress", Bar)
    with Display(done=0, total=40, seconds=10) as display:
        display.begin()
        for _ in range(40):
            clock.now += 0.25
            display.finished(warnings=0)
    times = [at for at, _ in drawn[:-1]]  # the last one is at the end
    assert all(later - earlier >= 1 for earlier, later in pairwise(times))
    assert len(times) == 11
    assert drawn[-1][1] == 40
