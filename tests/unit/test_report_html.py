"""The page: its content, its independence of other files, and the escaping of users' text."""

import base64
import csv
import hashlib
import json
import os
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from nettrial.analysis import summarise
from nettrial.design import PlannedTrial
from nettrial.errors import BadInput
from nettrial.report import html, vega
from nettrial.scenario import Absence, Interval, Record
from nettrial.store import Run
from nettrial.study import load
from tests.unit import drawing
from tests.unit.sweeps import make_sweep_run
from tests.unit.synthetic import BUSY, altered_study, make_run, record

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """The tags of a page with their attributes. Raises AssertionError if tags are not nested."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def named(self, tag: str) -> list[dict[str, str | None]]:
        """Returns the attributes of every tag with this name."""
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_run(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="module")
def text(run: Run) -> str:
    return html.write(run).read_text(encoding="utf-8")


def test_tags_nest_and_no_identifier_is_there_twice(text: str) -> None:
    identifiers = [found["id"] for _, found in Page(text).tags if "id" in found]
    assert len(identifiers) == len(set(identifiers)) > 10


def test_nothing_is_fetched_and_nothing_runs(text: str) -> None:
    page = Page(text)
    assert [script.get("type") for script in page.named("script")] == [None, "application/json"]
    for tag, attributes in page.tags:
        assert "src" not in attributes, tag
        assert not any(name.startswith("on") for name in attributes), attributes
        target = attributes.get("href")
        assert target is None or target.startswith("#") or target == "data:,", target
    assert "@import" not in text
    assert "url(" not in text
    hosts = set(re.findall(r"https?://[^\"' <)]+", text))
    assert hosts == {"http://www.w3.org/2000/svg"}


def test_the_policy_lets_nothing_run_but_the_page_s_own_script(text: str) -> None:
    (policy,) = [each["content"] or "" for each in Page(text).named("meta") if "http-equiv" in each]
    for kind in ("script", "style"):
        own = re.search(rf"<{kind}>(.*?)</{kind}>", text, re.DOTALL)
        assert own is not None
        digest = base64.b64encode(hashlib.sha256(own[1].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert "connect-src" not in policy
    assert ' style="' not in text


def test_links_lead_somewhere(text: str) -> None:
    page = Page(text)
    identifiers = {found.get("id") for _, found in page.tags}
    targets = {(link["href"] or "").removeprefix("#") for link in page.named("a")}
    assert targets <= identifiers
    assert {"warnings", "warning-1", "throughput"} <= targets


def test_every_response_has_two_charts_with_words(text: str) -> None:
    pictures = [found["aria-label"] for found in Page(text).named("svg") if found.get("role") == "img"]
    assert len([said for said in pictures if said and " depends on " not in said]) == 3 + 4 * 7 + 8
    assert "Throughput, Mbit/s, by MTU: the mean of each group" in " ".join(filter(None, pictures))


def test_means_changes_and_published_figures_are_in_the_tables(run: Run, text: str) -> None:
    throughput = summarise(run).responses[2]
    section = text.split('<section class="response" id="throughput">')[1].split("</section>")[0]
    for cell in throughput.cells:
        assert cell.mean is not None
        assert f">{cell.mean:.1f}</td>" in section
        if cell.change and cell.change.percent is not None:
            assert f">+{cell.change.percent:.1f}</td>" in section
    for row in csv.DictReader((load("jumbo-ipv6").published_text() or "").splitlines()):
        if row["table"] == "4":
            change = row["change_percent"]
            assert f">{row['value']}</td>" in section
            assert f">{'+' if change != '0' else ''}{change}</td>" in section


def test_marks_say_their_values_and_those_with_warnings_are_told_of_at_the_response(text: str) -> None:
    section = text.split('<section class="response" id="throughput">')[1].split("</section>")[0]
    said = re.findall(r'data-said="([^"]*)"', section)
    means = [each for each in said if re.search(r"\], 5 trials$", each)]
    assert len(means) == 12
    assert all(
        re.fullmatch(r"\d+ B, Sender \S+ – Receiver \S+: [\d.]+ Mbit/s \[[\d.]+, [\d.]+\], 5 trials", each)
        for each in means
    )
    trials = [each for each in said if re.fullmatch(r"trial \d+, block \d: [\d.]+ Mbit/s", each)]
    assert len(set(trials)) == 60
    assert section.index('class="caution"') < section.index("<svg")
    assert '<a class="mark" href="#warning-1">Warning 1</a>, MTU 1500 B, Sender classic: router: ' in section


@pytest.mark.usefixtures("undrawn")
def test_a_warning_about_one_host_is_not_told_of_another(tmp_path: Path) -> None:
    busy = BUSY.model_copy(update={"object": "sender"})
    text = html.write(make_run(tmp_path / "run", 2, maker=lambda t: record(t, [busy]))).read_text("utf-8")
    said = {}
    for part in text.split('<section class="response" id="')[1:]:
        said[part.split('"')[0]] = 'href="#warning-1"' in part.split("</section>")[0]
    assert [name for name, warned in said.items() if not warned] == [
        "cpu_receiver",
        "service_demand_receiver",
    ]
    assert ">Warning 1</a>, every treatment: sender:" in text


def test_every_table_can_be_copied(text: str) -> None:
    forms = json.loads(text.split('id="copies">')[1].split("</script>")[0])
    places = {
        (found["id"] or "").removeprefix("copy-")
        for _, found in Page(text).tags
        if "copy" in (found.get("class") or "")
    }
    assert {"changes", "throughput", "throughput-published", "throughput-comparison", "processors"} <= places
    assert places <= set(forms)
    assert all(set(texts) == {"csv", "markdown", "latex"} for texts in forms.values())


def samples(number: int, subflows: int = 0) -> list[Interval]:
    """Returns samples, one every 100 ms. The rate is 1 Mbit/s times the number of the sample, or of the
    subflow."""
    return [
        Interval(
            at_ns=100_000_000 * at,
            bytes=12_500 * at,
            cwnd_pkts=10 + at,
            min_rtt_us=90,
            srtt_us=100,
            retransmissions_pkts=0,
            subflow_bytes=[12_500 * (flow + 1) for flow in range(subflows)] or None,
            subflow_cwnd_pkts=[10 * (flow + 1) for flow in range(subflows)] or None,
        )
        for at in range(1, number + 1)
    ]


def test_series_show_the_trial_nearest_to_the_median_by_subflow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = vega.on_page

    def on_page(chart: vega.Chart) -> str:
        return draw(chart) if drawing.kind(chart) == "series" else drawing.specified(chart)

    monkeypatch.setattr(vega, "on_page", on_page)

    def maker(trial: PlannedTrial) -> Record | str:
        made = record(trial)
        made.flows[0].intervals = samples(30, 2)
        made.flows[1].intervals = samples(900)
        return made

    run = make_run(tmp_path / "run", 3, maker=maker)
    text = html.write(run).read_text(encoding="utf-8")
    section = text.split('<section id="series">')[1].split("</section>")[0]
    assert section.count("<details") == 12
    for cell in summarise(run).responses[0].cells:
        (block,) = [block for block, value in cell.values.items() if value == cell.median]
        (number,) = [p.number for p in run.plan if (p.block, p.treatment) == (block, cell.treatment)]
        shown = " – ".join(
            f"{run.study.factors[name].title} {level}" for name, level in cell.treatment.items()
        )
        assert f'{shown} <span class="quiet">(trial {number})</span>' in section
    assert "transfer, subflow 1, 0.2 s: 1 Mbit/s" in section
    assert "transfer, subflow 2, 3 s: 2 Mbit/s" in section
    assert "subflow 3" not in section
    assert "transfer, subflow 1, 3 s: 10 segments" in section
    assert "transfer, subflow 2, 3 s: 20 segments" in section
    first = section.split('id="chart-series-')[1]
    probe = re.findall(r'data-said="probe, ([\d.]+) s: ([\d.]+) Mbit/s"', first)
    assert 20 < len(probe) <= 60
    assert all(abs(float(rate) - 10 * float(at)) < 3 for at, rate in probe)


def test_topology_environment_and_command_are_there(text: str) -> None:
    network = text.split('id="network"')[1].split("</section>")[0]
    for said in (">sender<", ">router<", ">receiver<", ">1 Gbit/s<", ">MTU: factor<", "stack: factor"):
        assert said in network
    environment = text.split('id="environment"')[1]
    for said in (
        "Linux 6.12.0 #1 SMP",
        "user_namespace",
        "net.ipv4.tcp_sack = 1",
        "traffic is sent during 91%",
    ):
        assert said in environment
    assert "nettrial run jumbo-ipv6 --replicates 5 --seed 7" in environment
    assert "sets: network.mtu" in environment
    assert "10.12928/TELKOMNIKA.v17i1.11627" in environment


@pytest.mark.usefixtures("one_of_each_drawn")
def test_user_text_stays_text(tmp_path: Path) -> None:
    attack = "<script>alert(1)</script>"
    quoted = "'\"><img src=x onerror=alert(1)>"
    study = altered_study(
        tmp_path / "study",
        {
            "title: Jumbo frames over IPv6": f"title: {attack}",
            "title: Throughput": f"title: {attack}",
            "title: MTU": f"title: {attack}",
        },
    )
    warned = BUSY.model_copy(update={"message": quoted, "object": attack, "consequence": quoted})

    def maker(trial: PlannedTrial) -> Record | str:
        return attack if trial.number == 1 else record(trial, [warned])

    text = html.write(make_run(tmp_path / "run", 2, maker=maker, study=study)).read_text(encoding="utf-8")
    page = Page(text)
    assert len(page.named("script")) == 2
    assert page.named("img") == []
    assert not any(name.startswith("on") for _, found in page.tags for name in found)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


@pytest.mark.usefixtures("one_of_each_drawn")
@pytest.mark.parametrize(
    ("replicates", "trials", "pictures"),
    [(5, 0, 0), (5, 1, 1 + 7), (1, None, 2 + 2 * 7 + 8), (2, None, 3 + 4 * 7 + 8)],
)
def test_runs_with_little_in_them_have_a_page(
    tmp_path: Path, replicates: int, trials: int | None, pictures: int
) -> None:
    page = html.write(make_run(tmp_path / "run", replicates=replicates, trials=trials))
    text = page.read_text(encoding="utf-8")
    assert len([found for found in Page(text).named("svg") if found.get("role") == "img"]) == pictures
    assert not re.search(r"\bnan\b|\bNone\b|Infinity", text)


@pytest.mark.usefixtures("one_of_each_drawn")
def test_equal_values_have_a_page(tmp_path: Path) -> None:
    equal = PlannedTrial(1, 1, {"mtu": "1500 B", "sender": "classic", "receiver": "classic"})
    text = html.write(make_run(tmp_path / "run", maker=lambda trial: record(equal))).read_text(
        encoding="utf-8"
    )
    said = "(0%; all blocks have the same change, which is no evidence of its spread"
    assert f"throughput from 917 to 917 Mbit/s {said}" in text
    assert ">better<" not in text
    assert not re.search(r"\bNaN\b|Infinity", text)


@pytest.mark.usefixtures("undrawn")
def test_absent_metrics_and_failures_are_told(tmp_path: Path) -> None:
    def maker(trial: PlannedTrial) -> Record | str:
        if trial.number == 3:
            return "the agent died"
        made = record(trial)
        made.hosts[1].cpu_percent = None
        made.absent = [Absence(metric="cpu", object="receiver", reason="one CPU only")]
        return made

    text = html.write(make_run(tmp_path / "run", maker=maker)).read_text(encoding="utf-8")
    assert "the agent died" in text.split('id="failures"')[1]
    absent = text.split('id="absent"')[1].split("</section>")[0]
    assert "<strong>CPU, receiver</strong>: one CPU only" in absent
    assert "CPU, receiver, published figures, table 5" in absent
    assert 'id="cpu_receiver"' not in text
    assert 'href="#cpu_receiver"' not in text


@pytest.mark.usefixtures("undrawn")
def test_what_some_trials_could_not_measure_is_absent_in_its_cells(tmp_path: Path) -> None:
    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        if trial.treatment["mtu"] == "9000 B":
            made.hosts[1].cpu_percent = None
            made.absent = [Absence(metric="cpu", object="receiver", reason="one CPU only")]
        return made

    text = html.write(make_run(tmp_path / "run", maker=maker)).read_text(encoding="utf-8")
    section = text.split('id="cpu_receiver"')[1].split("</section>")[0]
    assert section.count(">absent</td>") == 4
    assert "absent: one CPU only" in section


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("maker", [make_run, make_sweep_run])
def test_the_contents_have_every_section_in_the_order_of_the_page(
    tmp_path: Path, maker: Callable[..., Run]
) -> None:
    text = html.write(maker(tmp_path / "run")).read_text(encoding="utf-8")
    sections = re.findall(r'<section[^>]* id="([^"]+)">\s*<h2>([^<]+)</h2>', text)
    contents = text.split('<nav class="contents"')[1].split("</nav>")[0]
    assert re.findall(r'<a href="#([^"]+)">([^<]+)</a>', contents) == sections
    assert len(sections) == text.count("<section")


@pytest.mark.usefixtures("undrawn")
def test_a_factor_of_one_level_is_told_once(tmp_path: Path) -> None:
    levels = {"sender": "classic"}
    text = html.write(make_run(tmp_path / "run", 2, levels)).read_text(encoding="utf-8")
    assert "Sender classic" not in text.split('id="copies"')[0]
    assert "<dt>Sender</dt><dd>classic</dd>" in text


@pytest.mark.usefixtures("undrawn")
def test_one_factor_alone_and_no_published_figures(tmp_path: Path) -> None:
    text = load("jumbo-ipv6").document.text
    start = text.index("  # The paper's hosts ran")
    end = text.index("responses:")
    study = altered_study(
        tmp_path / "study",
        {
            text[start:end]: "",
            text[text.index("published:") :]: "",
            "columns: [sender, receiver]": "columns: []",
        },
    )
    page = html.write(make_run(tmp_path / "run", study=study)).read_text(encoding="utf-8")
    Page(page)
    assert "all trials" in page
    assert "Published, table" not in page


@pytest.mark.usefixtures("undrawn")
def test_the_page_replaces_the_one_before_and_leaves_nothing_else(run: Run) -> None:
    html.write(run)
    before = sorted(path.name for path in run.directory.iterdir())
    assert html.write(run) == run.directory / "report.html"
    assert sorted(path.name for path in run.directory.iterdir()) == before


def test_a_page_that_cannot_be_put_in_place_leaves_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", trials=0)
    (run.directory / "report.html").mkdir()
    before = sorted(os.listdir(run.directory))
    with pytest.raises(BadInput, match="writing the report"):
        html.write(run)
    assert sorted(os.listdir(run.directory)) == before
