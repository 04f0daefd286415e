"""Sweeps, packets and percentiles on the page and on the terminal."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from nettrial.analysis import curves, estimate
from nettrial.design import PlannedTrial, scenario_of
from nettrial.report import html, terminal, topology
from nettrial.scenario import InterfaceRecord, Pacing, Record
from nettrial.store import Run
from nettrial.study import load
from tests.unit.sweeps import make_sweep_run, sweep_record
from tests.unit.synthetic import altered_study, make_run, record, spread_of
from tests.unit.test_report_html import Page


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return make_sweep_run(tmp_path_factory.mktemp("runs") / "run")


@pytest.fixture(scope="module")
def page(run: Run) -> str:
    return html.write(run).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def said(run: Run) -> str:
    return terminal_text(run)


def terminal_text(run: Run, width: int = 200) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    terminal.render(run, console)
    return console.file.getvalue()  # type: ignore[attr-defined]


def test_the_page_is_well_formed_and_small(page: str) -> None:
    Page(page)
    assert len(page) < 500_000
    assert not re.search(r"\b(nan|NaN|None|Infinity)\b", page)


def test_each_transport_has_its_charts(page: str) -> None:
    pictures = [found["aria-label"] for found in Page(page).named("svg") if found.get("role") == "img"]
    for transport in ("udp", "tcp"):
        ours = [text for text in pictures if f"against packet size, Transport {transport}" in text]
        assert len(ours) == 4
        assert sum("one more packet" in text for text in ours) == 2
        assert sum("ratio to MTU 1500 B" in text for text in ours) == 1


def test_the_table_has_the_means_of_the_curves(run: Run, page: str, said: str) -> None:
    curve = curves(run)[2]
    for size in (1000, 11_000, 65_500):
        at = curve.sizes == size
        shown = estimate(curve.sizes[at], curve.rtt_us[:, at])
        assert f'<td class="value">{shown.mean[0]:.2f}</td>' in page
        assert f"{shown.mean[0]:.2f} ± {shown.high[0] - shown.mean[0]:.2f}" in said


def test_every_step_is_listed_on_the_page(page: str) -> None:
    steps = page.split("<h3>Steps</h3>")[1].split("</section>")[0]
    for place in (1472, 2952, 63_632, 1448, 62_264, 8972, 62_828, 8948, 62_636):
        assert f"<td>{place} B</td>" in steps
    assert "one elsewhere after 32000 B" in steps


def test_the_terminal_lists_some_steps_and_counts_the_rest(said: str) -> None:
    assert "Steps, MTU 1500 B – Transport udp" in said
    assert re.search(r"1472 B +1 → 2 +\+1\.\d\d \[", said)
    assert "and 31 more on the page" in said


def test_the_printed_ratio_stands_beside_ours(said: str) -> None:
    assert "Published, section 5.1.3" in said
    assert re.search(r"9000 B +-\d\d\.\d \[.*\+85\.24 +outside the interval", said)


@pytest.mark.usefixtures("one_of_each_drawn")
@pytest.mark.parametrize("trials", [0, 1, 3])
def test_a_run_that_has_just_begun_is_reported(tmp_path: Path, trials: int) -> None:
    begun = make_sweep_run(tmp_path / "run", trials=trials)
    text = html.write(begun).read_text(encoding="utf-8")
    Page(text)
    assert ('id="sweeps"' in text) == (trials > 0)
    assert not re.search(r"\b(nan|NaN|Infinity)\b", text)
    assert not re.search(r"\bnan\b", terminal_text(begun, width=80))


def test_one_trial_judges_no_step(tmp_path: Path) -> None:
    text = terminal_text(make_sweep_run(tmp_path / "run", replicates=1))
    assert "us on average; one trial can't show single steps;" in text
    assert "can't be judged with one trial" in text
    assert "not shown" not in text.partition("The source's conclusions")[0]


def test_coarse_sizes_say_that_there_was_no_search(tmp_path: Path) -> None:
    text = terminal_text(make_sweep_run(tmp_path / "run", step=500))
    assert "no search for other steps: sizes 500 B apart are too far from each other" in text


@pytest.mark.usefixtures("undrawn")
def test_pacing_and_packet_sizes_are_told(tmp_path: Path) -> None:
    def maker(trial: PlannedTrial) -> Record:
        made = sweep_record(trial, step=500)
        made.flows[0].pacing = Pacing.model_validate(
            {"asked_bps": 10e6, "sent_bps": 9.95e6, "lateness_us": spread_of(5), "cpu_percent": 3.2}
        )
        sizes = [{"size_bytes": size, "packets": packets} for size, packets in ((60, 90), (1500, 10))]
        end = {"node": "client", "interface": "eth0", "wire_bytes": 1, "frames_pkts": 100, "drops_pkts": 0}
        made.ends = [InterfaceRecord.model_validate({**end, "packet_sizes": sizes})]
        return made

    made = make_run(tmp_path / "run", 2, maker=maker, study=load("mtu-packet-size"))
    paced = "sweep: the requested payload rate was 10 Mbit/s; the rate sent deviated by at most 0.5%."
    text = html.write(made).read_text(encoding="utf-8")
    assert paced in terminal_text(made)
    assert paced in text
    wires = text.split('id="packet-sizes"')[1].split("</section>")[0]
    assert "MTU 1500 B, Transport udp" in wires
    assert "60 B 90.0%, 1500 B 10.0%" in wires
    assert "<td>200</td>" in wires  # The number is the sum of two trials.


@pytest.mark.usefixtures("one_of_each_drawn")
def test_percentiles_of_one_flow_make_a_chart(tmp_path: Path) -> None:
    wanted = [
        f"  - {{name: {name}, title: 'Round-trip time, {name}', metric: {name}, of: probe, unit: ms}}"
        for name in ("rtt_p50", "rtt_p90", "rtt_p99")
    ]
    study = altered_study(tmp_path / "study", {"responses:\n": "responses:\n" + "\n".join(wanted) + "\n"})
    made = make_run(tmp_path / "run", 2, study=study, maker=lambda trial: record(trial))
    text = html.write(made).read_text(encoding="utf-8")
    Page(text)
    assert text.count("of probe in ms by percentile") == 1


def test_impairments_are_named_on_the_links() -> None:
    study = load("jumbo-ipv6").with_overrides(
        {
            "network.impairment.loss": "0.01",
            "network.impairment.jitter": "2 ms",
            "network.impairment.duplication": "0,0.1",
        }
    )
    drawing = topology.draw(study, scenario_of(study, {"network.impairment.duplication": "0.1"}))
    assert {link.above for link in drawing.links} == {"1 Gbit/s, duplication: factor, loss 1%, jitter 2 ms"}
