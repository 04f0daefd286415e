"""`nettrial serve --ndt7`: serves ndt7 clients."""

from __future__ import annotations

import asyncio
import contextlib
import os
import ssl
from pathlib import Path

from nettrial.admission import Log
from nettrial.cli import READING
from nettrial.cli.console import say
from nettrial.cli.documents import serve as serve_documents
from nettrial.cli.serve import ServeOptions
from nettrial.errors import BadInput, CannotRun, Lack
from nettrial.measuring.ndt7 import LACKS, PORT
from nettrial.systems import is_writable_by_all, port_remedy


def serve(options: ServeOptions) -> None:
    """Serves until the process ends; raises BadInput and CannotRun."""
    if options.plain and (options.certificate or options.key):
        raise BadInput(READING, "--plain", "", "no --plain with --certificate or --key")
    if options.key and not options.certificate:
        raise BadInput(READING, "--key", str(options.key), "--certificate with it")
    address, port = options.address, PORT if options.port is None else options.port
    try:
        from nettrial.protocols.ndt7.server import Ndt7TestServer
    except ImportError:
        raise CannotRun("serving ndt7", [LACKS]) from None
    context, note = _tls(address, options.certificate, options.key, options.plain)

    async def run() -> None:
        async with Ndt7TestServer(Log(say)).serving(address, port, context) as (at, on):
            where = f"[{at}]:{on}" if ":" in at else f"{at}:{on}"
            say(f"serving ndt7 clients at {where}; anyone who reaches it can use it")
            say(note)
            if options.as_json:
                served = serve_documents.ServeDocument(address=where, port=on, token=None)
                print(served.model_dump_json(), flush=True)
            await asyncio.Event().wait()

    try:
        # On Windows, asyncio's default loop would accept connections itself, without the server's limits.
        with (
            contextlib.suppress(KeyboardInterrupt),
            asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner,
        ):
            runner.run(run())
    except OSError as error:
        lack = Lack(f"port {port} at {address}", os.strerror(error.errno or 0), port_remedy(error))
        raise CannotRun("serving ndt7", [lack]) from None


def _tls(
    address: str, certificate: Path | None, key: Path | None, plain: bool
) -> tuple[ssl.SSLContext | None, str]:
    """Returns the settings for TLS, and a line that says how clients connect; raises BadInput."""
    if plain:
        return (
            None,
            "without TLS: clients use ws:// (`nettrial measure HOST ndt7 --plain`, `ndt7-client -scheme ws`)",
        )
    try:
        from nettrial.protocols.ndt7.certificate import context, self_signed
    except ImportError:
        raise CannotRun("serving ndt7", [LACKS]) from None
    if certificate:
        try:
            if is_writable_by_all((key or certificate).stat()):
                why = "every user of this machine can write it: `chmod o-w` changes that"
                raise BadInput(READING, "--key", str(key or certificate), "a file with a key", why)
            return context(certificate, key), f"with the certificate in {certificate}"
        except OSError as error:
            expected = "a certificate and its key in PEM format"
            why = error.strerror or str(error)
            raise BadInput(READING, "--certificate", str(certificate), expected, why) from None
    made, fingerprint = self_signed(address)
    return made, (
        "with a certificate of its own, which clients must be told to accept (`nettrial measure HOST ndt7 "
        "--no-verify`, `ndt7-client -no-verify`); browsers need a trusted one (--certificate) or --plain\n"
        f"SHA-256 fingerprint: {fingerprint}"
    )
