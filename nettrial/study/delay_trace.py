"""Delays of links that follow a trace in a file: a table with a line for each change, which has the time, a
comma, and the delay in one direction from then on, such as `1.5 s, 32 ms`. The last line of a table that
begins again has the time of its end and the word `end`. Empty lines, and what follows `#`, are ignored."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from pydantic import Discriminator, Field, Tag, ValidationInfo, model_validator

from nettrial.fields import Strict
from nettrial.study import trace_file
from nettrial.study.document import DELAY_TRACE
from nettrial.study.trace_file import MOST_SECONDS, Line
from nettrial.units import DURATION, Duration, UnitError

FORMAT = "a table with lines such as `1.5 s, 32 ms`"
"""The format of a trace, in words."""
_DELAY = "a delay of up to a day"
"""A delay of a trace, in words."""


class DelayTraceData(Strict):
    """The content of a trace, stored with the study so that a run does not depend on the file."""

    source: str
    """The file, as named by the study."""
    from_ns: tuple[int, ...]
    """The times from which the delays apply, in nanoseconds."""
    delays_ns: tuple[int, ...]
    """The delay in one direction from each of these times, in nanoseconds."""
    ends_ns: int | None
    """The time of the trace's end, in nanoseconds; None if the file has no end."""


class DelayTrace(Strict):
    """A delay that follows a trace, which begins with the traffic. Until then, the first delay applies. A
    frame takes the delay in force when its last bit leaves, and never arrives before the one in front of
    it."""

    trace: str
    """The file, in the directory of the study file or below: a table of times and delays."""
    loop: bool = False
    """True to begin the trace again at its end. Otherwise, the last delay stays."""
    content: DelayTraceData | None = Field(default=None, repr=False)
    """The content of the file, stored here when the study is read."""

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any, info: ValidationInfo) -> Any:
        """Reads the file if its directory is known, as it is when a study is read."""
        return trace_file.read_with_study(data, info, read)

    @model_validator(mode="after")
    def _fits(self) -> DelayTrace:
        if self.content is not None and self.loop and self.content.ends_ns is None:
            raise trace_file.no_end()
        return self

    @property
    def smallest(self) -> str:
        """The smallest delay, which stands for the link where one is needed."""
        assert self.content is not None
        return DURATION.print(min(self.content.delays_ns))

    def of_scenario(self) -> dict[str, Any]:
        """Returns the trace as the scenario of a trial has it."""
        assert self.content is not None
        repeats = self.content.ends_ns if self.loop else None
        return {
            "from_ns": list(self.content.from_ns),
            "delays_ns": list(self.content.delays_ns),
            "repeats_after_ns": repeats,
        }


def _kind(value: Any) -> str:
    return DELAY_TRACE if isinstance(value, Mapping | DelayTrace) else "delay"


DelaySettings: TypeAlias = Annotated[
    Annotated[Duration, Tag("delay")] | Annotated[DelayTrace, Tag(DELAY_TRACE)], Discriminator(_kind)
]
"""A delay, or the trace that it follows."""


def read(folder: Path, name: str) -> DelayTraceData:
    """Returns the trace in a file, whose name is relative to the directory of the study and does not lead out
    of it; raises TraceError."""

    def parse(lines: list[Line]) -> tuple[DelayTraceData, int]:
        times, delays, end = trace_file.table(lines, _delay_ns, "a delay", FORMAT)
        data = DelayTraceData(source=name, from_ns=tuple(times), delays_ns=tuple(delays), ends_ns=end)
        return data, len(times)

    return trace_file.read(folder, name, FORMAT, parse)


def _delay_ns(text: str) -> int:
    """Returns a delay in nanoseconds; raises UnitError."""
    delay_ns = DURATION.parse(text)
    if delay_ns > MOST_SECONDS * 10**9:
        raise UnitError("delay", text, _DELAY)
    return delay_ns
