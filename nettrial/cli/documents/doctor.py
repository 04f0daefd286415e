"""The document of `nettrial doctor`."""

from __future__ import annotations

from typing import Literal

from nettrial.cli.documents.base import JsonDocument, Part
from nettrial.scenario import Environment, Shortfall


class BackendState(Part):
    """The preflight of a backend."""

    backend: str
    """The backend's name."""
    can_run: bool
    """True if it can run trials on this machine."""
    missing: list[Shortfall]
    """The reasons why the backend can't run trials."""
    limits: list[Shortfall]
    """The shortfalls that do not prevent trials."""
    environment: Environment
    """The environment of this machine."""


class UserDefaults(Part):
    """The user's defaults."""

    file: str
    """The file that sets them, which need not exist."""
    backend: str | None
    """The backend of studies that name none; absent if nettrial chooses it."""
    runs: str
    """The directory of new runs."""
    theme: str
    """The theme with which pages open."""


class DoctorDocument(JsonDocument):
    """The backends that this machine supports, and what the others lack."""

    document: Literal["doctor"] = "doctor"
    """The kind of document."""
    backends: list[BackendState]
    """The backends that were checked."""
    defaults: UserDefaults
    """The user's defaults."""
