"""The key of STAMP's authenticated mode."""

from __future__ import annotations

import re
from pathlib import Path

from nettrial.errors import BadInput
from nettrial.files import Unreadable, read_secret
from nettrial.protocols.stamp.packet import LEAST_KEY

MOST_BYTES = 4096
"""The largest size of a file with a key."""


def key_of(file: Path | None, doing: str, setting: str) -> bytes | None:
    """Returns the key in a file: the bytes that its hexadecimal digits stand for, or else its text, without
    the end of the line; None without a file. Raises BadInput, which says what was being done, and which
    setting names the file."""
    if file is None:
        return None
    try:
        text = read_secret(file, MOST_BYTES).strip()
    except Unreadable as why:
        raise BadInput(doing, setting, str(file), "a file with a key", str(why)) from None
    key = bytes.fromhex(text) if re.fullmatch(r"(?:[0-9a-fA-F]{2})+", text) else text.encode()
    if len(key) < LEAST_KEY:
        hint = "`openssl rand -hex 32` makes one"
        raise BadInput(doing, setting, str(file), f"a key of {LEAST_KEY} bytes or more", hint)
    return key
