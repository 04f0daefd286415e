"""Tables of a run's records: no value is lost or altered, and files appear completely or not at all."""

import csv
import io
import zlib
from collections import Counter
from datetime import UTC

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nettrial.design import plan, scenario_of
from nettrial.errors import BadInput
from nettrial.export import FORMS, TABLES, export, files, frames, responses_frame
from nettrial.export.layout import TRIAL
from nettrial.export.record_frames import KEYS
from nettrial.scenario import Record
from nettrial.store import Run
from nettrial.study import load
from tests.records import full_record
from tests.unit.sweeps import make_sweep_run
from tests.unit.synthetic import ENVIRONMENT, make_run
from tests.unit.test_distributions import encoded

STUDY = load("jumbo-ipv6")


def run_of(directory, records):
    """Makes a run whose first trials gave these records."""
    planned = plan(STUDY, 2, seed=1)
    run = Run.create(directory, STUDY.document.text, None, STUDY, planned, 1, "nettrial run jumbo-ipv6")
    with run.session(ENVIRONMENT) as session:
        for trial, record in zip(planned, records, strict=False):
            session.finished(trial, scenario_of(STUDY, trial.treatment), record)
    return Run.open(directory)


def tables_of(run):
    return {name: read() for name, read in frames(run).items()}


def everything():
    """Returns a record as JSON in which every list has entries."""
    made = full_record().model_dump(by_alias=True, exclude_none=True)
    made["flows"][0].update(rtt_histogram=encoded([1000]).root, owd_histogram=encoded([2000]).root)
    made["flows"][0]["tool"] = {"command": ["iperf3", "-c"], "output": "out", "version": "3.12"}
    made["flows"][0]["intervals"][0]["subflow_bytes"] = [5, 6]
    made["ends"][0]["queue_bytes"] = made["ends"][0]["queue_pkts"]
    made["checks"] = [{"name": "n", "object": "o", "expected": "e", "found": "f", "passed": True}]
    made["warnings"] = [{"code": "c", "object": "o", "message": "m", "consequence": "q"}]
    made["events"] = [{"fails": ["leaf-1", "spine-1"], "at_ns": 1, "returned_ns": 2}]
    made["absent"] = [{"metric": "m", "object": "o", "reason": "r"}]
    counts = dict.fromkeys(("cong_avoid", "coupled", "init", "pkts_acked", "release", "set_state"), 1)
    counts |= dict.fromkeys(("ssthresh", "undo_cwnd", "cwnd_event"), 1)
    known = Record.model_fields["congestion"].annotation.__args__[0].__args__[0]
    callbacks = known.model_fields["callbacks"].annotation.model_fields
    made["congestion"] = [{"name": "lia", "callbacks": dict.fromkeys(callbacks, 1)}]
    return made


KEPT = ("ip", "transport", "format")
"""The fields that have one of few values."""


def numbered(value, count):
    """Returns a document whose figures and texts are all different."""
    if isinstance(value, dict):
        return {
            name: part if name in KEPT or name.endswith("_histogram") else numbered(part, count)
            for name, part in value.items()
            if name != "signal_dbm"
        } | {name: -count["seen"] % 128 - 128 for name in value if name == "signal_dbm"}
    if isinstance(value, list):
        return [numbered(part, count) for part in value]
    if isinstance(value, bool):
        return value
    count["seen"] += 1
    return f"text {count['seen']}" if isinstance(value, str) else type(value)(1000 + count["seen"])


