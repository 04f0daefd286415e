"""`nettrial run --budget`: the best answer within a given time."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nettrial.analysis.pilot import FEWEST_REPLICATES, DesignChoice, PilotVariation, choose
from nettrial.cli import READING, permission, run
from nettrial.cli.console import say
from nettrial.cli.options import seconds_of
from nettrial.cli.progress import SessionDisplay, say_event
from nettrial.cli.signals import Signals
from nettrial.errors import BadInput, CannotRun, Lack
from nettrial.report import numbers
from nettrial.running import pilot
from nettrial.running.default_backend import LAB
from nettrial.running.pilot import Durations, PilotFindings
from nettrial.running.start import new_directory, new_run, new_seed, refuse_failures
from nettrial.running.stop import Stop
from nettrial.running.study_design import (
    FEWEST_BLOCKS,
    FEWEST_BLOCKS_OF_A_RULE,
    SET_UP_SECONDS,
    Design,
    DesignOptions,
)
from nettrial.store import Run
from nettrial.study import Study, load

RESERVE = 0.9
"""The share of the time left that is planned, because trials do not always take the same time."""
START_SECONDS = 2.0
"""The time that the start of an engine and the report take."""


def start(name: str | None, options: DesignOptions, out: Path | None, manner: run.Manner, budget: str) -> int:
    """Runs a pilot, chooses the duration of the traffic and the number of replicates, runs the study with
    them, and returns the exit status. Raises BadInput if the budget is too small, before anything is written,
    and CannotRun if that shows in the pilot."""
    began = time.monotonic()
    name = run.named(name)
    _refuse_others(options)
    seconds = seconds_of("--budget", budget)
    study = load(name)
    if options.backend is None and not study.names_backend:
        options = replace(options, backend=LAB)  # a budget is one of real time
    design = Design.of(study, options)
    _refuse_simulated(design.study)
    manner.gate.limits(design.study)  # an error of theirs comes before the trials
    durations = pilot.durations(design.study, max(design.scenarios.traffic_seconds()))
    small = Design.of(
        pilot.pilot_study(design.study, durations), DesignOptions(replicates=pilot.FEWEST_BLOCKS)
    )
    least = _least(design, small, durations)
    if seconds < least:
        raise BadInput(
            READING, "--budget", budget, f"{numbers.as_time(least)} or more", _why(design, durations)
        )
    directory = new_directory(design.study, out)
    options = replace(options, seed=new_seed(options.seed))
    made = _run_pilot(small, name, options, directory.with_name(f"{directory.name}-pilot"), manner, seconds)
    if made is None:
        return run.INTERRUPTED
    results = pilot.measured(made, durations)
    left = RESERVE * (seconds - (time.monotonic() - began)) - _beside(design, results.overhead)
    chosen = _chosen(design, options, durations, results, left, manner)
    return run.start(name, chosen, directory, manner)


def _refuse_others(options: DesignOptions) -> None:
    """Raises BadInput for options that determine what the budget chooses."""
    chosen = "the budget determines the number of replicates"
    for option, is_given in (
        ("--replicates", options.replicates is not None),
        ("--full", options.full),
        ("--min-blocks", options.minimum is not None),
        ("--max-blocks", options.maximum is not None),
    ):
        if is_given:
            raise BadInput(READING, option, "given", "not with --budget", chosen)


def _refuse_simulated(study: Study) -> None:
    if study.capabilities.simulated_time:
        hint = "replicates in simulated time differ only in their random numbers: use --replicates or --until"
        raise BadInput(READING, "--budget", f"the backend {study.backend}", "a backend in real time", hint)


def _fewest(study: Study) -> int:
    """Returns the fewest blocks of the run."""
    return FEWEST_REPLICATES if study.until is None else FEWEST_BLOCKS_OF_A_RULE


def _beside(design: Design, overhead: float) -> float:
    """Returns the time that a run takes beside its blocks: its start and its warm-up."""
    longest = max(design.scenarios.traffic_seconds())
    return START_SECONDS + design.study.warm_up_trials * (longest + overhead)


def _least(design: Design, small: Design, durations: Durations) -> float:
    """Returns the shortest budget in seconds: for the smallest pilot, and the fewest blocks of the shortest
    traffic."""
    block = len(design.scenarios) * (durations.seconds[0] + SET_UP_SECONDS)
    run_seconds = _fewest(design.study) * block + _beside(design, SET_UP_SECONDS)
    return math.ceil(small.seconds + START_SECONDS + run_seconds / RESERVE)


def _why(design: Design, durations: Durations) -> str:
    """Returns a hint with what the shortest budget is for, and how to need less."""
    treatments = numbers.counted(len(design.scenarios), "treatment")
    name, factor = max(design.study.factors.items(), key=lambda item: len(item[1].levels))
    setting = shlex.quote(f"{name}={factor.levels[0]}")
    return (
        f"that is for a pilot and {_fewest(design.study)} blocks of {treatments} with traffic of "
        f"{durations.seconds[0]:g} s; fewer levels take less: --set {setting}"
    )


def _run_pilot(
    small: Design, name: str, options: DesignOptions, directory: Path, manner: run.Manner, seconds: float
) -> Run | None:
    """Runs the pilot, with as many blocks as its share of the budget has room for; returns None after Ctrl-C.
    Raises TrialsFailed."""
    block = small.seconds_of(2) - small.seconds_of(1)
    blocks = min(max(int(pilot.SHARE * seconds / block), pilot.FEWEST_BLOCKS), pilot.MOST_BLOCKS)
    only = DesignOptions(replicates=blocks, seed=options.seed, reruns=options.reruns)
    stop = Stop()
    with new_run(small.study, name, only, directory, manner.target, say_event) as ready:
        permission.ask(ready.requests, manner.allows_commands)
        made = ready.create()
        if not manner.quiet:
            length = ready.design.length(blocks)
            say(f"pilot: {numbers.counted(len(ready.trials), 'trial')}, {length}: {directory}")
        with SessionDisplay(made, manner.quiet) as display, Signals(stop, False):
            stopped = ready.apparatus.run_trials(made, ready.work, display.hear, stop)
    if stopped:
        say("stopped in the pilot; the run was not begun")
        return None
    refuse_failures(made, shlex.join(["nettrial", "run", "--resume", str(directory)]))
    return made


def _chosen(
    design: Design,
    options: DesignOptions,
    durations: Durations,
    results: PilotFindings,
    left: float,
    manner: run.Manner,
) -> DesignOptions:
    """Returns the options of the run, for which `left` seconds are left; raises CannotRun if they do not
    suffice."""
    wanted = design.study.until.percent if design.study.until else None
    concerned = _concerned(design.study, results.variations, wanted)
    choice = choose(concerned, durations.seconds, results.overhead, len(design.scenarios), left, wanted)
    fewest = _fewest(design.study)
    if choice is None or choice.fitting < fewest:
        trials = fewest * len(design.scenarios)
        needed = numbers.as_time(trials * (results.overhead + durations.seconds[0]))
        why = f"{trials} trials, in {fewest} blocks, take {needed}"
        lack = Lack("time", why, f"{numbers.as_time(max(left, 0))} are left after the pilot: a larger budget")
        raise CannotRun("running the study within its budget", [lack], "the pilot was run, and nothing else")
    sets = durations.settings(design.study, durations.scales[list(durations.seconds).index(choice.seconds)])
    if not manner.quiet:
        for line in _in_words(concerned, results.overhead, durations, choice):
            say(line)
    options = replace(options, sets=(*options.sets, *(f"{path}={value}" for path, value in sets.items())))
    if wanted:
        return replace(options, minimum=min(FEWEST_BLOCKS, choice.fitting), maximum=choice.fitting)
    return replace(options, replicates=choice.replicates)


def _concerned(
    study: Study, variations: Sequence[PilotVariation], wanted: Mapping[str, float] | None
) -> list[PilotVariation]:
    """Returns the variations of the responses that matter: those with a desired precision or else those of
    the study's answer, or all."""
    named = set(wanted or (study.headline.responses if study.headline else ()))
    return [each for each in variations if not named or each.response in named]


