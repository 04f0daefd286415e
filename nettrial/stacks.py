"""Stack profiles: named sets of a host's TCP settings, for the Linux kernel or for a program with a TCP/IP of
its own. No profile has the name of an operating system that it does not run."""

from __future__ import annotations

from dataclasses import dataclass

from nettrial.congestion import CONTROLS
from nettrial.registry import Registry
from nettrial.scenario import Buffer, Size, Stack


@dataclass(frozen=True)
class Profile:
    """A stack with the source of its settings."""

    title: str
    """A description in a few words."""
    source: str
    """The source of the settings."""
    stack: Stack
    """The settings."""


STACKS: Registry[Profile] = Registry("stack")
"""The stack profiles by name."""

SYSCTL = "Linux Documentation/networking/ip-sysctl.rst"
"""The source of settings that are sysctls."""


def _buffer(minimum: int, initial: int, maximum: int) -> Buffer:
    sizes = {"minimum": minimum, "initial": initial, "maximum": maximum}
    return Buffer(**{name: Size(f"{size} B") for name, size in sizes.items()})


def _linux(name: str, congestion_control: str) -> Stack:
    """Returns Linux's defaults on a machine with at least 4 GiB of memory, with the given congestion
    control."""
    return Stack(
        name=name,
        congestion_control=congestion_control,
        receive_buffer=_buffer(4096, 131_072, 6_291_456),
        send_buffer=_buffer(4096, 16_384, 4_194_304),
        window_scaling=True,
        sack=True,
        timestamps=True,
    )


STACKS.add(
    "linux-cubic",
    Profile(
        title="Linux's defaults, with CUBIC",
        source=f"{SYSCTL}: tcp_rmem (6 MiB at most, as before 6.16), tcp_wmem; RFC 9438",
        stack=_linux("linux-cubic", "cubic"),
    ),
)
STACKS.add(
    "linux-cubic-probing",
    Profile(
        title="Linux's defaults, with CUBIC, probing the path MTU when a connection stalls",
        source=f"{SYSCTL}: tcp_mtu_probing 1; RFC 4821",
        stack=_linux("linux-cubic-probing", "cubic").model_copy(update={"mtu_probing": True}),
    ),
)
STACKS.add(
    "linux-bbr",
    Profile(
        title="Linux's defaults, with BBR",
        source=f"{SYSCTL}: tcp_rmem (6 MiB at most, as before 6.16), tcp_wmem; "
        "BBR version 1 (net/ipv4/tcp_bbr.c, draft-cardwell-iccrg-bbr-congestion-control-00)",
        stack=_linux("linux-bbr", "bbr"),
    ),
)
STACKS.add(
    "linux-reno",
    Profile(
        title="Linux's defaults, with Reno",
        source=f"{SYSCTL}: tcp_rmem (6 MiB at most, as before 6.16), tcp_wmem; RFC 5681",
        stack=_linux("linux-reno", "reno"),
    ),
)
for _coupled in ("lia", "olia", "balia", "wvegas"):
    _control = CONTROLS[_coupled]
    STACKS.add(
        f"linux-{_coupled}",
        Profile(
            title=f"Linux's defaults, with {_control.title}",
            source=f"{SYSCTL}: tcp_rmem (6 MiB at most, as before 6.16), tcp_wmem; {_control.source}",
            stack=_linux(f"linux-{_coupled}", _coupled),
        ),
    )
STACKS.add(
    "linux-cubic-64k",
    Profile(
        title="Linux's defaults, with CUBIC and a TCP window of 64 KiB",
        source=f"{SYSCTL}: tcp_rmem, tcp_wmem, tcp_window_scaling; RFC 9438; Kolahi and Li, 2016",
        # Without window scaling, a window has at most 65535 bytes, for which the buffers are large enough.
        stack=_linux("linux-cubic-64k", "cubic").model_copy(
            update={
                "receive_buffer": _buffer(4096, 131_072, 131_072),
                "send_buffer": _buffer(4096, 16_384, 131_072),
                "window_scaling": False,
            }
        ),
    ),
)
STACKS.add(
    "classic",
    Profile(
        title="Reno, no SACK, no timestamps, no window scaling, 64 KiB buffers",
        source="RFC 5681 without RFC 2018 and RFC 7323",
        stack=Stack(
            name="classic",
            congestion_control="reno",
            receive_buffer=_buffer(4096, 65_536, 65_536),
            send_buffer=_buffer(4096, 16_384, 65_536),
            window_scaling=False,
            sack=False,
            timestamps=False,
        ),
    ),
)


def _gvisor(name: str, congestion_control: str) -> Profile:
    """Returns netstack's defaults with SACK and the given congestion control."""
    title = {"cubic": "CUBIC", "reno": "Reno"}[congestion_control]
    return Profile(
        title=f"gVisor's netstack, a program with a TCP/IP of its own, with {title}",
        source="gvisor.dev/gvisor pkg/tcpip/transport/tcp/protocol.go: DefaultReceiveBufferSize, "
        "DefaultSendBufferSize, MaxBufferSize; SACK as in runsc",
        stack=Stack(
            name=name,
            program="gvisor",
            congestion_control=congestion_control,
            receive_buffer=_buffer(4096, 1_048_576, 4_194_304),
            send_buffer=_buffer(4096, 1_048_576, 4_194_304),
            window_scaling=True,
            sack=True,
            timestamps=True,
        ),
    )


STACKS.add("gvisor", _gvisor("gvisor", "cubic"))
STACKS.add("gvisor-reno", _gvisor("gvisor-reno", "reno"))


def _smoltcp(name: str, congestion_control: str) -> Profile:
    """Returns smoltcp's defaults with the given congestion control."""
    title = {"cubic": "CUBIC", "reno": "Reno"}[congestion_control]
    buffer = _buffer(4_194_304, 4_194_304, 4_194_304)
    return Profile(
        title=f"smoltcp, a program with a TCP/IP for devices without an operating system, with {title}",
        source="smoltcp src/socket/tcp.rs: timestamps off; its applications choose the buffers, which are "
        "here as large as Linux's and netstack's may grow",
        stack=Stack(
            name=name,
            program="smoltcp",
            congestion_control=congestion_control,
            receive_buffer=buffer,
            send_buffer=buffer,
            window_scaling=True,
            sack=True,
            timestamps=False,
        ),
    )


STACKS.add("smoltcp", _smoltcp("smoltcp", "cubic"))
STACKS.add("smoltcp-reno", _smoltcp("smoltcp-reno", "reno"))


_MEBIBYTE = _buffer(1_048_576, 1_048_576, 1_048_576)
STACKS.add(
    "lwip",
    Profile(
        title="lwIP, a program with a TCP/IP for embedded devices, with its own Reno",
        source="lwIP src/include/lwip/opt.h, with LWIP_WND_SCALE, LWIP_TCP_SACK_OUT and "
        "LWIP_TCP_TIMESTAMPS, and TCP_MSS from the MTU; its applications choose the buffers, which are here "
        "as large as netstack's begin",
        stack=Stack(
            name="lwip",
            program="lwip",
            congestion_control="reno",
            receive_buffer=_MEBIBYTE,
            send_buffer=_MEBIBYTE,
            window_scaling=True,
            sack=True,
            timestamps=True,
        ),
    ),
)
