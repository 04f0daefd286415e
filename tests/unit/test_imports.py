"""Measurements of iperf3 and perfSONAR become runs with exactly their figures."""

import contextlib
import html
import io
import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from nettrial.analysis import absences, repeated
from nettrial.analysis.compare import compare
from nettrial.cli.ci import as_markdown
from nettrial.cli.imports import _environment, import_files
from nettrial.design import plan, scenario_of
from nettrial.errors import BadInput, TrialsFailed
from nettrial.export import export
from nettrial.imports import iperf3, read
from nettrial.imports.figures import distribution
from nettrial.imports.pscheduler import seconds_of
from nettrial.measuring.measured_run import MeasuredPart, _document
from nettrial.report.content import gather
from nettrial.report.html import write
from nettrial.report.terminal import render
from nettrial.store import Run
from nettrial.study import Study, load
from tests.killed import each_moment

OUTPUTS = Path(__file__).parents[2] / "engine" / "traffic" / "tests" / "outputs"
TCP = json.loads((OUTPUTS / "iperf3-tcp.json").read_text())
UDP = json.loads((OUTPUTS / "iperf3-udp.json").read_text())
THROUGHPUT = {
    "succeeded": True,
    "diag": "",
    "intervals": [],
    "summary": {
        "streams": [{}, {}],
        "summary": {
            "throughput-bits": 9.4e8,
            "receiver-throughput-bits": 9.3e8,
            "start": 0,
            "end": 10,
            "retransmits": 3,
        },
    },
}
RTT = {
    "succeeded": True,
    "roundtrips": [{"rtt": "PT0.001S", "seq": 1}, {"rtt": "PT0.003S"}, {"error": "timeout"}],
    "loss": 0.33,
    "sent": 3,
    "received": 2,
    "lost": 1,
    "duplicates": 0,
    "reorders": 0,
}
LATENCY = {
    "test": {"type": "latency", "spec": {"source": "192.0.2.1", "dest": "192.0.2.2", "bucket-width": 0.001}},
    "tool": {"name": "twping"},
    "run": {"start-time": "2026-01-31T12:00:00Z"},
    "result": {
        "schema": 1,
        "succeeded": True,
        "max-clock-error": 0.1,
        "packets-sent": 100,
        "packets-lost": 1,
        "packets-duplicated": 0,
        "packets-reordered": 0,
        "histogram-latency": {"1.20": 50, "1.30": 49},
    },
}
TRACE = {
    "succeeded": True,
    "paths": [[{"ip": "2001:db8::1", "rtt": "PT0.0003S"}, {}, {"ip": "2001:db8::9", "rtt": "PT0.0009S"}]],
}


def figures(folder, document, ip=None):
    """Returns the imported record, the figures of a document by metric, and the reasons for those that are
    absent."""
    (folder / "found.json").write_text(json.dumps(document))
    found = only(folder / "found.json", ip)
    return found, values_of(found), absences([found.record], ["measured"])


def only(path, ip=None):
    """Returns the only measurement of a file."""
    readings = read(path, ip)
    assert [str(why) for why in readings.refused] == []
    (found,) = readings.imported
    return found


def values_of(found, flow="measured"):
    """Returns the figures of a measurement's flow by metric."""
    return {each.metric.name: each.cell.mean for each in repeated([found.record], [flow])}


def test_iperf3_over_tcp(tmp_path):
    found, values, absent = figures(tmp_path, TCP)
    assert values == {
        "goodput": pytest.approx(96.2653, abs=1e-3),
        "retransmissions": 0,
        "srtt": pytest.approx(21.814),
        "min_rtt": pytest.approx(21.814),
        "cwnd": pytest.approx(201, abs=20),
    }
    assert absent == {"connect_time": "iperf 3.12 did not report it"}
    assert found.record.started_unix_ns == 1795304725 * 10**9
    assert found.record.flows[0].congestion_control == "cubic"


def test_iperf3_over_udp(tmp_path):
    _, values, absent = figures(tmp_path, UDP)
    assert values["goodput"] == pytest.approx(97.1697, abs=1e-3)
    assert values["jitter_rfc3550"] == pytest.approx(0.0577, abs=1e-4)
    assert (values["loss"], values["reordering"]) == (0, 0)
    assert set(absent) == {"connect_time", "srtt", "min_rtt", "retransmissions", "cwnd"}


