"""The options of tools that a study may use without permission. They only shape the tool's own traffic: none
names a file, a program, a library, an address, a port or a user. Every other argument needs the permission
that a command of the study needs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class OptionValue(NamedTuple):
    """The value of an option."""

    name: str
    """The name of the value in documentation, or the words to choose from."""
    pattern: str
    """The regular expression of all permitted values."""


WHOLE = OptionValue("N", r"\d+")
"""A whole number."""
NUMBER = OptionValue("NUMBER", r"\d+(\.\d+)?")
"""A number."""
AMOUNT = OptionValue("AMOUNT", r"\d+(\.\d+)?[KMGkmg]?")
"""A number that may have a unit: K, M or G."""
AMOUNTS = OptionValue("AMOUNT[,AMOUNT]", rf"{AMOUNT.pattern}(,{AMOUNT.pattern})?")
"""One amount, or two."""
RATE = OptionValue("AMOUNT[/N]", rf"{AMOUNT.pattern}(/\d+)?")
"""A rate that may have a number of packets or seconds."""
BYTE = OptionValue("BYTE", r"\d+|0x[0-9a-fA-F]+")
"""A number that may be hexadecimal."""
CODEPOINT = OptionValue("CODEPOINT", r"\d+|0x[0-9a-fA-F]+|[a-z]{2}\d{0,2}")
"""A code point of DiffServ (RFC 2474): a number or a name, such as af11."""
HEXADECIMAL = OptionValue("HEX", r"[0-9a-fA-F]+")
"""A hexadecimal number without a prefix."""
TIME = OptionValue("TIME", r"\d+(h|m|s|ms|us|ns)?")
"""A time that may have a unit, from hours to nanoseconds."""
CPUS = OptionValue("CPUS", r"\d+([-,/]\d+)*")
"""A list of CPUs, such as 0-3,5."""
LIKELIHOOD = OptionValue("LIKELIHOOD", r"0(\.\d+)?|1(\.0+)?")
"""A number from 0 to 1."""


def _choice(*words: str) -> OptionValue:
    """Returns a value that is one of these words."""
    return OptionValue("|".join(words), "|".join(map(re.escape, words)))


def _options(
    flags: str, valued: Mapping[str, OptionValue | tuple[OptionValue, ...]]
) -> dict[str, tuple[OptionValue, ...]]:
    """Returns the values by option: `flags` names those without a value, and the keys of `valued` name those
    with values, each by all its names."""
    options: dict[str, tuple[OptionValue, ...]] = dict.fromkeys(flags.split(), ())
    for names, values in valued.items():
        options |= dict.fromkeys(names.split(), values if not isinstance(values, OptionValue) else (values,))
    return options


@dataclass(frozen=True)
class Program:
    """One of a tool's two programs."""

    name: str
    """The name of the program."""
    options: Mapping[str, tuple[OptionValue, ...]] = field(default_factory=dict)
    """The options that need no permission."""

    def others(self, arguments: Sequence[str]) -> list[str]:
        """Returns the arguments that are not among these options with values of their shape. A value may be
        the next argument, or follow in the same one (`-w1M`, `--window=1M`). Abbreviations of names and
        several options in one argument are not recognised."""
        others, rest = [], list(arguments)
        while rest:
            taken = self._known(rest)
            if not taken:
                others.append(rest[0])
            rest = rest[taken or 1 :]
        return others

    def _known(self, arguments: Sequence[str]) -> int:
        """Returns how many arguments the option at the beginning takes up; 0 if it is not a known one."""
        first, *rest = arguments
        if first in self.options:
            values = self.options[first]
            return 1 + len(values) if _fit(rest[: len(values)], values) else 0
        name, equals, value = first.partition("=")
        if not first.startswith("--"):
            name, equals, value = first[:2], "=", first[2:]
        values = self.options.get(name, ())
        return int(bool(equals) and len(values) == 1 and _fit([value], values))


@dataclass(frozen=True)
class Tool:
    """The programs of a tool."""

    client: Program
    """The program that gets `arguments`."""
    server: Program
    """The program that gets `server_arguments`."""


