/* Definitions that the four programs share: the parts of the kernel's structs that they read, the kernel's functions
 * that they call, the walk over a connection's subflows, and the counters.
 *
 * The structs contain only fields in use. When a program is loaded, the offset of each field in the running kernel is
 * taken from the kernel's BTF (CO-RE), so compiling needs only clang. The fields are those of include/linux/tcp.h,
 * include/net/inet_connection_sock.h, net/mptcp/protocol.h of Linux 6.18.
 */
#pragma once
#include "repair.h"

#define SEC(name) __attribute__((section(name), used))
#define KERNEL_FUNCTION __attribute__((section(".ksyms")))
#define PROGRAM(name) SEC("struct_ops/" #name)

/* The programs call functions that the kernel offers only to programs under the GPL. */
char allowed_by[] SEC("license") = "Dual MIT/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
    struct list_head *next;
};

struct sock_common {
    unsigned char skc_state;
};

struct sock {
    struct sock_common __sk_common;
};

struct inet_sock {
    struct sock sk;
};

struct tcp_congestion_ops;

struct inet_connection_sock {
    struct inet_sock icsk_inet;
    const struct tcp_congestion_ops *icsk_ca_ops;
    void *icsk_ulp_data;
    u64 icsk_ca_priv[13];
};

struct tcp_sock {
    struct inet_connection_sock inet_conn;
    u32 snd_nxt;
    u32 snd_cwnd;
    u32 snd_cwnd_clamp;
    u32 snd_ssthresh;
    u32 prior_cwnd;
    u32 srtt_us;
    u32 max_packets_out;
    u64 bytes_acked;
    u8 is_cwnd_limited : 1;
    _Bool is_mptcp;
};

struct mptcp_subflow_context {
    struct list_head node;
    struct sock *tcp_sock;
    struct sock *conn;
};

struct mptcp_sock {
    struct list_head conn_list;
};

struct ack_sample {
    s32 rtt_us;
};

#pragma clang attribute pop

/* The struct with which a congestion control is registered with the kernel (include/net/tcp.h). */
struct tcp_congestion_ops {
    u32 (*ssthresh)(struct sock *sk);
    void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
    void (*set_state)(struct sock *sk, u8 new_state);
    void (*cwnd_event)(struct sock *sk, u32 event);
    void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
    u32 (*undo_cwnd)(struct sock *sk);
    void (*init)(struct sock *sk);
    void (*release)(struct sock *sk);
    char name[16];
    u32 flags;
};

/* Allows every network namespace of the machine to use the congestion control. */
#define TCP_CONG_NON_RESTRICTED 1

extern void *bpf_rdonly_cast(const void *object, u32 type) KERNEL_FUNCTION;
extern u32 tcp_reno_ssthresh(struct sock *sk) KERNEL_FUNCTION;
extern void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked) KERNEL_FUNCTION;
extern u32 tcp_reno_undo_cwnd(struct sock *sk) KERNEL_FUNCTION;
extern u32 tcp_slow_start(struct tcp_sock *tp, u32 acked) KERNEL_FUNCTION;

/* Casts `address` to a pointer to a struct of the kernel. The pointer allows only reading. Reading freed memory is
 * safe: it returns zero or other data of the kernel. */
#define KERNEL_CAST(type, address) ((type *)bpf_rdonly_cast((const void *)(address), KERNEL_TYPE(type)))
#define KERNEL_TYPE(type) __builtin_btf_type_id(*(type *)0, 1)

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
struct callbacks callbacks;

#define COUNT(operation) __sync_fetch_and_add(&callbacks.operation, 1)

INLINE struct tcp_sock *tcp_sk(struct sock *sk) { return (struct tcp_sock *)sk; }
INLINE struct inet_connection_sock *inet_csk(const void *sk) { return (struct inet_connection_sock *)sk; }

/* Returns the algorithm's private state in the socket, which is zero when the socket begins to use the algorithm. */
INLINE void *private_state(struct sock *sk) { return inet_csk(sk)->icsk_ca_priv; }

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

/* Returns whether the window limits the sender (the kernel's tcp_is_cwnd_limited). Only then may the window grow. */
INLINE int limited_by_window(const struct tcp_sock *tp)
{
    /* This is a bit field. Its byte, and its position in the byte, are taken from the kernel's BTF. */
    enum { BYTE_OFFSET, BYTE_SIZE, EXISTS, SIGNED, LEFT_SHIFT, RIGHT_SHIFT };
    const void *byte = (const char *)tp + __builtin_preserve_field_info(tp->is_cwnd_limited, BYTE_OFFSET);
    u64 value = *(const u8 *)byte;

    value <<= __builtin_preserve_field_info(tp->is_cwnd_limited, LEFT_SHIFT);
    value >>= __builtin_preserve_field_info(tp->is_cwnd_limited, RIGHT_SHIFT);
    return value || (in_slow_start(tp) && tp->snd_cwnd < 2 * tp->max_packets_out);
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

    if (tp->is_mptcp) {
        u64 context = (u64)inet_csk(tp)->icsk_ulp_data;
        struct mptcp_sock *connection;

        walk.connection = KERNEL_CAST(struct mptcp_subflow_context, context)->conn;
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
                          (u64)walk->next - __builtin_preserve_field_info(context->node, 0));
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
            int alike = (u64)inet_csk(sibling)->icsk_ca_ops == (u64)inet_csk(tp)->icsk_ca_ops;

            add_subflow(connection, sibling, run && alike ? run(sibling) : 0);
        }
    }
    if (connection->count < 2)
        return 0;
    COUNT(coupled);
    set_shares(connection);
    return 1;
}
