"""The choice of the traffic's duration and of the replicates by a pilot, and `run --budget`."""

import json
import math
import random

import pytest

from nettrial.analysis.pilot import PilotVariation, choose, variation
from nettrial.running import pilot
from nettrial.running.study_design import Design, DesignOptions
from nettrial.store import Run
from nettrial.study import load

FEW = ("--set", "mtu=1500,9000", "--set", "sender=classic", "--set", "receiver=classic")


def varied(between: float, within: float) -> PilotVariation:
    return PilotVariation("throughput", between**2, within**2, None)


def test_the_variances_between_and_within_trials_follow_from_two_durations():
    """Trials of d seconds have the variance 0.03² + 0.02²/d."""
    draw = random.Random(1)

    def group(seconds):
        deviation = math.sqrt(0.03**2 + 0.02**2 / seconds)
        return [math.exp(draw.gauss(0, deviation)) for _ in range(20_000)]

    found = variation("throughput", {0.25: [group(0.25)], 2.0: [group(2.0)]}, 1.0)
    assert math.sqrt(found.between) == pytest.approx(0.03, rel=0.05)
    assert math.sqrt(found.within) == pytest.approx(0.02, rel=0.05)
    assert found.shift is None
    assert found.deviation(0.5) == pytest.approx(math.sqrt(0.03**2 + 0.02**2 / 0.5), rel=0.03)


def test_a_variance_is_never_below_zero():
    """Longer trials may vary more than shorter ones by chance."""
    found = variation("rtt", {0.5: [[1.0, 1.01, 0.99]], 2.0: [[1.0, 1.2, 0.8]]}, 1.0)
    assert found.within == 0
    assert found.between > 0
    found = variation("rtt", {0.5: [[1.0, 2.0, 0.5]], 2.0: [[1.0, 1.01, 0.99]]}, 1.0)
    assert found.between == 0
    assert found.within > 0
    assert variation("rtt", {0.5: [[0.0, 1.0]], 2.0: [[1.0, 1.1]]}, 1.0) is None


def test_a_duration_at_which_values_differ_is_named():
    short = [[0.90, 0.91, 0.89, 0.90], [1.80, 1.81, 1.79, 1.80]]
    long = [[1.00, 1.01, 0.99, 1.00], [2.00, 2.01, 1.99, 2.00]]
    found = variation("throughput", {0.5: short, 2.0: long}, 1.0)
    assert found.shift == pytest.approx(-10, abs=0.5)
    assert variation("throughput", {0.5: short, 2.0: long}, 20.0).shift is None
    choice = choose([found], [0.5, 2.0], 0.4, 4, 100.0)
    assert (choice.seconds, list(choice.shifted)) == (2.0, [0.5])
    tight = choose([found], [0.5, 2.0], 0.4, 4, 10.0)  # two blocks of the longer traffic take 19.2 s
    assert tight.seconds == 0.5


@pytest.mark.parametrize(
    ("between", "within", "overhead"), [(0.037, 0.02, 0.4), (0.01, 0.02, 0.4), (0.002, 0.05, 1.0)]
)
def test_the_choice_is_the_best_of_all_durations(between, within, overhead):
    """For long budgets, it is the optimum of Kalibera and Jones (2013)."""
    durations = [0.25 * 1.1**step for step in range(40)]
    found = varied(between, within)
    choice = choose([found], durations, overhead, 12, 100_000.0)
    best = min(max(found.optimum(overhead), durations[0]), durations[-1])
    assert choice.seconds == pytest.approx(best, rel=0.11)
    assert choice.replicates == int(100_000 / (12 * (choice.seconds + overhead)))


def test_trials_that_differ_only_by_chance_within_them_are_long_and_others_short():
    durations = [0.5, 1.0, 2.0]
    assert choose([varied(0.03, 0.0)], durations, 0.4, 4, 1000.0).seconds == 0.5
    assert choose([varied(0.0, 0.03)], durations, 0.4, 4, 1000.0).seconds == 2.0
    assert choose([], durations, 0.4, 4, 1000.0).seconds == 2.0
    assert choose([varied(0.03, 0.0)], durations, 0.4, 4, 7.0) is None


def test_a_desired_precision_takes_only_the_blocks_that_it_needs():
    found = varied(0.03, 0.01)
    loose = choose([found], [0.5, 2.0], 0.4, 4, 10_000.0, {"throughput": 5.0})
    tight = choose([found], [0.5, 2.0], 0.4, 4, 10_000.0, {"throughput": 1.0})
    assert loose.replicates < tight.replicates < tight.fitting
    assert tight.widths["throughput"] < 1.0


