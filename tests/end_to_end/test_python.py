"""The examples in the documentation of nettrial's functions, as a user of Python runs them."""

import doctest
from pathlib import Path

import pytest

import nettrial
from nettrial import api, measurements, plots
from nettrial.store import Run
from tests.end_to_end.serving import EVERYWHERE, TOKEN, serving


@pytest.mark.end_to_end
def test_the_examples_of_the_functions_give_what_they_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("token").write_text(TOKEN)
    Path("token").chmod(0o600)
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    found = {
        test.name.partition(".")[2]: test
        for module in (api, measurements, plots)
        for test in finder.find(module, globs={}, name="of")
        if test.examples
    }
    for name in ("run", "resume", "load", "compare", "Plots"):  # the others read what the first has run
        runner.run(found.pop(name))
    with serving(tmp_path, *EVERYWHERE) as server:
        measure = found.pop("measure")
        measure.globs["port"] = server.port
        runner.run(measure)
    assert not found
    assert runner.summarize().failed == 0


@pytest.mark.end_to_end
def test_a_measurement_is_kept_as_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETTRIAL_TOKEN", TOKEN)
    events: list[object] = []
    with serving(tmp_path, *EVERYWHERE) as server:
        measured = nettrial.measure(
            "127.0.0.1",
            port=server.port,
            replicates=3,
            time="100 ms",
            out=tmp_path / "run",
            progress=events.append,
        )
    assert list(map(str, events)) == [f"repeat {number}: finished" for number in (1, 2, 3)]
    assert len(measured.results) == Run.open(tmp_path / "run").finished() == 3
    assert measured.metrics().filter(metric="goodput")["repeats"].item() == 3
