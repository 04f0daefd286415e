/* SPDX-License-Identifier: GPL-2.0-only */
/* Registers the congestion control CONTROL, whose program was included before, as one that is built into the kernel.
 * The counters of its calls are the file `parameters/callbacks` of its directory in /sys/module.
 */
#undef tcp_congestion_ops

#define CALLBACKS (*(unsigned long long (*)[sizeof(callbacks) / sizeof(u64)])&callbacks)
module_param_array_named(callbacks, CALLBACKS, ullong, NULL, 0444);

static u32 control_ssthresh(struct sock *sk)
{
	u64 arguments[] = { (u64)(unsigned long)sk };

	return CONTROL.ssthresh(arguments);
}

static void control_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	u64 arguments[] = { (u64)(unsigned long)sk, ack, acked };

	CONTROL.cong_avoid(arguments);
}

static void control_set_state(struct sock *sk, u8 new_state)
{
	u64 arguments[] = { (u64)(unsigned long)sk, new_state };

	if (CONTROL.set_state)
		CONTROL.set_state(arguments);
}

static void control_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	u64 arguments[] = { (u64)(unsigned long)sk, event };

	if (CONTROL.cwnd_event)
		CONTROL.cwnd_event(arguments);
}

static void control_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	u64 arguments[] = { (u64)(unsigned long)sk, (u64)(unsigned long)sample };

	CONTROL.pkts_acked(arguments);
}

static u32 control_undo_cwnd(struct sock *sk)
{
	u64 arguments[] = { (u64)(unsigned long)sk };

	return CONTROL.undo_cwnd(arguments);
}

static void control_init(struct sock *sk)
{
	u64 arguments[] = { (u64)(unsigned long)sk };

	CONTROL.init(arguments);
}

static void control_release(struct sock *sk)
{
	u64 arguments[] = { (u64)(unsigned long)sk };

	CONTROL.release(arguments);
}

static struct tcp_congestion_ops control = {
	.ssthresh = control_ssthresh,
	.cong_avoid = control_cong_avoid,
	.set_state = control_set_state,
	.cwnd_event = control_cwnd_event,
	.pkts_acked = control_pkts_acked,
	.undo_cwnd = control_undo_cwnd,
	.init = control_init,
	.release = control_release,
	.flags = TCP_CONG_NON_RESTRICTED,
	.owner = THIS_MODULE,
	.name = __stringify(CONTROL),
};

static int __init control_register(void)
{
	BUILD_BUG_ON(sizeof(struct state) > ICSK_CA_PRIV_SIZE);
	return tcp_register_congestion_control(&control);
}
module_init(control_register);
