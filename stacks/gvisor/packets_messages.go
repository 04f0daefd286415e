package main

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"
)

// Packets over TCP, each a message (engine/traffic/src/packets/stream.rs).

// sendMessages sends the flow's packets over TCP, each a message, and gathers their figures.
func (one *host) sendMessages(side *side, destination netip.AddrPort, sampler *sampler) (*figures, error) {
	figures := &figures{}
	departures, largest, err := side.Flow.Traffic.packets.schedule()
	if err != nil {
		return nil, err
	}
	made, err := figures.connect(one, side, destination, sampler)
	if err != nil {
		return nil, err
	}
	defer made.Close()
	sent, err := sendDue(side, departures, largest, func(batch []byte, _ []int) (uint64, uint64, error) {
		if _, err := made.Write(batch); err != nil {
			return 0, 0, fmt.Errorf("sending messages: %w", err)
		}
		return 0, 0, nil
	})
	if err != nil {
		return nil, err
	}
	if err := made.CloseWrite(); err != nil {
		return nil, fmt.Errorf("ending the messages: %w", err)
	}
	received, err := readReceived(made)
	if err != nil {
		return nil, err
	}
	if read := received.Packets.Received; read != sent.packets {
		return nil, fmt.Errorf("the receiver read %d messages of the %d that were sent", read, sent.packets)
	}
	sampler.closing()
	figures.finishPackets(side, sent, received)
	return figures, nil
}

// receiveMessages receives the messages of a connection until its end. One arrives when the read returns that has its last byte.
func receiveMessages(made *connection, side *side) error {
	largest, err := side.Flow.Traffic.packets.largest()
	if err != nil {
		return err
	}
	parser, arrivals := &messageParser{secret: side.Cookie, largest: largest}, newArrivals(side)
	block := make([]byte, packetBatchBytes)
	// The sender may be silent for the time of its gaps.
	_ = made.SetReadDeadline(time.Time{})
	for {
		count, err := made.TCPConn.Read(block)
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("receiving messages: %w", err)
		}
		now := nowNs()
		if err := parser.take(block[:count], func(message packetHeader) { arrivals.packet(message, now) }); err != nil {
			return err
		}
	}
	return tellReceived(made, arrivals.figures(arrivals.numbers.received, 0))
}

// A messageParser finds the ends of messages in a stream.
type messageParser struct {
	secret   cookie
	largest  int
	expected uint64
	header   [headerBytes]byte
	// have is the number of bytes of the current message that have arrived, its header included.
	have int
}

// take takes the next bytes, and calls arrived for each message that they complete.
func (one *messageParser) take(bytes []byte, arrived func(packetHeader)) error {
	for len(bytes) > 0 {
		if one.have < headerBytes {
			count := copy(one.header[one.have:], bytes)
			one.have, bytes = one.have+count, bytes[count:]
			if one.have < headerBytes {
				return nil
			}
		}
		message, ok := getPacketHeader(one.header[:], one.secret)
		if !ok || int(message.length) > one.largest || message.number != one.expected {
			return errors.New("the stream does not go on with the next message")
		}
		count := min(len(bytes), int(message.length)-one.have)
		one.have, bytes = one.have+count, bytes[count:]
		if one.have == int(message.length) {
			arrived(message)
			one.have = 0
			one.expected++
		}
	}
	return nil
}
