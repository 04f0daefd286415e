"""Measures whether the answers of a run hold in the next run, on a machine whose load varies.

    python benches/repeatability.py DIR [--runs 10] [--study STUDY] [--set NAME=VALUE,...] [--replicates 5]
    python benches/repeatability.py DIR --analyse

The first form runs a real-time study several times into DIR/01, DIR/02 and so on, each in a session of its
own, with other work on the machine that differs from run to run: from none to a busy process on each CPU, in
a random order that is always the same. Runs that are already there are kept, so that the bench can be
interrupted. Both forms print:

- how many runs' own intervals contain the next run's mean, and how many predictions of a pool of all other
  runs contain the mean of the one that was left out, over all responses and treatments (nominal: 95%);
- the same of changes in percent, with the intervals that hold together;
- how many comparisons of two runs of the unchanged system fail `compare --fail-if` with a fall or rise of 3%,
  for each response, with the other runs as the history and without (at most 5%).

It needs the privileges of the study's backend, and takes the time of the runs: 10 runs of jumbo-ipv6 with 5
replicates and traffic of 0.5 s take about 10 minutes."""

from __future__ import annotations

import argparse
import itertools
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import nettrial
from nettrial.analysis import summarise
from nettrial.analysis.level_effects import findings
from nettrial.analysis.outcomes import Outcome
from nettrial.analysis.sessions import pool, repeated_change
from nettrial.comparison import Comparison
from nettrial.errors import BadInput
from nettrial.store import Run

SHORT = {"workload.transfer.traffic.duration": "0.5 s", "workload.probe.traffic.duration": "0.5 s"}
"""The settings of jumbo-ipv6, whose traffic of half a second suffices."""
LIMIT_PERCENT = 3
"""The change from which a gate fails."""
FEWEST_SESSIONS = 3
"""The fewest runs of a pool."""


@contextmanager
def other_work(processes: int) -> Iterator[None]:
    """Keeps that many CPUs busy."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def make(directory: Path, study: str, settings: dict[str, object], runs: int, replicates: int) -> None:
    """Makes the runs that are not there yet. Each trial counts whatever else happens: running disturbed ones
    again would hide the load."""
    loads = list(range((os.cpu_count() or 1) + 1))
    draw = random.Random(1)
    for number in range(1, runs + 1):
        load, out = draw.choice(loads), directory / f"{number:02}"
        if out.exists():
            continue
        print(f"run {number} of {runs}, beside {load} busy processes", file=sys.stderr)
        with other_work(load):
            nettrial.run(
                study, settings=settings, replicates=replicates, seed=number, reruns=0, backend="lab", out=out
            )


def coverage_of_means(runs: Sequence[Run]) -> dict[str, list[bool]]:
    """Returns whether intervals contained the mean of the next run, for a run's own intervals and for
    predictions."""
    contained: dict[str, list[bool]] = {"own interval": [], "prediction": []}
    summaries = [summarise(run) for run in runs]
    for first, second in itertools.pairwise(summaries):
        for one, other in zip(first.responses, second.responses, strict=True):
            for cell, later in zip(one.cells, other.cells, strict=True):
                if cell.interval is not None and later.mean is not None:
                    contained["own interval"].append(cell.interval.contains(later.mean))
    for left_out, summary in enumerate(summaries):
        others = [run for number, run in enumerate(runs) if number != left_out]
        if len(others) < FEWEST_SESSIONS:
            continue
        known = {each.response.name: each for each in pool(others).responses}
        for response in summary.responses:
            for cell, mean in zip(response.cells, known[response.response.name].means, strict=True):
                if mean.prediction is not None and cell.mean is not None:
                    contained["prediction"].append(mean.prediction.contains(cell.mean))
    return contained


def coverage_of_changes(runs: Sequence[Run]) -> dict[str, list[bool]]:
    """Returns the same of changes over all places."""
    contained: dict[str, list[bool]] = {"own interval": [], "prediction": []}
    effects = [
        {
            (response.response.name, finding.factor, effect.level): effect.overall
            for response in summarise(run).responses
            for finding in findings(run.study, response)
            for effect in finding.effects
        }
        for run in runs
    ]
    for first, second in itertools.pairwise(effects):
        for key, change in first.items():
            later = second[key].percent
            if change.simultaneous is not None and later is not None:
                contained["own interval"].append(change.simultaneous.contains(later))
    for left_out, own in enumerate(effects):
        others = [run for number, run in enumerate(runs) if number != left_out]
        if len(others) < FEWEST_SESSIONS:
            continue
        for response in pool(others).responses:
            for finding in response.findings:
                for effect in finding.effects:
                    bounds = repeated_change(effect.overall)
                    percent = own[response.response.name, finding.factor, effect.level].percent
                    if bounds is not None and percent is not None:
                        contained["prediction"].append(bounds.contains(percent))
    return contained


def alarms(runs: Sequence[Run], with_history: bool) -> list[bool]:
    """Returns whether each comparison of two runs of the unchanged system fails a gate, per response."""
    failed = []
    for first, second in itertools.permutations(range(len(runs)), 2):
        history = [run for number, run in enumerate(runs) if number not in (first, second)]
        try:
            compared = Comparison(runs[first], runs[second], (), history if with_history else ())
        except BadInput:
            continue  # they have no response in common
        for response in dict.fromkeys(each.response.name for each in compared.run_comparison.differences):
            limits = [f"{response} < -{LIMIT_PERCENT}%", f"{response} > {LIMIT_PERCENT}%"]
            failed.append(any(each.outcome is Outcome.HOLDS for each in compared.judge(*limits)))
    return failed


def shown(contained: Sequence[bool]) -> str:
    """Returns a share with the numbers from which it follows."""
    return (
        f"{100 * sum(contained) / len(contained):.1f}% ({sum(contained)} of {len(contained)})"
        if contained
        else "none"
    )


def analyse(runs: Sequence[Run]) -> None:
    """Prints the shares."""
    print(f"{len(runs)} runs of {runs[0].study.study}")
    for what, coverage in (("means", coverage_of_means(runs)), ("changes", coverage_of_changes(runs))):
        for kind, held in coverage.items():
            print(f"{what}: {kind} contains the next run's: {shown(held)}")
    for with_history in (False, True):
        kind = "with the other runs as history" if with_history else "without history"
        print(f"gates of ±{LIMIT_PERCENT}% that fail, {kind}: {shown(alarms(runs, with_history))}")


def main() -> None:
    """Makes and analyses the runs."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--study", default="jumbo-ipv6")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE,...")
    parser.add_argument("--replicates", type=int, default=5)
    parser.add_argument("--analyse", action="store_true")
    given = parser.parse_args()
    if not given.analyse:
        settings: dict[str, object] = dict(SHORT) if given.study == "jumbo-ipv6" else {}
        for text in given.set:
            name, _, values = text.partition("=")
            settings[name] = values.split(",")
        make(given.directory, given.study, settings, given.runs, given.replicates)
    analyse([Run.open(file.parent) for file in sorted(given.directory.glob("*/run.sqlite"))])


if __name__ == "__main__":
    main()
