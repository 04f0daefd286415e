"""Runs at the edges of what there can be, written by the real store: analysis, report and exports must
each give something sensible of every one.

`EDGE_RUNS` has them by name, each a function that writes the run into a directory that must not exist.
`many` writes a large one quickly.
"""

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
"""Both hosts' stacks fixed: the MTU is the only factor with several levels."""
SIXTY = ",".join(str(1500 + 125 * step) for step in range(60))
"""60 MTUs from 1500 B to 8875 B."""


def empty(directory: Path) -> Run:
    """A plan of which nothing is done."""
    return make_run(directory, trials=0)


def all_failed(directory: Path) -> Run:
    """Every trial failed."""
    return make_run(directory, replicates=2, maker=lambda trial: "flow transfer: no answer for 5 s")


def one_trial(directory: Path) -> Run:
    """One trial of a plan of 60."""
    return make_run(directory, trials=1)


def one_of_one(directory: Path) -> Run:
    """A plan of one trial, which is done."""
    return make_run(directory, replicates=1, overrides={**ONE_STACK, "mtu": "9000"})


def one_block(directory: Path) -> Run:
    """Every treatment once: no replicate, so no interval."""
    return make_run(directory, replicates=1)


def part_of_a_block(directory: Path) -> Run:
    """The first block and some of the second, as a run has that goes on."""
    return make_run(directory, trials=17)


def one_level(directory: Path) -> Run:
    """No factor has more than one level: nothing to compare."""
    return make_run(directory, overrides={**ONE_STACK, "mtu": "9000"})


def one_row(directory: Path) -> Run:
    """The rows' factor has one level, the columns' have two."""
    return make_run(directory, overrides={"mtu": "9000"})


def one_factor(directory: Path) -> Run:
    """Only the rows' factor has several levels."""
    return make_run(directory, overrides=ONE_STACK)


def all_equal(directory: Path) -> Run:
    """Every trial measured the same."""
    first = PlannedTrial(1, 1, {"mtu": "1500 B", **ONE_STACK})
    return make_run(directory, maker=lambda trial: record(first))


def equal_within_treatments(directory: Path) -> Run:
    """Treatments differ, and the trials of one do not: what a deterministic simulator gives."""
    return make_run(directory, maker=lambda trial: record(PlannedTrial(1, 1, trial.treatment)))


def missing_metric(directory: Path) -> Run:
    """No trial has the sender's CPU time, and those of block 2 have no throughput."""

    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        made.hosts[0].cpu_percent = None
        made.absent = [Absence(metric="cpu", object="sender", reason="one CPU only")]
        if trial.block == 2:
            made.flows[0].goodput_bps = None
        return made

    return make_run(directory, maker=maker)


def missing_treatment(directory: Path) -> Run:
    """One treatment fails in every block."""
    lost = {"mtu": "9000 B", "sender": "classic", "receiver": "classic"}
    return make_run(directory, maker=lambda trial: "no answer" if trial.treatment == lost else plain(trial))


def missing_baseline(directory: Path) -> Run:
    """Every trial at the baseline failed."""
    return make_run(
        directory, maker=lambda trial: "no answer" if trial.treatment["mtu"] == "1500 B" else plain(trial)
    )


def scattered_failures(directory: Path) -> Run:
    """A trial of every block failed, so that no block is complete."""
    return make_run(directory, maker=lambda trial: "no answer" if trial.number % 12 == 5 else plain(trial))


def not_a_number(directory: Path) -> Run:
    """Figures that are NaN or infinite when the record is made."""

    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        made.flows[0].goodput_bps = math.nan
        made.flows[1].delay_difference_mean_us = math.inf
        if trial.block == 1:
            made.hosts[0].cpu_percent = math.nan
        return made

    return make_run(directory, maker=maker)


def zeros(directory: Path) -> Run:
    """Jitter is 0 in every trial, and CPU time 0 at the baseline: no ratios."""

    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        made.flows[1].delay_difference_mean_us = 0.0
        if trial.treatment["mtu"] == "1500 B":
            made.hosts[0].cpu_percent = 0.0
        return made

    return make_run(directory, maker=maker)


def outlier(directory: Path) -> Run:
    """Twelve blocks; in trial 30 throughput is a fifth of what it should be."""

    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        if trial.number == 30:
            made.flows[0].goodput_bps = figures(trial)["goodput"] / 5
        return made

    return make_run(directory, replicates=12, maker=maker)


def drifting(directory: Path) -> Run:
    """Throughput falls by a tenth from the first trial to the last."""

    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        made.flows[0].goodput_bps = figures(trial)["goodput"] * (1 - trial.number / 1200)
        return made

    return make_run(directory, replicates=10, maker=maker)


def sixty_levels(directory: Path) -> Run:
    """The rows' factor has 60 levels."""
    return make_run(directory, replicates=3, overrides={**ONE_STACK, "mtu": SIXTY})


def many(directory: Path, trials: int = 10_000, overrides: dict[str, str] | None = None) -> Run:
    """A run of `trials` trials in one transaction, since one for each takes minutes; of `overrides`'
    treatments as many blocks as make so many trials, rounded up."""
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
"""Every edge by name."""
EDGE_RUNS["thousand_trials"] = partial(many, trials=1000)
