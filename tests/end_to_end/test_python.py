"""The examples in the documentation of nettrial's functions, as a user of Python runs them."""

import doctest
from pathlib import Path

import pytest

from nettrial import api


@pytest.mark.end_to_end
def test_the_examples_of_the_functions_give_what_they_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    found = {test.name: test for test in finder.find(api, "api", globs={}) if test.examples}
    for name in ("run", "resume", "load", "compare"):  # the others read what the first has run
        runner.run(found.pop(f"api.{name}"))
    assert not found
    assert runner.summarize().failed == 0
