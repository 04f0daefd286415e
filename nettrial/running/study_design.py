"""The design of a run: a study with the options of the command line applied, its trials and their
scenarios."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

from nettrial.backends import BACKENDS
from nettrial.bounds import LARGEST_SEED, MOST_RERUNS, MOST_TRIALS
from nettrial.design import Treatment, refuse_unknown_interfaces, resolve, traffic_seconds, treatments
from nettrial.errors import READING_OPTIONS, BadInput
from nettrial.metrics import METRICS
from nettrial.registry import UnknownName, near
from nettrial.report import numbers
from nettrial.running.default_backend import BackendChoice, choose
from nettrial.scenario import Scenario
from nettrial.study import Study, Until
from nettrial.study.document import READING as READING_STUDY

PRECISION = re.compile(r"(?:(\S+?)\s*=\s*)?(\d+(?:\.\d+)?)\s*%")
"""The form of a precision: a percentage, optionally after the name of a response."""
DECLARED = "declared"
"""The value of `--until` for the precisions that the study's responses declare."""
PRECISION_EXPECTED = f'PERCENT or RESPONSE=PERCENT, such as "2%" or "rtt=5%"; or {DECLARED}'
"""The expected form of a precision, for error messages."""
FEWEST_BLOCKS = 5
"""The fewest blocks before a stopping rule looks at intervals, unless `--min-blocks` is given."""
FEWEST_BLOCKS_OF_A_RULE = 4
"""The fewest blocks that `--min-blocks` and `--max-blocks` may ask for."""
MOST_NODES_KEPT = 5000
"""The number of nodes above which the scenario of a treatment is not kept in memory."""
SET_UP_SECONDS = 0.3
"""The time that a trial takes in addition to its traffic: setting up the network, the checks, tearing it
down."""


@dataclass(frozen=True)
class DesignOptions:
    """The options that determine a run's trials."""

    full: bool = False
    """True with `--full`."""
    sets: tuple[str, ...] = ()
    """The texts of `--set`: NAME=VALUE,..."""
    replicates: int | None = None
    """The number of `--replicates`; None for the study's."""
    seed: int | None = None
    """The number of `--seed`; None for a random one."""
    until: tuple[str, ...] = ()
    """The texts of `--until`."""
    minimum: int | None = None
    """The number of `--min-blocks`."""
    maximum: int | None = None
    """The number of `--max-blocks`."""
    backend: str | None = None
    """The name of `--backend`; None for the study's."""
    reruns: int | None = None
    """The number of `--reruns`; None for the study's."""

    def __post_init__(self) -> None:
        """Raises BadInput for a number that is out of range."""
        for option, value, low, high in (
            ("--replicates", self.replicates, 1, None),
            ("--seed", self.seed, 0, LARGEST_SEED),
            ("--min-blocks", self.minimum, FEWEST_BLOCKS_OF_A_RULE, None),
            ("--max-blocks", self.maximum, FEWEST_BLOCKS_OF_A_RULE, None),
            ("--reruns", self.reruns, 0, MOST_RERUNS),
        ):
            if value is not None and not low <= value <= (value if high is None else high):
                expected = f"{low} or more" if high is None else f"{low} to {high}"
                raise BadInput(READING_OPTIONS, option, str(value), expected)

    def given(self) -> list[str]:
        """Returns the options that were given, verbatim."""
        given = ["--full"] if self.full else []
        given += [f"--set {text}" for text in self.sets]
        given += [f"--replicates {self.replicates}"] if self.replicates is not None else []
        given += [shlex.join(self._stopping())] if self._stopping() else []
        given += [f"--backend {self.backend}"] if self.backend is not None else []
        given += [f"--reruns {self.reruns}"] if self.reruns is not None else []
        return given + ([f"--seed {self.seed}"] if self.seed is not None else [])

    def overrides(self) -> dict[str, str]:
        """Returns the values of `--set` by name; raises BadInput."""
        overrides: dict[str, str] = {}
        for text in self.sets:
            name, equals, values = text.partition("=")
            if not equals or not name:
                raise BadInput(
                    READING_OPTIONS, "--set", text, "NAME=VALUE,...", "such as --set mtu=1500,9000"
                )
            if name in overrides:
                expected = f"each name once, such as --set {name}={overrides[name]},{values}"
                raise BadInput(READING_OPTIONS, "--set", f"{name} is set twice", expected)
            overrides[name] = values
        return overrides

    def on_backend(self, study: Study) -> Study:
        """Returns the study with the requested backend; raises BadInput."""
        if self.backend is None:
            return study
        try:
            BACKENDS[self.backend]
        except UnknownName as unknown:
            raise BadInput(
                READING_OPTIONS, "--backend", str(unknown), unknown.expected, unknown.hint
            ) from None
        return study.on(self.backend)

    def _stopping(self) -> list[str]:
        """Returns the options of the stopping rule, as the words of a command."""
        words = [word for text in self.until for word in ("--until", text)]
        words += ["--min-blocks", str(self.minimum)] if self.minimum is not None else []
        return words + (["--max-blocks", str(self.maximum)] if self.maximum is not None else [])

    def stopping(self, study: Study, replicates: int) -> Until | None:
        """Returns the study's stopping rule with the options applied; raises BadInput. `replicates` is the
        number of blocks that the run would have without a rule."""
        names = [response.name for response in study.responses]
        percent = dict(study.until.percent) if study.until else {}
        for text in self.until:
            percent |= _declared(study) if text == DECLARED else _precision(text, names)
        if not percent:
            given = "--min-blocks" if self.minimum is not None else "--max-blocks"
            if self.minimum is not None or self.maximum is not None:
                raise BadInput(READING_OPTIONS, given, "no --until", "--until PERCENT with it")
            return None
        if self.replicates is not None:
            hint = "with a stopping rule, --min-blocks and --max-blocks set the number of blocks"
            raise BadInput(READING_OPTIONS, "--replicates", str(self.replicates), "none with --until", hint)
        before = study.until or Until(percent=percent, minimum=max(replicates, FEWEST_BLOCKS))
        minimum = self.minimum or before.minimum
        maximum = self.maximum or max(before.maximum, minimum)
        if maximum < minimum:
            hint = f"the rule needs at least {minimum} blocks; --min-blocks sets this number"
            raise BadInput(READING_OPTIONS, "--max-blocks", str(maximum), f"{minimum} or more", hint)
        return Until(percent=percent, minimum=minimum, maximum=maximum)

    def command(self, study: str, seed: int) -> str:
        """Returns the command that makes the same run, with the seed that was drawn."""
        words = ["nettrial", "run", study, *(["--full"] if self.full else [])]
        for text in self.sets:
            words += ["--set", text]
        words += ["--replicates", str(self.replicates)] if self.replicates is not None else []
        words += ["--backend", self.backend] if self.backend is not None else []
        words += ["--reruns", str(self.reruns)] if self.reruns is not None else []
        return shlex.join([*words, *self._stopping(), "--seed", str(seed)])


