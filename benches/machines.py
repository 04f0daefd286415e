"""Measures the time that a trial on three machines over SSH takes in addition to its traffic: a sender, a
router and a receiver, each with an OpenSSH server, in namespaces that it creates. Needs root and the packages
of tools/setup-tests.sh.

    python benches/machines.py
"""

import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from nettrial.store import Run
from tests.lab.machines import made, short_study

REPLICATES = 20
STUDY = [*short_study("200 ms", replicates=REPLICATES), "--backend=hosts", "--machines=machines.yaml"]


def main() -> None:
    """Runs the trials and prints a row for each phase."""
    with tempfile.TemporaryDirectory(prefix="nettrial-bench-") as folder, made(Path(folder)) as machines:
        machines.install()
        done = machines.nettrial("run", *STUDY, "--out=run")
        if done.returncode:
            sys.exit(done.stderr)
        phases = [trial.record.phases for trial in Run.open(Path(folder) / "run").trials()]
    print(f"{len(phases)} trials on 3 machines over SSH, the MTU of four interfaces changed between most")
    for name in ("network_ns", "checks_ns", "tear_down_ns"):
        times_ms = sorted(getattr(phase, name) / 1e6 for phase in phases)
        phase, typical = name.removesuffix("_ns"), statistics.median(times_ms)
        print(f"{phase:>10}: median {typical:.0f} ms, most {times_ms[-1]:.0f} ms")
    beside = sorted((p.network_ns + p.checks_ns + p.tear_down_ns) / 1e6 for p in phases)
    print(f"beside the traffic: median {statistics.median(beside):.0f} ms, most {beside[-1]:.0f} ms")


if __name__ == "__main__":
    main()
