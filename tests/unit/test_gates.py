"""The conditions of `run --fail-if`, and the choice of the run that `compare --baseline` compares with."""

import json
import re
from xml.etree import ElementTree

import pytest

from nettrial.analysis import summarise
from nettrial.analysis.limits import NoLimit, judge, limit
from nettrial.analysis.outcomes import Outcome
from nettrial.study import load

SHORT = (
    "run",
    "jumbo-ipv6",
    "--set",
    "mtu=1500",
    "--set",
    "sender=linux-cubic",
    "--set",
    "receiver=linux-cubic",
)


@pytest.mark.parametrize(
    ("text", "value", "words"),
    [
        ("throughput < 900 Mbit/s", 900, "throughput < 900 Mbit/s"),
        ("throughput<0.9Gbit/s", 900, "throughput < 900 Mbit/s"),
        ("rtt > 2000 us", 2, "rtt > 2 ms"),
        ("loss > 0.5%", None, "one of "),
        ("throughput < 900", None, "a value in Mbit/s"),
        ("throughput < 900 ms", None, "a value in Mbit/s"),
        ("throughput", None, "RESPONSE < VALUE"),
    ],
)
def test_a_limit_has_a_unit_of_its_response(text, value, words):
    study = load("jumbo-ipv6")
    if value is None:
        with pytest.raises(NoLimit, match=words):
            limit(text, study)
        return
    found = limit(text, study)
    assert (found.value, str(found)) == (pytest.approx(value), words)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("throughput < 900", "did you mean 'throughput < 900 Mbit/s'?"),
        ("rtt > 5%", "a change in percent is a condition of `nettrial compare`"),
        ("rtt > 5 packets", ""),
    ],
)
def test_a_limit_in_another_unit_has_a_hint(text, hint):
    with pytest.raises(NoLimit) as refused:
        limit(text, load("jumbo-ipv6"))
    assert refused.value.hint == hint


def test_the_whole_interval_decides_and_more_conditions_have_wider_ones(nettrial, monkeypatch):
    done = nettrial(*SHORT, "--replicates", "4", "--seed", "1", "--out", "mine")
    assert done.returncode == 0, done.stderr
    from nettrial.store import Run

    run = Run.open(nettrial.directory / "mine")
    summary = summarise(run)
    cell = next(each for each in summary.responses if each.response.name == "throughput").cells[0]
    assert cell.interval is not None
    inside, beyond = cell.interval.high, cell.interval.low * 0.9
    outcomes = {}
    for value in (beyond, cell.mean, inside * 1.1):
        (judged,) = judge([limit(f"throughput > {value:.6f} Mbit/s", run.study)], summary.responses)
        outcomes[value] = judged.outcome
        assert judged.interval.low == pytest.approx(cell.interval.low)
    assert list(outcomes.values()) == [Outcome.HOLDS, Outcome.UNKNOWN, Outcome.DOES_NOT_HOLD]
    two = judge([limit("throughput > 1 Mbit/s", run.study)] * 2, summary.responses)
    assert all(each.interval.low < cell.interval.low for each in two)


@pytest.mark.parametrize(
    ("more", "status", "outcome"),
    [
        (("--fail-if", "throughput < 1 Mbit/s"), 0, "does not hold"),
        (("--fail-if", "throughput > 1 Mbit/s", "--fail-if", "throughput < 1 Mbit/s"), 1, "holds"),
        (("--replicates", "1", "--fail-if", "throughput > 1 Mbit/s"), 4, "can't tell"),
    ],
)
def test_a_run_fails_if_a_condition_holds(nettrial, more, status, outcome):
    done = nettrial(*SHORT, "--replicates", "3", "--seed", "1", *more)
    assert done.returncode == status, done.stderr
    assert re.search(
        rf"^{outcome}: throughput [<>] 1 Mbit/s \(mtu 1500 B, .*\): [\d.]+", done.stdout, re.MULTILINE
    )


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--fail-if", "througput < 1 Mbit/s"), "one of rtt, jitter, throughput"),
        (("--fail-if", "latency > 1 ms"), "did you mean 'rtt'?"),
        (("--inconclusive", "maybe"), "pass or fail"),
        (
            ("--fail-if", "throughput < 1 Mbit/s", "--junit", "nosuch/x.xml"),
            "--junit: nosuch/x.xml\n  expected: a file in a directory that exists",
        ),
        (("--fail-if", "througput < 1 Mbit/s", "--sessions", "2"), "one of rtt, jitter, throughput"),
        (("--fail-if", "througput < 1 Mbit/s", "--budget", "1 h"), "one of rtt, jitter, throughput"),
        (("--junit", "conditions.xml"), "only with --fail-if"),
    ],
)
def test_other_conditions_are_refused_before_any_trial(nettrial, more, said):
    done = nettrial(*SHORT, "--out", "mine", *more)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert not (nettrial.directory / "mine").exists()


