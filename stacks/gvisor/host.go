package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/link/fdbased"
	"gvisor.dev/gvisor/pkg/tcpip/network/arp"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
	"gvisor.dev/gvisor/pkg/tcpip/stack"
	"gvisor.dev/gvisor/pkg/tcpip/transport/icmp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
	"gvisor.dev/gvisor/pkg/tcpip/transport/udp"
)

// socketBufferBytes is the size of the buffers of packet sockets. The queue of the interface, and not the socket, limits
// the frames that wait.
const socketBufferBytes = 64 << 20

// A hostOrder describes a host (engine/lab/src/host_order.rs).
type hostOrder struct {
	Interfaces []interfaceOrder `json:"interfaces"`
	Neighbours []neighbour      `json:"neighbours"`
	Routes     []route          `json:"routes"`
	Stack      stackOrder       `json:"stack"`
}

type interfaceOrder struct {
	Name      string         `json:"name"`
	MTU       uint32         `json:"mtu_bytes"`
	Addresses []netip.Prefix `json:"addresses"`
}

type neighbour struct {
	Interface string     `json:"interface"`
	Address   netip.Addr `json:"address"`
	Ethernet  []int      `json:"ethernet"`
}

type route struct {
	Destination netip.Prefix `json:"destination"`
	Gateway     *netip.Addr  `json:"gateway"`
	Interface   string       `json:"interface"`
}

type buffer struct {
	Minimum size `json:"minimum"`
	Initial size `json:"initial"`
	Maximum size `json:"maximum"`
}

// A stackOrder has the settings that this stack follows; the engine refuses the others.
type stackOrder struct {
	CongestionControl string `json:"congestion_control"`
	SACK              bool   `json:"sack"`
	ReceiveBuffer     buffer `json:"receive_buffer"`
	SendBuffer        buffer `json:"send_buffer"`
}

// A host is a stack with its interfaces.
type host struct {
	stack *stack.Stack
	order hostOrder
}

func readHost(document string) (hostOrder, error) {
	var order hostOrder
	if err := json.Unmarshal([]byte(document), &order); err != nil {
		return order, fmt.Errorf("reading the host's order: %w", err)
	}
	return order, nil
}

// newStack returns a stack without interfaces that has the order's TCP settings.
func newStack(order stackOrder) (*stack.Stack, error) {
	one := stack.New(stack.Options{
		NetworkProtocols: []stack.NetworkProtocolFactory{ipv4.NewProtocol, ipv6.NewProtocol, arp.NewProtocol},
		TransportProtocols: []stack.TransportProtocolFactory{
			tcp.NewProtocol, udp.NewProtocol, icmp.NewProtocol4, icmp.NewProtocol6,
		},
	})
	control := tcpip.CongestionControlOption(order.CongestionControl)
	sack := tcpip.TCPSACKEnabled(order.SACK)
	receive := tcpip.TCPReceiveBufferSizeRangeOption{
		Min: int(order.ReceiveBuffer.Minimum), Default: int(order.ReceiveBuffer.Initial), Max: int(order.ReceiveBuffer.Maximum),
	}
	send := tcpip.TCPSendBufferSizeRangeOption{
		Min: int(order.SendBuffer.Minimum), Default: int(order.SendBuffer.Initial), Max: int(order.SendBuffer.Maximum),
	}
	moderate := tcpip.TCPModerateReceiveBufferOption(true)
	for _, option := range []tcpip.SettableTransportProtocolOption{&control, &sack, &receive, &send, &moderate} {
		if err := one.SetTransportProtocolOption(tcp.ProtocolNumber, option); err != nil {
			return nil, fmt.Errorf("setting %T to %v: %s", option, option, err)
		}
	}
	return one, nil
}

