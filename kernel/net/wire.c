// SPDX-License-Identifier: GPL-2.0-only
/* The qdisc `wire`: an Ethernet wire of an exact rate and delay, for exact timers.
 *
 * It takes a packet from its queue, a qdisc of its own, when the wire is free, transmits it for the bits that it occupies
 * on the wire, and hands it over when its last bit has arrived: after its transmission and the delay. A GSO packet that the
 * device can't segment is segmented before the queue, which therefore holds, counts and drops single frames. One that
 * the device segments stands for frames that follow each other, and is handed over when the first of them has arrived.
 *
 * Times are not those at which a timer fires: as long as packets wait, a transmission begins at the end of the one
 * before, and the fraction of a nanosecond that is left is kept for the next.
 *
 * The rate and the delay may follow traces, whose steps come before they begin. A packet that is transmitted while the rate
 * changes is transmitted at each rate for its time; while the rate is 0, it waits. A packet takes the delay that is in
 * force when its last bit leaves, but does not arrive before the one in front of it.
 */
#include <linux/module.h>
#include <linux/skbuff.h>
#if __has_include(<net/gso.h>) /* from Linux 6.5 on */
#include <net/gso.h>
#endif
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

/* The settings, the attribute TCA_OPTIONS of a new wire. Until its traces begin, the rate and the delay are these. */
struct wire_settings {
	u64 bits_per_second;
	u64 delay_ns;
};

/* A rate in bits per second, or a delay in nanoseconds, and the time from which it is in force. Times count from the
 * beginning of the trace.
 */
struct wire_step {
	u64 from_ns;
	u64 value;
};

/* The steps of a trace. */
struct wire_trace {
	struct wire_step *steps;
	u64 count;
	u64 period_ns;
};

/* A piece of a trace, the attribute TCA_OPTIONS of a change; its steps follow. A change whose attribute is only a time
 * of the monotonic clock, in 64 bits, lets the traces begin then.
 */
struct wire_piece {
	/* The number of steps of the whole trace, with WIRE_DELAYS if they are delays, and of those before this piece. */
	u64 steps;
	u64 before;
	/* The time after which the trace begins again; 0 if its last step stays. */
	u64 period_ns;
};

#define WIRE_DELAYS BIT_ULL(63)

/* The most steps of a trace. */
#define WIRE_MOST_STEPS 500000

/* The step of a trace that is in force, and the beginning of its repetition. */
struct wire_place {
	u64 step;
	u64 turn_ns;
};

/* A time, in nanoseconds and in parts of them, of which one has as many as bits per second are transmitted then, with its
 * place in the trace of the rate.
 */
struct wire_time {
	u64 ns;
	u64 parts;
	struct wire_place place;
};

struct wire {
	struct wire_settings settings;
	struct Qdisc *queue;
	/* The packets that are transmitted or on their way, in the order of their transmission and arrival. */
	struct sk_buff_head flying;
	/* The end of the last transmission. */
	struct wire_time free;
	/* The place in the trace of the delay at which the last packet left. */
	struct wire_place delayed;
	struct wire_trace rates;
	struct wire_trace delays;
	/* The time at which the traces begin; U64_MAX if that is not known yet. */
	u64 begins_ns;
	/* True if no packet waited when the last transmission ended. */
	bool is_idle;
	struct qdisc_watchdog watchdog;
};

/* What is noted of a packet in flight. */
struct wire_note {
	u64 arrival_ns;
};

static struct wire_note *wire_note(struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct wire_note));
	return (struct wire_note *)qdisc_skb_cb(skb)->data;
}

/* Puts a packet into the queue, and returns the queue's answer. */
static int wire_queue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct wire *wire = qdisc_priv(sch);
	unsigned int length = qdisc_pkt_len(skb);
	int answer = qdisc_enqueue(skb, wire->queue, to_free);

	if (answer == NET_XMIT_SUCCESS) {
		sch->qstats.backlog += length;
		sch->q.qlen++;
	} else if (net_xmit_drop_count(answer)) {
		qdisc_qstats_drop(sch);
	}
	return answer;
}

