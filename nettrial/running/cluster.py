"""A connection to a Dask cluster: its scheduler, and its current workers."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
import uuid
import warnings
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from nettrial.backends import station
from nettrial.errors import READING_OPTIONS, BadInput, CannotRun, Lack
from nettrial.running import task
from nettrial.temporary import temporary_directory

if TYPE_CHECKING:
    from distributed import Client, LocalCluster

LOCAL = re.compile(r"local\[(\d{1,3})\]")
"""The notation for a cluster of processes on this machine."""
FORMS = "tcp://HOST:PORT (or another address of a Dask scheduler), a scheduler file, or local[N]"
"""The accepted values of `--on`, for error messages."""
INSTALL = "pip install 'nettrial[dask]'"
"""The command that installs Dask and the packages that it needs here."""
CLOSED_PAGES: dict[str, list[str]] = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
"""Dask's configuration for processes whose HTTP servers serve nothing: anyone on this machine could read
their pages, which show tasks and logs."""
CONNECT_SECONDS = 20.0
"""The time allowed for reaching a scheduler, in seconds."""
ASIDE_SECONDS = 10.0
"""The time to wait for optional answers, in seconds: the other end may be gone."""
LOOK_SECONDS = 2.0
"""The interval at which the scheduler is asked for its workers, in seconds."""
SILENT_LOOKS = 15
"""The number of looks after which a worker without a heartbeat counts as hung. Heartbeats are 0.5 s apart; in
clusters of more than 200 workers, a hundredth of a second times the number of workers (distributed,
`heartbeat_interval`)."""
QUIET = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"
"""The first statements of a local worker, which ignores Ctrl-C: the terminal's signal is for the runner."""


