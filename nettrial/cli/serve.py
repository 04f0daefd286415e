"""`nettrial serve`: lets other machines measure to and from this one."""

from __future__ import annotations

from pathlib import Path

from nettrial import backends
from nettrial.cli import READING
from nettrial.errors import BadInput


def serve(
    iperf3: bool, port: int | None, bind: str | None, token_file: Path | None, as_json: bool = False
) -> None:
    """Serves until the process ends; raises BadInput and CannotRun."""
    if iperf3 and token_file is not None:
        hint = "iperf3 clients use no token; leave out one of the two options"
        raise BadInput(READING, "--token-file", str(token_file), "no --token-file with --iperf3", hint)
    arguments = ["--iperf3"] if iperf3 else []
    arguments += ["--port", str(port)] if port is not None else []
    arguments += ["--bind", bind] if bind is not None else []
    arguments += ["--token-file", str(token_file)] if token_file is not None else []
    arguments += ["--json"] if as_json else []
    backends.serve(arguments)
