/* BALIA, balanced linked adaptation (Walid et al.), for subflows of MPTCP, and Reno for plain TCP. See README.md. */
#include "../common.h"
#include "arithmetic.h"

struct state {
    u64 fraction; /* fraction of the window's next packet, Q48 */
    u32 largest;  /* largest window so far, for repair() */
};

PROGRAM(balia_init) void balia_init(u64 *arguments) { COUNT(init); }

PROGRAM(balia_release) void balia_release(u64 *arguments) { COUNT(release); }

PROGRAM(balia_cong_avoid) void balia_cong_avoid(u64 *arguments)
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
        grow(tp, &state->fraction, balia_increase(&connection), acked);
}

PROGRAM(balia_pkts_acked) void balia_pkts_acked(u64 *arguments)
{
    struct sock *sk = (struct sock *)arguments[0];
    struct state *state = private_state(sk);

    COUNT(pkts_acked);
    repair(tcp_sk(sk), &state->largest);
}

PROGRAM(balia_ssthresh) u32 balia_ssthresh(u64 *arguments)
{
    struct sock *sk = (struct sock *)arguments[0];
    struct connection connection = {};

    COUNT(ssthresh);
    if (!gather(&connection, tcp_sk(sk), 0))
        return tcp_reno_ssthresh(sk);
    return balia_window_after_loss(&connection);
}

PROGRAM(balia_undo_cwnd) u32 balia_undo_cwnd(u64 *arguments)
{
    COUNT(undo_cwnd);
    return tcp_reno_undo_cwnd((struct sock *)arguments[0]);
}

SEC(".struct_ops.link") struct tcp_congestion_ops balia = {
    .init = (void *)balia_init,
    .release = (void *)balia_release,
    .pkts_acked = (void *)balia_pkts_acked,
    .cong_avoid = (void *)balia_cong_avoid,
    .ssthresh = (void *)balia_ssthresh,
    .undo_cwnd = (void *)balia_undo_cwnd,
    .flags = TCP_CONG_NON_RESTRICTED,
    .name = "balia",
};
