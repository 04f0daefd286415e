/* Detects and repairs windows that no congestion control can have set.
 *
 * Some kernels occasionally skip a BPF program (in a virtual machine, if an interrupt arrived during a thread of
 * process 1). The caller then takes the previous content of its stack for the program's result. After `ssthresh`, this
 * is a threshold of about 10^8 packets, and after recovery the window is set to it.
 */
#pragma once
#include "coupling.h"

/* The threshold of a connection without losses (TCP_INFINITE_SSTHRESH, include/net/tcp.h). */
#define THRESHOLD_NONE 0x7fffffffu
/* Reno's smallest window after a loss. */
#define REPAIRED_LEAST 2u
/* A connection's initial window (TCP_INIT_CWND). If its SYN was lost, the threshold is half of it, and the window 1. */
#define WINDOW_FIRST 10u

/* A window, and the threshold below which slow start continues, in packets. */
struct windows {
    u32 window;
    u32 threshold;
};

/* Returns the repaired windows. `largest` is the largest valid window so far. `before_loss` is the window at the last
 * loss, or 0 if there was none. Between two acknowledgements, slow start may double a window, and no algorithm
 * increases it by more. A loss sets the threshold below the window at that time. Larger values are replaced by half
 * of the window at the loss, as Reno has it. A connection without losses is not changed, because its threshold may be
 * one that the kernel has cached for the path. */
INLINE struct windows repaired(struct windows now, u32 largest, u32 before_loss)
{
    u32 seen = larger(largest, WINDOW_FIRST);
    u32 half = larger(smaller(before_loss, seen) / 2, REPAIRED_LEAST);
    u64 bound = 2 * (u64)seen;

    if (!before_loss)
        return now;
    if (now.threshold != THRESHOLD_NONE && now.threshold > bound)
        now.threshold = half;
    if (now.window > bound)
        now.window = larger(smaller(now.threshold, half), 1);
    return now;
}
