package main

import (
	"net/netip"
	"slices"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv4"
	"gvisor.dev/gvisor/pkg/tcpip/network/ipv6"
)

func addressOf(address netip.Addr) tcpip.Address { return tcpip.AddrFromSlice(address.AsSlice()) }

func protocolOf(address netip.Addr) tcpip.NetworkProtocolNumber {
	if address.Is4() {
		return ipv4.ProtocolNumber
	}
	return ipv6.ProtocolNumber
}

func fullOf(destination netip.AddrPort) tcpip.FullAddress {
	return tcpip.FullAddress{Addr: addressOf(destination.Addr()), Port: destination.Port()}
}

func subnetOf(prefix netip.Prefix) tcpip.Subnet {
	address := addressOf(prefix.Masked().Addr())
	return tcpip.AddressWithPrefix{Address: address, PrefixLen: prefix.Bits()}.Subnet()
}

func sortByLength(table []tcpip.Route) {
	slices.SortStableFunc(table, func(left, right tcpip.Route) int {
		return right.Destination.Prefix() - left.Destination.Prefix()
	})
}
