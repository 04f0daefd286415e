package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/waiter"
)

// A connection is one of TCP. A read or write that takes longer than its patience fails.
type connection struct {
	*gonet.TCPConn
	endpoint tcpip.Endpoint
	patience time.Duration
	bounded  time.Time
}

// deadlineStep is the time after which the deadline of reads and writes is moved, because moving it costs a timer.
const deadlineStep = time.Second

func (one *connection) bound() {
	if now := time.Now(); now.Sub(one.bounded) > deadlineStep {
		_ = one.SetDeadline(now.Add(one.patience + deadlineStep))
		one.bounded = now
	}
}

func (one *connection) Read(block []byte) (int, error) {
	one.bound()
	return one.TCPConn.Read(block)
}

func (one *connection) Write(block []byte) (int, error) {
	one.bound()
	return one.TCPConn.Write(block)
}

// newEndpoint returns an endpoint of TCP with the options of a flow's side.
func (one *host) newEndpoint(side *side, queue *waiter.Queue) (tcpip.Endpoint, error) {
	endpoint, err := one.stack.NewEndpoint(tcp.ProtocolNumber, protocolOf(side.Address), queue)
	if err != nil {
		return nil, fmt.Errorf("opening a TCP socket: %s", err)
	}
	fail := func(doing string, err tcpip.Error) (tcpip.Endpoint, error) {
		endpoint.Close()
		return nil, fmt.Errorf("%s: %s", doing, err)
	}
	control := tcpip.CongestionControlOption(side.CongestionControl)
	if err := endpoint.SetSockOpt(&control); err != nil {
		return fail(fmt.Sprintf("choosing congestion control %q", side.CongestionControl), err)
	}
	// A message does not wait for the acknowledgment of the previous one.
	endpoint.SocketOptions().SetDelayOption(side.Flow.Traffic.Kind == "transfer")
	if mss := side.Flow.Socket.MSS; mss != nil {
		if err := endpoint.SetSockOptInt(tcpip.MaxSegOption, int(*mss)); err != nil {
			return fail("limiting segments", err)
		}
	}
	if err := mark(endpoint, side); err != nil {
		return fail("setting the differentiated services codepoint", err)
	}
	return endpoint, nil
}

// mark sets the codepoint of the packets of a socket that the flow asks for.
func mark(endpoint tcpip.Endpoint, side *side) tcpip.Error {
	if side.Flow.Socket.DSCP == 0 {
		return nil
	}
	option := tcpip.IPv6TrafficClassOption
	if side.Address.Is4() {
		option = tcpip.IPv4TOSOption
	}
	return endpoint.SetSockOptInt(option, int(side.Flow.Socket.DSCP)<<2)
}

// connectOnly opens a connection of the flow, and returns it with the time that this took. It is not admitted until it has
// shown the cookie.
func (one *host) connectOnly(side *side, destination netip.AddrPort) (*connection, time.Duration, error) {
	var queue waiter.Queue
	endpoint, err := one.newEndpoint(side, &queue)
	if err != nil {
		return nil, 0, err
	}
	if err := endpoint.Bind(tcpip.FullAddress{Addr: addressOf(side.Address)}); err != nil {
		endpoint.Close()
		return nil, 0, fmt.Errorf("binding to %s: %s", side.Address, err)
	}
	entry, writable := waiter.NewChannelEntry(waiter.WritableEvents)
	queue.EventRegister(&entry)
	defer queue.EventUnregister(&entry)
	context, cancel := context.WithTimeout(context.Background(), side.patience())
	defer cancel()
	begin := time.Now()
	failed := endpoint.Connect(fullOf(destination))
	if _, started := failed.(*tcpip.ErrConnectStarted); started {
		select {
		case <-context.Done():
			endpoint.Close()
			return nil, 0, fmt.Errorf("connecting to %s: %w", destination, errSilent)
		case <-writable:
		}
		failed = endpoint.LastError()
	}
	took := time.Since(begin)
	if failed != nil {
		endpoint.Close()
		return nil, 0, fmt.Errorf("connecting to %s: %w", destination, wrapped(failed))
	}
	made := &connection{TCPConn: gonet.NewTCPConn(&queue, endpoint), endpoint: endpoint, patience: side.patience()}
	return made, took, nil
}

// wrapped returns an error of the stack as one that tells its kind.
func wrapped(err tcpip.Error) error {
	switch err.(type) {
	case *tcpip.ErrConnectionRefused:
		return errRefused
	case *tcpip.ErrHostUnreachable, *tcpip.ErrNetworkUnreachable:
		return errUnreachable
	case *tcpip.ErrTimeout:
		return errSilent
	}
	return errors.New(err.String())
}

// connect opens a connection of the flow for a purpose, and returns it with the time that the opening took.
func (one *host) connect(side *side, destination netip.AddrPort, purpose purpose) (*connection, time.Duration, error) {
	made, took, err := one.connectOnly(side, destination)
	if err != nil {
		return nil, 0, err
	}
	if _, err := made.Write(side.Cookie.opening(purpose)); err != nil {
		made.Close()
		return nil, 0, fmt.Errorf("showing the trial's cookie: %w", err)
	}
	return made, took, nil
}

// inspect opens a connection of the flow, and returns its settings.
func (one *host) inspect(side *side, destination netip.AddrPort) (*connectionReport, error) {
	made, _, err := one.connect(side, destination, toInspect)
	if err != nil {
		return nil, err
	}
	defer made.Close()
	receiver := make([]byte, roomBytes)
	if _, err := io.ReadFull(made, receiver); err != nil {
		return nil, fmt.Errorf("waiting for the receiver: %w", err)
	}
	state := stateOf(made.endpoint)
	report := &connectionReport{
		CongestionControl: congestionControlOf(made.endpoint),
		Options:           state.options(),
		UntoldOptions:     []string{},
		Sender:            roomOf(made.endpoint),
		Receiver:          getRoom(receiver),
	}
	if state.isOpen {
		report.MSSBytes = &state.mssBytes
	}
	return report, nil
}

// nowNs returns the time of the monotonic clock in nanoseconds, which all hosts of a machine share.
func nowNs() uint64 {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err) // clock_gettime(2) fails for unknown clocks alone
	}
	return uint64(now.Nano())
}

// isEnd returns true if an error of a read is the end of a connection whose other host has nothing more to send.
func isEnd(err error) bool {
	var operation *net.OpError
	reset := (&tcpip.ErrConnectionReset{}).String()
	return errors.Is(err, io.EOF) || (errors.As(err, &operation) && operation.Err.Error() == reset)
}

func isSilence(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) || isTimeout(err) }

func isTimeout(err error) bool {
	var network net.Error
	return errors.As(err, &network) && network.Timeout()
}
