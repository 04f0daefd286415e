/* Windows that no congestion control set, found and put right.
 *
 * Some kernels leave a BPF program out now and then (a virtual machine's, where an interrupt came upon a thread of
 * process 1): the caller then takes for its answer what its stack held before. After `ssthresh` that is a threshold of
 * 10^8 packets or so, and after recovery the window is set to it.
 */
#pragma once
#include "coupling.h"

/* The threshold of a connection that has lost nothing (TCP_INFINITE_SSTHRESH, include/net/tcp.h). */
#define THRESHOLD_NONE 0x7fffffffu
/* Reno's least window after a loss. */
#define REPAIRED_LEAST 2u
/* A connection's first window (TCP_INIT_CWND); where its SYN was lost, the threshold is half of it and the window one. */
#define WINDOW_FIRST 10u

/* A window, and below which window slow start goes on; packets. */
struct windows {
    u32 window;
    u32 threshold;
};

/* The windows as they should be. `largest`: the largest window that was in order until now; `before_loss`: the window
 * at the last loss, 0: there was none. From one acknowledgement to the next slow start can
 * double a window, nothing can do more; and a loss sets the threshold below the window of then. What is beyond is
 * replaced by half the window at the loss, Reno's. A connection that lost nothing is left alone: its threshold may be
 * one that the kernel remembers of the path. */
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
