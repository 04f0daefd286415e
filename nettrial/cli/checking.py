"""The backend's own check of a plan's trials, before any is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from nettrial.backends import BACKENDS, Backend
from nettrial.cli.console import say
from nettrial.cli.design import Design
from nettrial.design import Treatment, resolve
from nettrial.design.trial_order import in_words
from nettrial.errors import BadInput, CannotRun, Fault, Lack
from nettrial.fields import in_short
from nettrial.scenario import Estimate, Scenario
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
    treatments share is reported once."""
    found: dict[tuple[str, str, str, str, str, bool], tuple[list[str], list[Treatment]]] = {}
    work: Work = {}
    for treatment, scenario in scenarios:
        checked = backend.checked(scenario)
        work[tuple(treatment.levels.values())] = checked.estimate
        origins = resolve(study, treatment.levels).origins if checked.problems else None
        for problem in checked.problems:
            where = origins.where(problem.pointer) if origins else ""
            said = (problem.setting, problem.value, problem.expected, problem.hint)
            key = (where, *said, bool(problem.of_machine))
            objects, of = found.setdefault(key, ([], []))
            if problem.object not in objects:
                objects.append(problem.object)
            if treatment not in of:
                of.append(treatment)
    faults, lacks = [], []
    for (at, setting, value, expected, hint, of_machine), (objects, of) in found.items():
        which = "every treatment" if len(of) == len(scenarios) else f"treatment {in_words(of[0].levels)}"
        if 1 < len(of) < len(scenarios):
            which += f" and {len(of) - 1} more"
        object = f"{at}: {setting} of {in_short(objects)}{on}, {which}"
        if of_machine:
            lacks.append(Lack(f"{object}: {value}", f"here only {expected}", hint))
        else:
            faults.append(Fault(object, value, expected, hint))
    if faults:
        raise BadInput.listing(CHECKING, faults)
    if lacks:
        raise CannotRun(CHECKING, lacks)
    return work


def check_plan(design: Design) -> None:
    """Has the engine check a plan as `run` does; raises BadInput. A plan can be viewed on a machine that
    could not run it, and on one without an engine."""
    study = design.study
    kind = BACKENDS[study.backend]
    try:
        backend = kind.start(kind.configuration())
    except CannotRun:
        say("the plan was not checked, because there is no engine here; `nettrial run` checks it")
        return
    with backend:
        try:
            check({None: backend}, study, design.scenarios)
        except CannotRun as lacking:
            if lacking.doing != CHECKING:
                raise
