"""The charts of single values: delays and goodput of flows, over all trials and over the time of one."""

import base64
import struct
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nettrial
from nettrial.analysis.flow_distributions import MOST_FLOWS, Delays, FlowDistributions, decoded
from nettrial.design import PlannedTrial
from nettrial.errors import BadInput
from nettrial.report import distribution_charts, html
from nettrial.report.content import gather
from nettrial.report.vega import Chart
from nettrial.scenario import Histogram, Interval, Record
from nettrial.store import Run
from tests.unit.synthetic import make_run, record

# Written by the Rust library hdrhistogram: the delays of a probe of the example rrul in the simulator.
PROBE = Histogram(
    "HISTFAAAAKB4nC2Ovw7BUBTGz/1VB2lEmjIITWMQaUQMRhExiHgEz2DyBAx2g9FiN5o7eSG7oT63vTfn3+985+QMLrfEzB5WvaCO7u+y"
    "sixXnwoUZ3jDjhkxAUZESO6zQCSiKyNBVU5KDy9R1VR3wpyp9CZu9EU3jdQLYka0GKLxMXfHQXTPFU58nfoRRzJNtlkoptqzZqsfslT2"
    "dBROF706/AA3LBTS"
)


def encoded(values: list[int], digits: int = 3) -> Histogram:
    """Returns a histogram as its definition has it: buckets of 2048 values, the width of which doubles."""
    half = int(np.ceil(np.log2(2 * 10**digits))) - 1
    places = []
    for value in values:
        bucket = max(0, value.bit_length() - half - 1)
        places.append((bucket + 1 << half) + (value >> bucket) - (1 << half))
    words, before = b"", -1
    for place, count in sorted({each: places.count(each) for each in places}.items()):
        for number in ([-(place - before - 1)] if place - before > 1 else []) + [count]:
            left = (number << 1) ^ (number >> 63)
            while left > 0x7F:
                words += bytes([left & 0x7F | 0x80])
                left >>= 7
            words += bytes([left])
        before = place
    inner = struct.pack(">IIIIQQd", 0x1C849313, len(words), 0, digits, 1, 1 << 40, 1.0) + words
    packed = zlib.compress(inner)
    return Histogram(base64.b64encode(struct.pack(">II", 0x1C849314, len(packed)) + packed).decode())


def test_a_histogram_of_the_engine_has_the_mean_of_its_record() -> None:
    probe = Delays()
    probe.add(PROBE)
    assert probe.count == 79
    assert (probe.delays_ns * probe.counts).sum() / 79e3 == pytest.approx(63910.18, rel=1e-3)
    assert [probe.quantile_ns(share) / 1e3 for share in (0.5, 0.9)] == [51970.047, 99942.399]


@given(st.lists(st.integers(0, 1 << 39), min_size=1, max_size=50))
def test_the_values_of_a_histogram_are_known_to_three_digits(values: list[int]) -> None:
    delays, counts = decoded(encoded(values))
    assert counts.sum() == len(values)
    found = np.repeat(delays, counts)
    for exact, upper in zip(sorted(values), found, strict=True):
        assert exact <= upper <= exact * 1.001


@pytest.mark.parametrize("text", ["", "AAAA", "not base 64", base64.b64encode(b"x" * 60).decode()])
def test_a_histogram_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="expected: an HdrHistogram in its V2 encoding"):
        decoded(Histogram(text))


def test_histograms_are_pooled() -> None:
    pooled = Delays()
    for values in ([100, 200], [200, 300, 5_000_000]):
        pooled.add(encoded(values))
    assert pooled.count == 5
    assert [pooled.quantile_ns(share) for share in (0.0, 0.2, 0.4, 0.6, 0.8)] == [100, 100, 200, 200, 300]
    assert pooled.quantile_ns(1.0) == pytest.approx(5_000_000, rel=1e-3)


