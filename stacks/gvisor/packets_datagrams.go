package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net/netip"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/waiter"
)

// Packets over UDP, each a datagram, beside a connection that accompanies them (engine/traffic/src/packets/datagrams.rs).

// greetingWait is the time from one greeting to the next.
const greetingWait = 100 * time.Millisecond

// sendDatagrams sends the flow's packets over UDP, each a datagram, and gathers their figures. A connection accompanies them.
func (one *host) sendDatagrams(side *side, destination netip.AddrPort, sampler *sampler) (*figures, error) {
	departures, largest, err := side.Flow.Traffic.packets.schedule()
	if err != nil {
		return nil, err
	}
	control, _, err := one.connect(side, destination, toCarry)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	socket, err := one.greet(control, side, destination, largest)
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	sent, err := sendDue(side, departures, largest, func(batch []byte, sizes []int) (refused, lost uint64, err error) {
		// A stack that has no room for this long refuses the packet.
		_ = socket.SetWriteDeadline(time.Now().Add(side.patience()))
		for _, size := range sizes {
			packet := batch[:size]
			batch = batch[size:]
			if refused > 0 {
				// The packet takes the number that the refused ones have left, so that these do not look lost.
				moved, _ := getPacketHeader(packet, side.Cookie)
				moved.number -= refused
				moved.put(packet, side.Cookie)
			}
			switch err := writeDatagram(socket, packet); {
			case err == nil:
				sampler.datagramBytes.Add(uint64(size))
			case isSilence(err):
				refused, lost = refused+1, lost+uint64(size)
			default:
				return refused, lost, fmt.Errorf("sending a datagram of %d bytes: %w", size, err)
			}
		}
		return refused, lost, nil
	})
	if err != nil {
		return nil, err
	}
	counts := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, sent.packets), sent.refused)
	if _, err := control.Write(counts); err != nil {
		return nil, fmt.Errorf("telling the receiver the end: %w", err)
	}
	received, err := readReceived(control)
	if err != nil {
		return nil, err
	}
	figures := &figures{packets: &received.Packets}
	figures.finishPackets(side, sent, received)
	return figures, nil
}

// writeDatagram sends a datagram, for which it waits for room.
func writeDatagram(socket *gonet.UDPConn, packet []byte) error {
	for {
		_, err := socket.Write(packet)
		if err == nil || !isRefusal(err) {
			return err
		}
		// The error is an ICMP message about an earlier datagram.
	}
}

// greet opens the socket of a flow over UDP, to the port that the receiver tells over the connection, and greets the receiver
// until it is ready. Of each pair of greetings the first is as large as any packet, so that a router on the way with a smaller
// MTU says so before the traffic.
func (one *host) greet(control *connection, side *side, destination netip.AddrPort, largest int) (*gonet.UDPConn, error) {
	told := make([]byte, 2)
	if _, err := io.ReadFull(control, told); err != nil {
		return nil, fmt.Errorf("waiting for the receiver's port: %w", err)
	}
	target := netip.AddrPortFrom(destination.Addr(), binary.BigEndian.Uint16(told))
	socket, err := one.bind(side.Address, target, tcpip.PMTUDiscoveryDont, side)
	if err != nil {
		return nil, err
	}
	greeting := make([]byte, max(largest, cookieBytes))
	copy(greeting, side.Cookie[:])
	for deadline := time.Now().Add(side.patience()); ; {
		_, _ = socket.Write(greeting) // those that are lost or refused are repeated
		_, _ = socket.Write(greeting[:cookieBytes])
		_ = control.SetReadDeadline(time.Now().Add(greetingWait))
		_, err := io.ReadFull(control.TCPConn, told[:1])
		if err == nil {
			control.bounded = time.Time{}
			return socket, nil
		}
		if !isSilence(err) {
			socket.Close()
			return nil, fmt.Errorf("waiting for the receiver to be ready: %w", err)
		}
		if time.Now().After(deadline) {
			socket.Close()
			return nil, fmt.Errorf("no UDP datagram reached the receiver within %s: %w", side.patience(), errSilent)
		}
	}
}

