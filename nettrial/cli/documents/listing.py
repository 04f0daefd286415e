"""The document of `nettrial list`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from nettrial.cli.documents.base import JsonDocument


class ListDocument(JsonDocument):
    """A list of registered items."""

    document: Literal["list"] = "list"
    """The kind of document."""
    list: str
    """The name of the list, such as `metrics`."""
    entries: Sequence[dict[str, str]]
    """The entries, each with its values by column name."""