def made(planned: PlannedTrial) -> Record:
    """Returns a record whose probe has delays of 1 to 100 ms, ten times as long at an MTU of 1500 bytes, and
    eight transfers whose goodput is their number plus that of the block, in Mbit/s."""
    found = record(planned)
    transfer, probe = found.flows
    factor = 10 if planned.treatment["mtu"] == "1500 B" else 1
    probe.rtt_histogram = encoded([each * factor * 1_000_000 for each in range(1, 101)])
    probe.intervals = [
        Interval(at_ns=at * 100_000_000, bytes=0, cwnd_pkts=10, retransmissions_pkts=at % 2)
        for at in range(1, 11)
    ]
    flows = [
        transfer.model_copy(update={"name": f"transfer-{each}", "goodput_bps": 1e6 * (each + planned.block)})
        for each in (5, 3, 8, 1, 2, 7, 4, 6)
    ]
    return found.model_copy(
        update={"flows": [transfer.model_copy(update={"goodput_bps": None}), *flows, probe]}
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    chosen = {"sender": "linux-cubic", "mtu": "1500,9000"}
    return make_run(tmp_path_factory.mktemp("runs") / "run", 3, chosen, made)


def said(chart: Chart) -> Iterator[dict[str, Any]]:
    for layer in chart.spec["layer"]:
        yield from (row for row in layer["data"]["values"] if "said" in row)


def test_delays_of_all_trials_are_drawn_as_shares_by_level(run: Run) -> None:
    charts, note = distribution_charts.delays(gather(run))
    receivers = ["linux-cubic", "classic"]
    assert [chart.name for chart in charts] == ["probe-rtt-ecdf-1", "probe-rtt-ecdf-2"]
    assert [chart.spec["title"] for chart in charts] == [
        ["Round-trip time: share of values, %", f"Receiver {each}"] for each in receivers
    ]
    assert note == ""
    for chart in charts:
        for level, factor in (("MTU 1500 B", 10), ("MTU 9000 B", 1)):
            marks = {mark["value"]: mark for mark in said(chart) if mark["group"] == level}
            assert marks[50.0]["at"] == pytest.approx(50 * factor, rel=1e-3)
            assert marks[99.0]["at"] == pytest.approx(99 * factor, rel=1e-3)
            assert "of 300 values are at most" in marks[50.0]["said"]
        assert chart.spec["layer"][0]["encoding"]["x"]["scale"] == {"type": "log"}


def test_flows_are_ranked_by_the_mean_of_each_rank(run: Run) -> None:
    charts, _ = distribution_charts.ranked(gather(run))
    assert [chart.name for chart in charts] == ["flows-goodput-rank-1", "flows-goodput-rank-2"]
    blocks = np.mean(sorted({planned.block for planned in run.plan}))
    for chart in charts:
        marks = [mark for mark in said(chart) if mark["group"] == "MTU 9000 B"]
        assert [mark["at"] for mark in marks] == list(range(1, 9))
        assert [mark["value"] for mark in marks] == pytest.approx([rank + blocks for rank in range(1, 9)])


def test_retransmissions_over_time_are_a_running_total(run: Run) -> None:
    charts = html.chosen(gather(run)).series[0].charts
    (chart,) = [each for each in charts if each.name.endswith("-retransmissions")]
    assert [(mark["at"], mark["value"]) for mark in said(chart)] == [
        (pytest.approx(at / 10), (at + 1) // 2) for at in range(1, 11)
    ]


def test_trials_with_another_number_of_flows_are_not_ranked_with_the_others() -> None:
    found = FlowDistributions()
    planned = PlannedTrial(1, 1, {"mtu": "9000 B"})
    whole = made(planned)
    for each in (whole, whole, whole.model_copy(update={"flows": whole.flows[:4]})):
        found.add(planned, each)
    assert list(found.goodputs["9000 B",].means_bps / 1e6) == list(range(2, 10))


def test_the_delays_of_few_flows_are_kept() -> None:
    found, planned = FlowDistributions(), PlannedTrial(1, 1, {"mtu": "9000 B"})
    probe = made(planned).flows[-1]
    many = [probe.model_copy(update={"name": f"probe-{each}"}) for each in range(MOST_FLOWS + 2)]
    for _ in range(2):
        found.add(planned, record(planned).model_copy(update={"flows": many}))
    assert len(found.delays) == MOST_FLOWS


def test_a_notebook_gets_the_charts_of_the_page_for_altair(run: Run) -> None:
    plot = nettrial.load(run.directory).plot
    delays, ranked = plot.delays().to_dict(), plot.ranked_goodput().to_dict()
    for shown, charts in ((delays, distribution_charts.delays), (ranked, distribution_charts.ranked)):
        drawn = charts(gather(run))[0]
        assert [part["layer"] for part in shown["vconcat"]] == [chart.spec["layer"] for chart in drawn]
    means = plot.means("rtt")
    assert means.to_dict()["title"] == "Round-trip time under load, ms"
    assert means.properties(width=600).to_dict()["width"] == 600
    again = plot.over_time("retransmissions", trial=2).to_dict()
    assert again["layer"][0]["data"]["values"][-1]["value"] == 5


def test_a_chart_of_what_is_not_recorded_is_an_error(run: Run) -> None:
    plot = nettrial.load(run.directory).plot
    with pytest.raises(BadInput, match=r"'goodputs': no such samples\n  expected: .*retransmissions"):
        plot.over_time("goodputs")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="trial: 99"):
        plot.over_time("rtt", trial=99)
    with pytest.raises(
        BadInput, match=r"there is no such response\n  expected: rtt, .*\n  hint: .*'throughput'"
    ):
        plot.means("troughput")
    with pytest.raises(BadInput, match="throughput has too few values"):
        plot.means("throughput")
