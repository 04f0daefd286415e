package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"time"
)

// Packets by schedule: datagrams over UDP, messages over TCP (engine/traffic/src/packets). A packet departs when it is given to
// the stack, and a datagram arrives when the stack puts it into the socket's buffer.

const (
	// packetsTogether is the largest number of packets that are given to the stack together, and pacedTogether that of those
	// with departure times.
	packetsTogether = 64
	pacedTogether   = 8
	// packetBatchBytes is the size of a batch unless one packet is larger.
	packetBatchBytes = 256 << 10
	// mostFiguresBytes is the largest size of the figures that a receiver sends.
	mostFiguresBytes = 64 << 20
	// tagBytes is the length of the part of the cookie that packets have.
	tagBytes = 4
)

// A packetHeader is the beginning of a packet: its number, its departure by the sender's clock, its length, and the last bytes
// of the trial's cookie.
type packetHeader struct {
	number, departureNs uint64
	length              uint32
}

func (one packetHeader) put(packet []byte, secret cookie) {
	binary.BigEndian.PutUint64(packet, one.number)
	binary.BigEndian.PutUint64(packet[8:], one.departureNs)
	binary.BigEndian.PutUint32(packet[16:], one.length)
	copy(packet[20:headerBytes], secret[cookieBytes-tagBytes:])
}

// getPacketHeader returns the header of a packet; false if it has none of this trial.
func getPacketHeader(packet []byte, secret cookie) (packetHeader, bool) {
	if len(packet) < headerBytes {
		return packetHeader{}, false
	}
	one := packetHeader{
		number: binary.BigEndian.Uint64(packet), departureNs: binary.BigEndian.Uint64(packet[8:]),
		length: binary.BigEndian.Uint32(packet[16:]),
	}
	return one, string(packet[20:headerBytes]) == string(secret[cookieBytes-tagBytes:]) && one.length >= headerBytes
}

// schedule returns the flow's departures, and the bytes of its largest packet.
func (one *packets) schedule() (*departures, int, error) {
	largest, err := one.largest()
	if err != nil {
		return nil, 0, err
	}
	departures, err := newDepartures(one)
	return departures, largest, err
}

// largest returns the bytes of the flow's largest packet, which the engine has bounded.
func (one *packets) largest() (int, error) {
	largest := uint64(0)
	switch size := one.Size; size.Distribution {
	case "constant":
		largest = uint64(size.Value)
	case "uniform":
		largest = uint64(size.Maximum)
	case "mix":
		for _, share := range size.Shares {
			largest = max(largest, uint64(share.Value))
		}
	case "listed":
		for _, value := range size.Values {
			largest = max(largest, uint64(value))
		}
	default:
		if size.Truncation != nil && size.Truncation.Maximum != nil {
			largest = uint64(*size.Truncation.Maximum)
		}
	}
	if largest < headerBytes || largest > 1<<30 {
		return 0, fmt.Errorf("packets of up to %d bytes; expected: %d or more, and a largest size", largest, headerBytes)
	}
	return int(largest), nil
}

// A sentPackets has the figures of a sender of packets. Times are those of the monotonic clock.
type sentPackets struct {
	packets, refused, bytes uint64
	firstNs, lastNs         uint64
	pacing                  *pacing
}

// sendDue gives the packets of a flow to the stack when they are due. handOver takes some, one after the other in memory, and
// returns how many the stack has refused, and their bytes.
func sendDue(
	side *side, departures *departures, largest int, handOver func(batch []byte, sizes []int) (refused, bytes uint64, err error),
) (*sentPackets, error) {
	// The thread's timer slack and CPU time are this flow's. It ends with the goroutine, which ends with the flow.
	runtime.LockOSThread()
	together := packetsTogether
	if departures.isPaced() {
		together = pacedTogether
	}
	begin, spent := nowNs(), threadNs()
	pacer, sent, lateness := newPacer(begin), &sentPackets{firstNs: begin, lastNs: begin}, durations{}
	batch, sizes := make([]byte, max(packetBatchBytes, largest)), make([]int, 0, together)
	for isFirst := true; ; {
		dueNs, more := departures.due(nowNs() - begin)
		if !more {
			break
		}
		if dueNs = added(begin, dueNs); departures.isPaced() || dueNs > nowNs() {
			pacer.wait(dueNs, sent.packets)
		}
		now, used := nowNs(), 0
		sizes = sizes[:0]
		for len(sizes) < together && used+largest <= len(batch) {
			dueNs, more := departures.due(now - begin)
			if !more || added(begin, dueNs) > now {
				break
			}
			size := int(departures.take())
			header := packetHeader{number: sent.packets + uint64(len(sizes)), departureNs: now, length: uint32(size)}
			header.put(batch[used:used+size], side.Cookie)
			sizes, used = append(sizes, size), used+size
			if departures.isPaced() {
				lateness.record(now - begin - dueNs)
			}
		}
		if len(sizes) == 0 {
			continue // a signal ended the wait early
		}
		refused, lost, err := handOver(batch[:used], sizes)
		if err != nil {
			return nil, err
		}
		sent.packets += uint64(len(sizes)) - refused
		sent.refused += refused
		sent.bytes += uint64(used) - lost
		if isFirst {
			isFirst, sent.firstNs = false, now
		}
		sent.lastNs = now
	}
	if asked := departures.askedNs(); departures.isPaced() && asked > 0 {
		// A sender on time took the time requested; a late sender took the time until the last departure.
		percent := float64(threadNs()-spent) * 100 / float64(max(nowNs()-begin, 1))
		sent.pacing = &pacing{
			AskedBps:   float64(departures.bytes) * 8e9 / float64(asked),
			SentBps:    float64(sent.bytes) * 8e9 / float64(max(asked, sent.lastNs-begin)),
			LatenessUs: lateness.distribution(), CPUPercent: &percent,
		}
	}
	return sent, nil
}

// finishPackets adds both hosts' figures to those of a flow.
func (one *figures) finishPackets(side *side, sent *sentPackets, received *received) {
	one.bytes, one.received, one.pacing = received.Bytes, received, sent.pacing
	one.active = time.Duration(received.activeNs(sent.firstNs, sent.lastNs, side))
	one.began = time.Now().Add(-time.Duration(nowNs() - sent.firstNs))
	if offset := side.ClockOffset; offset != nil && offset.ErrorNs > 0 && received.OWDUs != nil {
		largest := float64(offset.ErrorNs) / 1e3
		one.owdErrorUs = &largest
	}
}

// readReceived reads the receiver's figures to the end of the connection.
func readReceived(made *connection) (*received, error) {
	document, err := io.ReadAll(io.LimitReader(made, mostFiguresBytes+1))
	if err != nil {
		return nil, fmt.Errorf("waiting for the receiver's figures: %w", err)
	}
	figures := &received{}
	if len(document) > mostFiguresBytes {
		return nil, fmt.Errorf("the receiver's figures have more than %d bytes", mostFiguresBytes)
	}
	if err := json.Unmarshal(document, figures); err != nil {
		return nil, fmt.Errorf("reading the receiver's figures: %w", err)
	}
	return figures, nil
}

// tellReceived tells the sender the receiver's figures.
func tellReceived(made *connection, figures *received) error {
	line, err := json.Marshal(figures)
	if err != nil {
		return err
	}
	if _, err := made.Write(line); err != nil {
		return fmt.Errorf("telling the figures: %w", err)
	}
	return made.CloseWrite()
}
