"""Measurements of iperf3 and perfSONAR become runs with exactly their figures."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nettrial.analysis import absences, repeated
from nettrial.cli.imports import UNKNOWN, import_files
from nettrial.errors import BadInput
from nettrial.export import export
from nettrial.imports import read
from nettrial.imports.figures import distribution
from nettrial.imports.pscheduler import seconds_of
from nettrial.store import Run

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
    (found,) = read(folder / "found.json", ip)
    values = {each.metric.name: each.cell.mean for each in repeated([found.record], ["measured"])}
    return found, values, absences([found.record], ["measured"])


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
    assert found.flow.ip.root == 6


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
        received = {**TCP["end"]["sum_received"], "bits_per_second": rate}
        document = {**TCP, "end": {**TCP["end"], "sum_received": received}}
        document["start"] = {**TCP["start"], "timestamp": {"timesecs": at}}
        (tmp_path / f"{number}.json").write_text(json.dumps(document))
    files = [tmp_path / f"{number}.json" for number in range(3)]
    import_files(files, tmp_path / "run", None)
    run = Run.open(tmp_path / "run")
    assert [trial.record.flows[0].goodput_bps for trial in run.trials()] == [1e8, 2e8, 3e8]
    (session,) = run.sessions
    assert (session.environment.processor, session.environment.kernel) == (UNKNOWN, "Linux")
    assert dict(export(run, "csv", tmp_path / "tables"))["trials"] == 3
    with pytest.raises(BadInput, match="exists"):
        import_files(files, tmp_path / "run", None)
    (tmp_path / "other.json").write_text(json.dumps(UDP))
    with pytest.raises(BadInput, match="separate runs"):
        import_files([*files, tmp_path / "other.json"], tmp_path / "more", None)
    assert not (tmp_path / "more").exists()


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
        (json.dumps({**TCP, "end": {}}), "the count of the receiver"),
        (json.dumps(TCP).replace('"reverse": 0', '"reverse": 0, "bidir": 1'), "one direction"),
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
    with pytest.raises(BadInput) as error:
        read(tmp_path / "bad.json", ip)
    assert said in str(error.value)
    assert "bad.json" in str(error.value)


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
    try:
        (found,) = read(file, 4)
    except BadInput:
        return
    repeated([found.record], ["measured"])


def test_distributions_have_the_nearest_ranks():
    found = distribution([3.0, 1.0, 2.0], [1, 98, 1])
    assert (found["count"], found["minimum"], found["maximum"]) == (100, 1, 3)
    assert (found["p50"], found["p90"], found["p99"]) == (1, 1, 2)
    assert found["mean"] == pytest.approx(1.03)
    assert distribution([])["count"] == 0


def test_durations_of_iso_8601():
    assert seconds_of("PT0.0012S") == pytest.approx(0.0012)
    assert seconds_of("P1DT2H3M4.5S") == 86400 + 2 * 3600 + 3 * 60 + 4.5
