"""The help of the command line: groups of commands, and examples for each command."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from typer import Typer
from typer.core import TyperCommand, TyperGroup

from nettrial.errors import READING_OPTIONS, BadInput

GROUPS = {
    "Run a study": ("init", "run"),
    "Read results": ("report", "watch", "pool", "compare", "export", "import", "book"),
    "Predict": ("predict", "calibrate"),
    "Measure without a study": ("measure", "serve", "path", "monitor"),
    "Look around": ("doctor", "list", "draw", "machines", "systems"),
}
"""The commands grouped by purpose, in the order of `nettrial --help`."""

EXAMPLES = {
    "": (
        "nettrial doctor",
        "nettrial run jumbo-ipv6",
        "nettrial init mine && nettrial run mine/study.yaml",
    ),
    "init": ("nettrial init mine", "nettrial init mine --from examples/bufferbloat"),
    "run": (
        "nettrial run jumbo-ipv6 --set mtu=1500,9000 --replicates 5",
        "nettrial run mine/study.yaml --backend sim --seed 1",
        "nettrial run --dry-run jumbo-ipv6 --set mtu=9000 --seed 7",
        'nettrial run jumbo-ipv6 --until "throughput=2%"',
        'nettrial run jumbo-ipv6 --sessions 5 --apart "10 min"',
        "nettrial run --resume runs/mine",
    ),
    "report": (
        "nettrial report runs/mine --open",
        "nettrial report runs/mine --tables",
        "nettrial report runs/mine --show sd",
        "nettrial report runs/mine --figures figures",
        "nettrial report runs/mine --against runs/before",
    ),
    "watch": ("nettrial watch runs/mine",),
    "book": ("nettrial book runs/ipv6 runs/path --out book",),
    "export": ("nettrial export runs/mine --to csv --out tables",),
    "import": ("nettrial import monday/*.json --out runs/monday",),
    "pool": ("nettrial pool runs/monday runs/tuesday runs/wednesday", "nettrial pool runs/sessions"),
    "compare": (
        'nettrial compare runs/before runs/after --fail-if "throughput < -3%"',
        "nettrial compare runs/before runs/after --history runs/earlier",
    ),
    "predict": ("nettrial predict runs/mine --mtu 3000,6000",),
    "calibrate": ("nettrial calibrate runs/mine",),
    "list": ("nettrial list studies", "nettrial list metrics", "nettrial list runs results --json"),
    "machines": (
        "nettrial machines add a --ssh a --interface eth1=10.0.0.2 --may-change mtu",
        "nettrial machines install && nettrial machines check",
        "nettrial run jumbo-path --backend hosts --machines machines.yaml",
    ),
    "machines check": ("nettrial machines check", "nettrial machines check --machines lab/machines.yaml"),
    "machines list": ("nettrial machines list",),
    "machines add": (
        "nettrial machines add a --ssh a --interface eth1=10.0.0.2 --may-change mtu",
        'nettrial machines add b --interface eth0=10.0.0.3 --command "ssh -J gate b"',
    ),
    "machines install": ("nettrial machines install", "nettrial machines install web"),
    "machines restore": ("nettrial machines restore", "nettrial machines restore web"),
    "machines forget": ("nettrial machines forget web", "nettrial machines forget web --yes"),
    "systems": (
        "nettrial systems add linux --package linux-image-6.12.117+deb12-cloud-amd64",
        "nettrial run kernel-versions --set kernel=linux-6.12",
    ),
    "systems add": (
        "nettrial systems add linux --package linux-image-6.12.117+deb12-cloud-amd64",
        "nettrial systems add linux --kernel bzImage --modules lib/modules/6.12.0",
        "nettrial systems add debian-13 --image debian-13.qcow2",
    ),
    "systems list": ("nettrial systems list",),
    "systems check": ("nettrial systems check",),
    "systems calibrate": ("nettrial systems calibrate",),
    "systems remove": ("nettrial systems remove linux-6.12",),
    "draw": ("nettrial draw jellyfish --set switches=25 --out jellyfish.svg",),
    "doctor": ("nettrial doctor", "nettrial doctor sim"),
    "path": ("nettrial path host.example", 'nettrial path host.example --ip 6 --rate "10 Gbit/s"'),
    "serve": (
        "nettrial serve --bind :: --token-file token",
        "nettrial serve --bind :: --iperf3",
        "nettrial serve --stamp --bind 0.0.0.0 --token-file key",
        "nettrial serve --ndt7 --bind 0.0.0.0 --certificate cert.pem --key key.pem",
    ),
    "monitor": ("nettrial monitor mesh.yaml --dry-run", "nettrial monitor mesh.yaml"),
    "measure": (
        "nettrial measure host.example --token-file token",
        "nettrial measure host.example -P 4 --token-file token",
        "nettrial measure host.example --set mtu=1500,9000 --token-file token",
        "nettrial measure host.example --iperf3 -u -b 100M -l 1400 -R",
        "nettrial measure host.example ndt7 --replicates 5",
        "nettrial measure host.example stamp --interval 10ms --dscp 46",
    ),
}
"""Examples for each command; those for nettrial itself under the empty name."""

MERGED = {
    "resume": "nettrial run --resume RUN",
    "runs": "nettrial list runs",
    "show": "nettrial run --dry-run STUDY",
}
"""The present form of commands that became part of another one."""

OTHER_OPTIONS = {
    "nettrial measure": {
        "-c": "nettrial measure HOST; against an iperf3 server, nettrial measure HOST --iperf3",
        "-O": "a warm-up before the repeats is not counted, and a longer --time gives the start less weight",
        "-C": "--set congestion_control=cubic,bbr compares two; the hosts' own is used otherwise",
        "-w": "--set window=64K,1M compares two; the kernels choose the window otherwise",
        "-M": "--set mtu=1500,9000 compares two; TCP's segments have the interface's MTU otherwise",
        **dict.fromkeys(("-n", "-k"), "a repeat ends with its time: --time"),
        **dict.fromkeys(("--bidir", "-d"), "one direction is measured at a time; --reverse is the other"),
        "-i": "--out DIR stores the values over time, and nettrial report DIR shows them",
    },
    "nettrial serve": {
        "-s": "nettrial serve, without an option",
        "-D": "nettrial serve runs until Ctrl-C",
        "-B": "--bind ADDRESS",
        "-p": "--port PORT",
    },
}
"""Options of iperf3 that a command does not have, with what does the same or why nothing does."""


def examples(name: str) -> str:
    """Returns the examples at the end of a command's help."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in EXAMPLES[name])])


