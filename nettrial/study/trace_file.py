"""Files with traces of links: their lines, and tables of times and values.

A table has a line for each change: the time, a comma, and the value from then on. The first time is 0. The
last line of a table that begins again has the time of its end and the word `end`. Empty lines, and what
follows `#`, are ignored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationInfo
from pydantic_core import PydanticCustomError

from nettrial.fields import wrong
from nettrial.files import Unreadable, Unsuitable, beside, read_text
from nettrial.units import DURATION, UnitError

MOST_BYTES = 16 * 2**20
"""The largest size of a trace's file."""
MOST_STEPS = 500_000
"""The largest number of changes; the engine has the same limit."""
MOST_SECONDS = 86_400
"""The longest time of a trace, in seconds; the engine has the same limit."""
END = "end"
"""The word in the last line of a table that begins again."""

Line = tuple[int, str]
"""The number and the text of a line that is neither empty nor a comment."""
Content = TypeVar("Content")
"""The content of a trace."""


class TraceError(Unsuitable):
    """The error for a file without a valid trace, with the fault and the expectation."""


def read(
    folder: Path, name: str, formats: str, parse: Callable[[list[Line]], tuple[Content, int]]
) -> Content:
    """Returns the trace in a file, whose name is relative to the directory of the study and does not lead out
    of it. `parse` returns the content of its lines and the number of changes; `formats` are the file's
    formats in words. Raises TraceError."""
    try:
        lines = read_text(beside(folder, name), MOST_BYTES).splitlines()
    except Unreadable as why:
        raise TraceError(f"{name}: {why}", f"a readable file of up to {MOST_BYTES} bytes") from None
    numbered = [(number, line.partition("#")[0].strip()) for number, line in enumerate(lines, start=1)]
    full = [(number, line) for number, line in numbered if line]
    if not full:
        raise TraceError(f"{name} has no lines", formats)
    try:
        content, changes = parse(full)
    except TraceError as error:
        raise TraceError(f"{name}:{error}", error.expected) from None
    if changes > MOST_STEPS:
        raise TraceError(f"{name} has {changes} changes", f"up to {MOST_STEPS} changes")
    return content


def table(
    lines: list[Line], value_of: Callable[[str], int], what: str, formats: str
) -> tuple[list[int], list[int], int | None]:
    """Returns the times of a table in nanoseconds, its values, and the time of its end if it has one; raises
    TraceError. `value_of` returns the number in the text of a value, which is `what`, such as "a rate", or
    raises UnitError."""
    times: list[int] = []
    values: list[int] = []
    end: int | None = None
    for number, line in lines:
        left, comma, right = (part.strip() for part in line.partition(","))
        try:
            at = 0 if left == "0" else DURATION.parse(left)
            value = 0 if right in ("0", END) else value_of(right)
        except UnitError as error:
            raise TraceError(f"{number}: {error.text!r}", f"{error.expected}; {formats}") from None
        if not comma:
            raise TraceError(f"{number}: {line[:40]!r}", f"a time, a comma and {what}")
        if end is not None:
            raise TraceError(f"{number}: {line[:40]!r}", f"nothing after the line with `{END}`")
        if (times and at <= times[-1]) or (not times and at):
            expected = "a later time than in the line before" if times else "0 as the first time"
            raise TraceError(f"{number}: {left!r}", expected)
        if not times and right == END:
            raise TraceError(f"{number}: {line[:40]!r}", f"{what} before the line with `{END}`")
        if at > MOST_SECONDS * 10**9:
            raise TraceError(f"{number}: {left!r}", "up to a day")
        if right == END:
            end = at
            continue
        times.append(at)
        values.append(value)
    return times, values, end


def with_content(data: Any, folder: Path, reader: Callable[[Path, str], Any]) -> Any:
    """Returns the fields of a trace with the content of its file, which `reader` reads. Raises a validator's
    error if the file has no trace."""
    if not isinstance(data, Mapping) or not isinstance(data.get("trace"), str):
        return data
    try:
        return {**data, "content": reader(folder, data["trace"])}
    except TraceError as error:
        raise wrong(("trace",), str(error), error.expected) from None


def read_with_study(data: Any, info: ValidationInfo, reader: Callable[[Path, str], Any]) -> Any:
    """Returns the fields of a trace with the content of its file if the file's directory is known, as it is
    when a study is read. Raises a validator's error for a trace that has no content otherwise."""
    folder = (info.context or {}).get("folder")
    if folder is not None:
        return with_content(data, Path(folder), reader)
    if isinstance(data, Mapping) and data.get("content") is None:
        raise wrong(("trace",), str(data.get("trace", "missing")), "a file that is read with the study")
    return data


def no_end() -> PydanticCustomError:
    """Returns the error for a trace that is to begin again, and whose table has no end."""
    hint = f"the last line of a table that begins again is its end, such as `60 s, {END}`"
    return wrong(("loop",), "true", "false: the table has no end", hint)
