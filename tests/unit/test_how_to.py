"""The workloads that the documentation shows are workloads."""

import re
from pathlib import Path

from nettrial.design import scenario_of
from nettrial.study import load
from tests.unit.test_workload import STUDY

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "write-a-workload.md"


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
