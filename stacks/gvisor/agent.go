package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// An agent serves orders.
type agent struct {
	host *host
	// failure is the reason why there is no host.
	failure error
	output  io.Writer
	mutex   sync.Mutex
}

// run serves orders until the input ends. It fails if a line of the input is not an order.
func (one *agent) run(input *bufio.Reader) error {
	for {
		line, err := readLine(input)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		order, err := decodeOrder(line)
		if err != nil {
			return fmt.Errorf("reading an order: %w", err)
		}
		if order.Command.Listen != nil || order.Command.Respond != nil {
			one.answer(order)
		} else {
			go one.answer(order)
		}
	}
}

func readLine(input *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := input.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > mostOrderBytes {
			return nil, fmt.Errorf("an order of more than %d bytes", mostOrderBytes)
		}
		if err != bufio.ErrBufferFull {
			if err == io.EOF && len(line) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return line, err
		}
	}
}

func (one *agent) answer(order order) {
	reply, err := one.execute(order.Command)
	if err != nil {
		reply = map[string]any{"failed": map[string]string{"kind": kindOf(err), "message": err.Error()}}
	}
	line, err := json.Marshal(report{order.Number, reply})
	if err != nil {
		exitOn(err)
	}
	one.mutex.Lock()
	defer one.mutex.Unlock()
	// If this fails, the sender of the order is gone, and the end of the input ends the agent.
	_, _ = one.output.Write(append(line, '\n'))
}

func (one *agent) execute(command command) (map[string]any, error) {
	if one.failure != nil {
		return nil, one.failure
	}
	host := one.host
	listening := func(port uint16, err error) (map[string]any, error) {
		return map[string]any{"listening": map[string]uint16{"port": port}}, err
	}
	switch {
	case command.Listen != nil:
		return listening(host.listen(command.Listen))
	case command.Respond != nil:
		return listening(host.respond(command.Respond))
	case command.ProbePathMTU != nil:
		mtu, err := host.probe(command.ProbePathMTU)
		return map[string]any{"path_mtu": mtu}, err
	case command.Inspect != nil:
		connection, err := host.inspect(&command.Inspect.Side, command.Inspect.Destination)
		return map[string]any{"inspected": connection}, err
	case command.Start != nil:
		record, err := host.run(command.Start)
		if err != nil {
			err = fmt.Errorf("flow %s to %s: %w", command.Start.Side.Flow.Name, command.Start.Destination, err)
		}
		return map[string]any{"finished": []any{record, []any{}}}, err
	}
	return nil, errors.New("the order has no command that this stack carries out")
}

// kindOf returns the kind of a failure (engine/scenario/src/failure.rs).
func kindOf(err error) string {
	var network net.Error
	switch {
	case errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES):
		return "no_privileges"
	case errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, errSilent):
		return "timed_out"
	case errors.As(err, &network) && network.Timeout():
		return "timed_out"
	case errors.Is(err, errRefused):
		return "refused"
	case errors.Is(err, errUnreachable):
		return "unreachable"
	}
	return "other"
}

var (
	errSilent      = errors.New("nothing came for too long")
	errRefused     = errors.New("connection refused")
	errUnreachable = errors.New("no route to the host")
)

// mostComplaints is the largest number of lines about the connections of a flow, which strangers can open, too.
const mostComplaints = 20

// complain writes what happened to a connection to the standard error. The sender reports a connection that fails.
func complain(side *side, err error) {
	switch count := atomic.AddInt64(&side.complaints, 1); {
	case count < mostComplaints:
		fmt.Fprintf(os.Stderr, "flow %q: %v\n", side.Flow.Name, err)
	case count == mostComplaints:
		fmt.Fprintf(os.Stderr, "flow %q: %v; further connections are not listed\n", side.Flow.Name, err)
	}
}

// began is the time of this process from which monotonic times of the package time count.
var began = time.Now()