def _in_words(
    variations: Sequence[PilotVariation], overhead: float, durations: Durations, choice: DesignChoice
) -> list[str]:
    """Returns the pilot's findings and the choice, in words."""
    own = durations.seconds[-1]
    said = [
        f"pilot: {each.response} varies by {100 * math.sqrt(each.between):.2g}% between trials and by "
        f"{100 * math.sqrt(each.within / own):.2g}% within one of {own:g} s"
        for each in variations
    ]
    if len(durations.seconds) == 1:
        said = [f"pilot: {each.response} varies by {100 * each.deviation(own):.2g}%" for each in variations]
    said.append(f"pilot: a trial takes {overhead:.2g} s beside its traffic")
    said += [
        f"pilot: with traffic of {durations.seconds[0]:g} s, {each.response} differs by {each.shift:+.2g}% "
        f"from its value with {own:g} s: shorter traffic is not taken"
        for each in variations
        if each.shift is not None and choice.shifted
    ]
    widths = ", ".join(f"{name} ±{width:.2g}%" for name, width in choice.widths.items())
    expected = f"; expected half-widths: {widths}" if widths else ""
    replicates = numbers.counted(choice.replicates, "replicate")
    return [*said, f"chosen: traffic of {choice.seconds:g} s, {replicates}{expected}"]
