"""Commands and files that the documentation shows work."""

import re
from pathlib import Path

from nettrial.design import scenario_of
from nettrial.study import load
from nettrial.topology import TOPOLOGIES
from tests.unit.test_workload import STUDY

PAGES = Path(__file__).parents[2] / "docs" / "how-to"
PAGE = PAGES / "write-a-workload.md"


def test_every_flow_of_the_page_loads_and_resolves(tmp_path):
    flows = [text for text in re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.S) if "flow:" in text]
    assert len(flows) == 5
    text = STUDY.replace("one: {", "client: {").replace("two: {", "server: {")
    head, rest = text.split("workload:\n")
    tail = rest[rest.index("measurement:") :].replace("of: data", "of: bulk")
    workload = "".join("  " + line + "\n" for flow in flows for line in flow.splitlines())
    (tmp_path / "study.yaml").write_text(f"{head}workload:\n{workload}{tail}")
    made = scenario_of(load(str(tmp_path)), {})
    kinds = [flow.traffic.root.kind for flow in made.workload]
    assert set(kinds) == {"transfer", "file_transfer", "request_response", "packets", "sweep"}


def test_the_fabric_of_the_page_on_topologies_is_a_study(tmp_path):
    shown, *parameters = re.findall(r"```yaml\n(.*?)```", (PAGES / "draw-a-topology.md").read_text(), re.S)
    head, rest = STUDY.split("network:")
    tail = (
        rest[rest.index("measurement:") :]
        .replace("of: data", "of: incast")
        .replace("rows: mtu", "rows: switches")
    )
    (tmp_path / "study.yaml").write_text(head + shown + re.sub(r"factors: .*\n", "", tail))
    study = load(str(tmp_path))
    assert [len(scenario_of(study, {"switches": level}).nodes) for level in ("25", "45")] == [50, 90]
    (several,) = parameters
    assert "jellyfish: {" in several


def test_the_graph_of_the_page_on_graphs_is_a_network(tmp_path):
    (text,) = re.findall(r"```json\n(.*?)```", (PAGES / "use-a-graph-of-your-own.md").read_text(), re.S)
    (tmp_path / "mine.json").write_text(text)
    topology = TOPOLOGIES["file"]
    given = topology.parameters.model_validate({"path": "mine.json"}, context={"folder": tmp_path})
    graph = topology.graph(given)
    assert sorted(graph["sender"]) == sorted(graph["receiver"]) == ["left", "right"]
