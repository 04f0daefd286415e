"""The book of results: published and measured figures of several runs, verdicts and limits."""

import csv
import re
from pathlib import Path

import pytest

from nettrial import systems
from nettrial.analysis import VERDICTS
from nettrial.cli import book as command
from nettrial.errors import BadInput
from nettrial.report import book
from nettrial.report.book import Chapter
from nettrial.report.formats import DataTable
from nettrial.study import load, shipped
from tests.unit.synthetic import make_run
from tools import book as made_again
from tools.repeats import REAL_TIME

ROOT = Path(__file__).parents[2]
RESULTS = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
NOT_ONE_OF_FIVE = "Jellyfish: Networking Data Centers Randomly"
"""The title of a source that is compared, and is not one of the five documents."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Chapter:
    return book.chapter(make_run(tmp_path_factory.mktemp("book") / "run", 2))


def figures_of(chapter: Chapter) -> DataTable:
    (found,) = (table for table in chapter.tables if table.name.endswith("-figures"))
    return found


def test_a_published_table_keeps_its_shape_beside_the_measured_figures(made: Chapter) -> None:
    throughput = next(table for table in made.tables if table.name == "jumbo-ipv6-4-throughput")
    linux, windows = "ubuntu-14.04", "windows-server-2012-r2"
    pairs = [f"Sender {a} – Receiver {b}" for a in (linux, windows) for b in (linux, windows)]
    assert throughput.groups == tuple(zip(pairs, (2, 1, 1, 1), strict=True))
    assert throughput.headings == ("MTU", "published", "here", "published", "published", "published")
    lines = {line[0]: line[1:] for line in throughput.lines}
    assert list(lines) == ["1500 B", "4000 B", "9000 B"]
    assert [lines["4000 B"][at] for at in (0, 2)] == ["895.53 (+19.25%)", "894.50 (+16.53%)"]
    measured = {line[1]: line[3] for line in figures_of(made).lines if line[0] == "Table 4"}
    of = f"Throughput, 4000 B, {linux}, {linux}"
    mean, change = measured[of].partition(" Mbit/s")[0], measured[f"change of {of}"].partition(" ")[0]
    assert lines["4000 B"][1] == f"{mean} ({change})"


def test_every_published_figure_has_a_line_with_a_measured_one_or_the_reason(made: Chapter) -> None:
    study = load("jumbo-ipv6")
    rows = list(csv.DictReader((study.published_text() or "").splitlines()))
    figures = figures_of(made)
    expected = sum(bool(row["value"]) + bool(row["change_percent"]) for row in rows)
    assert len(figures.lines) == expected
    assert all(measured or verdict for *_, measured, verdict in figures.lines)
    assert ("Table 4", "Throughput, 1500 B, ubuntu-14.04, ubuntu-14.04", "750.94 Mbit/s") in [
        line[:3] for line in figures.lines
    ]
    reasons = {line[-1] for line in figures.lines if "windows" in line[1]}
    assert reasons == {"no treatment here corresponds to it"}


def test_a_chapter_tells_what_its_figures_rest_on(made: Chapter) -> None:
    for part in ("seed ", "nettrial 0.1.0", "A CPU, 2 CPUs, Linux 6.12.0", "24 of 24 trials"):
        assert part in made.facts
    assert "#1" not in made.facts
    judged = len(load("jumbo-ipv6").conclusions)
    assert f"Of {judged} conclusions of the source:" in made.counted
    assert [table.name for table in made.tables] == [
        *("jumbo-ipv6-2-rtt", "jumbo-ipv6-3-jitter", "jumbo-ipv6-4-throughput"),
        *(
            "jumbo-ipv6-5-cpu_sender",
            "jumbo-ipv6-5-cpu_receiver",
            "jumbo-ipv6-figures",
            "jumbo-ipv6-conclusions",
        ),
    ]


@pytest.mark.parametrize(
    ("receiver", "n", "measured", "verdict"),
    [
        ("ubuntu-14.04", "40", " Mbit/s (n 2)", "larger here; measured/published "),
        ("ubuntu-14.04", "", " Mbit/s (n 2)", "its source does not state the number of trials"),
        ("windows-server-2012-r2", "40", "", "no treatment here corresponds to it"),
    ],
)
def test_a_published_standard_deviation_has_a_line_of_its_own(
    tmp_path: Path, receiver: str, n: str, measured: str, verdict: str
) -> None:
    run = make_run(tmp_path / "run", 2)
    header = "table,response,mtu,sender,receiver,value,unit,change_percent,sd,n"
    line = f"4,throughput,1500 B,ubuntu-14.04,{receiver},,Mbit/s,,0.0001,{n}"
    run.__dict__["published_text"] = f"{header}\n{line}\n"
    (found,) = figures_of(book.chapter(run)).lines
    assert found[1] == f"standard deviation of Throughput, 1500 B, ubuntu-14.04, {receiver}"
    assert found[2] == f"0.0001 Mbit/s{f' (n {n})' if n else ''}"
    assert found[3].endswith(measured)
    assert bool(found[3]) == bool(measured)
    assert found[4].startswith(verdict)


def test_a_figure_is_told_at_each_level_of_a_factor_that_the_source_does_not_name(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 1, {"network.delay": "5 ms,10 ms"})
    lines = figures_of(book.chapter(run)).lines
    told = [line for line in lines if line[1].startswith("Throughput, 9000 B, ubuntu-14.04, ubuntu-14.04")]
    assert [line[1].rpartition(", ")[2] for line in told] == ["network.delay 5 ms", "network.delay 10 ms"]
    assert all(line[3].endswith(" Mbit/s (n 1)") for line in told)
    said = "have no level of network.delay, which this run varies. Each is compared at every level of it"
    assert any(said in limit for limit in book.chapter(run).limits)


def test_page_and_markdown_have_the_same_lines(made: Chapter) -> None:
    text, page = book.markdown([made]), book.page([made])
    for *_, published, measured, verdict in figures_of(made).lines:
        for said in (published, measured, verdict):
            assert said.replace("-", "−") in page.replace("-", "−").replace("&#43;", "+")
            assert said.replace("[", "").replace("]", "") in text.replace("[", "").replace("]", "")
    assert "## jumbo-ipv6: Jumbo frames over IPv6" in text
    assert "<script" not in page


def test_the_command_writes_a_book_and_says_why_there_is_no_pdf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_run(tmp_path / "run", 1)
    monkeypatch.setattr(systems.shutil, "which", lambda name: None)
    command.show([run.directory], tmp_path / "book")
    assert sorted(file.name for file in (tmp_path / "book").iterdir()) == ["book.html", "book.md"]
    assert "book.pdf was not written: there is no chromium" in capsys.readouterr().err
    with pytest.raises(BadInput):
        command.show([run.directory], tmp_path / "book")


def test_a_run_without_a_finished_trial_has_no_chapter(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 1, maker=lambda trial: "it failed")
    with pytest.raises(BadInput, match="at least one finished trial"):
        command.show([run.directory], tmp_path / "book")
    assert not (tmp_path / "book").exists()


def chapters_of_the_repository() -> dict[str, list[str]]:
    """The chapters of the repository's book, by study."""
    found: dict[str, list[str]] = {}
    for text in RESULTS.split("\n## ")[2:]:  # the first is the index
        found.setdefault(text.partition(":")[0], []).append(text)
    return found


