"""ndt7: the commands as users run them, and M-Lab's client in a browser."""

import asyncio
import functools
import http.server
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from nettrial.admission import Log
from nettrial.cli.documents.measure import Ndt7Document
from nettrial.protocols.ndt7.server import Ndt7TestServer
from nettrial.store import Run
from tests.end_to_end.serving import PATIENCE, nettrial, serving
from tests.end_to_end.test_report_page import ARGUMENTS, BROWSERS

pytestmark = pytest.mark.end_to_end

CLIENT = Path(__file__).parents[2] / ".venv" / "ndt7-js"
"""The sources of the package @m-lab/ndt7, M-Lab's client for browsers, from tools/setup-tests.sh."""
PAGE = "<!doctype html><title>ndt7</title><script src='ndt7.js'></script>"
RUN = """
async port => {
  const seen = {errors: [], download: [], upload: []}
  const keep = way => message => seen[way].push(message)
  seen.status = await ndt7.test(
    {server: `127.0.0.1:${port}`, protocol: 'ws', mlabDataPolicyInapplicable: true,
     downloadworkerfile: 'ndt7-download-worker.js', uploadworkerfile: 'ndt7-upload-worker.js'},
    {error: text => seen.errors.push(text),
     downloadMeasurement: keep('download'), uploadMeasurement: keep('upload')})
  return seen
}
"""


def missing(what: str) -> None:
    """Skips the test; in CI, fails it."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(what)


@pytest.fixture
def page_at() -> Iterator[str]:
    """Runs a web server with M-Lab's client, and yields the address of its page."""
    if not (CLIENT / "ndt7.js").exists():
        missing("M-Lab's client for browsers is not there: tools/setup-tests.sh fetches it")
    (CLIENT / "index.html").write_text(PAGE)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(CLIENT))
    ) as files:
        threading.Thread(target=files.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{files.server_port}/index.html"
        files.shutdown()


@pytest.fixture
def ndt7_port() -> Iterator[int]:
    """Runs a server in this process, whose tests last half a second, and yields its port."""
    found: list[int] = []
    ready = threading.Event()
    loop = asyncio.new_event_loop()
    ended = asyncio.Event()

    async def run() -> None:
        async with Ndt7TestServer(Log(print), 0.5).serving("127.0.0.1", 0, None) as (_, port):
            found.append(port)
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    assert ready.wait(PATIENCE)
    yield found[0]
    loop.call_soon_threadsafe(ended.set)
    thread.join()
    loop.close()


@pytest.mark.settles  # On a busy machine, half a second may pass before the browser sends.
def test_m_labs_client_in_a_browser_is_served(page_at: str, ndt7_port: int) -> None:
    browser_file = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser_file is None:
        missing(f"none of {', '.join(BROWSERS)} on PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_file, args=ARGUMENTS, timeout=1000 * PATIENCE
        )
        page = browser.new_page()
        page.goto(page_at)
        seen = page.evaluate(RUN, ndt7_port)
        browser.close()
    assert seen["errors"] == []
    assert seen["status"] == 0
    for way in ("download", "upload"):
        told = [each["Data"] for each in seen[way] if each["Source"] == "server"]
        assert told, way
        assert told[-1]["AppInfo"]["NumBytes"] > 0
        assert told[-1]["TCPInfo"]["ElapsedTime"] > 0
        assert told[-1]["ConnectionInfo"]["Client"].startswith("127.0.0.1:")


@pytest.mark.settles
def test_the_commands_measure_with_each_other(tmp_path: Path) -> None:
    short = ("--time", "600 ms", "--replicates", "2")
    with serving(tmp_path, "--ndt7", token=None) as server:
        at = ("measure", "localhost", "--ndt7", "--port", str(server.port), *short)
        assert "SHA-256 fingerprint" in server.await_line("SHA-256 fingerprint: [0-9a-f:]{95}")[0]
        refused = nettrial(*at)
        assert refused.returncode == 3
        assert "not trusted" in refused.stderr
        done = nettrial(*at, "--no-verify", "--json")
        assert done.returncode == 0, done.stderr
        document = Ndt7Document.model_validate_json(done.stdout)
        assert {(each.direction, each.metric) for each in document.metrics} == {
            (way, metric)
            for way in ("download", "upload")
            for metric in ("goodput", "min_rtt", "srtt", "retransmitted")
        }
        assert len(document.repeats) == 2
        assert not [one.message for one in document.warnings if "CPU" not in one.message]
        assert all((each.upload.tls or "").startswith("TLSv1") for each in document.repeats)
        run = tmp_path / "monday"
        told = nettrial(*at, "--no-verify", "--quiet", "--out", str(run))
        names = {response.name for response in Run.open(run).study.responses}
        assert {"download_goodput", "upload_goodput"} <= names
        assert "download: goodput" in told.stdout
        server.await_line(r"upload, \d+ bytes in")
