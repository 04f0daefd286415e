"""The costs of packets to hosts, fitted to trials: known costs are found, intervals contain them, and doubts
are stated."""

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from nettrial import scenario
from nettrial.analysis.costs import Costs, HostFit, costs
from nettrial.analysis.costs import fit as fit_host
from nettrial.analysis.mtu_fits import ETHERNET_BYTES
from nettrial.cli.documents.calibrate import CalibrateDocument
from nettrial.design import PlannedTrial, scenario_of
from nettrial.errors import BadInput
from nettrial.scenario import InterfaceRecord, Record
from nettrial.study import Study, load
from tests.unit.synthetic import BUSY, altered_study, make_run, record

MTUS = {"mtu": "1500,3000,6000,9000", "sender": "linux-cubic", "receiver": "linux-cubic"}
PACKET_US, KILOBYTE_US = 1.3, 2.1
ACKNOWLEDGMENT_BYTES = 72
KILOBYTES = 250_000
"""The payload in kilobytes that a trial's host sends in full packets."""
OTHER_WORK = scenario.Warning(
    code="other_work",
    object="the machine",
    message="other processes used 60% of a CPU",
    consequence="their work is in the CPU time of the hosts.",
)
Busy = Callable[[PlannedTrial, float, float], float]
"""A function that returns the CPU time of a trial in microseconds, given its numbers of packets and
kilobytes."""


def exact(_trial: PlannedTrial, packets: float, kilobytes: float) -> float:
    return PACKET_US * packets + KILOBYTE_US * kilobytes