def leaves(value):
    """Returns every figure and text of a document."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [leaf for part in value for leaf in leaves(part)]
    return [value]


def test_every_figure_of_a_record_is_in_some_table(tmp_path):
    made = numbered(everything(), Counter())
    found = tables_of(run_of(tmp_path / "run", [Record.model_validate(made)]))
    seen = {leaf for table in found.values() for row in table.rows() for leaf in leaves(list(row))}
    wanted = [leaf for leaf in leaves(made) if isinstance(leaf, (int, float, str))]
    assert len(set(wanted)) > 240
    assert set(wanted) - seen == set()


def test_columns_are_called_after_fields_with_the_unit_at_the_end(tmp_path):
    found = tables_of(run_of(tmp_path / "run", [full_record()]))
    flow = found["flows"].row(0, named=True)
    assert (flow["flow"], flow["rtt_p99_us"], flow["rtt_count"]) == ("transfer", 2500.0, 200_000)
    assert (flow["pacing_lateness_mean_us"], flow["packets_lost_pkts"]) == (5.0, 20)
    assert found["links"].row(0, named=True)["queue_p99_pkts"] == 90
    assert found["samples"]["cwnd_pkts"].to_list() == [10, 30, 0]
    assert found["subflows"].select("flow", "bytes", "local").rows() == [
        ("transfer", 300, "10.0.0.1:1"),
        ("transfer", 100, "10.0.0.1:1"),
    ]
    sizes = found["sizes"].select("flow", "size_bytes", "repeat", "rtt_us", "rtt_minimum_us")
    assert sizes.rows()[:2] == [("transfer", 1000, 1, 10.0, 9.0), ("transfer", 1000, 2, 12.0, 10.0)]
    assert found["packet_sizes"].select("node", "interface", "size_bytes", "packets").rows() == [
        ("sender", "eth0", 1500, 90),
        ("sender", "eth0", 60, 10),
    ]


def test_trials_are_those_of_the_plan_with_their_responses(tmp_path):
    def maker(trial):
        from tests.unit.synthetic import plain

        return "no such device" if trial.number == 3 else plain(trial)

    run = make_run(tmp_path / "run", replicates=2, maker=maker, trials=20)
    found = tables_of(run)
    trials = found["trials"]
    assert trials["number"].to_list() == [trial.number for trial in run.plan]
    assert trials["state"].to_list() == ["finished"] * 2 + ["failed"] + ["finished"] * 17 + ["pending"] * 4
    assert trials["mtu"].cast(pl.String).to_list() == [trial.treatment["mtu"] for trial in run.plan]
    values = responses_frame(run).filter(pl.col("response") == "throughput")
    measured = trials.filter(pl.col("state") == "finished")
    assert measured["throughput_bps"].to_list() == [value * 1e6 for value in values["value"]]
    assert trials.filter(pl.col("state") != "finished")["throughput_bps"].to_list() == [None] * 5
    assert measured["warnings"].to_list() == [len(trial.record.warnings) for trial in run.trials()]
    assert found["failures"].select("number", "message").rows() == [(3, "no such device")]
    assert (
        found["responses"]
        .drop("mtu", "sender", "receiver")
        .equals(responses_frame(run).drop("mtu", "sender", "receiver"))
    )
    assert found["sessions"]["started"].to_list() == [
        session.started.astimezone(UTC) for session in run.sessions
    ]


def test_levels_keep_their_order(tmp_path):
    flows = tables_of(make_run(tmp_path / "run", replicates=1))["flows"]
    assert flows.sort("mtu")["mtu"].unique(maintain_order=True).to_list() == ["1500 B", "4000 B", "9000 B"]


TEXT = st.text(max_size=8)
COUNT = st.integers(0, 2**53)
FIGURE = st.floats(allow_nan=False, allow_infinity=False)
WARNINGS = st.lists(st.fixed_dictionaries(dict.fromkeys(("code", "object", "message", "consequence"), TEXT)))
HOSTS = st.lists(
    st.fixed_dictionaries(
        {"name": TEXT, "processor_shared_with": st.lists(TEXT, max_size=2)},
        optional={"cpu_percent": FIGURE, "cpu_busy_ns": COUNT, "processor": COUNT},
    ),
    max_size=3,
)
SAMPLE = dict.fromkeys(
    ("at_ns", "bytes", "cwnd_pkts", "min_rtt_us", "retransmissions_pkts", "srtt_us"), COUNT
)
SAMPLES = st.lists(
    st.fixed_dictionaries(SAMPLE, optional={"subflow_bytes": st.lists(COUNT, max_size=3)}), max_size=3
)


@st.composite
def records(draw):
    made = full_record().model_dump(by_alias=True, exclude_none=True)
    made.update(warnings=draw(WARNINGS), hosts=draw(HOSTS))
    made["flows"] = made["flows"][: draw(st.integers(0, 2))]
    for flow in made["flows"]:
        flow.update(
            name=draw(TEXT), bytes=draw(COUNT), jitter_rfc3550_us=draw(FIGURE), intervals=draw(SAMPLES)
        )
    return Record.model_validate(made)


def value_at(document, path):
    """Returns the value at a path of fields in a document, or None if a part of the path is missing."""
    for name in path:
        document = None if document is None else document.get(name)
    return document


def expected(table, number, record):
    """Returns the rows that a table must have for a record."""
    rows = [({}, record.model_dump(by_alias=True))]
    for depth, name in enumerate(table.lists):
        outer = table.outer if depth == 1 else ()
        rows = [
            ({column.name: value_at(entry, column.path) for column in outer}, inner)
            for _, entry in rows
            for inner in entry[name] or []
        ]
    return [
        {"number": number, **keys, **{column.name: value_at(entry, column.path) for column in table.own}}
        for keys, entry in rows
    ]


@given(st.lists(records(), min_size=1, max_size=3))
@settings(max_examples=8, deadline=None)
def test_what_is_exported_is_what_is_stored(tmp_path_factory, made):
    directory = tmp_path_factory.mktemp("export")
    run = run_of(directory / "run", made)
    export(run, "parquet", directory / "out")
    kept = [trial.record for trial in run.trials()]
    assert kept == made
    for name, table in TABLES.items():
        read = pl.read_parquet(directory / "out" / f"{name}.parquet")
        assert read.equals(frames(run)[name]())
        if not table.repeats:
            wanted = [row for number, record in enumerate(kept, 1) for row in expected(table, number, record)]
            assert read.drop("block", "mtu", "sender", "receiver").to_dicts() == wanted


def as_csv(value):
    """Returns a value in the form that CSV files use."""
    if isinstance(value, list):
        return (" " if all(isinstance(part, int) for part in value) else ", ").join(map(str, value))
    return "" if value is None else str(value)


@given(st.lists(records(), min_size=1, max_size=3))
@settings(max_examples=8, deadline=None)
def test_csv_gives_back_every_text_and_figure(tmp_path_factory, made):
    directory = tmp_path_factory.mktemp("export")
    run = run_of(directory / "run", made)
    for name in ("hosts", "warnings", "samples"):
        table = frames(run)[name]()
        FORMS["csv"](table.lazy(), directory / "table.csv", run.command)
        with (directory / "table.csv").open(newline="", encoding="utf-8") as file:
            text = file.read()
        assert text.endswith("\r\n")
        columns, *rows = csv.reader(io.StringIO(text, newline=""))
        assert columns == table.columns
        for row, values in zip(rows, table.rows(), strict=True):
            for shown, value in zip(row, values, strict=True):
                if isinstance(value, float):
                    assert float(shown) == value
                else:
                    assert shown == as_csv(value)


def test_a_sweep_has_a_row_for_each_repeat_of_a_size(tmp_path):
    run = make_sweep_run(tmp_path / "run", replicates=1)
    sizes = tables_of(run)["sizes"]
    wanted = [
        (trial.planned.number, size.size_bytes, repeat, rtt)
        for trial in run.trials()
        for flow in trial.record.flows
        for size in flow.sizes
        for repeat, rtt in enumerate(size.rtt_us, start=1)
    ]
    assert sizes.select("number", "size_bytes", "repeat", "rtt_us").rows() == wanted


def test_a_run_without_a_trial_has_empty_tables_of_the_same_columns(tmp_path):
    empty = tables_of(run_of(tmp_path / "empty", []))
    full = tables_of(run_of(tmp_path / "full", [full_record()]))
    assert {name: table.schema for name, table in empty.items()} == {
        name: table.schema for name, table in full.items()
    }
    assert empty["flows"].is_empty()
    assert set(empty["trials"]["state"]) == {"pending"}


def test_no_column_is_there_twice():
    for table in (*TABLES.values(), TRIAL):
        names = [*KEYS, *(column.name for column in (*table.outer, *table.own))]
        assert len(names) == len(set(names)), table.name


def test_nothing_is_left_of_an_export_that_fails(tmp_path, monkeypatch):
    run = run_of(tmp_path / "run", [full_record()])

    def full(table, target, run):
        target.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(files.FORMS, "csv", full)
    with pytest.raises(BadInput, match=r"exporting the run: .*/out: No space left on device"):
        export(run, "csv", tmp_path / "out")
    assert [file.name for file in tmp_path.iterdir()] == ["run"]


def test_an_export_refuses_what_there_is_and_what_it_does_not_know(tmp_path):
    run = run_of(tmp_path / "run", [])
    (tmp_path / "out").mkdir()
    with pytest.raises(BadInput, match=r"exporting the run: --out: .*out exists"):
        export(run, "csv", tmp_path / "out")
    with pytest.raises(BadInput, match="--to: xlsx\n  expected: parquet, csv"):
        export(run, "xlsx", tmp_path / "other")
    assert list(FORMS) == ["parquet", "csv"]


def test_a_damaged_record_is_told(tmp_path):
    run = run_of(tmp_path / "run", [])
    with run.session(ENVIRONMENT) as session:
        session._insert("trial", 1, session.number, b"", b"no compressed text")
    with pytest.raises(BadInput, match="can't read a record in it"):
        export(run, "csv", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    other = run_of(tmp_path / "other", [])
    with other.session(ENVIRONMENT) as session:
        session._insert("trial", 1, session.number, b"", zlib.compress(b'{"flows": {'))
    with pytest.raises(BadInput, match="can't read a record in it"):
        frames(other)["flows"]()


def test_what_was_not_measured_is_empty_and_not_0(tmp_path):
    """A distribution without values has zeros in the record, and so have sizes of segments and times."""
    made = full_record().model_dump(by_alias=True, exclude_none=True)
    none = dict.fromkeys(made["flows"][0]["srtt_us"], 0)
    made["flows"][0] |= {"srtt_us": none, "min_rtt_us": 0, "mss_bytes": 0}
    row = tables_of(run_of(tmp_path / "run", [Record.model_validate(made)]))["flows"].row(0, named=True)
    assert row["srtt_count"] == 0
    named = ("srtt_mean_us", "srtt_p99_us", "srtt_maximum_us", "min_rtt_us", "mss_bytes")
    assert [row[name] for name in named] == [None] * 5
