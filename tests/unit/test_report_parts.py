"""Numbers as text, and the drawing of a network."""

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nettrial.analysis import Change, Contrast, Interval, Merit, change, corrected
from nettrial.analysis.detectable import detectable
from nettrial.design import scenario_of, treatments
from nettrial.report import change_words, numbers, topology, vega
from nettrial.scenario import Flow, Interface, Link, Node, Scenario
from nettrial.study import load
from tests.unit.test_fabric_study import STUDY

THREE = [(5.6347, 4, "+5.63"), (-14.28, 2, "-14.3"), (4728.3, 1, "+4730"), (0.012345, 5, "+0.0123")]
"""Numbers with more digits than an engineer reads."""


@pytest.mark.parametrize(
    ("value", "decimals", "shown"),
    [(5.94, 1, "+5.9"), (-0.04, 1, "0.0"), (-1.26, 1, "-1.3"), (0, 2, "0.00"), *THREE],
)
def test_signed_numbers(value: float, decimals: int, shown: str) -> None:
    assert numbers.signed(value, decimals) == shown


def test_narrow_intervals_get_two_decimals() -> None:
    wide = Change(5, Interval(4, 6), 5, None)
    narrow = Change(5, Interval(4.99, 5.01), 5, None)
    assert numbers.percent_decimals([wide, wide, narrow]) == 1
    assert numbers.percent_decimals([narrow]) == 2
    assert numbers.percent_decimals([]) == 1


def test_bounds_that_say_nothing_are_short() -> None:
    assert numbers.bounds(Interval(-100, 3.2e18), 1) == "[-100, +3e+18]"
    assert numbers.bounds(Interval(-12, 99999), 1) == "[-12.0, +100000]"


def test_ends_that_would_read_the_same_are_told_apart_or_said_to_be_alike() -> None:
    assert numbers.bounds(Interval(54.1931, 54.1934), 2) == "[+54.2, +54.2]"
    assert numbers.bounds(Interval(54.19, 54.19), 2) == "[no spread]"
    assert numbers.bounds(Interval(54.19, 54.19 + 1e-14), 1) == "[no spread]"
    assert numbers.bounds(Interval(0, 0), 1) == "[no spread]"


@pytest.mark.parametrize(
    ("interval", "values", "said"),
    [
        (Interval(5.2, 6.0), (934, 986), "throughput rises from 934 to 986 Mbit/s (+5.6%, 5.2 to 6.0%)"),
        (
            Interval(54.1931, 54.1934),
            (10, 15.42),
            "throughput rises from 10 to 15.4 Mbit/s (+54%, the same to the digits shown)",
        ),
        (
            Interval(-54.19, -54.19),
            None,
            "throughput falls (-54%, the same in every block)",
        ),
        (Interval(810, 910), (100, 960), "throughput rises from 100 to 960 Mbit/s (9.6 times, 9.1 to 10)"),
        (
            Interval(1.9, 2.1),
            (100.0, 100.04),
            "throughput rises slightly, from 100 Mbit/s (+2.0%, 1.9 to 2.1%)",
        ),
        (
            Interval(0.25, 0.33),
            (934, 936),
            "throughput: no change of 1% or more (+0.29%, 0.25 to 0.33%, 934 Mbit/s)",
        ),
        (
            Interval(0, 0),
            (5, 5),
            "throughput: no change of 1% or more (0%, the same in every block, 5 Mbit/s)",
        ),
        (
            Interval(-3, 1),
            (934, 925),
            "throughput: no change shown (-1.0%, -3.0 to +1.0%, from 934 to 925 Mbit/s)",
        ),
    ],
)
def test_a_change_is_told_as_an_engineer_would(
    interval: Interval, values: tuple[float, float] | None, said: str
) -> None:
    middle = (interval.low + interval.high) / 2
    study = load("jumbo-ipv6")
    response = next(each for each in study.responses if each.name == "throughput")
    changed = Change(middle, interval, 5, None, simultaneous=interval)
    assert change_words.change(study, Contrast(response, "", "", changed, values=values)) == said


@pytest.mark.parametrize(
    ("title", "plural"),
    [
        ("Retransmissions", True),
        ("Fairness among hosts", False),
        ("CPU, sender", False),
        ("MPDUs of a station's PPDU", True),
        ("Shortest paths of two switches", True),
        ("Loss of packets", False),
    ],
)
def test_a_title_has_a_verb_of_its_number(title: str, plural: bool) -> None:
    response = load("jumbo-ipv6").responses[0].model_copy(update={"title": title})
    bounds = Interval(5, 6)
    found = Contrast(response, "", "", Change(5.5, bounds, 5, None, simultaneous=bounds))
    assert (" rise (" in change_words.change(load("jumbo-ipv6"), found)) == plural