class Scenarios(Sequence[tuple[Treatment, Scenario]]):
    """The scenario of every treatment. Large ones are made when they are asked for, because they don't fit
    into memory together."""

    def __init__(self, study: Study) -> None:
        """Makes the scenarios of the study, in the order of its treatments, up to the first large one; raises
        BadInput, which the others raise later."""
        self.treatments = treatments(study)
        self._study = study
        self._kept: dict[int, Scenario] = {}
        self._seconds: dict[int, float] = {}
        for number in range(len(self)):
            self[number]
            if number not in self._kept:
                break

    def __len__(self) -> int:
        return len(self.treatments)

    @overload
    def __getitem__(self, place: int) -> tuple[Treatment, Scenario]: ...
    @overload
    def __getitem__(self, place: slice) -> list[tuple[Treatment, Scenario]]: ...
    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        treatment = self.treatments[place]
        if place not in self._kept:
            resolved = resolve(self._study, treatment.levels)
            refuse_unknown_interfaces(self._study, resolved)
            self._seconds[place] = traffic_seconds(resolved.scenario)
            if len(resolved.scenario.nodes) > MOST_NODES_KEPT:
                return treatment, resolved.scenario
            self._kept[place] = resolved.scenario
        return treatment, self._kept[place]

    def traffic_seconds(self) -> list[float]:
        """Returns the expected duration of the traffic of each."""
        for number in range(len(self)):
            if number not in self._seconds:
                self[number]
        return [self._seconds[number] for number in range(len(self))]