/* Puts the frames of a GSO packet into the queue. The sender, which has no frames, learns of their fate as a whole: if
 * some are dropped, by an answer upon which it sends less and takes the packet as sent.
 */
static int wire_queue_frames(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free,
			     netdev_features_t features)
{
	struct sk_buff *frames = skb_gso_segment(skb, features & ~NETIF_F_GSO_MASK), *frame, *next;
	unsigned int passed = 0, dropped = 0;

	if (IS_ERR_OR_NULL(frames))
		return qdisc_drop(skb, sch, to_free);
	skb_list_walk_safe(frames, frame, next) {
		skb_mark_not_on_list(frame);
		qdisc_skb_cb(frame)->pkt_len = frame->len;
		qdisc_calculate_pkt_len(frame, sch);
		if (wire_queue(frame, sch, to_free) == NET_XMIT_SUCCESS)
			passed++;
		else
			dropped++;
	}
	if (!passed) {
		kfree_skb(skb);
		return NET_XMIT_DROP;
	}
	consume_skb(skb);
	return dropped ? NET_XMIT_CN : NET_XMIT_SUCCESS;
}

static int wire_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct wire *wire = qdisc_priv(sch);
	netdev_features_t features;

	if (!wire->queue->q.qlen && wire->free.ns <= ktime_get_ns())
		wire->is_idle = true;
	if (skb_is_gso(skb)) {
		features = netif_skb_features(skb);
		if (netif_needs_gso(skb, features))
			return wire_queue_frames(skb, sch, to_free, features);
	}
	return wire_queue(skb, sch, to_free);
}

/* Returns the value of a trace that has begun at a time, which is not before that of an earlier call with this place, and
 * the time until which it is in force.
 */
static u64 wire_value(const struct wire_trace *trace, struct wire_place *place, u64 ns, u64 *until_ns)
{
	for (;;) {
		*until_ns = U64_MAX;
		if (place->step + 1 < trace->count)
			*until_ns = place->turn_ns + trace->steps[place->step + 1].from_ns;
		else if (trace->period_ns)
			*until_ns = place->turn_ns + trace->period_ns;
		if (ns < *until_ns)
			return trace->steps[place->step].value;
		if (++place->step == trace->count) {
			place->step = 0;
			place->turn_ns += trace->period_ns;
		}
	}
}

/* Returns the rate at a time, which is not before that of an earlier call, and the time until which it is in force. */
static u64 wire_rate(const struct wire *wire, struct wire_time *time, u64 *until_ns)
{
	if (wire->rates.count && time->ns >= wire->begins_ns)
		return wire_value(&wire->rates, &time->place, time->ns, until_ns);
	*until_ns = wire->rates.count ? wire->begins_ns : U64_MAX;
	return wire->settings.bits_per_second;
}

/* Returns the delay of a packet whose last bit leaves at a time, which is not before that of an earlier call. */
static u64 wire_delay(struct wire *wire, u64 ns)
{
	u64 until_ns;

	if (wire->delays.count && ns >= wire->begins_ns)
		return wire_value(&wire->delays, &wire->delayed, ns, &until_ns);
	return wire->settings.delay_ns;
}

/* Moves a time to the end of the transmission of parts, of which a bit has NSEC_PER_SEC. */
static void wire_pass(const struct wire *wire, struct wire_time *time, u64 parts)
{
	u64 until_ns, rate = wire_rate(wire, time, &until_ns), ns, rest;

	parts += time->parts;
	for (;;) {
		if (rate) {
			ns = div64_u64_rem(parts, rate, &rest);
			/* The end of a step, rather than the beginning of the next one, which may have a rate of 0. */
			if (ns < until_ns - time->ns || (ns == until_ns - time->ns && !rest)) {
				time->ns += ns;
				time->parts = rest;
				return;
			}
			parts -= rate * (until_ns - time->ns);
		}
		time->ns = until_ns;
		rate = wire_rate(wire, time, &until_ns);
	}
}

