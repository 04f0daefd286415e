/* Definitions that the four programs share: the walk over a connection's subflows, the growth of windows, and the
 * counters. The kernel loads the programs as BPF (bpf.h), or has them built in (built_in.h).
 */
#pragma once
#include "repair.h"

/* Numbers of the kernel's calls of each operation, over all sockets and CPUs. `coupled` counts the calls that saw two
 * or more subflows, and `repaired` the skipped calls whose windows were repaired (repair.h). The loader reads them. */
struct callbacks {
    u64 ssthresh;
    u64 cong_avoid;
    u64 pkts_acked;
    u64 undo_cwnd;
    u64 init;
    u64 release;
    u64 coupled;
    u64 repaired;
};

#ifdef __KERNEL__
#include "built_in.h"
#else
#include "bpf.h"
#endif

/* Returns the algorithm's private state in the socket, which is zero when the socket begins to use the algorithm. */
INLINE void *private_state(struct sock *sk) { return tcp_sk(sk)->inet_conn.icsk_ca_priv; }

INLINE int in_slow_start(const struct tcp_sock *tp) { return tp->snd_cwnd < tp->snd_ssthresh; }

/* Repairs windows that a skipped call has corrupted; `largest` is kept in the socket for this purpose. Counts each
 * skipped call once, although a window may need repair again: packets in flight keep it large during recovery. */
INLINE void repair(struct tcp_sock *tp, u32 *largest)
{
    struct windows found = {tp->snd_cwnd, tp->snd_ssthresh};
    struct windows right = repaired(found, *largest, tp->prior_cwnd);

    if (right.window != found.window)
        tp->snd_cwnd = right.window;
    if (right.threshold != found.threshold)
        tp->snd_ssthresh = right.threshold;
    if (right.threshold != found.threshold || (right.window != found.window && found.window > WINDOW_MAX))
        COUNT(repaired);
    *largest = larger(*largest, right.window);
}

/* Grows the window in slow start as Reno does, and returns the number of acknowledged packets that are left for
 * congestion avoidance: all if the socket is not in slow start, none if the window does not limit the sender. */
INLINE u32 left_after_slow_start(struct tcp_sock *tp, u32 acked)
{
    if (!limited_by_window(tp))
        return 0;
    return in_slow_start(tp) ? tcp_slow_start(tp, acked) : acked;
}

/* Adds `increase` (Q48) to the window for each acknowledged packet. The socket has the whole packets of the window,
 * and `fraction` has the rest. */
INLINE void grow(struct tcp_sock *tp, u64 *fraction, s64 increase, u32 acked)
{
    struct window window = {tp->snd_cwnd, *fraction};

    window = grown(window, increase, acked, 1, tp->snd_cwnd_clamp);
    *fraction = window.fraction;
    tp->snd_cwnd = window.packets;
}

/* A walk over the other subflows of a socket's connection. The kernel changes the list under a lock that is not held
 * here. A step may therefore find a subflow that has just been removed, which then ends the walk or is skipped. */
struct walk {
    struct tcp_sock *own;
    struct sock *connection;
    u64 head;
    struct list_head *next;
};

/* The largest number of entries visited. It exceeds the largest number of subflows, because closing subflows are
 * still in the list. */
#define WALK_MAX 16

INLINE struct walk walk_from(struct tcp_sock *tp)
{
    struct walk walk = {tp, 0, 0, 0};

    if (tp->is_mptcp && tp->inet_conn.icsk_ulp_data) {
        u64 context = (u64)tp->inet_conn.icsk_ulp_data;
        struct mptcp_sock *connection;

        walk.connection = KERNEL_CAST(struct mptcp_subflow_context, context)->conn;
        if (!walk.connection)
            return walk;
        connection = KERNEL_CAST(struct mptcp_sock, walk.connection);
        walk.head = (u64)&connection->conn_list;
        walk.next = connection->conn_list.next;
    }
    return walk;
}

/* Visits the next entry. Returns 0 if the walk is at the list's head or in the list of another connection. Sets `tp`
 * to the entry's socket if that is established and is not the walk's own, and to 0 otherwise. */
INLINE int walk_step(struct walk *walk, struct tcp_sock **tp)
{
    enum { ESTABLISHED = 1, CLOSE_WAIT = 8 };
    struct mptcp_subflow_context *context = 0;
    struct tcp_sock *found;

    *tp = 0;
    if (!walk->next || (u64)walk->next == walk->head)
        return 0;
    context = KERNEL_CAST(struct mptcp_subflow_context,
                          (u64)walk->next - OFFSET_OF(struct mptcp_subflow_context, node));
    if (context->conn != walk->connection)
        return 0;
    walk->next = context->node.next;
    found = KERNEL_CAST(struct tcp_sock, context->tcp_sock);
    if ((u64)found != (u64)walk->own) {
        u8 state = found->inet_conn.icsk_inet.sk.__sk_common.skc_state;

        if ((state == ESTABLISHED || state == CLOSE_WAIT) && found->srtt_us)
            *tp = found;
    }
    return 1;
}

/* Reads OLIA's run in bytes from the private state of a socket with the same algorithm. */
typedef u64 (*run_of)(const struct tcp_sock *tp);

INLINE void add_subflow(struct connection *connection, const struct tcp_sock *tp, u64 run_bytes)
{
    u32 place = connection->count;

    if (place < SUBFLOWS_MAX && tp->snd_cwnd) {
        connection->subflows[place].window = tp->snd_cwnd;
        connection->subflows[place].rtt = tp->srtt_us;
        connection->subflows[place].run_bytes = run_bytes;
        connection->count = place + 1;
    }
}

/* Fills a connection with the socket's own subflow first, then with the other established ones, and sets the shares.
 * The connection must be all zeroes, and `run` may be 0. Returns whether there are two or more subflows; otherwise,
 * the algorithms behave as Reno (wVegas: as Vegas). */
INLINE int gather(struct connection *connection, struct tcp_sock *tp, run_of run)
{
    struct walk walk = walk_from(tp);

    add_subflow(connection, tp, run ? run(tp) : 0);
    for (int i = 0; i < WALK_MAX; i++) {
        struct tcp_sock *sibling;

        if (!walk_step(&walk, &sibling))
            break;
        if (sibling) {
            int alike = (u64)sibling->inet_conn.icsk_ca_ops == (u64)tp->inet_conn.icsk_ca_ops;

            add_subflow(connection, sibling, run && alike ? run(sibling) : 0);
        }
    }
    if (connection->count < 2)
        return 0;
    COUNT(coupled);
    set_shares(connection);
    return 1;
}
