"""The table of the responses of a run in progress, for a terminal."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from nettrial.running.running_means import Estimates
from nettrial.study import Response

LARGEST_TITLE = 22
"""The width of a heading's line in characters; long titles take several lines."""
GAP = 2
"""The number of spaces between columns."""


def means_table(estimates: Estimates, width: int, height: int) -> Table:
    """Returns a table of as many treatments and responses as fit into `height` lines and `width` columns
    of a terminal; it states how many are left out."""
    study = estimates.study
    factors = " / ".join(factor.title for factor in study.factors.values())
    keys = estimates.treatments()
    shown = keys if len(keys) <= height else keys[: max(height - 1, 1)]
    names = [" / ".join(key) for key in shown]
    left = len(keys) - len(shown)
    more = f"and {left} more treatments" if left else ""
    room = width - max(map(len, [factors, more, *names]))
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    table.add_column(Text(factors), no_wrap=True)
    cells: list[list[str]] = []
    for at, response in enumerate(study.responses):
        column = [str(estimates.spreads(key)[at]) for key in shown]
        heading = _heading(response)
        needed = GAP + max(map(len, [*column, *heading.splitlines()]))
        if needed > room and cells:
            break
        room -= needed
        table.add_column(Text(heading), justify="right", no_wrap=True)
        cells.append(column)
    for line, name in enumerate(names):
        table.add_row(Text(name), *(Text(column[line]) for column in cells))
    hidden = len(study.responses) - len(cells)
    said = [more] if more else []
    said += [f"{hidden} more responses"] if hidden else []
    if said:
        table.add_row(Text(", ".join(said), style="dim"))
    return table


def _heading(response: Response) -> str:
    """Returns a response's title on lines of limited length, followed by its unit."""
    lines = [""]
    for word in response.title.split():
        if lines[-1] and len(lines[-1]) + 1 + len(word) > LARGEST_TITLE:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return "\n".join([*lines, response.unit])
