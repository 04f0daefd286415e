"""Commands on a terminal: the screen as a user sees it, read with pyte. `tests/end_to_end/test_terminal.py`
does the same for commands that measure."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.terminal import CTRL_C, Terminal
from tests.unit.conftest import environment
from tests.unit.synthetic import make_run

pytest.importorskip("pty")
RUN = ("run", "jumbo-ipv6", "--backend", "lab", "--set", "mtu=1500,9000", "--set", "sender=linux-cubic")
RUN += ("--set", "receiver=linux-cubic", "--replicates", "2", "--seed", "1", "--out", "mine")
SLOW = "1.05"
"""The duration in seconds of a trial after which the display is always drawn again."""
ELAPSED = r"(\d+ min )?\d+ s elapsed"
TIMES = re.compile(r"(?:\d+ min )?\d+ s (elapsed|left)")
WIDE = """\
Jumbo frames over IPv6: 4 trials, about 14 s, seed 1
results: mine
failed: trial 1 (mtu 9000 B, sender linux-cubic, receiver linux-cubic): building the network: no such device\\u001b[2J\\u009b2J\\u000d
                                    Round-trip time under                                                                            Service demand,
                                                     load    Jitter  Throughput  CPU, sender  CPU, receiver  Service demand, sender         receiver
MTU / Sender / Receiver                                ms        ms      Mbit/s            %              %                   us/kB            us/kB
1500 B / linux-cubic / linux-cubic                 1.1389  0.038817      920.23        60.41         69.893                  5.5035           4.3787
9000 B / linux-cubic / linux-cubic                      –         –           –            –              –                       –                –

now mtu 9000 B, sender linux-cubic, receiver linux-cubic
━━━━╺━━━━━━━━━━━ 1/4 trials, … elapsed, … left, warnings: 0, failed: 1"""  # noqa: E501
NARROW = """\
Jumbo frames over IPv6: 4 trials, about
14 s, seed 1
results: mine
failed: trial 1 (mtu 9000 B, sender
linux-cubic, receiver linux-cubic):
building the network: no such
device\\u001b[2J\\u009b2J\\u000d
                            Round-trip …
                                    load
MTU / Sender / Receiver               ms
1500 B / linux-cubic / li…        1.1389
9000 B / linux-cubic / li…             –
6 more responses

now mtu 9000 B, sender linux-cubic, rec…
━━━━╺━━━━━━━━━━━ 1/4 trials, … elapsed, … left, warnings: 0, failed: 1"""


def terminal(directory: Path, *arguments: str, width: int = 80, height: int = 24, **fake: str) -> Terminal:
    """Returns a terminal in which a command runs with the fake engine."""
    variables = {**environment(directory), "TERM": "xterm-256color", **fake}
    for name in ("COLUMNS", "NO_COLOR"):
        del variables[name]
    return Terminal(arguments, variables, directory, width=width, height=height)


def unfolded(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize(("width", "screen"), [(160, WIDE), (40, NARROW)])
def test_a_run_shows_its_responses_and_one_bar(tmp_path: Path, width: int, screen: str):
    fake = {"FAKE_SECONDS": SLOW, "FAKE_FAIL": "1", "FAKE_ESCAPES": "1", "FAKE_WAIT": "3"}
    with terminal(tmp_path, *RUN, width=width, **fake) as shown:
        text = shown.wait_for(r"━ 1/4 trials(.|\n)*failed: 1")
        before, bar, after = text.rpartition("━")
        assert before + bar + TIMES.sub(r"… \1", f" {unfolded(after).strip()}") == screen
        (tmp_path / "go-on").touch()
        assert shown.end() == 4
        assert shown.text.count("━ ") == 1, "the bar is drawn once"
        lines = unfolded(shown.text)
        assert re.search(rf"━ 3/4 trials, {ELAPSED}, warnings: 0, failed: 1 jumbo-ipv6: Jumbo", lines)
        assert "1 of 4 trials failed; to run them again: nettrial run --resume mine" in lines
        # The engine's control sequences are shown; those of the display reach the terminal.
        assert b"\x1b[2J" not in shown.sent
        assert b"\xc2\x9b" not in shown.sent
        assert re.sub(r"\\u001b\[2J\\u009b2J", "", shown.text).count("\\u") == shown.text.count("\\u000d")

    with terminal(tmp_path, "run", "--resume", "mine", width=width) as shown:
        assert shown.end() == 0
        assert re.search(rf"━ 4/4 trials, {ELAPSED}, warnings: 0 jumbo-ipv6: ", unfolded(shown.text))
        assert "\\u" not in shown.text


# The terminal writes the echo of Ctrl-C at once, which may be within a control sequence of the display.
@pytest.mark.settles
@pytest.mark.parametrize("width", [40, 80, 160])
def test_ctrl_c_leaves_no_remains_of_the_display(tmp_path: Path, width: int):
    with terminal(tmp_path, *RUN, width=width, FAKE_SECONDS=SLOW, FAKE_WAIT="2") as shown:
        shown.wait_for("━ 1/4 trials")
        shown.type(CTRL_C)
        shown.wait_for(lambda text: "finishing the trial that is running; Ctrl-C again" in unfolded(text))
        (tmp_path / "go-on").touch()
        assert shown.end() == 130
        lines = unfolded(shown.text)
        assert re.match(
            r"Jumbo frames over IPv6: 4 trials, about 14 s, seed 1 results: mine "
            r"finishing the trial that is running; Ctrl-C again abandons it "
            rf"━+[╺╸]?━+ 2/4 trials, {ELAPSED}, (\d+ min )?\d+ s left, warnings: 0 jumbo-ipv6: Jumbo frames",
            lines,
        )
        assert lines.replace(" ", "").endswith("stopped;toresume:nettrialrun--resumemine")  # it may be folded


@pytest.mark.settles
def test_the_second_ctrl_c_abandons_the_trial(tmp_path: Path):
    with terminal(tmp_path, *RUN, FAKE_SECONDS=SLOW, FAKE_WAIT="2") as shown:
        shown.wait_for("━ 1/4 trials")
        shown.type(CTRL_C)
        shown.wait_for("Ctrl-C again")
        shown.type(CTRL_C)
        assert shown.end() == 130
        assert shown.text.count("━ ") == 1
        assert "\n━━━━╺━━━━━━━━━━━ 1/4 trials" in shown.text


def test_the_log_is_printed_above_the_display(tmp_path: Path):
    with terminal(tmp_path, *RUN, "-v", FAKE_LOG="1", width=160) as shown:
        assert shown.end() == 0
        assert shown.text.count("━ ") == 1
        before = shown.text.partition("━ 4/4 trials")[0]
        assert before.count("begins: mtu") == 6  # with the two warm-ups
        assert "a library says this" in before


def test_watch_tells_its_address(tmp_path: Path):
    make_run(tmp_path / "mine", 1, trials=0)
    with terminal(tmp_path, "watch", "mine") as shown:
        shown.wait_for(r"^watching mine at http://127\.0\.0\.1:\d+/ until Ctrl-C$")
        shown.type(CTRL_C)
        assert shown.end() == 0
        assert re.fullmatch(r"watching mine at \S+ until Ctrl-C\n\^C", shown.text)