def test_perfsonars_results(tmp_path):
    found, values, absent = figures(tmp_path, THROUGHPUT, 4)
    assert values == {"goodput": pytest.approx(930), "retransmissions": 3}
    assert not found.record.warnings
    assert set(absent) == {"connect_time", "srtt", "min_rtt", "cwnd"}

    _, values, absent = figures(tmp_path, RTT, 4)
    assert values["rtt"] == pytest.approx(2.0)
    assert values["rtt_p99"] == pytest.approx(3.0)
    assert values["loss"] == pytest.approx(100 / 3)
    assert absent["packet_rate"] == "pScheduler did not report the time that the packets took"

    found, values, absent = figures(tmp_path, LATENCY)
    assert values["owd"] == pytest.approx((1.2 * 50 + 1.3 * 49) / 99)
    assert values["owd_error"] == pytest.approx(0.1)
    assert values["loss"] == 1
    assert found.record.engine_version == "pScheduler with twping"
    assert found.record.started_unix_ns == 1769860800 * 10**9

    found, values, _ = figures(tmp_path, TRACE)
    assert values["rtt"] == pytest.approx(0.9)
    assert found.flows[0].ip.root == 6


def test_what_is_not_known_is_not_made_up(tmp_path):
    sender = {**THROUGHPUT, "summary": {"summary": {"throughput-bits": 9.4e8, "start": 0, "end": 10}}}
    found, values, absent = figures(tmp_path, sender, 4)
    assert values == {"goodput": pytest.approx(940)}
    assert [warning.code for warning in found.record.warnings] == ["sender_count"]
    assert absent["retransmissions"] == "pScheduler did not report it"
    result = {**LATENCY["result"], "max-clock-error": 5.0}
    _, values, absent = figures(tmp_path, {**LATENCY, "result": result})
    assert "owd" not in values
    assert absent["owd"] == "the smallest delay is not above the error of the clocks"
    assert values["delay_variation_p99"] == pytest.approx(0.1)


def test_files_become_a_run_in_the_order_of_their_times(tmp_path):
    for number, (at, rate) in enumerate([(300, 3e8), (100, 1e8), (200, 2e8)]):
        received = {**TCP["end"]["sum_received"], "bits_per_second": rate, "bytes": rate / 8 * 1.01081}
        received["bytes"] = round(received["bytes"])
        document = {**TCP, "end": {**TCP["end"], "sum_received": received}}
        document["start"] = {**TCP["start"], "timestamp": {"timesecs": at}}
        (tmp_path / f"{number}.json").write_text(json.dumps(document))
    files = [tmp_path / f"{number}.json" for number in range(3)]
    import_files(files, tmp_path / "run", None)
    run = Run.open(tmp_path / "run")
    assert [trial.record.flows[0].goodput_bps for trial in run.trials()] == [1e8, 2e8, 3e8]
    (session,) = run.sessions
    assert (session.environment.processor, session.environment.kernel) == ("", "Linux")
    assert dict(export(run, "csv", tmp_path / "tables"))["trials"] == 3
    with pytest.raises(BadInput, match="exists"):
        import_files(files, tmp_path / "run", None)
    (tmp_path / "other.json").write_text(json.dumps(UDP))
    with pytest.raises(BadInput, match="separate runs"):
        import_files([*files, tmp_path / "other.json"], tmp_path / "more", None)
    assert not (tmp_path / "more").exists()


def test_a_kill_at_any_moment_leaves_all_measurements_or_none(tmp_path):
    """A part of them was left under the run's name, so that the same command was refused afterwards."""
    file, run = tmp_path / "results.json", tmp_path / "runs" / "imported"
    file.write_text("\n".join([json.dumps(TCP)] * 3))
    import_files([file], tmp_path / "warm", None)  # what is imported on first use is loaded
    found = set()
    for _ in each_moment(lambda: import_files([file], run, None)):
        found.add(Run.open(run).finished() if run.exists() else None)
        shutil.rmtree(run, ignore_errors=True)
    assert found == {None, 3}


