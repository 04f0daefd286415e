/* wVegas, weighted Vegas (Xu et al.), for subflows of MPTCP. For plain TCP, it is Vegas that keeps ten packets in
 * queues. See README.md. */
#include "../common.h"
#include "arithmetic.h"

/* The smallest number of samples in a round that decides. After a round with fewer, Reno grows the window. */
#define SAMPLES_LEAST 3

/* Congestion states and events of the kernel (include/uapi/linux/tcp.h, include/net/tcp.h). */
#define TCP_CA_OPEN 0
#define CA_EVENT_CWND_RESTART 1

struct state {
    u64 sampled_us;    /* sum of the round-trip times in this round */
    u32 samples;       /* number of round-trip times in this round */
    u32 round_end;     /* sequence number whose acknowledgement ends the round */
    struct wvegas vegas;
    u32 recovering;    /* true while the kernel recovers from loss or reordering, when Reno sets the window */
    u32 largest;       /* largest window so far, for repair() */
};

INLINE void start_round(struct state *state, const struct tcp_sock *tp)
{
    state->sampled_us = 0;
    state->samples = 0;
    state->round_end = tp->snd_nxt;
}

INLINE void start(struct state *state, const struct tcp_sock *tp)
{
    start_round(state, tp);
    state->vegas.alpha = WVEGAS_ALPHA_LEAST;
    state->vegas.least_queueing_us = 0;
}

PROGRAM(wvegas_init) void wvegas_init(u64 *arguments)
{
    struct sock *sk = (struct sock *)arguments[0];
    struct state *state = private_state(sk);

    COUNT(init);
    state->vegas.base_rtt_us = ~0u;
    start(state, tcp_sk(sk));
}

PROGRAM(wvegas_release) void wvegas_release(u64 *arguments) { COUNT(release); }

PROGRAM(wvegas_set_state) void wvegas_set_state(u64 *arguments)
{
    struct sock *sk = (struct sock *)arguments[0];
    struct state *state = private_state(sk);
    u8 congestion_state = arguments[1];

    state->recovering = congestion_state != TCP_CA_OPEN;
    if (!state->recovering)
        start(state, tcp_sk(sk));
}

PROGRAM(wvegas_cwnd_event) void wvegas_cwnd_event(u64 *arguments)
{
    struct sock *sk = (struct sock *)arguments[0];
    struct state *state = private_state(sk);
    u32 event = arguments[1];

    /* The path may have changed during the pause. */
    if (event == CA_EVENT_CWND_RESTART) {
        state->vegas.base_rtt_us = ~0u;
        start(state, tcp_sk(sk));
    }
}

PROGRAM(wvegas_pkts_acked) void wvegas_pkts_acked(u64 *arguments)
{
    struct sock *sk = (struct sock *)arguments[0];
    struct state *state = private_state(sk);
    const struct ack_sample *sample = (const struct ack_sample *)arguments[1];
    s32 rtt_us = sample->rtt_us;
    u32 bounded_us;

    COUNT(pkts_acked);
    repair(tcp_sk(sk), &state->largest);
    if (rtt_us < 0)
        return;
    bounded_us = larger(rtt_us, 1);
    state->vegas.base_rtt_us = smaller(state->vegas.base_rtt_us, bounded_us);
    state->sampled_us += bounded_us;
    state->samples++;
}

/* Sets the window after a round according to its samples. */
INLINE void end_round(struct tcp_sock *tp, struct state *state)
{
    struct connection connection = {};
    struct windows windows = {tp->snd_cwnd, tp->snd_ssthresh};
    struct wvegas vegas = state->vegas;
    u32 rtt_us = state->sampled_us / state->samples;
    u64 share = 1ull << SHARE_BITS;

    if (gather(&connection, tp, 0))
        share = connection.subflows[0].share;
    windows = wvegas_round(&vegas, windows, rtt_us, share, limited_by_window(tp));
    state->vegas.alpha = vegas.alpha;
    state->vegas.least_queueing_us = vegas.least_queueing_us;
    tp->snd_cwnd = smaller(windows.window, tp->snd_cwnd_clamp);
    tp->snd_ssthresh = windows.threshold;
}

PROGRAM(wvegas_cong_avoid) void wvegas_cong_avoid(u64 *arguments)
{
    struct sock *sk = (struct sock *)arguments[0];
    u32 ack = arguments[1], acked = arguments[2];
    struct tcp_sock *tp = tcp_sk(sk);
    struct state *state = private_state(sk);

    COUNT(cong_avoid);
    if (state->recovering) {
        tcp_reno_cong_avoid(sk, ack, acked);
        return;
    }
    if ((s32)(ack - state->round_end) > 0) {
        if (state->samples < SAMPLES_LEAST) {
            start_round(state, tp);
            tcp_reno_cong_avoid(sk, ack, acked);
            return;
        }
        end_round(tp, state);
        start_round(state, tp);
    }
    if (in_slow_start(tp))
        left_after_slow_start(tp, acked);
}

PROGRAM(wvegas_ssthresh) u32 wvegas_ssthresh(u64 *arguments)
{
    COUNT(ssthresh);
    return tcp_reno_ssthresh((struct sock *)arguments[0]);
}

PROGRAM(wvegas_undo_cwnd) u32 wvegas_undo_cwnd(u64 *arguments)
{
    COUNT(undo_cwnd);
    return tcp_reno_undo_cwnd((struct sock *)arguments[0]);
}

SEC(".struct_ops.link") struct tcp_congestion_ops wvegas = {
    .init = (void *)wvegas_init,
    .release = (void *)wvegas_release,
    .set_state = (void *)wvegas_set_state,
    .cwnd_event = (void *)wvegas_cwnd_event,
    .pkts_acked = (void *)wvegas_pkts_acked,
    .cong_avoid = (void *)wvegas_cong_avoid,
    .ssthresh = (void *)wvegas_ssthresh,
    .undo_cwnd = (void *)wvegas_undo_cwnd,
    .flags = TCP_CONG_NON_RESTRICTED,
    .name = "wvegas",
};