def _fit(given: Sequence[str], values: Sequence[OptionValue]) -> bool:
    pairs = zip(given, values, strict=False)
    return len(given) == len(values) and all(
        re.fullmatch(value.pattern, text, re.ASCII) for text, value in pairs
    )


_CURL = Program(
    "curl",
    _options(
        "-4 --ipv4 -6 --ipv6 --tcp-nodelay --no-tcp-nodelay --tcp-fastopen "
        "--no-keepalive --tlsv1.2 --tlsv1.3 --no-alpn --no-sessionid --compressed "
        "--disable-epsv --disable-eprt",
        {
            "--tls-max": _choice("1.2", "1.3"),
            "--limit-rate": AMOUNT,
            "-m --max-time": NUMBER,
            "--connect-timeout": NUMBER,
            "--keepalive-time": WHOLE,
            "-Y --speed-limit": WHOLE,
            "-y --speed-time": WHOLE,
            "--retry": WHOLE,
            "--retry-delay": WHOLE,
        },
    ),
)
_NGTCP2 = _options(
    "--no-pmtud",
    {
        "-t --tx-loss": LIKELIHOOD,
        "-r --rx-loss": LIKELIHOOD,
        "--cc": _choice("cubic", "reno", "bbr", "bbr2"),
        "--timeout": TIME,
        "--handshake-timeout": TIME,
        "--initial-rtt": TIME,
        "--max-data": AMOUNT,
        "--max-stream-data-bidi-local": AMOUNT,
        "--max-stream-data-bidi-remote": AMOUNT,
        "--max-stream-data-uni": AMOUNT,
        "--max-streams-bidi": WHOLE,
        "--max-streams-uni": WHOLE,
        "--max-window": AMOUNT,
        "--max-stream-window": AMOUNT,
        "--max-udp-payload-size": AMOUNT,
        "--ack-thresh": WHOLE,
    },
)
_SOCKPERF = _options(
    "--tcp-avoid-nodelay --tcp-skip-blocking-send --nonblocked --dontwarmup --no-rdtsc",
    {
        "--timeout": WHOLE,
        "--tos": BYTE,
        "--lls": WHOLE,
        "--buffer-size": WHOLE,
        "--recv_looping_num": WHOLE,
    },
)
_NGINX = Program("nginx")