def test_an_interval_around_the_limit_fails_only_if_that_is_asked(nettrial):
    done = nettrial(
        *SHORT, "--replicates", "3", "--seed", "1", "--out", "first", "--fail-if", "throughput > 1 Mbit/s"
    )
    mean = re.search(r"Mbit/s \(.*\): ([\d.]+)", done.stdout)[1]
    words = ("--replicates", "3", "--seed", "1", "--fail-if", f"throughput > {mean} Mbit/s")
    done = nettrial(*SHORT, *words)
    assert done.returncode == 0, done.stderr
    done = nettrial(*SHORT, *words, "--inconclusive", "fail")
    assert (done.returncode, "can't tell whether 1 condition holds" in done.stderr) == (6, True)


def test_conditions_are_in_the_document_and_in_a_junit_file(nettrial):
    gate = ("--fail-if", "throughput > 1 Mbit/s", "--fail-if", "throughput < 1 Mbit/s", "--junit", "gate.xml")
    done = nettrial(*SHORT, "--replicates", "3", "--seed", "1", *gate, "--json")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert [each["holds"] for each in document["conditions"]] == [True, False]
    (value,) = [each for each in document["values"] if each["response"] == "throughput"]
    judged = document["conditions"][0]
    assert (judged["mean"], judged["treatment"]) == (value["mean"], value["treatment"])
    assert judged["interval"][0] < value["interval"][0] < value["mean"]
    suite = ElementTree.parse(nettrial.directory / "gate.xml").getroot().find("testsuite")
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["2", "1", "0", "0"]
    assert suite.find("testcase/failure").get("message").startswith("holds: throughput > 1 Mbit/s (")


def test_the_last_whole_run_is_the_baseline(nettrial):
    for name, more in (("old", ()), ("last", ()), ("other", ("--set", "network.delay=1 ms"))):
        done = nettrial(*SHORT, "--replicates", "3", "--seed", "1", "--out", f"runs/{name}", *more)
        assert done.returncode == 0, done.stderr
    failing = {"FAKE_FAIL": "1"}
    nettrial(*SHORT, "--replicates", "3", "--out", "runs/broken", **failing)
    nettrial(*SHORT, "--replicates", "3", "--seed", "2", "--out", "after")
    done = nettrial("compare", "after", "--baseline", "runs", "--html", "page.html")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^A: runs/last\nB: after$", done.stdout, re.MULTILINE)
    page = (nettrial.directory / "page.html").read_text()
    assert "Changes in percent from runs/last (A) to after (B)" in page
    assert '<th scope="row">throughput</th>' in page
    (nettrial.directory / "elsewhere").mkdir()
    (nettrial.directory / "runs" / "other").rename(nettrial.directory / "elsewhere" / "other")
    for words, said in (
        (("after", "--baseline", "elsewhere"), "those there have other levels or settings"),
        (("after",), "--baseline DIR compares"),
        (("after", "runs/old", "--baseline", "runs"), "one run with --baseline"),
        (("after", "--baseline", "after"), "whose trials have all finished"),
    ):
        done = nettrial("compare", *words)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
