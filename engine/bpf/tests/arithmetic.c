/* The arithmetic of the programs as functions of a library, for tests/arithmetic.rs. */
#include "../programs/balia/arithmetic.h"
#include "../programs/lia/arithmetic.h"
#include "../programs/olia/arithmetic.h"
#include "../programs/wvegas/arithmetic.h"

void test_set_shares(struct connection *connection) { set_shares(connection); }

u64 test_lia_increase(struct connection *connection)
{
    set_shares(connection);
    return lia_increase(connection);
}

s64 test_olia_increase(struct connection *connection)
{
    set_shares(connection);
    return olia_increase(connection);
}

u64 test_balia_increase(struct connection *connection)
{
    set_shares(connection);
    return balia_increase(connection);
}

u32 test_balia_window_after_loss(struct connection *connection)
{
    set_shares(connection);
    return balia_window_after_loss(connection);
}

struct windows test_wvegas_round(struct wvegas *state, struct windows now, u32 rtt_us, u64 share, int limited)
{
    return wvegas_round(state, now, rtt_us, share, limited);
}

struct window test_grown(struct window window, s64 increase, u32 acked, u32 least, u32 most)
{
    return grown(window, increase, acked, least, most);
}

struct windows test_repaired(struct windows now, u32 largest, u32 before_loss)
{
    return repaired(now, largest, before_loss);
}