TOOLS: Mapping[str, Tool] = {
    "iperf3": Tool(
        Program(
            "iperf3",
            _options(
                "-4 --version4 -6 --version6 -N --no-delay -R --reverse --bidir -Z --zerocopy -V "
                "--verbose --get-server-output --udp-counters-64bit --repeating-payload "
                "--dont-fragment --forceflush",
                {
                    "-A --affinity": CPUS,
                    "-b --bitrate --bandwidth": RATE,
                    "--fq-rate": AMOUNT,
                    "--pacing-timer": AMOUNT,
                    "-i --interval": NUMBER,
                    "-n --bytes": AMOUNT,
                    "-k --blockcount": AMOUNT,
                    "-l --length": AMOUNT,
                    "-O --omit": WHOLE,
                    "-P --parallel": WHOLE,
                    "-w --window": AMOUNT,
                    "-M --set-mss": WHOLE,
                    "-S --tos": BYTE,
                    "--dscp": CODEPOINT,
                    "-L --flowlabel": WHOLE,
                    "--connect-timeout": WHOLE,
                    "--rcv-timeout": WHOLE,
                    "--snd-timeout": WHOLE,
                },
            ),
        ),
        Program(
            "iperf3",
            _options(
                "-4 --version4 -6 --version6 -V --verbose -1 --one-off --forceflush",
                {
                    "-A --affinity": CPUS,
                    "-i --interval": NUMBER,
                    "--idle-timeout": WHOLE,
                    "--rcv-timeout": WHOLE,
                    "--snd-timeout": WHOLE,
                    "--server-bitrate-limit": RATE,
                },
            ),
        ),
    ),
    "ping": Tool(
        Program(
            "ping",
            _options(
                "-A -f -O -q -R -U -v",
                {
                    "-c": WHOLE,
                    "-F": BYTE,
                    "-i": NUMBER,
                    "-l": WHOLE,
                    "-M": _choice("do", "dont", "probe", "want"),
                    "-p": HEXADECIMAL,
                    "-Q": BYTE,
                    "-s": WHOLE,
                    "-S": WHOLE,
                    "-t": WHOLE,
                    "-T": _choice("tsonly", "tsandaddr"),
                    "-w": NUMBER,
                    "-W": NUMBER,
                },
            ),
        ),
        Program("ping"),
    ),
    "netperf": Tool(
        Program(
            "netperf",
            _options(
                "-C -D",
                {
                    "-m": AMOUNTS,
                    "-M": AMOUNTS,
                    "-r": AMOUNTS,
                    "-s": AMOUNTS,
                    "-S": AMOUNTS,
                },
            ),
        ),
        Program("netserver"),
    ),
    "ditg": Tool(
        Program(
            "ITGSend",
            _options(
                "-D",
                {
                    "-m": _choice("owdm", "rttm"),
                    "-t": WHOLE,
                    "-z": WHOLE,
                    "-k": WHOLE,
                    "-d": WHOLE,
                    "-b": WHOLE,
                    "-f": WHOLE,
                    "-s": NUMBER,
                    "-j": _choice("0", "1"),
                    "-p": _choice("0", "1", "2"),
                    "-C": NUMBER,
                    "-U": (NUMBER, NUMBER),
                    "-E": NUMBER,
                    "-N": (NUMBER, NUMBER),
                    "-O": NUMBER,
                    "-V": (NUMBER, NUMBER),
                    "-Y": (NUMBER, NUMBER),
                    "-G": (NUMBER, NUMBER),
                    "-W": (NUMBER, NUMBER),
                    "-c": WHOLE,
                    "-u": (WHOLE, WHOLE),
                    "-e": NUMBER,
                    "-n": (NUMBER, NUMBER),
                    "-o": NUMBER,
                    "-v": (NUMBER, NUMBER),
                    "-y": (NUMBER, NUMBER),
                    "-g": (NUMBER, NUMBER),
                    "-w": (NUMBER, NUMBER),
                },
            ),
        ),
        Program("ITGRecv"),
    ),
    "sockperf": Tool(
        Program(
            "sockperf",
            _SOCKPERF
            | _options(
                "--data-integrity --increase_output_precision",
                {
                    "-b --burst": WHOLE,
                    "--mps --pps": OptionValue("N|max", r"\d+|max"),
                    "-r --range": WHOLE,
                    "--pre-warmup-wait": WHOLE,
                    "--sender-affinity": CPUS,
                    "--receiver-affinity": CPUS,
                },
            ),
        ),
        Program(
            "sockperf",
            _SOCKPERF
            | _options(
                "-g --gap-detection",
                {
                    "--cpu-affinity": CPUS,
                },
            ),
        ),
    ),
    "ftp": Tool(_CURL, Program("vsftpd")),
    "http1": Tool(_CURL, _NGINX),
    "http2": Tool(_CURL, _NGINX),
    "tftp": Tool(
        Program(
            "atftp",
            _options(
                "--prevent-sas",
                {
                    "--tftp-timeout": WHOLE,
                },
            ),
        ),
        Program(
            "atftpd",
            _options(
                "--no-timeout --no-tsize --no-blksize --no-windowsize --prevent-sas",
                {
                    "--tftpd-timeout": WHOLE,
                    "--retry-timeout": WHOLE,
                },
            ),
        ),
    ),
    "http3": Tool(
        Program("gtlsclient", _NGTCP2 | _options("--disable-early-data --no-preferred-addr", {})),
        Program("gtlsserver", _NGTCP2 | _options("-V --validate-addr --early-response", {})),
    ),
}
"""The programs of each tool but `exec`, all of whose arguments are a command."""
