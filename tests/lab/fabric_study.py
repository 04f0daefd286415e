"""Makes scenarios of fabrics in the lab from the topology of a study."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nettrial.design import scenario_of
from nettrial.scenario import Scenario
from nettrial.study import load
from tests.lab_study import lab_study


def fabric_scenario(directory: Path, network: dict[str, Any], *workload: dict[str, Any]) -> Scenario:
    """Returns the scenario of a study with this network and these flows, written to the directory. Hosts use
    CUBIC."""
    document = lab_study(
        network={"queue": "100 packets", **network},
        workload=workload,
        factors={"mtu": {"title": "MTU", "sets": "network.mtu", "levels": [network["mtu"]]}},
        layout={"rows": "mtu"},
    )
    (directory / "study.yaml").write_text(json.dumps(document))
    return scenario_of(load(str(directory)), {})
