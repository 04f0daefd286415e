"""Files for continuous integration: JUnit XML, and Markdown for a results page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

from nettrial.report import pages
from nettrial.report.formats import in_markdown
from nettrial.texts import visible


class JunitSuite:
    """A JUnit file with one test suite."""

    def __init__(self, name: str, counts: Mapping[str, int]) -> None:
        """Creates a suite with a name and the numbers of its test cases: `tests`, `failures`, `errors` and
        `skipped`."""
        self._root = ElementTree.Element("testsuites")
        attributes = {"name": name, **{count: str(number) for count, number in counts.items()}}
        self._suite = ElementTree.SubElement(self._root, "testsuite", attributes)

    def case(self, group: str, name: str) -> ElementTree.Element:
        """Adds a test case, and returns its element."""
        return ElementTree.SubElement(self._suite, "testcase", classname=group, name=name)

    def encoded(self) -> bytes:
        """Returns the file's content."""
        ElementTree.indent(self._root)
        text = ElementTree.tostring(self._root, encoding="unicode")
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def write_junit(file: Path, content: bytes) -> None:
    """Writes a JUnit file completely or not at all; raises BadInput if it can't be written."""
    pages.write(file, content, "writing the JUnit file")


def write_markdown(file: Path, content: str) -> None:
    """Writes a Markdown file completely or not at all; raises BadInput if it can't be written."""
    pages.write(file, content.encode(), "writing the Markdown file")


def in_line(text: str) -> str:
    """Returns a text from elsewhere on one line, with its Markdown escaped."""
    return in_markdown(visible(text))
