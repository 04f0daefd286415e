"""Makes scenarios of fabrics in the lab from the topology of a study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nettrial.design import scenario_of
from nettrial.scenario import Scenario
from nettrial.study import load


def fabric_scenario(directory: Path, network: dict[str, Any], *workload: dict[str, Any]) -> Scenario:
    """Returns the scenario of a study with this network and these flows, written to the directory. Hosts use
    CUBIC."""
    document = {
        "study": "mine",
        "title": "Mine",
        "question": "What happens?",
        "backend": "lab",
        "replicates": 1,
        "full_replicates": 1,
        "warmup": 0,
        "network": {"queue": "100 packets", **network},
        "hosts": {"every": {"stack": "linux-cubic"}},
        "workload": workload,
        "measurement": {"interval": "100 ms", "queue_drops": "allowed"},
        "factors": {"mtu": {"title": "MTU", "sets": "network.mtu", "levels": [network["mtu"]]}},
        "responses": [
            {
                "name": "goodput",
                "title": "Goodput",
                "metric": "goodput",
                "of": workload[0]["flow"],
                "unit": "Mbit/s",
            }
        ],
        "layout": {"rows": "mtu"},
    }
    (directory / "study.yaml").write_text(json.dumps(document))
    return scenario_of(load(str(directory)), {})
