"""The documents of `--json` and the files for continuous integration, of one run with the fake engine."""

import json
import os
import webbrowser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from nettrial.cli.documents import report as report_documents
from nettrial.cli.documents.kinds import DOCUMENTS
from nettrial.report import pages

KINDS = {kind.model_fields["document"].default: kind for kind in DOCUMENTS}
RUN = ("run", "jumbo-ipv6", "--set", "mtu=1500,4000,9000", "--set", "sender=linux-cubic", "--set")
RUN += ("receiver=linux-cubic", "--replicates", "2", "--seed", "7", "--out", "mine", "--json", "--quiet")


def read(done):
    document = json.loads(done.stdout)
    assert document["format"] == 1
    return KINDS[document["document"]].model_validate(document)


def test_a_run_and_the_commands_that_read_it(nettrial):
    done = nettrial(*RUN)
    assert (done.returncode, done.stderr) == (0, "")
    ran = read(done)
    assert ran.trials == report_documents.Trials(planned=6, finished=6, failed=0, warned=0, reruns=0)
    assert {(effect.baseline, effect.level) for effect in ran.effects} == {
        ("1500 B", "4000 B"),
        ("1500 B", "9000 B"),
    }
    assert all(value.n == 2 for value in ran.values)

    assert read(nettrial("report", "mine", "--json")) == ran
    [stored] = read(nettrial("list", "runs", ".", "--json")).runs
    assert (stored.run, stored.study, stored.state) == ("mine", "jumbo-ipv6", "finished: 6 trials")

    done = nettrial("compare", "mine", "mine", "--json", "--fail-if", "throughput < -3%")
    assert done.returncode == 0
    compared = read(done)
    assert {difference.percent for difference in compared.differences} == {0.0}
    assert [judged.holds for judged in compared.conditions] == [None] * 3  # two values decide little
    assert {judged.reason for judged in compared.conditions} == {
        "the interval has changes on both sides of -3%"
    }
    assert read(nettrial("predict", "mine", "--mtu", "3000", "--json")).predictions[0].mtu_bytes == 3000

    done = nettrial("report", "mine", "--junit", "junit.xml", "--markdown", "summary.md")
    assert done.returncode == 0
    suite = ElementTree.parse(nettrial.directory / "junit.xml").getroot().find("testsuite")
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6",
        "failures": "0",
        "errors": "0",
        "skipped": "0",
    }
    markdown = (nettrial.directory / "summary.md").read_text()
    assert markdown.startswith("## jumbo-ipv6: Jumbo frames over IPv6\n")
    assert "MTU 9000 B instead of 1500 B" in markdown


def test_trials_that_failed_are_errors_and_those_not_made_are_skipped(nettrial):
    options = ["--set", "mtu=1500,9000", "--set", "sender=linux-cubic", "--set", "receiver=linux-cubic"]
    done = nettrial(
        "run", "jumbo-ipv6", *options, "--replicates", "2", "--out", "mine", "--json", FAKE_FAIL="2"
    )
    assert done.returncode == 4
    failed = read(done)
    assert failed.trials.failed == len(failed.failures) == 1
    nettrial("report", "mine", "--junit", "junit.xml", "--markdown", "summary.md")
    suite = ElementTree.parse(nettrial.directory / "junit.xml").getroot().find("testsuite")
    assert suite.get("errors") == "1"
    assert "### Failures" in (nettrial.directory / "summary.md").read_text()


def test_commands_without_a_run(nettrial):
    shown = read(nettrial("run", "--dry-run", "jumbo-ipv6", "--seed", "7", "--json"))
    assert len(shown.order) == shown.trials == shown.replicates * len(shown.treatments)
    assert "lab" in [entry["backend"] for entry in read(nettrial("list", "backends", "--json")).entries]
    states = {state.backend: state for state in read(nettrial("doctor", "--json")).backends}
    assert states["lab"].can_run
    done = nettrial("doctor", "lab", "--json", FAKE_MISSING="1")
    assert done.returncode == 3
    assert read(done).backends[0].missing


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="open files have no names here")
def test_a_pipe_is_written_to_and_not_replaced():
    reader, writer = os.pipe()
    pages.write(Path(f"/dev/fd/{writer}"), b"written", "writing the JUnit file")
    assert os.read(reader, 100) == b"written"
    os.close(reader)
    os.close(writer)


def test_a_machine_without_a_browser_is_told_where_the_page_is(nettrial, monkeypatch):
    nettrial(*RUN)
    monkeypatch.setattr(webbrowser, "open", lambda address: False)
    done = nettrial("report", "mine", "--open")
    assert done.returncode == 0
    assert (
        f"no browser found on this machine; open {nettrial.directory / 'mine' / 'report.html'}" in done.stderr
    )


def test_a_file_that_cannot_be_written_is_told(nettrial):
    nettrial(*RUN)
    done = nettrial("report", "mine", "--junit", "missing/junit.xml")
    assert done.returncode == 2
    assert "missing/junit.xml" in done.stderr
