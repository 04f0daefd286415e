/* The data of the coupled algorithms: the subflows of a connection, the share of each in the connection's rate, and
 * a window with a fraction. The code uses only integers and no system headers, because it is compiled for BPF and,
 * for property tests, for user space.
 *
 * Scaling. "Qn" is a number times 2^n. With x = w / rtt (packets per time), every algorithm here needs the
 * rates only as shares u = x / sum(x), because rtt cancels: (w/rtt^2) / (sum x)^2 = u^2 / w.
 *   rate       w * 2^44 / rtt, rtt in eighths of a microsecond: below 2^60, so that eight add up in 64 bits
 *   share      Q31
 *   increase   Q48, packets of window per acknowledged packet
 * The error of a share is at most 2^-30. Its relative error is at most 2^-16 for round trips up to 8 s (the rate of
 * one packet in 8 s is 2^18, and is rounded down by less than one), and 2^-10 for the longest round trip that srtt_us
 * can represent.
 */
#pragma once

typedef unsigned char u8;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define INLINE static inline __attribute__((always_inline))

/* The largest number of subflows that the kernel allows for a connection (net/mptcp/pm.c, MPTCP_PM_ADDR_MAX). */
#define SUBFLOWS_MAX 8
/* The upper bound of windows in the arithmetic: 1.5 GB of full packets. */
#define WINDOW_MAX ((1u << 20) - 1)
/* The lower bound of round-trip times in the arithmetic: two microseconds. */
#define RTT_MIN 16u

#define SHARE_BITS 31
#define INCREASE_BITS 48
#define ONE_PACKET (1ull << INCREASE_BITS)

struct subflow {
    u32 window;    /* congestion window, packets; 0 if there is no subflow at this index */
    u32 rtt;       /* smoothed round-trip time, eighths of a microsecond (the kernel's srtt_us) */
    u64 share;     /* share of the connection's rate, Q31; set by set_shares */
    u64 run_bytes; /* OLIA's l: bytes acknowledged between losses */
};

struct connection {
    struct subflow subflows[SUBFLOWS_MAX]; /* the first is the one to which an acknowledgement or loss belongs */
    u32 count;                             /* number of subflows */
};

INLINE u64 smaller(u64 a, u64 b) { return a < b ? a : b; }
INLINE u64 larger(u64 a, u64 b) { return a > b ? a : b; }

/* Returns the number of bits by which `value` must be shifted right to fit 32 bits. */
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

/* Returns the window, or its upper bound in the arithmetic if it is larger. */
INLINE u32 bounded_window(u32 window) { return smaller(window, WINDOW_MAX); }

/* Sets the share of every subflow. The sum of shares is at most one; an index without a subflow has share 0. */
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

/* Returns the share of the fastest subflow, Q31. */
INLINE u64 largest_share(const struct connection *connection)
{
    u64 largest = 0;

    for (int i = 0; i < SUBFLOWS_MAX; i++)
        largest = larger(largest, connection->subflows[i].share);
    return largest;
}

/* Returns a subflow's u^2 / w, which is (w / rtt^2) / (sum x)^2; Q48, rounded down. `window` must not be 0. */
INLINE u64 squared_share_per_packet(u64 share, u32 window)
{
    return (share * share / window) >> (2 * SHARE_BITS - INCREASE_BITS);
}

/* A congestion window: whole packets, which the kernel uses, and a fraction of the next packet, Q48, below one. */
struct window {
    u32 packets;
    u64 fraction;
};

/* Returns the window after `acked` packets were acknowledged, each of which adds `increase` (Q48, from -2 to 2
 * packets). At most a whole window of acknowledged packets counts. The result is between `least` and `most`. */
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