/* Sets the time from which the wire is free, and the places of the traces to their beginnings. */
static void wire_set(struct wire *wire, u64 ns)
{
	wire->delayed = (struct wire_place){ .turn_ns = wire->begins_ns };
	wire->free = (struct wire_time){ .ns = ns, .place = wire->delayed };
}

/* Begins to transmit a packet. */
static void wire_transmit(struct wire *wire, struct sk_buff *skb, u64 now)
{
	unsigned int frames = max_t(unsigned int, skb_shinfo(skb)->gso_segs, 1);
	/* A packet of 64 KiB has 5e14 of these parts. */
	u64 parts = (u64)qdisc_pkt_len(skb) * 8 * NSEC_PER_SEC;
	struct wire_time first;

	if (wire->is_idle) {
		wire->free.ns = now;
		wire->free.parts = 0;
	}
	wire->is_idle = false;
	first = wire->free;
	wire_pass(wire, &first, div_u64(parts, frames));
	wire_note(skb)->arrival_ns = first.ns + wire_delay(wire, first.ns);
	/* Without its socket, the packet can no longer tell when it left. */
	skb_tx_timestamp(skb);
	/* What is on the wire no longer counts as waiting at its sender (TCP small queues). */
	skb_orphan(skb);
	__skb_queue_tail(&wire->flying, skb);
	if (frames > 1)
		wire_pass(wire, &wire->free, parts);
	else
		wire->free = first;
}

static struct sk_buff *wire_dequeue(struct Qdisc *sch)
{
	struct wire *wire = qdisc_priv(sch);
	u64 now = ktime_get_ns(), next;
	struct sk_buff *skb;

	while (wire->free.ns <= now) {
		skb = wire->queue->dequeue(wire->queue);
		if (!skb) {
			wire->is_idle = true;
			break;
		}
		qdisc_qstats_backlog_dec(sch, skb);
		sch->q.qlen--;
		wire_transmit(wire, skb, now);
	}
	skb = skb_peek(&wire->flying);
	if (skb && wire_note(skb)->arrival_ns <= now) {
		__skb_unlink(skb, &wire->flying);
		qdisc_bstats_update(sch, skb);
		return skb;
	}
	next = skb ? wire_note(skb)->arrival_ns : U64_MAX;
	if (wire->queue->q.qlen && wire->free.ns > now)
		next = min(next, wire->free.ns);
	if (next != U64_MAX)
		qdisc_watchdog_schedule_ns(&wire->watchdog, next);
	return NULL;
}

static void wire_reset(struct Qdisc *sch)
{
	struct wire *wire = qdisc_priv(sch);

	qdisc_reset(wire->queue);
	__skb_queue_purge(&wire->flying);
	wire_set(wire, 0);
	wire->is_idle = true;
	qdisc_watchdog_cancel(&wire->watchdog);
}

static int wire_init(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)
{
	struct wire *wire = qdisc_priv(sch);

	wire->queue = &noop_qdisc;
	wire->is_idle = true;
	wire->begins_ns = U64_MAX;
	__skb_queue_head_init(&wire->flying);
	qdisc_watchdog_init(&wire->watchdog, sch);
	if (!options || nla_len(options) < sizeof(wire->settings))
		return -EINVAL;
	nla_memcpy(&wire->settings, options, sizeof(wire->settings));
	return wire->settings.bits_per_second ? 0 : -EINVAL;
}

/* Returns whether something is transmitted at the end of the trace of the rate, or again and again. */
static bool wire_goes_on(const struct wire_trace *rates)
{
	u64 step;

	if (!rates->count)
		return true;
	if (!rates->period_ns)
		return rates->steps[rates->count - 1].value > 0;
	for (step = 0; step < rates->count; step++)
		if (rates->steps[step].value)
			return true;
	return false;
}

/* Lets the traces begin. */
static int wire_begin(struct wire *wire, u64 begins_ns)
{
	if (!wire_goes_on(&wire->rates) || (!wire->rates.count && !wire->delays.count))
		return -EINVAL;
	wire->begins_ns = begins_ns;
	wire_set(wire, wire->free.ns);
	return 0;
}

