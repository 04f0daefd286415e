"""The document of `nettrial serve`."""

from __future__ import annotations

from typing import Literal

from nettrial.cli.documents.base import JsonDocument


class ServeDocument(JsonDocument):
    """The address of the server, printed on one line when it is listening."""

    document: Literal["serve"] = "serve"
    """The kind of document."""
    address: str
    """The address with its port, such as `0.0.0.0:5210`."""
    port: int
    """The port number."""
    token: str | None
    """The generated token; null if one was given, and with other programs' protocols."""
