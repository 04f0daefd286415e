"""The networks that a report draws."""

from pathlib import Path

import pytest

from nettrial.report import html, networks, topology
from nettrial.report.content import gather
from nettrial.store import Run
from tests.unit.synthetic import altered_study, make_run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    chosen = {"network.topology": "routed,parallel", "mtu": "1500", "sender": "linux-cubic,classic"}
    return make_run(tmp_path_factory.mktemp("runs") / "run", 1, {**chosen, "receiver": "linux-cubic"})


def test_each_level_that_has_a_network_of_its_own_is_drawn(run: Run) -> None:
    found = networks.draw(gather(run))
    assert [title for title, _ in found.drawings] == ["network.topology routed", "network.topology parallel"]
    routed, parallel = (drawing for _, drawing in found.drawings)
    assert [len(each.links) for each in (routed, parallel)] == [2, 2]
    assert [len(each.nodes) for each in (routed, parallel)] == [3, 2]
    assert not any(
        "trials have different networks" in each for each in (*routed.captions, *parallel.captions)
    )
    assert found.note == ""


def test_levels_with_the_same_network_share_a_drawing(tmp_path: Path) -> None:
    chosen = {"network.topology": "pair,parallel", "network.parameters.parallel.links": "1,2"}
    others = {"mtu": "1500", "sender": "linux-cubic", "receiver": "linux-cubic"}
    parameters = "topology: pair\n  parameters: {parallel: {links: 2}}"
    study = altered_study(tmp_path / "study", {"topology: routed": parameters})
    found = networks.draw(gather(make_run(tmp_path / "run", 1, {**chosen, **others}, study=study)))
    links = {title: len(drawing.links) for title, drawing in found.drawings}
    assert list(links.values()) == [1, 2]
    assert [title.count(";") for title in links] == [2, 0]


def test_the_page_has_the_networks_of_levels_behind_their_names(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nettrial.report.vega.on_page", lambda chart: "")
    section = html.page(gather(run)).split('<section id="network">')[1].split("</section>")[0]
    assert section.count('role="img"') == section.count("<summary>") == 2
    assert section.count(" open>") == 1
    assert "<summary>network.topology routed</summary>" in section


def test_networks_with_too_many_hosts_are_counted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topology, "MOST_HOSTS", 3)
    found = networks.draw(gather(run))
    assert len(found.drawings) == 1
    assert found.note == "At most 8 networks, with 3 hosts together, are drawn; 1 more level left out."
    monkeypatch.setattr(topology, "MOST_HOSTS", 1)
    assert networks.draw(gather(run)).note == "Networks of more than 1 hosts are not drawn."


def test_a_network_that_all_trials_have_has_no_name(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 1, {"sender": "linux-cubic"}, trials=1)
    assert [title for title, _ in networks.draw(gather(run)).drawings] == [""]
