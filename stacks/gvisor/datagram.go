package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// UDP sockets, and the handshake that gives each sender a socket of its own at the receiver (engine/traffic/src/datagram.rs).

const (
	largestDatagram = 1 << 16
	answerBytes     = cookieBytes + 2
	mostSessions    = 1024
	// datagramBufferBytes is the size of a socket's buffers.
	datagramBufferBytes = 4 << 20
)

// openingWaits has the time that the answer to an opening may take before the opening is retransmitted, for each attempt, in
// addition to two round-trip times.
var openingWaits = []time.Duration{
	50 * time.Millisecond, 200 * time.Millisecond, 800 * time.Millisecond, 2 * time.Second, 4 * time.Second,
}

// bind opens a UDP socket at an address, connected to a destination if that is valid. Datagrams that are larger than the
// interface's MTU are fragmented, and others may be, unless this is forbidden.
func (one *host) bind(address netip.Addr, destination netip.AddrPort, strategy tcpip.PMTUDStrategy, side *side) (*gonet.UDPConn, error) {
	endpoint, queue, err := one.bindEndpoint(address, destination, strategy, side)
	if err != nil {
		return nil, err
	}
	return gonet.NewUDPConn(queue, endpoint), nil
}

// bindEndpoint does the same, and returns the socket as the stack has it, and the queue of those that wait for it.
func (one *host) bindEndpoint(
	address netip.Addr, destination netip.AddrPort, strategy tcpip.PMTUDStrategy, side *side,
) (tcpip.Endpoint, *waiter.Queue, error) {
	queue := &waiter.Queue{}
	endpoint, err := one.stack.NewEndpoint(udp.ProtocolNumber, protocolOf(address), queue)
	if err != nil {
		return nil, nil, fmt.Errorf("opening a UDP socket: %s", err)
	}
	fail := func(doing string, err tcpip.Error) (tcpip.Endpoint, *waiter.Queue, error) {
		endpoint.Close()
		return nil, nil, fmt.Errorf("%s: %w", doing, wrapped(err))
	}
	if err := endpoint.Bind(tcpip.FullAddress{Addr: addressOf(address)}); err != nil {
		return fail(fmt.Sprintf("binding to %s", address), err)
	}
	if err := endpoint.SetSockOptInt(tcpip.MTUDiscoverOption, int(strategy)); err != nil {
		return fail("choosing whether packets may be fragmented", err)
	}
	endpoint.SocketOptions().SetSendBufferSize(datagramBufferBytes, true)
	endpoint.SocketOptions().SetReceiveBufferSize(datagramBufferBytes, true)
	if side != nil {
		if err := mark(endpoint, side); err != nil {
			return fail("setting the differentiated services codepoint", err)
		}
	}
	if destination.IsValid() {
		if err := endpoint.Connect(fullOf(destination)); err != nil {
			return fail(fmt.Sprintf("choosing %s", destination), err)
		}
	}
	return endpoint, queue, nil
}

func portOf(socket net.Conn) uint16 { return uint16(socket.LocalAddr().(*net.UDPAddr).Port) }

func senderOf(address net.Addr) netip.AddrPort {
	port := address.(*net.UDPAddr).AddrPort()
	return netip.AddrPortFrom(port.Addr().Unmap(), port.Port())
}