// startHost brings up a stack on the interfaces of the order, which are in this process's namespace.
func startHost(document string) (*host, error) {
	order, err := readHost(document)
	if err != nil {
		return nil, err
	}
	made, err := newStack(order.Stack)
	if err != nil {
		return nil, err
	}
	numbers := map[string]tcpip.NICID{}
	for place, own := range order.Interfaces {
		number := tcpip.NICID(place + 1)
		numbers[own.Name] = number
		if err := attach(made, number, own); err != nil {
			return nil, fmt.Errorf("bringing up %s: %w", own.Name, err)
		}
	}
	for _, one := range order.Neighbours {
		ethernet := make([]byte, len(one.Ethernet))
		for place, part := range one.Ethernet {
			ethernet[place] = byte(part)
		}
		number := numbers[one.Interface]
		err := made.AddStaticNeighbor(number, protocolOf(one.Address), addressOf(one.Address), tcpip.LinkAddress(ethernet))
		if err != nil {
			return nil, fmt.Errorf("adding the neighbour %s: %s", one.Address, err)
		}
	}
	made.SetRouteTable(routeTable(order, numbers))
	return &host{stack: made, order: order}, nil
}

// attach adds an interface to a stack, with a packet socket on it.
func attach(made *stack.Stack, number tcpip.NICID, own interfaceOrder) error {
	device, err := net.InterfaceByName(own.Name)
	if err != nil {
		return err
	}
	socket, err := packetSocket(device.Index)
	if err != nil {
		return err
	}
	// No checksum is trusted or left out: the lab's interfaces neither compute nor verify any.
	link, err := fdbased.New(&fdbased.Options{
		FDs: []int{socket}, MTU: own.MTU, EthernetHeader: true,
		Address: tcpip.LinkAddress(device.HardwareAddr), PacketDispatchMode: fdbased.RecvMMsg,
	})
	if err != nil {
		return err
	}
	if err := made.CreateNIC(number, link); err != nil {
		return fmt.Errorf("adding the interface to the stack: %s", err)
	}
	for _, prefix := range own.Addresses {
		address := tcpip.ProtocolAddress{
			Protocol:          protocolOf(prefix.Addr()),
			AddressWithPrefix: tcpip.AddressWithPrefix{Address: addressOf(prefix.Addr()), PrefixLen: prefix.Bits()},
		}
		if err := made.AddProtocolAddress(number, address, stack.AddressProperties{}); err != nil {
			return fmt.Errorf("adding the address %s: %s", prefix, err)
		}
	}
	return nil
}

// packetSocket returns a packet socket (packet(7)) that has the frames which arrive at an interface.
func packetSocket(index int) (int, error) {
	everything := uint16(unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8)
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("opening a packet socket: %w", err)
	}
	if err := unix.SetsockoptInt(socket, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		return 0, fmt.Errorf("ignoring frames that leave: %w", err)
	}
	for _, option := range []struct{ forced, allowed int }{
		{unix.SO_RCVBUFFORCE, unix.SO_RCVBUF}, {unix.SO_SNDBUFFORCE, unix.SO_SNDBUF},
	} {
		// Without privileges on the machine, the size is as large as the system allows.
		if unix.SetsockoptInt(socket, unix.SOL_SOCKET, option.forced, socketBufferBytes) != nil {
			if err := unix.SetsockoptInt(socket, unix.SOL_SOCKET, option.allowed, socketBufferBytes); err != nil {
				return 0, fmt.Errorf("sizing the buffers of a packet socket: %w", err)
			}
		}
	}
	if err := unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: everything, Ifindex: index}); err != nil {
		return 0, fmt.Errorf("binding a packet socket: %w", err)
	}
	return socket, nil
}

// routeTable returns the routes of a host: those of its own networks, and the order's.
func routeTable(order hostOrder, numbers map[string]tcpip.NICID) []tcpip.Route {
	var table []tcpip.Route
	for _, own := range order.Interfaces {
		for _, prefix := range own.Addresses {
			table = append(table, tcpip.Route{Destination: subnetOf(prefix), NIC: numbers[own.Name]})
		}
	}
	for _, one := range order.Routes {
		entry := tcpip.Route{Destination: subnetOf(one.Destination), NIC: numbers[one.Interface]}
		if one.Gateway != nil {
			entry.Gateway = addressOf(*one.Gateway)
		}
		table = append(table, entry)
	}
	// The first entry that leads to a destination is taken, so narrower networks come first.
	sortByLength(table)
	return table
}
