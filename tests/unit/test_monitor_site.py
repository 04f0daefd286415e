"""The site of an archive: its pages, its answers to requests, and the metrics for Prometheus."""

import http.client
import re
import socket
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nettrial.cli.monitor import MonitorOptions, _page
from nettrial.errors import BadInput
from nettrial.monitor import mesh as meshes
from nettrial.monitor.archive import Archive, ArchivedValues, KnownGap, KnownSession
from nettrial.monitor.page import interval, merge
from nettrial.monitor.prometheus import text
from nettrial.monitor.running import StoredEvent
from nettrial.monitor.site import Site, server
from nettrial.monitor.view import _together, overview, state_of
from nettrial.report.serving import by_address
from tests.unit.test_monitor import MESH, World

HOSTILE = '<script>alert(1)</script>"\\\n'


def make_archive(folder: Path, hours: float = 2.0) -> Path:
    """Makes an archive of the last hours, in which alpha was unreachable for a while and the delay
    changed."""
    given = MESH.replace("duration: 2 s}", 'duration: 2 s, thresholds: {rtt: {warning: "> 800"}}}')
    # A smaller daily budget might be spent or not, depending on the time of day.
    (folder / "mesh.yaml").write_text(given.replace("bytes_a_day: 1 GB", "bytes_a_day: 100 GB"))
    archive = Archive.create(folder / "archive")
    faults = [(3000.0, lambda world: world.gone.add("alpha"))]
    end = time.time()
    world = World(wall_s=end - hours * 3600, faults=faults)
    monitor = world.monitor(meshes.load(folder / "mesh.yaml").model_copy(update={"title": HOSTILE}), archive)
    while world.wall_s < end:
        monitor.step()
        if world.gone and world.steady_s > 3900:
            world.gone.clear()
    monitor._pending.append(StoredEvent(end, "clock", f"the clock was set {HOSTILE}"))
    monitor.end("stopped")
    archive.close()
    return folder / "archive"


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return make_archive(tmp_path_factory.mktemp("monitor"))


@pytest.fixture(scope="module")
def site(directory):
    return Site(directory)


@pytest.fixture(scope="module")
def served(directory):
    with server(directory, "127.0.0.1", 0) as served, served.running():
        yield served


def test_the_grid_has_every_pair_and_leads_to_its_history(directory, monkeypatch):
    archive = Archive.open(directory)
    seen_s = archive.sessions()[-1].seen_s
    archive.close()
    monkeypatch.setattr("nettrial.monitor.view.time.time", lambda: seen_s + 1)
    site = Site(directory)
    status, kind, page = site.respond("/")
    assert (status, kind) == (200, "text/html")
    page = page.decode()
    assert re.findall(r'class="state (\w+)" title="[^"]*"><a href="pair/(\d)/"', page) == [
        *(("measured", "1"), ("measured", "2"), ("measured", "3"), ("measured", "4")),
        *(("warning", "5"), ("measured", "6"), ("measured", "7")),
    ]
    assert "No monitor is running" not in page
    assert "at most one change in 90 d" in page
    assert "<script>alert" not in page
    _, _, history = site.respond("/pair/5/")
    history = history.decode()
    assert "beyond the threshold of a warning" in history
    assert "host gone</td>" in history
    assert history.count("<svg") == 2
    assert "95% interval" in history
    assert re.search(
        r'data-said="[\d-]+ [\d:]+: [\d.]+ Mbit/s \[[\d.]+, [\d.]+\], \d+ measurements"', history
    )


def test_other_paths_lead_nowhere(site, directory):
    assert (directory / "archive.sqlite").exists()
    for path in (
        "/archive.sqlite",
        "/../archive/archive.sqlite",
        "/pair/5",
        "/pair/99/",
        "/pair/5/../",
        "//",
        "",
    ):
        assert site.respond(path)[0] == 404, path


@given(st.text(max_size=60))
@settings(max_examples=60, deadline=None)
def test_hostile_paths_are_answered(site, path):
    assert site.respond(path)[0] in (200, 404)


@given(
    st.binary(max_size=200), st.sampled_from([b"", b"GET / HTTP/1.1\r\n", b"GET /metrics HTTP/1.0\r\nHost: "])
)
@settings(max_examples=60, deadline=None)
def test_hostile_bytes_end_in_nothing(served, data, before):
    with socket.create_connection(("127.0.0.1", served.server_port), 300) as caller:
        caller.sendall(before + data)
        caller.shutdown(socket.SHUT_WR)
        while caller.recv(65_536):
            pass
    connection = http.client.HTTPConnection("127.0.0.1", served.server_port, timeout=300)
    connection.request("GET", "/version")
    assert connection.getresponse().status == 200
    connection.close()


