package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/link/pipe"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
)

const testMTU = 1500

// pairOfHosts returns two hosts whose stacks are joined by a cable, with the addresses of both IP versions.
func pairOfHosts(t *testing.T) (*host, *host) {
	t.Helper()
	left, right := pipe.New("\x02\x00\x00\x00\x00\x01", "\x02\x00\x00\x00\x00\x02", testMTU)
	made := []*host{}
	for place, link := range []stack.LinkEndpoint{left, right} {
		order := hostOrder{Stack: stackOrder{
			CongestionControl: "cubic", SACK: true,
			ReceiveBuffer: buffer{4096, 131_072, 6 << 20}, SendBuffer: buffer{4096, 16_384, 4 << 20},
		}}
		prefixes := []netip.Prefix{
			netip.MustParsePrefix(fmt.Sprintf("10.0.0.%d/24", place+1)),
			netip.MustParsePrefix(fmt.Sprintf("fd00::%d/64", place+1)),
		}
		order.Interfaces = []interfaceOrder{{Name: "eth0", MTU: testMTU, Addresses: prefixes}}
		made = append(made, &host{order: order})
		var err error
		if made[place].stack, err = newStack(order.Stack); err != nil {
			t.Fatal(err)
		}
		if err := made[place].stack.CreateNIC(1, link); err != nil {
			t.Fatal(err)
		}
		for _, prefix := range prefixes {
			own := tcpip.ProtocolAddress{
				Protocol:          protocolOf(prefix.Addr()),
				AddressWithPrefix: tcpip.AddressWithPrefix{Address: addressOf(prefix.Addr()), PrefixLen: prefix.Bits()},
			}
			if err := made[place].stack.AddProtocolAddress(1, own, stack.AddressProperties{}); err != nil {
				t.Fatal(err)
			}
		}
		made[place].stack.SetRouteTable(routeTable(order, map[string]tcpip.NICID{"eth0": 1}))
	}
	return made[0], made[1]
}

// A flowOrder is the JSON document of a flow's side, as the engine writes it.
func flowOrder(t *testing.T, ip int, transport, address, traffic string) side {
	t.Helper()
	document := fmt.Sprintf(`{"flow": {"name": "f", "from": "a", "to": "b", "transport": %q, "ip": %d, "start": "0 ns",
		"traffic": %s}, "cookie": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16], "address": %q, "congestion_control": "cubic",
		"clock_offset": {"ahead_ns": 0, "error_ns": 0}, "round_trip": null}`, transport, ip, traffic, address)
	var one side
	if err := json.Unmarshal([]byte(document), &one); err != nil {
		t.Fatal(err)
	}
	return one
}

var addresses = map[int][2]string{4: {"10.0.0.1", "10.0.0.2"}, 6: {"fd00::1", "fd00::2"}}

// carry runs a flow from one host to the other, and returns its record and the connection's settings.
func carry(t *testing.T, ip int, transport, traffic string) *flowRecord {
	t.Helper()
	sender, receiver := pairOfHosts(t)
	to := flowOrder(t, ip, transport, addresses[ip][1], traffic)
	port, err := receiver.listen(&to)
	if err != nil {
		t.Fatal(err)
	}
	from := flowOrder(t, ip, transport, addresses[ip][0], traffic)
	destination := netip.AddrPortFrom(netip.MustParseAddr(addresses[ip][1]), port)
	record, err := sender.run(&start{Side: from, Destination: destination, SampleNs: 10_000_000})
	if err != nil {
		t.Fatal(err)
	}
	return record
}

func TestATransferIsConfirmedWholeInBothVersions(t *testing.T) {
	for ip := range addresses {
		record := carry(t, ip, "tcp", `{"kind": "transfer", "size": "3 MB"}`)
		if record.Bytes != 3_000_000 || record.Connections != 1 || record.GoodputBps == nil {
			t.Errorf("IPv%d: %d bytes on %d connections", ip, record.Bytes, record.Connections)
		}
		if record.CongestionControl != "cubic" || record.CompletionUs.Count != 1 {
			t.Errorf("IPv%d: %+v", ip, record)
		}
	}
}