class Command(TyperCommand):
    """A command whose help shows arguments by their names only."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Returns the words after the command's name, such as "[OPTIONS] RUN"."""
        return ["[OPTIONS]", *(str(each.metavar) for each in self._arguments())]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Writes the lists of arguments and options."""
        arguments = [(str(each.metavar), str(each.help)) for each in self._arguments()]
        options = [each.get_help_record(ctx) for each in self.get_params(ctx) if not _is_argument(each)]
        for title, rows in (("Arguments", arguments), ("Options", [row for row in options if row])):
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def _arguments(self) -> list[Any]:
        return [each for each in self.params if _is_argument(each)]


def _is_argument(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "argument")


Function = TypeVar("Function", bound=Callable[..., Any])


def command(app: Typer, name: str, group: str = "") -> Callable[[Function], Function]:
    """Returns a decorator that registers a function as the command of that name, with its examples; `group`
    is the name of the command that it belongs to, such as "machines"."""
    return app.command(name, cls=Command, epilog=examples(f"{group} {name}".strip()))


class Grouped(TyperGroup):
    """The commands of nettrial, listed by purpose."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Returns the name, the parser and the arguments of a command; raises BadInput for one that became
        part of another."""
        if args[0] in MERGED and not ctx.resilient_parsing:
            hint = f"nettrial {args[0]} is {MERGED[args[0]]}"
            raise BadInput(READING_OPTIONS, f"no such command '{args[0]}'", "", hint=hint)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes the groups of commands."""
        longest = max(len(name) for names in GROUPS.values() for name in names)
        limit = formatter.width - 6 - longest
        for title, names in GROUPS.items():
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.section(title):
                rows = [(name.ljust(longest), c.get_short_help_str(limit)) for name, c in commands if c]
                formatter.write_dl(rows)