def made_by(busy: Busy = exact, warnings: Callable[[PlannedTrial], list[scenario.Warning]] = lambda _: []):
    """Returns a maker of records, whose interfaces sent full packets in one direction and an acknowledgment
    for every two of them in the other."""

    def made(trial: PlannedTrial) -> Record:
        found, mtu = record(trial, warnings(trial)), int(trial.treatment["mtu"].split()[0])
        full = 1000 * KILOBYTES // mtu
        sent = {"sender": (full, mtu), "receiver": (full // 2, ACKNOWLEDGMENT_BYTES)}
        study = load("jumbo-ipv6").with_overrides(MTUS)
        for link in scenario_of(study, trial.treatment).links:
            (host,) = (end.node for end in link.ends if end.node in sent)
            other = "receiver" if host == "sender" else "sender"
            for end in link.ends:
                packets, size = sent[host if end.node == host else other]
                found.ends.append(
                    InterfaceRecord(
                        node=end.node,
                        interface=end.interface,
                        wire_bytes=packets * (size + ETHERNET_BYTES),
                        frames_pkts=packets,
                        drops_pkts=0,
                    )
                )
        packets = full + full // 2
        kilobytes = (full * mtu + full // 2 * ACKNOWLEDGMENT_BYTES) / 1000
        for host in found.hosts:
            host.processor_shared_with = []
            host.cpu_busy_ns = round(1000 * busy(trial, packets, kilobytes))
        return found

    return made


def fitted(directory: Path, overrides: dict[str, str] | None = None, **made: object) -> Costs:
    return costs(make_run(directory, 3, {**MTUS, **(overrides or {})}, made_by(**made)))


def of_sender(found: Costs) -> HostFit:
    return next(fit for fit in found.hosts if fit.host == "sender")


def test_costs_that_are_in_the_trials_come_out(tmp_path: Path) -> None:
    found = fitted(tmp_path / "run")
    assert [fit.host for fit in found.hosts] == ["sender", "receiver"]
    assert (found.absent, found.left_out) == ({}, ())
    for fit in found.hosts:
        assert fit.per_packet.value == pytest.approx(PACKET_US, rel=1e-6)
        assert fit.per_kilobyte.value == pytest.approx(KILOBYTE_US, rel=1e-6)
        assert fit.r_squared == pytest.approx(1)
        assert list(fit.errors) == [("mtu", f"{mtu} B") for mtu in (1500, 3000, 6000, 9000)]
        assert list(fit.errors.values()) == pytest.approx([0] * 4, abs=1e-4)
        assert (fit.trials, fit.cautions) == (12, ())


def test_a_level_is_held_out_of_the_fit_that_tells_it(tmp_path: Path) -> None:
    """One level takes 20% longer than the others predict, so that their prediction is 1 / 1.2 of it."""

    def busy(trial: PlannedTrial, packets: float, kilobytes: float) -> float:
        return exact(trial, packets, kilobytes) * (1.2 if trial.treatment["mtu"] == "3000 B" else 1)

    fit = of_sender(fitted(tmp_path / "run", busy=busy))
    assert fit.errors["mtu", "3000 B"] == pytest.approx(100 * (1 / 1.2 - 1), abs=1e-3)
    assert abs(fit.errors["mtu", "1500 B"]) > 1
    assert fit.r_squared is not None
    assert 0 < fit.r_squared < 0.99


def test_intervals_hold_the_costs_as_often_as_they_say(tmp_path: Path) -> None:
    """Treatments deviate from the model by 3%, although the trials of one treatment don't deviate from each
    other."""
    draw = np.random.default_rng(6)
    work = of_sender(fitted(tmp_path / "run")).work
    rounds, held = 400, np.zeros(2)
    for _ in range(rounds):
        scattered = [
            replace(each, busy_us=each.busy_us * noise)
            for each, noise in zip(work, draw.normal(1, 0.03, len(work)), strict=True)
        ]
        fit = fit_host("sender", scattered, [])
        truths = (PACKET_US, KILOBYTE_US)
        for number, (cost, truth) in enumerate(zip(fit.costs().values(), truths, strict=True)):
            assert cost.interval is not None
            held[number] += cost.interval.contains(truth)
    error = 3.5 * np.sqrt(0.95 * 0.05 / rounds)
    assert held / rounds == pytest.approx(0.95, abs=error)


def test_one_packet_size_can_not_tell_the_costs_apart(tmp_path: Path) -> None:
    fit = of_sender(fitted(tmp_path / "run", {"mtu": "1500,1502"}))
    assert fit.per_kilobyte.value == 0
    mean_us = KILOBYTE_US * (1500 + 36) / 1500  # One full packet comes with half an acknowledgment.
    assert fit.per_packet.value == pytest.approx(PACKET_US + mean_us, rel=1e-2)
    (said,) = fit.cautions
    assert said.startswith("the costs of a packet and of a kilobyte can't be distinguished")
    assert ": packets had 1024 to 1025 B" in said
    alone = of_sender(fitted(tmp_path / "alone", {"mtu": "1500"}))
    assert (alone.per_packet.interval, alone.errors, alone.r_squared) == (None, {}, None)


def test_a_cost_is_never_below_0_and_says_so_when_it_is_0(tmp_path: Path) -> None:
    fit = of_sender(fitted(tmp_path / "run", busy=lambda _t, packets, kilobytes: 3 * kilobytes - packets))
    assert (fit.per_packet.value, fit.per_packet.interval) == (0, None)
    assert fit.per_kilobyte.value == pytest.approx(2.5, abs=0.4)
    assert fit.per_kilobyte.interval is not None
    (said,) = fit.cautions
    assert said.startswith("per_packet is 0: ")
    assert "depends on bytes only" in said


def test_two_treatments_are_fitted_and_nothing_tests_them(tmp_path: Path) -> None:
    fit = of_sender(fitted(tmp_path / "run", {"mtu": "1500,9000"}))
    assert fit.per_packet.value == pytest.approx(PACKET_US, rel=1e-6)
    assert (fit.per_packet.interval, fit.per_kilobyte.interval, fit.errors) == (None, None, {})
    assert fit.cautions == ("there are as many costs as treatments, so that the fit can't be tested",)


def test_trials_beside_which_others_worked_are_left_out(tmp_path: Path) -> None:
    """These trials take half as long again; the remaining trials give the costs."""

    def disturbed(trial: PlannedTrial) -> bool:
        return trial.block == 2

    def busy(trial: PlannedTrial, packets: float, kilobytes: float) -> float:
        return exact(trial, packets, kilobytes) * (1.5 if disturbed(trial) else 1)

    def warnings(trial: PlannedTrial) -> list[scenario.Warning]:
        return [OTHER_WORK] if disturbed(trial) else [BUSY]

    run = make_run(tmp_path / "run", 3, MTUS, made_by(busy, warnings))
    found = costs(run)
    assert set(found.left_out) == {trial.number for trial in run.plan if trial.block == 2}
    assert of_sender(found).per_packet.value == pytest.approx(PACKET_US, rel=1e-6)
    assert of_sender(found).trials == 8
    every = make_run(tmp_path / "every", 1, MTUS, made_by(exact, lambda _: [OTHER_WORK]))
    with pytest.raises(BadInput, match=r"other processes ran during each of its 4 trials \(other_work\)"):
        costs(every)


def test_what_is_in_the_processors_time_and_no_packets_cost_is_said(tmp_path: Path) -> None:
    def made(trial: PlannedTrial) -> Record:
        found = made_by()(trial)
        found.backend = "sim"
        found.hosts[0].processor_shared_with = ["router"]
        return found

    changes = {
        "tso: false": "tso: true",
        "transport: tcp\n": "transport: tcp\n    socket: {busy_poll: 1 ms}\n",
    }
    study = altered_study(tmp_path / "study", changes)
    found = costs(make_run(tmp_path / "run", 1, MTUS, made, study=study))
    said = of_sender(found).cautions
    assert [caution.split(":")[0] for caution in said] == [
        "it was simulated",
        "its CPU also did the work of router",
        "it used offloads",
        "its reads poll (`busy_poll`)",
    ]
    assert len(found.hosts[1].cautions) == 3


def refused(directory: Path, made: Callable[[PlannedTrial], Record], study: Study | None = None) -> str:
    with pytest.raises(BadInput) as caught:
        costs(make_run(directory, 1, MTUS, made, study=study))
    return str(caught.value)


def test_runs_that_tell_no_costs_are_refused(tmp_path: Path) -> None:
    assert "sender: its packets were not counted: that requires a rate of its links" in refused(
        tmp_path / "uncounted", record
    )

    def unmeasured(trial: PlannedTrial) -> Record:
        found = made_by()(trial)
        for host in found.hosts:
            host.cpu_busy_ns = None
        found.absent = [scenario.Absence(metric="cpu", object="sender", reason="there is one CPU")]
        return found

    said = refused(tmp_path / "unmeasured", unmeasured)
    assert "sender: there is one CPU\n" in said
    assert "expected: a run with the CPU time (`measurement.cpu`)" in said
    with pytest.raises(BadInput, match="no trial is finished"):
        costs(make_run(tmp_path / "none", 1, MTUS, made_by(), trials=0))


SCATTER = {1500: 1.01, 3000: 0.98, 6000: 1.03, 9000: 0.99}


def scattered(trial: PlannedTrial, packets: float, kilobytes: float) -> float:
    return exact(trial, packets, kilobytes) * SCATTER[int(trial.treatment["mtu"].split()[0])]


def test_the_command_and_the_settings_it_prints(nettrial, golden) -> None:
    def warnings(trial: PlannedTrial) -> list[scenario.Warning]:
        return [OTHER_WORK] if trial.number == 5 else [BUSY] if trial.treatment["mtu"] == "1500 B" else []

    make_run(nettrial.directory / "mine", 3, MTUS, made_by(scattered, warnings))
    done = nettrial("calibrate", "mine")
    assert (done.returncode, done.stderr) == (0, "")
    golden("calibrate", done.stdout)
    told = nettrial("calibrate", "mine", "--json")
    document = CalibrateDocument.model_validate_json(told.stdout)
    assert document.trials_left_out == [5]
    assert [fit.host for fit in document.fits] == ["sender", "receiver"]
    shown = done.stdout[done.stdout.index("hosts:") : done.stdout.index("\n\nOr as options")]
    assert yaml.safe_load(shown) == {"hosts": document.hosts}
    words = shlex.split(done.stdout.splitlines()[-1])
    given = dict(word.split("=") for word in words if word != "--set")
    study = load("jumbo-ipv6").with_overrides(given)
    for name, host in document.hosts.items():
        cost = study.settings({**MTUS, "mtu": "1500 B"}).host(name).cost
        assert cost.model_dump(include=set(host["cost"])) == host["cost"]
        assert (cost.per_interrupt, cost.coalescing) == ("0 ns", "0 ns")


def test_bad_runs_are_exit_2_and_print_nothing(nettrial, golden) -> None:
    make_run(nettrial.directory / "mine", 1, MTUS)
    done = nettrial("calibrate", "mine")
    assert (done.returncode, done.stdout) == (2, "")
    golden("error-calibrate-uncounted", done.stderr)
    missing = nettrial("calibrate", "nothing", "--json")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "a directory with a run.sqlite" in missing.stderr
