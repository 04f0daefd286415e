"""Machines that a test creates: a sender, routers and a receiver, each a network namespace with a home
directory and an OpenSSH server of its own, and the runner, which reaches them over a network that carries no
traffic of trials.

All of it runs in a `Sandbox`, and ends with that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path

from nettrial.backends.find import engine
from tests import forked
from tests.lab.lacking import lacking
from tests.lab.sandbox import Sandbox, children, wait_for

ROOT = Path(__file__).parents[2]
SERVER = ROOT / ".venv" / "openssh-server"
"""The OpenSSH server that tools/setup-tests.sh extracts."""
MACHINES = ("sender", "router", "receiver")
OTHERS = {"sender": "client", "receiver": "server"}
"""The names of machines for nodes of studies that differ."""
ROW = ("sender", "left", "right", "receiver")
"""The names of four machines in a row."""
SETS = {"one": {"sender": "eth0", "left": "eth0"}, "other": {"right": "eth1", "receiver": "eth0"}}
"""Two sets of machines: the first two of a row and the last two, each with the interface that leads to the
other machine of its set."""
MAY_CHANGE = "mtu, offloads, icmp, congestion_control, sysctls"
OFFLOADS = (sys.executable, "-I", "-S", str(ROOT / "tests" / "lab" / "offloads.py"))
"""The command that prints the offloads of interfaces."""
OWN_SYSCTL = ("net.ipv4.tcp_notsent_lowat", "1000000")
"""A sysctl of hosts, which no stack sets, and a value that machines do not have."""
WATCHED = (
    *("net.ipv4.tcp_sack", "net.ipv4.tcp_timestamps", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"),
    OWN_SYSCTL[0],
)


def short_study(duration: str, receiver: str = "linux-cubic", replicates: int = 1) -> list[str]:
    """Returns the words of a command that runs `jumbo-ipv6` with two MTUs and short traffic."""
    return [
        "jumbo-ipv6",
        "--set=mtu=1500,9000",
        "--set=sender=linux-cubic",
        f"--set=receiver={receiver}",
        f"--set=workload.transfer.traffic.duration={duration}",
        f"--set=workload.probe.traffic.duration={duration}",
        f"--replicates={replicates}",
        "--seed=1",
    ]


def addresses(names: tuple[str, ...]) -> dict[str, dict[str, list[str]]]:
    """Returns the addresses of each interface of machines in a row: hosts at both ends have the number 1; of
    two routers, the one nearer to the sender has 254."""
    found: dict[str, dict[str, list[str]]] = {name: {} for name in names}

    def add(name: str, network: int, number: int) -> None:
        interface = f"eth{len(found[name])}"
        found[name][interface] = [f"10.81.{network}.{number}", f"fd81:{network}::{number:x}"]

    for network, (one, other) in enumerate(pairwise(names), 1):
        add(one, network, 1 if one == names[0] else 254)
        add(other, network, 1 if other == names[-1] else 254 if one == names[0] else 253)
    return found


class Machines:
    """Machines in a row, of which the first and the last are hosts, and a runner."""

    def __init__(self, sandbox: Sandbox, folder: Path, names: tuple[str, ...] = MACHINES) -> None:
        self.folder = folder
        self.sandbox = sandbox
        self.names = names
        self.interfaces = addresses(names)
        self.started: list[subprocess.Popen[bytes]] = []
        self._holders = {name: self._hold(name) for name in ("runner", *names)}
        self._join()
        self._serve()
        self.file = folder / "machines.yaml"
        self.write()

    def _hold(self, name: str) -> int:
        """Starts a process that holds the namespaces of a machine, and returns its identifier outside the
        sandbox."""
        home = self.folder / name
        home.mkdir()
        users = Path("/etc/passwd").read_text().splitlines()
        users = [line for line in users if not line.startswith(("root:", "sshd:"))]
        users += [f"root:x:0:0:root:{home}:/bin/sh", "sshd:x:65000:65534::/run/sshd:/usr/sbin/nologin", ""]
        passwd = self.folder / f"passwd-{name}"
        passwd.write_text("\n".join(users))
        script = "mount -t sysfs sysfs /sys && mount -t tmpfs none /run && mkdir /run/sshd"
        # Its journal is on a disk of its own, too.
        state = self.folder / f"state-{name}"
        state.mkdir()
        script += f" && mount --bind {state} /var/lib"
        script += f" && mount --bind {passwd} /etc/passwd && ip link set lo up && exec sleep 100000"
        command = ["unshare", "--net", "--mount", "sh", "-ec", script]
        process = subprocess.Popen(self.sandbox.command(command), stdin=subprocess.DEVNULL)
        self.started.append(process)
        assert wait_for(lambda: children(process.pid))
        number = children(process.pid)[0]
        # Until then it is in the sandbox's network. Its command line shows that too early, because it
        # contains the script.
        assert wait_for(lambda: Path(f"/proc/{number}/comm").read_text() == "sleep\n"), name
        return number

    def inside(self, name: str, command: list[str]) -> list[str]:
        """Returns the command line that runs `command` on a machine, or on the runner."""
        enter = ["nsenter", "--target", str(self._holders[name]), "--pid", "--net", "--mount", "--"]
        return [*enter, "env", f"--chdir={self.folder}", f"HOME={self.folder / name}", *command]

    def do(self, name: str, *command: str) -> str:
        """Runs a command there and returns its output."""
        done = subprocess.run(self.inside(name, list(command)), capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{name}: {' '.join(command)}: {done.stderr}"
        return done.stdout

    def _join(self) -> None:
        """Creates the network of the trials, and that of the runner."""

        def link(one: str, at: str, other: str, there: str) -> None:
            pid = str(self._holders[other])
            outer = ["nsenter", "--target", str(self._holders[one]), "--net", "--"]
            add = ["ip", "link", "add", at, "type", "veth", "peer", "name", there, "netns", pid]
            subprocess.run([*outer, *add], check=True)

        for one, other in pairwise(self.names):
            link(one, list(self.interfaces[one])[-1], other, "eth0")
        for name, interfaces in self.interfaces.items():
            for interface, addresses in interfaces.items():
                for address in addresses:
                    length, more = ("64", ["nodad"]) if ":" in address else ("24", [])
                    self.do(name, "ip", "address", "add", f"{address}/{length}", "dev", interface, *more)
                self.do(name, "ip", "link", "set", interface, "up")
        # Each machine reaches the networks behind a neighbour through it.
        networks = range(1, len(self.names))
        for place, name in enumerate(self.names):
            for network in networks:
                if network in (place, place + 1):
                    continue
                next_one, at = (place - 1, -1) if network < place else (place + 1, 0)
                gateways = list(self.interfaces[self.names[next_one]].values())[at]
                for gateway, to in zip(
                    gateways, (f"10.81.{network}.0/24", f"fd81:{network}::/64"), strict=True
                ):
                    self.do(name, "ip", "route", "add", to, "via", gateway)
            if 0 < place < len(self.names) - 1:
                self.do(name, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        self.do("runner", "ip", "link", "add", "control", "type", "bridge")
        self.do("runner", "ip", "address", "add", "10.80.0.254/24", "dev", "control")
        self.do("runner", "ip", "link", "set", "control", "up")
        for number, name in enumerate(self.names, 1):
            link("runner", f"c-{name}", name, "control")
            self.do("runner", "ip", "link", "set", f"c-{name}", "master", "control", "up")
            self.do(name, "ip", "address", "add", f"10.80.0.{number}/24", "dev", "control")
            self.do(name, "ip", "link", "set", "control", "up")

    def _serve(self) -> None:
        """Starts the OpenSSH servers, and lets the runner in."""
        own = self.folder / "runner" / ".ssh"
        own.mkdir(mode=0o700)
        make = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f"]
        subprocess.run([*make, str(own / "id_ed25519")], check=True)
        known, hosts = [], []
        libraries = ":".join(str(path) for path in SERVER.glob("**/x86_64-linux-gnu")) or str(SERVER)
        libraries = ":".join({str(path.parent) for path in SERVER.rglob("libwrap.so*")}) or libraries
        for number, name in enumerate(self.names, 1):
            home = self.folder / name
            (home / ".ssh").mkdir(mode=0o700)
            (home / ".ssh" / "authorized_keys").write_text((own / "id_ed25519.pub").read_text())
            subprocess.run([*make, str(home / "host_key")], check=True)
            known.append(f"10.80.0.{number} {(home / 'host_key.pub').read_text().strip()}")
            hosts.append(f"Host {name}\n  HostName 10.80.0.{number}\n")
            settings = [
                f"ListenAddress 10.80.0.{number}",
                f"HostKey {home / 'host_key'}",
                "PidFile none",
                "UsePAM no",
                "StrictModes no",
                "PermitRootLogin yes",
                "PasswordAuthentication no",
                f"AuthorizedKeysFile {home / '.ssh' / 'authorized_keys'}",
                "MaxStartups 100",
                f"SetEnv PATH={os.environ['PATH']}",  # Some tools are in a directory that only tests search.
            ]
            for separate in ("sshd-session", "sshd-auth"):
                if (SERVER / "usr/lib/openssh" / separate).exists():
                    option = "".join(word.title() for word in separate.split("-")) + "Path"
                    settings.append(f"{option} {SERVER / 'usr/lib/openssh' / separate}")
            (home / "sshd_config").write_text("\n".join([*settings, ""]))
            sshd = [str(SERVER / "usr/sbin/sshd"), "-D", "-e", "-f", str(home / "sshd_config")]
            log = (self.folder / f"sshd-{name}.log").open("wb")
            command = self.inside(name, ["env", f"LD_LIBRARY_PATH={libraries}", *sshd])
            self.started.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log))
        (own / "known_hosts").write_text("\n".join([*known, ""]))
        (own / "config").write_text("".join(hosts))
        for name in self.names:
            said = self.folder / f"sshd-{name}.log"
            assert wait_for(partial(_is_listening, said)), said.read_text()

    def write(self, may_change: str = MAY_CHANGE, **other: str) -> None:
        """Writes the inventory; `other` are further lines of a machine, or another way to reach it."""
        lines = ["machines:"]
        for name in self.names:
            lines += [f"  {name}:", f"    {other.get(name, f'ssh: root@{name}')}", "    interfaces:"]
            interfaces = list(self.interfaces[name].items())
            # Studies list the links of hosts before those between routers, and so must the inventory.
            for interface, found in interfaces[:: -1 if name == "right" else 1]:
                # IPv6 addresses need no quotes in a list of lines.
                lines += [f"      {interface}:", *(f'        - "{address}"' for address in found)]
            nodes = ", ".join([name, *([OTHERS[name]] if name in OTHERS else [])])
            lines += [f"    may_change: [{may_change}]", f"    nodes: [{nodes}]"]
        self.file.write_text("\n".join([*lines, ""]))

    def write_sets(self, file: str, sets: Mapping[str, Mapping[str, str]]) -> None:
        """Writes an inventory in which machines of a row are sets of a sender and a receiver."""
        lines = ["machines:"]
        for name, machines in sets.items():
            for node, (machine, interface) in zip(("sender", "receiver"), machines.items(), strict=True):
                addresses = ", ".join(f'"{address}"' for address in self.interfaces[machine][interface])
                lines += [
                    f"  {machine}:",
                    f"    ssh: root@{machine}",
                    f"    interfaces: {{{interface}: [{addresses}]}}",
                    f"    may_change: [{MAY_CHANGE}]",
                    f"    nodes: [{node}]",
                    f"    set: {name}",
                ]
        (self.folder / file).write_text("\n".join([*lines, ""]))

    def nettrial(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs a command of nettrial on the runner."""
        return forked.run(self._command(arguments))

    def start(self, *arguments: str) -> forked.Process:
        """Starts a command of nettrial on the runner."""
        return forked.Process(self._command(arguments))

    def _command(self, arguments: tuple[str, ...]) -> forked.Command:
        """Returns a command of nettrial. A line replaces the report's page, which takes longer than a run."""
        given = {**environment(), "HOME": str(self.folder / "runner")}
        inside = self._holders["runner"]
        return forked.Command(arguments, given, self.folder, report=False, inside=inside)

    def shape(self, rate: str, packets: int) -> None:
        """Sets a rate of bytes on the wire on each link, and queues of `packets` packets."""
        for name, interfaces in self.interfaces.items():
            for interface in interfaces:
                # GSO packets of one segment are accounted exactly.
                self.do(name, "ip", "link", "set", interface, "gso_max_segs", "1")
                at = ["dev", interface]
                # A test may be repeated on the same machines.
                self.do(name, "sh", "-c", f"tc qdisc delete dev {interface} root 2>&1 || true")
                size = ["stab", "overhead", "24", "mpu", "84"]
                self.do(name, "tc", "qdisc", "add", *at, "root", "handle", "1:", *size, "htb", "default", "1")
                self.do(
                    *(name, "tc", "class", "add", *at, "parent", "1:", "classid", "1:1", "htb", "rate", rate),
                    *("burst", "20kb", "cburst", "20kb"),
                )
                queue = ["pfifo", "limit", str(packets)]
                self.do(name, "tc", "qdisc", "add", *at, "parent", "1:1", "handle", "10:", *queue)

    def install(self) -> None:
        """Installs the engine on every machine."""
        done = self.nettrial("machines", "install", f"--machines={self.file}")
        assert done.returncode == 0, done.stderr

    def state(self) -> dict[str, str]:
        """Returns the settings of each machine that a study may change, and its journal, by the machine's
        name."""
        found = {}
        for name, interfaces in self.interfaces.items():
            links = {link["ifname"]: link for link in json.loads(self.do(name, "ip", "-d", "-j", "link"))}
            offloads = self.do(name, *OFFLOADS, *interfaces).splitlines()
            for interface, active in zip(interfaces, offloads, strict=True):
                link = links[interface]
                sizes = {key: link[key] for key in link if "tso_max" in key or "gso_max" in key}
                found[f"{name} {interface}"] = f"MTU {link['mtu']}, {sizes}, offloads {active}"
            found[f"{name} rules"] = self.do(name, "sh", "-c", "ip rule && ip -6 rule")
            sysctls = self.do(name, "sysctl", *WATCHED).splitlines()
            found |= {f"{name} {sysctl.split()[0]}": sysctl for sysctl in sysctls}
            journal = self.journal(name)
            found[f"{name} journal"] = journal.read_text() if journal.exists() else "none"
        return found

    def journal(self, name: str) -> Path:
        """Returns the file of a machine's journal."""
        return self.folder / f"state-{name}" / "nettrial" / "journal"

    def engines(self) -> dict[int, str]:
        """Returns the running engines of the runner and the machines, by their process identifier in the
        sandbox."""
        return {
            number: command
            for number, command in self.sandbox.processes().items()
            if any(word in command for word in ("engine", "/proc/self/exe", "ServerAlive"))
        }


@contextmanager
def installed(folder: Path, names: tuple[str, ...] = MACHINES) -> Iterator[Machines]:
    """Yields machines with an installed engine, and removes them afterwards. Skips the test without an
    OpenSSH server."""
    if not SERVER.exists():
        lacking("there is no OpenSSH server: tools/setup-tests.sh fetches it")
    sandbox = Sandbox()
    try:
        made = Machines(sandbox, folder, names)
        made.install()
        yield made
    finally:
        sandbox.close()


def settled(machines: Machines, before: dict[str, str]) -> None:
    """Checks that every setting has its earlier value, and that no process of nettrial is left."""
    assert wait_for(lambda: not machines.engines()), machines.engines()
    after = machines.state()
    assert {name: after[name] for name in after if after[name] != before[name]} == {}


def _is_listening(log: Path) -> bool:
    return b"listening" in log.read_bytes()


def environment() -> dict[str, str]:
    """Returns the environment of commands on the runner."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "NETTRIAL_ENGINE": str(engine())}


@contextmanager
def made(folder: Path) -> Iterator[Machines]:
    """Yields machines, and removes them afterwards."""
    sandbox = Sandbox()
    try:
        yield Machines(sandbox, folder)
    finally:
        sandbox.close()
