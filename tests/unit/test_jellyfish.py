"""The studies of MPTCP on Jellyfish."""

import csv
import io
from itertools import pairwise

import pytest

from nettrial.analysis import agreement, summarise
from nettrial.design import scenario_of
from nettrial.study import load
from tests.unit.synthetic import make_run

PUBLISHED = ["jellyfish-mptcp", "jellyfish-mptcp-hosts"]


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_figures_have_a_counterpart_in_full_and_at_their_rate_alone(name, tmp_path):
    study = load(name)
    full, short = (
        [(each.row, each.cell) for each in agreement(run, summarise(run))]
        for run in (
            make_run(tmp_path / "full", study=study.in_full(), trials=0),
            make_run(tmp_path / "short", study=study, trials=0),
        )
    )
    assert all(cell for _, cell in full)
    assert not any(cell for _, cell in short)
    assert {row.response for row, _ in short} <= {response.name for response in study.responses}


def test_the_published_figures_are_those_that_the_paper_bases_its_conclusions_on():
    """The best throughput is that of wVegas in every column except that of 65 switches, and BALIA has the
    best fairness."""
    throughput, fairness = [], []
    for name in PUBLISHED:
        for row in csv.DictReader(io.StringIO(load(name).published_text() or "")):
            place = row.get("switches") or row["hosts"]
            found = throughput if row["response"] == "throughput" else fairness
            found.append((row["table"], place, float(row["value"]), row["control"]))
    best = {}
    for table, place, value, control in sorted(throughput):
        best[table, place] = control  # The largest value of each column is the last one.
        assert value < 100
    assert {control for place, control in best.items() if place != ("1", "65")} == {"wvegas"}
    assert best["1", "65"] == "lia"
    assert (len(throughput), len(fairness)) == (36, 4)
    assert max(fairness, key=lambda row: row[2])[3] == "balia"


def test_control_changes_transport_and_congestion_control_alone():
    study = load("jellyfish-mptcp")
    small = study.with_overrides({"switches": "6"})
    levels = {"switches": "6", "rate": "100 Mbit/s"}
    scenarios = {
        control: scenario_of(small, {**levels, "control": control})
        for control in study.factors["control"].levels
    }
    used = {
        control: (
            {flow.transport.root for flow in scenario.workload},
            {node.stack.congestion_control for node in scenario.nodes if node.stack},
        )
        for control, scenario in scenarios.items()
    }
    coupled = ("lia", "olia", "balia", "wvegas")
    assert used == {
        "tcp": ({"tcp"}, {"reno"}),
        "reno": ({"mptcp"}, {"reno"}),
        **{control: ({"mptcp"}, {control}) for control in coupled},
    }
    for one, other in pairwise(scenarios.values()):
        assert one.links == other.links
        assert one.measurement == other.measurement
        assert [flow.from_ for flow in one.workload] == [flow.from_ for flow in other.workload]


def test_each_block_has_a_graph_of_its_own():
    study = load("jellyfish-mptcp").with_overrides({"switches": "10"})
    levels = {"switches": "10", "rate": "100 Mbit/s", "control": "lia"}
    graphs = [
        [tuple(end.node for end in link.ends) for link in scenario_of(study, levels, block).links]
        for block in (1, 2, 1)
    ]
    assert graphs[0] == graphs[2] != graphs[1]


def test_every_host_but_the_first_sends_to_it():
    study = load("jellyfish-mptcp-hosts")
    made = scenario_of(study, {"hosts": "40", "rate": "100 Mbit/s", "control": "lia"})
    assert {flow.to for flow in made.workload} == {"host-1"}
    assert [flow.from_ for flow in made.workload] == [f"host-{number}" for number in range(2, 41)]


def test_fabrics_are_of_the_same_switches_and_hosts():
    study = load("jellyfish-mptcp-fabrics")
    for fabric in study.factors["fabric"].levels:
        treatment = {"fabric": fabric, "background": "10%", "control": "wvegas"}
        made = scenario_of(study, treatment)
        kinds = [node.kind.root for node in made.nodes]
        assert (kinds.count("host"), kinds.count("router")) == (18, 45)
        ends = [end.node for link in made.links for end in link.ends]
        assert max(ends.count(node) for node in ends) <= 6
        assert ends.count("host-1") == 2
        background = [flow for flow in made.workload if flow.name.startswith("background-")]
        assert {flow.from_ for flow in background} == {flow.to for flow in background}
        assert len(background) == 18
        assert len(made.workload) == 17 + 18
        assert len(scenario_of(study, {**treatment, "background": "none"}).workload) == 17
