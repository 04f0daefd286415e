"""Runs tests in several processes at once, with the option `--workers NUMBER`.

One process imports the modules and collects the tests, and is then forked for each worker. Interpreters of
their own, like those of pytest-xdist, would each import and collect everything again, which takes ten seconds
of CPU time, and each would need a fork server of its own (tests/forked.py)."""

import gc
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn
from warnings import WarningMessage

import pytest

from tests import forked

NEXT = "next"
"""The message by which a worker requests tests. The answer is a list of numbers of tests, or None."""


class Worker:
    """A worker, as the process that distributes the tests sees it."""

    def __init__(self, process: int, connection: Connection) -> None:
        self.process = process
        self.connection = connection
        self.unfinished: list[pytest.Item] = []


class Workers:
    """The plugin that replaces the loop of pytest over the tests; `group` returns the group of a test by its
    identifier. One worker runs all tests of a group, in their order."""

    def __init__(self, number: int, group: Callable[[str], str]) -> None:
        self._number = number
        self._group = group

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or session.config.option.collectonly:
            return None  # pytest reports what it could not collect.
        forked.share()
        session.config._tmp_path_factory.getbasetemp()
        gc.collect()
        gc.freeze()  # Otherwise a collection in a worker would copy the memory that it shares.
        groups = deque(self._groups(session.items))
        workers: list[Worker] = []
        try:
            for number in range(min(self._number, len(groups))):
                workers.append(_fork(session, number, [worker.connection for worker in workers]))
            _distribute(session, workers, groups)
        finally:
            for worker in workers:
                if worker.connection.closed:
                    continue
                os.kill(worker.process, signal.SIGINT)
                os.waitpid(worker.process, 0)
        return True

    def _groups(self, items: list[pytest.Item]) -> list[list[int]]:
        """Returns the numbers of the tests by group, the groups of a single test last."""
        groups: dict[str, list[int]] = {}
        for number, item in enumerate(items):
            groups.setdefault(self._group(item.nodeid), []).append(number)
        return sorted(groups.values(), key=lambda numbers: len(numbers) == 1)


def _distribute(session: pytest.Session, workers: list[Worker], groups: deque[list[int]]) -> None:
    """Answers the workers until all have ended. Raises pytest.Session.Failed after as many failures as an
    option of pytest allows."""
    hook = session.config.hook
    while running := {each.connection: each for each in workers if not each.connection.closed}:
        for connection in wait(list(running)):
            assert isinstance(connection, Connection)
            worker = running[connection]
            try:
                kind, content = connection.recv()
            except (EOFError, ConnectionResetError):
                connection.close()
                _, status = os.waitpid(worker.process, 0)
                for item in worker.unfinished:
                    hook.pytest_runtest_logreport(report=_lost(item, os.waitstatus_to_exitcode(status)))
                continue
            if kind == NEXT:
                numbers = groups.popleft() if groups else None
                worker.unfinished += [session.items[number] for number in numbers or []]
                connection.send(numbers)
            elif kind == "warning":
                hook.pytest_warning_recorded.call_historic(kwargs=content)
            else:
                report = hook.pytest_report_from_serializable(config=session.config, data=content)
                if report.when == "teardown":
                    worker.unfinished = [item for item in worker.unfinished if item.nodeid != report.nodeid]
                hook.pytest_runtest_logreport(report=report)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
    if groups:
        raise session.Failed("no worker is left")


def _lost(item: pytest.Item, status: int) -> pytest.TestReport:
    why = f"its worker ended with exit status {status}"
    return pytest.TestReport(item.nodeid, item.location, {}, "failed", why, "call")


def _fork(session: pytest.Session, number: int, others: list[Connection]) -> Worker:
    """Starts a worker; `others` are the ends of this process of the connections to the others."""
    mine, theirs = Pipe()
    process = os.fork()
    if process == 0:
        for connection in (mine, *others):
            connection.close()
        _work(session, number, theirs)
    theirs.close()
    return Worker(process, mine)


def _work(session: pytest.Session, number: int, connection: Connection) -> NoReturn:
    """Runs tests in this process, and ends it."""
    status = 1
    try:
        plugins = session.config.pluginmanager
        plugins.unregister(name="terminalreporter")
        plugins.register(_Sender(session.config, connection))
        capture: Any = plugins.getplugin("capturemanager")
        capture.stop_global_capturing()
        capture.start_global_capturing()  # The file of captured output would be everybody's.
        capture.suspend_global_capture(in_=True)
        factory: Any = session.config._tmp_path_factory
        factory._basetemp = factory.getbasetemp() / f"worker-{number}"
        factory._basetemp.mkdir(mode=0o700)
        _run(session, connection)
        status = 0
    finally:
        session._setupstate.teardown_exact(None)  # The fixtures of an interrupted test have not ended.
        connection.close()
        os._exit(status)


def _run(session: pytest.Session, connection: Connection) -> None:
    items = _items(session, connection)
    item = next(items, None)
    while item is not None:
        following = next(items, None)
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        item = following


def _items(session: pytest.Session, connection: Connection) -> Iterator[pytest.Item]:
    """Yields the tests that this worker is to run. Yielded one before it runs, because a fixture ends after
    the last test that uses it."""
    while True:
        connection.send((NEXT, None))
        numbers = connection.recv()
        if numbers is None:
            return
        yield from (session.items[number] for number in numbers)


class _Sender:
    """The plugin of a worker that sends reports and warnings to the process that distributes the tests."""

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self._config = config
        self._connection = connection

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        content = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._connection.send(("report", content))

    def pytest_warning_recorded(
        self,
        warning_message: WarningMessage,
        when: str,
        nodeid: str,
        location: tuple[str, int, str] | None,
    ) -> None:
        if when != "runtest":  # A plugin receives earlier warnings, too, when it is registered.
            return
        given = warning_message
        text = WarningMessage(str(given.message), given.category, given.filename, given.lineno)
        content = {"warning_message": text, "when": when, "nodeid": nodeid, "location": location}
        self._connection.send(("warning", content))
