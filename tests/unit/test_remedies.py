"""Remedies fit their reasons, and each is given once."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from nettrial.backends import remote
from nettrial.errors import CannotRun, Lack
from nettrial.systems import port_remedy
from tests.unit.conftest import ROOT, CommandLine

RUN = ("run", "jumbo-ipv6", "--seed", "1", "--out", "mine")


def test_a_remedy_that_several_reasons_share_is_given_once():
    lacks = [
        Lack("a", "missing", "install it"),
        Lack("b", "late", "wait"),
        Lack("c", "missing", "install it"),
    ]
    assert str(CannotRun("testing", lacks)) == (
        "error: testing: this machine can't do that\n"
        "  a: missing\n  c: missing\n    remedy: install it\n"
        "  b: late\n    remedy: wait"
    )


def test_what_hosts_lack_is_named_once_with_all_its_values(nettrial: CommandLine):
    done = nettrial(*RUN, FAKE_LACKS="1")
    assert done.returncode == 3
    first, lack, remedy = done.stderr.splitlines()
    assert first == "error: checking the trials: something that they need is missing"
    assert lack.endswith(
        "hosts.sender and 1 more place: system of node sender, node receiver, every treatment: "
        "system-of-sender, system-of-receiver: expected qemu-system-x86_64 on PATH, where it is missing"
    )
    assert remedy == "    remedy: install QEMU: apt-get install qemu-system-x86"
    assert not (nettrial.directory / "mine").exists()


@pytest.mark.parametrize(
    ("why", "iperf3", "remedy"),
    [
        ("the server is busy with another test", True, "wait until that test has ended, and try again"),
        (
            "calling the iperf3 server at 127.0.0.1:1: Connection refused (os error 111)",
            True,
            "start `iperf3",
        ),
        (
            "the server refused the test: iperf3's error 103 (i_errno, iperf_api.h)",
            True,
            "look at the server",
        ),
        ("connecting to 127.0.0.1:1: Connection refused (os error 111)", False, "start `nettrial serve"),
        (
            "it closed the connection: its token is another one, or its version of nettrial",
            False,
            "give the token of that server",
        ),
        ("the server closed the session. It may have no place for another session", False, "wait until"),
    ],
)
def test_the_remedy_fits_what_a_server_said(why: str, iperf3: bool, remedy: str):
    assert remote.remedy(why, iperf3).startswith(remedy)


def test_the_words_of_remedies_are_those_of_the_engine():
    texts = [
        file.read_text()
        for crate in ("iperf3", "remote", "session")
        for file in Path(ROOT, "engine", crate, "src").rglob("*.rs")
    ]
    for words, _ in remote._REMEDIES:
        assert any(words in text for text in texts), words


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.EADDRNOTAVAIL, "choose an address of this machine with --bind"),
        (errno.EADDRINUSE, "choose another port with --port: a program uses this one"),
        (errno.EACCES, "choose a port above 1023 with --port; lower ones need privileges"),
    ],
)
def test_the_remedy_of_a_port_fits_the_error(number: int, remedy: str):
    assert port_remedy(OSError(number, "")) == remedy


def test_a_reflector_at_an_address_of_another_machine(nettrial: CommandLine):
    done = nettrial("serve", "--stamp", "--bind", "203.0.113.1", "--port", "8620")
    assert done.returncode == 3
    assert "remedy: choose an address of this machine with --bind" in done.stderr
