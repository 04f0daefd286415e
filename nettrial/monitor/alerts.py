"""Alerts: changes of a pair's state, sent to a command or a webhook."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from nettrial import __version__
from nettrial.fields import Strict, wrong
from nettrial.systems import run_program

Cause: TypeAlias = Literal["warning", "alarm", "gap", "recovered", "change", "path"]
"""The cause of an alert: a pair exceeds a threshold (`warning`, `alarm`), has gaps (`gap`), or is good again
(`recovered`); a metric changes (`change`); or a route, path MTU or segment size changes (`path`)."""
PATIENCE_SECONDS = 30.0
"""The time that the command, or the server of the webhook, may take."""


def _address(text: str) -> str:
    if not text.startswith(("http://", "https://")) or any(ord(letter) <= 32 for letter in text):
        raise wrong(expected="an address that begins with http:// or https://")
    return text


class AlertsSettings(Strict):
    """The recipients of alerts. Each alert is a JSON document."""

    command: Annotated[list[str], Field(min_length=1)] | None = None
    """A program and its arguments. It receives the document on its standard input. The monitor runs it only
    with the option `--allow-exec`."""
    webhook: Annotated[str, AfterValidator(_address)] | None = None
    """An address to which the document is sent (POST, application/json)."""
    on: Annotated[list[Cause], Field(min_length=1)] = ["alarm", "gap", "recovered", "change"]
    """The causes of alerts."""
    gaps: Annotated[int, Field(ge=1, le=1000)] = 3
    """The number of gaps in a row after which a pair has an alert for `gap`."""

    @model_validator(mode="after")
    def _has_a_recipient(self) -> AlertsSettings:
        if self.command is None and self.webhook is None:
            raise wrong(("command",), "missing", "one of command and webhook, or both")
        return self


@dataclass(frozen=True)
class Alert:
    """An alert about a pair."""

    cause: Cause
    """The cause of the alert."""
    mesh: str
    """The title of the mesh."""
    at_s: float
    """The time of the measurement, seconds since 1970-01-01 UTC."""
    measurement: str
    """The name of the measurement."""
    source: str
    """The host that sends."""
    target: str
    """The host that receives."""
    text: str
    """The alert in words."""

    def document(self) -> bytes:
        """Returns the alert as JSON."""
        content = {
            "format": 1,
            "nettrial": __version__,
            "document": "alert",
            "cause": self.cause,
            "mesh": self.mesh,
            "at_s": self.at_s,
            "measurement": self.measurement,
            "from": self.source,
            "to": self.target,
            "text": self.text,
        }
        return json.dumps(content, ensure_ascii=False).encode()


class States:
    """The states of pairs, from which alerts follow: a pair whose state changes has an alert, and one whose
    state stays the same has none."""

    def __init__(self, settings: AlertsSettings) -> None:
        """Begins without a state of any pair."""
        self._settings = settings
        self._gaps: dict[str, int] = {}

    def cause(self, key: str, before: str | None, now: str) -> tuple[str, Cause | None]:
        """Returns the state of a pair that is to be kept, and the cause of an alert, if there is one.
        `before` is the state kept last, and `now` that of the latest interval: good, warning, alarm or
        gap."""
        self._gaps[key] = self._gaps.get(key, 0) + 1 if now == "gap" else 0
        if now == "gap" and self._gaps[key] < self._settings.gaps:
            return before or "good", None
        if now == before or (before is None and now == "good"):
            return now, None
        cause: Cause = {"warning": "warning", "alarm": "alarm", "gap": "gap"}.get(now, "recovered")  # type: ignore[assignment]
        return now, cause if cause in self._settings.on else None


def send(settings: AlertsSettings, alert: Alert, folder: Path) -> list[str]:
    """Sends an alert, and returns the reasons of the attempts that failed. The command runs in `folder`."""
    failures = []
    if settings.command is not None:
        why = run_program(settings.command, folder, PATIENCE_SECONDS, alert.document())
        failures += [why] if why else []
    if settings.webhook is not None:
        request = urllib.request.Request(
            settings.webhook,
            alert.document(),
            {"Content-Type": "application/json", "User-Agent": f"nettrial/{__version__}"},
        )
        try:
            _OPENER.open(request, timeout=PATIENCE_SECONDS).close()
        except (OSError, ValueError) as error:  # OSError includes the errors of urllib.
            failures.append(f"{settings.webhook}: {error}")
    return failures


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses redirects, because an alert goes only to the address in the mesh file."""

    def redirect_request(self, *arguments: object) -> None:
        """Returns no request, so that no redirect is followed."""


_OPENER = urllib.request.build_opener(_NoRedirects)
Sender: TypeAlias = Callable[[Alert], None]
"""A function that sends an alert without waiting for the result."""