def test_a_pilot_is_a_small_run_of_the_same_study():
    study = load("jumbo-ipv6")
    found = pilot.durations(study, 2.0)
    assert list(found.seconds) == [0.5, 1.0, 2.0]
    assert found.settings(study, 0.25) == {
        "workload.transfer.traffic.duration": "500 ms",
        "workload.probe.traffic.duration": "500 ms",
    }
    small = pilot.pilot_study(study, found)
    levels = {name: factor.levels for name, factor in small.factors.items()}
    assert levels == {
        "mtu": ["1500 B", "9000 B"],
        "sender": ["linux-cubic"],
        "receiver": ["linux-cubic"],
        "pilot_duration": ["0.5 s", "2 s"],
    }
    assert Design.of(small, DesignOptions(replicates=2)).trials == 8
    assert small.responses == study.responses


def test_traffic_that_ends_by_itself_keeps_its_length():
    study = load("mtu-packet-size")
    found = pilot.durations(study, 10.0)
    assert (list(found.paths), list(found.seconds)) == ([], [10.0])
    assert "pilot_duration" not in pilot.pilot_study(study, found).factors


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--replicates", "3"), "--replicates: given\n  expected: not with --budget\n  hint: the budget"),
        (("--full",), "--full: given\n  expected: not with --budget"),
        (("--max-blocks", "9", "--until", "2%"), "--max-blocks: given\n  expected: not with --budget"),
        (("--sessions", "3"), "--sessions: given\n  expected: not with --budget"),
        (("--dry-run",), "--dry-run: given\n  expected: not with --budget"),
        (("--backend", "sim"), "--budget: the backend sim\n  expected: a backend in real time"),
    ],
)
def test_what_the_budget_chooses_is_not_given_as_well(nettrial, options, said):
    done = nettrial("run", "jumbo-ipv6", "--budget", "5 min", *options)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (nettrial.directory / "runs").exists()


def test_a_budget_that_is_too_small_is_refused_before_anything_runs(nettrial):
    done = nettrial("run", "jumbo-ipv6", "--budget", "10 s")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "--budget: 10 s\n  expected: 48 s or more\n  hint: that is for a pilot and 2 blocks of 12"
        in done.stderr
    )
    assert "fewer levels take less: --set 'mtu=1500 B'\n" in done.stderr
    assert not (nettrial.directory / "runs").exists()
    assert nettrial("run", "jumbo-ipv6", "--budget", "soon").returncode == 2


def test_a_run_within_a_budget_has_the_duration_and_replicates_of_its_pilot(nettrial):
    done = nettrial("run", "jumbo-ipv6", *FEW, "--budget", "1 min", "--seed", "1", "--out", "mine")
    assert done.returncode == 0, done.stderr
    assert "\npilot: throughput varies by " in done.stderr
    assert "\nchosen: traffic of " in done.stderr
    tried = Run.open(nettrial.directory / "mine-pilot")
    made = Run.open(nettrial.directory / "mine")
    assert len(tried.trials()) == len(tried.plan)
    assert made.study.factors.keys() == load("jumbo-ipv6").factors.keys()
    blocks = max(trial.block for trial in made.plan)
    assert blocks >= 2
    assert f"--replicates {blocks}" in made.command
    assert made.pending() == []
    # The command repeats the run without a pilot.
    words = made.command.replace("nettrial run", "run", 1)
    assert "--budget" not in words


def test_a_budget_with_a_precision_stops_as_soon_as_it_is_reached(nettrial):
    gate = ("--fail-if", "throughput < 1 Mbit/s", "--junit", "gate.xml", "--json")
    done = nettrial("run", "jumbo-ipv6", *FEW, "--budget", "3 min", "--until", "50%", "--out", "mine", *gate)
    assert done.returncode == 0, done.stderr
    conditions = json.loads(done.stdout)["conditions"]
    assert [each["holds"] for each in conditions] == [False] * len(conditions)
    assert (nettrial.directory / "gate.xml").read_bytes().count(b"<testcase") == len(conditions) > 0
    made = Run.open(nettrial.directory / "mine")
    assert made.study.until.minimum == 5
    assert max(trial.block for trial in made.plan) < made.study.until.maximum
