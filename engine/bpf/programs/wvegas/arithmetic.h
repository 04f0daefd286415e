/* wVegas' decision once per round trip (draft-xu-mptcp-congestion-control-05). Scaling and rounding: ../coupling.h
 * and README.md. */
#pragma once
#include "../repair.h"

/* Packets that a connection keeps in the queues of its paths (alpha of all subflows together), the least that
 * one subflow keeps, and the queue that ends slow start (gamma). */
#define WVEGAS_ALPHA_TOTAL 10
#define WVEGAS_ALPHA_LEAST 2
#define WVEGAS_GAMMA 1
#define WVEGAS_WINDOW_LEAST 2

/* What wVegas knows of a subflow from one round trip to the next. */
struct wvegas {
    u32 base_rtt_us;       /* shortest round trip seen; all ones: none yet */
    u32 least_queueing_us; /* least queueing delay since the last drain; 0: none yet */
    u32 alpha;             /* packets that the subflow keeps queued */
};

/* Packets of `window` that wait in queues, rounded down: w (rtt - base) / rtt. */
INLINE u32 wvegas_queued(u32 window, u32 base_us, u32 rtt_us)
{
    return (u64)window * (rtt_us - base_us) / rtt_us;
}

/* The part of the total alpha for a subflow with this share (Q31) of the rate, rounded down. */
INLINE u32 wvegas_alpha(u64 share)
{
    return larger(WVEGAS_ALPHA_LEAST, (WVEGAS_ALPHA_TOTAL * share) >> SHARE_BITS);
}

/* The windows after a round trip of `rtt_us` on average, at least the base. `limited`: the window was what held the
 * sender back; it grows only then. In slow start the window is the caller's to double while this leaves it. */
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
        /* Slow start below the threshold refills the path that this empties. */
        now.threshold = larger(now.threshold, now.window - now.window / 4);
        now.window = (u64)now.window * state->base_rtt_us / (2 * (u64)rtt_us);
        state->least_queueing_us = 0;
    }
    now.window = larger(now.window, WVEGAS_WINDOW_LEAST);
    now.threshold = larger(now.threshold, WVEGAS_WINDOW_LEAST);
    return now;
}
