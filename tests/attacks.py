"""Attacks on the ports that nettrial opens, and honest clients meanwhile.

`python -m tests.attacks PORT VERSION [TIMES]` starts a server at the loopback addresses of an IP version,
holds connections from many addresses, and prints how many requests of honest clients were served, as JSON.
The engine's server is measured TIMES times (default: 3) under each attack, because a measurement takes
seconds of CPU time. All addresses of attackers must be local: those of IPv4 are so on every Linux, and those
of IPv6 need a network namespace with a route (`NAMESPACE`)."""

import asyncio
import contextlib
import http.client
import json
import os
import re
import selectors
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests import forked

ROOT = Path(__file__).parents[1]
TOKEN = "a-token-only-for-these-attacks"
SERVE = ("-m", "nettrial.cli", "serve", "--port", "0")
LOOPBACK = {4: "127.0.0.1", 6: "::1"}
NETWORKS = 8
"""The number of addresses, or of IPv6 networks, of the attackers."""
NAMESPACE = (
    "ip link set lo up && sysctl -qw net.ipv6.ip_nonlocal_bind=1 && "
    "ip -6 route add local 2001:db8::/32 dev lo && "
)
"""The shell commands that give a new network namespace the attackers' addresses."""
PATIENCE = 300.0
"""The time limit in seconds for operations that take milliseconds on a quiet machine."""
MEMORY_MB = 60.0
"""The largest growth of a server's memory, which was 780 MB with 1,300 idle connections over TLS."""
HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Filler: "
"""The beginning of a request that never ends."""


def attackers(version: int, number: int, networks: int = NETWORKS) -> str:
    """Returns the address of an attacker: one of as many addresses of IPv4, or an address of its own in one
    of as many networks of IPv6."""
    network = number % networks
    return f"127.0.1.{network + 1}" if version == 4 else f"2001:db8:0:{network + 1}::{number + 1:x}"


class Held:
    """Connections that are held open, each of which begins anew when the server ends it."""

    def __init__(self, version: int, port: int, count: int, networks: int, begin: bytes, tls: bool) -> None:
        self._at = (LOOPBACK[version], port)
        self._from = [attackers(version, number, networks) for number in range(count)]
        self._begin, self._tls = begin, tls
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context.check_hostname, self._context.verify_mode = False, ssl.CERT_NONE
        self._selector = selectors.DefaultSelector()
        self._ended = threading.Event()
        self.opened = 0
        """The number of connections that the server has accepted so far, or its kernel for it."""
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Held":
        for address in self._from:
            self._open(address)
        assert self.opened > len(self._from) / 2, "there is no attack"
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]

    def _open(self, address: str) -> None:
        with contextlib.suppress(OSError):
            made = socket.create_connection(self._at, 1.0, (address, 0))
            if self._tls:
                made = self._context.wrap_socket(made)
            elif self._begin:
                made.sendall(self._begin)
            made.setblocking(False)
            self._selector.register(made, selectors.EVENT_READ, address)
            self.opened += 1
            return
        time.sleep(0.001)

    def _run(self) -> None:
        missing: list[str] = []
        while not self._ended.is_set():
            for key, _ in self._selector.select(0.01):
                made: Any = key.fileobj
                try:
                    ended = not made.recv(65_536)
                except (BlockingIOError, ssl.SSLWantReadError):
                    continue
                except OSError:
                    ended = True
                if ended:
                    self._selector.unregister(made)
                    made.close()
                    missing.append(key.data)
            again, missing = missing, []
            for address in again:
                if self._ended.is_set():
                    return
                self._open(address)


