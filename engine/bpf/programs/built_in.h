/* The kernel as programs that are compiled into it see it: its own headers, and names for what differs in BPF. The
 * programs' functions take their arguments in an array, as BPF has it; kernel/net/control.h calls them.
 */
#pragma once
#include <linux/module.h>
#include <net/tcp.h>
#include <mptcp/protocol.h>

#define SEC(name)
#define PROGRAM(name) static
#define KERNEL_CAST(type, address) ((type *)(address))
#define OFFSET_OF(type, field) offsetof(type, field)

/* The struct in which a program lists its functions. */
struct program {
    u32 (*ssthresh)(u64 *arguments);
    void (*cong_avoid)(u64 *arguments);
    void (*set_state)(u64 *arguments);
    void (*cwnd_event)(u64 *arguments);
    void (*pkts_acked)(u64 *arguments);
    u32 (*undo_cwnd)(u64 *arguments);
    void (*init)(u64 *arguments);
    void (*release)(u64 *arguments);
    char name[16];
    u32 flags;
};
#define tcp_congestion_ops program

static struct callbacks callbacks;

/* The kernel in virtual time has one CPU. */
#define COUNT(operation) (callbacks.operation++)

INLINE int limited_by_window(const struct tcp_sock *tp)
{
    return tcp_is_cwnd_limited((const struct sock *)tp);
}
