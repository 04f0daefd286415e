package main

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"
)

// batchBytes is the number of bytes read or written at a time, if messages are smaller.
const batchBytes = 64 << 10

// A schedule has the times at which the requests of a flow are due (engine/flows/src/requests.rs).
type schedule struct {
	settings *traffic
	origin   time.Time
	dueNs    uint64
	number   uint64
}

func startSchedule(settings *traffic) *schedule {
	return &schedule{settings: settings, origin: time.Now()}
}

func (one *schedule) nowNs() uint64 { return uint64(time.Since(one.origin)) }

// isOver returns true if no request follows.
func (one *schedule) isOver(nowNs uint64) bool {
	end := one.settings.Duration
	return (end != nil && max(nowNs, one.dueNs) >= uint64(*end)) ||
		(one.settings.Count != nil && *one.settings.Count == one.number)
}

// take notes that a request is sent, and returns its number. A request that is more than an interval late shifts the
// schedule, so that no burst follows.
func (one *schedule) take(nowNs uint64) uint64 {
	if interval := one.settings.Interval; interval != nil {
		one.dueNs += uint64(*interval)
		if one.dueNs <= nowNs {
			one.dueNs = nowNs + uint64(*interval)
		}
	}
	one.number++
	return one.number - 1
}

// wait sleeps until the next request is due, and returns its number; false after the last.
func (one *schedule) wait(nowNs uint64) (uint64, bool) {
	if one.isOver(nowNs) {
		return 0, false
	}
	if one.dueNs > nowNs {
		time.Sleep(time.Duration(one.dueNs - nowNs))
	}
	return one.take(max(nowNs, one.dueNs)), true
}

// A tally has the figures that responses add to.
type tally struct {
	figures figures
	jitter  jitter
	lastNs  uint64
}

// answered notes that a request with so many bytes, sent at that time, was answered.
func (one *tally) answered(response header, sentNs, bytes, nowNs uint64) {
	one.figures.rtt.record(nowNs - min(nowNs, sentNs))
	one.figures.bytes += bytes
	one.jitter.record(int64(response.third - sentNs))
	one.lastNs = nowNs
}

func (one *tally) finish(origin time.Time) *figures {
	one.figures.jitter, one.figures.active, one.figures.began = &one.jitter, time.Duration(one.lastNs), origin
	return &one.figures
}

var errOther = errors.New("a response to another request came")

// request sends the flow's requests over TCP and gathers their figures.
func (one *host) request(side *side, destination netip.AddrPort, sampler *sampler) (*figures, error) {
	settings := &side.Flow.Traffic
	if settings.Connecting == "each_request" {
		return one.connectEach(side, destination, sampler)
	}
	if settings.InFlight > 1 {
		return one.several(side, destination, sampler)
	}
	tally := &tally{}
	made, err := tally.figures.connect(one, side, destination, sampler)
	if err != nil {
		return nil, err
	}
	defer made.Close()
	request, response := make([]byte, settings.Request), make([]byte, settings.Response)
	schedule := startSchedule(settings)
	for number, more := schedule.wait(0); more; number, more = schedule.wait(tally.lastNs) {
		sentNs := schedule.nowNs()
		header{number, sentNs, 0}.put(request)
		if _, err := made.Write(request); err != nil {
			return nil, fmt.Errorf("sending a request: %w", err)
		}
		if _, err := io.ReadFull(made, response); err != nil {
			return nil, fmt.Errorf("waiting for a response: %w", err)
		}
		nowNs := schedule.nowNs()
		answer, _ := getHeader(response)
		if answer.number != number {
			return nil, errOther
		}
		tally.answered(answer, sentNs, uint64(settings.Request), nowNs)
	}
	sampler.closing()
	return tally.finish(schedule.origin), nil
}

