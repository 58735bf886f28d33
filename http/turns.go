package http

import (
	"container/list"

	"pws/internal/id"
)

// turns are requests that wait. They are served by network in turn, within a network by caller in
// turn, and within a caller the newest first: what its connection needs is still in the caches of
// the processor, so more of them are served. Once the oldest one has waited for a tick, the oldest
// are served first, so none waits much longer than that. The zero value has none.
type turns struct {
	// networks are in the order of their turns.
	networks list.List
	byID     map[id.ID]*list.Element
	requests int
}

// networkTurns are the callers of one network in the order of their turns.
type networkTurns struct {
	id      id.ID
	callers list.List
	byID    map[callerID]*list.Element
}

// callerTurns are the requests of one caller.
type callerTurns struct {
	id       callerID
	requests list.List
}

// add puts a request behind those of its caller.
func (t *turns) add(p *permit) {
	if t.byID == nil {
		t.byID = map[id.ID]*list.Element{}
	}
	at := t.byID[p.who.network]
	if at == nil {
		at = t.networks.PushBack(&networkTurns{
			id: p.who.network, byID: map[callerID]*list.Element{},
		})
		t.byID[p.who.network] = at
	}
	network := networkOf(at)
	caller := p.who.caller()
	of := network.byID[caller]
	if of == nil {
		of = network.callers.PushBack(&callerTurns{id: caller})
		network.byID[caller] = of
	}
	p.waitsIn, p.at = t, callerOf(of).requests.PushBack(p)
	t.requests++
}

// next takes out the request whose turn it is, at a time in ticks; nil if none waits.
func (t *turns) next(now uint64) *permit {
	if t.requests == 0 {
		return nil
	}
	at := t.networks.Front()
	network := networkOf(at)
	of := network.callers.Front()
	p := permitOf(callerOf(of).requests.Front())
	if p.since == now {
		p = permitOf(callerOf(of).requests.Back())
	}
	t.networks.MoveToBack(at)
	network.callers.MoveToBack(of)
	t.remove(p)
	return p
}

// these appends the requests of a kind that wait here.
func (t *turns) these(found []*permit, kind func(*permit) bool) []*permit {
	for at := t.networks.Front(); at != nil; at = at.Next() {
		for of := networkOf(at).callers.Front(); of != nil; of = of.Next() {
			requests := &callerOf(of).requests
			for one := requests.Front(); one != nil; one = one.Next() {
				if p := permitOf(one); kind(p) {
					found = append(found, p)
				}
			}
		}
	}
	return found
}

// remove takes out a request that waits here.
func (t *turns) remove(p *permit) {
	at := t.byID[p.who.network]
	network := networkOf(at)
	of := network.byID[p.who.caller()]
	caller := callerOf(of)
	caller.requests.Remove(p.at)
	if caller.requests.Len() == 0 {
		network.callers.Remove(of)
		delete(network.byID, caller.id)
	}
	if network.callers.Len() == 0 {
		t.networks.Remove(at)
		delete(t.byID, network.id)
	}
	p.waitsIn, p.at = nil, nil
	t.requests--
}

func networkOf(at *list.Element) *networkTurns {
	n, ok := at.Value.(*networkTurns)
	if !ok {
		panic("http: a foreign value in turns")
	}
	return n
}

func callerOf(at *list.Element) *callerTurns {
	c, ok := at.Value.(*callerTurns)
	if !ok {
		panic("http: a foreign value in turns")
	}
	return c
}

func permitOf(at *list.Element) *permit {
	p, ok := at.Value.(*permit)
	if !ok {
		panic("http: a foreign value in turns")
	}
	return p
}
