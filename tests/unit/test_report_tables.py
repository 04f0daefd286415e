"""The tables of a report as data: their content, and the escaping of texts in each format."""

import csv
import io
import json
import math
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from nettrial.errors import BadInput
from nettrial.metrics import METRICS
from nettrial.metrics.base_units import BASE_UNITS, base_unit, factor_columns
from nettrial.report import formats
from nettrial.report.content import gather
from nettrial.report.data_tables import data_tables, write_tables
from nettrial.report.formats import DataTable, as_csv, as_html, as_json, as_latex, as_markdown, plain
from tests.unit.sweeps import make_sweep_run
from tests.unit.synthetic import make_run

ODD = st.text(st.sampled_from([*"ab1 -+.*_`|\\<>&$#%{}[]()~^\"'@!:/,;=\n\r\t−–±µ", "Ω"]), max_size=12)
ANY = st.text(max_size=12)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return gather(make_run(tmp_path_factory.mktemp("tables") / "run", replicates=3))


@pytest.fixture(scope="module")
def tables(report):
    return {table.name: table for table in data_tables(report)}


def read(table):
    """Parses a table in CSV, and returns its rows as dictionaries."""
    return list(csv.DictReader(io.StringIO(as_csv(table), newline="")))


def test_csv_has_the_values_themselves_in_base_units(report, tables):
    section = next(section for section in report.sections if section.name == "throughput")
    rows = read(tables["throughput"])
    assert len(rows) == len(section.response.cells) == 12
    for row, cell in zip(rows, section.response.cells, strict=True):
        assert {name: row[name] for name in cell.treatment} == cell.treatment
        assert int(row["trials"]) == 3
        assert float(row["mean_bps"]) == cell.mean * 1e6
        assert float(row["mean_low_bps"]) == cell.interval.low * 1e6
        assert float(row["deviation_bps"]) == cell.deviation * 1e6
        if cell.change is None:
            assert row["change_percent"] == row["pairs"] == ""
        else:
            assert float(row["change_percent"]) == cell.change.percent
            assert float(row["change_high_percent"]) == cell.change.interval.high


def test_published_values_are_as_printed_and_in_base_units(tables):
    row = read(tables["rtt-published"])[2]
    assert (row["printed"], row["unit"], row["value_s"]) == ("9.61", "ms", "0.00961")
    compared = read(tables["rtt-comparison"])
    assert [row["published_percent"] for row in compared] == ["-5.41", "-24.74"]
    assert {row["in_interval"] for row in compared} <= {"true", "false"}


def test_what_is_shown_is_what_the_page_shows(report, tables):
    section = next(section for section in report.sections if section.name == "throughput")
    entry = section.measured.entries[2][0]
    assert tables["throughput"].lines[2][1] == f"{entry.value} ± {entry.half_interval}"
    assert tables["throughput"].lines[2][2] == f"{entry.change} {entry.change_interval}"
    assert tables["throughput"].notes[0].startswith("*1 router: CPU 0 was busy")
    changes = tables["changes"]
    assert len(changes.lines) == len(report.sections) * 8
    words = {"better": "better", "worse": "worse", "small": "below 1%", "none": "no change shown"}
    verdicts = [
        words[row["verdict"]] if line[-2][:6] != "absent" else ""
        for line, row in zip(changes.lines, read(changes), strict=True)
    ]
    assert [line[-1].partition("; ")[0] for line in changes.lines] == verdicts
    assert any(line[-1].endswith(" would be") for line in changes.lines)
    assert {"better", "no change shown"} <= set(verdicts)


def test_each_table_is_written_in_each_form(report, tables, tmp_path):
    files = write_tables(report, tmp_path)
    assert sorted(tmp_path.iterdir()) == sorted(files)
    assert {file.stem for file in files} == set(tables)
    assert {file.suffix for file in files} == {".csv", ".md", ".tex"}
    assert (tmp_path / "rtt.csv").read_bytes().count(b"\r\n") == 13
    with pytest.raises(BadInput, match="writing the tables"):
        write_tables(report, tmp_path / "nowhere")


def test_a_sweeps_tables(tmp_path):
    tables = {table.name: table for table in data_tables(gather(make_sweep_run(tmp_path / "run", 2)))}
    rows = read(tables["round-trip-times"])
    assert {row["size_bytes"] for row in rows} == {
        line[0].removesuffix(" B") for line in tables["round-trip-times"].lines
    }
    for row in rows:
        assert float(row["rtt_low_s"]) < float(row["rtt_s"]) < float(row["rtt_high_s"]) < 0.001
    assert {row["packets"] for row in read(tables["steps"])} > {"1", "2"}


def test_a_run_without_a_trial_has_no_tables(tmp_path):
    assert data_tables(gather(make_run(tmp_path / "run", 1, trials=0))) == []


