package main

import (
	"crypto/subtle"
	"encoding/binary"
	"encoding/json"
	"net/netip"
	"time"
)

// The documents of an agent (engine/traffic/src/protocol.rs), and the bytes that its hosts exchange.

const (
	cookieBytes  = 16
	openingBytes = cookieBytes + 1
	headerBytes  = 24
	roomBytes    = 32
)

// An order is a numbered command.
type order struct {
	Number  uint64  `json:"number"`
	Command command `json:"command"`
}

// A command has exactly one of its fields.
type command struct {
	Listen       *side         `json:"listen"`
	Respond      *respond      `json:"respond"`
	ProbePathMTU *probePathMTU `json:"probe_path_mtu"`
	Inspect      *inspect      `json:"inspect"`
	Start        *start        `json:"start"`
}

type respond struct {
	Cookie  cookie     `json:"cookie"`
	Address netip.Addr `json:"address"`
}

type probePathMTU struct {
	Cookie      cookie         `json:"cookie"`
	Address     netip.Addr     `json:"address"`
	Destination netip.AddrPort `json:"destination"`
	Expected    uint64         `json:"expected"`
	RoundTrip   *span          `json:"round_trip"`
}

type inspect struct {
	Side        side           `json:"side"`
	Destination netip.AddrPort `json:"destination"`
}

type start struct {
	Side        side           `json:"side"`
	Destination netip.AddrPort `json:"destination"`
	SampleNs    uint64         `json:"sample_ns"`
}

// A side is a flow as one of its hosts sees it.
type side struct {
	Flow              flow         `json:"flow"`
	Cookie            cookie       `json:"cookie"`
	Address           netip.Addr   `json:"address"`
	CongestionControl string       `json:"congestion_control"`
	ClockOffset       *clockOffset `json:"clock_offset"`
	RoundTrip         *span        `json:"round_trip"`

	complaints int64
}

type clockOffset struct {
	AheadNs int64  `json:"ahead_ns"`
	ErrorNs uint64 `json:"error_ns"`
}

type flow struct {
	Name      string  `json:"name"`
	From      string  `json:"from"`
	To        string  `json:"to"`
	Transport string  `json:"transport"`
	IP        int     `json:"ip"`
	Pair      uint32  `json:"pair"`
	Start     span    `json:"start"`
	Socket    socket  `json:"socket"`
	Traffic   traffic `json:"traffic"`
}

// A socket has the options that this stack follows; the engine refuses the others.
type socket struct {
	MSS   *size `json:"mss"`
	Block *size `json:"block"`
	DSCP  uint8 `json:"dscp"`
}

// A traffic has the settings of all kinds of traffic that this program carries.
type traffic struct {
	Kind string `json:"kind"`
	// Transfers.
	Size     *size `json:"size"`
	Duration *span `json:"duration"`
	// Requests and responses.
	Request    size    `json:"request"`
	Response   size    `json:"response"`
	Count      *uint64 `json:"count"`
	Interval   *span   `json:"interval"`
	InFlight   uint32  `json:"in_flight"`
	Connecting string  `json:"connecting"`
	// Sweeps.
	First   size   `json:"first"`
	Last    size   `json:"last"`
	Step    size   `json:"step"`
	Repeats uint32 `json:"repeats"`
	Bytes   size   `json:"bytes"`
	Answer  string `json:"answer"`
	Seed    uint64 `json:"seed"`
	// Packets by schedule, whose settings have names in common with others.
	packets *packets
}

// A packets has the settings of packets by schedule.
type packets struct {
	Size     variate[size]  `json:"size"`
	Gap      *variate[span] `json:"gap"`
	Rate     *rate          `json:"rate"`
	OnOff    *onOff         `json:"on_off"`
	Duration *span          `json:"duration"`
	Count    *uint64        `json:"count"`
	Seed     uint64         `json:"seed"`
}

// An onOff has alternating times of sending and of silence.
type onOff struct {
	On  variate[span] `json:"on"`
	Off variate[span] `json:"off"`
}

// UnmarshalJSON reads the settings of a kind of traffic.
func (one *traffic) UnmarshalJSON(document []byte) error {
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := json.Unmarshal(document, &kind); err != nil {
		return err
	}
	if kind.Kind == "packets" {
		*one = traffic{Kind: kind.Kind, packets: &packets{}}
		return json.Unmarshal(document, one.packets)
	}
	type others traffic // without this method
	return json.Unmarshal(document, (*others)(one))
}

// aheadNs returns the nanoseconds by which the clock of the flow's second host is ahead, if they are known.
func (one *side) aheadNs() (int64, bool) {
	if one.ClockOffset == nil {
		return 0, false
	}
	return one.ClockOffset.AheadNs, true
}