/* Adds a piece of a trace. */
static int wire_add(struct wire *wire, const struct wire_piece *piece, const void *steps, size_t bytes)
{
	struct wire_trace *trace = piece->steps & WIRE_DELAYS ? &wire->delays : &wire->rates;
	u64 all = piece->steps & ~WIRE_DELAYS, count = bytes / sizeof(struct wire_step);

	if (!trace->steps) {
		if (!all || all > WIRE_MOST_STEPS)
			return -EINVAL;
		trace->steps = kvcalloc(all, sizeof(struct wire_step), GFP_KERNEL);
		if (!trace->steps)
			return -ENOMEM;
		trace->count = all;
		trace->period_ns = piece->period_ns;
	}
	if (piece->before > trace->count || count > trace->count - piece->before)
		return -EINVAL;
	memcpy(trace->steps + piece->before, steps, count * sizeof(struct wire_step));
	return 0;
}

static int wire_change(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)
{
	struct wire *wire = qdisc_priv(sch);
	struct wire_piece piece;
	int answer = -EINVAL;

	/* Traces that have begun do not change. */
	if (!options || wire->begins_ns != U64_MAX)
		return -EINVAL;
	if (nla_len(options) == sizeof(u64)) {
		sch_tree_lock(sch);
		answer = wire_begin(wire, nla_get_u64(options));
		sch_tree_unlock(sch);
	} else if (nla_len(options) >= sizeof(piece)) {
		nla_memcpy(&piece, options, sizeof(piece));
		answer = wire_add(wire, &piece, nla_data(options) + sizeof(piece), nla_len(options) - sizeof(piece));
	}
	return answer;
}

static void wire_destroy(struct Qdisc *sch)
{
	struct wire *wire = qdisc_priv(sch);

	qdisc_watchdog_cancel(&wire->watchdog);
	qdisc_put(wire->queue);
	kvfree(wire->rates.steps);
	kvfree(wire->delays.steps);
}

static int wire_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct wire *wire = qdisc_priv(sch);

	return nla_put(skb, TCA_OPTIONS, sizeof(wire->settings), &wire->settings) ? -1 : skb->len;
}

/* Its only class has the queue. */
#define WIRE_CLASS 1

static int wire_graft(struct Qdisc *sch, unsigned long class, struct Qdisc *new, struct Qdisc **old,
		      struct netlink_ext_ack *extack)
{
	struct wire *wire = qdisc_priv(sch);

	*old = qdisc_replace(sch, new ? new : &noop_qdisc, &wire->queue);
	return 0;
}

static struct Qdisc *wire_leaf(struct Qdisc *sch, unsigned long class)
{
	struct wire *wire = qdisc_priv(sch);

	return wire->queue;
}

static unsigned long wire_find(struct Qdisc *sch, u32 class)
{
	return WIRE_CLASS;
}

static void wire_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (walker->stop)
		return;
	if (walker->count >= walker->skip && walker->fn(sch, WIRE_CLASS, walker) < 0)
		walker->stop = 1;
	walker->count++;
}

static int wire_dump_class(struct Qdisc *sch, unsigned long class, struct sk_buff *skb, struct tcmsg *message)
{
	struct wire *wire = qdisc_priv(sch);

	message->tcm_handle |= TC_H_MIN(WIRE_CLASS);
	message->tcm_info = wire->queue->handle;
	return 0;
}

static const struct Qdisc_class_ops wire_class_ops = {
	.graft = wire_graft,
	.leaf = wire_leaf,
	.find = wire_find,
	.walk = wire_walk,
	.dump = wire_dump_class,
};

static struct Qdisc_ops wire_ops = {
	.id = "wire",
	.priv_size = sizeof(struct wire),
	.cl_ops = &wire_class_ops,
	.enqueue = wire_enqueue,
	.dequeue = wire_dequeue,
	.peek = qdisc_peek_dequeued,
	.init = wire_init,
	.change = wire_change,
	.reset = wire_reset,
	.destroy = wire_destroy,
	.dump = wire_dump,
	.owner = THIS_MODULE,
};

static int __init wire_register(void)
{
	return register_qdisc(&wire_ops);
}
module_init(wire_register);
