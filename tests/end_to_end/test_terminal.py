"""Commands that measure, on a terminal: the screen as a user sees it, read with pyte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.end_to_end.serving import TOKEN, Server, environment, serving
from tests.terminal import CTRL_C, Terminal

pytestmark = pytest.mark.end_to_end

MESH = """
mesh: loopback
hosts:
  here: {{}}
  served: {{address: 127.0.0.1, serves: nettrial, token_file: token, port: {port}}}
limits: {{share: 100%}}
archive: archive
measurements:
  goodput: {{kind: tcp, from: [here], to: [served], every: 10 min, duration: 200 ms}}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("serve")) as running:
        yield running


def terminal(directory: Path, *arguments: str, width: int) -> Terminal:
    variables = {**environment(NETTRIAL_TOKEN=TOKEN), "TERM": "xterm-256color"}
    for name in ("COLUMNS", "NO_COLOR"):
        del variables[name]
    return Terminal(arguments, variables, directory, width=width)


def measuring(directory: Path, server: Server, time: str, width: int, repeats: int = 3) -> Terminal:
    options = ("--port", str(server.port), "--time", time, "--replicates", str(repeats), "--seed", "1")
    return terminal(directory, "measure", "127.0.0.1", *options, width=width)


def unbroken(text: str) -> str:
    """Returns the text without white space: a terminal breaks lines within words."""
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize("width", [40, 160])
def test_a_measurement_shows_one_bar_and_its_table(server: Server, tmp_path: Path, width: int) -> None:
    with measuring(tmp_path, server, "100 ms", width) as shown:
        assert shown.end() == 0
        first = unbroken("TCP to 127.0.0.1: 3 repeats of 100 ms after a warm-up, IPv4, seed 1")
        table = unbroken("TCP to 127.0.0.1, 3 repeats of 100 ms")
        text = unbroken(shown.text)
        assert re.match(rf"{first}━{{16}}3/3repeats,(\d+min)?\d+selapsed,warnings:\d+{table}", text)
        assert "\\u" not in text
        assert max(map(len, shown.lines)) <= width


# The terminal writes the echo of Ctrl-C at once, which may be within a control sequence of the display.
@pytest.mark.settles
def test_ctrl_c_during_a_measurement(server: Server, tmp_path: Path) -> None:
    # On a busy machine, several repeats may end before this test goes on.
    with measuring(tmp_path, server, "500 ms", 80, 100) as shown:
        shown.wait_for(r"━ [1-9]\d*/100 repeats")
        shown.type(CTRL_C)
        assert shown.end() == 130
        # Where no repeat runs at that moment, the measurement ends at once, and the bar can be above the line
        line = "finishing the repeat that is running; Ctrl-C again abandons it\n"
        bar = r"━*[╺╸]?━+ [1-9]\d?/100 repeats, [^━]*\n"
        assert re.search(
            rf"seed 1\n+({line}{bar}|{bar}{line})TCP to 127\.0\.0\.1, [1-9]\d? repeats? of 500 ms\n",
            shown.text,
        ), shown.text


def test_the_monitor_prints_lines(server: Server, tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "mesh.yaml").write_text(MESH.format(port=server.port))
    with terminal(tmp_path, "monitor", "mesh.yaml", width=160) as shown:
        shown.wait_for("archive: archive")
        shown.type(CTRL_C)
        assert shown.end() == 0
        assert shown.lines == ["loopback: measuring 1 pair until Ctrl-C; archive: archive", "^C"]