def test_a_bad_file_takes_no_other_with_it(tmp_path, capsys):
    (tmp_path / "good.json").write_text(json.dumps(TCP) + "\n" + json.dumps({**TCP, "error": "broken pipe"}))
    (tmp_path / "bad.json").write_text("{")
    files = [tmp_path / "bad.json", tmp_path / "good.json"]
    with pytest.raises(TrialsFailed, match="2 files or documents could not be imported"):
        import_files(files, tmp_path / "run", None)
    assert Run.open(tmp_path / "run").finished() == 1
    said = capsys.readouterr().err
    assert "bad.json: Expecting property name" in said
    assert "good.json: document 2: the test failed: broken pipe" in said
    with pytest.raises(BadInput, match=r"bad\.json"):
        import_files(files[:1], tmp_path / "none", None)
    assert not (tmp_path / "none").exists()


def test_total_loss_is_a_result(tmp_path):
    lost = {**RTT, "roundtrips": [], "received": 0, "lost": 3, "loss": 1.0}
    _, values, absent = figures(tmp_path, lost, 4)
    assert values == {"loss": 100}
    assert (absent["rtt"], absent["rtt_p99"]) == ("no packet arrived", "no packet arrived")

    histogram = {"histogram-latency": {}, "packets-lost": 100, "packets-received": 0}
    _, values, absent = figures(tmp_path, {**LATENCY, "result": {**LATENCY["result"], **histogram}})
    assert values == {"loss": 100}
    assert (absent["owd"], absent["delay_variation_p50"]) == ("no packet arrived", "no packet arrived")

    nothing = {"bytes": 0, "bits_per_second": 0, "packets": 0, "lost_packets": 0, "jitter_ms": 0}
    received = {**UDP["end"]["sum_received"], **nothing}
    total = {**UDP["end"]["sum"], "lost_packets": 0, "jitter_ms": 0}
    _, values, absent = figures(
        tmp_path, {**UDP, "end": {**UDP["end"], "sum": total, "sum_received": received}}
    )
    assert (values["goodput"], values["loss"]) == (0, 100)
    assert absent["jitter_rfc3550"] == "no packet arrived"


def test_an_error_of_the_clocks_of_0_is_no_estimate(tmp_path):
    result = {**LATENCY["result"], "max-clock-error": 0.0}
    _, values, absent = figures(tmp_path, {**LATENCY, "result": result})
    assert not {"owd", "owd_error"} & set(values)
    assert absent["owd_error"] == absent["owd"] == "pScheduler did not report the error of the clocks"


@pytest.mark.parametrize(
    ("tool", "why"),
    [
        ("iperf3", None),
        ("iperf2", None),
        ("nuttcp", "nuttcp reports its largest jitter, which is not that of RFC 3550"),
        ("ethr", "pScheduler with ethr does not say how its jitter is computed"),
    ],
)
def test_only_the_jitter_of_rfc_3550_has_its_name(tmp_path, tool, why):
    summary = {"throughput-bits": 2.1e8, "start": 0, "end": 10, "sent": 1000, "lost": 10, "jitter": 37.2}
    document = {
        "test": {"type": "throughput", "spec": {"dest": "192.0.2.1", "udp": True}},
        "tool": {"name": tool},
        "result": {"succeeded": True, "summary": {"summary": summary, "streams": []}},
    }
    _, values, absent = figures(tmp_path, document)
    assert values["loss"] == 1
    assert (values.get("jitter_rfc3550"), absent.get("jitter_rfc3550")) == (
        (None, why) if why else (37.2, None)
    )


def test_intervals_have_the_bytes_of_each_interval(tmp_path):
    found, _, _ = figures(tmp_path, TCP)
    sent = [each["streams"][0]["bytes"] for each in TCP["intervals"]]
    assert [each.bytes for each in found.record.flows[0].intervals] == sent
    document = json.loads(json.dumps(TCP))
    for number, each in enumerate(document["intervals"]):
        each["streams"][0] |= {"bytes": 1_000_000, "retransmits": number}
    found, _, _ = figures(tmp_path, document)
    intervals = found.record.flows[0].intervals
    assert {each.bytes for each in intervals} == {1_000_000}
    assert [each.retransmissions_pkts for each in intervals] == list(range(len(intervals)))


def test_omitted_intervals_do_not_count(tmp_path):
    document = json.loads(json.dumps(TCP))
    first = json.loads(json.dumps(document["intervals"][0]))
    first["streams"][0] |= {"omitted": True, "rtt": 10**6, "snd_cwnd": 10**8}
    document["intervals"].insert(0, first)
    assert figures(tmp_path, document)[1] == figures(tmp_path, TCP)[1]
    assert figures(tmp_path, document)[0].record.flows == figures(tmp_path, TCP)[0].record.flows