def table_of(texts, values=None):
    lines = tuple((text, text) for text in texts)
    rows = tuple((value,) for value in values or texts)
    return DataTable("t", "caption", ("a", "b"), lines, ("a",), rows, (("group", 1),), ("note",))


@given(st.lists(ANY | ODD, min_size=1, max_size=4))
@settings(max_examples=100, deadline=None)
def test_csv_gives_back_every_text(texts):
    with_tail = [[text, "end"] for text in texts]
    table = DataTable("t", "", (), (), ("text", "tail"), tuple(map(tuple, with_tail)))
    assert list(csv.reader(io.StringIO(as_csv(table), newline="")))[1:] == with_tail


@given(st.lists(st.floats(allow_nan=True) | st.integers() | st.none(), min_size=1, max_size=4))
def test_csv_gives_back_every_number(numbers):
    table = DataTable("t", "", (), (), ("value", "tail"), tuple((number, 1) for number in numbers))
    for row, number in zip(read(table), numbers, strict=True):
        if number is None or not math.isfinite(number):
            assert row["value"] == ""
        else:
            assert type(number)(row["value"]) == number


def one_line(text):
    """Returns the part of a text that every format preserves: runs of white space become one space, and
    control characters are removed."""
    return formats._line(text)


@given(st.lists(ODD, min_size=1, max_size=3))
@settings(max_examples=150, deadline=None)
def test_markdown_shows_every_text_as_it_is(texts):
    parser = MarkdownIt("commonmark").enable("table")
    tokens = parser.parse(as_markdown(table_of(texts)))
    kinds = [token.type for token in tokens]
    assert kinds.count("table_open") == 1
    assert kinds.count("tr_open") == 1 + len(texts)
    body = tokens[kinds.index("tbody_open") :]
    cells = [token for token in body if token.type == "inline"][:-1]  # The last cell is the note.
    for cell, text in zip(cells[::2], texts, strict=True):
        shown = "".join(child.content for child in cell.children)
        assert {child.type for child in cell.children} <= {"text", "text_special"}, cell.content
        assert shown == one_line(text)


def read_latex(text):
    """Returns the text that LaTeX prints. The input may only contain the commands that `formats`
    generates."""
    back = {mark: sign for sign, mark in formats._LATEX.items() if mark.startswith(("\\", "$"))}
    pattern = "|".join(map(re.escape, sorted(back, key=len, reverse=True)))
    rest = re.sub(pattern, "", text).replace("{}", "")
    assert not re.search(r"[\\&%$#_{}~^<>|\"`]", rest), rest
    assert "''" not in text
    marks = rf"({pattern})|(--)|(\{{\}})"
    return re.sub(marks, lambda found: back.get(found[1], "–" if found[2] else ""), text)


@given(ODD | ANY)
@settings(max_examples=100, deadline=None)
def test_latex_prints_every_text_as_it_is(text):
    printed = read_latex(formats._latex(text))
    assert printed.replace("−", "-") == one_line(text).replace("−", "-")


@given(st.lists(ODD, min_size=1, max_size=3))
def test_latex_rows_cannot_be_taken_for_options_of_the_row_before(texts):
    lines = as_latex(table_of(texts)).splitlines()
    body = lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]
    assert len(body) == len(texts)
    for line in body:
        assert line.endswith(r" \\")
        assert not line.lstrip().startswith(("[", "*"))
        assert len(re.findall(r"(?<!\\)&", line)) == 1


class Cells(HTMLParser):
    """The texts of the cells in an HTML table."""

    def __init__(self):
        super().__init__()
        self.found, self.tags = [], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag == "td":
            self.found.append("")

    def handle_data(self, data):
        if self.found:
            self.found[-1] += data


@given(st.lists(ODD, min_size=1, max_size=3))
def test_html_shows_every_text_as_it_is(texts):
    table = table_of([text.replace("\r", "") for text in texts])
    reader = Cells()
    reader.feed(as_html(table).partition("<p>")[0])
    assert reader.found[::2] == [text.replace("\r", "") for text in texts]
    assert reader.tags == {"table", "caption", "thead", "tbody", "tr", "th", "td"}


def test_the_forms_of_a_page_end_no_script():
    forms = as_json([plain("t", "</script>", ["a"], [["</script><!--"]])])
    assert "<" not in forms
    assert json.loads(forms)["t"]["csv"] == "a\r\n</script><!--\r\n"


def test_every_metrics_unit_has_a_base_unit():
    assert {metric.unit for metric in METRICS.values()} <= set(BASE_UNITS)
    assert base_unit("m/s").column("speed") == "speed_m_s"
    assert base_unit("us/kB").value(5.0) == 5e-9


def test_a_factor_called_as_another_column():
    assert factor_columns(["mtu", "trials"], ("trials",)) == {"mtu": "mtu", "trials": "factor_trials"}
