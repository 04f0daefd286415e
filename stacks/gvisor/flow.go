package main

import (
	"fmt"
	"time"
)

// run runs a flow on its sender's side to its end, and returns its record.
func (one *host) run(order *start) (*flowRecord, error) {
	origin, side := time.Now(), &order.Side
	time.Sleep(side.Flow.Start.duration())
	sampler := startSampler(origin, max(time.Duration(order.SampleNs), time.Millisecond))
	var found *figures
	var err error
	isUDP := side.Flow.Transport == "udp"
	switch kind := side.Flow.Traffic.Kind; {
	case kind == "transfer" && !isUDP:
		found, err = one.transfer(side, order.Destination, sampler)
	case kind == "request_response" && isUDP:
		found, err = one.requestDatagrams(side, order.Destination, sampler)
	case kind == "request_response":
		found, err = one.request(side, order.Destination, sampler)
	case kind == "packets" && isUDP:
		found, err = one.sendDatagrams(side, order.Destination, sampler)
	case kind == "packets":
		found, err = one.sendMessages(side, order.Destination, sampler)
	case kind == "sweep":
		found, err = one.sweep(side, order.Destination, sampler)
	default:
		err = fmt.Errorf("traffic of the kind %s is not carried over %s", kind, side.Flow.Transport)
	}
	if err != nil {
		sampler.finish()
		return nil, err
	}
	return found.finish(&side.Flow, sampler), nil
}