def test_retransmissions_that_nobody_counted_are_absent(tmp_path):
    for value in (None, -1):
        sent = {**TCP["end"]["sum_sent"], "retransmits": value}
        found, values, absent = figures(tmp_path, {**TCP, "end": {**TCP["end"], "sum_sent": sent}})
        assert "retransmissions" not in values
        assert absent["retransmissions"] == "iperf 3.12 did not report it"
        assert found.record.flows[0].retransmissions_pkts is None


def test_counts_that_contradict_each_other_are_left_out(tmp_path):
    """3.21 with an older peer reports no loss, but fewer bytes than packets."""
    received = {**UDP["end"]["sum_received"]}
    received["bytes"] = round(received["bytes"] * 0.956)
    found, values, absent = figures(tmp_path, {**UDP, "end": {**UDP["end"], "sum_received": received}})
    assert not {"loss", "packet_rate", "reordering"} & set(values)
    assert "as arrived, but the bytes of" in absent["loss"]
    assert [each.code for each in found.record.warnings] == ["contradictory_counts"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected: JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("9" * 5000, "JSON"),
        ('{"a": NaN}', "NaN is not a number of JSON"),
        ("[]", "an empty array"),
        ("[3]", "no object"),
        ("{}", "a result of another test"),
        ('{"start": 3, "end": {}}', "start"),
        ((OUTPUTS / "iperf3-refused.json").read_text(), "Connection refused"),
        (json.dumps({**TCP, "end": {}}), "the sums that iperf3 prints at the end of a test"),
        ("Connecting to host 192.0.2.1, port 5201\n[  5] local", "the text that iperf3 prints"),
        ("Server listening on 5201\n", "the text that iperf3 prints"),
        (json.dumps(TCP).replace('"bytes": 12163256', '"bytes": -1'), "sum_received.bytes"),
        (json.dumps(TCP).replace("96265323.58670415", "1e400"), "bits_per_second"),
        (json.dumps(THROUGHPUT), "its IP version by --ip"),
        (json.dumps({**RTT, "succeeded": False, "error": "no route"}), "no route"),
        (json.dumps({**RTT, "lost": 4}), "no more packets lost than sent"),
        (json.dumps({**RTT, "roundtrips": [{"rtt": "1 ms"}]}), "ISO 8601"),
        (json.dumps({**TRACE, "paths": [[{"ip": "192.0.2.1"}]]}), "last hop"),
    ],
)
def test_bad_files_are_refused_with_their_fault(tmp_path, text, said):
    (tmp_path / "bad.json").write_text(text)
    ip = None if "--ip" in said else 4
    readings = read(tmp_path / "bad.json", ip)
    (error,) = readings.refused
    assert not readings.imported
    assert said in str(error)
    assert "bad.json" in str(error)


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from([-1, 0, 2**70, 1e300, "PT1S", "192.0.2.1", [], {}]),
)


def _places(document, at=()):
    yield at
    if isinstance(document, dict | list):
        for key in document if isinstance(document, dict) else range(len(document)):
            yield from _places(document[key], (*at, key))


@given(data=st.data(), document=st.sampled_from([TCP, UDP, THROUGHPUT, RTT, LATENCY, TRACE]))
@settings(max_examples=150, deadline=None)
def test_hostile_documents_are_read_or_refused(tmp_path_factory, data, document):
    """A document with any value at any place gives a record, or an error for the user."""
    document = json.loads(json.dumps(document))
    place = data.draw(st.sampled_from([at for at in _places(document) if at]))
    part = document
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = data.draw(LEAVES)
    file = tmp_path_factory.getbasetemp() / "hostile.json"
    file.write_text(json.dumps(document))
    readings = read(file, 4)
    assert len(readings.imported) + len(readings.refused) == 1
    for found in readings.imported:
        repeated([found.record], [flow.name for flow in found.flows])


