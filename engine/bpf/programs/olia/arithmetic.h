/* OLIA's increase (draft-khalili-mptcp-congestion-control-05). Scaling and rounding: ../coupling.h and README.md. */
#pragma once
#include "../coupling.h"

/* Longer runs count as this one: a terabyte. */
#define RUN_MAX ((1ull << 40) - 1)
#define RATIO_BITS 24

/* l / rtt^2 in units in which only a comparison means something: l * (shortest / rtt)^2, Q24 bytes. */
INLINE u64 olia_quality(const struct subflow *subflow, u32 shortest)
{
    u64 ratio = ((u64)shortest << RATIO_BITS) / larger(subflow->rtt, RTT_MIN);
    u64 run = smaller(subflow->run_bytes, RUN_MAX);

    return ((run * ratio) >> RATIO_BITS) * ratio;
}

/* u^2 / w + alpha / w of the first subflow, with the sets
 *   M  subflows with the largest window
 *   B  subflows with the largest l / rtt^2
 * and alpha = 1 / (n |B \ M|) in B \ M, -1 / (n |M|) in M where B \ M is not empty, else 0.
 * Packets per acknowledged packet, Q48; below 0 where the window shall shrink. Shares are set, `count` is n,
 * and the first window is not 0. */
INLINE s64 olia_increase(const struct connection *connection)
{
    const struct subflow *own = &connection->subflows[0];
    u64 window = bounded_window(own->window);
    s64 increase = squared_share_per_packet(own->share, window);
    u32 shortest = ~0u, widest = 0, at_widest = 0, best_below = 0;
    u64 best = 0;

    for (int i = 0; i < SUBFLOWS_MAX; i++) {
        const struct subflow *subflow = &connection->subflows[i];

        if (subflow->window) {
            shortest = smaller(shortest, larger(subflow->rtt, RTT_MIN));
            widest = larger(widest, subflow->window);
        }
    }
    for (int i = 0; i < SUBFLOWS_MAX; i++)
        if (connection->subflows[i].window)
            best = larger(best, olia_quality(&connection->subflows[i], shortest));
    for (int i = 0; i < SUBFLOWS_MAX; i++) {
        const struct subflow *subflow = &connection->subflows[i];

        if (!subflow->window)
            continue;
        if (subflow->window == widest)
            at_widest++;
        else if (olia_quality(subflow, shortest) == best)
            best_below++;
    }
    if (!best_below)
        return increase;
    if (own->window == widest)
        return increase - (s64)(ONE_PACKET / (window * connection->count * at_widest));
    if (olia_quality(own, shortest) == best)
        return increase + (s64)(ONE_PACKET / (window * connection->count * best_below));
    return increase;
}