class Cluster:
    """A connection to a Dask scheduler, which looks at its workers every few seconds."""

    def __init__(self, where: str) -> None:
        """Connects to `where`: a scheduler's address, its file, or `local[N]`. Raises BadInput for anything
        else, and CannotRun if there is no such scheduler, or if a worker or the scheduler runs another build
        of nettrial."""
        self.session = uuid.uuid4().hex
        """The unique name of this session."""
        self.build = station.build()
        """The runner's build, which every worker must run, too."""
        self.threads: dict[str, int] = {}
        """The number of threads of each worker, by its address; hung workers are left out."""
        self.resources: dict[str, set[str]] = {}
        """The names of each worker's resources, by its address; hung workers are left out."""
        self.hung: set[str] = set()
        """The keys of the tasks assigned to hung workers."""
        self._local: Any = None
        self._scratch = contextlib.ExitStack()
        self._looks: dict[str, tuple[float, int]] = {}
        self._closed = threading.Event()
        self.client = self._reach(where)
        """The Dask client."""
        try:
            self._check(where)
            self._look()
        except BaseException:
            self.close()
            raise
        threading.Thread(target=self._watch, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the session: idle engines on workers exit, and so do local workers."""
        if self._closed.is_set():
            return
        self._closed.set()
        self.tell(station.abandon)
        self.aside(lambda: self.client.close(ASIDE_SECONDS))
        if self._local is not None:
            self._local.close(ASIDE_SECONDS)
        self._scratch.close()

    @property
    def dashboard(self) -> str:
        """Returns the address of the scheduler's dashboard; empty if it has none."""
        if self._local is not None:
            return ""
        try:
            return str(self.client.dashboard_link or "")
        except (KeyError, OSError):
            return ""

    @property
    def lost(self) -> bool:
        """Returns whether the connection to the scheduler was lost for good."""
        return bool(self.client.status in ("closing", "closed"))

    def tell(self, function: Callable[[str], None]) -> None:
        """Calls a function of `station` with the session's name in every worker that responds."""
        workers = list(self.threads)
        if workers:
            self.aside(lambda: self.client.run(function, self.session, workers=workers, on_error="ignore"))

    def aside(self, work: Callable[[], object]) -> None:
        """Does something that may never end, and waits a limited time for it."""

        def carefully() -> None:
            try:
                work()
            except Exception as error:
                logging.getLogger(__name__).info("the cluster: %s", error)

        thread = threading.Thread(target=carefully, daemon=True)
        thread.start()
        thread.join(ASIDE_SECONDS)

    def refused(self) -> list[Lack]:
        """Returns the workers whose build differs from the runner's, with the reason. Returns none if a
        worker does not answer: each worker also checks its own build before it begins a trial."""
        answers: dict[str, Any] = {}
        self.aside(lambda: answers.update(self.client.run(station.build, on_error="return")))
        return [lack for worker in sorted(answers) if (lack := self._differs(worker, answers[worker]))]

    def _differs(self, worker: str, answer: station.Build | Exception) -> Lack | None:
        if isinstance(answer, Exception):
            why = f"it can't run nettrial: {answer}"
        else:
            why = self.build.differs(answer)
        return Lack(f"worker {worker}", why, f"install {self._wheel} there") if why else None

    @property
    def _wheel(self) -> str:
        return f"the wheel of nettrial {self.build.version} that this machine uses"

    def _reach(self, where: str) -> Client:
        """Connects to the scheduler, or starts one."""
        local = LOCAL.fullmatch(where)
        if not local and "://" not in where and not Path(where).is_file():
            raise BadInput(READING_OPTIONS, "--on", where, FORMS)
        doing = f"reaching the Dask cluster {where}"
        try:
            import distributed
        except ImportError as error:
            raise CannotRun(doing, [Lack("Dask", f"it is not installed here: {error}", INSTALL)]) from None
        for name in [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]:
            logging.getLogger(name).setLevel(logging.CRITICAL)  # the progress display shows what matters
        warnings.filterwarnings("ignore", module="distributed")
        try:
            if not local:
                given = {"address": where} if "://" in where else {"scheduler_file": where}
                return distributed.Client(**given, timeout=CONNECT_SECONDS, set_as_default=False)
            self._local = self._start(doing, int(local[1]) or 1)
            return distributed.Client(self._local, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            remedy = "start it (`dask scheduler`), and check that this machine can reach it"
            lack = Lack("the scheduler", str(error) or "no answer", remedy)
            raise CannotRun(doing, [lack], "it can't be used") from None

    def _start(self, doing: str, workers: int) -> LocalCluster:
        """Starts a scheduler in this process and workers in others. Only they have the certificate of this
        session, because other users of this machine can connect to their ports, too."""
        import dask
        import distributed

        # Dask makes its folder for temporary files a source of modules. Its usual one may be another user's,
        # and so may the current directory, from which a new Python would import modules, too.
        scratch = self._scratch.enter_context(temporary_directory())
        os.environ["PYTHONSAFEPATH"] = "1"
        try:
            with dask.config.set({**CLOSED_PAGES, "temporary-directory": str(scratch)}):
                return distributed.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    host="127.0.0.1",
                    protocol="tls",
                    security=distributed.Security.temporary(),
                    dashboard_address="127.0.0.1:0",
                    scheduler_kwargs={"dashboard": False},
                    silence_logs=logging.CRITICAL,
                    preload=[QUIET],
                )
        except ImportError as error:
            lack = Lack("encryption between the workers", str(error), INSTALL)
        except (OSError, RuntimeError, TimeoutError) as error:
            remedy = "try it with fewer workers; without --on, this machine runs trials at once, too"
            lack = Lack("the workers on this machine", str(error) or "no answer", remedy)
        self._scratch.close()
        raise CannotRun(doing, [lack], "they can't be started")

    def _check(self, where: str) -> None:
        """Raises CannotRun with every worker, and the scheduler, whose build differs."""
        lacks = []
        try:
            version = self.client.run_on_scheduler(task.version)
            if version != self.build.version:
                raise ImportError(f"it runs nettrial {version}, and the runner {self.build.version}")
        except Exception as error:
            lacks.append(Lack("the scheduler", str(error), f"install {self._wheel} there, too"))
        lacks += self.refused()
        if lacks:
            raise CannotRun(f"reaching the Dask cluster {where}", lacks, "it can't be used")

    def _watch(self) -> None:
        while not self._closed.wait(LOOK_SECONDS):
            try:
                self._look()
            except Exception as error:  # it will be asked again
                logging.getLogger(__name__).info("asking the scheduler: %s", error)

    def _look(self) -> None:
        """Asks the scheduler for its workers and the time of each one's last heartbeat."""
        workers = self.client.scheduler_info(n_workers=-1)["workers"]
        looks = {}
        for address, worker in workers.items():
            seen = float(worker["last_seen"])
            before, count = self._looks.get(address, (seen, 0))
            looks[address] = (seen, count + 1 if seen == before else 0)
        self._looks = looks
        patience = SILENT_LOOKS + len(workers) // 50
        silent = [address for address, (_, count) in looks.items() if count >= patience]
        held = self.client.processing(silent) if silent else {}
        self.hung = {str(key) for keys in held.values() for key in keys}
        self.resources = {
            address: set(worker.get("resources") or ())
            for address, worker in workers.items()
            if address not in silent
        }
        self.threads = {
            address: int(worker["nthreads"]) for address, worker in workers.items() if address not in silent
        }
