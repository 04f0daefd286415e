"""The page: what it holds, that it needs nothing else, and that user text stays text."""

import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from nettrial.analysis import summarise
from nettrial.design import PlannedTrial
from nettrial.errors import BadInput
from nettrial.report import html
from nettrial.scenario import Absence, Record
from nettrial.store import Run
from nettrial.study import load
from tests.unit.synthetic import BUSY, altered_study, make_run, record

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Tags with their attributes; raises AssertionError where tags don't nest."""

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
        """The attributes of every tag of that name."""
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
    assert page.named("script") == []
    for tag, attributes in page.tags:
        assert "src" not in attributes, tag
        assert not any(name.startswith("on") for name in attributes), attributes
        target = attributes.get("href")
        assert target is None or target.startswith("#") or target == "data:,", target
    assert "@import" not in text
    assert "url(" not in text
    hosts = set(re.findall(r"https?://[^\"' <)]+", text))
    assert hosts == {"http://www.w3.org/2000/svg"}


def test_links_lead_somewhere(text: str) -> None:
    page = Page(text)
    identifiers = {found.get("id") for _, found in page.tags}
    targets = {(link["href"] or "").removeprefix("#") for link in page.named("a")}
    assert targets <= identifiers
    assert {"warnings", "warning-1", "throughput"} <= targets


def test_every_response_has_two_charts_with_words(text: str) -> None:
    pictures = [found["aria-label"] for found in Page(text).named("svg") if found.get("role") == "img"]
    assert len(pictures) == 1 + 2 * 7
    assert "Throughput, Mbit/s, by MTU: the mean of each group" in " ".join(filter(None, pictures))


def test_means_changes_and_published_figures_are_in_the_tables(run: Run, text: str) -> None:
    throughput = summarise(run).responses[2]
    section = text.split('<section class="response" id="throughput">')[1].split("</section>")[0]
    for cell in throughput.cells:
        assert cell.mean is not None
        assert f">{cell.mean:.1f}</td>" in section
        if cell.change and cell.change.percent is not None:
            assert f">+{cell.change.percent:.1f}</td>" in section
    for row in (load("jumbo-ipv6").published_text() or "").splitlines():
        if row.startswith("4,"):
            *_, value, _, change = row.split(",")
            assert f">{value}</td>" in section
            assert f">{'+' if change != '0' else ''}{change}</td>" in section


def test_topology_environment_and_command_are_there(text: str) -> None:
    network = text.split('id="network"')[1].split("</section>")[0]
    for said in (">sender<", ">router<", ">receiver<", ">1 Gbit/s<", ">MTU: factor<", "stack: factor"):
        assert said in network
    environment = text.split('id="environment"')[1]
    for said in ("Linux 6.12.0 #1 SMP", "user_namespace", "net.ipv4.tcp_sack = 1", "traffic goes for 91%"):
        assert said in environment
    assert "nettrial run jumbo-ipv6 --replicates 5 --seed 7" in environment
    assert "sets: network.mtu" in environment
    assert "10.12928/TELKOMNIKA.v17i1.11627" in environment


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
    assert page.named("script") == []
    assert page.named("img") == []
    assert not any(name.startswith("on") for _, found in page.tags for name in found)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


@pytest.mark.parametrize(
    ("replicates", "trials", "pictures"),
    [(5, 0, 0), (5, 1, 1 + 7), (1, None, 1 + 2 * 7)],
)
def test_runs_with_little_in_them_have_a_page(
    tmp_path: Path, replicates: int, trials: int | None, pictures: int
) -> None:
    page = html.write(make_run(tmp_path / "run", replicates=replicates, trials=trials))
    text = page.read_text(encoding="utf-8")
    assert len([found for found in Page(text).named("svg") if found.get("role") == "img"]) == pictures
    assert not re.search(r"\bnan\b|\bNone\b|Infinity", text)


def test_equal_values_have_a_page(tmp_path: Path) -> None:
    equal = PlannedTrial(1, 1, {"mtu": "1500 B", "sender": "classic", "receiver": "classic"})
    text = html.write(make_run(tmp_path / "run", maker=lambda trial: record(equal))).read_text(
        encoding="utf-8"
    )
    assert "throughput: no change shown" in text
    assert not re.search(r"\bNaN\b|Infinity", text)


def test_absent_metrics_and_failures_are_told(tmp_path: Path) -> None:
    def maker(trial: PlannedTrial) -> Record | str:
        if trial.number == 3:
            return "the agent died"
        made = record(trial)
        made.hosts[1].cpu_percent = None
        made.absent = [Absence(metric="cpu", object="receiver", reason="one processor only")]
        return made

    text = html.write(make_run(tmp_path / "run", maker=maker)).read_text(encoding="utf-8")
    assert "the agent died" in text.split('id="failures"')[1]
    assert "one processor only" in text.split('id="absent"')[1]
    section = text.split('id="cpu_receiver"')[1].split("</section>")[0]
    assert section.count(">absent</td>") == 12
    assert "absent: one processor only" in section


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


def test_the_page_replaces_the_one_before_and_leaves_nothing_else(run: Run) -> None:
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