// listenForDatagrams opens a port for the flow of a side, and serves each sender that shows the cookie by a socket of its own.
func (one *host) listenForDatagrams(side *side) (uint16, error) {
	serve := respondToDatagrams
	switch kind := side.Flow.Traffic.Kind; kind {
	case "request_response":
	case "sweep":
		serve = respondToSweepDatagrams
	default:
		return 0, fmt.Errorf("traffic of the kind %s is not carried over UDP", kind)
	}
	socket, err := one.bind(side.Address, netip.AddrPort{}, tcpip.PMTUDiscoveryDont, side)
	if err != nil {
		return 0, err
	}
	go func() {
		sessions, mutex := map[netip.AddrPort]uint16{}, sync.Mutex{}
		opening := make([]byte, openingBytes+1)
		for {
			count, address, err := socket.ReadFrom(opening)
			if err != nil {
				continue // an ICMP message about an answer, whose sender is gone
			}
			if purpose, admitted := side.Cookie.admit(opening[:count]); !admitted || purpose != toCarry {
				continue
			}
			sender := senderOf(address)
			mutex.Lock()
			port, known := sessions[sender]
			if !known && len(sessions) < mostSessions {
				own, err := one.bind(side.Address, sender, tcpip.PMTUDiscoveryDont, side)
				if err == nil {
					port, known = portOf(own), true
					sessions[sender] = port
					go func() {
						defer own.Close()
						if err := serve(own, side); err != nil {
							complain(side, err)
						}
						mutex.Lock()
						delete(sessions, sender)
						mutex.Unlock()
					}()
				} else {
					complain(side, err)
				}
			}
			mutex.Unlock()
			if known {
				answer := binary.BigEndian.AppendUint16(side.Cookie[:len(side.Cookie):len(side.Cookie)], port)
				_, _ = socket.WriteTo(answer, address) // the sender asks again for an answer that is lost
			}
		}
	}()
	return portOf(socket), nil
}

// connectDatagrams opens a socket of the flow to the destination, where listenForDatagrams gave the port.
func (one *host) connectDatagrams(side *side, destination netip.AddrPort) (*gonet.UDPConn, error) {
	socket, err := one.bind(side.Address, destination, tcpip.PMTUDiscoveryDont, side)
	if err != nil {
		return nil, err
	}
	answer := make([]byte, answerBytes+1)
	for _, wait := range openingWaits {
		_ = socket.SetReadDeadline(time.Now().Add(side.atLeast(0, 2) + wait))
		if _, err := socket.Write(side.Cookie.opening(toCarry)); err != nil {
			continue // an error says nothing about the next datagram
		}
		count, err := socket.Read(answer)
		if err == nil && count == answerBytes && cookie(answer[:cookieBytes]) == side.Cookie {
			local := portOf(socket)
			socket.Close()
			port := binary.BigEndian.Uint16(answer[cookieBytes:])
			return one.reconnect(side, local, netip.AddrPortFrom(destination.Addr(), port))
		}
	}
	socket.Close()
	return nil, fmt.Errorf("%s does not answer: the flow's opening was sent %d times over UDP: %w",
		destination, len(openingWaits), errSilent)
}

// reconnect opens a socket at the port of this host that the receiver knows, to the port that it has given.
func (one *host) reconnect(side *side, local uint16, destination netip.AddrPort) (*gonet.UDPConn, error) {
	from := fullOf(netip.AddrPortFrom(side.Address, local))
	to := fullOf(destination)
	socket, err := gonet.DialUDP(one.stack, &from, &to, protocolOf(side.Address))
	if err != nil {
		return nil, fmt.Errorf("choosing %s: %w", destination, err)
	}
	return socket, nil
}

// An unanswered has the requests over UDP that wait for their answers (engine/flows/src/unanswered.rs).
type unanswered struct {
	lostAfterNs uint64
	requests    []pending
	first       uint64
	open        uint64
	lost        map[uint64]bool
	latest      uint64
	anyAnswered bool
	burst       uint64
	counts      packetCounts
}

type pending struct {
	sentNs     uint64
	isAnswered bool
}

func (one *unanswered) sent(sentNs uint64) {
	one.requests = append(one.requests, pending{sentNs: sentNs})
	one.open++
	one.counts.Sent++
}

// answered notes an answer. It returns the time at which the request was sent; false unless this is its first answer and in
// time.
func (one *unanswered) answered(number, nowNs uint64) (uint64, bool) {
	one.expire(nowNs)
	if number < one.first {
		// The first late answer to a lost request changes nothing; further answers are duplicates.
		if one.lost[number] {
			delete(one.lost, number)
		} else {
			one.counts.Duplicated++
		}
		return 0, false
	}
	place := number - one.first
	if place >= uint64(len(one.requests)) {
		return 0, false
	}
	request := &one.requests[place]
	if request.isAnswered {
		one.counts.Duplicated++
		return 0, false
	}
	request.isAnswered = true
	sentNs := request.sentNs
	one.open--
	one.counts.Received++
	if one.anyAnswered && number < one.latest {
		one.counts.Reordered++
	}
	one.latest, one.anyAnswered = max(one.latest, number), true
	one.expire(nowNs)
	return sentNs, true
}

