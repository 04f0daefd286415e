package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net/netip"
	"time"
)

// blockBytes is the number of bytes of a read or a write, unless the flow has a setting for it.
const blockBytes = 128 << 10

// endBytes is the length of the beginning of a transfer: the end of the flow's duration by the receiver's clock, and the time
// left until then, both in nanoseconds (engine/traffic/src/transfer.rs).
const endBytes = 16

// toldEnd returns the bytes that tell the receiver of a transfer when the flow's duration ends.
func toldEnd(side *side, deadline time.Time) []byte {
	at, left := uint64(math.MaxUint64), uint64(math.MaxUint64)
	if !deadline.IsZero() {
		left = uint64(max(time.Until(deadline), 0))
		if ahead, known := side.aheadNs(); known {
			at = uint64(int64(nowNs()+left) + ahead)
		}
	}
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, at), left)
}

// heardEnd returns the end of the flow's duration by this host's clock, in nanoseconds.
func heardEnd(told []byte) uint64 {
	at, left := binary.BigEndian.Uint64(told), binary.BigEndian.Uint64(told[8:])
	if at != math.MaxUint64 {
		return at
	}
	if now := nowNs(); left < math.MaxUint64-now {
		return now + left
	}
	return math.MaxUint64
}

func newBlock(side *side) []byte {
	if side.Flow.Socket.Block != nil {
		return make([]byte, *side.Flow.Socket.Block)
	}
	return make([]byte, blockBytes)
}

// transfer sends the flow's transfers and gathers their figures.
func (one *host) transfer(side *side, destination netip.AddrPort, sampler *sampler) (*figures, error) {
	figures, settings := &figures{}, side.Flow.Traffic
	var deadline time.Time
	if settings.Duration != nil {
		deadline = time.Now().Add(settings.Duration.duration())
	}
	isPast := func(moment time.Time) bool { return !deadline.IsZero() && !moment.Before(deadline) }
	block := newBlock(side)
	var activeInTime time.Duration
	var bytesInTime uint64
	for {
		begin := time.Now()
		made, err := figures.connect(one, side, destination, sampler)
		if err != nil {
			return nil, err
		}
		firstWrite := time.Now()
		sent, err := sendBlocks(made, side, block, deadline)
		if err != nil {
			return nil, err
		}
		confirmation := make([]byte, 16)
		if _, err := io.ReadFull(made, confirmation); err != nil {
			return nil, fmt.Errorf("waiting for the receiver's confirmation: %w", err)
		}
		received := binary.BigEndian.Uint64(confirmation)
		bytesInTime += binary.BigEndian.Uint64(confirmation[8:])
		end := time.Now()
		figures.active += end.Sub(firstWrite)
		figures.ended = end
		// If no connection opened in time, nothing arrived in all of the duration.
		from := firstWrite
		if isPast(firstWrite) && figures.began.IsZero() {
			from = begin
		}
		if figures.began.IsZero() {
			figures.began = from
		}
		until := end
		if isPast(end) {
			until = deadline
		}
		activeInTime += max(until.Sub(from), 0)
		if received != sent {
			return nil, fmt.Errorf("the receiver read %d bytes of the %d that were sent", received, sent)
		}
		sampler.closing()
		made.Close()
		figures.bytes += sent
		if settings.Size != nil {
			figures.completion.record(uint64(time.Since(begin)))
		}
		if settings.Size == nil || deadline.IsZero() || isPast(time.Now()) {
			if !deadline.IsZero() {
				figures.cut = &cut{ended: deadline, active: activeInTime, bytes: bytesInTime}
			}
			return figures, nil
		}
	}
}

// sendBlocks tells the receiver when the flow's duration ends, and sends the block repeatedly until the transfer's size or
// its end is reached. It returns the number of bytes.
func sendBlocks(made *connection, side *side, block []byte, deadline time.Time) (uint64, error) {
	if _, err := made.Write(toldEnd(side, deadline)); err != nil {
		return 0, fmt.Errorf("telling the receiver when the flow ends: %w", err)
	}
	settings, sent := side.Flow.Traffic, uint64(0)
	for {
		length := uint64(len(block))
		if settings.Size != nil {
			length = min(length, uint64(*settings.Size)-sent)
		} else if !deadline.IsZero() && !time.Now().Before(deadline) {
			length = 0
		}
		if length == 0 {
			break
		}
		count, err := made.Write(block[:length])
		if err != nil {
			return sent, fmt.Errorf("sending: %w", err)
		}
		sent += uint64(count)
	}
	if err := made.CloseWrite(); err != nil {
		return sent, fmt.Errorf("ending the transfer: %w", err)
	}
	return sent, nil
}

// receiveTransfer reads a transfer to its end. It confirms its number of bytes, and the number of those that had been read by
// the end of the flow's duration.
func receiveTransfer(made *connection, side *side) error {
	told := make([]byte, endBytes)
	if _, err := io.ReadFull(made, told); err != nil {
		return fmt.Errorf("receiving the end of the flow's duration: %w", err)
	}
	end, block := heardEnd(told), newBlock(side)
	var received, inTime uint64
	for {
		count, err := made.Read(block)
		received += uint64(count)
		if count > 0 && nowNs() <= end {
			inTime = received
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("receiving: %w", err)
		}
	}
	counts := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, received), inTime)
	if _, err := made.Write(counts); err != nil {
		return fmt.Errorf("confirming the transfer: %w", err)
	}
	return nil
}
