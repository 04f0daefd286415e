package main

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"testing"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
)

// The engine's test of departures (engine/flows/src/departures.rs) compares the same file.
func TestSizesAndGapsAreThoseThatTheEngineDraws(t *testing.T) {
	document, err := os.ReadFile("testdata/departures.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Packets  packets     `json:"packets"`
		First    [][2]uint64 `json:"first"`
		Count    int         `json:"count"`
		DueSum   uint64      `json:"due_sum"`
		SizesSum uint64      `json:"sizes_sum"`
	}
	if err := json.Unmarshal(document, &cases); err != nil || len(cases) == 0 {
		t.Fatal(err)
	}
	for place, one := range cases {
		schedule, err := newDepartures(&one.Packets)
		if err != nil {
			t.Fatal(err)
		}
		var dueSum, sizesSum uint64
		for number := range one.Count {
			due, _ := schedule.due(0)
			size := schedule.take()
			dueSum, sizesSum = dueSum+due, sizesSum+size
			if number < len(one.First) && one.First[number] != [2]uint64{due, size} {
				t.Fatalf("case %d: packet %d of %d bytes is due at %d", place, number, size, due)
			}
		}
		if dueSum != one.DueSum || sizesSum != one.SizesSum {
			t.Errorf("case %d: the sums are %d and %d", place, dueSum, sizesSum)
		}
	}
}

func TestADistributionThatKeepsHardlyAnythingIsRefused(t *testing.T) {
	least, most := size(100_000), size(100_001)
	rare := variate[size]{Distribution: "normal", Mean: 10, Deviation: 1, Truncation: &truncation[size]{&least, &most}}
	for _, one := range []variate[size]{rare, {Distribution: "unheard-of"}, {Distribution: "mix"}, {Distribution: "listed"}} {
		if _, err := one.draws(1, ofSizes); err == nil {
			t.Errorf("%s was drawn", one.Distribution)
		}
	}
}

// paced is a flow of packets of random sizes, so slow that a busy machine loses none.
const paced = `{"kind": "packets", "size": {"distribution": "uniform", "minimum": "24 B", "maximum": "3000 B"},
	"gap": {"distribution": "exponential", "mean": "200 us"}, "count": 300, "seed": 5}`

func TestPacketsAreCountedAtBothEnds(t *testing.T) {
	for ip := range addresses {
		record := carry(t, ip, "udp", paced)
		counts := record.Packets
		if counts.Sent != 300 || counts.Received != 300 || counts.Lost+counts.Reordered+counts.Duplicated != 0 {
			t.Errorf("IPv%d: %+v", ip, *counts)
		}
		if record.OWDUs == nil || record.OWDUs.Count != 300 || record.OWDUs.Minimum < 0 || record.OWDHistogram == nil {
			t.Errorf("IPv%d: %+v", ip, record.OWDUs)
		}
		variation := record.DelayVariationUs
		if variation == nil || math.Abs(variation.Maximum-(record.OWDUs.Maximum-record.OWDUs.Minimum)) > 1e-6 {
			t.Errorf("IPv%d: %+v", ip, variation)
		}
		if record.Pacing == nil || record.Pacing.LatenessUs.Count != 300 || record.JitterRFC3550Us == nil {
			t.Errorf("IPv%d: %+v", ip, record.Pacing)
		}
		if record.GoodputBps == nil || record.Connections != 0 || len(record.Intervals) == 0 {
			t.Errorf("IPv%d: %+v", ip, record)
		}
	}
}

func TestMessagesOverTCPAllArrive(t *testing.T) {
	atOnce := `{"kind": "packets", "size": {"distribution": "uniform", "minimum": "24 B", "maximum": "300 kB"}, "count": 60}`
	for place, traffic := range []string{paced, atOnce} {
		record := carry(t, 6, "tcp", traffic)
		if record.OWDUs.Count != []uint64{300, 60}[place] || record.Packets != nil || record.Connections != 1 {
			t.Errorf("%d: %+v", place, record)
		}
		if (record.Pacing != nil) != (place == 0) || record.GoodputBps == nil {
			t.Errorf("%d: %+v", place, record.Pacing)
		}
	}
}

func TestWhereClocksDifferThereIsNoOneWayDelay(t *testing.T) {
	one := newArrivals(&side{})
	for number := range uint64(3) {
		one.packet(packetHeader{number, number * 1000, 100}, number*1000+7_000_000-100*number)
	}
	found := one.figures(3, 0)
	if found.OWDUs != nil || found.DelayVariationUs.Maximum != 0.2 || *found.SmallestTransitNs != 7_000_000-200 {
		t.Errorf("%+v", found)
	}
	if active := found.activeNs(0, 2000, &side{}); active != 2000 {
		t.Error(active)
	}
}

