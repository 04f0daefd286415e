"""The backend's own check of a plan's trials, before any is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from nettrial.backends import BACKENDS, Backend
from nettrial.design import Treatment, resolve
from nettrial.design.trial_order import in_words
from nettrial.errors import BadInput, CannotRun, Fault, Lack
from nettrial.fields import in_short
from nettrial.report import numbers
from nettrial.running.study_design import Design
from nettrial.scenario import Estimate, Problem, Scenario
from nettrial.study import Study

Work: TypeAlias = dict[tuple[str, ...], Estimate | None]
"""The estimated work of a trial, by the levels of its treatment; None where it is not known beforehand."""
CHECKING = "checking the trials"
"""The current action, for error messages."""


def check(
    backends: Mapping[str | None, Backend], study: Study, scenarios: Sequence[tuple[Treatment, Scenario]]
) -> Work:
    """Asks the backend, for each set of machines by its name, to check every scenario, and returns the
    estimated work by the levels of its treatment. Raises BadInput or CannotRun as `_check` does for the first
    set with a fault."""
    work: Work = {}
    for name, backend in backends.items():
        work = _check(backend, study, scenarios, "" if name is None else f" on the set {name}")
    return work


def _check(backend: Backend, study: Study, scenarios: Sequence[tuple[Treatment, Scenario]], on: str) -> Work:
    """Asks the backend to check every scenario, and returns the estimated work by the levels of its
    treatment. `on` names the set of machines, for messages. Raises BadInput with all faults at once, or, if
    there are none, CannotRun with everything that the machines lack. A fault that several objects or
    treatments share is reported once, and so is a lack that several values share."""
    problems: dict[tuple[str, ...], _Shared] = {}
    work: Work = {}
    for treatment, scenario in scenarios:
        checked = backend.checked(scenario)
        work[tuple(treatment.levels.values())] = checked.estimate
        origins = resolve(study, treatment.levels).origins if checked.problems else None
        for problem in checked.problems:
            where = origins.where(problem.pointer) if origins else ""
            said = (problem.setting, problem.expected, problem.hint)
            key = said if problem.of_machine else (where, problem.value, *said)
            shared = problems.setdefault(key, _Shared(problem))
            for known, new in (
                (shared.places, where),
                (shared.objects, problem.object),
                (shared.values, problem.value),
                (shared.treatments, in_words(treatment.levels)),
            ):
                if new not in known:
                    known.append(new)
    faults, lacks = [], []
    for shared in problems.values():
        first = shared.first
        object = shared.object(len(scenarios), on)
        if first.of_machine:
            lacks.append(
                Lack(f"{object}: {', '.join(shared.values)}", f"expected {first.expected}", first.hint)
            )
        else:
            faults.append(Fault(object, first.value, first.expected, first.hint))
    if faults:
        raise BadInput.listing(CHECKING, faults)
    if lacks:
        raise CannotRun(CHECKING, lacks, "something that they need is missing")
    return work


@dataclass
class _Shared:
    """A problem, and what shares it: places in the study, objects, values and treatments, in words."""

    first: Problem
    places: list[str] = field(default_factory=list)
    objects: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    treatments: list[str] = field(default_factory=list)

    def object(self, of: int, on: str) -> str:
        """Returns the places, the objects and the treatments in words; there are `of` treatments, and `on`
        names the set of machines."""
        which = f"treatment {self.treatments[0]}"
        if len(self.treatments) == of:
            which = "every treatment"
        elif len(self.treatments) > 1:
            which += f" and {len(self.treatments) - 1} more"
        more = len(self.places) - 1
        where = self.places[0] + (f" and {numbers.counted(more, 'more place')}" if more else "")
        return f"{where}: {self.first.setting} of {in_short(self.objects)}{on}, {which}"


def check_plan(design: Design) -> None:
    """Has the engine check a plan, whatever this machine lacks to run it; raises BadInput. Without an engine,
    nothing is checked."""
    study = design.study
    kind = BACKENDS[study.backend]
    try:
        backend = kind.start(kind.configuration())
    except CannotRun:
        return
    with backend:
        try:
            check({None: backend}, study, design.scenarios)
        except CannotRun as lacking:
            if lacking.doing != CHECKING:
                raise