@contextlib.contextmanager
def server(*words: str) -> Iterator[tuple[int, int, Callable[[], str]]]:
    """Runs a command, and yields its process, the port that it says, and a function that returns its
    messages."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NETTRIAL_TOKEN": TOKEN, "NO_COLOR": "1"}
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen([sys.executable, *words], env=environment, stderr=log, stdout=log)

        def said() -> str:
            return os.pread(log.fileno(), 1 << 20, 0).decode()

        try:
            deadline = time.monotonic() + PATIENCE
            while not (found := re.search(r"serving .* at \S*:(\d+)", said())):
                assert time.monotonic() < deadline, said()
                assert process.poll() is None, said()
                time.sleep(0.02)
            yield process.pid, int(found[1]), said
            assert process.poll() is None, f"the server died: {said()}"
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


def attacked(port: str, version: int, *before: str) -> dict[str, Any]:
    """Runs an attack in a process, after other words of a command line, and returns its figures."""
    command = [*before, sys.executable, "-m", "tests.attacks", port, str(version), "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stderr, done.stdout)
    assert done.returncode == 0
    return dict(json.loads(done.stdout))


def unserved(figures: dict[str, Any]) -> dict[str, Any]:
    """Returns the figures "served of asked" whose parts differ, and other figures that are wrong."""
    wrong = {}
    for name, figure in figures.items():
        if name.endswith("tracebacks"):
            good = figure == 0
        elif name.endswith("in order"):
            good = figure
        elif name.endswith("memory, MB"):
            good = figure[1] - figure[0] < MEMORY_MB
        elif name.endswith("opened"):
            good = figure > 0
        else:
            good = figure[0] == figure[1] > 0
        if not good:
            wrong[name] = figure
    return wrong


def served(ask: Callable[[], bool], times: int) -> tuple[int, int]:
    """Asks some times, and returns the number of requests that were served, and of all."""
    return sum(ask() for _ in range(times)), times


def peak_mb(process: int) -> float:
    """Returns the largest memory in use of a process so far (VmHWM, proc_pid_status(5)) in MB."""
    found = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found
    return int(found[1]) / 1000


def pages(version: int) -> dict[str, Any]:
    """Attacks the page of a monitor."""
    found: dict[str, Any] = {}
    with server("-m", "tests.attacks", "serve-pages", str(version)) as (_, port, _):

        def ask(path: str) -> bool:
            connection = http.client.HTTPConnection(LOOPBACK[version], port, timeout=PATIENCE)
            try:
                connection.request("GET", path, headers={"Host": "localhost"})
                return connection.getresponse().status == 200
            except (OSError, http.client.HTTPException):
                return False
            finally:
                connection.close()

        assert ask("/metrics")
        for name, count, networks, begin in (
            ("silent, from one network", 40, 1, b""),
            ("silent", 300, NETWORKS, b""),
            ("in the middle of a header", 300, NETWORKS, HEAD),
        ):
            with Held(version, port, count, networks, begin, False):
                found[f"page: {name}"] = served(lambda: ask("/"), 29)
                found[f"metrics: {name}"] = served(lambda: ask("/metrics"), 29)
    return found


def serve_pages(version: int) -> None:
    """Serves the pages of a small archive."""
    from nettrial.monitor.archive import Archive, KnownSession
    from nettrial.monitor.site import server

    with tempfile.TemporaryDirectory() as directory:
        archive = Archive.create(Path(directory))
        with archive.transaction():
            session = archive.begin_session(KnownSession("campus", "1 d", 0, time.time(), "running"))
            archive.add_task(session, "t a b", ("a", "b"), 60, "t", "TCP", ["goodput"])
        archive.close()
        with server(Path(directory), LOOPBACK[version], 0) as pages, pages.running():
            print(f"serving pages at {LOOPBACK[version]}:{pages.server_port}", flush=True)
            threading.Event().wait()


def ndt7(version: int) -> dict[str, Any]:
    """Attacks an ndt7 server, with and without TLS."""
    from nettrial.protocols.ndt7.client import Ndt7NotReached, Ndt7Server, transfer

    found: dict[str, Any] = {}
    for plain, count in ((False, 1300), (True, 1300)):
        words = [*SERVE, "--ndt7", "--bind", LOOPBACK[version]]
        with server(*words, *(["--plain"] if plain else [])) as (process, port, said):
            target = Ndt7Server("localhost", LOOPBACK[version], port, plain=plain, verify=False)

            def ask(target: Ndt7Server = target) -> bool:
                try:
                    return asyncio.run(transfer(target, "download", 0.1)).num_bytes > 0
                except Ndt7NotReached as why:
                    print(f"not served: {why}", file=sys.stderr)
                    return False

            assert ask()
            before = peak_mb(process)
            with Held(version, port, count, NETWORKS, HEAD if plain else b"", not plain) as held:
                name = f"ndt7{'' if plain else ' with TLS'}"
                found[name] = served(ask, 4)
                found[f"{name}: opened"] = held.opened
            found[f"{name}: memory, MB"] = [before, peak_mb(process)]
            messages = said()
            found[f"{name}: tracebacks"] = messages.count("Traceback")
            if "Traceback" in messages:
                print(messages, file=sys.stderr)
    return found


def stamp(version: int) -> dict[str, Any]:
    """Attacks a reflector of STAMP: 32 sessions from each of eight addresses, again and again."""
    from nettrial.protocols.stamp.clock import ntp
    from nettrial.protocols.stamp.packet import Sent, sender_packet
    from nettrial.protocols.stamp.sender import ReflectorSession, Sender, StampNotReached

    family = socket.AF_INET if version == 4 else socket.AF_INET6
    with (
        server("-m", "nettrial.cli", "serve", "--stamp", "--port", "0", "--bind", LOOPBACK[version]) as (
            _,
            port,
            _,
        ),
        contextlib.ExitStack() as stack,
    ):
        sockets = [
            stack.enter_context(socket.socket(family, socket.SOCK_DGRAM)) for _ in range(32 * NETWORKS)
        ]
        for number, each in enumerate(sockets):
            each.bind((attackers(version, number), 0))

        def flood() -> None:
            for each in sockets:
                packet = sender_packet(Sent(0, ntp(time.time_ns()), 1, 0), 44, None)
                each.sendto(packet, (LOOPBACK[version], port))
                time.sleep(0.0002)

        flood()
        ended = threading.Event()

        def go_on() -> None:
            while not ended.is_set():
                flood()

        thread = threading.Thread(target=go_on)
        thread.start()
        try:
            result = Sender(ReflectorSession(LOOPBACK[version], port, 5, 0.02, 44)).run()
            answers, sent = len({each.number for each in result.answers}), result.sent
            in_order = [each.reflector_number for each in result.answers] == list(range(5))
        except StampNotReached:
            answers, sent, in_order = 0, 5, False
        ended.set()
        thread.join()
    return {"stamp": (answers, sent), "stamp: numbers in order": in_order}


def engine(version: int, times: int) -> dict[str, Any]:
    """Attacks the engine's own ports, `serve` and `serve --iperf3`, each of which is measured so many times
    under each attack."""
    found: dict[str, Any] = {}
    for name, option in (("serve", []), ("iperf3", ["--iperf3"])):
        words = [*SERVE, *option, "--bind", LOOPBACK[version]]
        with server(*words) as (_, port, _):
            words = ["measure", LOOPBACK[version], *option, "--port", str(port), "--time", "200 ms"]
            environment = {**os.environ, **({} if option else {"NETTRIAL_TOKEN": TOKEN})}
            command = forked.Command((*words, "--replicates", "1", "--json"), environment)

            def ask(command: forked.Command = command) -> bool:
                return forked.run(command).returncode == 0

            # An attack takes all CPUs, and should not wait until the fork server has loaded nettrial.
            assert ask()

            for many, networks in ((400, 1), (1200, NETWORKS)):
                with Held(version, port, many, networks, b"", False):
                    found[f"{name}: {many} silent from {networks}"] = served(ask, times)
    return found


def main() -> None:
    """Attacks the port that is named in the arguments."""
    what, version = sys.argv[1], int(sys.argv[2])
    if what == "serve-pages":
        serve_pages(version)
        return
    times = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    attacks: dict[str, Callable[[], dict[str, Any]]] = {
        "pages": lambda: pages(version),
        "ndt7": lambda: ndt7(version),
        "stamp": lambda: stamp(version),
        "engine": lambda: engine(version, times),
    }
    print(json.dumps(attacks[what]()))


if __name__ == "__main__":
    main()
