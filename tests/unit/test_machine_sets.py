"""Sets of machines that share a run: the inventory, and which set runs which trial. The machines are those of
the fake engine."""

import json
import signal
from collections import defaultdict

import pytest

from nettrial.analysis import answers, digest, summarise
from nettrial.analysis.warning_effects import HarmOfWarnings
from nettrial.backends.hosts import Machines
from nettrial.errors import BadInput
from nettrial.machines import Inventory
from nettrial.store import Run
from tests.unit.conftest import FAKE_ENGINE
from tests.unit.test_runner import PATIENCE, go_on, heard, wait_in

NODES = ("sender", "router", "receiver")
TREATMENTS = 8
STUDY = ("run", "jumbo-ipv6", "--backend", "hosts", "--set", "mtu=1500,9000", "--seed", "1", "--out", "mine")


def machine(name, node, of_set, number, reach=None):
    """Returns the lines of a machine in an inventory."""
    lines = [
        f"  {name}:",
        f"    command: [{reach or name}]",
        f"    interfaces: {{eth0: [192.0.2.{number}]}}",
        f"    nodes: [{node}]",
    ]
    return [*lines, *([f"    set: {of_set}"] if of_set else [])]


def inventory(*sets):
    """Returns an inventory with a machine for each node in each of these sets."""
    lines = ["machines:"]
    for place, of_set in enumerate(sets):
        for number, node in enumerate(NODES, 1):
            lines += machine(f"{of_set or 'only'}-{node}", node, of_set, 10 * place + number)
    return "\n".join([*lines, ""])


@pytest.fixture
def write(tmp_path):
    """Returns a function that writes an inventory and returns its path."""

    def written(text):
        (tmp_path / "machines.yaml").write_text(text)
        return tmp_path / "machines.yaml"

    return written


def test_each_set_has_its_machines_and_its_name(write, monkeypatch):
    monkeypatch.setenv("NETTRIAL_ENGINE", str(FAKE_ENGINE))
    sets = Inventory.load(write(inventory("left", "right"))).sets()
    assert {name: list(found.machines) for name, found in sets.items()} == {
        name: [f"{name}-{node}" for node in NODES] for name in ("left", "right")
    }
    given = json.loads(Machines.of(sets["left"].machines, "left").inventory)
    assert given["set"] == "left"
    without = Inventory.load(write(inventory(None))).sets()
    assert list(without) == [None]
    assert "set" not in json.loads(Machines.of(without[None].machines).inventory)


def test_a_machine_is_in_one_set_and_none_is_left_out(write):
    twice = inventory("left", "right") + "\n".join(machine("again", "sender", "right", 99, "left-sender"))
    with pytest.raises(BadInput) as raised:
        Inventory.load(write(twice))
    assert "machines.again.set" in str(raised.value)
    assert "left-sender is reached in the same way" in str(raised.value)
    alone = inventory("left", "right") + "\n".join(machine("alone", "sender", None, 99))
    with pytest.raises(BadInput) as raised:
        Inventory.load(write(alone))
    assert "machines.alone.set: missing" in str(raised.value)


def test_sets_are_added_and_listed(nettrial, tmp_path):
    file = f"--machines={tmp_path / 'machines.yaml'}"
    for number, name in enumerate(("left", "right"), 1):
        add = ("machines", "add", file, name, f"--ssh=root@{name}", f"--set={name}")
        assert nettrial(*add, f"--interface=eth0=192.0.2.{number}").returncode == 0
    listed = nettrial("machines", "list", file).stdout
    assert "set" in listed.splitlines()[0]
    assert listed.splitlines()[-1].split()[-1] == "right"
    checked = nettrial("machines", "check", file)
    assert checked.stdout.split("\n\n") == [
        "set left",
        "no a third CPU: there are 2\n  remedy: a larger machine\nset right",
        "no a third CPU: there are 2\n  remedy: a larger machine\n",
    ]


@pytest.fixture
def nettrial_on_sets(nettrial_process):
    """Returns the command as a process, in a directory with an inventory of two sets."""
    (nettrial_process.directory / "machines.yaml").write_text(inventory("left", "right"))
    return nettrial_process


def run(nettrial):
    """Returns the run on the disk."""
    return Run.open(nettrial.directory / "mine")


def sets_of(run):
    """Returns the sets that ran each block."""
    found = defaultdict(set)
    for trial in run.trials():
        found[trial.planned.block].add(trial.record.set)
    return dict(found)


def exclusive(nettrial):
    """Checks that no machine ran two trials at once, and returns the number of trials of each."""
    counts = {}
    for log in nettrial.directory.glob("log-*"):
        lines = [line.split() for line in log.read_text().splitlines()]
        pairs = list(zip(lines[::2], lines[1::2], strict=True))
        assert all((first[0], last[0]) == ("begins", "ends") for first, last in pairs)
        assert all(first[1:] == last[1:] for first, last in pairs)
        counts[log.name.removeprefix("log-")] = len(pairs)
    return counts


