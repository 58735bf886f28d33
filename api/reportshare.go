package api

import (
	"hash/maphash"
	"slices"
	"sync"

	"pws/identity"
	"pws/internal/id"
)

// reportShares counts the anonymous reports that wait for an operator by the network of who made
// them, so that one network does not take the room of all others. A report has no address, so this
// is in memory only, and starts over with the process. A network is kept as a hash with a key that
// only this process has.
type reportShares struct {
	seed maphash.Seed
	mu   struct {
		sync.Mutex
		networks map[uint64]*networkReports
		// made is the number of reports of all networks, handled ones among them.
		made int
	}
}

// networkReports are the reports of one network; asked counts those that are not decided yet.
type networkReports struct {
	made  []id.ID
	asked int
}

// reportsCounted is how many reports are remembered BEFORE handled ones are dropped.
const reportsCounted = 2 * identity.ReportsAnonymousMax

func newReportShares() *reportShares {
	r := &reportShares{seed: maphash.MakeSeed()}
	r.mu.networks = map[uint64]*networkReports{}
	return r
}

// begin counts a report of a network that is about to be made; end has to follow, AFTER the state
// has the report. Errors: QUOTA_EXCEEDED.
func (r *reportShares) begin(
	network id.ID, newest func() *identity.State,
) (end func(made id.ID), err error) {
	key := maphash.Comparable(r.seed, network)
	r.mu.Lock()
	defer r.mu.Unlock()
	state := newest()
	if r.mu.made >= reportsCounted {
		for key := range r.mu.networks {
			r.forget(key, state)
		}
	}
	share := state.ReportShare(true)
	if of := r.mu.networks[key]; of != nil && len(of.made)+of.asked >= share {
		r.forget(key, state)
	}
	of := r.mu.networks[key]
	if of == nil {
		of = new(networkReports)
	}
	// Without any room the rules say what is full.
	if share > 0 && len(of.made)+of.asked >= share {
		return nil, identity.ErrReportRoom("network_reports", share)
	}
	of.asked++
	r.mu.networks[key] = of
	return func(made id.ID) { r.end(key, made) }, nil
}

// end counts a report that was made; the zero ID is one that was refused.
func (r *reportShares) end(key uint64, made id.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.mu.networks[key]
	of.asked--
	if !made.IsZero() {
		of.made = append(of.made, made)
		r.mu.made++
	}
	r.drop(key, of)
}

// forget drops reports of a network that were handled. The lock is held.
func (r *reportShares) forget(key uint64, state *identity.State) {
	of := r.mu.networks[key]
	before := len(of.made)
	of.made = slices.DeleteFunc(of.made, func(one id.ID) bool { return !state.ReportWaits(one) })
	r.mu.made -= before - len(of.made)
	r.drop(key, of)
}

// drop forgets a network of which nothing is counted. The lock is held.
func (r *reportShares) drop(key uint64, of *networkReports) {
	if len(of.made)+of.asked == 0 {
		delete(r.mu.networks, key)
	}
}
