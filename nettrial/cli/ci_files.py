"""Files for continuous integration: JUnit XML, and Markdown for a results page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from nettrial.analysis.outcomes import Outcome
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


@dataclass(frozen=True)
class ConditionCase:
    """A condition of `--fail-if` under one treatment, as a test case."""

    condition: str
    """The condition."""
    treatment: str
    """The treatment in words."""
    outcome: Outcome
    """The outcome."""
    has_interval: bool
    """False if there is no interval that could judge it."""
    words: str
    """The outcome with what was judged, in words."""

    def result(self, strict: bool) -> str | None:
        """Returns the JUnit element for the outcome; None if the test case passes. With `strict`, an interval
        that is too wide is a failure."""
        if self.outcome is Outcome.HOLDS:
            return "failure"
        if self.outcome is not Outcome.UNKNOWN:
            return None
        if not self.has_interval:
            return "error"
        return "failure" if strict else "skipped"


def conditions_junit(name: str, cases: Sequence[ConditionCase], strict: bool) -> bytes:
    """Returns a test suite with a test case for each condition under each treatment. A condition that holds
    is a failure and one without an interval an error. One whose interval is too wide is skipped or, with
    `strict`, a failure."""
    results = [each.result(strict) for each in cases]
    counts = Counter(results)
    numbers = {
        "tests": len(cases),
        "failures": counts["failure"],
        "errors": counts["error"],
        "skipped": counts["skipped"],
    }
    suite = JunitSuite(name, numbers)
    for each, result in zip(cases, results, strict=True):
        case = suite.case(visible(each.condition), visible(each.treatment))
        if result is None:
            ElementTree.SubElement(case, "system-out").text = visible(each.words)
        else:
            ElementTree.SubElement(case, result, message=visible(each.words))
    return suite.encoded()


def write_junit(file: Path, content: bytes) -> None:
    """Writes a JUnit file completely or not at all; raises BadInput if it can't be written."""
    pages.write(file, content, "writing the JUnit file")


def write_markdown(file: Path, content: str) -> None:
    """Writes a Markdown file completely or not at all; raises BadInput if it can't be written."""
    pages.write(file, content.encode(), "writing the Markdown file")


def in_line(text: str) -> str:
    """Returns a text from elsewhere on one line, with its Markdown escaped."""
    return in_markdown(visible(text))
