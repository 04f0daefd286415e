"""`nettrial run --dry-run --from`: the number of trials for a precision, estimated from earlier runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from nettrial.analysis.planning import ASSURANCE, Blocks, Need, needs, seconds
from nettrial.cli import READING
from nettrial.cli.console import print_table
from nettrial.design.trial_order import in_words
from nettrial.errors import BadInput
from nettrial.report import numbers
from nettrial.report.stopping import rule
from nettrial.running.study_design import SET_UP_SECONDS, Design
from nettrial.store import Run

NEEDS_SHOWN = 24
"""The number of estimates up to which all are listed; beyond it, only the largest of each response is."""


def show(design: Design, directories: Sequence[Path]) -> None:
    """Prints the number of trials that the study's stopping rule needs, estimated from earlier runs; raises
    BadInput."""
    until = design.study.until
    if until is None:
        hint = "it sets the precision of the means; `until` in the study file does, too"
        raise BadInput(READING, "--from", str(directories[0]), "--until PERCENT with it", hint)
    runs = [Run.open(directory) for directory in directories]
    treatments = [treatment.levels for treatment in design.scenarios.treatments]
    wanting = needs(runs, treatments, until.percent)
    known = [need for need in wanting if need.fixed is not None]
    if not known:
        reasons = "; ".join(dict.fromkeys(need.absent or "" for need in wanting))
        expected = "a run with this study's treatments and several trials of each"
        raise BadInput("estimating the trials", str(directories[0]), reasons, expected)
    trials = sum(run.finished() for run in runs)
    print(f"Blocks until {rule(until)}, estimated from {trials} trials of {', '.join(map(str, directories))}")
    shown = known if len(known) <= NEEDS_SHOWN else _largest(known)
    if len(shown) < len(known):
        print("For each response, the treatment that needs most:")
    print_table(
        ["response", "treatment", "trials", "varies by", "wanted", "beforehand", "with --until"],
        [
            [
                need.response,
                in_words(need.treatment),
                str(need.trials),
                f"{need.variation:.2g}%",
                f"±{need.wanted:g}%",
                _blocks(need.fixed),
                _blocks(need.sequential),
            ]
            for need in shown
        ],
    )
    print(
        "In brackets: with the largest variation that so few trials do not rule out (confidence "
        f"{100 * ASSURANCE:g}%). "
        "Beforehand: a number of trials fixed by --replicates."
    )
    for reason in dict.fromkeys(need.absent for need in wanting if need.absent):
        of = [f"{need.response} ({in_words(need.treatment)})" for need in wanting if need.absent == reason]
        more = f" and {len(of) - 3} more" if len(of) > 3 else ""
        print(f"Not estimated, {reason}: {', '.join(of[:3])}{more}")
    _print_total(design, runs, known)


def _largest(known: Sequence[Need]) -> list[Need]:
    """Returns the estimate with the most blocks for each response."""
    largest: dict[str, Need] = {}
    for need in known:
        before = largest.get(need.response)
        if before is None or (need.variation or 0) > (before.variation or 0):
            largest[need.response] = need
    return list(largest.values())


def _blocks(blocks: Blocks | None) -> str:
    if blocks is None:
        return ""
    expected, assured = (
        "a million or more" if n is None else str(n) for n in (blocks.expected, blocks.assured)
    )
    return expected if expected == assured else f"{expected} ({assured})"


def _print_total(design: Design, runs: Sequence[Run], known: Sequence[Need]) -> None:
    """Prints the totals for the whole run, in which every treatment has as many trials as the one that needs
    most."""
    until, simulated = design.study.until, design.study.capabilities.simulated_time
    assert until is not None
    measured = {} if simulated else seconds(runs)
    each = [
        measured.get(tuple(sorted(treatment.levels.items())), traffic_s + SET_UP_SECONDS)
        for treatment, traffic_s in zip(
            design.scenarios.treatments, design.scenarios.traffic_seconds(), strict=True
        )
    ]

    def total(name: str, of: Callable[[Need], Blocks | None], least: int) -> list[str]:
        counts = [need_of_blocks.expected if (need_of_blocks := of(need)) else None for need in known]
        if any(count is None for count in counts):
            return [name, "a million or more", "", ""]
        blocks = max(least, *(count or 0 for count in counts))
        length = numbers.as_time(sum(each) * blocks + max(each) * design.study.warm_up_trials)
        if simulated:
            length = design.length(blocks).removeprefix("about ")
        return [name, str(blocks), str(blocks * len(each)), length]

    print()
    rows = [
        total("fixed beforehand (--replicates)", lambda need: need.fixed, 1),
        total("with --until", lambda need: need.sequential, until.minimum),
    ]
    print_table(["", "blocks", "trials", "time"], rows)
    wanted = rows[1][1]
    if not wanted.isdecimal() or int(wanted) > until.maximum:
        print(f"With --until the run would end before that, at {until.maximum} blocks: see --max-blocks.")
