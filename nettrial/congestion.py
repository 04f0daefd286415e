"""The congestion controls by name: those of the Linux kernel, those that nettrial loads into it, and those of
the simulator."""

from __future__ import annotations

from dataclasses import dataclass

from nettrial.capabilities import CAPABILITIES
from nettrial.registry import Registry


@dataclass(frozen=True)
class Control:
    """A congestion control with its source and its requirements."""

    title: str
    """A description in a few words."""
    source: str
    """The publication or the kernel's file that defines it."""
    needs: str
    """The requirements of its use, in words."""
    own: bool = False
    """True for one of nettrial's own, which the lab loads into the kernel."""
    kernel: bool = True
    """True if hosts with a Linux kernel support it."""


CONTROLS: Registry[Control] = Registry("congestion control")
"""The congestion controls by name."""


def backends_of(name: str) -> tuple[str, ...]:
    """Returns the backends that support the congestion control of that name."""
    kernel = (
        CONTROLS[name].kernel and not CONTROLS[name].own
    )  # the lab loads these itself, and lists them among its capabilities
    return tuple(
        backend
        for backend in CAPABILITIES
        if name in CAPABILITIES[backend].congestion_controls
        or (kernel and CAPABILITIES[backend].kernel_congestion_controls)
    )


def _kernel(name: str, title: str, source: str) -> None:
    """Adds a congestion control that is built into the kernel, or one of its modules."""
    CONTROLS.add(name, Control(title, source, f"the kernel's tcp_{name} (modprobe tcp_{name})"))


def _own(name: str, title: str, source: str) -> None:
    """Adds one of nettrial's own congestion controls, a program of engine/bpf."""
    needs = "root; a kernel with MPTCP, BTF and the BPF compiler (JIT)"
    CONTROLS.add(name, Control(title, source, needs, own=True))


def _kernel_variant(name: str, title: str) -> None:
    """Adds the variant of one of nettrial's own congestion controls that behaves like the out-of-tree MPTCP
    kernel."""
    source = "the out-of-tree MPTCP kernel (v0.9x), net/mptcp"
    CONTROLS.add(f"{name}-kernel", Control(title, source, "the simulator", kernel=False))


CONTROLS.add("reno", Control("Reno; with MPTCP, separately on each subflow", "RFC 5681", "nothing"))
_kernel("cubic", "CUBIC, the kernel's default", "RFC 9438")
_kernel("bbr", "BBR version 1", "draft-cardwell-iccrg-bbr-congestion-control-00")
_kernel("dctcp", "DCTCP, for networks with ECN marking", "RFC 8257")
_kernel("vegas", "Vegas, delay-based", "Brakmo and Peterson 1995")
_kernel("nv", "New Vegas, delay-based, for data centres", "Brakmo 2010")
_kernel("westwood", "Westwood+, based on the estimated rate", "Grieco and Mascolo 2004")
_kernel("veno", "Veno, between Vegas and Reno, for wireless paths", "Fu and Liew 2003")
_kernel("bic", "BIC, which CUBIC replaced", "Xu, Harfoush and Rhee 2004")
_kernel("htcp", "H-TCP, based on the time since a loss", "Leith and Shorten 2004")
_kernel("highspeed", "HighSpeed TCP, for large windows", "RFC 3649")
_kernel("scalable", "Scalable TCP, for large windows", "Kelly 2003")
_kernel("illinois", "Illinois, based on loss and delay", "Liu, Başar and Srikant 2006")
_kernel("yeah", "YeAH, based on loss and delay", "Baiocchi, Castellani and Vacirca 2007")
_kernel("hybla", "Hybla, for long round trips", "Caini and Firrincieli 2004")
_kernel("cdg", "CDG, based on the delay gradient", "Hayes and Armitage 2011")
_kernel("lp", "TCP-LP, which yields to other traffic", "Kuzmanovic and Knightly 2003")
_own("lia", "LIA, coupled over a connection's subflows; Reno with one", "RFC 6356")
_own(
    "olia",
    "OLIA, coupled, moves more traffic off congested paths than LIA; Reno with one subflow",
    "Khalili et al. 2012; draft-khalili-mptcp-congestion-control",
)
_own(
    "balia",
    "BALIA, coupled, between LIA and OLIA; Reno with one subflow",
    "Peng et al. 2016; draft-walid-mptcp-congestion-control-04",
)
_own(
    "wvegas",
    "Weighted Vegas, coupled, delay-based; Vegas with one subflow",
    "Cao, Xu and Fu 2012; draft-xu-mptcp-congestion-control",
)
_kernel_variant("lia", "LIA as computed by the MPTCP kernel")
_kernel_variant("olia", "OLIA as computed by the MPTCP kernel")
_kernel_variant("balia", "BALIA as computed by the MPTCP kernel")
_kernel_variant("wvegas", "Weighted Vegas as computed by the MPTCP kernel")
