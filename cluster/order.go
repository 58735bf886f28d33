package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"pws/journal"
	"pws/journal/replica"
)

// Order is a command of an operator for the group. Any member takes it; the leader carries it out.
type Order struct {
	Kind   OrderKind `json:"kind"`
	Number uint64    `json:"number"`
	// Address is that of a member that is added.
	Address string `json:"address,omitempty"`
}

// OrderKind says what an Order does.
type OrderKind string

// The kinds of orders.
const (
	// OrderAdd adds a member, which votes when it has caught up.
	OrderAdd OrderKind = "add"
	// OrderRemove removes a member for ever.
	OrderRemove OrderKind = "remove"
	// OrderTransfer has a member lead; 0 is any.
	OrderTransfer OrderKind = "transfer"
)

// ErrNoLeader: no member is known that leads.
var ErrNoLeader = errors.New("cluster: no member leads now")

// Order has the leader carry out an order, and returns AFTER that. It waits for a leader until the
// context ends. Errors: ErrNoLeader; those of replica.Journal, as their texts where another member
// leads.
func (m *Membership) Order(ctx context.Context, o Order) error {
	return repeat(ctx, func() error { return m.order(ctx, o) }, ErrNoLeader, journal.ErrNotLeading)
}

// orderEvery is how often an order is tried.
const orderEvery = 50 * time.Millisecond

// repeat tries something until it has none of some errors, or the context ends.
func repeat(ctx context.Context, try func() error, errs ...error) error {
	for {
		err := try()
		if !slices.ContainsFunc(errs, func(one error) bool { return errors.Is(err, one) }) {
			return err
		}
		if pause(ctx, orderEvery); ctx.Err() != nil {
			return err
		}
	}
}

// order is one attempt of Order.
func (m *Membership) order(ctx context.Context, o Order) error {
	if m.Leads() {
		return m.carryOut(ctx, o)
	}
	leader := m.Leader()
	if leader == 0 || leader == m.settings.Number {
		return ErrNoLeader
	}
	body, err := json.Marshal(o)
	if err != nil {
		return err
	}
	kind, _, err := m.network.call(ctx, leader, frameOrder, body)
	if err == nil && kind != frameDone {
		err = fmt.Errorf("%w: frame %d answers an order", errProtocol, kind)
	}
	return err
}

// noteTime bounds the sending of a note.
const noteTime = 5 * time.Second

// Note gives a note to the leader. One that does not arrive is lost.
func (m *Membership) Note(note []byte) {
	leader := m.Leader()
	if leader == 0 || leader == m.settings.Number {
		return
	}
	ctx, cancel := context.WithTimeout(m.network.alive, noteTime)
	defer cancel()
	if _, _, err := m.network.call(ctx, leader, frameNote, note); err != nil {
		m.settings.Log.Debug("a note has not reached the leader", "error", err)
	}
}

// carryOut carries out an order where this member leads. It waits for another change that is under
// way, until the context ends: a member that was added becomes a voter by a change of its own.
func (m *Membership) carryOut(ctx context.Context, o Order) error {
	return repeat(ctx, func() error { return m.attempt(ctx, o) }, replica.ErrChangePending)
}

// attempt is one attempt of carryOut.
func (m *Membership) attempt(ctx context.Context, o Order) error {
	switch o.Kind {
	case OrderAdd:
		if err := m.identity.permits(o.Address); err != nil {
			return err
		}
		return m.journal.Change(ctx, replica.Change{
			Kind: replica.AddLearner, Number: o.Number, Address: o.Address,
		})
	case OrderRemove:
		return m.journal.Change(ctx, replica.Change{Kind: replica.Remove, Number: o.Number})
	case OrderTransfer:
		return m.transfer(ctx, o.Number)
	}
	return fmt.Errorf("%w: an order %q", errProtocol, o.Kind)
}

// transfer has another member lead, where this one leads; 0 is any that can.
func (m *Membership) transfer(ctx context.Context, to uint64) error {
	if to == m.settings.Number {
		return fmt.Errorf("cluster: member %d leads already", to)
	}
	status := m.Status()
	heard := slices.DeleteFunc(slices.Clone(status.Members), func(one replica.Member) bool {
		return !status.Heard[one.Number] || to != 0 && one.Number != to
	})
	answers := m.ask(ctx, heard)
	switch {
	case to == 0:
		if to = successor(status.Member, answers); to == 0 {
			return errors.New("cluster: no other member could lead")
		}
	case len(answers) == 1 && answers[0].Status.Damaged > 0:
		return fmt.Errorf("cluster: data of member %d is damaged; it does not lead while others can", to)
	}
	return m.journal.Transfer(ctx, to)
}

// successor is the voter that shall lead in place of a member: of those that have answered and
// whose data is not known to be damaged, the one with the most entries, and rather one whose disk
// has room. It is 0 if there is none.
func successor(own uint64, all []Asked) (best uint64) {
	var found replica.Status
	for _, one := range all {
		switch {
		case one.Err != nil || !one.Voter || one.Number == own || one.Status.Damaged > 0:
		case best == 0 || found.Full && !one.Status.Full,
			found.Full == one.Status.Full && one.Status.Position > found.Position:
			best, found = one.Number, one.Status
		}
	}
	return best
}

// HandOver has another member lead, if this one leads. Errors: those of Order.
func (m *Membership) HandOver(ctx context.Context) error { return m.handOver(ctx, 0) }

// handOver is HandOver to a member; 0 means any.
func (m *Membership) handOver(ctx context.Context, to uint64) error {
	err := m.carryOut(ctx, Order{Kind: OrderTransfer, Number: to})
	if errors.Is(err, journal.ErrNotLeading) {
		return nil
	}
	return err
}
