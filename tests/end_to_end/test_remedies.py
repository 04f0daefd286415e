"""Servers that refuse a measurement, and the remedies that the client gives."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests import forked
from tests.end_to_end.serving import environment, iperf3, iperf3_server, nettrial, serving, until

pytestmark = pytest.mark.end_to_end


def test_a_wrong_token_is_not_this_machines_fault(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        port, token = str(server.port), "another-token-for-these-tests"
        done = nettrial("measure", "127.0.0.1", "--port", port, token=token)
    assert done.returncode == 3
    assert "nothing was measured\n  a session: " in done.stderr
    assert "its token is another one" in done.stderr
    assert "remedy: give the token of that server" in done.stderr
    assert "this machine" not in done.stderr


def test_a_busy_iperf3_server_is_not_to_be_started() -> None:
    with iperf3_server() as port:
        command = [iperf3(), "-c", "127.0.0.1", "-p", str(port), "-t", "3600", "-b", "1M", "--forceflush"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout is not None
            assert any("sec" in line for line in other.stdout)  # its first interval is over
            given = ("--iperf3", "--port", str(port), "--time", "0.2")
            done = nettrial("measure", "127.0.0.1", *given, token=None)
            other.kill()
    assert done.returncode == 3
    assert "the server is busy with another test\n" in done.stderr
    assert "remedy: wait until that test or another session has ended, and try again\n" in done.stderr


def test_a_reflector_that_wants_a_key(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a-key-only-for-these-tests")
    log = tmp_path / "stamp.log"
    words = ("serve", "--stamp", "--port", "0", "--token-file", str(tmp_path / "key"))
    with forked.Process(forked.Command(words, environment(), errors=log)) as process:
        try:
            until(lambda: log.exists() and "at 127.0.0.1:" in log.read_text(), "its port")
            port = log.read_text().split("127.0.0.1:")[1].split()[0]
            given = ("--stamp", "--port", port, "--time", "100 ms", "--replicates", "1")
            done = nettrial("measure", "127.0.0.1", *given, token=None)
        finally:
            process.kill()
    assert done.returncode == 3
    assert "if it answers only with a key, give that by --token-file" in done.stderr
