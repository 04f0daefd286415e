"""`nettrial serve --stamp`: reflects test packets of STAMP and TWAMP Light."""

from __future__ import annotations

import contextlib
import socket

from nettrial.admission import Log
from nettrial.cli import READING
from nettrial.cli.console import say
from nettrial.cli.documents import serve as serve_documents
from nettrial.cli.serve import ServeOptions
from nettrial.errors import CannotRun, Lack
from nettrial.protocols.stamp.key import key_of
from nettrial.protocols.stamp.port import Port
from nettrial.protocols.stamp.reflector import PORT, Reflector, reflect
from nettrial.systems import port_remedy


def serve(options: ServeOptions) -> None:
    """Reflects until the process ends; raises BadInput and CannotRun."""
    key = key_of(options.token_file, READING, "--token-file")
    address, port = options.address, PORT if options.port is None else options.port
    try:
        opened = Port(socket.AF_INET6 if ":" in address else socket.AF_INET)
        # Two values alone would be an address without its zone.
        opened.socket.bind(socket.getaddrinfo(address, port, type=socket.SOCK_DGRAM)[0][4])
    except OSError as error:
        why = error.strerror or str(error)
        lack = Lack(f"UDP port {port} at {address}", why, port_remedy(error))
        raise CannotRun("serving STAMP", [lack]) from None
    _, on = opened.socket.getsockname()[:2]
    at = address  # with its zone, which the socket's own name lacks
    where = f"[{at}]:{on}" if ":" in at else f"{at}:{on}"
    mode = "authenticated mode" if key else "unauthenticated mode; anyone who reaches it can use it"
    say(f"serving STAMP and TWAMP Light at {where} in {mode}")
    if options.as_json:
        served = serve_documents.ServeDocument(address=where, port=on, token=None)
        print(served.model_dump_json(), flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        reflect(Reflector(Log(say), key), opened, key)
