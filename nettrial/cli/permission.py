"""Asking the user for permission, at the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from nettrial.cli.console import say
from nettrial.errors import BadInput
from nettrial.running.permission import ASKING, PermissionRequest, RequestKind

ANSWER_CHARACTERS = 80
"""The number of characters that are read of an answer at the terminal."""


def ask(needed: Sequence[PermissionRequest], allowed: bool) -> None:
    """Asks at the terminal for the permission to do what a study requests, unless the option has given it.
    Raises BadInput without it."""
    if not needed or allowed:
        return
    if sys.stdin.isatty():
        say("this study starts programs of its own choice or sends files of yours, with your privileges:")
        list_requests(needed)
        say("permit that? [y/N]")
        if sys.stdin.readline(ANSWER_CHARACTERS).strip().lower() in ("y", "yes"):
            return
    raise BadInput.listing(ASKING, [request.fault() for request in needed])


def list_requests(needed: Sequence[PermissionRequest]) -> None:
    """Prints requests."""
    for request in needed:
        say(f"  {request.where}: {'send ' if request.kind is RequestKind.FILE else ''}{request.text}")
