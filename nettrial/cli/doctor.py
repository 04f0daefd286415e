"""`nettrial doctor`: what this machine can run, and what is missing for the rest."""

from __future__ import annotations

from nettrial.backends import BACKENDS
from nettrial.cli.console import print_table
from nettrial.errors import CannotRun
from nettrial.study import SIMULATOR


def doctor() -> int:
    """Prints what every backend's preflight found, and of the machine what bears on measurements; gives the
    exit status."""
    status = 0
    for name in BACKENDS:
        with BACKENDS[name].start() as backend:
            preflight = backend.preflight(thorough=True)
        can = "can't run trials" if preflight.missing else "can run trials"
        print(f"{name}: {can}")
        for title, shortfalls in (("missing", preflight.missing), ("does without", preflight.limits)):
            for shortfall in shortfalls:
                print(f"  {title}: {shortfall.what}: {shortfall.why}")
                print(f"    remedy: {shortfall.remedy}")
        if preflight.missing:
            status = CannotRun.exit_code
        if name == SIMULATOR:
            print("  needs no rights, and nothing of the kernel")
            continue
        environment = preflight.environment
        print()
        print_table(
            ["environment", ""],
            [
                ["engine", environment.engine_version],
                ["kernel", environment.kernel],
                ["processor", f"{environment.processor}, {environment.processors} usable"],
                ["privileges", environment.privileges],
                ["congestion controls", ", ".join(environment.congestion_controls)],
                *([sysctl, value] for sysctl, value in environment.sysctls.items()),
            ],
        )
        print()
    return status
