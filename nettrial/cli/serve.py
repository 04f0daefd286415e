"""`nettrial serve`: lets other machines measure to and from this one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nettrial import backends
from nettrial.cli import READING
from nettrial.cli.console import say
from nettrial.errors import BadInput
from nettrial.measuring.options import check_token

HERE = "127.0.0.1"
"""The address on which servers listen unless another is given: only this machine reaches it."""


@dataclass(frozen=True)
class ServeOptions:
    """The options of the command, as they were given."""

    iperf3: bool
    """True to serve iperf3 clients."""
    ndt7: bool
    """True to serve ndt7 clients."""
    stamp: bool
    """True to reflect packets of STAMP and TWAMP Light."""
    port: int | None
    """The port; None for the protocol's default."""
    bind: str | None
    """The address to listen on; None for the default."""
    token_file: Path | None
    """The file with the token, or with the key of STAMP; None without one."""
    certificate: Path | None
    """The file with the certificate of ndt7; None for a generated one."""
    key: Path | None
    """The file with the certificate's key; None if the certificate's file has it."""
    plain: bool
    """True to serve ndt7 without TLS."""
    as_json: bool
    """True if a JSON document is printed."""

    @property
    def address(self) -> str:
        """Returns the address to listen on."""
        return self.bind or HERE


def serve(options: ServeOptions) -> None:
    """Serves until the process ends; raises BadInput and CannotRun."""
    protocols = {"--iperf3": options.iperf3, "--ndt7": options.ndt7, "--stamp": options.stamp}
    chosen = [name for name, wanted in protocols.items() if wanted]
    if len(chosen) > 1:
        raise BadInput(READING, chosen[1], "", f"no {chosen[1]} with {chosen[0]}", "start a server for each")
    if chosen and not options.stamp and options.token_file is not None:
        hint = f"{chosen[0].removeprefix('--')} clients use no token; leave out one of the two options"
        raise BadInput(
            READING, "--token-file", str(options.token_file), f"no --token-file with {chosen[0]}", hint
        )
    secured = {"--certificate": options.certificate, "--key": options.key, "--plain": options.plain}
    given = [name for name, value in secured.items() if value]
    if given and not options.ndt7:
        raise BadInput(READING, given[0], "", f"{given[0]} with --ndt7 only")
    if options.bind is None:
        say("only this machine can reach the server; `--bind 0.0.0.0`, or `--bind ::` with IPv6, lets others")
    if options.ndt7:
        from nettrial.cli import serve_ndt7

        serve_ndt7.serve(options)
        return
    if options.stamp:
        from nettrial.cli import serve_stamp

        serve_stamp.serve(options)
        return
    if options.token_file is not None:
        check_token(options.token_file)
    arguments = ["--iperf3"] if options.iperf3 else []
    arguments += ["--port", str(options.port)] if options.port is not None else []
    arguments += ["--bind", options.address]
    arguments += ["--token-file", str(options.token_file)] if options.token_file is not None else []
    arguments += ["--json"] if options.as_json else []
    backends.serve(arguments)
