"""A study of somebody else, which tries to overwrite a file of the user by a tool's option."""

import json
from pathlib import Path

import pytest

from tests.end_to_end.test_commands import nettrial
from tests.lab_study import lab_study

pytestmark = pytest.mark.end_to_end


def study(victim: Path, source: Path) -> dict[str, object]:
    """Returns a study whose flow writes the beginning of `source` to `victim`."""
    tool = {"kind": "tool", "tool": "iperf3", "duration": "1 s"}
    tool |= {"arguments": ["-F", str(source)], "server_arguments": ["-F", str(victim)]}
    return lab_study(
        network={
            "topology": "leaf-spine",
            "parameters": {"leaves": 2, "spines": 1},
            "ip": 4,
            "mtu": "1500 B",
            "rate": "100 Mbit/s",
            "queue": "100 packets",
        },
        workload=[{"flow": "data", "from": "host-1", "to": "host-2", "transport": "tcp", "traffic": tool}],
        factors={"mtu": {"title": "MTU", "sets": "network.mtu", "levels": ["1400 B", "1500 B"]}},
        layout={"rows": "mtu"},
    )


def test_a_file_of_the_user_keeps_its_content_without_permission(tmp_path: Path) -> None:
    victim, source = tmp_path / "authorized_keys", tmp_path / "keys"
    victim.write_text("mine\n")
    source.write_text("a stranger's\n" * 100_000)
    (tmp_path / "study.yaml").write_text(json.dumps(study(victim, source)))
    refused = nettrial(tmp_path, "run", "study.yaml", "--out", "out")
    assert victim.read_text() == "mine\n"
    assert refused.returncode == 2
    assert f"-F {victim}, of iperf3" in refused.stderr
    assert not (tmp_path / "out").exists()
    nettrial(tmp_path, "run", "study.yaml", "--out", "out", "--allow-exec", report=False)
    assert victim.read_text() != "mine\n", "the attack would do nothing"