// expire forgets requests that are answered, and gives up requests that have waited too long.
func (one *unanswered) expire(nowNs uint64) {
	for len(one.requests) > 0 {
		request := one.requests[0]
		switch {
		case request.isAnswered:
			one.burst = 0
		case nowNs-min(nowNs, request.sentNs) >= one.lostAfterNs:
			one.lost[one.first] = true
			one.open--
			one.burst++
			one.counts.Lost++
			if one.burst == 1 {
				one.counts.LossBursts++
			}
			one.counts.LongestLossBurst = max(one.counts.LongestLossBurst, one.burst)
		default:
			return
		}
		one.requests, one.first = one.requests[1:], one.first+1
	}
}

// requestDatagrams sends the flow's requests over UDP and gathers their figures.
func (one *host) requestDatagrams(side *side, destination netip.AddrPort, sampler *sampler) (*figures, error) {
	settings, tally := &side.Flow.Traffic, &tally{}
	socket, err := one.connectDatagrams(side, destination)
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	waiting := &unanswered{lostAfterNs: uint64(side.lostAfter()), lost: map[uint64]bool{}}
	request, response := make([]byte, settings.Request), make([]byte, largestDatagram)
	schedule := startSchedule(settings)
	nowNs := uint64(0)
	for {
		for waiting.open < uint64(settings.InFlight) && !schedule.isOver(nowNs) && schedule.dueNs <= nowNs {
			asked := header{number: schedule.take(nowNs), sentNs: schedule.nowNs()}
			asked.put(request)
			if _, err := socket.Write(request); err != nil {
				return nil, fmt.Errorf("sending a request: %w", err)
			}
			sampler.datagramBytes.Add(uint64(len(request)))
			waiting.sent(asked.sentNs)
		}
		isOver := schedule.isOver(nowNs)
		if isOver && waiting.open == 0 {
			break
		}
		wait := side.lostAfter()
		if !isOver && waiting.open < uint64(settings.InFlight) {
			wait = min(wait, time.Duration(schedule.dueNs-nowNs))
		}
		_ = socket.SetReadDeadline(time.Now().Add(wait))
		count, err := socket.Read(response)
		if err != nil && !isSilence(err) {
			return nil, fmt.Errorf("waiting for a response: %w", err)
		}
		nowNs = schedule.nowNs()
		if answer, ok := getHeader(response[:count]); err == nil && ok && count == int(settings.Response) {
			if sentNs, first := waiting.answered(answer.number, nowNs); first {
				tally.answered(answer, sentNs, uint64(settings.Request), nowNs)
			}
		}
		waiting.expire(nowNs)
	}
	tally.figures.packets = &waiting.counts
	return tally.finish(schedule.origin), nil
}

// respondToDatagrams answers the requests of one sender until none arrives any more.
func respondToDatagrams(socket *gonet.UDPConn, side *side) error {
	settings, patience := &side.Flow.Traffic, side.patience()
	if settings.Interval != nil {
		patience += settings.Interval.duration()
	}
	request, response := make([]byte, largestDatagram), make([]byte, settings.Response)
	origin, bound := time.Now(), time.Time{}
	for {
		if now := time.Now(); now.Sub(bound) > deadlineStep {
			_ = socket.SetReadDeadline(now.Add(patience + deadlineStep))
			bound = now
		}
		count, err := socket.Read(request)
		if err != nil {
			if isSilence(err) || isRefusal(err) {
				return nil
			}
			return fmt.Errorf("waiting for a request: %w", err)
		}
		if asked, ok := getHeader(request[:count]); ok && count == int(settings.Request) {
			asked.third = uint64(time.Since(origin))
			asked.put(response)
			_, _ = socket.Write(response) // one that is lost here counts as one that is lost on the path
		}
	}
}

// isRefusal returns true if an error of a read says that the other host's socket is closed.
func isRefusal(err error) bool {
	operation, ok := err.(*net.OpError)
	return ok && operation.Err.Error() == (&tcpip.ErrConnectionRefused{}).String()
}