def test_each_block_runs_on_one_set_and_the_sets_work_at_the_same_time(nettrial_on_sets):
    first = {1, TREATMENTS + 1}
    waiting = {"FAKE_WAIT": ",".join(map(str, sorted(first)))}
    with nettrial_on_sets.start(*STUDY, "--machines=machines.yaml", "--replicates=4", **waiting) as process:
        wait_in(nettrial_on_sets, *first)
        go_on(nettrial_on_sets)
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert "2 trials at once" in errors
    found = run(nettrial_on_sets)
    assert found.pending() == []
    assert {len(sets) for sets in sets_of(found).values()} == {1}
    assert set(digest(found).sets.values()) == {"left", "right"}
    # Each machine has run its set's trials, and the two warm-up trials of the study.
    trials = exclusive(nettrial_on_sets)
    warm_up = found.study.warm_up_trials
    assert warm_up > 0
    assert sum(trials.values()) == len(NODES) * (len(found.plan) + 2 * warm_up)
    assert {machine.count("-") for machine in trials} == {1}
    page = (nettrial_on_sets.directory / "mine" / "report.html").read_text()
    assert page


def test_a_lost_set_costs_its_trial_and_the_run_goes_on(nettrial_on_sets):
    options = ("--machines=machines.yaml", "--replicates=4")
    with nettrial_on_sets.start(*STUDY, *options, FAKE_WAIT="11") as process:
        wait_in(nettrial_on_sets, 11)
        (lost,) = {trial.record.set for trial in run(nettrial_on_sets).trials() if trial.planned.block == 2}
        (nettrial_on_sets.directory / f"gone-{lost}-receiver").touch()
        go_on(nettrial_on_sets)
        _, errors = process.communicate(timeout=PATIENCE)
    other = {"left": "right", "right": "left"}[lost]
    assert process.returncode == 4
    assert (
        f"the set {lost} is lost: machine {lost}-receiver: no route to host; the run goes on with {other}"
        in errors
    )
    assert "1 of 32 trials failed, and 5 were not run" in errors
    found = run(nettrial_on_sets)
    assert {trial.block for trial in found.pending()} == {2}
    assert all(sets == {other} for block, sets in sets_of(found).items() if block != 2)

    # A set that is not there is refused before anything runs; when it is back, it finishes its block.
    refused = nettrial_on_sets("run", "--resume", "mine", "--machines=machines.yaml")
    assert refused.returncode == 3
    assert f"machine {lost}-receiver" in refused.stderr
    (nettrial_on_sets.directory / f"gone-{lost}-receiver").unlink()
    assert nettrial_on_sets("run", "--resume", "mine", "--machines=machines.yaml").returncode == 0
    assert sets_of(run(nettrial_on_sets))[2] == {lost}


def test_a_block_that_others_finish_is_warned_of(nettrial_on_sets):
    with nettrial_on_sets.start(
        *STUDY, "--machines=machines.yaml", "--replicates=2", FAKE_WAIT="5,13"
    ) as process:
        wait_in(nettrial_on_sets, 5, 13)
        process.send_signal(signal.SIGINT)
        heard(process, "finishing the trials that are running")
        go_on(nettrial_on_sets)
        process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    begun = sets_of(run(nettrial_on_sets))
    (nettrial_on_sets.directory / "left.yaml").write_text(inventory("left"))
    done = nettrial_on_sets("run", "--resume", "mine", "--machines=left.yaml")
    assert done.returncode == 0
    (split,) = (block for block, sets in begun.items() if sets == {"right"})
    assert f"block {split} began on the set right" in done.stderr
    found = run(nettrial_on_sets)
    (warning,) = (each for each in answers(found, summarise(found)).noise if each.code == "split_block")
    assert warning.message == f"block {split} ran on several sets of machines: left, right"
    assert warning.trials == TREATMENTS
    assert warning.effect is HarmOfWarnings.BIAS
    assert sets_of(run(nettrial_on_sets))[3 - split] == {"left"}


def test_a_killed_runner_is_resumed_with_each_block_on_its_set(nettrial_on_sets):
    with nettrial_on_sets.start(
        *STUDY, "--machines=machines.yaml", "--replicates=3", FAKE_WAIT="5,13"
    ) as process:
        wait_in(nettrial_on_sets, 5, 13)
        process.kill()
    begun = sets_of(run(nettrial_on_sets))
    assert sorted(begun) == [1, 2]
    assert nettrial_on_sets("run", "--resume", "mine", "--machines=machines.yaml").returncode == 0
    found = run(nettrial_on_sets)
    assert found.pending() == []
    assert {block: sets_of(found)[block] for block in begun} == begun
    assert {len(sets) for sets in sets_of(found).values()} == {1}


def test_a_set_that_a_short_run_does_not_use_is_named(nettrial_on_sets):
    done = nettrial_on_sets(*STUDY, "--machines=machines.yaml", "--replicates=1")
    assert done.returncode == 0, done.stderr
    assert "so 1 of the sets left, right works; more replicates use the others" in done.stderr


def test_a_rule_adds_a_block_for_each_set_and_no_more_than_its_most(nettrial_on_sets):
    rule = ("--until=0.001%", "--min-blocks=4", "--max-blocks=7")
    done = nettrial_on_sets(*STUDY, "--machines=machines.yaml", *rule)
    assert done.returncode == 0, done.stderr
    found = sets_of(run(nettrial_on_sets))
    assert sorted(found) == list(range(1, 8))
    assert found[5] | found[6] == {"left", "right"}


def test_a_fault_names_its_set(nettrial_on_sets):
    options = (*STUDY[:4], "--set", "mtu=500,9000", "--machines=machines.yaml")
    done = nettrial_on_sets(*options)
    assert done.returncode == 2
    assert "on the set left" in done.stderr
