"""`nettrial run --sessions`: one plan in several independent sessions, each of which is a run."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from nettrial.cli import pool, run
from nettrial.cli.console import say
from nettrial.cli.limits import ANYTHING
from nettrial.cli.options import seconds_of
from nettrial.report import numbers
from nettrial.running.start import new_directory, new_seed
from nettrial.running.study_design import DesignOptions
from nettrial.study import load


def start(
    name: str | None,
    options: DesignOptions,
    out: Path | None,
    manner: run.Manner,
    sessions: int,
    apart: str | None,
) -> int:
    """Runs a study in several sessions, `apart` from each other in time, in the directories 1, 2 and so on of
    `out`; prints what they show together, and returns the exit status. Each session starts its own engine and
    builds its own network, and has its own seed. The first one that fails or is stopped ends the others."""
    name = run.named(name)
    wait = 0 if apart is None else seconds_of("--apart", apart)
    study = load(name)
    manner.gate.limits(study)  # an error of theirs comes before the trials
    directory = new_directory(study, out)
    seed = new_seed(options.seed)
    directories = [directory / f"{number:0{len(str(sessions))}}" for number in range(1, sessions + 1)]
    for number, each in enumerate(directories, start=1):
        if number > 1 and wait:
            if not manner.quiet:
                say(f"waiting for {apart} before the next session")
            time.sleep(wait)
        if not manner.quiet:
            say(f"session {number} of {sessions}")
        its_seed = (seed + number - 1) % 2**32
        silent = replace(manner, form=replace(manner.form, is_printed=False), gate=ANYTHING)
        status = run.start(name, replace(options, seed=its_seed), each, silent)
        if status:
            done = numbers.counted(number - 1, "session")
            say(f"{done} finished; `nettrial pool {directory}` shows what two or more have in common")
            return status
    return pool.show(directories, manner.form.as_json, gate=manner.gate)
