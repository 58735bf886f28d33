package identity

import (
	"cmp"
	"slices"

	"pws/internal/id"
)

// ItemStatus is the status that an agent gave to an item of its inbox.
type ItemStatus uint8

// The statuses of an item.
const (
	ItemUnread ItemStatus = iota
	ItemRead
	ItemArchived
)

var itemStatusNames = [...]string{"UNREAD", "READ", "ARCHIVED"}

// String is the name on the wire.
func (s ItemStatus) String() string { return itemStatusNames[s] }

// ParseItemStatus reads the name on the wire.
func ParseItemStatus(name string) (status ItemStatus, ok bool) {
	at := slices.Index(itemStatusNames[:], name)
	return ItemStatus(max(0, at)), at >= 0
}

// Place is the position of an item in the log: the entry of its event, and its number in the entry.
// The zero place is before everything.
type Place struct {
	Entry uint64 `cbor:"1,keyasint,omitempty"`
	Nth   uint16 `cbor:"2,keyasint,omitempty"`
}

// Compare orders places, the earlier one first.
func (p Place) Compare(other Place) int {
	return cmp.Or(cmp.Compare(p.Entry, other.Entry), cmp.Compare(p.Nth, other.Nth))
}

// Mark is the status of an item, or of all items up to a place.
type Mark struct {
	Place  Place      `cbor:"1,keyasint,omitzero"`
	Status ItemStatus `cbor:"2,keyasint,omitempty"`
	// ReadAt is when it stopped being unread, in Unix milliseconds; 0 while it is unread.
	ReadAt int64 `cbor:"3,keyasint,omitempty"`
}

// as returns a mark with another status from now on.
func (m Mark) as(status ItemStatus, now int64) Mark {
	switch {
	case status == ItemUnread:
		m.ReadAt = 0
	case m.ReadAt == 0:
		m.ReadAt = now
	}
	m.Status = status
	return m
}

func (m Mark) same(other Mark) bool { return m.Status == other.Status && m.ReadAt == other.ReadAt }

func markAt(m Mark, place Place) int { return m.Place.Compare(place) }

// Marks holds the status of the items in an agent's inbox. It contains places only, not the items.
// It is immutable.
type Marks struct {
	// Steps are in order: the places between two steps have the status of the later one, and those
	// after the last step are unread.
	Steps []Mark `cbor:"1,keyasint,omitempty"`
	// Items are the marks of single items that differ from the steps, in order.
	Items []Mark `cbor:"2,keyasint,omitempty"`
}

// noMarks is used for an agent without marks.
var noMarks = new(Marks)

// At returns the mark of the item at a place.
func (m *Marks) At(place Place) Mark {
	if at, ok := slices.BinarySearchFunc(m.Items, place, markAt); ok {
		return m.Items[at]
	}
	return m.step(place)
}

// step returns the mark of a place according to the steps.
func (m *Marks) step(place Place) Mark {
	if at, _ := slices.BinarySearchFunc(m.Steps, place, markAt); at < len(m.Steps) {
		step := m.Steps[at]
		step.Place = place
		return step
	}
	return Mark{Place: place}
}

// Singles returns the places that are marked one by one.
func (m *Marks) Singles() []Place {
	places := make([]Place, len(m.Items))
	for i := range m.Items {
		places[i] = m.Items[i].Place
	}
	return places
}

// Marks returns the marks of the agent.
func (a *Agent) Marks() *Marks {
	if a.marks == nil {
		return noMarks
	}
	return a.marks
}

// set marks the item at a place, unless the steps already give it that status.
func (m *Marks) set(mark Mark) {
	at, known := slices.BinarySearchFunc(m.Items, mark.Place, markAt)
	switch redundant := m.step(mark.Place).same(mark); {
	case known && redundant:
		m.Items = slices.Delete(m.Items, at, at+1)
	case known:
		m.Items[at] = mark
	case !redundant:
		m.Items = slices.Insert(m.Items, at, mark)
	}
}

// setThrough sets the status of all items up to a place, except archived and spared ones.
func (m *Marks) setThrough(through Place, status ItemStatus, now int64, spared []Place) {
	kept := make([]Mark, len(spared))
	for i, place := range spared {
		kept[i] = m.At(place)
	}
	last, ends := slices.BinarySearchFunc(m.Steps, through, markAt)
	if !ends {
		m.Steps = slices.Insert(m.Steps, last, m.step(through))
	}
	for i := range m.Steps[:last+1] {
		if m.Steps[i].Status != ItemArchived {
			m.Steps[i] = m.Steps[i].as(status, now)
		}
	}
	for i := range m.Items {
		one := &m.Items[i]
		if one.Place.Compare(through) <= 0 && one.Status != ItemArchived {
			*one = one.as(status, now)
		}
	}
	for _, mark := range kept {
		m.set(mark)
	}
	m.Items = slices.DeleteFunc(m.Items, func(one Mark) bool {
		return m.step(one.Place).same(one)
	})
	m.joinSteps()
}

