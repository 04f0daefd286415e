"""The design of a run: a study with the command line's options in it, its trials and their scenarios."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from nettrial.design import Treatment, scenario_of, traffic_seconds, treatments
from nettrial.errors import BadInput
from nettrial.scenario import Scenario
from nettrial.study import Study, load

READING = "reading the options"
SET_UP_SECONDS = 0.3
"""What a trial takes beside its traffic: the network, the checks, taking it down."""


@dataclass(frozen=True)
class DesignOptions:
    """The options that say which trials a run has."""

    full: bool = False
    sets: tuple[str, ...] = ()
    replicates: int | None = None
    seed: int | None = None

    def given(self) -> list[str]:
        """Those that were given, as they were."""
        given = ["--full"] if self.full else []
        given += [f"--set {text}" for text in self.sets]
        given += [f"--replicates {self.replicates}"] if self.replicates is not None else []
        return given + ([f"--seed {self.seed}"] if self.seed is not None else [])

    def overrides(self) -> dict[str, str]:
        """`--set` by name; raises BadInput."""
        overrides: dict[str, str] = {}
        for text in self.sets:
            name, equals, values = text.partition("=")
            if not equals or not name:
                raise BadInput(READING, "--set", text, "NAME=VALUE,...", "such as --set mtu=1500,9000")
            if name in overrides:
                legal = f"each name once: --set {name}={overrides[name]},{values}"
                raise BadInput(READING, "--set", f"{name} is set twice", legal)
            overrides[name] = values
        return overrides

    def command(self, study: str, seed: int) -> str:
        """The command that makes the same run, with the seed that was drawn."""
        words = ["nettrial", "run", study, *(["--full"] if self.full else [])]
        for text in self.sets:
            words += ["--set", text]
        words += ["--replicates", str(self.replicates)] if self.replicates is not None else []
        return shlex.join([*words, "--seed", str(seed)])


@dataclass(frozen=True)
class Design:
    """A study, ready to be planned."""

    study: Study
    replicates: int
    scenarios: list[tuple[Treatment, Scenario]]
    """Of every treatment."""
    changed: dict[str, str]
    """What `--full` changed beside the replicates."""

    @classmethod
    def of(cls, name: str, options: DesignOptions) -> Design:
        """Reads and resolves a study; raises BadInput."""
        if options.full and options.replicates is not None:
            given = f"--full and --replicates {options.replicates}"
            raise BadInput(READING, given, "both say how many replicates", "one of the two")
        read = load(name)
        changed = read.full if options.full else {}
        study = (read.in_full() if changed else read).with_overrides(options.overrides())
        replicates = options.replicates or (study.full_replicates if options.full else study.replicates)
        scenarios = [(treatment, scenario_of(study, treatment.levels)) for treatment in treatments(study)]
        return cls(study, replicates, scenarios, changed)

    @property
    def trials(self) -> int:
        """How many trials the plan will have."""
        return self.replicates * len(self.scenarios)

    @property
    def seconds(self) -> float:
        """How long they are expected to take, warm-up included."""
        each = [trial_seconds(scenario) for _, scenario in self.scenarios]
        return sum(each) * self.replicates + max(each) * self.study.warmup


def trial_seconds(scenario: Scenario) -> float:
    """How long a trial is expected to take, in seconds."""
    return traffic_seconds(scenario) + SET_UP_SECONDS


def as_time(seconds: float) -> str:
    """A span of time for people: `45 s`, `2 min 18 s`, `1 h 5 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
