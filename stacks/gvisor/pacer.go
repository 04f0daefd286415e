package main

import "golang.org/x/sys/unix"

// Waits for departures without bursts and without taking all of a CPU's time (engine/traffic/src/packets/pacer.rs).

const (
	// spinNs is the last part of a wait, in which the clock is polled because a sleep could be late.
	spinNs = 20_000
	// exactNs is the lateness up to which a sleep was exact, as it is in virtual time.
	exactNs = 200
	// Polling may take one nanosecond in spinShare, and spinCreditNs at the start.
	spinShare    = 5
	spinCreditNs = 1_000_000
	// restNs is the shortest time between two wakings if departures are dense: if at least denseCount fall into it.
	restNs     = 50_000
	denseCount = 5
)

// A pacer waits for the departures of one thread. Times are those of the monotonic clock.
type pacer struct {
	beginNs, spunNs, wokenNs uint64
	isExact                  bool
}

// newPacer returns the pacer of a flow that begins now and that the calling thread sends.
func newPacer(beginNs uint64) *pacer {
	// By default a thread may be woken 50 us late. If the kernel refuses, the measured lateness shows it.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	return &pacer{beginNs: beginNs, wokenNs: beginNs}
}

// wait waits until dueNs or a little longer, after so many packets of the flow have departed.
func (one *pacer) wait(dueNs, departed uint64) {
	now := nowNs()
	elapsed := now - one.beginNs
	if departed/denseCount > elapsed/restNs || one.spunNs > spinCreditNs+elapsed/spinShare {
		one.rest(dueNs)
	} else if dueNs > now {
		one.spin(dueNs, now)
	}
}

// rest sleeps for a rest, unless the departure became due since the last rest began.
func (one *pacer) rest(dueNs uint64) {
	if dueNs > one.wokenNs {
		sleepUntil(max(dueNs, one.wokenNs+restNs))
		one.wokenNs = nowNs()
	}
}

func (one *pacer) spin(dueNs, now uint64) {
	margin := uint64(spinNs)
	if one.isExact {
		margin = 0
	}
	if dueNs > now+margin {
		sleepUntil(dueNs - margin)
		now = nowNs()
		one.isExact = now-min(now, dueNs-margin) < exactNs
	}
	began := now
	for now < dueNs {
		now = nowNs()
	}
	one.spunNs += now - began
	one.wokenNs = now
}

// sleepUntil sleeps until the monotonic clock reaches a moment, or until a signal arrives.
func sleepUntil(momentNs uint64) {
	moment := unix.NsecToTimespec(int64(min(momentNs, 1<<62)))
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &moment, nil)
}

// threadNs returns the CPU time of the calling thread.
func threadNs() uint64 {
	var spent unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &spent); err != nil {
		panic(err) // clock_gettime(2) fails for unknown clocks alone
	}
	return uint64(spent.Nano())
}
