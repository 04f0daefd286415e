/* What the coupled algorithms compute with: the subflows of a connection, the share of the connection's rate
 * that each has, and a window with a fraction. Integers only, no header of any system: compiled for BPF and,
 * for the property tests, for user space.
 *
 * Scaling. "Qn" is a number times 2^n. With x = w / rtt (packets per time), every algorithm here needs the
 * rates only as shares u = x / sum(x), because rtt cancels: (w/rtt^2) / (sum x)^2 = u^2 / w.
 *   rate       w * 2^44 / rtt, rtt in eighths of a microsecond: below 2^60, so that eight add up in 64 bits
 *   share      Q31
 *   increase   Q48, packets of window per acknowledged packet
 * Error of a share: at most 2^-30, and relative 2^-16 for round trips up to 8 s (the rate of one packet per
 * 8 s is 2^18, and is rounded down by less than one); 2^-10 at the longest round trip that srtt_us holds.
 */
#pragma once

typedef unsigned char u8;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define INLINE static inline __attribute__((always_inline))

/* The kernel allows a connection eight subflows (net/mptcp/pm.c, MPTCP_PM_ADDR_MAX). */
#define SUBFLOWS_MAX 8
/* Larger windows count as this one: 1.5 GB of full packets. */
#define WINDOW_MAX ((1u << 20) - 1)
/* Shorter round trips count as this one: two microseconds. */
#define RTT_MIN 16u

#define SHARE_BITS 31
#define INCREASE_BITS 48
#define ONE_PACKET (1ull << INCREASE_BITS)

struct subflow {
    u32 window;    /* congestion window, packets; 0: no subflow in this place */
    u32 rtt;       /* smoothed round-trip time, eighths of a microsecond (the kernel's srtt_us) */
    u64 share;     /* of the connection's rate, Q31; set by set_shares */
    u64 run_bytes; /* OLIA's l: bytes that got through between losses */
};

struct connection {
    struct subflow subflows[SUBFLOWS_MAX]; /* the first is the one that an acknowledgement or loss is for */
    u32 count;                             /* how many there are */
};

INLINE u64 smaller(u64 a, u64 b) { return a < b ? a : b; }
INLINE u64 larger(u64 a, u64 b) { return a > b ? a : b; }

/* How far to shift `value` right so that it fits 32 bits. */
INLINE u32 excess_bits(u64 value)
{
    u64 high = value >> 32;
    u32 bits = 0;

    if (high >> 16) { high >>= 16; bits += 16; }
    if (high >> 8) { high >>= 8; bits += 8; }
    if (high >> 4) { high >>= 4; bits += 4; }
    if (high >> 2) { high >>= 2; bits += 2; }
    if (high >> 1) { high >>= 1; bits += 1; }
    return bits + (u32)high;
}

/* A window as the arithmetic takes it. */
INLINE u32 bounded_window(u32 window) { return smaller(window, WINDOW_MAX); }

/* Sets the share of every subflow. They add up to at most one; a place without a subflow has none. */
INLINE void set_shares(struct connection *connection)
{
    u64 sum = 0;
    u32 excess;

    for (int i = 0; i < SUBFLOWS_MAX; i++) {
        struct subflow *subflow = &connection->subflows[i];
        u64 rate = ((u64)bounded_window(subflow->window) << 44) / larger(subflow->rtt, RTT_MIN);

        subflow->share = rate;
        sum += rate;
    }
    if (!sum)
        return;
    excess = excess_bits(sum);
    sum >>= excess;
    for (int i = 0; i < SUBFLOWS_MAX; i++)
        connection->subflows[i].share = ((connection->subflows[i].share >> excess) << SHARE_BITS) / sum;
}

/* The share of the fastest subflow, Q31. */
INLINE u64 largest_share(const struct connection *connection)
{
    u64 largest = 0;

    for (int i = 0; i < SUBFLOWS_MAX; i++)
        largest = larger(largest, connection->subflows[i].share);
    return largest;
}

/* A subflow's u^2 / w, which is (w / rtt^2) / (sum x)^2: Q48, rounded down. `window` is not 0. */
INLINE u64 squared_share_per_packet(u64 share, u32 window)
{
    return (share * share / window) >> (2 * SHARE_BITS - INCREASE_BITS);
}

/* A congestion window of whole packets (what the kernel sends by) and the part of the next one, Q48, below one. */
struct window {
    u32 packets;
    u64 fraction;
};

/* `window` after `acked` packets were acknowledged, each worth `increase` (Q48, may be negative, at most two
 * packets either way). No more is counted than the window holds, and the result is within `least` and `most`. */
INLINE struct window grown(struct window window, s64 increase, u32 acked, u32 least, u32 most)
{
    s64 fraction = (s64)window.fraction + increase * (s64)smaller(acked, bounded_window(window.packets));
    s64 packets = (s64)window.packets + (fraction >> INCREASE_BITS);

    window.fraction = fraction & (ONE_PACKET - 1);
    if (packets < (s64)least) {
        packets = least;
        window.fraction = 0;
    }
    if (packets >= (s64)most) {
        packets = most;
        window.fraction = 0;
    }
    window.packets = packets;
    return window;
}
