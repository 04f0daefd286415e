"""A run's results in Python."""

import json
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import nettrial
from nettrial.errors import BadInput
from nettrial.report.content import gather
from tests.unit.conftest import FAKE_ENGINE
from tests.unit.edge_runs import EDGE_RUNS
from tests.unit.sweeps import make_sweep_run
from tests.unit.synthetic import make_run

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "use-a-notebook.md"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    directory = tmp_path_factory.mktemp("results") / "run"
    make_run(directory, replicates=3)
    return nettrial.load(str(directory))


def test_importing_the_package_is_quick():
    slow = {"polars", "scipy", "numpy", "pydantic", "vl_convert", "rich", "jinja2"}
    code = f"import sys, nettrial; print(sorted({slow!r} & set(sys.modules)), 'load' in dir(nettrial))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert done.stdout == "[] True\n"


def test_the_package_has_no_other_names():
    with pytest.raises(AttributeError, match="has no attribute 'lode'"):
        nettrial.lode  # noqa: B018


def test_a_run_reads_when_it_is_asked_for(tmp_path):
    make_run(tmp_path / "run", replicates=1)
    results = nettrial.load(tmp_path / "run")
    assert results._read == {}
    assert results.run._trials == {}
    assert results.flows is results.flows
    assert list(results._read) == ["flows"]
    assert results.run._trials == {}  # Records were read as columns.


def test_frames_are_those_of_the_export(results):
    assert results.flows.height == 2 * 36
    assert results.hosts["host"].unique().sort().to_list() == ["receiver", "sender"]
    assert results.trials.height == 36
    assert results.warnings["code"].unique().to_list() == ["processor_saturated"]
    assert results.links.is_empty()
    assert results.samples.is_empty()
    assert results.failures.is_empty()
    assert results.table("checks").is_empty()
    goodput = results.flows.filter(pl.col("flow") == "transfer")["goodput_bps"].to_list()
    assert goodput == results.trials["throughput_bps"].to_list()


def test_the_summary_is_the_reports(results):
    table = results.summary()
    cells = [cell for response in gather(results.run).summary.responses for cell in response.cells]
    assert table["mean"].to_list() == [cell.mean for cell in cells]
    assert table["mean_high"].to_list() == [cell.interval.high for cell in cells]
    assert table["trials"].to_list() == [3] * len(cells)
    # Three values are too few for an interval of the median.
    assert table["median_low"].null_count() == len(cells)
    row = table.filter(response="throughput", mtu="9000 B", sender="classic", receiver="classic")
    assert (row.height, row["unit"].item()) == (1, "Mbit/s")


def test_changes_are_the_reports(results):
    table = results.changes()
    cells = [cell for response in gather(results.run).summary.responses for cell in response.cells]
    changes = [cell.change for cell in cells if cell.change]
    assert table["change_percent"].to_list() == [change.percent for change in changes]
    assert table["corrected_low_percent"].to_list() == [change.simultaneous.low for change in changes]
    assert table["p_corrected"].to_list() == [change.p_corrected for change in changes]
    assert "1500 B" not in table["mtu"].cast(pl.String).to_list()


def test_charts_show_themselves(results, tmp_path):
    chart = results.charts["throughput-values"]
    shown = chart._repr_mimebundle_()
    assert shown["image/svg+xml"].startswith("<svg")
    assert "currentColor" not in shown["image/svg+xml"]
    assert json.loads(json.dumps(shown["application/vnd.vegalite.v5+json"])) == chart.spec
    assert repr(chart).startswith("<chart throughput-values: Throughput, Mbit/s")
    chart.save(tmp_path / "chart.pdf")
    assert (tmp_path / "chart.pdf").read_bytes().startswith(b"%PDF")
    with pytest.raises(BadInput, match=r"expected: .svg, .pdf, .png"):
        chart.save(tmp_path / "chart.gif")


def test_tables_show_themselves(results):
    assert results.tables["throughput"]._repr_html_().startswith("<table><caption>Throughput")


@pytest.mark.parametrize("kind", ["charts", "tables"])
def test_a_name_that_there_is_not_lists_those_there_are(results, kind):
    with pytest.raises(BadInput, match=r"expected: .*throughput") as caught:
        getattr(results, kind)["troughput"]
    assert "hint: did you mean 'throughput" in str(caught.value)
    assert "x" not in getattr(results, kind)
    with pytest.raises(BadInput, match="expected: trials, responses"):
        results.table("flow")


def test_errors_are_words(tmp_path):
    with pytest.raises(BadInput, match="nowhere: does not exist"):
        nettrial.load(tmp_path / "nowhere")


def test_results_say_what_they_are(results):
    said = repr(results)
    assert "run of jumbo-ipv6" in said
    assert "36 of 36 trials" in said
    assert ".changes()" in said


def test_a_sweeps_sizes(tmp_path):
    make_sweep_run(tmp_path / "run", replicates=1)
    results = nettrial.load(tmp_path / "run")
    assert results.sizes["size_bytes"].min() == 1000
    assert any(name.startswith("sweep") or "size" in name for name in results.charts)


EDGES = ("empty", "all_failed", "one_trial", "one_level", "missing_metric", "not_a_number")


@pytest.mark.parametrize("name", EDGES)
def test_runs_at_the_edges_have_results(tmp_path, name):
    EDGE_RUNS[name](tmp_path / "run")
    results = nettrial.load(tmp_path / "run")
    treatments = {tuple(trial.treatment.values()) for trial in results.run.plan}
    assert results.summary().height == len(treatments) * len(results.study.responses)
    assert results.changes().height <= results.summary().height
    assert results.trials.height == len(results.run.plan)
    assert results.responses.height == len(results.run.trials()) * len(results.study.responses)
    assert repr(results)
    for table in results.tables.values():
        assert table._repr_html_()


def test_the_page_on_notebooks_runs_as_it_stands(tmp_path, monkeypatch):
    make_run(tmp_path / "runs" / "mine", replicates=3)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NETTRIAL_ENGINE", str(FAKE_ENGINE))
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    assert len(blocks) > 3
    names = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    assert names["change"].height > 0
    assert names["rates"].trials["state"].to_list() == ["finished"] * 6
    assert {each.outcome for each in names["worse"]} <= {"does not hold", "can't tell"}
    assert (tmp_path / "throughput.pdf").exists()
