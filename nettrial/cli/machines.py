"""`nettrial machines`: manages the user's own machines."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from nettrial.backends import BACKENDS, Machines, install, restore
from nettrial.backends import forget as forget_there
from nettrial.bounds import MOST_STUDY_BYTES
from nettrial.cli import READING
from nettrial.cli.console import print_table, say
from nettrial.errors import BadInput, CannotRun, Fault, Lack, by_remedy
from nettrial.fields import Wrong
from nettrial.files import created, read_text
from nettrial.machines import Inventory, MachineSettings
from nettrial.running.sets import named
from nettrial.scenario import Machine, MachineInterface, Wireless

BACKEND = next(name for name in BACKENDS if BACKENDS[name].configuration is Machines)
"""The backend that runs on these machines."""
ADDING = "adding a machine"
"""The current action, for error messages."""
FORGETTING = "discarding entries of journals"
"""The current action, for error messages."""
YES = "--yes"
"""The option that confirms that entries are discarded."""
ANSWER_CHARACTERS = 80
"""The number of characters that are read of an answer at the terminal."""
FAILED_THERE = "it failed on these machines"
"""The result of a command on several machines, for error messages."""


def configuration(inventory: Inventory) -> Machines:
    """Returns the backend's configuration for the machines of an inventory."""
    return Machines.of(inventory.machines)


def show(file: Path) -> None:
    """Prints the inventory; raises BadInput."""
    inventory = Inventory.load(file)
    has_sets = bool(named(inventory.sets()))
    rows = [
        [
            name,
            machine.reached_by,
            "; ".join(f"{interface}: {', '.join(there)}" for interface, there in machine.interfaces.items()),
            ", ".join(machine.may_change) or "nothing",
            ", ".join(machine.nodes),
            *([machine.set or ""] if has_sets else []),
        ]
        for name, machine in inventory.machines.items()
    ]
    headings = ["machine", "reached by", "interfaces", "may change", "nodes"]
    print_table([*headings, "set"] if has_sets else headings, rows)


def check(file: Path) -> int:
    """Reaches every machine, prints its properties and everything that is missing with its remedy, and
    returns the exit status. Raises BadInput, and CannotRun if no engine can be asked."""
    complete = True
    for name, machines in Inventory.load(file).sets().items():
        if name is not None:
            print(f"set {name}\n")
        complete &= _check(machines)
    if not complete:
        return CannotRun.exit_code
    say(f"nothing is missing: run a study with --backend {BACKEND} --machines {file}")
    return 0


def _check(inventory: Inventory) -> bool:
    """Reaches machines that run trials together, prints their properties and everything that is missing, and
    returns whether nothing is."""
    with BACKENDS[BACKEND].start(configuration(inventory)) as backend:
        preflight = backend.preflight(thorough=True)
    for machine in preflight.environment.machines or []:
        print_table([machine.name, ""], _rows(machine))
        print()
    for title, shortfalls in (("missing", preflight.missing), ("no", preflight.limits)):
        for remedy, alike in by_remedy(shortfalls).items():
            for shortfall in alike:
                print(f"{title} {shortfall.what}: {shortfall.why}")
            print(f"  remedy: {remedy}")
    return not preflight.missing


def _rows(machine: Machine) -> list[list[str]]:
    ahead, error = machine.clock_ahead_ns / 1e6, machine.clock_error_ns / 1e6
    source = f"{machine.clock_source}, " if machine.clock_source else ""
    rows = [
        ["system", machine.system],
        ["kernel", machine.kernel],
        ["CPU", f"{machine.processor}, {machine.processors} of {machine.architecture}"],
        ["user", "root" if machine.is_root else "not root: can change no settings"],
        ["clock", f"{source}{ahead:+.3f} ms ± {error:.3f} ms from this machine's"],
        ["CPUs' pace", f"governor {machine.governor}" if machine.governor else "not set by the kernel"],
        ["free ports", "not reported" if machine.free_ports is None else str(machine.free_ports)],
        ["congestion controls", ", ".join(machine.congestion_controls)],
    ]
    for interface in machine.interfaces:
        rows.append([f"interface {interface.name}", _interface(interface)])
    for reach in machine.reaches or []:
        rows.append([f"to {reach.to}, IPv{reach.ip.root}", _passes(reach.passed_bytes, reach.tried_bytes)])
    return rows


