"""`nettrial doctor`: the backends that this machine can run, and what the others lack."""

from __future__ import annotations

from pathlib import Path

from nettrial.backends import BACKENDS, Configuration
from nettrial.capabilities import CAPABILITIES
from nettrial.cli import READING
from nettrial.cli.console import print_table
from nettrial.cli.documents import base as documents
from nettrial.cli.documents import doctor as doctor_documents
from nettrial.defaults import defaults_file, user_defaults
from nettrial.errors import BadInput, CannotRun, by_remedy
from nettrial.registry import UnknownName
from nettrial.scenario import Environment, Preflight


def doctor(only: str | None = None, as_json: bool = False) -> int:
    """Prints the results of the preflight of every backend, or of `only` one, and the properties of this
    machine that affect measurements; returns the exit status. Raises BadInput."""
    own = _defaults()
    preflights = _preflights(only)
    lacking = [name for name, preflight in preflights.items() if preflight.missing]
    counted = [name for name in lacking if only is not None or not BACKENDS[name].is_extra]
    status = CannotRun.exit_code if counted else 0
    if as_json:
        documents.show(
            doctor_documents.DoctorDocument(
                backends=[_state(*each) for each in preflights.items()], defaults=own
            )
        )
        return status
    for name, preflight in preflights.items():
        can = "can't run trials" if preflight.missing else "can run trials"
        print(f"{name}: {can}")
        for title, shortfalls in (("missing", preflight.missing), ("works without", preflight.limits)):
            for remedy, alike in by_remedy(shortfalls).items():
                for shortfall in alike:
                    print(f"  {title} {shortfall.what}: {shortfall.why}")
                print(f"    remedy: {remedy}")
        if CAPABILITIES[name].modelled_hosts:
            print("  runs unprivileged, without any support by the kernel")
            continue
        environment = preflight.environment
        print()
        print_table(
            ["environment", ""],
            [
                ["engine", environment.engine_version],
                ["kernel", environment.kernel],
                ["CPU", f"{environment.processor}, {environment.processors} usable"],
                ["privileges", environment.privileges],
                ["congestion controls", ", ".join(environment.congestion_controls)],
                *_timers(environment),
                *([sysctl, value] for sysctl, value in environment.sysctls.items()),
            ],
        )
        print()
    print_table(
        ["defaults", own.file if Path(own.file).exists() else f"{own.file} does not exist"],
        [
            ["backend", own.backend or "chosen for each study that names none"],
            ["runs", own.runs],
            ["theme", own.theme],
        ],
    )
    return status


def _defaults() -> doctor_documents.UserDefaults:
    settings = user_defaults()
    return doctor_documents.UserDefaults(
        file=str(defaults_file()), backend=settings.backend, runs=str(settings.runs), theme=settings.theme
    )


def _preflights(only: str | None) -> dict[str, Preflight]:
    """Returns the thorough preflight of each requested backend."""
    preflights = {}
    for name in _backends(only):
        if BACKENDS[name].configuration is not Configuration:
            continue  # `nettrial machines check` asks its machines what they can do
        with BACKENDS[name].start(Configuration()) as backend:
            preflights[name] = backend.preflight(thorough=True)
    return preflights


def _state(name: str, preflight: Preflight) -> doctor_documents.BackendState:
    return doctor_documents.BackendState(
        backend=name,
        can_run=not preflight.missing,
        missing=preflight.missing,
        limits=preflight.limits,
        environment=preflight.environment,
    )


def _backends(only: str | None) -> list[str]:
    """Returns the backends to check."""
    if only is None:
        return list(BACKENDS)
    try:
        kind = BACKENDS[only]
    except UnknownName as unknown:
        raise BadInput(READING, "BACKEND", str(unknown), unknown.expected, unknown.hint) from None
    if kind.configuration is not Configuration:
        hint = "use `nettrial machines check` to check the machines themselves"
        raise BadInput(READING, "BACKEND", only, "a backend that needs no machines", hint)
    return [only]


def _timers(environment: Environment) -> list[list[str]]:
    """Returns a row with the lateness of timers, if it was measured."""
    lateness = environment.timer_lateness
    if lateness is None:
        return []
    quantiles = (("median", lateness.median_ns), ("p99", lateness.p99_ns), ("p99.9", lateness.p99_9_ns))
    text = ", ".join(f"{name} {value_ns / 1000:.0f} us" for name, value_ns in quantiles)
    return [["timers are late by", text]]
