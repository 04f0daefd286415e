package main

import (
	"fmt"
	"io"
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/adapters/gonet"
	"gvisor.dev/gvisor/pkg/waiter"
)

const (
	// backlog is the number of connections that may wait to be accepted.
	backlog = 128
	// mostServed is the number of connections that are served at a time; further ones wait to be accepted.
	mostServed = 1024
	// mostUnshown is the number of connections that have not shown the cookie yet; for a further one, the oldest is closed.
	mostUnshown = 64
)

// listen opens a port for the flow of a side and serves it until the agent ends.
func (one *host) listen(side *side) (uint16, error) {
	if side.Flow.Transport == "udp" && side.Flow.Traffic.Kind != "packets" {
		return one.listenForDatagrams(side)
	}
	var queue waiter.Queue
	endpoint, err := one.newEndpoint(side, &queue)
	if err != nil {
		return 0, err
	}
	if err := endpoint.Bind(tcpip.FullAddress{Addr: addressOf(side.Address)}); err != nil {
		endpoint.Close()
		return 0, fmt.Errorf("binding to %s: %s", side.Address, err)
	}
	if err := endpoint.Listen(backlog); err != nil {
		endpoint.Close()
		return 0, fmt.Errorf("listening: %s", err)
	}
	local, failed := endpoint.GetLocalAddress()
	if failed != nil {
		endpoint.Close()
		return 0, fmt.Errorf("reading the port: %s", failed)
	}
	port := &port{host: one, side: side, endpoint: endpoint, queue: &queue, seats: make(chan struct{}, mostServed)}
	go port.serve()
	return local.Port, nil
}

// A port accepts the connections of a flow.
type port struct {
	host     *host
	side     *side
	endpoint tcpip.Endpoint
	queue    *waiter.Queue
	seats    chan struct{}
	mutex    sync.Mutex
	// unshown has the connections that have not shown the cookie yet, the oldest first.
	unshown []*connection
}

func (one *port) serve() {
	entry, readable := waiter.NewChannelEntry(waiter.ReadableEvents)
	one.queue.EventRegister(&entry)
	for {
		one.seats <- struct{}{}
		endpoint, queue, err := one.endpoint.Accept(nil)
		for ; err != nil; endpoint, queue, err = one.endpoint.Accept(nil) {
			<-readable
		}
		made := &connection{TCPConn: gonet.NewTCPConn(queue, endpoint), endpoint: endpoint, patience: one.side.patience()}
		go func() {
			defer func() { <-one.seats }()
			defer made.Close()
			if err := one.admit(made); err != nil {
				complain(one.side, err)
			}
		}()
	}
}

// admit serves a connection that shows the trial's cookie. Strangers can open connections, so a connection that shows
// nothing is closed when its time is over, or when many others have come after it.
func (one *port) admit(made *connection) error {
	one.mutex.Lock()
	one.unshown = append(one.unshown, made)
	var oldest *connection
	if len(one.unshown) > mostUnshown {
		oldest, one.unshown = one.unshown[0], one.unshown[1:]
	}
	one.mutex.Unlock()
	if oldest != nil {
		oldest.Close()
	}
	opening := make([]byte, openingBytes)
	_ = made.SetReadDeadline(time.Now().Add(one.side.patience()))
	_, err := io.ReadFull(made.TCPConn, opening)
	one.mutex.Lock()
	for place, other := range one.unshown {
		if other == made {
			one.unshown = append(one.unshown[:place:place], one.unshown[place+1:]...)
			break
		}
	}
	one.mutex.Unlock()
	if err != nil {
		return fmt.Errorf("a connection was refused: %w", err)
	}
	purpose, admitted := one.side.Cookie.admit(opening)
	if !admitted {
		return fmt.Errorf("a connection was refused: it did not show this trial's cookie and a known purpose")
	}
	return one.host.serve(made, one.side, purpose)
}

func (one *host) serve(made *connection, side *side, purpose purpose) error {
	if purpose == toInspect {
		// The answer also tells the inspector that the connection is established on both sides.
		_, err := made.Write(roomOf(made.endpoint).put())
		return err
	}
	switch kind := side.Flow.Traffic.Kind; kind {
	case "transfer":
		return receiveTransfer(made, side)
	case "request_response":
		return respondToRequests(made, side)
	case "sweep":
		return respondToSweep(made, side)
	case "packets":
		if side.Flow.Transport == "udp" {
			return one.receiveDatagrams(made, side)
		}
		return receiveMessages(made, side)
	default:
		return fmt.Errorf("traffic of the kind %s is not carried", kind)
	}
}
