package main

import (
	"math"
	"math/bits"
)

// The times at which packets are due to depart, and their sizes (engine/flows/src/departures.rs).

// grace is the part of its duration for which a sender that is behind its departures continues after the end.
const grace = 10

// A departures has those of a flow. Times are nanoseconds since the start of the flow.
type departures struct {
	sizes      func() uint64
	gaps       func() uint64
	rateBps    uint64
	windows    *windows
	durationNs uint64
	left       uint64
	// dueNs is the time at which the next packet is due, and sendingNs that time without the times of silence before it.
	dueNs, sendingNs, bytes uint64
}

func newDepartures(packets *packets) (*departures, error) {
	one := &departures{durationNs: math.MaxUint64, left: math.MaxUint64}
	var err error
	if one.sizes, err = packets.Size.draws(packets.Seed, ofSizes); err != nil {
		return nil, err
	}
	switch {
	case packets.Gap != nil:
		if one.gaps, err = packets.Gap.draws(packets.Seed, ofGaps); err != nil {
			return nil, err
		}
	case packets.Rate != nil:
		one.rateBps = uint64(*packets.Rate)
	}
	if onOff := packets.OnOff; onOff != nil {
		one.windows = &windows{}
		if one.windows.on, err = onOff.On.draws(packets.Seed, ofSending); err != nil {
			return nil, err
		}
		if one.windows.off, err = onOff.Off.draws(packets.Seed, ofSilence); err != nil {
			return nil, err
		}
		one.windows.lengthNs = one.windows.on()
	}
	if packets.Duration != nil {
		one.durationNs = uint64(*packets.Duration)
	}
	if packets.Count != nil {
		one.left = *packets.Count
	}
	return one, nil
}

// isPaced returns true if packets have departure times. Otherwise they are sent as fast as the transport accepts them.
func (one *departures) isPaced() bool { return one.gaps != nil || one.rateBps > 0 }

// due returns the time at which the next packet is due, given the present time; false if the flow is over.
func (one *departures) due(nowNs uint64) (uint64, bool) {
	dueNs, lastNs := one.dueNs, added(one.durationNs, one.durationNs/grace)
	if !one.isPaced() {
		dueNs, lastNs = nowNs, one.durationNs
		if one.windows != nil {
			dueNs = one.windows.openAt(nowNs)
		}
	}
	return dueNs, one.left > 0 && dueNs < one.durationNs && nowNs < lastNs
}

// take takes the packet that is due, and returns its size.
func (one *departures) take() uint64 {
	size := one.sizes()
	one.left--
	one.bytes += size
	switch {
	case one.gaps != nil:
		one.sendingNs = added(one.sendingNs, one.gaps())
	case one.rateBps > 0:
		one.sendingNs = math.MaxUint64
		if high, low := bits.Mul64(one.bytes, 8_000_000_000); high < one.rateBps {
			one.sendingNs, _ = bits.Div64(high, low, one.rateBps)
		}
	default:
		return size
	}
	one.dueNs = one.sendingNs
	if one.windows != nil {
		one.dueNs = one.windows.at(one.sendingNs)
	}
	return size
}

// askedNs returns the time that the packets taken so far should have taken.
func (one *departures) askedNs() uint64 { return min(one.dueNs, one.durationNs) }

// A windows has alternating times of sending and of silence. The clock of gaps and rates stands still in silence.
type windows struct {
	on, off func() uint64
	// The current time of sending: its start, its start without the silence before it, and its length.
	beginNs, sendingNs, lengthNs uint64
}

func (one *windows) advance() {
	one.sendingNs = added(one.sendingNs, one.lengthNs)
	one.beginNs = added(added(one.beginNs, one.lengthNs), one.off())
	one.lengthNs = max(one.on(), 1)
}

// at returns the moment at which so much of sending has passed.
func (one *windows) at(sendingNs uint64) uint64 {
	for sendingNs-one.sendingNs >= one.lengthNs {
		one.advance()
	}
	return added(one.beginNs, sendingNs-one.sendingNs)
}

// openAt returns the first moment from nowNs on at which packets may be sent.
func (one *windows) openAt(nowNs uint64) uint64 {
	for nowNs >= added(one.beginNs, one.lengthNs) {
		one.advance()
	}
	return max(one.beginNs, nowNs)
}

// added returns a sum; one that is too large is the largest number.
func added(left, right uint64) uint64 {
	sum, carry := bits.Add64(left, right, 0)
	if carry > 0 {
		return math.MaxUint64
	}
	return sum
}