def _interface(interface: MachineInterface) -> str:
    offloads = interface.offloads.model_dump() if interface.offloads else {}
    on = [name for name, is_on in offloads.items() if is_on]
    largest = interface.largest_mtu_bytes
    parts = [
        "up" if interface.is_up else "down",
        f"driver {interface.driver}" if interface.driver else "driver unknown",
        interface.bus or "no bus",
        str(interface.speed.root) if interface.speed else "speed unknown",
        f"MTU {interface.mtu_bytes} B of at most {largest or 'any number of'} B",
        f"offloads: {', '.join(on) or 'none'}" if offloads else "offloads unknown",
        *([f"Wi-Fi: {_radio(interface.wireless)}"] if interface.wireless else []),
    ]
    return ", ".join(parts)


def _radio(radio: Wireless) -> str:
    rate = None if radio.sent_bps is None else f"sending at {radio.sent_bps / 1e6:.1f} Mbit/s"
    parts = [
        radio.frequency_mhz and f"{radio.frequency_mhz} MHz",
        radio.width_mhz and f"{radio.width_mhz} MHz wide",
        rate,
        radio.signal_dbm and f"received at {radio.signal_dbm} dBm",
        radio.access_point and f"access point {radio.access_point}",
    ]
    return ", ".join(str(part) for part in parts if part) or "no information from the driver"


def _passes(passed: int, tried: int) -> str:
    if not passed:
        return "no packet passes"
    jumbo = "jumbo frames pass" if passed > 1500 else "jumbo frames were not tried" if tried <= 1500 else ""
    text = f"packets of {passed} B pass"
    return f"{text}: {jumbo}" if jumbo else f"{text}, packets of {tried} B do not"


def copy_engine(file: Path, names: Sequence[str]) -> int:
    """Copies the engine to machines of the inventory and returns the exit status; raises BadInput, and
    CannotRun with every machine that did not get it."""
    inventory = Inventory.load(file)
    chosen = inventory.only(names) if names else inventory
    lacks = []
    for name, machine in chosen.machines.items():
        if machine.engine:
            say(
                f"{name}: nothing was copied, because the inventory has a command that starts the engine "
                "there"
            )
            continue
        lack = install(name, machine)
        if lack is None:
            say(f"{name}: installed")
        else:
            lacks.append(lack)
    if lacks:
        raise CannotRun("installing the engine", lacks, FAILED_THERE)
    return 0


def undo(file: Path, names: Sequence[str]) -> int:
    """Restores settings that sessions left changed on machines of the inventory, and returns the exit status;
    raises BadInput, and CannotRun with every machine on which that failed."""
    inventory = Inventory.load(file)
    chosen = inventory.only(names) if names else inventory
    lacks: list[Lack] = []
    for name, machine in chosen.machines.items():
        done = restore(name, machine)
        for line in done.output.splitlines():
            say(f"{name}: {line}")
        if done.lack is not None:
            lacks.append(done.lack)
        elif not done.output.strip():
            say(f"{name}: there was nothing to restore")
    if lacks:
        raise CannotRun("restoring settings", lacks, FAILED_THERE)
    return 0


