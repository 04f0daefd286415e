"""Measures how a trial spends its time: the share of its traffic, and the time to build the network.

    python benches/trial_share.py [STUDY] [TRIALS]

Runs TRIALS trials (default 10) of each treatment of the first factor of STUDY (default jumbo-ipv6) in the lab
and prints medians. A share is a ratio within one run, so it is valid on a busy machine, too."""

import sys
from statistics import median

from nettrial.backends import Backend
from nettrial.design import scenario_of, traffic_seconds
from nettrial.scenario import Phases
from nettrial.study import load


def main() -> None:
    """Runs the trials and prints a row for each level."""
    name = sys.argv[1] if len(sys.argv) > 1 else "jumbo-ipv6"
    trials = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    study = load(name)
    first, *others = study.factors.items()
    fixed = {factor: entry.levels[0] for factor, entry in others}
    print(f"{first[0]:>12}  network ms  checks ms  traffic ms  tear-down ms  traffic share")
    with Backend("lab") as lab:
        for level in first[1].levels:
            scenario = scenario_of(study, {first[0]: level, **fixed})
            phases = [
                lab.run("bench", scenario, traffic_seconds(scenario) + 60).phases for _ in range(trials)
            ]
            print(f"{level:>12}  {row(phases)}")


def row(phases: list[Phases]) -> str:
    """Returns the medians of the phases, and the share of the traffic."""
    columns = [
        median(getattr(phase, name) / 1e6 for phase in phases)
        for name in ("network_ns", "checks_ns", "traffic_ns", "tear_down_ns")
    ]
    network, checks, traffic, tear_down = columns
    return (
        f"{network:10.1f}  {checks:9.1f}  {traffic:10.1f}  {tear_down:12.1f}  {traffic / sum(columns):12.1%}"
    )


if __name__ == "__main__":
    main()
