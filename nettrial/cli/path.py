"""`nettrial path`: checks whether the path to a host is clean for jumbo frames, and computes the rate that
TCP could reach on it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from nettrial.backends import path as backend
from nettrial.cli import path_page
from nettrial.cli.console import say
from nettrial.errors import BadInput
from nettrial.path_report import IpVersion, PathRequest, Rate, Size
from nettrial.report import pages
from nettrial.units import RATE, SIZE, UnitError

LARGEST_PORT = 65535
"""The largest TCP port."""
KEEPING = "keeping the report"
"""The current action, for error messages."""


def examine(
    host: str,
    ip: int | None,
    max_mtu: str | None,
    rate: str | None,
    ports: Sequence[int],
    as_json: bool,
    out: Path | None = None,
) -> None:
    """Prints the report of an examination and writes it to the file `out`, if one is given; raises BadInput
    and CannotRun."""
    if out and out.exists():
        hint = "choose another file for each examination"
        raise BadInput(KEEPING, "--out", f"{out} exists", "a file that does not exist", hint)
    request = PathRequest(
        host=host,
        ip=None if ip is None else IpVersion(ip),
        max_mtu=Size(_quantity("--max-mtu", _with_unit(max_mtu), SIZE.parse, SIZE.print))
        if max_mtu
        else None,
        rate=Rate(_quantity("--rate", rate, RATE.parse, RATE.print)) if rate else None,
        ports=[_port(port) for port in ports],
    )
    if sys.stderr.isatty():
        say(f"examining the path to {host}; routers answer slowly, so this may take a minute")
    report = backend.examine(request)
    document = report.model_dump_json(indent=2, exclude_none=True)
    if out:
        pages.write(out, f"{document}\n".encode(), KEEPING)
    if as_json:
        print(document)
    else:
        path_page.show(report)


def _port(port: int) -> int:
    if not 1 <= port <= LARGEST_PORT:
        raise BadInput("reading the options", "--port", str(port), f"1 to {LARGEST_PORT}")
    return port


def _with_unit(text: str | None) -> str:
    """Returns a size with its unit: bytes for a bare number."""
    return f"{text} B" if text and text.isdecimal() else text or ""


def _quantity(option: str, text: str, parse: Callable[[str], int], show: Callable[[int], str]) -> str:
    try:
        return show(parse(text))
    except UnitError as error:
        raise BadInput("reading the options", option, error.text, error.expected, error.hint) from None
