"""The journal of a machine's changed settings: real engines in a network namespace with a disk of its own. No
entry is lost, no entry locks the machine out, and one session at a time changes settings, whoever runs it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from nettrial.backends.find import engine
from tests import forked
from tests.lab.machines import environment
from tests.lab.sandbox import PATIENCE, Sandbox, children, wait_for

DIRECTORY = "/var/lib/nettrial"
NOBODY = 65534
GONE = '{"setting":{"mtu":{"interface":"eth7"}},"value":"1500"}'
OLD_MTU = '{"setting":{"mtu":{"interface":"eth0"}},"value":"1400"}'
UNKNOWN = '{"setting":{"mtu":{"interface":"eth0"}},"value":"1500","colour":"red"}'


class Machine:
    """A network namespace with the interface eth0, and with its own /var/lib and /root."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self.sandbox = sandbox
        self.folder = folder
        script = (
            "for at in /var/lib /root; do mount -t tmpfs -o mode=755 none $at; done; mkdir /root/a /root/b"
        )
        script += " && ip link add eth0 type veth peer name far0 && ip link set lo up && exec sleep 100000"
        command = sandbox.command(["unshare", "--net", "--mount", "sh", "-ec", script])
        self._started = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        assert wait_for(lambda: children(self._started.pid))
        self._holder = children(self._started.pid)[0]
        assert wait_for(lambda: Path(f"/proc/{self._holder}/comm").read_text() == "sleep\n")
        self.root = Path(f"/proc/{self._holder}/root")
        # Another user can read the engine here.
        self.engine = self.put("/var/lib/engine", engine().read_bytes(), 0o755)
        self.sessions: list[Session] = []

    def put(self, path: str, data: bytes, mode: int = 0o644) -> str:
        """Writes a file there, and returns its path there."""
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        file.chmod(mode)
        return path

    def inside(self, *command: str, home: str = "/root/a", user: int = 0) -> list[str]:
        """Returns the command line that runs a command there."""
        enter = ["nsenter", "--target", str(self._holder), "--pid", "--net", "--mount", "--"]
        given = [] if user == 0 else ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]
        return [*enter, *given, "env", "--chdir=/", f"HOME={home}", *command]

    def do(self, *command: str, **how: Any) -> subprocess.CompletedProcess[str]:
        """Runs a command there."""
        return subprocess.run(
            self.inside(*command, **how), capture_output=True, text=True, check=False, timeout=PATIENCE
        )

    def restore(self, *arguments: str, **how: Any) -> subprocess.CompletedProcess[str]:
        """Restores settings there."""
        return self.do(self.engine, "machine", *(arguments or ("restore",)), **how)

    def mtu(self) -> int:
        """Returns the MTU of eth0."""
        (link,) = json.loads(self.do("ip", "-j", "link", "show", "eth0").stdout)
        return int(link["mtu"])

    def journal(self, directory: str = DIRECTORY) -> list[str]:
        """Returns the lines of the journal."""
        file = self.root / f"{directory}/journal".lstrip("/")
        return file.read_bytes().decode(errors="replace").splitlines() if file.exists() else []

    def session(self, **how: Any) -> Session:
        """Starts a session."""
        self.sessions.append(Session(self, how))
        return self.sessions[-1]

    def guards(self) -> list[int]:
        """Returns the processes of its guards in the sandbox."""
        return [number for number, words in self.sandbox.processes().items() if "machine guard" in words]

    def close(self) -> None:
        for session in self.sessions:
            session.end()
        self.sandbox.send(self._started.pid, signal.SIGKILL)
        self._started.kill()
        self._started.wait()


