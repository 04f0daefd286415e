"""Measures what the lab's sampling of stacks costs the CPU that it samples.

    python benches/sampling.py [PAIRS]

Opens the event that `engine/lab/src/shaper_time.rs` opens (cpu-clock, every 997,001 ns, with the kernel's
stack) on the CPU of this process, and does the same fixed work PAIRS times (30) with and as often without it,
in random order within each pair. Prints the ratio of the CPU times as a median with its 95% interval (ranks).
The samples aren't read, because the lab reads them on another CPU. Needs root, or a value of
`kernel.perf_event_paranoid` of at most 0.
"""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import platform
import random
import statistics
import struct
import sys
import time

from nettrial.analysis.intervals import median_interval

SYSCALL = {"x86_64": 298, "aarch64": 241}
"""The numbers of perf_event_open(2)."""
PERIOD_NS = 997_001
BUFFER_BYTES = 256 * 1024
ENABLE, DISABLE = 0x2400, 0x2401
"""PERF_EVENT_IOC_ENABLE and PERF_EVENT_IOC_DISABLE of linux/perf_event.h."""


def sampler(cpu: int) -> tuple[int, mmap.mmap]:
    """Returns the event of a CPU, which is not enabled yet, with its buffer.

    Raises:
        OSError: the kernel refuses it.

    """
    software, cpu_clock, callchain = 1, 0, 1 << 5
    disabled, exclude_callchain_user = 1 << 0, 1 << 22
    size = 112
    # struct perf_event_attr: type, size, config, sample_period, sample_type, read_format, flags.
    # Its sample_max_stack is at 108.
    attributes = bytearray(size)
    struct.pack_into(
        "=IIQQQQQ",
        attributes,
        0,
        software,
        size,
        cpu_clock,
        PERIOD_NS,
        callchain,
        0,
        disabled | exclude_callchain_user,
    )
    struct.pack_into("=H", attributes, 108, 24)
    libc = ctypes.CDLL(None, use_errno=True)
    place = (ctypes.c_char * size).from_buffer(attributes)
    descriptor = libc.syscall(SYSCALL[platform.machine()], place, -1, cpu, -1, 8)
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "perf_event_open")
    return descriptor, mmap.mmap(descriptor, mmap.PAGESIZE + BUFFER_BYTES)


def work() -> float:
    """Does a fixed amount of work of about half a second, and returns its CPU time in seconds."""
    began = time.thread_time()
    total = 0
    for number in range(8_000_000):
        total += number & 7
    return time.thread_time() - began


def main() -> None:
    """Prints the ratio."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    cpu = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpu})
    ratios = []
    for _ in range(pairs):
        times = {}
        for sampled in random.sample([False, True], 2):
            if sampled:
                descriptor, buffer = sampler(cpu)
                fcntl.ioctl(descriptor, ENABLE, 0)
            times[sampled] = work()
            if sampled:
                fcntl.ioctl(descriptor, DISABLE, 0)
                buffer.close()
                os.close(descriptor)
        ratios.append(times[True] / times[False])
    interval = median_interval(ratios)
    shown = f" [{interval.low:.4f}, {interval.high:.4f}]" if interval else ""
    print(f"CPU time with sampling / without: {statistics.median(ratios):.4f}{shown}, {pairs} pairs")


if __name__ == "__main__":
    main()
