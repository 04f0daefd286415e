/* OLIA's increase (draft-khalili-mptcp-congestion-control-05). Scaling and rounding: ../coupling.h and README.md. */
#pragma once
#include "../coupling.h"

/* Whether l / rtt^2 is larger than the other's (1), the same (0), or smaller (-1), by multiplying crosswise into 96
 * bits: exact. The runs fit 32 bits. */
INLINE int olia_compare(u64 run, u64 rtt, u64 other_run, u64 other_rtt)
{
    u64 square = other_rtt * other_rtt, other_square = rtt * rtt;
    u64 low = run * (u32)square, other_low = other_run * (u32)other_square;
    u64 high = run * (square >> 32) + (low >> 32);
    u64 other_high = other_run * (other_square >> 32) + (other_low >> 32);

    if (high != other_high)
        return high > other_high ? 1 : -1;
    if ((u32)low != (u32)other_low)
        return (u32)low > (u32)other_low ? 1 : -1;
    return 0;
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
    u64 widest = 0, at_widest = 0, best_below = 0;
    u64 longest = 0, best_run = 0, best_rtt = ~0u;
    int own_is_best = 0;
    u32 excess;

    for (int i = 0; i < SUBFLOWS_MAX; i++) {
        widest = larger(widest, connection->subflows[i].window);
        longest = larger(longest, connection->subflows[i].run_bytes);
    }
    excess = excess_bits(longest);
    for (int i = 0; i < SUBFLOWS_MAX; i++) {
        const struct subflow *subflow = &connection->subflows[i];
        u64 run = subflow->run_bytes >> excess;

        if (subflow->window && olia_compare(run, subflow->rtt, best_run, best_rtt) > 0) {
            best_run = run;
            best_rtt = subflow->rtt;
        }
    }
    for (int i = 0; i < SUBFLOWS_MAX; i++) {
        const struct subflow *subflow = &connection->subflows[i];

        if (!subflow->window)
            continue;
        if (subflow->window == widest) {
            at_widest++;
        } else if (!olia_compare(subflow->run_bytes >> excess, subflow->rtt, best_run, best_rtt)) {
            best_below++;
            if (i == 0)
                own_is_best = 1;
        }
    }
    if (!best_below)
        return increase;
    if (own->window == widest)
        return increase - (s64)(ONE_PACKET / (window * connection->count * at_widest));
    if (own_is_best)
        return increase + (s64)(ONE_PACKET / (window * connection->count * best_below));
    return increase;
}
