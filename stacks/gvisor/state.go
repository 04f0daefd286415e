package main

import (
	"reflect"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// A tcpState has the counters and settings of a connection, over its life.
type tcpState struct {
	// isOpen is false before the connection has a sender; nothing else is known then.
	isOpen                 bool
	timestamps, sack       bool
	mssBytes               uint32
	sendScale, windowScale uint8
	peerWindowBytes        uint32
	unacknowledged         uint32
	cwndPkts               uint32
	srtt, minRTT           time.Duration
	retransmissionsPkts    uint64
}

// stateOf reads the state of a connection. netstack's socket option TCPInfoOption has the window and the round-trip time
// alone. What it leaves out is in fields that are not exported, and is read by reflection while the endpoint is locked;
// TestStateOfAConnection fails if another version of netstack has other fields.
func stateOf(endpoint tcpip.Endpoint) tcpState {
	own, isTCP := endpoint.(*tcp.Endpoint)
	if !isTCP {
		return tcpState{}
	}
	state := tcpState{}
	if counts, ok := own.Stats().(*tcp.Stats); ok {
		state.retransmissionsPkts = counts.SendErrors.Retransmits.Value()
	}
	var info tcpip.TCPInfoOption
	if own.GetSockOpt(&info) == nil {
		state.srtt, state.cwndPkts = info.RTT, info.SndCwnd
	}
	own.LockUser()
	defer own.UnlockUser()
	all := reflect.ValueOf(own).Elem()
	sender, receiver := all.FieldByName("snd"), all.FieldByName("rcv")
	if sender.IsNil() || receiver.IsNil() {
		return state
	}
	sender, receiver = sender.Elem(), receiver.Elem()
	state.isOpen = true
	state.timestamps, state.sack = own.SendTSOk, own.SACKPermitted
	state.mssBytes = uint32(sender.FieldByName("MaxPayloadSize").Int())
	state.sendScale = uint8(sender.FieldByName("SndWndScale").Uint())
	state.windowScale = uint8(receiver.FieldByName("RcvWndScale").Uint())
	state.peerWindowBytes = uint32(sender.FieldByName("SndWnd").Uint())
	state.unacknowledged = uint32(sender.FieldByName("SndUna").Uint())
	state.minRTT = time.Duration(sender.FieldByName("rc").FieldByName("minRTT").Int())
	return state
}

// options returns the options in force that records name, in their order. A window scale of zero in both directions is
// what a connection without window scaling has.
func (one tcpState) options() []string {
	names := []string{}
	for _, option := range []struct {
		name string
		isOn bool
	}{{"timestamps", one.timestamps}, {"sack", one.sack}, {"window_scaling", one.sendScale > 0 || one.windowScale > 0}} {
		if option.isOn {
			names = append(names, option.name)
		}
	}
	return names
}

func congestionControlOf(endpoint tcpip.Endpoint) string {
	var control tcpip.CongestionControlOption
	if endpoint.GetSockOpt(&control) != nil {
		return ""
	}
	return string(control)
}

// roomOf returns the sizes of a connection's buffers. The receive buffer bounds the window.
func roomOf(endpoint tcpip.Endpoint) room {
	options := endpoint.SocketOptions()
	send, receive := uint64(options.GetSendBufferSize()), uint64(options.GetReceiveBufferSize())
	buffers := room{SendBufferBytes: &send, ReceiveBufferBytes: &receive}
	if state := stateOf(endpoint); state.isOpen {
		buffers.WindowScale = &state.windowScale
	}
	return buffers
}

// microseconds returns a time as records have it; nil if there is none.
func microseconds(one time.Duration) *uint32 {
	if one <= 0 {
		return nil
	}
	whole := uint32(min(one.Microseconds(), int64(^uint32(0))))
	return &whole
}