OF_STACKS = {"jumbo-ipv6-stacks", "wired-stacks"}
"""The studies that ask other TCP/IP stacks the questions of two sources, which print no figures of them."""


def test_the_repositorys_book_has_every_study_with_published_figures() -> None:
    """All but those that need machines of the user's own, and in addition those of other TCP/IP stacks."""
    published = {name for name in shipped() if load(name).published_text() and load(name).backend != "hosts"}
    assert set(chapters_of_the_repository()) == published | OF_STACKS


@pytest.mark.parametrize("name", sorted(chapters_of_the_repository()))
def test_the_repositorys_book_judges_the_conclusions_of_each_study(name: str) -> None:
    expected = [each.name for each in load(name).conclusions]
    verdicts = "|".join([*VERDICTS, r"no change of [\d.]+%? or more"])
    size = r" in direction, [\d.]+(?: to [\d.]+)? of the published size"
    for chapter in chapters_of_the_repository()[name]:
        judged = re.findall(
            rf"^\| ([\w-]+) \| .* \| (?:{verdicts})(?:{size})?(?:, [\w ]+)? \|", chapter, re.M
        )
        # A run in real time can't be judged by a conclusion that its study did not have yet.
        if made_again.deterministic(chapter):
            assert judged == expected
        assert judged == [each for each in expected if each in judged]
        assert re.search(r"; seed \d+; nettrial \d", chapter)
        assert "backend sim" in chapter or "backend fluid" in chapter or "CPUs, Linux" in chapter


