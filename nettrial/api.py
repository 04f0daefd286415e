"""nettrial in Python: functions that do what the commands do, and return objects instead of printing.

Nothing is printed. Errors are exceptions of `nettrial.errors`: BadInput for an argument, a file or a study
that can't be used, CannotRun for what a machine lacks, and TrialsFailed."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from pydantic_core import PydanticCustomError

from nettrial import comparison, results
from nettrial.comparison import Comparison
from nettrial.errors import READING_OPTIONS, BadInput, Fault
from nettrial.fields import as_text
from nettrial.results import Results
from nettrial.running import log
from nettrial.running.events import Event
from nettrial.running.permission import ASKING, PermissionRequest
from nettrial.running.session import is_unfinished
from nettrial.running.start import CheckedRun, TrialMachines, new_run, refuse_failures, resumed_run
from nettrial.running.stop import Stop
from nettrial.running.study_design import DesignOptions
from nettrial.store import Run
from nettrial.study import Study, given

READING_ARGUMENTS = "reading the arguments"
"""The beginning of the error messages about arguments."""
Listener: TypeAlias = Callable[[Event], object]
"""A function that is called with each event of a session; `print` shows them all."""
_OPTION = re.compile(r"`\w[^`]*`|(?<![\w-])--([a-z][a-z-]*)")
"""An option; or a command in backquotes, whose options stay as they are."""
_ARGUMENTS = {"set": "settings", "token-file": "token_file", "response": "responses", "resume": "run"}


def run(
    study: str | Path | Mapping[str, Any] | Study,
    *,
    settings: Mapping[str, object] | None = None,
    full: bool = False,
    replicates: int | None = None,
    seed: int | None = None,
    backend: str | None = None,
    until: float | str | Mapping[str, float] | None = None,
    min_blocks: int | None = None,
    max_blocks: int | None = None,
    reruns: int | None = None,
    machines: str | Path | None = None,
    on: str | None = None,
    out: str | Path | None = None,
    strict: bool = False,
    allow_exec: bool = False,
    progress: Listener | None = None,
) -> Results:
    """Runs a study, and returns the results of its run, as `nettrial run` does.

    `study` is the name of a shipped study, the path of a study file, the content of one as dictionaries and
    lists, or a `nettrial.study.Study`. Files that a study without a file names are in the working directory.
    `settings` are changes by a factor's name or a setting's dotted path: a value fixes a setting, and a list
    makes it a factor. `full` takes the study's own changes for a run in full; `replicates`, `seed` and
    `backend` override the study's. With `until`, blocks are added until each mean is known to that many
    percent, by response or for all; "declared" stands for the precisions that the study declares;
    `min_blocks` and `max_blocks` limit their number. A trial that something else disturbed is run again up to
    `reruns` times, by default the study's number. `machines` is the file of an inventory, and `on` a Dask
    cluster. `out` is the run's directory, which must not exist; by default `runs/STUDY-TIME`. With `strict`,
    a trial with a warning counts as failed. `allow_exec` permits the study to start programs of its own
    choice, and to send files of yours.

    `progress` is called with each event of `nettrial.running.events`, in this thread; an exception that it
    raises ends the run. `KeyboardInterrupt` abandons the running trials, and `resume` runs them again.

    Raises BadInput, CannotRun, and TrialsFailed after a run with failed trials, which `load` returns all the
    same.

    >>> import nettrial
    >>> results = nettrial.run(
    ...     "examples/loss",
    ...     settings={"loss": [0.005, 0.01], "workload.download.traffic.duration": "1 s"},
    ...     replicates=5,
    ...     seed=1,
    ...     out="runs/loss",
    ... )
    >>> results.trials.height
    20
    """
    listener = _listener(progress)
    with arguments():
        options = DesignOptions(
            full=full,
            sets=setting_texts(settings or {}),
            replicates=replicates,
            seed=seed,
            until=_until(until),
            minimum=min_blocks,
            maximum=max_blocks,
            backend=backend,
            reruns=reruns,
        )
        read = given(study)
        name = str(study) if isinstance(study, str | Path) else "study.yaml"
        target, directory = _target(machines, on), Path(out) if out is not None else None
        with new_run(read, name, options, directory, target, listener) as ready:
            _permit(ready.requests, allow_exec)
            made = ready.create()
            _run_trials(ready, made, listener)
        return _results(made, strict)


def resume(
    run: str | Path,
    *,
    machines: str | Path | None = None,
    on: str | None = None,
    strict: bool = False,
    allow_exec: bool = False,
    another_apparatus: bool = False,
    progress: Listener | None = None,
) -> Results:
    """Runs the trials of a run that have no record, and returns its results, as `nettrial run --resume` does.

    `run` is the run's directory. The run goes on only with the apparatus that began it, such as the kernel,
    the CPUs and nettrial's version, or with `another_apparatus`. The other arguments, and the exceptions, are
    those of `nettrial.run`.

    >>> import nettrial
    >>> nettrial.resume("runs/loss").trials["state"].unique().to_list()
    ['finished']
    """
    listener = _listener(progress)
    with arguments():
        stored = Run.open(Path(run))
        if is_unfinished(stored):
            with resumed_run(stored, _target(machines, on), listener, another_apparatus) as ready:
                _permit(ready.requests, allow_exec)
                _run_trials(ready, stored, listener)
        return _results(stored, strict)


def load(run: str | Path) -> Results:
    """Returns the results of the run in a directory, such as "runs/mine".

    Raises BadInput if there is no run, or if it was made by a newer version. Data is read on first access and
    then cached: load the run again to see newer trials.

    >>> import nettrial
    >>> results = nettrial.load("runs/loss")
    >>> results.study.title
    'Random loss and congestion controls'
    >>> results.summary().columns[:5]
    ['response', 'unit', 'loss', 'client', 'trials']
    """
    return results.load(run)


def compare(
    a: str | Path,
    b: str | Path,
    *,
    responses: Sequence[str] = (),
    history: Sequence[str | Path] = (),
) -> Comparison:
    """Returns the changes from the run in directory `a` to that in `b`, as `nettrial compare` does, under the
    treatments and for the responses that both have, or for some of these `responses`. `history` has the
    directories of further runs of a's system, from which the comparison knows by how much its sessions
    differ.

    Raises BadInput if there is no run, or if the runs have nothing in common.

    >>> import nettrial
    >>> comparison = nettrial.compare("runs/loss", "runs/loss")
    >>> comparison.changes()["percent"].unique().to_list()
    [0.0]
    >>> [str(each.outcome) for each in comparison.judge("goodput < -90%")]
    ['does not hold', 'does not hold', 'does not hold', 'does not hold']
    """
    with arguments():
        return comparison.compare(a, b, responses, history)


def setting_texts(settings: Mapping[str, object]) -> tuple[str, ...]:
    """Returns the texts of `--set` for settings by name; raises BadInput."""
    texts = []
    for name, value in settings.items():
        values = value if isinstance(value, Sequence) and not isinstance(value, str) else [value]
        try:
            texts.append(f"{name}={','.join(map(as_text, values))}")
        except PydanticCustomError:
            expected = "a text, a number, True or False, or a list of these"
            raise BadInput(READING_ARGUMENTS, f"settings[{name!r}]", repr(value), expected) from None
    return tuple(texts)


def _until(until: float | str | Mapping[str, float] | None) -> tuple[str, ...]:
    """Returns the texts of `--until`."""
    if until is None:
        return ()
    if isinstance(until, Mapping):
        return tuple(f"{name}={percent:g}%" for name, percent in until.items())
    return (until if isinstance(until, str) else f"{until:g}%",)


def _target(machines: str | Path | None, on: str | None) -> TrialMachines:
    return TrialMachines(Path(machines) if machines is not None else None, on)


def _listener(progress: Listener | None) -> Callable[[Event], None]:
    def hear(event: Event) -> None:
        if progress is not None:
            progress(event)

    return hear


def _permit(needed: Sequence[PermissionRequest], allowed: bool) -> None:
    """Raises BadInput if the study needs permission, and has none."""
    if needed and not allowed:
        raise BadInput.listing(ASKING, [request.fault() for request in needed])


def _run_trials(ready: CheckedRun, target: Run, listener: Callable[[Event], None]) -> None:
    # Without a handler of the caller's, Python would print warnings.
    logging.getLogger("nettrial").addHandler(logging.NullHandler())
    with log.kept(target.directory):
        ready.apparatus.run_trials(target, ready.work, listener, Stop())


def _results(target: Run, strict: bool) -> Results:
    refuse_failures(target, f"nettrial.resume({str(target.directory)!r})", strict)
    return Results(target)


@contextmanager
def arguments() -> Iterator[None]:
    """Lets errors name arguments instead of the options of the command line."""
    try:
        yield
    except BadInput as error:
        doing = READING_ARGUMENTS if error.doing == READING_OPTIONS else error.doing
        raise BadInput.listing(doing, [_fault(fault) for fault in error.faults]) from None


def _fault(fault: Fault) -> Fault:
    return Fault(*(_OPTION.sub(_argument, text) for text in _texts(fault)))


def _texts(fault: Fault) -> tuple[str, str, str, str]:
    return fault.object, fault.value, fault.expected, fault.hint


def _argument(option: re.Match[str]) -> str:
    if option[1] is None:
        return option[0]
    return _ARGUMENTS.get(option[1], option[1].replace("-", "_"))