// several sends the requests over one connection, several of which may wait for their responses.
func (one *host) several(side *side, destination netip.AddrPort, sampler *sampler) (*figures, error) {
	settings, tally := &side.Flow.Traffic, &tally{}
	made, err := tally.figures.connect(one, side, destination, sampler)
	if err != nil {
		return nil, err
	}
	defer made.Close()
	type asked struct{ number, sentNs uint64 }
	schedule, response := startSchedule(settings), make([]byte, settings.Response)
	slots, waiting := make(chan struct{}, settings.InFlight), make(chan asked, settings.InFlight)
	ended, failed := make(chan struct{}), make(chan error, 1)
	defer close(ended)
	go func() {
		defer close(waiting)
		request := make([]byte, settings.Request)
		for {
			select {
			case slots <- struct{}{}:
			case <-ended:
				return
			}
			number, more := schedule.wait(schedule.nowNs())
			if !more {
				return
			}
			next := asked{number, schedule.nowNs()}
			header{number, next.sentNs, 0}.put(request)
			waiting <- next
			if _, err := made.Write(request); err != nil {
				failed <- fmt.Errorf("sending a request: %w", err)
				return
			}
		}
	}()
	for next := range waiting {
		if _, err := io.ReadFull(made, response); err != nil {
			select {
			case why := <-failed:
				return nil, why
			default:
				return nil, fmt.Errorf("waiting for responses: %w", err)
			}
		}
		nowNs := schedule.nowNs()
		answer, _ := getHeader(response)
		if answer.number != next.number {
			return nil, errOther
		}
		tally.answered(answer, next.sentNs, uint64(settings.Request), nowNs)
		<-slots
	}
	sampler.closing()
	return tally.finish(schedule.origin), nil
}

// connectEach sends each request over a connection of its own. The opening and the request are sent together.
func (one *host) connectEach(side *side, destination netip.AddrPort, sampler *sampler) (*figures, error) {
	settings, tally := &side.Flow.Traffic, &tally{}
	request := append(side.Cookie.opening(toCarry), make([]byte, settings.Request)...)
	response := make([]byte, settings.Response)
	schedule := startSchedule(settings)
	for number, more := schedule.wait(0); more; number, more = schedule.wait(schedule.nowNs()) {
		made, took, err := one.connectOnly(side, destination)
		if err != nil {
			return nil, err
		}
		nowNs := schedule.nowNs()
		sentNs := nowNs - min(nowNs, uint64(took))
		sampler.opened(made)
		header{number, sentNs, 0}.put(request[openingBytes:])
		if _, err := made.Write(request); err != nil {
			return nil, fmt.Errorf("sending a request: %w", err)
		}
		if _, err := io.ReadFull(made, response); err != nil {
			return nil, fmt.Errorf("waiting for a response: %w", err)
		}
		nowNs = schedule.nowNs()
		answer, _ := getHeader(response)
		if answer.number != number {
			return nil, errOther
		}
		tally.answered(answer, sentNs, uint64(settings.Request), nowNs)
		tally.figures.opened(made, took)
		// The receiver closes first, so that its port is the one that stays reserved for a while.
		if count, err := made.Read(make([]byte, 1)); count != 0 || err != io.EOF {
			return nil, fmt.Errorf("more than a response came, or the connection was not closed: %v", err)
		}
		sampler.closing()
		made.Close()
	}
	return tally.finish(schedule.origin), nil
}

// respondToRequests answers the requests of a connection until it is closed.
func respondToRequests(made *connection, side *side) error {
	settings := &side.Flow.Traffic
	if settings.Interval != nil {
		made.patience += settings.Interval.duration()
	}
	request, response := int(settings.Request), make([]byte, settings.Response)
	incoming := make([]byte, max(batchBytes, request))
	var outgoing []byte
	filled, origin := 0, time.Now()
	for {
		count, err := made.Read(incoming[filled:])
		if err != nil {
			if isEnd(err) {
				return nil
			}
			return fmt.Errorf("waiting for a request: %w", err)
		}
		filled += count
		readNs := uint64(time.Since(origin))
		complete := filled / request * request
		outgoing = outgoing[:0]
		for begin := 0; begin < complete; begin += request {
			asked, _ := getHeader(incoming[begin : begin+request])
			asked.third = readNs
			asked.put(response)
			outgoing = append(outgoing, response...)
		}
		if _, err := made.Write(outgoing); err != nil {
			return fmt.Errorf("sending a response: %w", err)
		}
		if complete > 0 && settings.Connecting == "each_request" {
			return nil
		}
		copy(incoming, incoming[complete:filled])
		filled -= complete
	}
}
