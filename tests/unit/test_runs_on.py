"""The backends on which each shipped study runs as it is, which `nettrial list studies` shows."""

import json
import os

import pytest

from nettrial import study
from nettrial.backends import BACKENDS, Configuration
from nettrial.errors import BadInput, CannotRun
from nettrial.running.checking import check
from nettrial.running.study_design import Scenarios
from nettrial.study import catalogue

FILE = catalogue.RUNS_ON


def accepted(name, backends):
    """Returns the backends on which all treatments of a study can run, on a machine that lacks nothing."""
    found = []
    for backend, started in backends.items():
        try:
            one = study.load(name).on(backend)
            check({None: started}, one, Scenarios(one))
        except BadInput:
            continue
        except CannotRun:
            pass  # only this machine lacks something
        found.append(backend)
    return found


def test_every_shipped_study_is_listed():
    assert list(study.runs_on()) == [*study.shipped(), *study.examples()]


@pytest.mark.slow
def test_each_study_runs_where_the_list_says():
    """With NETTRIAL_UPDATE_GOLDEN=1, writes the list."""
    kinds = {name: BACKENDS[name] for name in BACKENDS}
    alone = {name: kind for name, kind in kinds.items() if kind.configuration is Configuration}
    backends = {name: kind.start(Configuration()) for name, kind in alone.items()}
    try:
        found = {name: accepted(name, backends) for name in [*study.shipped(), *study.examples()]}
    finally:
        for backend in backends.values():
            backend.close()
    if os.environ.get("NETTRIAL_UPDATE_GOLDEN"):
        lines = [f"  {json.dumps(name)}: {json.dumps(on)}" for name, on in found.items()]
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    assert study.runs_on() == found
