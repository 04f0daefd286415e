"""A chain of hosts and routers in namespaces that end with this process, whatever ends it.

One shell is the first process of a process-ID namespace and reads its commands from a pipe of this process:
when the pipe closes, the shell ends, and the kernel kills all processes that are left in the namespace. The
namespaces have no names."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from ipaddress import ip_address
from types import TracebackType

from tests.lab.sandbox import children

END = "end-of-command"


class Chain:
    """Nodes 0, 1, ... in a row; the first and the last are hosts, the others forward. Link n joins nodes n
    and n + 1 by their interfaces `right` and `left`, with the addresses 10.0.n.1 and 10.0.n.2, and fd00:n::1
    and fd00:n::2."""

    def __init__(self, mtus: Sequence[int]) -> None:
        """Builds a chain with a link of each MTU."""
        options = ["--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child"]
        self._shell = subprocess.Popen(
            ["unshare", *options, "--mount-proc", "bash", "-c", "mount -t tmpfs tmpfs /mnt && exec bash"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._nodes = len(mtus) + 1
        self._last = len(mtus) - 1
        script = "set -e\n"
        for node in range(self._nodes):
            # The namespace exists when its holder has left the shell's namespace.
            script += f"unshare --net sleep infinity & node{node}=$!\n"
            script += f"while [ /proc/$node{node}/ns/net -ef /proc/$$/ns/net ]; do sleep 0.01; done\n"
        for number, mtu in enumerate(mtus):
            script += f"ip link add right mtu {mtu} netns $node{number} type veth "
            script += f"peer name left mtu {mtu} netns $node{number + 1}\n"
        self._do(script)
        (shell,) = children(self._shell.pid)
        self.holders = children(shell)[: self._nodes]
        """The process that holds the namespaces of each node."""
        for node in range(self._nodes):
            self._do(f"nsenter -t $node{node} -n bash -e <<'EOF'\n{self._setup(node)}EOF\n")

    def _setup(self, node: int) -> str:
        lines = ["ip link set lo up"]
        lines += [f"sysctl -qw net.ipv6.conf.{scope}.accept_dad=0" for scope in ("all", "default")]
        forwards = 0 < node < self._nodes - 1
        lines += [
            f"sysctl -qw net.ipv4.ip_forward={int(forwards)} net.ipv6.conf.all.forwarding={int(forwards)}"
        ]
        ends = [("left", node - 1, 2)] if node else []
        ends += [("right", node, 1)] if node < self._nodes - 1 else []
        for name, link, end in ends:
            lines += [
                f"ip link set {name} up",
                f"ip address add 10.0.{link}.{end}/24 dev {name}",
                f"ip address add fd00:{link}::{end}/64 dev {name} nodad",
            ]
        for link in range(self._last + 1):
            if link < node - 1:
                via = (node - 1, 1)
            elif link > node:
                via = (node, 2)
            else:
                continue
            lines += [
                f"ip route add 10.0.{link}.0/24 via 10.0.{via[0]}.{via[1]}",
                f"ip route add fd00:{link}::/64 via fd00:{via[0]}::{via[1]}",
            ]
        return "\n".join(lines) + "\n"

    def address(self, ip: int) -> str:
        """Returns the address of the last host."""
        return self.end(self._last, ip)

    def end(self, link: int, ip: int) -> str:
        """Returns the address of a link's far end, with which the router there answers."""
        return str(ip_address(f"10.0.{link}.2" if ip == 4 else f"fd00:{link}::2"))

    def on(self, node: int, command: str) -> str:
        """Runs a command line on a node and returns its output. Fails if the command does."""
        return self._do(f"nsenter -t $node{node} -n {command}\n")

    def start(self, node: int, command: str) -> None:
        """Starts a command that keeps running, and waits for its first line."""
        self._do(f"exec 5< <(nsenter -t $node{node} -n {command}); read -r -u 5 ready")

    def silence(self, node: int) -> None:
        """Prevents a node from sending ICMP messages."""
        self.on(node, "ip rule add iif lo ipproto icmp blackhole")
        self.on(node, "ip -6 rule add iif lo ipproto ipv6-icmp blackhole")

    def _do(self, script: str) -> str:
        assert self._shell.stdin
        assert self._shell.stdout
        self._shell.stdin.write(f"{script}\necho; echo {END}\n")
        self._shell.stdin.flush()
        lines: list[str] = []
        for line in self._shell.stdout:
            if line.strip() == END:
                return "".join(lines)
            lines.append(line)
        raise AssertionError(f"a command failed:\n{script}\n{''.join(lines)}")

    def __enter__(self) -> Chain:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._shell.stdin
        self._shell.stdin.close()
        self._shell.wait()
        assert self._shell.stdout
        self._shell.stdout.close()