def test_what_an_inconclusive_run_could_have_shown() -> None:
    """Runs with a true change of the stated size show it in four of five cases; with the stated blocks, they
    show the smaller one as often."""
    draw = np.random.default_rng(1)

    def seen(log_ratio: float, blocks: int) -> float:
        shown = 0
        for _ in range(400):
            logs = log_ratio + 0.1 * draw.normal(size=blocks)
            (found,) = corrected([change([(1.0, math.exp(log)) for log in logs])])
            shown += found.shown > 0
        return shown / 400

    logs = 0.1 * np.array([-1, -0.5, 0.5, 1, 0]) / np.std([-1, -0.5, 0.5, 1, 0], ddof=1)
    (found,) = corrected([change([(1.0, math.exp(log)) for log in logs])])
    told = detectable(found, 1)
    assert told is not None
    assert told.blocks is not None
    assert seen(math.log1p(told.percent / 100), 5) == pytest.approx(0.8, abs=0.08)
    assert seen(math.log1p(told.wanted / 100), 5 + told.blocks) == pytest.approx(0.8, abs=0.08)
    could = (
        f"changes above {numbers.two(told.percent)}% would have been seen; {told.blocks} more blocks would "
        f"show {told.wanted:g}%)"
    )
    response = load("jumbo-ipv6").responses[0]
    level = Contrast(response, "Level B", "Level A", found)
    assert change_words.change(load("jumbo-ipv6"), level).endswith(f"; {could}")
    assert change_words.changes([level]).endswith(f"; {could}")
    (wider,) = corrected([change([(1.0, math.exp(2 * log)) for log in logs])])
    both = change_words.changes([level, replace(level, subject="Level C", change=wider)])
    assert both.endswith(change_words.changes([replace(level, change=wider)]).split("; ", 1)[1])
    verdict = change_words.verdict_in_words(Merit.NONE, found, 1)
    assert verdict == f"no change shown; {numbers.two(told.percent)}% would be"
    assert change_words.verdict_in_words(Merit.BETTER, found, 1) == "better"
    (widest,) = corrected([change([(1.0, math.exp(9 * log)) for log in logs])])
    assert change_words.verdict_in_words(Merit.NONE, widest, 1).endswith(" times would be")
    unknown = replace(found, log_error=None)
    assert "would" not in change_words.changes([level, replace(level, change=unknown)])


def test_words_in_a_row() -> None:
    assert numbers.listed(["a"]) == "a"
    assert numbers.listed(["a", "b", "c"]) == "a, b and c"
    assert (numbers.counted(1, "trial"), numbers.counted(0, "trial")) == ("1 trial", "0 trials")


def a_scenario() -> Scenario:
    """Returns the scenario of the first treatment."""
    study = load("jumbo-ipv6")
    return scenario_of(study, treatments(study)[0].levels)


@pytest.mark.parametrize(
    ("low", "high", "width", "shown"),
    [
        (-76, 204, 190, ["-100", "0", "100", "200", "300"]),
        (-1.26, 8.9, 190, ["-2", "0", "2", "4", "6", "8", "10"]),
        (938.5, 941.2, 260, ["938", "939", "940", "941", "942"]),
        (0, 0.0031, 190, ["0.000", "0.001", "0.002", "0.003", "0.004"]),
        (93.4567891, 93.4567891, 190, ["93.457"]),
        (0, 0, 190, ["0"]),
    ],
)
def test_ticks_are_round_and_fit(low: float, high: float, width: float, shown: list[str]) -> None:
    places, decimals = vega.ticks(low, high, width)
    assert [f"{place:.{decimals}f}" for place in places] == shown


def test_an_axis_of_counts_has_whole_ticks() -> None:
    assert vega.ticks(1, 3, 370, whole=True) == ([1, 2, 3], 0)
    assert vega.ticks(1, 36, 310, whole=True, exact=True) == ([5, 10, 15, 20, 25, 30, 35], 0)


@given(
    low=st.floats(-1e4, 1e4),
    span=st.floats(1e-2, 1e4),
    width=st.sampled_from([190, 260, 310, 370]),
    exact=st.booleans(),
)
def test_labels_of_ticks_do_not_touch(low: float, span: float, width: int, exact: bool) -> None:
    places, decimals = vega.ticks(low, low + span, width, exact=exact)
    widths = [len(f"{place:,.{decimals}f}") * vega.DIGIT for place in places]
    assert len(places) <= vega.MOST_TICKS + 1
    if not exact:
        assert places[0] <= low + 1e-6
        assert places[-1] >= low + span - 1e-6
        span = places[-1] - places[0]
    for (here, there), pair in zip(pairwise(places), pairwise(widths), strict=True):
        assert (there - here) * width / span - sum(pair) / 2 > vega.GAP - 0.1


