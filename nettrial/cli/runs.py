"""`nettrial list runs`: the stored runs of a directory."""

from __future__ import annotations

from pathlib import Path

from nettrial.cli import READING
from nettrial.cli.console import print_table
from nettrial.cli.documents import base as documents
from nettrial.cli.documents import runs as runs_documents
from nettrial.defaults import user_defaults
from nettrial.errors import BadInput
from nettrial.files import RUN_FILE
from nettrial.report import numbers
from nettrial.store import Run


def show(given: Path | None, as_json: bool) -> None:
    """Prints every run in a directory, by default that of new runs, with its state and size. Raises BadInput
    if the directory does not exist, unless it is the one that the first run creates."""
    usual = user_defaults().runs
    directory = given or usual
    if not directory.is_dir() and (directory != usual or directory.exists()):
        hint = f"`nettrial run` creates the directory {usual}"
        raise BadInput(READING, "DIR", str(directory), "a directory that contains runs", hint)
    runs = [_described(each.parent) for each in sorted(directory.glob(f"*/{RUN_FILE}"))]
    if as_json:
        documents.show(runs_documents.RunsDocument(runs=runs))
        return
    if not runs:
        print(f"no runs yet: `nettrial run STUDY` stores one in the directory {usual}")
        return
    print_table(
        ["run", "study", "state", "size"],
        [[each.run, each.study, each.state, _size(each.bytes)] for each in runs],
    )


def _described(directory: Path) -> runs_documents.RunState:
    """Returns the name, study, state and size of a run; for a run that can't be read, the state is the
    reason."""
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    try:
        run = Run.open(directory)
        study, state = run.study.study, _state(run)
        run.close()
    except BadInput as error:
        study, state = "", f"unreadable: {error.faults[0].value}"
    return runs_documents.RunState(run=str(directory), study=study, state=state, bytes=size)


def _state(run: Run) -> str:
    pending, failed, planned = len(run.pending()), len(run.failures()), len(run.plan)
    if not pending:
        return f"finished: {numbers.counted(planned, 'trial')}"
    done = f"{planned - pending} of {numbers.counted(planned, 'trial')}"
    return f"{done}, {failed} failed" if failed else done


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 100_000 else f"{count / 1e3:.1f} kB"