func TestEveryInterleavingIsCountedByTheDefinitions(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		stride, sent := []uint64{1, 63}[random.IntN(2)], uint64(random.IntN(300))
		var found numbers
		expected, seen, next := packetCounts{Sent: sent * stride}, map[uint64]bool{}, uint64(0)
		for range random.IntN(400) {
			number := random.Uint64N(sent+1) * stride
			if number >= expected.Sent {
				continue
			}
			switch isFirst := found.arrived(number); {
			case seen[number] == isFirst:
				t.Fatalf("%d arrived first: %v", number, isFirst)
			case !isFirst:
				expected.Duplicated++
			case number < next:
				expected.Reordered++
			default:
				next = number + 1
			}
			seen[number] = true
		}
		expected.Received = uint64(len(seen))
		expected.Lost = expected.Sent - expected.Received
		for number, run := uint64(0), uint64(0); number < expected.Sent; number++ {
			if run++; seen[number] {
				run = 0
			} else if run == 1 {
				expected.LossBursts++
			}
			expected.LongestLossBurst = max(expected.LongestLossBurst, run)
		}
		if counts := found.counts(expected.Sent, 0); counts != expected {
			t.Fatalf("%+v instead of %+v", counts, expected)
		}
	}
	var long numbers
	for number := range uint64(2*chunkBits + 5) {
		if number != 10 && !long.arrived(number) {
			t.Fatal(number)
		}
	}
	if long.chunks[1].words != nil || long.arrived(chunkBits+5) || !long.arrived(10) || long.arrived(10) {
		t.Error("a packet is not told from its copy")
	}
	if counts := long.counts(2*chunkBits+9, 0); counts.Lost != 4 || counts.Reordered != 1 || counts.Duplicated != 2 {
		t.Errorf("%+v", counts)
	}
	var wild numbers
	if wild.arrived(math.MaxUint64) || wild.arrived(farthest) {
		t.Error("a number that nobody sent was taken")
	}
}

func TestAStreamIsCutIntoItsMessagesOrRefused(t *testing.T) {
	secret, random := cookie{15: 9}, rand.New(rand.NewPCG(3, 4))
	var stream []byte
	for number := range uint64(20) {
		message := make([]byte, 24+random.IntN(200))
		packetHeader{number, 0, uint32(len(message))}.put(message, secret)
		stream = append(stream, message...)
	}
	for _, cut := range []int{1, 7, 100, 5000} {
		parser, found := &messageParser{secret: secret, largest: 300}, 0
		for left := stream; len(left) > 0; left = left[min(cut, len(left)):] {
			if err := parser.take(left[:min(cut, len(left))], func(packetHeader) { found++ }); err != nil {
				t.Fatal(err)
			}
		}
		if found != 20 {
			t.Errorf("%d messages by %d bytes", found, cut)
		}
	}
	for place := range 24 {
		other := append([]byte{}, stream...)
		other[place] ^= 0x80
		err := (&messageParser{secret: secret, largest: 300}).take(other, func(packetHeader) {})
		if (err == nil) != (place >= 8 && place < 16) { // the departure may be any
			t.Errorf("byte %d: %v", place, err)
		}
	}
}

// What strangers send to the port of packets, and what the admitted sender sends beside them, is not counted.
func TestStrangersAreNotCounted(t *testing.T) {
	sender, receiver := pairOfHosts(t)
	traffic := `{"kind": "packets", "size": {"distribution": "constant", "value": "100 B"}, "count": 5}`
	to, from := flowOrder(t, 4, "udp", "10.0.0.2", traffic), flowOrder(t, 4, "udp", "10.0.0.1", traffic)
	port, err := receiver.listen(&to)
	if err != nil {
		t.Fatal(err)
	}
	control, _, err := sender.connect(&from, netip.AddrPortFrom(netip.MustParseAddr("10.0.0.2"), port), toCarry)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	told := make([]byte, 2)
	if _, err := io.ReadFull(control, told); err != nil {
		t.Fatal(err)
	}
	target := netip.AddrPortFrom(netip.MustParseAddr("10.0.0.2"), binary.BigEndian.Uint16(told))
	stranger, err := sender.bind(from.Address, target, tcpip.PMTUDiscoveryDont, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, junk := range [][]byte{{0}, make([]byte, 16), make([]byte, 100), make([]byte, 1400)} {
		if _, err := stranger.Write(junk); err != nil {
			t.Fatal(err)
		}
	}
	admitted, err := sender.bind(from.Address, target, tcpip.PMTUDiscoveryDont, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = admitted.Write(from.Cookie[:])
	_ = control.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.ReadFull(control.TCPConn, told[:1]); err != nil {
		t.Fatal(err)
	}
	packet := func(number uint64, length int) []byte {
		made := make([]byte, length)
		packetHeader{number, 0, 100}.put(made, from.Cookie)
		return made
	}
	for _, bytes := range [][]byte{packet(0, 99), packet(0, 101), packet(math.MaxUint64, 100), packet(0, 100), packet(2, 100), packet(2, 100)} {
		_, _ = admitted.Write(bytes)
	}
	_, _ = stranger.Write(packet(1, 100))
	_, _ = control.Write(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, 3), 0))
	found, err := readReceived(control)
	if err != nil {
		t.Fatal(err)
	}
	if counts := found.Packets; counts.Received != 2 || counts.Lost != 1 || counts.Duplicated != 1 {
		t.Errorf("%+v", counts)
	}
}

func TestASenderThatIsGoneEndsTheReceiver(t *testing.T) {
	sender, receiver := pairOfHosts(t)
	to, from := flowOrder(t, 4, "udp", "10.0.0.2", paced), flowOrder(t, 4, "udp", "10.0.0.1", paced)
	port, err := receiver.listen(&to)
	if err != nil {
		t.Fatal(err)
	}
	destination := netip.AddrPortFrom(netip.MustParseAddr("10.0.0.2"), port)
	control, _, err := sender.connect(&from, destination, toCarry)
	if err != nil {
		t.Fatal(err)
	}
	socket, err := sender.greet(control, &from, destination, 3000)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	if err := control.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(control); err != nil || len(rest) > 0 {
		t.Errorf("%d bytes came, %v", len(rest), err)
	}
}
