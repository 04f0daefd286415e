package main

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
)

// The path MTU in one direction, by UDP packets that may not be fragmented and the answers to them
// (engine/traffic/src/path_mtu.rs).

const (
	udpHeaderBytes = 8
	probeBytes     = cookieBytes + 8
)

// A probeWait is a time for which an answer is awaited after a probe: a span, and so many round-trip times.
type probeWait struct {
	span       time.Duration
	roundTrips time.Duration
}

var probeWaits = []probeWait{{20 * time.Millisecond, 2}, {100 * time.Millisecond, 2}, {400 * time.Millisecond, 4}}

// firstProbeWaits are longer, because the address of a neighbour may have to be resolved.
var firstProbeWaits = []probeWait{
	{20 * time.Millisecond, 2}, {400 * time.Millisecond, 2}, {1500 * time.Millisecond, 4}, {2500 * time.Millisecond, 4},
}

// respond answers probes until the agent ends, and returns the port.
func (one *host) respond(order *respond) (uint16, error) {
	socket, err := one.bind(order.Address, netip.AddrPort{}, tcpip.PMTUDiscoveryDont, nil)
	if err != nil {
		return 0, err
	}
	go func() {
		packet := make([]byte, largestDatagram)
		for {
			count, sender, err := socket.ReadFrom(packet)
			if err == nil && count >= probeBytes && cookie(packet[:cookieBytes]) == order.Cookie {
				_, _ = socket.WriteTo(packet[:probeBytes], sender) // the prober asks again for an answer that is lost
			}
		}
	}()
	return portOf(socket), nil
}

// A prober sends probes to the agent of the other host.
type prober struct {
	socket   *gonet.UDPConn
	order    *probePathMTU
	limit    uint64
	number   uint64
	shortest time.Duration
	longest  time.Duration
}

// probe finds the largest packet up to one byte above the expected size that reaches the destination.
func (one *host) probe(order *probePathMTU) (*pathMTU, error) {
	socket, err := one.bind(order.Address, order.Destination, tcpip.PMTUDiscoveryProbe, nil)
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	prober := &prober{socket: socket, order: order, limit: one.interfaceMTU(order.Address)}
	if order.RoundTrip != nil {
		prober.longest = order.RoundTrip.duration()
	}
	mtu, err := prober.search()
	if err != nil {
		return nil, err
	}
	if prober.shortest > 0 {
		roundTrip := span(prober.shortest)
		mtu.RoundTrip = &roundTrip
	}
	return mtu, nil
}

// interfaceMTU returns the MTU of the interface that has an address.
func (one *host) interfaceMTU(address netip.Addr) uint64 {
	for _, own := range one.order.Interfaces {
		for _, prefix := range own.Addresses {
			if prefix.Addr() == address {
				return uint64(own.MTU)
			}
		}
	}
	return 0
}

func (one *prober) search() (*pathMTU, error) {
	least := uint64(1280)
	if one.order.Address.Is4() {
		least = 68
	}
	passing, failing := min(least, one.order.Expected), one.order.Expected
	if passes, err := one.passes(passing, firstProbeWaits); err != nil || !passes {
		return &pathMTU{}, err
	}
	whole := passing == failing
	if !whole {
		var err error
		if whole, err = one.passes(failing, probeWaits); err != nil {
			return nil, err
		}
	}
	if whole {
		exceeded, err := one.passes(failing+1, probeWaits)
		return &pathMTU{Largest: failing, Exceeded: exceeded}, err
	}
	for failing-passing > 1 {
		middle := passing + (failing-passing)/2
		passes, err := one.passes(middle, probeWaits)
		if err != nil {
			return nil, err
		}
		if passes {
			passing = middle
		} else {
			failing = middle
		}
	}
	return &pathMTU{Largest: passing}, nil
}

// passes returns true if an IP packet of this size, sent once for each of the waits, is answered. The stack fragments what
// exceeds the interface's MTU even if it must not, so such a packet is not sent.
func (one *prober) passes(size uint64, waits []probeWait) (bool, error) {
	headers := uint64(40 + udpHeaderBytes)
	if one.order.Address.Is4() {
		headers = 20 + udpHeaderBytes
	}
	if size < headers || size > one.limit {
		return false, nil
	}
	packet := make([]byte, max(size-headers, probeBytes))
	copy(packet, one.order.Cookie[:])
	first := one.number + 1
	var sent []time.Time
	for _, wait := range waits {
		one.number++
		binary.BigEndian.PutUint64(packet[cookieBytes:], one.number)
		sent = append(sent, time.Now())
		if _, err := one.socket.Write(packet); err != nil {
			return false, fmt.Errorf("sending a path MTU probe: %w", err)
		}
		if number, answered := one.answered(first, time.Now().Add(wait.span+one.longest*wait.roundTrips)); answered {
			took := time.Since(sent[number-first])
			if one.shortest == 0 || took < one.shortest {
				one.shortest = took
			}
			one.longest = max(one.longest, took)
			return true, nil
		}
	}
	return false, nil
}

// answered returns the number of the probe that is answered before the deadline, from a first number on.
func (one *prober) answered(first uint64, deadline time.Time) (uint64, bool) {
	answer := make([]byte, probeBytes+1)
	_ = one.socket.SetReadDeadline(deadline)
	for time.Now().Before(deadline) {
		count, err := one.socket.Read(answer)
		if err != nil || count != probeBytes || cookie(answer[:cookieBytes]) != one.order.Cookie {
			continue
		}
		if number := binary.BigEndian.Uint64(answer[cookieBytes:]); number >= first && number <= one.number {
			return number, true
		}
	}
	return 0, false
}
