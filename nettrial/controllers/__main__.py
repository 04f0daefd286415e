"""Starts a controller, which reads a line from the engine on standard input and serves switches until that
input ends."""

from __future__ import annotations

import logging
import os
import sys

MOST_CHARACTERS = 64 * 2**20
"""The number of characters that are read of the engine's line. A longer line is cut, and refused."""


def main() -> None:
    """Serves switches as described by the first line of standard input."""
    # The parts of os-ken import each other in a circle, which works only in this order.
    from os_ken.base.app_manager import AppManager  # noqa: I001
    from os_ken import cfg

    from os_ken.controller import controller

    from nettrial.controllers import application
    from nettrial.controllers.admission import SPARE, SwitchListener
    from nettrial.controllers.fabric import FabricDescription

    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    line = sys.stdin.readline(MOST_CHARACTERS)
    if not line:
        return
    application.FABRIC = FabricDescription.of(line)
    SwitchListener.most = 2 * application.FABRIC.switches + SPARE
    controller.StreamServer = SwitchListener
    own = ["--ofp-listen-host", "127.0.0.1", "--ofp-tcp-listen-port", str(application.FABRIC.listen)]
    cfg.CONF(own, project="os_ken")
    AppManager.run_apps([application.__name__, "os_ken.controller.ofp_handler"])


if __name__ == "__main__":
    main()
    os._exit(0)  # Threads of os-ken may wait forever.
