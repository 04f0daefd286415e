"""Published figures and conclusions at levels that hosts report, and at those that a run adds."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from nettrial.analysis import agreement, summarise, verdicts
from nettrial.analysis.counterparts import Counterparts
from nettrial.design import PlannedTrial
from nettrial.fields import Wrong
from nettrial.report import conclusions, tables
from nettrial.report.content import gather
from nettrial.scenario import Record
from nettrial.store import Run
from nettrial.study import Study, load
from nettrial.study.system_names import Precision, precision, slug
from tests.unit.synthetic import make_run, record

SYSTEMS = {
    "alpha": "Ubuntu 14.04.6 LTS",
    "beta": "Debian GNU/Linux 12 (bookworm)",
    "gamma": "Windows Server 10.0.20348",
    "delta": "Windows Server 2012 R2 Standard",
}
SENDERS, RECEIVERS = "hosts.sender.machine", "hosts.receiver.machine"
PAIRS = {
    "sender": "linux-cubic",
    "receiver": "linux-cubic",
    SENDERS: "alpha,gamma",
    RECEIVERS: "beta,delta",
}
WINDOWS = "windows-server-2012-r2"


def reported(trial: PlannedTrial) -> Record:
    """Returns a record whose hosts report the system of their machine. With jumbo frames, a sender with
    Windows gains more, and yet more to a receiver with Windows."""
    made = record(trial)
    for host, machine in zip(made.hosts, (SENDERS, RECEIVERS), strict=True):
        host.system = SYSTEMS[trial.treatment[machine]]
    if trial.treatment["mtu"] != "1500 B" and trial.treatment[SENDERS] == "gamma":
        gain = 1.2 if trial.treatment[RECEIVERS] == "delta" else 1.1
        made.flows[0].goodput_bps = (made.flows[0].goodput_bps or 0) * gain
    return made


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Yields a run between machines with several systems."""
    return make_run(tmp_path_factory.mktemp("systems") / "run", 4, PAIRS, maker=reported)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("ubuntu-14.04", "Ubuntu 14.04.6 LTS", Precision.EXACT),
        ("ubuntu-14.04", "Ubuntu 14.10", Precision.FAMILY),
        ("ubuntu-14.04", "Debian GNU/Linux 12 (bookworm)", Precision.FAMILY),
        ("ubuntu-14.04", "Linux", Precision.FAMILY),
        ("fedora-12", "Fedora Linux 12 (Workstation Edition)", Precision.EXACT),
        ("fedora-1", "Fedora Linux 12 (Workstation Edition)", Precision.FAMILY),
        ("linux", "Fedora Linux 12", Precision.FAMILY),
        ("windows", "Windows 10.0.19045", Precision.FAMILY),
        ("windows-10", "Windows 10.0.19045", Precision.EXACT),
        ("windows-10", "Windows 10.0.22631", Precision.FAMILY),
        ("windows-11", "Windows 10.0.22631", Precision.EXACT),
        ("windows-server-2019", "Windows Server 10.0.17763", Precision.EXACT),
        ("windows-7", "Windows Server 10.0.17763", Precision.FAMILY),
        ("windows-7", "Debian GNU/Linux 12 (bookworm)", None),
        ("windows-7", "Wine 8.0 (not Windows)", None),
        ("ubuntu-14.04", "FreeBSD 14.1-RELEASE", None),
        ("ubuntu-14.04", "lwip 2.2.1", None),
        ("freebsd-14.1", "FreeBSD 14.1-RELEASE", Precision.EXACT),
    ],
)
def test_a_sources_system_is_what_a_host_reports(name: str, text: str, expected: Precision | None) -> None:
    assert precision(name, text) is expected


def test_versions_of_windows_have_their_names() -> None:
    assert slug("Windows 5.1.2600") == "windows-xp"
    assert slug("Windows Server 6.3.9600") == WINDOWS
    assert slug("Windows 4.0.1381") == "windows-4.0.1381"


def test_each_published_figure_has_a_counterpart_among_machines(run: Run) -> None:
    found = agreement(run, summarise(run))
    assert len(found) == 52
    assert {each.absent for each in found} == {None}
    for each in found:
        assert each.cell is not None
        machines = [each.cell.treatment[name] for name in (SENDERS, RECEIVERS)]
        windows = [each.row.levels[name] == WINDOWS for name in ("sender", "receiver")]
        assert machines == [("gamma" if windows[0] else "alpha"), ("delta" if windows[1] else "beta")]
    grades = {(match.factor, match.level): match.precision for each in found for match in each.systems}
    assert grades == {
        ("sender", "ubuntu-14.04"): Precision.EXACT,
        ("sender", WINDOWS): Precision.FAMILY,
        ("receiver", "ubuntu-14.04"): Precision.FAMILY,
        ("receiver", WINDOWS): Precision.EXACT,
    }


def test_reports_say_how_systems_are_matched(run: Run) -> None:
    said = conclusions.limits(gather(run))
    for sentence in (
        "The source's ubuntu-14.04 is matched exactly, as Sender: the hosts report Ubuntu 14.04.6 LTS.",
        "The source's ubuntu-14.04 is matched by its family only, as Receiver: the hosts report Debian "
        "GNU/Linux 12 (bookworm).",
        f"The source's {WINDOWS} is matched by its family only, as Sender: the hosts report Windows Server "
        "10.0.20348.",
    ):
        assert sentence in said
    wrong = ("Nothing in this run corresponds", "which this run varies")
    assert not any(words in sentence for sentence in said for words in wrong)


