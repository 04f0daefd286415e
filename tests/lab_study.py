"""The beginning of studies that tests write for the lab."""

from __future__ import annotations

from typing import Any


def lab_study(**more: Any) -> dict[str, Any]:
    """Returns a study of the lab with one replicate, whose response is the goodput of the first flow. `more`
    has the network, the workload, the factors, the layout, and what differs."""
    return {
        "study": "mine",
        "title": "Mine",
        "question": "What happens?",
        "backend": "lab",
        "replicates": 1,
        "full_replicates": 1,
        "warmup": 0,
        "hosts": {"every": {"stack": "linux-cubic"}},
        "measurement": {"interval": "100 ms", "queue_drops": "allowed"},
        "responses": [
            {
                "name": "goodput",
                "title": "Goodput",
                "metric": "goodput",
                "of": more["workload"][0]["flow"],
                "unit": "Mbit/s",
            }
        ],
        **more,
    }