// joinSteps removes redundant steps, and the oldest ones beyond the limit. Archived steps come
// first, so if there are more than two steps, some neighbors have the same status: the older one
// takes the time of the newer, and nothing else changes.
func (m *Marks) joinSteps() {
	joined := m.Steps[:0]
	for i, step := range m.Steps {
		last := i+1 == len(m.Steps)
		if last && step.Status != ItemUnread || !last && !step.same(m.Steps[i+1]) {
			joined = append(joined, step)
		}
	}
	m.Steps = joined
	for len(m.Steps) > MarkStepsMax {
		at := 0
		for at+2 < len(m.Steps) && m.Steps[at].Status != m.Steps[at+1].Status {
			at++
		}
		m.Steps = slices.Delete(m.Steps, at, at+1)
	}
}

// with returns the marks after an event.
func (m *Marks) with(e *InboxMarked, now int64) *Marks {
	next := &Marks{Steps: slices.Clone(m.Steps), Items: slices.Clone(m.Items)}
	for _, place := range e.Gone {
		if at, ok := slices.BinarySearchFunc(next.Items, place, markAt); ok {
			next.Items = slices.Delete(next.Items, at, at+1)
		}
	}
	for _, place := range e.Items {
		next.set(next.At(place).as(e.Status, now))
	}
	if e.Through != (Place{}) {
		next.setThrough(e.Through, e.Status, now, e.Spared)
	}
	if over := len(next.Items) - MarksMax; over > 0 {
		next.Items = slices.Delete(next.Items, 0, over)
	}
	if len(next.Steps) == 0 && len(next.Items) == 0 {
		return nil
	}
	return next
}

// MarkInbox changes the status of items in the caller's inbox. The result is *InboxMarking.
type MarkInbox struct {
	Caller Caller
	Status ItemStatus
	// Items are existing items of the caller, each once.
	Items []Place
	// Through, unless it is zero, selects all items up to it except archived ones; Items are
	// then all items that the caller sees.
	Through Place
	// Spared are items up to Through that the caller does not see now; they stay unchanged.
	Spared []Place
	// Gone are places that were marked one by one and have no item now.
	Gone []Place
}

// InboxMarking is the result of MarkInbox: the number of items whose status changed.
type InboxMarking struct{ Changed int }

func (*InboxMarking) result() {}

// Decide implements Command. SESSION_INVALID, SESSION_EXPIRED. There is no event if nothing
// changes.
func (c *MarkInbox) Decide(s *State, st Stamp) (Outcome, error) {
	agent, _, err := s.caller(c.Caller, st.Now)
	if err != nil {
		return Outcome{}, err
	}
	marks, all := agent.Marks(), c.Through != (Place{})
	var changed []Place
	for _, place := range c.Items {
		was := marks.At(place).Status
		if was != c.Status && (!all || was != ItemArchived) {
			changed = append(changed, place)
		}
	}
	out := Outcome{Result: &InboxMarking{Changed: len(changed)}}
	if len(changed) == 0 {
		return out, nil
	}
	marked := &InboxMarked{Agent: agent.ID, Status: c.Status, Gone: c.Gone}
	if all {
		marked.Through, marked.Spared = c.Through, c.Spared
	} else {
		marked.Items = changed
	}
	out.Events = []Event{marked}
	return out, nil
}

// InboxMarked is the event of a new status for items of an inbox, or for all of them up to a place.
type InboxMarked struct {
	Agent   id.ID      `cbor:"1,keyasint,omitzero"`
	Status  ItemStatus `cbor:"2,keyasint,omitempty"`
	Items   []Place    `cbor:"3,keyasint,omitempty"`
	Through Place      `cbor:"4,keyasint,omitzero"`
	Spared  []Place    `cbor:"5,keyasint,omitempty"`
	Gone    []Place    `cbor:"6,keyasint,omitempty"`
}

// Kind implements Event.
func (*InboxMarked) Kind() Kind { return KindInboxMarked }

func (e *InboxMarked) touched() (id.ID, bool) { return e.Agent, false }

func (e *InboxMarked) apply(s *State, now int64) {
	agent := *s.mustAgent(e.Agent)
	agent.marks = agent.Marks().with(e, now)
	s.putAgent(&agent)
}

// sound reports whether saved marks are valid.
func (m *Marks) sound() bool {
	if m == nil {
		return true
	}
	return len(m.Steps)+len(m.Items) > 0 && len(m.Steps) <= MarkStepsMax &&
		len(m.Items) <= MarksMax && soundMarks(m.Steps) && soundMarks(m.Items)
}

func soundMarks(marks []Mark) bool {
	last := Place{}
	for _, mark := range marks {
		if mark.Place.Compare(last) <= 0 || mark.Status > ItemArchived ||
			(mark.Status == ItemUnread) != (mark.ReadAt == 0) {
			return false
		}
		last = mark.Place
	}
	return true
}