func TestATransferEndsWithItsDurationAndItsIntervalsAddUp(t *testing.T) {
	record := carry(t, 4, "tcp", `{"kind": "transfer", "duration": "300 ms"}`)
	span := record.Span // it begins when the connection is established, which on a busy machine takes a while
	if span.EndedNs < 300_000_000 || span.ActiveNs != span.EndedNs-span.BeganNs {
		t.Errorf("%+v", *span)
	}
	if span.Bytes > record.Bytes || span.Bytes == 0 {
		t.Errorf("%+v of %d bytes", *span, record.Bytes)
	}
	var acknowledged uint64
	for _, interval := range record.Intervals {
		acknowledged += interval.Bytes
	}
	if acknowledged == 0 || acknowledged > record.Bytes+100 || len(record.Intervals) < 2 {
		t.Errorf("%d bytes in %d intervals of %d", acknowledged, len(record.Intervals), record.Bytes)
	}
}

func TestTransfersOfASizeFollowEachOther(t *testing.T) {
	record := carry(t, 4, "tcp", `{"kind": "transfer", "size": "100 kB", "duration": "200 ms"}`)
	if record.Connections < 2 || record.Bytes != uint64(record.Connections)*100_000 {
		t.Errorf("%d bytes on %d connections", record.Bytes, record.Connections)
	}
}

func TestRequestsAreAnsweredOverEachTransport(t *testing.T) {
	for place, transport := range []string{"tcp", "udp", "tcp"} {
		for ip := range addresses {
			record := carry(t, ip, transport, fmt.Sprintf(
				`{"kind": "request_response", "request": "64 B", "response": "2000 B", "count": 50, "in_flight": %d, "connecting": "once"}`,
				[]int{1, 1, 8}[place]))
			if record.RTTUs == nil || record.RTTUs.Count != 50 || record.Bytes != 50*64 || record.RTTHistogram == nil {
				t.Errorf("%s, IPv%d: %+v", transport, ip, record)
			}
			if (transport == "udp") != (record.Packets != nil && record.Packets.Received == 50) {
				t.Errorf("%s: %+v", transport, record.Packets)
			}
		}
	}
	record := carry(t, 4, "tcp",
		`{"kind": "request_response", "request": "24 B", "response": "24 B", "count": 5, "in_flight": 1, "connecting": "each_request"}`)
	if record.Connections != 5 || record.RTTUs.Count != 5 {
		t.Errorf("%+v", record)
	}
}

func TestASweepMeasuresEachSizeOverEachTransport(t *testing.T) {
	for _, transport := range []string{"tcp", "udp"} {
		for _, answer := range []string{"acknowledgment", "echo"} {
			record := carry(t, 6, transport, fmt.Sprintf(`{"kind": "sweep", "first": "100 B", "last": "4100 B", "step": "2 kB",
				"repeats": 2, "bytes": "10 kB", "answer": %q, "seed": 7}`, answer))
			if len(record.Sizes) != 3 || record.Sizes[2].SizeBytes != 4100 || len(record.Sizes[0].RTTUs) != 2 {
				t.Errorf("%s, %s: %+v", transport, answer, record.Sizes)
			}
		}
	}
}

func TestStateOfAConnection(t *testing.T) {
	sender, receiver := pairOfHosts(t)
	traffic := `{"kind": "transfer", "size": "1 B"}`
	to := flowOrder(t, 4, "tcp", "10.0.0.2", traffic)
	port, err := receiver.listen(&to)
	if err != nil {
		t.Fatal(err)
	}
	from := flowOrder(t, 4, "tcp", "10.0.0.1", traffic)
	found, err := sender.inspect(&from, netip.AddrPortFrom(netip.MustParseAddr("10.0.0.2"), port))
	if err != nil {
		t.Fatal(err)
	}
	// The MTU less the headers of IP and TCP, and 40 bytes: netstack leaves room for the largest options with every segment.
	if *found.MSSBytes != testMTU-40-40 {
		t.Errorf("the segment size is %d", *found.MSSBytes)
	}
	if strings.Join(found.Options, " ") != "timestamps sack window_scaling" || found.CongestionControl != "cubic" {
		t.Errorf("%+v", found)
	}
	if found.Sender.WindowScale == nil || *found.Sender.WindowScale == 0 || found.Receiver.WindowScale == nil {
		t.Errorf("%+v, %+v", found.Sender, found.Receiver)
	}
}