def test_a_book_begins_with_all_conclusions_and_their_sizes(made: Chapter) -> None:
    found = {line[2]: line for line in book.index([made]).lines}
    assert list(found) == [each.name for each in load("jumbo-ipv6").conclusions]
    study, backend, *_, verdict, change = found["throughput"]
    assert (study, backend) == ("jumbo-ipv6", "lab")
    assert verdict.startswith("confirmed")
    assert re.fullmatch(r"[+-][\d.]+%", change)
    assert found["windows"][-1] == ""
    assert "## All conclusions" in book.markdown([made])
    assert "<h2>All conclusions</h2>" in book.page([made])


def test_a_comparison_at_several_places_has_the_smallest_and_the_largest_change() -> None:
    said = "by level of Window: +9% against 1500 B -20.0% [-21.0, -19.0]; B against 1500 B +5.2% [no spread]"
    line = book.index_line("study", "backend sim; seed 1", ("name", "It says.", "mixed", said, "higher"))
    assert line == ("study", "sim", "name", "It says.", "mixed", "-20.0% to +5.2%")


def test_the_repositorys_book_begins_with_the_conclusions_of_all_its_chapters() -> None:
    _, *parts = re.split(r"^(?=## )", RESULTS, flags=re.MULTILINE)
    assert parts[0] == made_again.index(parts[1:])


def test_chapters_of_whole_deterministic_runs_are_made_again() -> None:
    facts = "4 of 4 trials (2 treatments × 2 blocks); backend sim; seed 1"
    assert made_again.left(facts) is None
    assert made_again.left(facts.replace("sim", "lab")) == REAL_TIME
    assert made_again.left(facts.replace("4 of", "3 of", 1)) == "its run was not whole"


def test_the_page_of_tables_and_figures_repeats_measured_intervals() -> None:
    """Every interval on the page is in the book or on the page of a study, both of which name the run."""
    pages = [RESULTS, *(page.read_text(encoding="utf-8") for page in ROOT.glob("studies/*/README.md"))]
    known = "".join(pages).replace("−", "-")
    page = (ROOT / "docs" / "studies" / "figures.md").read_text(encoding="utf-8").replace("−", "-")
    intervals = re.findall(r"\[[-+]?\d[^\]]*, [-+]?\d[^\]]*\]|\d+(?:\.\d+)? ± \d+(?:\.\d+)?", page)
    assert len(intervals) > 30
    assert [each for each in intervals if each not in known] == []


def test_every_conclusion_of_the_five_documents_has_one_of_five_verdicts() -> None:
    page = (ROOT / "docs" / "papers" / "verdicts.md").read_text(encoding="utf-8")
    claims, _, _ = page.partition("\n## ")
    given = set(re.findall(r"^- \*\*(.+)\*\*:", claims, re.M))
    rows = [line.split(" | ") for line in claims.splitlines() if line.startswith("|")][2:]
    assert len(given) == 5
    assert [row for row in rows if len(row) != 4 or row[2] not in given] == []
    named = {name for row in rows for name in re.findall(r"`([\w-]+)`", row[1])}
    studies = [load(name) for name in shipped()]
    five = [each for each in studies if each.source and each.source.title != NOT_ONE_OF_FIVE]
    expected = {conclusion.name for study in five for conclusion in study.conclusions}
    assert len(five) > 15
    assert named == expected