// atLeast returns the longer of a span and so many round-trip times (engine/flows/src/waits.rs).
func (one *side) atLeast(least time.Duration, roundTrips int64) time.Duration {
	if one.RoundTrip == nil {
		return least
	}
	return max(least, time.Duration(min(uint64(*one.RoundTrip), 86_400_000_000_000))*time.Duration(roundTrips))
}

// patience returns the time for which this host waits for an answer on a connection before the flow fails.
func (one *side) patience() time.Duration { return 20*time.Second + one.atLeast(0, 8) }

// lostAfter returns the time after which a request over UDP without a response counts as lost.
func (one *side) lostAfter() time.Duration { return one.atLeast(time.Second, 4) }

// quiet returns the time after the end of a flow of packets, and after its latest arrival, after which those that are missing
// count as lost.
func (one *side) quiet() time.Duration { return one.atLeast(500*time.Millisecond, 2) }

// againAfter returns the time after which a request of a sweep over UDP is retransmitted.
func (one *side) againAfter() time.Duration { return one.atLeast(200*time.Millisecond, 2) }

// A cookie is a trial's secret.
type cookie [cookieBytes]byte

// A purpose is that of a connection.
type purpose byte

const (
	toInspect purpose = 0
	toCarry   purpose = 1
)

// opening returns the bytes that open a connection.
func (one cookie) opening(purpose purpose) []byte { return append(one[:], byte(purpose)) }

// admit returns the purpose of a connection that begins with these bytes; false if they do not have the cookie, or
// an unknown purpose.
func (one cookie) admit(opening []byte) (purpose, bool) {
	if len(opening) != openingBytes || subtle.ConstantTimeCompare(opening[:cookieBytes], one[:]) != 1 {
		return 0, false
	}
	return purpose(opening[cookieBytes]), opening[cookieBytes] <= byte(toCarry)
}

// A header is the beginning of a request or response: three big-endian numbers.
type header struct{ number, sentNs, third uint64 }

func (one header) put(message []byte) {
	binary.BigEndian.PutUint64(message, one.number)
	binary.BigEndian.PutUint64(message[8:], one.sentNs)
	binary.BigEndian.PutUint64(message[16:], one.third)
}

func getHeader(message []byte) (header, bool) {
	if len(message) < headerBytes {
		return header{}, false
	}
	number := binary.BigEndian.Uint64
	return header{number(message), number(message[8:]), number(message[16:])}, true
}

// A room has the buffers and the window of a TCP socket; what is not known is nil.
type room struct {
	SendBufferBytes    *uint64 `json:"send_buffer_bytes"`
	ReceiveBufferBytes *uint64 `json:"receive_buffer_bytes"`
	WindowBytes        *uint64 `json:"window_bytes"`
	WindowScale        *uint8  `json:"window_scale"`
}

func (one room) put() []byte {
	var bytes []byte
	var scale *uint64
	if one.WindowScale != nil {
		wide := uint64(*one.WindowScale)
		scale = &wide
	}
	for _, value := range []*uint64{one.SendBufferBytes, one.ReceiveBufferBytes, one.WindowBytes, scale} {
		if value == nil {
			bytes = binary.BigEndian.AppendUint64(bytes, ^uint64(0))
		} else {
			bytes = binary.BigEndian.AppendUint64(bytes, *value)
		}
	}
	return bytes
}

func getRoom(bytes []byte) room {
	value := func(place int) *uint64 {
		if value := binary.BigEndian.Uint64(bytes[8*place:]); value != ^uint64(0) {
			return &value
		}
		return nil
	}
	one := room{SendBufferBytes: value(0), ReceiveBufferBytes: value(1), WindowBytes: value(2)}
	if scale := value(3); scale != nil && *scale < 256 {
		narrow := uint8(*scale)
		one.WindowScale = &narrow
	}
	return one
}

// A report is a numbered answer.
type report struct {
	Number uint64         `json:"number"`
	Reply  map[string]any `json:"reply"`
}

type connectionReport struct {
	MSSBytes          *uint32  `json:"mss_bytes"`
	CongestionControl string   `json:"congestion_control"`
	Options           []string `json:"options"`
	UntoldOptions     []string `json:"untold_options"`
	Sender            room     `json:"sender"`
	Receiver          room     `json:"receiver"`
}

type pathMTU struct {
	Largest   uint64 `json:"largest"`
	Exceeded  bool   `json:"exceeded"`
	RoundTrip *span  `json:"round_trip"`
}

func decodeOrder(line []byte) (order, error) {
	var one order
	err := json.Unmarshal(line, &one)
	return one, err
}
