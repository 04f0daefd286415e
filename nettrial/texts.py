"""Making texts of others safe to show."""

from __future__ import annotations

import re

OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters except tab and line feed (ECMA-48)
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"  # bidirectional controls (UAX 9), line separators
    "\ud800-\udfff]"  # surrogates, which can't be encoded
)
"""The characters that a terminal interprets instead of showing them."""


def one_line(text: str) -> str:
    """Returns the text on one line: `visible`, and with tabs and line feeds as their JSON escapes."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def visible(text: str) -> str:
    """Returns the text with each character that a terminal or a browser would interpret, or could not show,
    replaced by its JSON escape."""
    return OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
