/* LIA, the linked increases algorithm (RFC 6356), for subflows of MPTCP, and Reno for plain TCP. See README.md. */
#include "../common.h"
#include "arithmetic.h"

struct state {
    u64 fraction; /* fraction of the window's next packet, Q48 */
    u32 largest;  /* largest window so far, for repair() */
};

PROGRAM(lia_init) void lia_init(u64 *arguments) { COUNT(init); }

PROGRAM(lia_release) void lia_release(u64 *arguments) { COUNT(release); }

PROGRAM(lia_cong_avoid) void lia_cong_avoid(u64 *arguments)
{
    struct sock *sk = (struct sock *)arguments[0];
    u32 ack = arguments[1], acked = arguments[2];
    struct tcp_sock *tp = tcp_sk(sk);
    struct state *state = private_state(sk);
    struct connection connection = {};

    COUNT(cong_avoid);
    if (!gather(&connection, tp, 0)) {
        tcp_reno_cong_avoid(sk, ack, acked);
        return;
    }
    acked = left_after_slow_start(tp, acked);
    if (acked)
        grow(tp, &state->fraction, lia_increase(&connection), acked);
}

PROGRAM(lia_pkts_acked) void lia_pkts_acked(u64 *arguments)
{
    struct sock *sk = (struct sock *)arguments[0];
    struct state *state = private_state(sk);

    COUNT(pkts_acked);
    repair(tcp_sk(sk), &state->largest);
}

PROGRAM(lia_ssthresh) u32 lia_ssthresh(u64 *arguments)
{
    COUNT(ssthresh);
    return tcp_reno_ssthresh((struct sock *)arguments[0]);
}

PROGRAM(lia_undo_cwnd) u32 lia_undo_cwnd(u64 *arguments)
{
    COUNT(undo_cwnd);
    return tcp_reno_undo_cwnd((struct sock *)arguments[0]);
}

SEC(".struct_ops.link") struct tcp_congestion_ops lia = {
    .init = (void *)lia_init,
    .release = (void *)lia_release,
    .pkts_acked = (void *)lia_pkts_acked,
    .cong_avoid = (void *)lia_cong_avoid,
    .ssthresh = (void *)lia_ssthresh,
    .undo_cwnd = (void *)lia_undo_cwnd,
    .flags = TCP_CONG_NON_RESTRICTED,
    .name = "lia",
};
