package main

import (
	"math"
	"math/bits"
)

// The figures of a receiver of packets (engine/flows/src/arrivals.rs and sequence.rs).

const (
	chunkWords = 1024
	chunkBits  = chunkWords * 64
	// farthest is the distance beyond all others at which a packet's number is none that the sender can have reached.
	farthest = 1 << 32
)

// A numbers follows the numbers of a flow's packets, which the sender counts from 0. One bit for each says whether the packet
// arrived; a chunk of bits that are all set keeps none.
type numbers struct {
	chunks []chunk
	// next is one above the largest number seen (RFC 4737 section 3.3).
	next, received, reordered, duplicated uint64
}

type chunk struct {
	words *[chunkWords]uint64
	set   uint64
}

// word returns the bits of 64 numbers of a chunk.
func (one *chunk) word(place uint64) uint64 {
	switch {
	case one.set == chunkBits:
		return math.MaxUint64
	case one.words == nil:
		return 0
	}
	return one.words[place]
}

// arrived notes the arrival of a packet. It returns true if it is the packet's first.
func (one *numbers) arrived(number uint64) bool {
	if number >= one.next && number-one.next >= farthest {
		return false
	}
	for uint64(len(one.chunks)) <= number/chunkBits {
		one.chunks = append(one.chunks, chunk{})
	}
	own, place, bit := &one.chunks[number/chunkBits], number%chunkBits/64, uint64(1)<<(number%64)
	if own.word(place)&bit != 0 {
		one.duplicated++
		return false
	}
	if own.words == nil {
		own.words = new([chunkWords]uint64)
	}
	own.words[place] |= bit
	if own.set++; own.set == chunkBits {
		own.words = nil
	}
	one.received++
	if number < one.next {
		one.reordered++
	} else {
		one.next = number + 1
	}
	return true
}

// counts returns the counts, given the packets that were sent and those that the sender's stack refused.
func (one *numbers) counts(sent, refused uint64) packetCounts {
	counts := packetCounts{Sent: sent, Reordered: one.reordered, Duplicated: one.duplicated, SendErrors: refused}
	run := uint64(0)
	lost := func(count uint64) {
		if count > 0 && run == 0 {
			counts.LossBursts++
		}
		run += count
		counts.Lost += count
		counts.LongestLossBurst = max(counts.LongestLossBurst, run)
	}
	for first := uint64(0); first < sent; first += 64 {
		if first/chunkBits >= uint64(len(one.chunks)) {
			lost(sent - first)
			break
		}
		word := one.chunks[first/chunkBits].word(first % chunkBits / 64)
		for left := min(sent-first, 64); left > 0; {
			absent := min(uint64(bits.TrailingZeros64(word)), left)
			lost(absent)
			word, left = word>>absent, left-absent
			if left == 0 {
				break
			}
			run = 0
			present := min(uint64(bits.TrailingZeros64(^word)), left)
			word, left = word>>present, left-present
		}
	}
	counts.Received = sent - counts.Lost
	return counts
}

// A variation gathers transit times with an arbitrary zero, for their excess over the smallest (RFC 5481 section 4.2). Values
// are kept by their distance from the first, because the smallest is known only at the end.
type variation struct {
	any          bool
	firstNs      int64
	above, below durations
	sum, squares float64
}

func (one *variation) record(transitNs int64) {
	if !one.any {
		one.any, one.firstNs = true, transitNs
	}
	distance := transitNs - one.firstNs
	if distance < 0 {
		one.below.record(uint64(-distance))
	} else {
		one.above.record(uint64(distance))
	}
	one.sum += float64(distance)
	one.squares += float64(distance) * float64(distance)
}

// smallestNs returns the smallest transit time.
func (one *variation) smallestNs() *int64 {
	if !one.any {
		return nil
	}
	smallest := one.firstNs - int64(one.below.most)
	return &smallest
}

// distribution returns the summary of the excess over the smallest, in microseconds; nil without values.
func (one *variation) distribution() *distribution {
	if !one.any {
		return nil
	}
	depth, excess := one.below.most, durations{}
	for _, bar := range one.below.bars() {
		excess.recordMany(depth-min(depth, uint64(bar.To)), uint64(bar.Count))
	}
	for _, bar := range one.above.bars() {
		excess.recordMany(depth+uint64(bar.To), uint64(bar.Count))
	}
	count := float64(excess.count)
	excess.least, excess.most = 0, one.above.most+depth
	excess.mean = one.sum/count + float64(depth)
	excess.squares = max(one.squares-one.sum*one.sum/count, 0)
	summary := excess.distribution()
	return &summary
}

// An arrivals gathers those of a flow's packets.
type arrivals struct {
	// aheadNs is the lead of the receiver's clock over the sender's, if it is known.
	aheadNs   int64
	isAhead   bool
	numbers   numbers
	bytes     uint64
	lastNs    uint64
	delay     durations
	variation variation
	jitter    jitter
}

func newArrivals(side *side) *arrivals {
	one := &arrivals{}
	one.aheadNs, one.isAhead = side.aheadNs()
	return one
}

// packet notes the arrival of a packet. One that arrives again is only counted.
func (one *arrivals) packet(packet packetHeader, arrivalNs uint64) {
	if !one.numbers.arrived(packet.number) {
		return
	}
	transitNs := int64(arrivalNs - packet.departureNs)
	if one.isAhead {
		one.delay.record(uint64(max(transitNs-one.aheadNs, 0)))
	}
	one.variation.record(transitNs)
	one.jitter.record(transitNs)
	one.bytes += uint64(packet.length)
	one.lastNs = max(one.lastNs, arrivalNs)
}

// A received has a receiver's figures, which it tells the sender.
type received struct {
	Bytes                 uint64        `json:"bytes"`
	LastArrivalNs         uint64        `json:"last_arrival_ns"`
	SmallestTransitNs     *int64        `json:"smallest_transit_ns"`
	Packets               packetCounts  `json:"packets"`
	OWDUs                 *distribution `json:"owd_us"`
	OWDHistogram          *string       `json:"owd_histogram"`
	DelayVariationUs      *distribution `json:"delay_variation_us"`
	JitterRFC3550Us       *float64      `json:"jitter_rfc3550_us"`
	DelayDifferenceMeanUs *float64      `json:"delay_difference_mean_us"`
}

// figures returns the figures, given the packets that were sent and those that the sender's stack refused.
func (one *arrivals) figures(sent, refused uint64) *received {
	received := &received{
		Bytes: one.bytes, LastArrivalNs: one.lastNs, SmallestTransitNs: one.variation.smallestNs(),
		Packets: one.numbers.counts(sent, refused), OWDUs: one.delay.optional(), OWDHistogram: one.delay.encoded(),
		DelayVariationUs: one.variation.distribution(),
	}
	received.JitterRFC3550Us, received.DelayDifferenceMeanUs = one.jitter.figures()
	return received
}

// activeNs returns the time from the first departure to the last departure or arrival, whichever is later. If the clocks'
// offset is not known, the smallest delay is left out, because it can't be distinguished from the offset.
func (one *received) activeNs(firstNs, lastNs uint64, side *side) uint64 {
	sending := lastNs - min(lastNs, firstNs)
	if one.SmallestTransitNs == nil {
		return sending
	}
	offset, known := side.aheadNs()
	if !known {
		offset = *one.SmallestTransitNs
	}
	active := int64(one.LastArrivalNs-firstNs) - offset
	return max(uint64(max(active, 0)), sending)
}
