package main

import (
	"math"
	"net/netip"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A durations gathers times in nanoseconds. Mean and deviation are exact (Welford's update); percentiles come from an HDR
// histogram with three significant digits.
type durations struct {
	histogram     *hdrhistogram.Histogram
	count         uint64
	least, most   uint64
	mean, squares float64
}

// longestNs is the largest time of a histogram: two hours.
const longestNs = 7_200_000_000_000

func (one *durations) record(valueNs uint64) {
	one.recordMany(valueNs, 1)
	one.least, one.most = min(one.least, valueNs), max(one.most, valueNs)
	difference := float64(valueNs) - one.mean
	one.mean += difference / float64(one.count)
	one.squares += difference * (float64(valueNs) - one.mean)
}

// recordMany adds a time that occurred so many times, for percentiles only.
func (one *durations) recordMany(valueNs, count uint64) {
	if one.histogram == nil {
		one.histogram = hdrhistogram.New(1, longestNs, 3)
		one.least = math.MaxUint64
	}
	_ = one.histogram.RecordValues(int64(min(max(valueNs, 1), longestNs)), int64(count))
	one.count += count
}

// bars returns the times with their numbers, in the histogram's resolution.
func (one *durations) bars() []hdrhistogram.Bar {
	if one.histogram == nil {
		return nil
	}
	return slices.DeleteFunc(one.histogram.Distribution(), func(bar hdrhistogram.Bar) bool { return bar.Count == 0 })
}

// optional returns the summary in microseconds; nil if there are no values.
func (one *durations) optional() *distribution {
	if one.count == 0 {
		return nil
	}
	summary := one.distribution()
	return &summary
}

// distribution returns the summary in microseconds.
func (one *durations) distribution() distribution {
	if one.count == 0 {
		return distribution{}
	}
	percentile := func(quantile float64) float64 {
		value := float64(one.histogram.ValueAtQuantile(quantile))
		return min(max(value, float64(one.least)), float64(one.most)) / 1e3
	}
	tail := func(quantile float64, least uint64) *float64 {
		if one.count < least {
			return nil
		}
		value := percentile(quantile)
		return &value
	}
	variance := 0.0
	if one.count > 1 {
		variance = one.squares / float64(one.count-1)
	}
	return distribution{
		Count: one.count, Mean: one.mean / 1e3, Deviation: math.Sqrt(variance) / 1e3,
		Minimum: float64(one.least) / 1e3, P50: percentile(50), P90: percentile(90), P99: percentile(99),
		P99_9: tail(99.9, 1000), P99_99: tail(99.99, 10_000), P99_999: tail(99.999, 100_000),
		Maximum: float64(one.most) / 1e3,
	}
}

// encoded returns all values in the record's encoding; nil if there are none.
func (one *durations) encoded() *string {
	if one.count == 0 {
		return nil
	}
	bytes, err := one.histogram.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return nil
	}
	text := string(bytes)
	return &text
}

// A jitter is that of a series of transit times (RFC 3550 section 6.4.1).
type jitter struct {
	previous    int64
	count       uint64
	smoothed    float64
	absoluteSum float64
}

func (one *jitter) record(transitNs int64) {
	if one.count > 0 {
		difference := math.Abs(float64(transitNs - one.previous))
		one.smoothed += (difference - one.smoothed) / 16
		one.absoluteSum += difference
	}
	one.previous = transitNs
	one.count++
}

// figures returns the jitter of RFC 3550 and the mean difference of successive transit times, in microseconds; nil before the
// second packet.
func (one *jitter) figures() (smoothed, mean *float64) {
	if one.count < 2 {
		return nil, nil
	}
	last, difference := one.smoothed/1e3, one.absoluteSum/float64(one.count-1)/1e3
	return &last, &difference
}

type distribution struct {
	Count     uint64   `json:"count"`
	Mean      float64  `json:"mean"`
	Deviation float64  `json:"deviation"`
	Minimum   float64  `json:"minimum"`
	P50       float64  `json:"p50"`
	P90       float64  `json:"p90"`
	P99       float64  `json:"p99"`
	P99_9     *float64 `json:"p99_9,omitempty"`
	P99_99    *float64 `json:"p99_99,omitempty"`
	P99_999   *float64 `json:"p99_999,omitempty"`
	Maximum   float64  `json:"maximum"`
}

type spanRecord struct {
	BeganNs  uint64 `json:"began_ns"`
	EndedNs  uint64 `json:"ended_ns"`
	ActiveNs uint64 `json:"active_ns"`
	Bytes    uint64 `json:"bytes"`
}

type interval struct {
	AtNs                uint64  `json:"at_ns"`
	Bytes               uint64  `json:"bytes"`
	SRTTUs              *uint32 `json:"srtt_us,omitempty"`
	MinRTTUs            *uint32 `json:"min_rtt_us,omitempty"`
	CwndPkts            uint32  `json:"cwnd_pkts"`
	RetransmissionsPkts uint64  `json:"retransmissions_pkts"`
}

type packetCounts struct {
	Sent             uint64 `json:"sent_pkts"`
	Received         uint64 `json:"received_pkts"`
	Lost             uint64 `json:"lost_pkts"`
	Reordered        uint64 `json:"reordered_pkts"`
	Duplicated       uint64 `json:"duplicated_pkts"`
	LossBursts       uint64 `json:"loss_bursts"`
	LongestLossBurst uint64 `json:"longest_loss_burst_pkts"`
	SendErrors       uint64 `json:"send_errors_pkts"`
}

type pacing struct {
	AskedBps   float64      `json:"asked_bps"`
	SentBps    float64      `json:"sent_bps"`
	LatenessUs distribution `json:"lateness_us"`
	CPUPercent *float64     `json:"cpu_percent,omitempty"`
}

type sizeRecord struct {
	SizeBytes    uint64    `json:"size_bytes"`
	RTTUs        []float64 `json:"rtt_us"`
	RTTMinimumUs []float64 `json:"rtt_minimum_us"`
	TotalUs      []float64 `json:"total_us"`
	ResentPkts   uint64    `json:"resent_pkts"`
}

// A flowRecord has the figures of a flow that this program measures (engine/scenario/src/record.rs).
type flowRecord struct {
	Name                  string        `json:"name"`
	Transport             string        `json:"transport"`
	IP                    int           `json:"ip"`
	CongestionControl     string        `json:"congestion_control"`
	MSSBytes              uint32        `json:"mss_bytes"`
	PeerWindowBytes       *uint64       `json:"peer_window_bytes,omitempty"`
	Connections           uint32        `json:"connections"`
	Bytes                 uint64        `json:"bytes"`
	ActiveNs              uint64        `json:"active_ns"`
	Span                  *spanRecord   `json:"span,omitempty"`
	EndedNs               *uint64       `json:"ended_ns,omitempty"`
	GoodputBps            *float64      `json:"goodput_bps,omitempty"`
	ConnectUs             distribution  `json:"connect_us"`
	CompletionUs          *distribution `json:"completion_us,omitempty"`
	RetransmissionsPkts   *uint64       `json:"retransmissions_pkts,omitempty"`
	SRTTUs                distribution  `json:"srtt_us"`
	MinRTTUs              *uint32       `json:"min_rtt_us,omitempty"`
	RTTUs                 *distribution `json:"rtt_us,omitempty"`
	RTTHistogram          *string       `json:"rtt_histogram,omitempty"`
	TransactionsPerSecond *float64      `json:"transactions_per_second,omitempty"`
	OWDUs                 *distribution `json:"owd_us,omitempty"`
	OWDHistogram          *string       `json:"owd_histogram,omitempty"`
	OWDErrorUs            *float64      `json:"owd_error_us,omitempty"`
	DelayVariationUs      *distribution `json:"delay_variation_us,omitempty"`
	JitterRFC3550Us       *float64      `json:"jitter_rfc3550_us,omitempty"`
	DelayDifferenceMeanUs *float64      `json:"delay_difference_mean_us,omitempty"`
	Pacing                *pacing       `json:"pacing,omitempty"`
	Packets               *packetCounts `json:"packets,omitempty"`
	Sizes                 []sizeRecord  `json:"sizes,omitempty"`
	Intervals             []interval    `json:"intervals"`
}

// A figures has what a flow's sender gathers (engine/traffic/src/flow_record.rs).
type figures struct {
	bytes             uint64
	active            time.Duration
	began, ended      time.Time
	cut               *cut
	completion        durations
	rtt               durations
	jitter            *jitter
	packets           *packetCounts
	received          *received
	owdErrorUs        *float64
	pacing            *pacing
	sizes             []sizeRecord
	connections       uint32
	connects          durations
	congestionControl string
}

// A cut is the span of a flow whose duration has ended.
type cut struct {
	ended  time.Time
	active time.Duration
	bytes  uint64
}

// connect opens a connection of the flow, which carries the flow from now on.
func (one *figures) connect(host *host, side *side, destination netip.AddrPort, sampler *sampler) (*connection, error) {
	made, took, err := host.connect(side, destination, toCarry)
	if err != nil {
		return nil, err
	}
	sampler.opened(made)
	one.opened(made, took)
	return made, nil
}

// opened counts a connection that was opened in that time.
func (one *figures) opened(made *connection, took time.Duration) {
	one.connections++
	one.connects.record(uint64(took))
	if one.connections == 1 {
		one.congestionControl = congestionControlOf(made.endpoint)
	}
}

// finish returns the record of a flow, whose times count from the sampler's origin.
func (one *figures) finish(flow *flow, sampler *sampler) *flowRecord {
	sampler.finish()
	since := func(moment time.Time) uint64 { return uint64(max(moment.Sub(sampler.origin), 0)) }
	record := &flowRecord{
		Name: flow.Name, Transport: flow.Transport, IP: flow.IP, CongestionControl: one.congestionControl,
		MSSBytes: sampler.latest.mssBytes, Connections: one.connections, Bytes: one.bytes, ActiveNs: uint64(one.active),
		ConnectUs: one.connects.distribution(), CompletionUs: one.completion.optional(),
		RetransmissionsPkts: &sampler.closed, SRTTUs: sampler.srtt.distribution(), MinRTTUs: microseconds(sampler.minRTT),
		RTTUs: one.rtt.optional(), RTTHistogram: one.rtt.encoded(), Packets: one.packets, Sizes: one.sizes,
		Intervals: sampler.intervals,
	}
	if window := uint64(sampler.peerWindowBytes); window > 0 {
		record.PeerWindowBytes = &window
	}
	if !one.began.IsZero() {
		ended := one.began.Add(one.active)
		if !one.ended.IsZero() {
			ended = one.ended
		}
		endedNs := since(ended)
		record.EndedNs = &endedNs
		record.Span = &spanRecord{BeganNs: since(one.began), EndedNs: endedNs, ActiveNs: uint64(one.active), Bytes: one.bytes}
		if one.cut != nil {
			record.Span.EndedNs, record.Span.ActiveNs = since(one.cut.ended), uint64(one.cut.active)
			record.Span.Bytes = one.cut.bytes
		}
		if (flow.Traffic.Kind == "transfer" || one.received != nil) && record.Span.ActiveNs > 0 {
			goodput := float64(record.Span.Bytes) * 8e9 / float64(record.Span.ActiveNs)
			record.GoodputBps = &goodput
		}
	}
	if flow.Traffic.Kind == "request_response" && one.active > 0 {
		rate := float64(one.rtt.count) / one.active.Seconds()
		record.TransactionsPerSecond = &rate
	}
	if one.jitter != nil {
		record.JitterRFC3550Us, record.DelayDifferenceMeanUs = one.jitter.figures()
	}
	if received := one.received; received != nil {
		record.OWDUs, record.OWDHistogram, record.OWDErrorUs = received.OWDUs, received.OWDHistogram, one.owdErrorUs
		record.DelayVariationUs, record.Pacing = received.DelayVariationUs, one.pacing
		record.JitterRFC3550Us, record.DelayDifferenceMeanUs = received.JitterRFC3550Us, received.DelayDifferenceMeanUs
	}
	return record
}
