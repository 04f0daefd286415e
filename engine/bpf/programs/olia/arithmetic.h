/* OLIA's increase (draft-khalili-mptcp-congestion-control-05). ../coupling.h and README.md describe scaling and
 * rounding. */
#pragma once
#include "../coupling.h"

/* Compares l / rtt^2 of two subflows: returns 1 if it is larger than the other's, 0 if equal, and -1 if smaller. Cross
 * multiplication into 96 bits makes the result exact. Both runs must fit 32 bits. */
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

/* Returns u^2 / w + alpha / w of the first subflow, with the sets
 *   M  subflows with the largest window
 *   B  subflows with the largest l / rtt^2
 * where alpha is 1 / (n |B \ M|) in B \ M, -1 / (n |M|) in M if B \ M is not empty, and 0 otherwise.
 * The unit is packets per acknowledged packet, Q48; a negative value shrinks the window. Shares must be set, `count`
 * must be n, and the first window must not be 0. */
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
