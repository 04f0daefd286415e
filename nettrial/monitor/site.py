"""The site of an archive: pages for browsers and metrics for Prometheus, read-only."""

from __future__ import annotations

import re
import sqlite3
import threading
import time
from http import HTTPStatus
from pathlib import Path

from nettrial.errors import NettrialError
from nettrial.monitor import page, prometheus, view
from nettrial.monitor.archive import Archive
from nettrial.report.serving import Handler, PageServer, opened

DRAWS_AT_MOST = 0.2
"""The largest share of the time that is spent on drawing pages again."""
MOST_PAGES = 100
"""The largest number of pages that are kept."""
_PAIR = re.compile(r"/pair/([0-9]{1,9})/(version)?")
DOING = "serving the archive"
"""The current action, for error messages."""


class Site:
    """The pages of an archive. Each is drawn on request, if the archive has grown."""

    def __init__(self, directory: Path) -> None:
        """Opens the archive of a directory for each request; raises BadInput if there is none."""
        self._directory = directory
        self._drawing = threading.Lock()
        self._pages: dict[str, tuple[str, bytes]] = {}
        self._next = 0.0
        Archive.open(directory).close()

    def respond(self, path: str) -> tuple[HTTPStatus, str, bytes]:
        """Returns the status, the media type and the content for a path."""
        try:
            archive = Archive.open(self._directory)
            try:
                return self._respond(archive, path)
            finally:
                archive.close()
        except (NettrialError, sqlite3.Error, ValueError) as error:
            return HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", f"{error}\n".encode()

    def _respond(self, archive: Archive, path: str) -> tuple[HTTPStatus, str, bytes]:
        pair = _PAIR.fullmatch(path)
        if path == "/metrics":
            return HTTPStatus.OK, prometheus.KIND, prometheus.text(view.overview(archive)).encode()
        if path == "/version" or (pair and pair[2]):
            return HTTPStatus.OK, "text/plain", _version(archive).encode()
        if path != "/" and not pair:
            return HTTPStatus.NOT_FOUND, "text/plain", b"there is /, /metrics and /pair/NUMBER/\n"
        drawn = self._draw(archive, path, int(pair[1]) if pair else None)
        if drawn is None:
            return HTTPStatus.NOT_FOUND, "text/plain", b"there is no such pair\n"
        return HTTPStatus.OK, "text/html", drawn

    def _draw(self, archive: Archive, path: str, pair: int | None) -> bytes | None:
        """Returns a page. It may be an older one, because drawing takes only a limited share of the time on
        the machine that measures."""
        with self._drawing:
            version, began = _version(archive), time.monotonic()
            kept = self._pages.get(path)
            if kept and (kept[0] == version or began < self._next):
                return kept[1]
            if pair is None:
                text = page.overview_page(view.overview(archive), version)
            else:
                history = view.history(archive, pair)
                if history is None:
                    return None
                text = page.pair_page(history, version)
            while len(self._pages) >= MOST_PAGES:
                del self._pages[next(iter(self._pages))]
            self._pages[path] = version, text.encode()
            ended = time.monotonic()
            self._next = ended + (ended - began) / DRAWS_AT_MOST
            return self._pages[path][1]


def _version(archive: Archive) -> str:
    """Returns a text that changes when the pages would change."""
    sessions = archive.sessions()
    alive = bool(sessions) and abs(time.time() - sessions[-1].seen_s) < view.ALIVE_SECONDS
    return f"{archive.revision()}-{'running' if alive else 'stopped'}"


class _Handler(Handler):
    site: Site

    def respond(self) -> tuple[HTTPStatus, str, bytes]:
        """Returns the status, the media type and the content for `self.path`."""
        return self.site.respond(self.path)


def server(directory: Path, address: str, port: int) -> PageServer:
    """Returns a server of an archive's pages at this port (0 for any free one); raises BadInput and
    CannotRun."""
    return opened(address, port, type("Handler", (_Handler,), {"site": Site(directory)}), DOING)
