"""Measures how much sooner two sets of machines finish a run than one of them: pairs of a sender and a
receiver, each with an OpenSSH server, in namespaces that it creates. Their links carry 20 Mbit/s, so that a
trial takes the time of its traffic and hardly any of the CPU that the sets share here. Needs root and the
packages of tools/setup-tests.sh.

    python benches/machine_sets.py
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from nettrial.store import Run
from tests.lab.machines import ROW, SETS, installed, short_study

REPLICATES = 8
ROUNDS = 2
OPTIONS = ("--set=network.topology=pair", "--set=network.rate=20 Mbit/s", "--backend=hosts")
STUDY = [*short_study("2 s", replicates=REPLICATES), *OPTIONS]


def main() -> None:
    """Runs the same plan on one set and on two in turn, and prints the shortest durations and their ratio."""
    with tempfile.TemporaryDirectory(prefix="nettrial-bench-") as folder, installed(Path(folder), ROW) as row:
        row.shape("20mbit", 100)
        seconds: dict[int, list[float]] = {1: [], 2: []}
        for number in range(ROUNDS):
            for count, durations_s in seconds.items():
                row.write_sets("sets.yaml", dict(list(SETS.items())[:count]))
                out = f"{count}-{number}"
                done = row.nettrial("run", *STUDY, "--machines=sets.yaml", f"--out={out}")
                if done.returncode:
                    sys.exit(done.stderr)
                run = Run.open(Path(folder) / out)
                (session,) = run.sessions
                assert session.ended is not None
                durations_s.append((session.ended - session.started).total_seconds())
    one, two = (min(durations_s) for durations_s in seconds.values())
    durations = f"{one:.1f} s on one set, {two:.1f} s on two ({two / one:.2f} of it)"
    print(f"{len(run.plan)} trials of 2 s: {durations}")


if __name__ == "__main__":
    main()