// receiveDatagrams receives the packets of a flow whose connection was admitted.
func (one *host) receiveDatagrams(control *connection, side *side) error {
	largest, err := side.Flow.Traffic.packets.largest()
	if err != nil {
		return err
	}
	endpoint, queue, err := one.bindEndpoint(side.Address, netip.AddrPort{}, tcpip.PMTUDiscoveryDont, side)
	if err != nil {
		return err
	}
	defer endpoint.Close()
	socket := &datagramSource{endpoint: endpoint, bytes: make([]byte, 0, largest+1)}
	entry, readable := waiter.NewChannelEntry(waiter.ReadableEvents)
	queue.EventRegister(&entry)
	defer queue.EventUnregister(&entry)
	local, failed := endpoint.GetLocalAddress()
	if failed != nil {
		return fmt.Errorf("reading the port: %s", failed)
	}
	if _, err := control.Write(binary.BigEndian.AppendUint16(nil, local.Port)); err != nil {
		return fmt.Errorf("telling the port: %w", err)
	}
	if err := socket.admit(side, readable); err != nil {
		return err
	}
	if _, err := control.Write([]byte{1}); err != nil {
		return fmt.Errorf("telling the sender to start: %w", err)
	}
	// The sender may be silent for as long as the flow lasts.
	_ = control.SetReadDeadline(time.Time{})
	told := make(chan []byte, 1)
	go func() {
		counts := make([]byte, 16)
		if _, err := io.ReadFull(control.TCPConn, counts); err != nil {
			counts = nil
		}
		told <- counts
	}()
	if figures := socket.gather(side, readable, told); figures != nil {
		return tellReceived(control, figures)
	}
	return nil // the sender is gone, and nobody asks for the figures
}

// A datagramSource reads the datagrams of a socket with the times at which they arrived.
type datagramSource struct {
	endpoint tcpip.Endpoint
	bytes    []byte
}

// next returns the next datagram, as far as it fits, its sender and its arrival; nil if there is none.
func (one *datagramSource) next() ([]byte, tcpip.FullAddress, uint64) {
	for {
		writer := tcpip.SliceWriter(one.bytes[:cap(one.bytes)])
		read, err := one.endpoint.Read(&writer, tcpip.ReadOptions{NeedRemoteAddr: true})
		switch err.(type) {
		case nil:
			waited := max(time.Since(read.ControlMessages.Timestamp), 0)
			return one.bytes[:read.Count], read.RemoteAddr, nowNs() - uint64(waited)
		case *tcpip.ErrWouldBlock, *tcpip.ErrClosedForReceive:
			return nil, tcpip.FullAddress{}, 0
		}
		// The error is an ICMP message about an earlier datagram.
	}
}

// admit waits for a greeting with the trial's cookie, and connects the socket to its sender. Earlier datagrams are discarded.
func (one *datagramSource) admit(side *side, readable <-chan struct{}) error {
	deadline := time.NewTimer(side.patience())
	defer deadline.Stop()
	for {
		datagram, sender, _ := one.next()
		if len(datagram) >= cookieBytes && cookie(datagram[:cookieBytes]) == side.Cookie {
			if err := one.endpoint.Connect(sender); err != nil {
				return fmt.Errorf("admitting the sender: %w", wrapped(err))
			}
			return nil
		}
		if datagram != nil {
			continue
		}
		select {
		case <-readable:
		case <-deadline.C:
			return fmt.Errorf("no UDP datagram with this trial's cookie came within %s: %w", side.patience(), errSilent)
		}
	}
}

// gather receives packets until all packets sent have arrived, or no more arrive after the sender has told their number; nil if
// the sender is gone.
func (one *datagramSource) gather(side *side, readable <-chan struct{}, told <-chan []byte) *received {
	arrivals, quiet := newArrivals(side), time.NewTimer(side.quiet())
	defer quiet.Stop()
	var counts []byte
	for {
		datagram, _, arrivalNs := one.next()
		// A datagram whose length differs from its header does not belong to the flow.
		if packet, ok := getPacketHeader(datagram, side.Cookie); ok && int(packet.length) == len(datagram) {
			arrivals.packet(packet, arrivalNs)
		}
		if datagram != nil {
			quiet.Reset(side.quiet())
			continue
		}
		if counts != nil && arrivals.numbers.received >= binary.BigEndian.Uint64(counts) {
			break
		}
		select {
		case <-readable:
		case counts = <-told:
			if counts == nil {
				return nil
			}
			quiet.Reset(side.quiet())
		case <-quiet.C:
			if counts != nil {
				return arrivals.figures(binary.BigEndian.Uint64(counts), binary.BigEndian.Uint64(counts[8:]))
			}
		}
	}
	return arrivals.figures(binary.BigEndian.Uint64(counts), binary.BigEndian.Uint64(counts[8:]))
}
