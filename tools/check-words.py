"""Finds unidiomatic words in what people read: documentation comments, docstrings, help texts, pages.

    python tools/check-words.py [DIRECTORY]

Documentation comments of Rust and docstrings of Python begin with a subject ("The path MTU in bytes.") or
a verb ("Returns the path MTU in bytes."), never with one of `OPENINGS`. No file has a phrase of `PHRASES`.
Prints each place with what to write instead, and exits with 1 if there are any.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

OPENINGS = (
    *("What", "That", "Whether", "How", "Of", "Where", "Which", "Those", "By", "As"),
    *("Who", "When", "Whose"),
)
"""The words with which no documentation comment begins."""
SUBJECT = "begin with a subject or a verb, such as 'Returns the path MTU in bytes.'"
PHRASES = {
    "link end": "interface",
    "link_end": "interface",
    "sent again": "retransmitted",
    "way back": "reverse path",
    "both ways": "in both directions",
    "without rights": "unprivileged",
    "need no rights": "run unprivileged",
    "needs no rights": "runs unprivileged",
    "root's rights": "root's privileges",
    "what came of": "the result of",
    "what there is is": "results so far are",
    "it is otherwise": "exceptions",
    "in its hand": "in its control",
    "what is no report": "a malformed report",
    "bundl": "GSO packet",
    "; legal": "; expected",
    "legal:": "expected:",
    "legal value": "expected value",
    "who has no token": "clients without the token",
    "what the order of trials follows from": "seed for the trial order",
    "as the study's source made it": "the original publication's scale",
    "half of its 95%": "half-width of its 95%",
    "half of their 95%": "half-widths of their 95%",
    "half of the 95%": "half-width of the 95%",
    "half of the interval": "half-width of the interval",
    "holds the truth": "contains the true value",
    "hold the truth": "contain the true value",
    "at the most": "at most",
    "at the least": "at least",
    "warned of": "gives a warning",
    "can't be had": "is not available",
    "tells of ": "reports",
    "tell of ": "report",
    ", for it is ": ", because it is",
    ", for they ": ", because they",
    ", for there ": ", because there",
    ", for nobody ": ", because nobody",
    ", for nothing ": ", because nothing",
    "for ever ": "forever, or until it is stopped",
    "by the doing of": "because of",
    "in the middle of it": "during the test",
    "nothing of a ": "nothing about a",
    "whatever the control.": "with every congestion control",
    "changes nothing in ": "does not affect",
}
"""Beginnings of phrases, in lower case, and what to write instead."""
READ = {
    ".rs": ("engine/**/*",),
    ".py": ("nettrial/**/*", "benches/**/*", "tools/**/*", "tests/**/*"),
    ".md": ("docs/**/*", "studies/**/*", "examples/**/*", "*"),
    ".txt": ("tests/golden/*",),
    ".yaml": ("studies/**/*", "examples/**/*", "benches/**/*"),
    ".j2": ("nettrial/**/*",),
}
"""The files that are read of each kind."""

_WORDS = "|".join(OPENINGS)
_UNSPACED = re.compile(r"(?m)^ *//[/!](?=[A-Za-z])")
"""The beginning of a documentation comment without a space."""
_OPENING = {
    ".rs": re.compile(rf"//[/!] (?:{_WORDS})\b.*"),
    ".py": re.compile(rf'(?<=\n) *r?"""(?:{_WORDS})\b.*|\Ar?"""(?:{_WORDS})\b.*'),
}
_READ_OF_RUST = re.compile(r'//[/!]|"')


def findings(text: str, suffix: str) -> Iterator[tuple[int, str, str]]:
    """Yields the position of each finding in a text of that kind, the words, and what to write instead."""
    if suffix in _OPENING:
        for match in _OPENING[suffix].finditer(text):
            yield match.start(), match.group().strip(), SUBJECT
    if suffix == ".rs":
        for match in _UNSPACED.finditer(text):
            yield match.start(), match.group().strip(), "put a space after it"
    lowered = text.lower()
    for phrase, instead in PHRASES.items():
        at = lowered.find(phrase)
        while at >= 0:
            line = text[text.rfind("\n", 0, at) + 1 : at]
            begins = not (phrase[0].isalnum() and line[-1:].isalnum())
            if begins and (suffix != ".rs" or _READ_OF_RUST.search(line)):
                yield at, phrase, f"say {instead!r}"
            at = lowered.find(phrase, at + 1)


def main() -> None:
    """Checks a working tree, this one unless another is named."""
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    count = 0
    for suffix, patterns in READ.items():
        for file in sorted(file for pattern in patterns for file in root.glob(pattern + suffix)):
            if file.name in (Path(__file__).name, "test_words.py"):
                continue
            text = file.read_text(encoding="utf-8")
            for at, words, instead in findings(text, suffix):
                line = text.count("\n", 0, at) + 1
                print(f"{file.relative_to(root)}:{line}: {words}: {instead}", file=sys.stderr)
                count += 1
    if count:
        sys.exit(f"{count} places have words that the project does not use: see {Path(__file__).name}")


if __name__ == "__main__":
    main()
