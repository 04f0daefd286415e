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
	var figures *figures
	var err error
	isUDP := side.Flow.Transport == "udp"
	switch kind := side.Flow.Traffic.Kind; {
	case kind == "transfer" && !isUDP:
		figures, err = one.transfer(side, order.Destination, sampler)
	case kind == "request_response" && isUDP:
		figures, err = one.requestDatagrams(side, order.Destination, sampler)
	case kind == "request_response":
		figures, err = one.request(side, order.Destination, sampler)
	case kind == "packets" && isUDP:
		figures, err = one.sendDatagrams(side, order.Destination, sampler)
	case kind == "packets":
		figures, err = one.sendMessages(side, order.Destination, sampler)
	case kind == "sweep":
		figures, err = one.sweep(side, order.Destination, sampler)
	default:
		err = fmt.Errorf("traffic of the kind %s is not carried over %s", kind, side.Flow.Transport)
	}
	if err != nil {
		sampler.finish()
		return nil, err
	}
	return figures.finish(&side.Flow, sampler), nil
}
