"""Honest clients are served while strangers hold connections from many addresses of IPv6, which count as one
within each /64 (`tests/attacks.py`)."""

import pytest

from tests.attacks import NAMESPACE, attacked, unserved


@pytest.mark.settles  # On a busy machine, an honest client may give up.
@pytest.mark.parametrize(
    "port", ["engine", *(pytest.param(port, marks=pytest.mark.slow) for port in ("pages", "ndt7", "stamp"))]
)
def test_honest_clients_are_served_under_attack_over_ipv6(port: str, as_user: list[str]) -> None:
    alone = [*as_user, "unshare", "--user", "--map-root-user", "--net"]
    assert unserved(attacked(port, 6, *alone, "sh", "-c", NAMESPACE + 'exec "$@"', "sh")) == {}
