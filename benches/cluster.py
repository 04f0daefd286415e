"""Measures a Dask cluster: the share of its workers' time that trials use, and the runner's memory.

    python benches/cluster.py [WORKERS [TRIALS [SECONDS]]]

Runs TRIALS trials (default 160) of SECONDS (default 1) each without CPU time, with the engine of the unit
tests, on WORKERS (default 4) workers of one thread, through the same code as `nettrial run --on`. Scheduler
and workers are processes of their own. Prints trials per second, the efficiency (the sum of the trials'
durations over the workers' time from the first to the last), and the resident memory of the runner after each
tenth of the trials, with the scheduler's beside it."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from distributed import SubprocessCluster  # noqa: E402

from nettrial.design import plan  # noqa: E402
from nettrial.running.cluster import Cluster  # noqa: E402
from nettrial.running.workers import WorkerPool  # noqa: E402
from nettrial.study import load  # noqa: E402


def resident(process: int) -> int:
    """Returns a process's resident memory in MiB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


def main() -> None:
    """Runs the trials and measures them."""
    given = sys.argv[1:]
    workers, trials = (int(given[at]) if len(given) > at else default for at, default in enumerate((4, 160)))
    seconds = float(given[2]) if len(given) > 2 else 1.0
    os.environ["NETTRIAL_ENGINE"] = str(ROOT / "tests" / "fake_engine.py")
    os.environ["FAKE_SECONDS"] = str(seconds)
    os.environ["PYTHONPATH"] = str(ROOT)
    study = load("jumbo-ipv6").on("sim")
    planned = plan(study, trials // 12 + 1, 1)[:trials]
    memory = []
    with (
        SubprocessCluster(
            host="127.0.0.1", n_workers=workers, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as made,
        Cluster(made.scheduler_address) as cluster,
        WorkerPool(cluster, study, 1, print) as pool,
    ):
        scheduler = cluster.client.run_on_scheduler(os.getpid)
        while len(cluster.threads) < workers:
            time.sleep(0.1)
        warm = plan(study, workers, 2)[: 2 * workers]
        # Engines start during these.
        assert all(outcome.result() for _, outcome in pool.run(warm, lambda: False, lambda: None))
        began = time.monotonic()
        for done, (_, outcome) in enumerate(pool.run(planned, lambda: False, lambda: None), start=1):
            outcome.result()
            if done % max(trials // 10, 1) == 0:
                memory.append(f"{resident(os.getpid())} ({resident(scheduler)})")
        took = time.monotonic() - began
    print(f"{trials} trials of {seconds} s on {workers} workers: {took:.1f} s, {trials / took:.1f} trials/s")
    print(f"efficiency {trials * seconds / workers / took:.1%}")
    print(f"memory of the runner (of the scheduler): {', '.join(memory)} MiB")


if __name__ == "__main__":
    main()
