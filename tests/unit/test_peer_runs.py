"""Measurements with ndt7 and STAMP become records with what they found and nothing else."""

import pytest

from nettrial.analysis import absences, repeated, seen
from nettrial.imports.figures import together
from nettrial.measuring.measured_run import MeasuredPart, _document
from nettrial.measuring.sources import of_ndt7, of_stamp
from nettrial.protocols.figures import ProtocolOutcome
from nettrial.protocols.ndt7.figures import outcome as ndt7_outcome
from nettrial.protocols.stamp.clock import ErrorEstimate
from nettrial.protocols.stamp.figures import outcome
from nettrial.study import Study
from tests.unit.test_ndt7 import from_vectors
from tests.unit.test_stamp import made


def values(record, flow):
    return {each.metric.name: each.cell.mean for each in repeated([record], [flow])}


def session(result):
    return together(of_stamp(result, outcome(result), 1.5, 2.0, 4), "remote")


def test_the_directions_of_a_session_are_flows():
    record = session(made([(0, 0), (2, 1), (4, 3)], 5, own=ErrorEstimate(True, False, 0)))
    assert [flow.name for flow in record.flows] == ["round_trip", "forward", "backward"]
    found = values(record, "round_trip")
    assert (found["rtt"], found["loss"]) == (pytest.approx(4), pytest.approx(40))
    assert values(record, "forward")["loss"] == pytest.approx(20)
    backward = values(record, "backward")
    assert (backward["owd"], backward["owd_error"]) == (pytest.approx(3), pytest.approx(1))
    assert (backward["loss"], backward["delay_variation_p50"]) == (pytest.approx(25), 0)
    # The forward delay of 1 ms is not above the error of 1 ms.
    assert "owd" not in values(record, "forward")
    assert absences([record], ["forward"])["owd"] == (
        "the smallest delay, 1 ms, is not above the clocks' error, 1 ms"
    )
    assert absences([record], ["forward"])["goodput"] == "STAMP does not measure it"
    assert record.started_unix_ns == 1_500_000_000
    assert len(seen([record])) == len(outcome(made([(0, 0)])).warnings)


def test_what_a_session_does_not_know_is_absent_with_its_reason():
    record = session(made([(0, 0), (2, 2)], 3, own=ErrorEstimate(False, False, 0)))
    found = absences([record], ["backward"])
    assert "not synchronised" in found["owd"]
    assert "no direction follows" in found["loss"]
    assert "loss" not in values(record, "backward")
    assert values(record, "round_trip")["loss"] == pytest.approx(100 / 3)


def test_a_download_and_an_upload_are_flows():
    transfers = from_vectors("download"), from_vectors("upload")
    both = [ndt7_outcome(each) for each in transfers]
    merged = ProtocolOutcome(
        [figure for each in both for figure in each.figures],
        [text for each in both for text in each.warnings],
    )
    record = together(of_ndt7(transfers, merged, 0.0, 6), "remote")
    assert values(record, "download")["goodput"] == pytest.approx(1000)
    assert {"srtt", "min_rtt"} <= set(values(record, "download"))
    goodput = next(each.value for each in both[1].figures if each.metric == "goodput")
    assert values(record, "upload") == {"goodput": pytest.approx(goodput)}
    assert absences([record], ["upload"])["retransmissions"].startswith("ndt7 reports bytes")
    assert len(seen([record])) == len(merged.warnings) == 1

    sources = of_ndt7(transfers, merged, 0.0, 6)
    study = Study.model_validate(
        _document("ndt7", [MeasuredPart(each.flow(), [each.name]) for each in sources], [record])
    )
    assert {"download_goodput", "upload_goodput"} <= {each.name for each in study.responses}
    assert [each.from_ for each in study.workload] == ["receiver", "sender"]