def test_conclusions_about_systems_are_judged(run: Run) -> None:
    found = {each.conclusion.name: each for each in verdicts(run.study, summarise(run))}
    assert found["windows"].judged == "confirmed"
    assert len(found["windows"].places[0].compared) == 3
    for name in ("windows-to-windows-rtt", "linux-to-windows-rtt", "windows-to-linux-jitter"):
        assert found[name].judged != "not testable"
    # At each MTU and receiver.
    assert len(found["windows-cpu"].places) == 6
    assert found["linux-to-windows-rtt"].places[0].levels == {SENDERS: "alpha", RECEIVERS: "delta"}


def test_a_system_that_no_host_reports_is_not_testable(tmp_path: Path) -> None:
    def linux(trial: PlannedTrial) -> Record:
        made = record(trial)
        for host in made.hosts:
            host.system = SYSTEMS["beta"]
        return made

    made = make_run(tmp_path / "run", 2, {"sender": "linux-cubic", "receiver": "linux-cubic"}, maker=linux)
    found = {each.conclusion.name: each for each in verdicts(made.study, summarise(made))}
    assert found["windows"].judged == "not testable"
    assert found["windows"].absent == (
        f"no host is the Sender {WINDOWS}: the hosts report Debian GNU/Linux 12 (bookworm)"
    )
    assert found["throughput"].judged != "not testable"


def test_one_host_is_not_two_systems(tmp_path: Path) -> None:
    """A host with a third Windows stands for either by its family, but is not compared with itself."""

    def windows(trial: PlannedTrial) -> Record:
        made = record(trial)
        for host in made.hosts:
            host.system = SYSTEMS["gamma"]
        return made

    made = make_run(tmp_path / "run", 2, {"receiver": "linux-cubic"}, maker=windows)
    one = {"name": "one", "says": "Windows 7 is faster.", "response": "throughput", "expect": "higher"}
    study = with_conclusions(
        made.study, {**one, "factor": "sender", "level": "windows-7", "than": "windows-8"}
    )
    (found,) = verdicts(study, summarise(made))
    assert (found.judged, found.absent) == ("not testable", "no two treatments here are the two sides of it")


def test_figures_are_compared_at_each_level_that_the_source_does_not_name(tmp_path: Path) -> None:
    def maker(trial: PlannedTrial) -> Record:
        made = record(trial)
        if trial.treatment["network.delay"] == "10 ms":
            made.flows[0].goodput_bps = 1e8
        return made

    changed = {"sender": "linux-cubic", "receiver": "linux-cubic", "network.delay": "5 ms,10 ms"}
    made = make_run(tmp_path / "run", 3, changed, maker=maker)
    summary = summarise(made)
    found = [each for each in agreement(made, summary) if each.row.response == "throughput" and each.cell]
    values = {
        (each.cell.treatment["mtu"], each.cell.treatment["network.delay"]): each.cell.mean
        for each in found
        if each.cell
    }
    assert len(found) == len(values) == 6
    assert all(values[mtu, "10 ms"] == 1e2 for mtu in ("1500 B", "4000 B", "9000 B"))
    assert all((values[mtu, "5 ms"] or 0) > 8e2 for mtu in ("1500 B", "4000 B", "9000 B"))
    labels = [tables.agreement_label(made.study, found, each) for each in found]
    assert len(set(labels)) == 6
    verdict = next(each for each in verdicts(made.study, summary) if each.conclusion.name == "throughput")
    assert [place.levels for place in verdict.places] == [
        {"network.delay": "5 ms"},
        {"network.delay": "10 ms"},
    ]


def test_values_are_compared_elsewhere_without_a_factor(run: Run) -> None:
    one = {"name": "one", "says": "Windows is faster.", "response": "throughput", "expect": "higher"}
    study = with_conclusions(
        run.study, {**one, "where": {"sender": "windows", "mtu": "9000 B"}, "than_where": {"sender": "linux"}}
    )
    (found,) = verdicts(study, summarise(run))
    assert found.judged == "confirmed"
    for place in found.places:
        (compared,) = place.compared
        assert compared.subject == "Sender windows, MTU 9000 B"
        assert compared.against == "Sender linux"
        gain = 20 if place.levels[RECEIVERS] == "delta" else 10
        assert compared.change.percent == pytest.approx(gain, abs=1)
        assert place.levels[SENDERS] == "gamma"


def with_conclusions(study: Study, *found: dict[str, Any]) -> Study:
    return Study.model_validate({**study.model_dump(by_alias=True), "conclusions": list(found)})


@pytest.mark.parametrize(
    ("published", "value", "hint"),
    [
        ({"systems": {"sendr": ["sender"]}}, "sendr", "did you mean 'sender'?"),
        ({"systems": {"sender": ["sendr"]}}, "sendr", "did you mean 'sender'?"),
        ({"levels": {"sender": {WINDOWS: "windoze"}}}, "windoze", "did you mean 'windows'?"),
        ({"levels": {"sender": {WINDOWS: "amiga"}}}, "amiga", "no host reports such a name"),
    ],
)
def test_a_mapping_to_what_nobody_reports_is_refused(
    published: dict[str, Any], value: str, hint: str
) -> None:
    study = load("jumbo-ipv6").model_dump(by_alias=True)
    whole = {**study["published"], "systems": {"sender": ["sender"]}, **published}
    with pytest.raises(ValidationError) as caught:
        Study.model_validate({**study, "published": whole, "conclusions": []})
    assert [(wrong.value, wrong.hint) for wrong in Wrong.of(caught.value)] == [(value, hint)]


def test_a_level_may_be_mapped_to_another_system(run: Run) -> None:
    study = run.study.model_dump(by_alias=True)
    study["published"]["levels"]["sender"] = {WINDOWS: "ubuntu-14.04"}
    counterparts = Counterparts(Study.model_validate(study), summarise(run))
    assert {each[SENDERS] for each in counterparts.at({"sender": WINDOWS})} == {"alpha"}
    assert counterparts.at({}) == counterparts.treatments
