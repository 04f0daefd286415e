"""Texts that others wrote, made safe to show."""

from __future__ import annotations

import re

OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but for tab and line feed (ECMA-48)
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # what turns text around (UAX 9), and separators of lines
    "\ud800-\udfff]"  # halves of characters, which no file takes
)


def visible(text: str) -> str:
    """The text with each character that a terminal or a browser would obey, or could not show, as the escape
    that JSON has for it."""
    return OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
