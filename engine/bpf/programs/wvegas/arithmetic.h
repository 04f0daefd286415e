/* wVegas' decision once per round trip (draft-xu-mptcp-congestion-control-05). ../coupling.h and README.md describe
 * scaling and rounding. */
#pragma once
#include "../repair.h"

/* The number of packets that a connection keeps in the queues of its paths (the sum of the subflows' alpha), the
 * smallest number for one subflow, and the number of queued packets that ends slow start (gamma). */
#define WVEGAS_ALPHA_TOTAL 10
#define WVEGAS_ALPHA_LEAST 2
#define WVEGAS_GAMMA 1
#define WVEGAS_WINDOW_LEAST 2

/* The state of a subflow between round trips. */
struct wvegas {
    u32 base_rtt_us;       /* shortest round-trip time so far; all bits are set if there is none */
    u32 least_queueing_us; /* shortest queueing delay since the last drain; 0 if there is none */
    u32 alpha;             /* number of packets that the subflow keeps in queues */
};

/* Returns the number of packets of `window` that wait in queues: w (rtt - base) / rtt, rounded down. */
INLINE u32 wvegas_queued(u32 window, u32 base_us, u32 rtt_us)
{
    return (u64)window * (rtt_us - base_us) / rtt_us;
}

/* Returns the part of the total alpha for a subflow with this share (Q31) of the rate, rounded down. */
INLINE u32 wvegas_alpha(u64 share)
{
    return larger(WVEGAS_ALPHA_LEAST, (WVEGAS_ALPHA_TOTAL * share) >> SHARE_BITS);
}

/* Returns the windows after a round of round trips with the average `rtt_us`, which is at least the base. `limited` is
 * true if the window limits the sender, and only then does the window grow. In slow start, the caller grows the window
 * as long as this function does not change it. */
INLINE struct windows wvegas_round(struct wvegas *state, struct windows now, u32 rtt_us, u64 share, int limited)
{
    u32 queueing_us = rtt_us - state->base_rtt_us;
    u32 queued = wvegas_queued(now.window, state->base_rtt_us, rtt_us);

    if (now.window < now.threshold) {
        if (queued > WVEGAS_GAMMA) {
            u64 target = (u64)now.window * state->base_rtt_us / rtt_us;

            now.window = larger(smaller(now.window, target + 1), WVEGAS_WINDOW_LEAST);
            now.threshold = now.window;
        }
        return now;
    }
    if (queued >= state->alpha)
        state->alpha = wvegas_alpha(share);
    if (queued > state->alpha) {
        now.window--;
        now.threshold = smaller(now.threshold, now.window);
    } else if (queued < state->alpha && limited) {
        now.window++;
    }
    if (!state->least_queueing_us || queueing_us < state->least_queueing_us)
        state->least_queueing_us = queueing_us;
    if (state->least_queueing_us && queueing_us >= 2 * (u64)state->least_queueing_us) {
        /* Slow start refills the drained path up to the threshold. */
        now.threshold = larger(now.threshold, now.window - now.window / 4);
        now.window = (u64)now.window * state->base_rtt_us / (2 * (u64)rtt_us);
        state->least_queueing_us = 0;
    }
    now.window = larger(now.window, WVEGAS_WINDOW_LEAST);
    now.threshold = larger(now.threshold, WVEGAS_WINDOW_LEAST);
    return now;
}
