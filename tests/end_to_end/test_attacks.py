"""Honest clients are served while strangers hold connections (`tests/attacks.py`)."""

import asyncio
from pathlib import Path

import pytest

from nettrial.protocols.ndt7.client import Ndt7Server, transfer
from tests.attacks import NETWORKS, Held, attacked, unserved
from tests.end_to_end.serving import serving

pytestmark = pytest.mark.end_to_end


# The same rules serve them over IPv6 (`tests/lab/test_attacks.py`), and each takes up to 30 s of CPU time.
@pytest.mark.slow
@pytest.mark.settles  # On a busy machine, an honest client may give up.
@pytest.mark.parametrize("port", ["pages", "ndt7", "stamp", "engine"])
def test_honest_clients_are_served_under_attack(port: str) -> None:
    assert unserved(attacked(port, 4)) == {}


@pytest.mark.settles
def test_a_server_with_few_descriptors_serves_ndt7_clients_under_attack(tmp_path: Path) -> None:
    """The server wrote a traceback for each connection for which it had no descriptor, and served nobody."""
    with serving(tmp_path, "--ndt7", "--plain", "--bind", "127.0.0.1", token=None, descriptors=48) as server:
        target = Ndt7Server("localhost", "127.0.0.1", server.port, plain=True)
        with Held(4, server.port, 300, NETWORKS, b"", False):
            assert asyncio.run(transfer(target, "download", 1.0)).num_bytes > 0
        assert "Traceback" not in server.said
