/* The kernel as programs in BPF see it: the parts of its structs that they read, and its functions that they call.
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
/* The offset of a field in the running kernel. */
#define OFFSET_OF(type, field) __builtin_preserve_field_info(((type *)0)->field, 0)

/* The counters are all of a program's global variables. The loader reads them. */
struct callbacks callbacks;

#define COUNT(operation) __sync_fetch_and_add(&callbacks.operation, 1)

INLINE struct tcp_sock *tcp_sk(struct sock *sk) { return (struct tcp_sock *)sk; }

/* Returns whether the window limits the sender (the kernel's tcp_is_cwnd_limited). Only then may the window grow. */
INLINE int limited_by_window(const struct tcp_sock *tp)
{
    /* This is a bit field. Its byte, and its position in the byte, are taken from the kernel's BTF. */
    enum { BYTE_OFFSET, BYTE_SIZE, EXISTS, SIGNED, LEFT_SHIFT, RIGHT_SHIFT };
    const void *byte = (const char *)tp + __builtin_preserve_field_info(tp->is_cwnd_limited, BYTE_OFFSET);
    u64 value = *(const u8 *)byte;

    value <<= __builtin_preserve_field_info(tp->is_cwnd_limited, LEFT_SHIFT);
    value >>= __builtin_preserve_field_info(tp->is_cwnd_limited, RIGHT_SHIFT);
    return value || (tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out);
}
