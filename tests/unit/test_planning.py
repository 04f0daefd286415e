"""The number of trials that a precision needs: against scipy, by simulation, and in the command's output."""

import math
from pathlib import Path
from statistics import fmean, stdev

import numpy as np
import pytest
from scipy import stats

from nettrial.analysis.planning import MOST_BLOCKS, fewest, needs, seconds
from nettrial.analysis.sequential import widening
from nettrial.store import Run
from tests.unit.synthetic import make_run, record

TWO = {"mtu": "1500,9000", "sender": "linux-cubic", "receiver": "linux-cubic"}
BASE = {"mtu": "1500 B", "sender": "linux-cubic", "receiver": "linux-cubic"}


def student(count: int) -> float:
    return float(stats.t.ppf(0.975, count - 1))


def sequence(count: int) -> float:
    return widening(count, 0.95)


@pytest.mark.parametrize("factor", [student, sequence])
@pytest.mark.parametrize(("variation", "wanted"), [(5, 2), (0.1, 5), (40, 3), (1, 1)])
def test_one_trial_fewer_would_be_too_few(factor, variation, wanted) -> None:
    count = fewest(factor, variation, wanted)
    assert count is not None
    assert factor(count) * variation / math.sqrt(count) <= wanted
    assert count == 2 or factor(count - 1) * variation / math.sqrt(count - 1) > wanted


def test_the_worked_example() -> None:
    # The quantiles are t(0.975; 98) = 1.98447 and t(0.975; 97) = 1.98472. The half-widths are 19.8447 /
    # sqrt(99) = 1.9945 and 19.8472 / sqrt(98) = 2.0049.
    assert fewest(student, 10, 2) == 99
    assert fewest(student, 1e9, 1) is None
    assert fewest(student, 1, 1 / math.sqrt(MOST_BLOCKS)) is None


def values(run: Run) -> list[float]:
    trials = [trial for trial in run.trials() if trial.planned.treatment == BASE]
    return [(trial.record.flows[0].goodput_bps or 0) / 1e6 for trial in trials]


def test_a_need_is_that_of_the_earlier_values(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 5, TWO)
    (need,) = needs([run], [BASE], {"throughput": 0.2})
    found = values(run)
    variation = 100 * stdev(found) / fmean(found)
    assert need.variation == pytest.approx(variation)
    assert need.fixed is not None
    assert need.sequential is not None
    assert need.fixed.expected == fewest(student, variation, 0.2)
    assert need.sequential.expected == fewest(sequence, variation, 0.2)
    larger = variation * math.sqrt(4 / stats.chi2.ppf(0.1, 4))
    assert need.fixed.assured == fewest(student, larger, 0.2)


def test_spreads_of_several_runs_are_pooled_within_them(tmp_path: Path) -> None:
    def faster(trial):
        made = record(trial)
        made.flows[0].goodput_bps = 2 * (made.flows[0].goodput_bps or 0)
        return made

    runs = [make_run(tmp_path / "a", 5, TWO), make_run(tmp_path / "b", 3, TWO, faster)]
    (need,) = needs(runs, [BASE], {"throughput": 1})
    one, other = values(runs[0]), values(runs[1])
    spread = math.sqrt((4 * stdev(one) ** 2 + 2 * stdev(other) ** 2) / 6)
    assert need.variation == pytest.approx(100 * spread / fmean([*one, *other]))
    assert need.trials == 8


def test_what_earlier_runs_do_not_show_says_why(tmp_path: Path) -> None:
    def equal(trial):
        made = record(trial)
        made.flows[1].delay_difference_mean_us = 7.0
        made.hosts[0].cpu_percent = None
        return made

    run = make_run(tmp_path / "run", 3, TWO, equal)
    wanted = {"jitter": 2.0, "cpu_sender": 2.0}
    absent = [need.absent for need in needs([run], [BASE], wanted)]
    assert absent == ["all earlier values are equal: they show no spread", "no earlier trial gave a value"]
    (other,) = needs([run], [{**BASE, "mtu": "4000 B"}], {"rtt": 2})
    assert other.absent == "no earlier trial gave a value"
    (single,) = needs([make_run(tmp_path / "one", 1, TWO)], [BASE], {"rtt": 2})
    assert single.absent == "one earlier trial shows no spread"


def test_the_assured_number_is_enough_in_nine_experiments_of_ten() -> None:
    """Pilot runs have 8 trials and a known spread of 5%. The test computes how often the number that they
    recommend is large enough."""
    truth = fewest(student, 5, 2)
    assert truth is not None
    spreads = np.random.default_rng(5).normal(1, 0.05, (2000, 8)).std(axis=1, ddof=1)
    larger = 100 * spreads * math.sqrt(7 / stats.chi2.ppf(0.1, 7))
    enough = np.mean([(fewest(student, float(spread), 2) or 0) >= truth for spread in larger])
    assert enough == pytest.approx(0.9, abs=0.03)


def test_a_trials_time_is_that_of_its_phases(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 2, TWO)
    assert list(seconds([run]).values()) == [pytest.approx(2.2)] * 2


def test_the_command(nettrial, golden) -> None:
    make_run(nettrial.directory / "before", 5, TWO)
    options = [word for name, levels in TWO.items() for word in ("--set", f"{name}={levels}")]
    done = nettrial("run", "--dry-run", "jumbo-ipv6", *options, "--until", "2%", "--from", "before")
    assert (done.returncode, done.stderr) == (0, "")
    golden("trials-needed", done.stdout)
    rule = ("--until", "throughput=0.3%", "--max-blocks", "9")
    done = nettrial("run", "--dry-run", "jumbo-ipv6", *rule, "--from", "before")
    assert done.returncode == 0
    golden("trials-needed-partly", done.stdout)


def test_a_dry_run_states_the_rule(nettrial, golden) -> None:
    rule = ("--until", "2%", "--until", "jitter=10%", "--max-blocks", "30")
    done = nettrial("run", "--dry-run", "jumbo-ipv6", *rule)
    assert done.returncode == 0, done.stderr
    golden("dry-run-until", done.stdout)


BAD = {
    "alone": ["--from", "before"],
    "missing": ["--from", "missing", "--until", "2%"],
    "other": ["--from", "before", "--until", "2%", "--set", "mtu=4000"],
}


@pytest.mark.parametrize("name", list(BAD))
def test_what_cannot_be_estimated_is_exit_2(nettrial, golden, name) -> None:
    make_run(nettrial.directory / "before", 2, TWO)
    done = nettrial("run", "--dry-run", "jumbo-ipv6", *BAD[name])
    assert (done.returncode, done.stdout) == (2, "")
    golden(f"error-trials-needed-{name}", done.stderr)