def test_there_is_no_page_unless_a_port_is_given_and_then_on_this_machine_alone(tmp_path, monkeypatch):
    options = MonitorOptions(tmp_path / "mesh.yaml", dry=False, systemd=False, quiet=True)
    assert (options.port, options.bind) == (None, "127.0.0.1")
    monkeypatch.setattr("nettrial.monitor.site.server", lambda *_: pytest.fail("it serves a page"))
    with _page(tmp_path, options):
        pass


def test_a_page_is_drawn_again_only_when_the_archive_has_grown(tmp_path, monkeypatch):
    directory = make_archive(tmp_path, 0.2)
    site = Site(directory)
    version = site.respond("/version")[2]
    one = site.respond("/")[2]
    assert f'data-live="{version.decode()}"' in one.decode()
    assert site.respond("/")[2] is one
    archive = Archive.create(directory)
    with archive.transaction():
        archive.event(time.time(), None, "clock", "another event")
    archive.close()
    assert site.respond("/version")[2] != version
    site._next = 0
    assert b"another event" in site.respond("/")[2]


def test_a_monitor_that_is_silent_is_not_running(tmp_path):
    archive = Archive.create(tmp_path)
    archive.begin_session(KnownSession("campus", "1 d", 0.0, time.time() - 200, ""))
    archive.close()
    page = Site(tmp_path).respond("/")[2].decode()
    assert "No monitor is running; the last sign of life of one was at 20" in page
    with pytest.raises(BadInput):
        Site(tmp_path / "elsewhere")


def test_the_server_answers_an_address_and_no_name(directory):
    with server(directory, "127.0.0.1", 0) as served, served.running():

        def ask(path, host=None):
            connection = http.client.HTTPConnection("127.0.0.1", served.server_port, timeout=300)
            connection.request("GET", path, headers={"Host": host} if host else {})
            return connection.getresponse()

        answer = ask("/metrics")
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert ask("/", "elsewhere.example").status == 403
        assert ask("/version", "localhost:1").status == 200


@pytest.mark.parametrize(
    ("host", "answered"),
    [
        ("127.0.0.1", True),
        ("192.0.2.1:80", True),
        ("localhost:8080", True),
        ("[::1]:80", True),
        ("[2001:db8::1]", True),
        ("", False),
        ("127.0.0.1.elsewhere.example", False),
        ("localhost.elsewhere.example", False),
        ("[::1", True),
        ("[elsewhere.example]", False),
    ],
)
def test_only_addresses_are_hosts(host, answered):
    assert by_address(host) == answered


SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)+)\} (-?[0-9.e+-]+|NaN)')
"""Matches a sample of the text format (https://prometheus.io/docs/instrumenting/exposition_formats/)."""


def test_prometheus_reads_the_latest_values_and_gaps(directory):
    archive = Archive.open(directory)
    found = text(overview(archive))
    samples = [SAMPLE.fullmatch(line) for line in found.splitlines() if not line.startswith("# ")]
    assert all(samples)
    assert len([sample for sample in samples if sample[1] == "nettrial_value"]) == 7
    assert r'mesh="<script>alert(1)</script>\"\\\n"' in found
    archive.close()


def test_a_gap_has_no_value(tmp_path):
    (tmp_path / "mesh.yaml").write_text(MESH)
    archive = Archive.create(tmp_path / "archive")
    world = World(faults=[(300.0, lambda world: world.gone.add("here"))])
    monitor = world.monitor(meshes.load(tmp_path / "mesh.yaml"), archive)
    while world.steady_s < 1000:
        monitor.step()
    monitor.end("stopped")
    found = text(overview(archive))
    assert "nettrial_value{" not in found
    assert found.count("} 1.0\n") == 7
    archive.close()


def test_bins_have_the_interval_of_their_values():
    points = [
        ArchivedValues(at, 1, value, 0, value, value) for at, value in enumerate([1.0, 2.0, 3.0, 4.0, 10.0])
    ]
    (one, other) = merge(points, 4)
    assert (one.n, other.n) == (4, 1)
    # The interval is 2.5 ± 3.182 * 1.291 / 2.
    assert interval(one) == pytest.approx((0.4457, 4.5543), abs=1e-3)
    assert interval(other) is None
    assert merge(points[::-1], 0) == points


def test_gaps_that_follow_each_other_are_one():
    gaps = [
        KnownGap(0, 10, 1, "refused", "a"),
        KnownGap(10, 30, 2, "refused", "a"),
        KnownGap(40, 50, 1, "refused", "a"),
    ]
    assert _together(gaps) == [KnownGap(0, 30, 3, "refused", "a"), gaps[2]]


def test_the_worst_threshold_decides():
    bounds = {"warning": "< 900", "alarm": "< 500"}
    assert [state_of(bounds, value) for value in (950, 900, 899, 500, 499)] == [
        *("good", "good", "warning", "warning", "alarm")
    ]
    assert state_of({"alarm": "> 5"}, 6) == "alarm"
    assert state_of({}, 6) == "measured"
