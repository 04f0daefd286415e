package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
)

// Requests of many sizes in random order on one connection (engine/traffic/src/sweep.rs). A request has its size in the third
// field of its header, so the receiver need not know the order.

// sizeOrder returns the sizes in the order of measurement, each as often as it is repeated.
func sizeOrder(settings *traffic) []uint64 {
	var all []uint64
	for size := uint64(settings.First); size <= uint64(settings.Last); size += max(uint64(settings.Step), 1) {
		for range settings.Repeats {
			all = append(all, size)
		}
	}
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], settings.Seed)
	random := rand.New(rand.NewChaCha8(seed))
	random.Shuffle(len(all), func(left, right int) { all[left], all[right] = all[right], all[left] })
	return all
}

// A line carries requests and their answers.
type line interface {
	// ask sends a request and waits for its answer. It returns the time that this took, and the number of
	// retransmissions.
	ask(number uint64, size, answer int) (time.Duration, uint64, error)
}

// sweep runs the flow's sweep and gathers its figures.
func (one *host) sweep(side *side, destination netip.AddrPort, sampler *sampler) (*figures, error) {
	figures, settings := &figures{}, &side.Flow.Traffic
	var carrier line
	if side.Flow.Transport == "udp" {
		socket, err := one.connectDatagrams(side, destination)
		if err != nil {
			return nil, err
		}
		defer socket.Close()
		carrier = &datagramLine{side, socket, sampler, make([]byte, settings.Last), make([]byte, largestDatagram)}
	} else {
		made, err := figures.connect(one, side, destination, sampler)
		if err != nil {
			return nil, err
		}
		defer made.Close()
		defer sampler.closing()
		carrier = &streamLine{made, make([]byte, settings.Last)}
	}
	begin := time.Now()
	if err := measureAll(carrier, settings, figures); err != nil {
		return nil, err
	}
	figures.began, figures.active = begin, time.Since(begin)
	return figures, nil
}

func measureAll(carrier line, settings *traffic, figures *figures) error {
	records, number := map[uint64]*sizeRecord{}, uint64(0)
	for _, size := range sizeOrder(settings) {
		var clean, all times
		begin, left := time.Now(), uint64(settings.Bytes)
		record := records[size]
		if record == nil {
			record = &sizeRecord{SizeBytes: size}
			records[size] = record
		}
		for left > 0 {
			bytes := max(min(left, size), headerBytes)
			answer := uint64(headerBytes)
			if settings.Answer == "echo" {
				answer = bytes
			}
			took, resent, err := carrier.ask(number, int(bytes), int(answer))
			if err != nil {
				return err
			}
			number++
			figures.bytes += bytes
			left -= min(left, bytes)
			record.ResentPkts += resent
			all.add(took)
			// An answer to a retransmitted request can't be assigned to one of its transmissions (Karn's rule, RFC 6298).
			if resent == 0 && bytes == size {
				clean.add(took)
			}
		}
		if clean.count == 0 {
			clean = all
		}
		record.TotalUs = append(record.TotalUs, float64(time.Since(begin))/1e3)
		record.RTTUs = append(record.RTTUs, float64(clean.sum)/float64(clean.count)/1e3)
		record.RTTMinimumUs = append(record.RTTMinimumUs, float64(clean.least)/1e3)
	}
	for _, record := range records {
		figures.sizes = append(figures.sizes, *record)
	}
	slices.SortFunc(figures.sizes, func(left, right sizeRecord) int { return int(left.SizeBytes) - int(right.SizeBytes) })
	return nil
}

// A times has the number, the sum and the minimum of round-trip times.
type times struct {
	count      uint64
	sum, least time.Duration
}

func (one *times) add(took time.Duration) {
	if one.count == 0 || took < one.least {
		one.least = took
	}
	one.count++
	one.sum += took
}

// A streamLine carries requests over TCP.
type streamLine struct {
	made    *connection
	message []byte
}