@dataclass(frozen=True)
class Design:
    """A study, ready to be planned."""

    study: Study
    """The study, with the options applied."""
    replicates: int
    """The number of replicates; with a stopping rule, the fewest."""
    scenarios: Scenarios
    """The scenario of every treatment."""
    changed: dict[str, str]
    """The settings other than the replicates that `--full` changed, with their values."""
    choice: BackendChoice | None = None
    """The backend that nettrial chose; None if the study or `--backend` names it."""

    @classmethod
    def of(cls, study: Study, options: DesignOptions) -> Design:
        """Applies options to a study, chooses its backend if nothing names it, and resolves its treatments;
        raises BadInput."""
        if options.full and options.replicates is not None:
            given = f"--full and --replicates {options.replicates}"
            raise BadInput(READING_OPTIONS, given, "both set the number of replicates", "one of the two")
        is_open = options.backend is None and not study.names_backend
        read = options.on_backend(study)
        changed = read.full if options.full else {}
        study = (read.in_full() if changed else read).with_overrides(options.overrides())
        replicates = options.replicates or (study.full_replicates if options.full else study.replicates)
        study = study if options.reruns is None else study.run_again(options.reruns)
        until = options.stopping(study, replicates)
        if until is not None:
            study, replicates = study.until_narrow(until), until.minimum
        _refuse_too_many(study, options, replicates)
        _refuse_unmeasured(study)
        scenarios = Scenarios(study)
        choice = choose(study, scenarios) if is_open else None
        if choice is not None and choice.backend != study.backend:
            study = study.on(choice.backend)
            scenarios = Scenarios(study)
        return cls(study, replicates, scenarios, changed, choice)

    @property
    def trials(self) -> int:
        """The number of trials that the plan will have."""
        return self.replicates * len(self.scenarios)

    @property
    def seconds(self) -> float:
        """The expected duration of all trials including the warm-up, in seconds; for a simulated study, the
        simulated time."""
        return self.seconds_of(self.replicates)

    def seconds_of(self, blocks: int) -> float:
        """Returns the expected duration of that many blocks, in seconds."""
        each = self.scenarios.traffic_seconds()
        if self.study.capabilities.simulated_time:
            return sum(each) * blocks
        each = [seconds + SET_UP_SECONDS for seconds in each]
        return sum(each) * blocks + max(each) * self.study.warm_up_trials

    def length(self, blocks: int) -> str:
        """Returns the expected duration of that many blocks in words."""
        simulated = " simulated" if self.study.capabilities.simulated_time else ""
        return f"about {numbers.as_time(self.seconds_of(blocks))}{simulated}"


def _refuse_too_many(study: Study, options: DesignOptions, replicates: int) -> None:
    """Raises BadInput if the replicates or the stopping rule allow too many trials."""
    each = math.prod(len(factor.levels) for factor in study.factors.values())
    if study.until is not None:
        blocks, option, place = study.until.maximum, "--max-blocks", study.where("until", "maximum")
        given = options.maximum is not None or options.minimum is not None
    else:
        blocks, option = replicates, "--replicates"
        place = study.where("full_replicates" if options.full else "replicates")
        given = options.replicates is not None
    if blocks * each > MOST_TRIALS:
        hint = (
            f"{blocks} times {each} treatments are {blocks * each} trials; a run may have up to {MOST_TRIALS}"
        )
        expected = f"up to {MOST_TRIALS // each} of {each} treatments"
        raise BadInput(READING_OPTIONS, option if given else place, str(blocks), expected, hint)


def _refuse_unmeasured(study: Study) -> None:
    """Raises BadInput if the study has a response that its backend can never measure, whatever the network
    and the traffic."""
    for number, response in enumerate(study.responses):
        metric = METRICS[response.metric]
        if study.backend not in metric.backends():
            place = study.where("responses", number, "metric")
            expected = f"a metric that the backend {study.backend} can measure"
            hint = "`nettrial list metrics` shows which backends measure each metric"
            raise BadInput(READING_STUDY, place, metric.name, expected, hint)


def _declared(study: Study) -> dict[str, float]:
    """Returns the precision that each response of the study declares, in percent; raises BadInput if none
    does."""
    declared = {response.name: response.precision for response in study.responses if response.precision}
    if not declared:
        hint = f"no response of {study.study} declares a `precision`"
        raise BadInput(READING_OPTIONS, "--until", DECLARED, PRECISION_EXPECTED, hint)
    return declared


def _precision(text: str, names: Sequence[str]) -> dict[str, float]:
    """Returns the precision that `--until` states, in percent by response, for all responses if it names
    none. Raises BadInput."""
    match = PRECISION.fullmatch(text)
    if match is None or float(match[2]) <= 0:
        raise BadInput(READING_OPTIONS, "--until", text, PRECISION_EXPECTED)
    if match[1] is None:
        return dict.fromkeys(names, float(match[2]))
    if match[1] not in names:
        raise BadInput(READING_OPTIONS, "--until", text, ", ".join(names), near(match[1], names))
    return {match[1]: float(match[2])}


def trial_seconds(scenario: Scenario) -> float:
    """Returns the expected duration of a trial in seconds."""
    return traffic_seconds(scenario) + SET_UP_SECONDS