def forget(file: Path, names: Sequence[str], confirmed: bool) -> int:
    """Shows the entries of machines' journals that can't be carried out, discards them after a confirmation,
    and returns the exit status; raises BadInput without the confirmation, and CannotRun with every machine on
    which that failed."""
    chosen = Inventory.load(file).only(names)
    lacks: list[Lack] = []
    kept: dict[str, Sequence[str]] = {}
    for name, machine in chosen.machines.items():
        journal, lack = forget_there(name, machine)
        lacks += [lack] if lack else []
        for restored in journal.restored:
            say(f"{name}: restored {restored}")
        for entry in journal.kept:
            say(f"{name}: {entry.entry}: {entry.why}")
        if journal.kept:
            kept[name] = [entry.key for entry in journal.kept]
        elif lack is None:
            say(f"{name}: there is nothing to forget")
    if kept:
        _confirm(sum(map(len, kept.values())), confirmed)
    for name, keys in kept.items():
        journal, lack = forget_there(name, chosen.machines[name], keys)
        lacks += [lack] if lack else []
        for text in journal.forgotten:
            say(f"{name}: forgot {text}")
    if lacks:
        raise CannotRun(FORGETTING, lacks, FAILED_THERE)
    return 0


def _confirm(count: int, confirmed: bool) -> None:
    """Asks at the terminal whether this number of entries is to be discarded, unless the option has confirmed
    it; raises BadInput if not."""
    if confirmed:
        return
    hint = f"set these settings yourself, if they are still wrong, and give {YES}"
    if sys.stdin.isatty():
        say("discard these entries? nettrial does not restore their settings any more [y/N]")
        if sys.stdin.readline(ANSWER_CHARACTERS).strip().lower() in ("y", "yes"):
            return
        raise BadInput(FORGETTING, YES, "not confirmed", "a yes, or the option", hint)
    entries = "1 entry" if count == 1 else f"{count} entries"
    raise BadInput(FORGETTING, YES, f"missing, and {entries} would be discarded", "the option", hint)


def add(
    file: Path,
    name: str,
    ssh: str | None,
    command: str | None,
    interfaces: Sequence[str],
    may_change: Sequence[str],
    nodes: Sequence[str],
    of_set: str | None = None,
) -> None:
    """Adds a machine to the inventory, which is created if there is none; raises BadInput."""
    entry: dict[str, object] = {"ssh": ssh} if ssh else {}
    entry |= {"command": shlex.split(command)} if command else {}
    given: dict[str, list[str]] = {}
    for text in interfaces:
        interface, equals, addresses = text.partition("=")
        if not equals:
            raise BadInput(READING, "--interface", text, "NAME=ADDRESS,...", "such as eth0=192.0.2.1")
        given.setdefault(interface, []).extend(addresses.split(","))
    entry |= {"interfaces": given}
    entry |= {"may_change": list(may_change)} if may_change else {}
    entry |= {"nodes": list(nodes)} if nodes else {}
    entry |= {"set": of_set} if of_set else {}
    try:
        MachineSettings.model_validate(entry)
    except ValidationError as error:
        faults = [
            Fault(".".join(map(str, wrong.place)), wrong.value, wrong.expected, wrong.hint)
            for wrong in Wrong.of(error)
        ]
        raise BadInput.listing(ADDING, faults) from None
    # Only this library keeps the comments of a file, and it takes a while to load.
    from ruamel.yaml import YAML

    yaml = YAML(typ="rt")
    document: dict[str, Any] = {"machines": {}}
    if file.exists():
        known = Inventory.load(file)
        if name in known.machines:
            raise BadInput(
                ADDING,
                "MACHINE",
                name,
                "a name that no other machine has",
                f"{file} has a machine of that name",
            )
        document = _with_comments(yaml, file)
    document["machines"][name] = entry
    written = io.StringIO()
    yaml.dump(document, written)
    part = file.with_name(file.name + ".part")
    with open(created(part), "w", encoding="utf-8") as new:
        new.write(written.getvalue())
    try:
        Inventory.load(part)
    except BadInput:
        part.unlink()
        raise
    part.replace(file)
    say(f"{file}: {name} was added; next: nettrial machines install {name}, nettrial machines check")


def _with_comments(yaml: Any, file: Path) -> Any:
    """Returns the content of an inventory with its comments; raises BadInput."""
    try:
        return yaml.load(read_text(file, MOST_STUDY_BYTES))
    # This library raises many kinds of errors, for malformed dates, for example.
    except Exception as error:
        raise BadInput(ADDING, str(file), " ".join(str(error).split())[:80], "YAML 1.2") from None
