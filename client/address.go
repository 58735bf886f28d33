package client

import (
	"slices"
	"strings"
	"sync/atomic"
)

// addressSeparator stands between the addresses of a server.
const addressSeparator = ","

// Addresses are the base URLs in the name of a server, in order, each once. There is always one.
func Addresses(server string) []string {
	var all []string
	for one := range strings.SplitSeq(server, addressSeparator) {
		one = strings.TrimRight(strings.TrimSpace(one), "/")
		if one != "" && !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	if len(all) == 0 {
		all = []string{""}
	}
	return all
}

// JoinAddresses is the name of a server with these addresses.
func JoinAddresses(all []string) string { return strings.Join(all, addressSeparator) }

// SameService reports whether two names of servers have an address in common: then they are one
// service, in whatever order their addresses stand.
func SameService(one, other string) bool {
	others := Addresses(other)
	return slices.ContainsFunc(Addresses(one), func(address string) bool {
		return slices.Contains(others, address)
	})
}

// addresses are where the requests of one service go. Several clients may share them.
type addresses struct {
	all []string
	// current is the index of the one that answered last.
	current atomic.Int32
}

func newAddresses(server string) *addresses { return &addresses{all: Addresses(server)} }

// several reports whether there is another address to go to.
func (a *addresses) several() bool { return len(a.all) > 1 }

// answered notes that a server has answered at an address.
func (a *addresses) answered(at int) { a.current.Store(int32(at)) }

// left notes that the next requests should not begin at an address. Several requests that fail
// there at one time leave it once.
func (a *addresses) left(at int) {
	a.current.CompareAndSwap(int32(at), int32((at+1)%len(a.all)))
}
