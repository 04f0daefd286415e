"""Remedies fit their reasons, and each is given once."""

from __future__ import annotations

import errno
import ssl
from typing import get_args

import pytest
from websockets.datastructures import Headers
from websockets.exceptions import InvalidMessage, InvalidStatus
from websockets.http11 import Response

from nettrial.backends import remote
from nettrial.errors import CannotRun, Lack
from nettrial.measuring import ndt7
from nettrial.measuring.measurement import RepeatFailed
from nettrial.monitor import peers
from nettrial.protocols.ndt7 import client
from nettrial.scenario import FailureKind
from nettrial.systems import port_remedy
from tests.unit.conftest import CommandLine

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
    ("kind", "iperf3", "remedy"),
    [
        ("busy", True, "wait until that test or another session has ended"),
        ("unreachable", True, "start `iperf3 -s`"),
        ("unreachable", False, "start `nettrial serve"),
        ("refused", True, "look at the server's own messages"),
        ("other_token", False, "give the token of that server"),
        ("other_version", False, "install the same version"),
        ("udp_filtered", True, "open the server's UDP port"),
        ("other", False, "look at the server's own messages"),
    ],
)
def test_the_remedy_follows_from_the_kind(kind: str, iperf3: bool, remedy: str):
    FailureKind(kind)  # the engine has this kind
    assert remote.remedy(kind, iperf3).startswith(remedy)


def test_kinds_that_allow_no_session_are_the_engines():
    assert [FailureKind(kind) for kind in remote.NO_SESSION]


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


@pytest.mark.parametrize(
    ("kind", "plain", "remedy"),
    [
        ("untrusted_certificate", False, "`--no-verify` accepts every certificate"),
        ("tls_expected", True, "leave out `--plain`"),
        ("tls_failed", False, "`--plain` uses no TLS, as that server may expect"),
        ("refused", False, "name an ndt7 server; one that is busy refuses tests for a while"),
        ("not_ndt7", False, "name an ndt7 server"),
        ("unreachable", True, "leave out `--plain` if the server uses TLS"),
        ("unreachable", False, "`--plain` uses no TLS"),
    ],
)
def test_the_remedy_of_an_ndt7_test_follows_from_the_kind(kind: str, plain: bool, remedy: str):
    assert kind in get_args(client.Kind)
    found = ndt7._remedy(kind, plain)
    assert found.endswith(remedy)
    assert (found == remedy) == (kind != "unreachable")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ssl.SSLCertVerificationError(1, "no"), "untrusted_certificate"),
        (ssl.SSLError(1, "no"), "tls_failed"),
        (
            InvalidStatus(Response(503, "Unavailable", Headers(), b"its certificate is not trusted")),
            "refused",
        ),
        (InvalidMessage("TLS failed"), "tls_expected"),
        (TimeoutError(), "unreachable"),
        (OSError(errno.ECONNREFUSED, "HTTP status"), "unreachable"),
        (ValueError("expect TLS"), "not_ndt7"),
    ],
)
def test_a_servers_words_do_not_change_the_kind(error: Exception, kind: str):
    assert client._kind(error) == kind


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("unreachable", "host gone"), ("refused", "refused"), ("other_token", "failed"), ("not_ndt7", "failed")],
)
def test_a_host_is_gone_only_if_it_can_not_be_reached(kind: str, reason: str):
    assert peers._missed(RepeatFailed("no route to host", kind)).reason == reason