@pytest.mark.parametrize(
    ("levels", "angle"), [(["1500 B", "9000 B"], 0), (["a", "b", "a" * 22, "b" * 22, "c", "d"], -40)]
)
def test_names_that_would_overlap_are_slanted(levels: list[str], angle: int) -> None:
    axis, _ = vega.names_across("level", "MTU", levels)
    assert axis["axis"]["labelAngle"] == angle


def test_a_path_is_a_line_from_the_sender() -> None:
    drawing = topology.draw(load("jumbo-ipv6"), a_scenario())
    placed = sorted(drawing.nodes, key=lambda node: node.x)
    assert [node.name for node in placed] == ["sender", "router", "receiver"]
    assert len({node.y for node in placed}) == 1
    assert {(link.above, link.below) for link in drawing.links} == {("1 Gbit/s", "MTU: factor")}
    assert drawing.captions == []


def test_a_setting_that_is_no_factor_shows_its_value() -> None:
    study = load("jumbo-ipv6").with_overrides({"network.delay": "5 ms,10 ms", "network.rate": "100 Mbit/s"})
    drawing = topology.draw(study, scenario_of(study, treatments(study)[0].levels))
    assert {link.above for link in drawing.links} == {"100 Mbit/s, delay: factor"}


def test_links_that_join_the_same_hosts_are_drawn_apart() -> None:
    study = load("jumbo-ipv6").with_overrides({"network.topology": "parallel"})
    drawing = topology.draw(study, scenario_of(study, treatments(study)[0].levels))
    first, second = drawing.links
    assert (first.x1, first.x2) == (second.x1, second.x2)
    assert abs(first.y1 - second.y1) == abs(first.y2 - second.y2) > 40
    assert {node.y for node in drawing.nodes} == {(first.y1 + second.y1) / 2}
    assert all(0 < link.y1 < drawing.height for link in drawing.links)


def test_a_fabric_is_marks_with_a_caption(tmp_path: Path) -> None:
    text = STUDY.replace("switches: 8", "switches: 45").replace("[8, 12]", "[45, 90]")
    (tmp_path / "study.yaml").write_text(text)
    study = load(str(tmp_path)).with_overrides({"network.links.fabric.mtu": "4000,9000"})
    levels = {"switches": "90", "network.links.fabric.mtu": "4000 B"}
    drawing = topology.draw(study, scenario_of(study, levels))
    assert drawing.small
    assert {node.name for node in drawing.nodes} == {""}
    assert (len(drawing.nodes), len(drawing.links)) == (180, 270)
    assert drawing.captions == [
        "90 hosts (squares), 90 routers",
        "90 × 1 Gbit/s, MTU 1500 B",
        "180 × 1 Gbit/s, MTU: factor",
        "The network of one trial; other trials have different networks.",
    ]


def test_a_box_is_as_wide_as_what_is_written_in_it() -> None:
    study = load("jumbo-path")
    drawing = topology.draw(study, scenario_of(study, treatments(study)[0].levels))
    assert [node.detail for node in drawing.nodes][:2] == ["linux-cubic-probing", "linux-cubic"]
    sender = next(node for node in drawing.nodes if node.name == "sender")
    assert sender.width > 7 * len("linux-cubic-probing")
    left, right = sorted(drawing.nodes, key=lambda node: node.x)[:2]
    assert right.x - right.width / 2 - (left.x + left.width / 2) > 140, "no room for what the link is"


def test_a_star_is_spread_out_and_its_links_are_counted() -> None:
    base = a_scenario()
    names = ["one", "two", "three"]
    nodes = [Node(name="middle", kind="switch"), *(Node(name=name, kind="router") for name in names)]
    links = [
        Link(
            ends=[
                Interface(node=name, interface="a", mtu="9000 B"),
                Interface(node="middle", interface=name, mtu="1500 B"),
            ],
            rate="10 Gbit/s",
        )
        for name in names
    ]
    flow = Flow.model_validate({**base.workload[0].model_dump(by_alias=True), "from": "one", "to": "two"})
    star = base.model_copy(update={"nodes": nodes, "links": links, "workload": [flow]})
    study = load("jumbo-ipv6").with_overrides({"mtu": "1500"})
    drawing = topology.draw(study, star)
    assert len({(round(node.x), round(node.y)) for node in drawing.nodes}) == 4
    assert all(0 <= node.x <= drawing.width and 0 <= node.y <= drawing.height for node in drawing.nodes)
    assert drawing.captions == ["3 × 10 Gbit/s, MTU: factor"]
