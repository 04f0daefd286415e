package main

import (
	"sync"
	"sync/atomic"
	"time"
)

// A sampler reads a flow's transport state at regular intervals, on its current connection (engine/traffic/src/sampler.rs).
type sampler struct {
	mutex      sync.Mutex
	origin     time.Time
	connection *connection
	// datagramBytes counts the bytes sent by a flow without connections.
	datagramBytes       atomic.Uint64
	latest              tcpState
	acknowledged        uint64
	seenAcknowledged    uint64
	seenDatagramBytes   uint64
	closed              uint64
	seenRetransmissions uint64
	minRTT              time.Duration
	peerWindowBytes     uint32
	srtt                durations
	intervals           []interval
	stop                chan struct{}
	stopped             sync.WaitGroup
}

func startSampler(origin time.Time, period time.Duration) *sampler {
	one := &sampler{origin: origin, intervals: []interval{}, stop: make(chan struct{})}
	one.stopped.Add(1)
	go func() {
		defer one.stopped.Done()
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for {
			select {
			case <-one.stop:
				return
			case <-ticker.C:
				one.sample()
			}
		}
	}()
	return one
}

// opened notes that a connection carries the flow from now on.
func (one *sampler) opened(made *connection) {
	one.mutex.Lock()
	defer one.mutex.Unlock()
	one.connection, one.latest = made, stateOf(made.endpoint)
}

// closing keeps the totals of the connection, which is about to be closed.
func (one *sampler) closing() {
	one.mutex.Lock()
	defer one.mutex.Unlock()
	one.read()
	one.closed += one.latest.retransmissionsPkts
	one.connection, one.latest = nil, tcpState{mssBytes: one.latest.mssBytes}
}

func (one *sampler) read() {
	if one.connection == nil {
		return
	}
	state := stateOf(one.connection.endpoint)
	if !state.isOpen {
		return
	}
	// Sequence numbers start over; between two readings less than 4 GiB are acknowledged.
	one.acknowledged += uint64(state.unacknowledged - one.latest.unacknowledged)
	one.peerWindowBytes = max(one.peerWindowBytes, state.peerWindowBytes)
	if state.minRTT > 0 && (one.minRTT == 0 || state.minRTT < one.minRTT) {
		one.minRTT = state.minRTT
	}
	one.latest = state
}

func (one *sampler) sample() {
	one.mutex.Lock()
	defer one.mutex.Unlock()
	one.read()
	state, isOpen := one.latest, one.connection != nil
	retransmissions := one.closed
	made := interval{AtNs: uint64(time.Since(one.origin))}
	if isOpen {
		retransmissions += state.retransmissionsPkts
		made.SRTTUs, made.MinRTTUs, made.CwndPkts = microseconds(state.srtt), microseconds(state.minRTT), state.cwndPkts
		if made.SRTTUs != nil {
			one.srtt.record(uint64(*made.SRTTUs) * 1000)
		}
	}
	datagrams := one.datagramBytes.Load()
	made.Bytes = one.acknowledged - one.seenAcknowledged + datagrams - one.seenDatagramBytes
	made.RetransmissionsPkts = retransmissions - one.seenRetransmissions
	one.seenAcknowledged, one.seenDatagramBytes, one.seenRetransmissions = one.acknowledged, datagrams, retransmissions
	one.intervals = append(one.intervals, made)
}

// finish ends sampling.
func (one *sampler) finish() {
	close(one.stop)
	one.stopped.Wait()
}
