/* BALIA's increase and decrease (draft-walid-mptcp-congestion-control-04). ../coupling.h and README.md describe
 * scaling and rounding. */
#pragma once
#include "../coupling.h"

/* Returns x / (rtt (sum x)^2) * (1 + alpha)/2 * (4 + alpha)/5 of the first subflow, where alpha = max(x) / x. With the
 * shares u of this subflow and v of the fastest, alpha is v / u, and the result is (4 u^2 + 5 u v + v^2) / (10 w).
 * The unit is packets per acknowledged packet, Q48, rounded down. Shares must be set, and the first window not be 0. */
INLINE u64 balia_increase(const struct connection *connection)
{
    /* With shares in Q30, the bracket, which is at most 10, fits 64 bits in Q60. */
    u64 own = connection->subflows[0].share >> 1;
    u64 fastest = largest_share(connection) >> 1;
    u64 bracket = 4 * own * own + 5 * own * fastest + fastest * fastest;

    return bracket / (10 * bounded_window(connection->subflows[0].window)) >> (60 - INCREASE_BITS);
}

/* Returns the first subflow's window after a loss: w - (w / 2) min(alpha, 1.5), rounded down, at least two packets.
 * Shares must be set. */
INLINE u32 balia_window_after_loss(const struct connection *connection)
{
    u64 own = connection->subflows[0].share;
    u64 fastest = largest_share(connection);
    u64 window = bounded_window(connection->subflows[0].window);
    u64 lost;

    if (2 * fastest >= 3 * own)
        lost = (3 * window + 3) / 4;
    else
        lost = (window * fastest + 2 * own - 1) / (2 * own);
    return larger(window - lost, 2);
}
