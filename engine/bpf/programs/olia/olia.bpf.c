/* OLIA, the opportunistic linked increases algorithm (Khalili et al.), for subflows of MPTCP, and Reno for plain TCP.
 * See README.md. */
#include "../common.h"
#include "arithmetic.h"

struct state {
    u64 fraction;      /* fraction of the window's next packet, Q48 */
    u64 bytes_at_loss; /* bytes acknowledged until the last loss */
    u64 bytes_between; /* bytes acknowledged between the last two losses */
    u32 largest;       /* largest window so far, for repair() */
};

/* Returns OLIA's l: the bytes acknowledged since the last loss or between the last two, whichever is larger. */
INLINE u64 run_bytes(const struct tcp_sock *tp)
{
    const struct state *state = (const void *)tp->inet_conn.icsk_ca_priv;

    return larger(tp->bytes_acked - state->bytes_at_loss, state->bytes_between);
}

PROGRAM(olia_init) void olia_init(u64 *arguments)
{
    struct sock *sk = (struct sock *)arguments[0];
    struct state *state = private_state(sk);

    COUNT(init);
    state->bytes_at_loss = tcp_sk(sk)->bytes_acked;
}

PROGRAM(olia_release) void olia_release(u64 *arguments) { COUNT(release); }

/* Returns OLIA's increase. The verifier examines a function that is not static only once. If this one was inlined, the
 * verifier would examine it for each path through the walk, and reject the program. */
__attribute__((__noinline__)) s64 increase_of(struct connection *connection)
{
    return connection ? olia_increase(connection) : 0;
}

PROGRAM(olia_cong_avoid) void olia_cong_avoid(u64 *arguments)
{
    struct sock *sk = (struct sock *)arguments[0];
    u32 ack = arguments[1], acked = arguments[2];
    struct tcp_sock *tp = tcp_sk(sk);
    struct state *state = private_state(sk);
    struct connection connection = {};

    COUNT(cong_avoid);
    if (!gather(&connection, tp, run_bytes)) {
        tcp_reno_cong_avoid(sk, ack, acked);
        return;
    }
    acked = left_after_slow_start(tp, acked);
    if (acked)
        grow(tp, &state->fraction, increase_of(&connection), acked);
}

PROGRAM(olia_pkts_acked) void olia_pkts_acked(u64 *arguments)
{
    struct sock *sk = (struct sock *)arguments[0];
    struct state *state = private_state(sk);

    COUNT(pkts_acked);
    repair(tcp_sk(sk), &state->largest);
}

PROGRAM(olia_ssthresh) u32 olia_ssthresh(u64 *arguments)
{
    struct sock *sk = (struct sock *)arguments[0];
    struct state *state = private_state(sk);
    u64 bytes_acked = tcp_sk(sk)->bytes_acked;

    COUNT(ssthresh);
    /* A second call for the same loss, for example a timeout in recovery, does not end a run. */
    if (bytes_acked != state->bytes_at_loss) {
        state->bytes_between = bytes_acked - state->bytes_at_loss;
        state->bytes_at_loss = bytes_acked;
    }
    return tcp_reno_ssthresh(sk);
}

PROGRAM(olia_undo_cwnd) u32 olia_undo_cwnd(u64 *arguments)
{
    COUNT(undo_cwnd);
    return tcp_reno_undo_cwnd((struct sock *)arguments[0]);
}

SEC(".struct_ops.link") struct tcp_congestion_ops olia = {
    .init = (void *)olia_init,
    .release = (void *)olia_release,
    .pkts_acked = (void *)olia_pkts_acked,
    .cong_avoid = (void *)olia_cong_avoid,
    .ssthresh = (void *)olia_ssthresh,
    .undo_cwnd = (void *)olia_undo_cwnd,
    .flags = TCP_CONG_NON_RESTRICTED,
    .name = "olia",
};