func (one *streamLine) ask(number uint64, size, answer int) (time.Duration, uint64, error) {
	begin := time.Now()
	header{number: number, third: uint64(size)}.put(one.message)
	if _, err := one.made.Write(one.message[:size]); err != nil {
		return 0, 0, fmt.Errorf("sending a request: %w", err)
	}
	if _, err := io.ReadFull(one.made, one.message[:answer]); err != nil {
		return 0, 0, fmt.Errorf("waiting for an answer: %w", err)
	}
	took := time.Since(begin)
	if answered, _ := getHeader(one.message[:answer]); answered.number != number {
		return 0, 0, errOther
	}
	return took, 0, nil
}

// A datagramLine carries requests over UDP. Requests and answers may be lost, and are fragmented if they exceed the MTU.
type datagramLine struct {
	side    *side
	socket  *gonet.UDPConn
	sampler *sampler
	message []byte
	answer  []byte
}

func (one *datagramLine) ask(number uint64, size, answer int) (time.Duration, uint64, error) {
	begin := time.Now()
	header{number: number, third: uint64(size)}.put(one.message)
	for resent := uint64(0); ; resent++ {
		if _, err := one.socket.Write(one.message[:size]); err != nil {
			return 0, resent, fmt.Errorf("sending a request: %w", err)
		}
		one.sampler.datagramBytes.Add(uint64(size))
		deadline := time.Now().Add(one.side.againAfter())
		_ = one.socket.SetReadDeadline(deadline)
		for {
			count, err := one.socket.Read(one.answer)
			if err != nil && !isSilence(err) {
				return 0, resent, fmt.Errorf("waiting for an answer: %w", err)
			}
			if err != nil {
				break
			}
			// Answers to other requests are late or duplicates.
			if answered, ok := getHeader(one.answer[:count]); ok && count == answer && answered.number == number {
				return time.Since(begin), resent, nil
			}
		}
		if time.Since(begin) >= one.side.patience() {
			return 0, resent, fmt.Errorf("a request of %d bytes was sent %d times and never answered: %w", size, resent+1, errSilent)
		}
	}
}

// respondToSweep answers the requests of a connection until it is closed.
func respondToSweep(made *connection, side *side) error {
	settings := &side.Flow.Traffic
	message := make([]byte, max(settings.Last, headerBytes))
	for {
		if _, err := io.ReadFull(made, message[:headerBytes]); err != nil {
			if isEnd(err) {
				return nil
			}
			return fmt.Errorf("waiting for a request: %w", err)
		}
		asked, _ := getHeader(message)
		if asked.third < headerBytes || asked.third > uint64(len(message)) {
			return fmt.Errorf("a request claims to have %d bytes", asked.third)
		}
		if _, err := io.ReadFull(made, message[headerBytes:asked.third]); err != nil {
			return fmt.Errorf("reading a request: %w", err)
		}
		answer := uint64(headerBytes)
		if settings.Answer == "echo" {
			answer = asked.third
		}
		if _, err := made.Write(message[:answer]); err != nil {
			return fmt.Errorf("sending an answer: %w", err)
		}
	}
}

// respondToSweepDatagrams answers the requests of one sender until none arrives any more.
func respondToSweepDatagrams(socket *gonet.UDPConn, side *side) error {
	message := make([]byte, largestDatagram)
	for {
		_ = socket.SetReadDeadline(time.Now().Add(side.patience()))
		count, err := socket.Read(message)
		if err != nil {
			if isSilence(err) || isRefusal(err) {
				return nil
			}
			return fmt.Errorf("waiting for a request: %w", err)
		}
		if asked, ok := getHeader(message[:count]); ok && asked.third == uint64(count) {
			answer := headerBytes
			if side.Flow.Traffic.Answer == "echo" {
				answer = count
			}
			_, _ = socket.Write(message[:answer]) // one that is lost here counts as one that is lost on the path
		}
	}
}