@pytest.mark.parametrize("ends", [[1.0, 1.0, 1.0], [2.0, 1.0, 3.0], [0.0, 0.0, 0.0]])
def test_intervals_that_do_not_follow_each_other_are_left_out(tmp_path, undrawn, ends):
    document = json.loads(json.dumps(TCP))
    (interval, *_) = document["intervals"]
    document["intervals"] = [json.loads(json.dumps(interval)) for _ in ends]
    for part, end in zip(document["intervals"], ends, strict=True):
        part["streams"][0]["end"] = end
    found, values, absent = figures(tmp_path, document)
    assert "cwnd" not in values
    assert absent["cwnd"] == "the intervals of iperf 3.12 do not end one after the other"
    assert found.record.flows[0].intervals == []


def test_a_stored_run_with_equal_ends_of_intervals_is_reported(tmp_path, undrawn, monkeypatch):
    """Earlier versions stored such runs, and each report of one ended with exit status 5."""
    (tmp_path / "found.json").write_text(json.dumps(TCP))
    figures_of = iperf3._figures

    def with_equal_ends(direction):
        for interval in direction.record.intervals:
            interval.at_ns = 10**9
        return figures_of(direction)

    monkeypatch.setattr(iperf3, "_figures", with_equal_ends)
    import_files([tmp_path / "found.json"], tmp_path / "run", None)
    run = Run.open(tmp_path / "run")
    assert len({each.at_ns for each in run.trials()[0].record.flows[0].intervals}) == 1
    assert "iperf 3.12" in write(run).read_text()


@pytest.mark.parametrize("name", ["a\x1b[2J", "a\nb", "a\0b", "a\ud800b", "a\u202eb", "a\tb"])
def test_names_with_control_characters_are_shown_and_not_obeyed(tmp_path, undrawn, name):
    documents = [json.loads(json.dumps(each)) for each in (LATENCY, TCP)]
    documents[0]["tool"]["name"] = name
    documents[1]["start"]["version"] = documents[1]["start"]["system_info"] = name
    documents[1]["end"]["sender_tcp_congestion"] = name
    for number, document in enumerate(documents):
        (tmp_path / "found.json").write_text(json.dumps(document))
        import_files([tmp_path / "found.json"], tmp_path / str(number), 4)
        run = Run.open(tmp_path / str(number))
        page = write(run).read_text()
        escape = json.dumps(name)[1:-1]
        assert escape in text_of(page)
        assert name not in page
        render(run, Console(width=100, file=io.StringIO(), color_system=None))


@pytest.mark.parametrize("seconds", [1e-300, 1e-12, 9e-7])
def test_times_below_the_clocks_resolution_are_no_figures(tmp_path, seconds):
    document = json.loads(json.dumps(TCP))
    document["end"]["sum_received"] |= {"seconds": seconds, "bits_per_second": 9e15}
    (tmp_path / "found.json").write_text(json.dumps(document))
    (why,) = read(tmp_path / "found.json").refused
    assert "end.sum_received.seconds" in str(why)
    assert "iperf3 counts microseconds" in str(why)


def test_a_rate_that_is_not_that_of_its_bytes_is_refused(tmp_path):
    document = json.loads(json.dumps(TCP))
    document["end"]["sum_received"] |= {"seconds": 2.0, "bytes": 1000, "bits_per_second": 9e15}
    (tmp_path / "found.json").write_text(json.dumps(document))
    (why,) = read(tmp_path / "found.json").refused
    assert "9e+15 bit/s, 1000 bytes in 2 s" in str(why)
    assert "expected: the rate of these bytes in this time, 4000 bit/s" in str(why)


@given(data=st.data(), document=st.sampled_from([TCP, UDP, THROUGHPUT, RTT, LATENCY, TRACE]))
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_imported_is_reported(tmp_path_factory, undrawn, data, document):
    """Each document that is not refused makes a run of which a report can be written."""
    document = json.loads(json.dumps(document))
    place = data.draw(st.sampled_from([at for at in _places(document) if at]))
    part = document
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = data.draw(LEAVES)
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "found.json").write_text(json.dumps(document))
    with contextlib.suppress(BadInput):
        import_files([folder / "found.json"], folder / "run", 4)
    if (folder / "run").exists():
        run = Run.open(folder / "run")
        render(run, Console(width=100, file=io.StringIO(), color_system=None))
        write(run)


def test_distributions_have_the_nearest_ranks():
    found = distribution([3.0, 1.0, 2.0], [1, 98, 1])
    assert (found["count"], found["minimum"], found["maximum"]) == (100, 1, 3)
    assert (found["p50"], found["p90"], found["p99"]) == (1, 1, 2)
    assert found["mean"] == pytest.approx(1.03)
    assert distribution([])["count"] == 0


