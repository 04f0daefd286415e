"""The document of `nettrial list runs`."""

from __future__ import annotations

from typing import Literal

from nettrial.cli.documents.base import JsonDocument, Part


class RunState(Part):
    """A stored run."""

    run: str
    """The run's directory."""
    study: str
    """The study's name; empty if the run can't be read."""
    state: str
    """The progress of the run, in words."""
    bytes: int
    """The size of all files of the run, in bytes."""


class RunsDocument(JsonDocument):
    """The stored runs of a directory."""

    document: Literal["runs"] = "runs"
    """The kind of document."""
    runs: list[RunState]
    """The runs, in the order of their names."""
