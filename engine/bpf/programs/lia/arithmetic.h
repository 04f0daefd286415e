/* LIA's increase (RFC 6356 section 3). ../coupling.h and README.md describe scaling and rounding. */
#pragma once
#include "../coupling.h"

/* Returns min(alpha / w_total, 1 / w) of the first subflow, where
 * alpha / w_total = max_i(w_i / rtt_i^2) / (sum_i w_i / rtt_i)^2 = max_i(u_i^2 / w_i).
 * The unit is packets per acknowledged packet, Q48, rounded down. Shares must be set, and the first window not be 0. */
INLINE u64 lia_increase(const struct connection *connection)
{
    u64 coupled = 0;

    for (int i = 0; i < SUBFLOWS_MAX; i++) {
        const struct subflow *subflow = &connection->subflows[i];

        if (subflow->window)
            coupled = larger(coupled,
                             squared_share_per_packet(subflow->share, bounded_window(subflow->window)));
    }
    return smaller(coupled, ONE_PACKET / bounded_window(connection->subflows[0].window));
}
