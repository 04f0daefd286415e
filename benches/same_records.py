"""Compares the records of simulated trials of two engines byte by byte.

    python benches/same_records.py OLD NEW [SECONDS]

OLD and NEW are engines (`nettrial-engine`). The trials are treatments of the shipped studies that the
simulator can run, with flows shortened to SECONDS (default 0.05), and trials of `jumbo-ipv6` with further
settings. Prints the trials whose records differ, with the first difference, and exits with 1 if there are
any."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from nettrial.design import scenario_of, treatments
from nettrial.design.trial_order import in_words
from nettrial.study import Study, load, shipped

MOST = 6
"""The approximate number of treatments of a study, evenly spread over all of them."""
SPREAD: tuple[dict[str, str], ...] = (
    {"network.impairment.loss": "0.01", "network.impairment.jitter": "1 ms"},
    {"network.impairment.bursts.enter": "0.001", "network.impairment.bursts.leave": "0.2"},
    {"network.impairment.reordering": "0.01", "network.impairment.reordering_delay": "2 ms"},
    {"network.impairment.duplication": "0.02", "network.ip": "4"},
    {"network.discipline": "codel", "hosts.sender.ecn": "true"},
    {"hosts.sender.congestion_control": "dctcp", "hosts.receiver.ecn": "true"},
    {"network.offloads.tso": "true", "network.offloads.gso": "true"},
    {"hosts.receiver.cost.per_packet": "2 us", "hosts.sender.cost.per_packet": "1 us"},
    {"network.topology": "switched", "network.delay": "5 ms"},
    {"measurement.packet_sizes": "true", "measurement.queue_series": "true"},
    *({"hosts.sender.congestion_control": name} for name in ("reno", "bbr", "vegas", "cubic")),
    *(
        {
            "network.topology": "parallel",
            "workload.transfer.transport": "mptcp",
            "hosts.sender.congestion_control": name,
        }
        for name in ("lia", "olia", "balia", "wvegas", "lia-kernel", "olia-kernel")
    ),
)
"""Settings of `jumbo-ipv6`, each of which is a trial."""


class Engine:
    """A running simulator."""

    def __init__(self, path: str) -> None:
        """Starts the simulator of the engine at this path."""
        self._process = subprocess.Popen(
            [path, "sim"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def answer(self, request: str) -> str:
        """Returns the event that answers a request."""
        assert self._process.stdin
        assert self._process.stdout
        print(request, file=self._process.stdin, flush=True)
        return self._process.stdout.readline()

    def close(self) -> None:
        """Ends the engine by closing its input."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


def scenarios(seconds: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields every scenario with a name."""
    for name in shipped():
        study = load(name).on("sim")
        every = treatments(study)
        for treatment in every[:: max(1, len(every) // MOST)]:
            yield f"{name}: {in_words(treatment.levels)}", document(study, treatment.levels, seconds)
    for settings in SPREAD:
        words = ", ".join(f"{name}={value}" for name, value in settings.items())
        study = load("jumbo-ipv6").on("sim").with_overrides(settings)
        yield words, document(study, treatments(study)[0].levels, seconds)


def document(study: Study, levels: dict[str, str], seconds: float) -> dict[str, Any]:
    """Returns the scenario of a treatment, with flows of `seconds` seconds."""
    made: dict[str, Any] = scenario_of(study, levels).model_dump(
        mode="json", by_alias=True, exclude_none=True
    )
    for flow in made["workload"]:
        if "duration" in flow["traffic"]:
            flow["traffic"]["duration"] = f"{round(seconds * 1e9)} ns"
    return made


def difference(one: str, other: str) -> str:
    """Returns the position of the first difference between two texts, and the text around it."""
    pairs = enumerate(zip(one, other, strict=False))
    at = next((number for number, (mine, yours) in pairs if mine != yours), min(len(one), len(other)))
    return f"byte {at}:\n  {one[max(0, at - 60) : at + 40]!r}\n  {other[max(0, at - 60) : at + 40]!r}"


def main() -> None:
    """Compares the engines and prints the differences."""
    old, new = Engine(sys.argv[1]), Engine(sys.argv[2])
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0.05
    same = refused = 0
    differ = []
    for name, scenario in scenarios(seconds):
        request = json.dumps({"request": "run", "trial": "1", "scenario": scenario})
        answers = [engine.answer(request) for engine in (old, new)]
        if not any('"event":"record"' in answer for answer in answers):
            refused += 1
        elif answers[0] != answers[1]:
            differ.append(name)
            print(f"{name}: {difference(*answers)}", flush=True)
        else:
            same += 1
    old.close()
    new.close()
    print(f"{same} records are the same, {len(differ)} differ; {refused} trials were refused by both")
    if differ:
        sys.exit(1)


if __name__ == "__main__":
    main()