def test_durations_of_iso_8601():
    assert seconds_of("PT0.0012S") == pytest.approx(0.0012)
    assert seconds_of("P1DT2H3M4.5S") == 86400 + 2 * 3600 + 3 * 60 + 4.5


VERSIONS = [f"3.{number}" for number in range(1, 22)]
EXAMPLES = Path(__file__).parents[1] / "iperf3"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_documents_of_every_version_are_read(version):
    readings = read(EXAMPLES / f"{version}.json")
    assert [str(why) for why in readings.refused] == []
    tcp, udp, reverse, *more = readings.imported

    assert tcp.record.engine_version.startswith("iperf 3.16+" if version == "3.17" else f"iperf {version}")
    values = values_of(tcp)
    assert values["goodput"] == pytest.approx(8, rel=0.1)
    assert {"retransmissions", "srtt", "min_rtt", "cwnd"} <= set(values)
    # The client writes 2 MB in 2 s, in intervals of a second; before 3.2 a last one is very short.
    assert sum(each.bytes for each in tcp.record.flows[0].intervals) == pytest.approx(2e6, rel=0.1)

    values = values_of(udp)
    assert values["goodput"] == pytest.approx(2, rel=0.1)
    assert (values["loss"], values["packet_rate"]) == (0, pytest.approx(250, rel=0.1))
    assert "jitter_rfc3550" in values

    assert reverse.title == "iperf3, TCP, reverse, 1 stream"
    if version not in ("3.2", "3.3"):
        assert "goodput" not in values_of(reverse)
        assert {"retransmissions", "srtt"} <= set(values_of(reverse))
        assert "has no count of the receiver" in absences([reverse.record], ["measured"])["goodput"]

    if VERSIONS.index(version) >= VERSIONS.index("3.7"):
        both = more[0]
        assert both.title == "iperf3, TCP, both directions, 1 stream"
        assert [(each.name, each.from_, each.to) for each in both.flows] == [
            ("forward", "client", "server"),
            ("reverse", "server", "client"),
        ]
        forward, backward = (values_of(both, name) for name in ("forward", "reverse"))
        assert (forward["goodput"], backward["goodput"]) == (
            pytest.approx(8, rel=0.1),
            pytest.approx(8, rel=0.1),
        )
        assert "srtt" in forward
        assert "srtt" not in backward


@pytest.mark.parametrize("version", ["3.1", "3.10", "3.12", "3.21"])
def test_omitted_seconds_and_the_documents_of_servers(version):
    named = {}
    for each in read(EXAMPLES / f"{version}.json").imported:
        named.setdefault(each.title, []).append(each)
    _, omitted = named["iperf3, TCP, 1 stream"]
    intervals = omitted.record.flows[0].intervals
    assert sum(each.bytes for each in intervals) == pytest.approx(1e6, rel=0.15)
    assert intervals[-1].at_ns == pytest.approx(1e9, rel=0.1)
    _, server = named["iperf3, UDP, 1 stream"]
    assert values_of(server)["goodput"] == pytest.approx(2, rel=0.15)
    assert values_of(server)["loss"] == 0
    if version != "3.1":
        (both,) = named["iperf3, UDP, both directions, 1 stream"]
        for flow in ("forward", "reverse"):
            assert values_of(both, flow)["goodput"] == pytest.approx(2, rel=0.1)
            assert values_of(both, flow)["loss"] == 0


@pytest.mark.parametrize("name", ["3.21-stream", "3.21-stream-full"])
def test_a_stream_of_events_is_a_document(name):
    found = only(EXAMPLES / f"{name}.json")
    assert values_of(found)["goodput"] == pytest.approx(8, rel=0.1)
    assert len(found.record.flows[0].intervals) == 2


def test_a_peer_of_another_version_gives_a_warning():
    found = only(EXAMPLES / "3.21-with-3.1.json")
    assert "loss" not in values_of(found)
    assert [each.code for each in found.record.warnings] == ["contradictory_counts"]


def test_a_server_that_is_ended_has_not_failed_a_test(tmp_path):
    ended = {"start": {"connected": [], "version": "iperf 3.12"}, "intervals": [], "end": {}}
    ended["error"] = "interrupt - the server has terminated"
    (tmp_path / "server.json").write_text(json.dumps(TCP) + "\n" + json.dumps(ended))
    assert only(tmp_path / "server.json").title == "iperf3, TCP, 1 stream"