func TestThePathMTUIsFound(t *testing.T) {
	for ip, pair := range addresses {
		sender, receiver := pairOfHosts(t)
		secret := cookie{1}
		port, err := receiver.respond(&respond{Cookie: secret, Address: netip.MustParseAddr(pair[1])})
		if err != nil {
			t.Fatal(err)
		}
		destination := netip.AddrPortFrom(netip.MustParseAddr(pair[1]), port)
		for _, expected := range []uint64{testMTU, testMTU + 100, 1400} {
			found, err := sender.probe(&probePathMTU{
				Cookie: secret, Address: netip.MustParseAddr(pair[0]), Destination: destination, Expected: expected,
			})
			if err != nil {
				t.Fatal(err)
			}
			if found.Largest != min(expected, testMTU) || found.Exceeded != (expected < testMTU) || found.RoundTrip == nil {
				t.Errorf("IPv%d, %d expected: %+v", ip, expected, found)
			}
		}
	}
}

// What strangers send to a port opens nothing, is not answered, and changes nothing for the flow.
func TestStrangersChangeNothing(t *testing.T) {
	sender, receiver := pairOfHosts(t)
	traffic := `{"kind": "transfer", "size": "1 MB"}`
	to := flowOrder(t, 4, "tcp", "10.0.0.2", traffic)
	port, err := receiver.listen(&to)
	if err != nil {
		t.Fatal(err)
	}
	destination := netip.AddrPortFrom(netip.MustParseAddr("10.0.0.2"), port)
	from := flowOrder(t, 4, "tcp", "10.0.0.1", traffic)
	stranger := from
	stranger.Cookie[3] ^= 1
	var all sync.WaitGroup
	for _, bytes := range [][]byte{stranger.Cookie.opening(toCarry), append(from.Cookie[:], 9), make([]byte, 10_000)} {
		all.Add(1)
		go func() {
			defer all.Done()
			made, _, err := sender.connectOnly(&from, destination)
			if err != nil {
				t.Error(err)
				return
			}
			defer made.Close()
			_, _ = made.Write(bytes)
			if count, err := made.Read(make([]byte, 1)); count != 0 || err == nil {
				t.Errorf("%d bytes came, %v", count, err)
			}
		}()
	}
	// Connections that show nothing do not keep others out.
	for range 2 * mostUnshown {
		made, _, err := sender.connectOnly(&from, destination)
		if err != nil {
			t.Fatal(err)
		}
		defer made.Close()
	}
	all.Wait()
	record, err := sender.run(&start{Side: from, Destination: destination, SampleNs: 10_000_000})
	if err != nil || record.Bytes != 1_000_000 {
		t.Fatalf("%+v, %v", record, err)
	}
}

func TestAReceiverThatCountsOtherwiseFailsTheFlow(t *testing.T) {
	sender, receiver := pairOfHosts(t)
	// A receiver of requests takes what a transfer sends for requests, and answers other bytes than a confirmation.
	to := flowOrder(t, 4, "tcp", "10.0.0.2",
		`{"kind": "request_response", "request": "24 B", "response": "24 B", "count": 5, "in_flight": 1, "connecting": "once"}`)
	port, err := receiver.listen(&to)
	if err != nil {
		t.Fatal(err)
	}
	from := flowOrder(t, 4, "tcp", "10.0.0.1", `{"kind": "transfer", "size": "1 kB"}`)
	destination := netip.AddrPortFrom(netip.MustParseAddr("10.0.0.2"), port)
	record, err := sender.run(&start{Side: from, Destination: destination, SampleNs: 10_000_000})
	if err == nil {
		t.Fatalf("%+v", record)
	}
}

func TestOrdersAreAnsweredByNumberAndOthersFail(t *testing.T) {
	var output bytes.Buffer
	one := &agent{failure: fmt.Errorf("no interface"), output: &output}
	input := `{"number": 7, "command": {"respond": {"cookie": [0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0], "address": "10.0.0.1"}}}` + "\n"
	if err := one.run(bufio.NewReader(strings.NewReader(input))); err != nil {
		t.Fatal(err)
	}
	expected := `{"number":7,"reply":{"failed":{"kind":"other","message":"no interface"}}}` + "\n"
	if output.String() != expected {
		t.Errorf("%s", output.String())
	}
	for _, input := range []string{"x\n", `{"number": -1}` + "\n", `{"number": 7`} {
		if one.run(bufio.NewReader(strings.NewReader(input))) == nil {
			t.Errorf("%q was an order", input)
		}
	}
}
