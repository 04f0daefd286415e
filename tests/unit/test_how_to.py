"""The commands and files in the documentation work."""

import re
import shlex
import shutil
from pathlib import Path

import yaml

from nettrial.design import scenario_of
from nettrial.study import load
from nettrial.topology import TOPOLOGIES, edges_of
from tests.unit.test_workload import STUDY

PAGES = Path(__file__).parents[2] / "docs" / "how-to"
PAGE = PAGES / "write-a-workload.md"


def part(page, heading):
    """Returns the part of a page below a heading of the second level."""
    return (PAGES / f"{page}.md").read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


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
    text = part("choose-a-network", "A topology in a study")
    shown, *parameters = re.findall(r"```yaml\n(.*?)```", text, re.S)
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


def test_the_traces_of_the_page_are_read_and_used(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = part("set-links", "Rates and delays that follow traces")
    for program in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(compile(program, "set-links.md", "exec"), {})
    network, factors, both = re.findall(r"```yaml\n(.*?)```", text, re.S)
    (delay,) = re.findall(r"^  delay: .*\n", both, re.M)
    network = re.sub(r"^  delay: .*\n", delay, network, flags=re.M)
    changed = re.sub(r"network: .*\n", network, STUDY).replace("rows: mtu", "rows: link")
    changed = re.sub(r"factors: .*\n", factors, changed).replace("backend: lab", "backend: sim")
    changed = changed.replace("topology: pair", "topology: switched")
    changed = changed.replace("TRAFFIC", "{kind: transfer, duration: 1 s}").replace("udp", "tcp")
    (tmp_path / "study.yaml").write_text(changed)
    study = load(str(tmp_path))
    links = [scenario_of(study, {"link": level}).links[0] for level in study.factors["link"].levels]
    traces = [link.rate_trace for link in links]
    assert [trace.repeats_after_ns for trace in traces] == [30_000_000_000, 120_000_000_000]
    assert max(traces[0].rates_bps) <= 5 * 1538 * 8 * 1000
    assert len(traces[1].rates_bps) == 16
    delays = links[1].delay_trace
    assert (len(delays.delays_ns), delays.repeats_after_ns) == (120, 120_000_000_000)
    assert 12_000_000 < min(delays.delays_ns) < 20_000_000 < 30_000_000 < max(delays.delays_ns) < 38_000_000


def test_the_workflow_of_the_page_on_ci_works_from_its_first_run_on(nettrial):
    """Follows the steps on the main branch and then on a pull request, with the fake engine."""
    (text,) = re.findall(r"```yaml\n(.*?)```", (PAGES / "use-it-in-ci.md").read_text(), re.S)
    steps = yaml.safe_load(text)["jobs"]["network"]["steps"]
    cache = {}
    for number, branch in enumerate(("main", "topic")):
        nettrial.directory = Path(nettrial.directory.parent, f"checkout-{number}")
        nettrial.directory.mkdir()
        told = _follow(steps, nettrial, cache, branch == "main")
        assert (nettrial.directory / "junit.xml").exists()
        assert (nettrial.directory / "summary.md").exists()
        assert ("Change from A to B" in told) == (number > 0)
    assert list(cache) == ["before"]


def _follow(steps, nettrial, cache, on_main):
    """Performs the steps of the workflow as GitHub would, and returns the output of the commands. `cache` has
    directories by name."""
    told, restored = "", bool(cache)
    holds = {
        None: True,
        "steps.before.outputs.cache-matched-key": restored,
        "github.ref == 'refs/heads/main'": on_main,
    }
    for step in steps:
        if not holds[step.get("if")]:
            continue
        path = step.get("with", {}).get("path", "")
        action = step.get("uses", "").partition("@")[0]
        if action == "actions/cache/restore" and restored:
            shutil.copytree(cache[path], nettrial.directory / path)
        elif action == "actions/cache/save":
            cache[path] = nettrial.directory / path
        command = step.get("run", "").removeprefix("sudo ").replace("$GITHUB_STEP_SUMMARY", "summary.md")
        if command.startswith(".venv/bin/nettrial"):
            done = nettrial(*shlex.split(command.replace("--replicates 10", "--replicates 3"))[1:])
            assert done.returncode == 0, done.stderr
            told += done.stdout
        elif command.startswith("rm"):
            shutil.rmtree(nettrial.directory / "before", ignore_errors=True)
            (nettrial.directory / "after").rename(nettrial.directory / "before")
    return told


def test_the_graphs_of_the_page_on_graphs_are_networks(tmp_path):
    topology, graphs = TOPOLOGIES["file"], []
    for text in re.findall(r"```json\n(.*?)```", (PAGES / "choose-a-network.md").read_text(), re.S):
        (tmp_path / "mine.json").write_text(text)
        given = topology.parameters.model_validate({"path": "mine.json"}, context={"folder": tmp_path})
        graphs.append(topology.graph(given))
    access, both = graphs
    (home,) = (edge.settings for edge in edges_of(access) if "home" in edge.nodes)
    assert (home.rate, home.reverse.rate, home.delay) == ("10 Mbit/s", "1 Mbit/s", "5 ms")
    assert sorted(both["sender"]) == sorted(both["receiver"]) == ["left", "right"]


def test_no_comment_in_the_yaml_of_a_page_has_swallowed_a_setting():
    """Reflowing two pages as prose once joined lines of their YAML, which then still parsed."""
    for page in PAGES.parent.glob("**/*.md"):
        for block in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.S):
            assert not re.search(r"#.*\w: (\{|true\b|false\b|\d)", block), page