def test_before_3_11_udp_without_a_sign_of_the_receiver_has_no_goodput(tmp_path):
    document = next(
        json.loads(line) for line in (EXAMPLES / "3.9.json").read_text().splitlines() if '"UDP"' in line
    )
    document["end"]["sum"] |= {"jitter_ms": 0, "lost_packets": 0}
    (tmp_path / "found.json").write_text(json.dumps(document))
    (why,) = read(tmp_path / "found.json").refused
    assert "does not say whether a packet arrived" in str(why)


UNDESCRIBED = (
    "MTU",
    "1500 B",
    "linux-cubic",
    "offloads",
    "Backend",
    "backend",
    "Seed",
    "seed",
    "Network",
    "not shaped",
)
"""Words about a network and hosts that nobody described, and about trials of a backend."""


def text_of(page):
    """Returns the words that a page shows, without its charts."""
    shown = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>", " ", shown))


def test_reports_of_measurements_state_no_fact_that_nobody_measured(tmp_path, undrawn):
    (tmp_path / "found.json").write_text(json.dumps(TCP))
    import_files([tmp_path / "found.json"], tmp_path / "run", None)
    run = Run.open(tmp_path / "run")
    assert (run.study.network, run.study.hosts, run.study.measurement) == (None, {}, None)
    assert run.study.backend == "imported"
    with pytest.raises(BadInput, match="which have no scenario"):
        _ = run.trials()[0].scenario

    console = Console(width=100, file=io.StringIO(), color_system=None)
    render(run, console)
    shown = text_of(write(run).read_text())
    for text in (shown, console.file.getvalue(), as_markdown(gather(run)), run.study_text):
        assert [word for word in UNDESCRIBED if word in text.replace('"backend": "imported"', "")] == []
        assert "usable" not in text
        assert "traffic is sent during" not in text
    assert "iperf 3.12" in shown

    export(run, "csv", tmp_path / "tables")
    (session,) = pl.read_csv(tmp_path / "tables" / "sessions.csv").to_dicts()
    assert (session["processor"], session["processors"], session["privileges"]) == (None, None, None)
    figures_of = compare(run, run).circumstances
    assert not list(figures_of)


def test_runs_of_earlier_versions_lose_what_nobody_described(tmp_path, undrawn):
    """Earlier versions stored a network and hosts with each measurement."""
    (tmp_path / "found.json").write_text(json.dumps(TCP))
    found = only(tmp_path / "found.json")
    document = _document("iperf3", [MeasuredPart(found.flows[0], ["measured"])], [found.record])
    offloads = {"tso": True, "gso": True, "gro": True}
    network = {"topology": "pair", "ip": 4, "delay": "0 ms", "mtu": "1500 B", "offloads": offloads}
    document |= {
        "backend": "hosts",
        "network": network,
        "hosts": {"sender": {"stack": "linux-cubic"}, "receiver": {"stack": "linux-cubic"}},
        "measurement": {"interval": "1 s", "queue_drops": "allowed"},
        "factors": {"ip": {"title": "IP", "sets": "network.ip", "levels": ["4"]}},
    }
    old = Study.model_validate(document)
    trials = plan(old, 1, 0)
    for kind, backend in (("import", "imported"), ("measure", "remote"), ("run", "hosts")):
        command = f"nettrial {kind} found.json --out run"
        run = Run.create(tmp_path / kind, json.dumps(document), None, old, trials, 0, command)
        with run.session(_environment([found])) as recorder:
            recorder.finished(trials[0], scenario_of(old, trials[0].treatment), found.record)
        assert (run.study.backend, run.study.measured) == (backend, backend != "hosts")
        assert ("1500 B" in text_of(write(run).read_text())) == (backend == "hosts")
        assert ("linux-cubic" in run.study_text) == (backend == "hosts")


def test_a_study_file_can_not_be_one_of_measurements(tmp_path):
    text = load("jumbo-ipv6").document.text.replace("warmup: 2", "warmup: 2\nbackend: imported")
    (tmp_path / "study.yaml").write_text(text)
    with pytest.raises(BadInput, match="imported"):
        load(str(tmp_path / "study.yaml"))
