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
 */
#include <linux/module.h>
#include <linux/skbuff.h>
#if __has_include(<net/gso.h>) /* from Linux 6.5 on */
#include <net/gso.h>
#endif
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>

/* The settings, the attribute TCA_OPTIONS. */
struct wire_settings {
	u64 bits_per_second;
	u64 delay_ns;
};

struct wire {
	struct wire_settings settings;
	struct Qdisc *queue;
	/* The packets that are transmitted or on their way, in the order of their arrival. */
	struct sk_buff_head flying;
	/* The end of the last transmission, in nanoseconds and in parts of them, of which one has bits_per_second. */
	u64 free_ns;
	u64 free_parts;
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

	if (!wire->queue->q.qlen && wire->free_ns <= ktime_get_ns())
		wire->is_idle = true;
	if (skb_is_gso(skb)) {
		features = netif_skb_features(skb);
		if (netif_needs_gso(skb, features))
			return wire_queue_frames(skb, sch, to_free, features);
	}
	return wire_queue(skb, sch, to_free);
}

/* Begins to transmit a packet. */
static void wire_transmit(struct wire *wire, struct sk_buff *skb, u64 now)
{
	u64 rate = wire->settings.bits_per_second, parts, first;
	unsigned int frames = max_t(unsigned int, skb_shinfo(skb)->gso_segs, 1);

	if (wire->is_idle) {
		wire->free_ns = now;
		wire->free_parts = 0;
	}
	wire->is_idle = false;
	/* A packet of 64 KiB has 5e14 of these parts. */
	parts = (u64)qdisc_pkt_len(skb) * 8 * NSEC_PER_SEC;
	first = div64_u64(div_u64(parts, frames) + wire->free_parts, rate);
	wire_note(skb)->arrival_ns = wire->free_ns + first + wire->settings.delay_ns;
	/* What is on the wire no longer counts as waiting at its sender (TCP small queues). */
	skb_orphan(skb);
	__skb_queue_tail(&wire->flying, skb);
	parts += wire->free_parts;
	wire->free_ns += div64_u64_rem(parts, rate, &wire->free_parts);
}

static struct sk_buff *wire_dequeue(struct Qdisc *sch)
{
	struct wire *wire = qdisc_priv(sch);
	u64 now = ktime_get_ns(), next;
	struct sk_buff *skb;

	while (wire->free_ns <= now) {
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
	if (wire->queue->q.qlen && wire->free_ns > now)
		next = min(next, wire->free_ns);
	if (next != U64_MAX)
		qdisc_watchdog_schedule_ns(&wire->watchdog, next);
	return NULL;
}

static void wire_reset(struct Qdisc *sch)
{
	struct wire *wire = qdisc_priv(sch);

	qdisc_reset(wire->queue);
	__skb_queue_purge(&wire->flying);
	wire->free_ns = 0;
	wire->is_idle = true;
	qdisc_watchdog_cancel(&wire->watchdog);
}

static int wire_init(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *extack)
{
	struct wire *wire = qdisc_priv(sch);

	wire->queue = &noop_qdisc;
	wire->is_idle = true;
	__skb_queue_head_init(&wire->flying);
	qdisc_watchdog_init(&wire->watchdog, sch);
	if (!options || nla_len(options) < sizeof(wire->settings))
		return -EINVAL;
	nla_memcpy(&wire->settings, options, sizeof(wire->settings));
	return wire->settings.bits_per_second ? 0 : -EINVAL;
}

static void wire_destroy(struct Qdisc *sch)
{
	struct wire *wire = qdisc_priv(sch);

	qdisc_watchdog_cancel(&wire->watchdog);
	qdisc_put(wire->queue);
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
