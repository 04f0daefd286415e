"""Unusual runs, written by the real store: analysis, report and exports must give a sensible result for each.

`EDGE_RUNS` lists them by name, each as a function that writes the run into a directory that must not exist.
`many` writes a large one quickly."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

from nettrial.design import PlannedTrial, plan, scenario_of
from nettrial.scenario import Absence, Record
from nettrial.store import Run
from nettrial.study import load
from tests.unit.synthetic import ENVIRONMENT, figures, make_run, plain, record

ONE_STACK = {"sender": "linux-cubic", "receiver": "linux-cubic"}
"""Settings with one stack for both hosts, so that the MTU is the only factor with several levels."""
SIXTY = ",".join(str(1500 + 125 * step) for step in range(60))
"""60 MTUs from 1500 B to 8875 B."""


def empty(directory: Path) -> Run:
    """Makes a run whose plan has no finished trial."""
    return make_run(directory, trials=0)


def all_failed(directory: Path) -> Run:
    """Makes a run in which every trial failed."""
    return make_run(directory, replicates=2, maker=lambda trial: "flow transfer: no answer for 5 s")


def one_trial(directory: Path) -> Run:
    """Makes a run with one of 60 planned trials."""
    return make_run(directory, trials=1)


def one_of_one(directory: Path) -> Run:
    """Makes a run with a single planned trial, which is finished."""
    return make_run(directory, replicates=1, overrides={**ONE_STACK, "mtu": "9000"})


def one_block(directory: Path) -> Run:
    """Makes a run with one trial for each treatment: without replicates, it has no intervals."""
    return make_run(directory, replicates=1)


def part_of_a_block(directory: Path) -> Run:
    """Makes a run with the first block and a part of the second, like a run in progress."""
    return make_run(directory, trials=17)


def one_level(directory: Path) -> Run:
    """Makes a run in which no factor has more than one level, so that there is nothing to compare."""
    return make_run(directory, overrides={**ONE_STACK, "mtu": "9000"})


def one_row(directory: Path) -> Run:
    """Makes a run in which the rows' factor has one level, and each of the columns' factors has two."""
    return make_run(directory, overrides={"mtu": "9000"})


def one_factor(directory: Path) -> Run:
    """Makes a run in which only the rows' factor has several levels."""
    return make_run(directory, overrides=ONE_STACK)


def all_equal(directory: Path) -> Run:
    """Makes a run in which every trial measured the same values."""
    first = PlannedTrial(1, 1, {"mtu": "1500 B", **ONE_STACK})
    return make_run(directory, maker=lambda trial: record(first))


def equal_within_treatments(directory: Path) -> Run:
    """Makes a run in which treatments differ, but the trials of one treatment don't, as in a deterministic
    simulation."""
    return make_run(directory, maker=lambda trial: record(PlannedTrial(1, 1, trial.treatment)))


def missing_metric(directory: Path) -> Run:
    """Makes a run in which no trial has the sender's CPU time, and the trials of block 2 have no
    throughput."""

    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        made.hosts[0].cpu_percent = None
        made.absent = [Absence(metric="cpu", object="sender", reason="one CPU only")]
        if trial.block == 2:
            made.flows[0].goodput_bps = None
        return made

    return make_run(directory, maker=maker)


def missing_treatment(directory: Path) -> Run:
    """Makes a run in which one treatment failed in every block."""
    lost = {"mtu": "9000 B", "sender": "classic", "receiver": "classic"}
    return make_run(directory, maker=lambda trial: "no answer" if trial.treatment == lost else plain(trial))


def missing_baseline(directory: Path) -> Run:
    """Makes a run in which every trial at the baseline failed."""
    return make_run(
        directory, maker=lambda trial: "no answer" if trial.treatment["mtu"] == "1500 B" else plain(trial)
    )


def scattered_failures(directory: Path) -> Run:
    """Makes a run in which one trial of every block failed, so that no block is complete."""
    return make_run(directory, maker=lambda trial: "no answer" if trial.number % 12 == 5 else plain(trial))


def not_a_number(directory: Path) -> Run:
    """Makes a run with figures that are NaN or infinite in the record."""

    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        made.flows[0].goodput_bps = math.nan
        made.flows[1].delay_difference_mean_us = math.inf
        if trial.block == 1:
            made.hosts[0].cpu_percent = math.nan
        return made

    return make_run(directory, maker=maker)


def zeros(directory: Path) -> Run:
    """Makes a run in which jitter is 0 in every trial, and CPU time is 0 at the baseline, so that there are
    no ratios."""

    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        made.flows[1].delay_difference_mean_us = 0.0
        if trial.treatment["mtu"] == "1500 B":
            made.hosts[0].cpu_percent = 0.0
        return made

    return make_run(directory, maker=maker)


def outlier(directory: Path) -> Run:
    """Makes a run of twelve blocks, in which the throughput of trial 30 is a fifth of the expected one."""

    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        if trial.number == 30:
            made.flows[0].goodput_bps = figures(trial)["goodput"] / 5
        return made

    return make_run(directory, replicates=12, maker=maker)


def drifting(directory: Path) -> Run:
    """Makes a run in which throughput falls by a tenth from the first trial to the last."""

    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        made.flows[0].goodput_bps = figures(trial)["goodput"] * (1 - trial.number / 1200)
        return made

    return make_run(directory, replicates=10, maker=maker)


def sixty_levels(directory: Path) -> Run:
    """Makes a run in which the rows' factor has 60 levels."""
    return make_run(directory, replicates=3, overrides={**ONE_STACK, "mtu": SIXTY})


def many(directory: Path, trials: int = 10_000, overrides: dict[str, str] | None = None) -> Run:
    """Makes a run of `trials` trials in a single transaction, because one transaction for each trial would
    take minutes. The number is rounded up to whole blocks of the treatments that `overrides` select."""
    study = load("jumbo-ipv6").with_overrides(overrides or {})
    each = len(plan(study, 1, seed=7))
    planned = plan(study, -(-trials // each), seed=7)
    scenarios = {json.dumps(p.treatment): scenario_of(study, p.treatment) for p in planned[:each]}
    text = study.document.text
    run = Run.create(directory, text, study.published_text(), study, planned, 7, "nettrial run jumbo-ipv6")
    with run.session(ENVIRONMENT) as session:
        run._connection.execute("BEGIN")
        for trial in planned:
            made = plain(trial)
            assert isinstance(made, Record)
            session.finished(trial, scenarios[json.dumps(trial.treatment)], made)
        run._connection.execute("COMMIT")
    return run


EDGE_RUNS: dict[str, Callable[[Path], Run]] = {
    made.__name__: made
    for made in (
        empty,
        all_failed,
        one_trial,
        one_of_one,
        one_block,
        part_of_a_block,
        one_level,
        one_row,
        one_factor,
        all_equal,
        equal_within_treatments,
        missing_metric,
        missing_treatment,
        missing_baseline,
        scattered_failures,
        not_a_number,
        zeros,
        outlier,
        drifting,
        sixty_levels,
    )
}
"""The functions that make unusual runs, by name."""
EDGE_RUNS["thousand_trials"] = partial(many, trials=1000)
