import math

import pytest

from nettrial.metrics import METRICS
from nettrial.scenario import Absence, Distribution
from tests.records import record

OF = {"flow": "transfer", "host": "sender"}
READ_OF_PROBE = {"rtt", "rtt_p99", "jitter_rfc3550", "delay_difference_mean"}


@pytest.mark.parametrize("name", list(METRICS))
def test_every_metric_is_read_and_described(name):
    """The conformance test of every metric."""
    metric = METRICS[name]
    assert metric.name == name
    assert metric.unit
    assert metric.definition
    assert metric.source
    value = metric.read(record(), "probe" if name in READ_OF_PROBE else OF[metric.of])
    assert isinstance(value, float)
    assert math.isfinite(value)
    assert value >= 0


@pytest.mark.parametrize("name", list(METRICS))
def test_every_metric_is_absent_with_a_reason(name):
    metric = METRICS[name]
    found = record()
    found.flows, found.hosts = [], []
    assert metric.title.lower() in metric.read(found, "probe")
    found.absent = [Absence(metric=name, object="probe", reason="two processors are needed")]
    assert metric.read(found, "probe") == "two processors are needed"
    assert metric.read(found, "transfer") != "two processors are needed"


@pytest.mark.parametrize(
    ("name", "of", "value"),
    [
        ("goodput", "transfer", 941.5),
        ("rtt", "probe", 1.2),
        ("rtt_p99", "probe", 2.5),
        ("srtt", "transfer", 0.9),
        ("min_rtt", "transfer", 0.08),
        ("retransmissions", "transfer", 3),
        ("jitter_rfc3550", "probe", 0.03),
        ("delay_difference_mean", "probe", 0.05),
        ("connect_time", "transfer", 0.1),
        ("completion_time", "transfer", 41.0),
        ("cpu", "sender", 66.5),
        ("service_demand", "sender", 5.25),
    ],
)
def test_values_are_in_the_metrics_unit(name, of, value):
    assert METRICS[name].read(record(), of) == pytest.approx(value)


def test_a_distribution_without_values_is_absent_and_not_zero():
    found = record()
    found.flows[1].rtt_us = Distribution(
        count=0, mean=0, deviation=0, minimum=0, p50=0, p90=0, p99=0, maximum=0
    )
    assert isinstance(METRICS["rtt"].read(found, "probe"), str)
    found.flows[0].min_rtt_us = 0
    assert isinstance(METRICS["min_rtt"].read(found, "transfer"), str)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_absent(value):
    found = record()
    found.flows[0].goodput_bps = value
    assert isinstance(METRICS["goodput"].read(found, "transfer"), str)