class Session:
    """A session with the engine on the machine."""

    def __init__(self, machine: Machine, how: dict[str, Any]) -> None:
        self.process = subprocess.Popen(
            machine.inside(machine.engine, "machine", "serve", **how),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._said: str | None = None
        assert self.process.stdout is not None
        assert self.process.stdout.readline().startswith("nettrial-machine ")

    @property
    def input(self) -> IO[str]:
        """Its standard input."""
        assert self.process.stdin is not None
        return self.process.stdin

    def ask(self, question: object) -> Any:
        """Sends a question, and returns the answer."""
        assert self.process.stdout is not None
        self.input.write(json.dumps(question) + "\n")
        self.input.flush()
        return json.loads(self.process.stdout.readline())

    def begin(self, mtu: int | None = None) -> Any:
        """Begins a trial, with this MTU."""
        change = {"setting": {"mtu": {"interface": "eth0"}}, "value": str(mtu)}
        return self.ask({"begin": {"settings": [change] if mtu else [], "agent": False}})

    def end(self) -> str:
        """Ends the session, and returns what it said on standard error."""
        if self._said is None:
            with contextlib.suppress(OSError):
                self.input.close()
            assert self.process.stderr is not None
            with self.process:
                self._said = self.process.stderr.read()
        return self._said


@pytest.fixture
def machine(sandbox: Sandbox, tmp_path: Path) -> Iterator[Machine]:
    made = Machine(sandbox, tmp_path)
    yield made
    made.close()


def test_an_entry_that_is_not_understood_is_kept_and_the_others_are_carried_out(machine: Machine) -> None:
    machine.put(f"{DIRECTORY}/journal", f"{UNKNOWN}\n{OLD_MTU}\n".encode())
    done = machine.restore()
    assert done.returncode == 99
    assert "restored the MTU of eth0: 1400" in done.stdout
    assert "colour" in done.stderr
    assert "does not understand it" in done.stderr
    assert machine.mtu() == 1400
    assert machine.journal() == [UNKNOWN]
    # The setting may still be changed, so no session measures with it.
    assert "nettrial machines forget" in machine.session().begin(9000)["failed"]["message"]
    assert machine.journal() == [UNKNOWN]


def test_bytes_that_are_no_text_are_kept_and_the_others_are_carried_out(machine: Machine) -> None:
    machine.put(f"{DIRECTORY}/journal", b"\xff\n" + OLD_MTU.encode() + b"\n")
    done = machine.restore()
    assert (done.returncode, machine.mtu()) == (99, 1400)
    assert (machine.root / f"{DIRECTORY}/journal".lstrip("/")).read_bytes() == b"\xff\n"


def test_an_entry_of_an_interface_that_is_gone_waits_for_it_and_blocks_no_session(machine: Machine) -> None:
    machine.put(f"{DIRECTORY}/journal", f"{GONE}\n{OLD_MTU}\n".encode())
    session = machine.session()
    assert session.begin(9000) == "begun"
    assert machine.mtu() == 9000
    assert len(machine.journal()) == 2
    assert "settings that an earlier session changed are not restored yet: the MTU of eth7" in session.end()
    assert machine.mtu() == 1400
    assert machine.journal() == [GONE]
    assert "the MTU of eth7" in machine.restore().stderr
    machine.do("ip", "link", "add", "eth7", "mtu", "1300", "type", "veth", "peer", "name", "far7")
    assert machine.restore().returncode == 0
    assert "mtu 1500" in machine.do("ip", "link", "show", "eth7").stdout
    assert machine.journal() == []


@pytest.mark.parametrize("user", [0, NOBODY])
def test_sessions_of_different_users_and_homes_exclude_each_other(machine: Machine, user: int) -> None:
    first, second = machine.session(home="/root/a"), machine.session(home="/root/b", user=user)
    assert first.begin(9000) == "begun"
    said = second.begin(2000 if user == 0 else None)["failed"]["message"]
    assert "another nettrial session is using this machine (process " in said
    assert "of user 0)" in said
    first.end()
    assert (machine.mtu(), machine.journal()) == (1500, [])


def test_a_user_who_measures_excludes_root(machine: Machine) -> None:
    first = machine.session(user=NOBODY)
    assert first.begin() == "begun"
    assert f"of user {NOBODY})" in machine.session().begin(9000)["failed"]["message"]
    first.end()
    assert machine.session().begin(9000) == "begun"


def test_a_user_who_could_not_restore_settings_may_not_change_them(machine: Machine) -> None:
    said = machine.session(user=NOBODY).begin(9000)["failed"]["message"]
    assert f"this user can't create {DIRECTORY}" in said
    assert machine.mtu() == 1500


def test_the_place_of_the_journal_is_refused_if_somebody_else_can_change_it(machine: Machine) -> None:
    folder = machine.root / DIRECTORY.lstrip("/")
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    assert f"it belongs to user {NOBODY}" in machine.session().begin(9000)["failed"]["message"]
    folder.rmdir()
    (machine.root / "var/lib/elsewhere").mkdir()
    folder.symlink_to("/var/lib/elsewhere")
    assert "not a directory" in machine.session().begin(9000)["failed"]["message"]
    folder.unlink()
    folder.mkdir()
    (folder / "lock").symlink_to("/var/lib/target")
    assert "locking /var/lib/nettrial/lock" in machine.session().begin(9000)["failed"]["message"]
    assert not (machine.root / "var/lib/target").exists()
    assert machine.mtu() == 1500


def test_the_journal_of_an_earlier_version_is_taken_over_once(machine: Machine) -> None:
    old = "/root/a/.local/state/nettrial"
    machine.put(f"{old}/journal", f'{OLD_MTU}\n{UNKNOWN}\n{{"sett'.encode())
    done = machine.restore()
    assert "restored the MTU of eth0: 1400" in done.stdout
    assert (machine.journal(old), machine.journal()) == ([], [UNKNOWN])
    assert not (machine.root / f"{old}/journal".lstrip("/")).exists()


def test_a_guard_that_dies_is_replaced(machine: Machine) -> None:
    session = machine.session()
    assert session.begin(9000) == "begun"
    for _ in range(3):
        (guard,) = machine.guards()
        machine.sandbox.kill("machine guard", signal.SIGKILL)
        assert wait_for(lambda: machine.guards() not in ([], [guard]))  # noqa: B023
        # The session answers when the new guard is ready, and no sooner.
        assert "observed" in session.ask({"observe": {"interfaces": []}})
    # The guard that replaced the others restores when nothing else does.
    machine.sandbox.kill("machine serve", signal.SIGKILL)
    assert wait_for(lambda: not machine.guards())
    assert (machine.mtu(), machine.journal()) == (1500, [])
    assert session.end().count("the guard of this session ended (signal: 9 (SIGKILL)) and is replaced") == 3


def test_a_session_whose_guard_cannot_be_replaced_ends_and_restores(machine: Machine) -> None:
    session = machine.session()
    assert session.begin(9000) == "begun"
    serve = next(n for n, words in machine.sandbox.processes().items() if "machine serve" in words)
    # Restoring needs one descriptor, and starting a guard more than the guard that dies gives back.
    used = max(map(int, machine.do("ls", f"/proc/{serve}/fd").stdout.split()))
    machine.do("prlimit", f"--pid={serve}", f"--nofile={used + 1}:{used + 1}")
    machine.sandbox.kill("machine guard", signal.SIGKILL)
    assert wait_for(lambda: session.process.poll() is not None)
    assert "replacing the guard of the changed settings" in session.end()
    assert (machine.mtu(), machine.journal()) == (1500, [])


def test_a_session_that_is_sent_a_line_without_end_ends_and_restores(machine: Machine) -> None:
    session = machine.session()
    assert session.begin(9000) == "begun"
    with contextlib.suppress(OSError):
        for _ in range(65):
            session.input.write("x" * 2**20)
    assert wait_for(lambda: session.process.poll() is not None)
    assert "the other end sent a line of more than 67108864 bytes" in session.end()
    assert (machine.mtu(), machine.journal()) == (1500, [])


def test_entries_that_cannot_be_carried_out_are_shown_and_discarded_by_their_key(machine: Machine) -> None:
    machine.put(f"{DIRECTORY}/journal", f"{GONE}\n{OLD_MTU}\n{UNKNOWN}\n".encode())
    shown = json.loads(machine.restore("forget").stdout.removeprefix("nettrial-journal "))
    assert shown["restored"] == ["the MTU of eth0: 1400"]
    assert [kept["entry"] for kept in shown["kept"]] == [
        "the MTU of eth7, which was 1500",
        f"the line {UNKNOWN}",
    ]
    assert machine.journal() == [GONE, UNKNOWN]
    gone, unknown = (kept["key"] for kept in shown["kept"])
    assert machine.restore("forget", unknown).returncode == 0
    assert machine.journal() == [GONE]
    done = machine.restore("forget", unknown)
    assert (done.returncode, "not in the journal any more" in done.stderr) == (1, True)
    assert machine.restore("forget", gone).returncode == 0
    assert machine.journal() == []
    assert machine.session().begin(9000) == "begun"


def test_forget_asks_before_it_discards(machine: Machine) -> None:
    machine.put(f"{DIRECTORY}/journal", f"{GONE}\n{OLD_MTU}\n{UNKNOWN}\n".encode())
    words = json.dumps(machine.inside(machine.engine))
    (machine.folder / "machines.yaml").write_text(
        f"machines:\n  alpha:\n    engine: {words}\n    interfaces: {{eth0: [192.0.2.1]}}\n"
    )

    def nettrial(*arguments: str) -> subprocess.CompletedProcess[str]:
        return forked.run(forked.Command(("machines", *arguments), environment(), machine.folder))

    done = nettrial("forget", "alpha")
    assert (done.returncode, machine.journal()) == (2, [GONE, UNKNOWN])
    assert "alpha: restored the MTU of eth0: 1400" in done.stderr
    assert "alpha: the MTU of eth7, which was 1500: there is no interface eth7" in done.stderr
    assert "--yes: missing, and 2 entries would be discarded" in done.stderr
    done = nettrial("restore", "alpha")
    assert (done.returncode, "nettrial machines forget" in done.stderr) == (3, True)
    done = nettrial("forget", "alpha", "--yes")
    assert (done.returncode, machine.journal()) == (0, [])
    assert "alpha: forgot the MTU of eth7, which was 1500" in done.stderr
    done = nettrial("forget", "alpha")
    assert (done.returncode, "alpha: there is nothing to forget" in done.stderr) == (0, True)
