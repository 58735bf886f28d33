package identity

import (
	"cmp"
	"slices"

	"pws/internal/id"
)

// ItemStatus says what an agent did with an item of its inbox.
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

// Place is where an item stands in the order of all that happens: the log entry of its event, and
// its number there. The zero place is before everything.
type Place struct {
	Entry uint64 `cbor:"1,keyasint,omitempty"`
	Nth   uint16 `cbor:"2,keyasint,omitempty"`
}

// Compare orders places, the earlier one first.
func (p Place) Compare(other Place) int {
	return cmp.Or(cmp.Compare(p.Entry, other.Entry), cmp.Compare(p.Nth, other.Nth))
}

// Mark is what an agent did with an item, or with all items up to one.
type Mark struct {
	Place  Place
	Status ItemStatus
	// ReadAt is when it stopped being unread, in Unix milliseconds; 0 while it is unread.
	ReadAt int64
}

// as is a mark with another status from now on.
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

// Marks is what an agent did with the items of its inbox. It knows places only, and not what stands
// there. It never changes.
type Marks struct {
	// steps are in order: what lies between two of them is as the later one says, and what lies behind
	// the last one is unread.
	steps []Mark
	// singles are those of items that are not as the steps say, in order.
	singles []Mark
}

// noMarks are those of an agent that has made none.
var noMarks = new(Marks)

// At is what the agent did with the item at a place.
func (m *Marks) At(place Place) Mark {
	if at, ok := slices.BinarySearchFunc(m.singles, place, markAt); ok {
		return m.singles[at]
	}
	return m.step(place)
}

// step is what the steps say of a place.
func (m *Marks) step(place Place) Mark {
	if at, _ := slices.BinarySearchFunc(m.steps, place, markAt); at < len(m.steps) {
		step := m.steps[at]
		step.Place = place
		return step
	}
	return Mark{Place: place}
}

// Singles are the places that are marked one by one.
func (m *Marks) Singles() []Place {
	places := make([]Place, len(m.singles))
	for at := range m.singles {
		places[at] = m.singles[at].Place
	}
	return places
}

// Marks are those of the agent.
func (a *Agent) Marks() *Marks {
	if a.marks == nil {
		return noMarks
	}
	return a.marks
}

// set gives the item at a place a mark of its own, where the steps do not say the same.
func (m *Marks) set(mark Mark) {
	at, known := slices.BinarySearchFunc(m.singles, mark.Place, markAt)
	switch redundant := m.step(mark.Place).same(mark); {
	case known && redundant:
		m.singles = slices.Delete(m.singles, at, at+1)
	case known:
		m.singles[at] = mark
	case !redundant:
		m.singles = slices.Insert(m.singles, at, mark)
	}
}

// setThrough gives a status to all that is not archived up to a place, but for those that are
// spared.
func (m *Marks) setThrough(through Place, status ItemStatus, now int64, spared []Place) {
	kept := make([]Mark, len(spared))
	for at, place := range spared {
		kept[at] = m.At(place)
	}
	last, ends := slices.BinarySearchFunc(m.steps, through, markAt)
	if !ends {
		m.steps = slices.Insert(m.steps, last, m.step(through))
	}
	for at := range m.steps[:last+1] {
		if m.steps[at].Status != ItemArchived {
			m.steps[at] = m.steps[at].as(status, now)
		}
	}
	for at := range m.singles {
		one := &m.singles[at]
		if one.Place.Compare(through) <= 0 && one.Status != ItemArchived {
			*one = one.as(status, now)
		}
	}
	for _, mark := range kept {
		m.set(mark)
	}
	m.singles = slices.DeleteFunc(m.singles, func(one Mark) bool {
		return m.step(one.Place).same(one)
	})
	m.joinSteps()
}

// joinSteps takes out the steps that say nothing, and the oldest beyond the limit. What was
// archived comes first, so that beyond two there are neighbours of one status: the older one takes
// the time of the newer, and nothing else changes.
func (m *Marks) joinSteps() {
	joined := m.steps[:0]
	for at, step := range m.steps {
		last := at+1 == len(m.steps)
		if last && step.Status != ItemUnread || !last && !step.same(m.steps[at+1]) {
			joined = append(joined, step)
		}
	}
	m.steps = joined
	for len(m.steps) > MarkStepsMax {
		at := 0
		for at+2 < len(m.steps) && m.steps[at].Status != m.steps[at+1].Status {
			at++
		}
		m.steps = slices.Delete(m.steps, at, at+1)
	}
}

// with are the marks after an event.
func (m *Marks) with(e *InboxMarked, now int64) *Marks {
	next := &Marks{steps: slices.Clone(m.steps), singles: slices.Clone(m.singles)}
	for _, place := range e.Gone {
		if at, ok := slices.BinarySearchFunc(next.singles, place, markAt); ok {
			next.singles = slices.Delete(next.singles, at, at+1)
		}
	}
	for _, place := range e.Items {
		next.set(next.At(place).as(e.Status, now))
	}
	if e.Through != (Place{}) {
		next.setThrough(e.Through, e.Status, now, e.Spared)
	}
	if over := len(next.singles) - MarksMax; over > 0 {
		next.singles = slices.Delete(next.singles, 0, over)
	}
	if len(next.steps) == 0 && len(next.singles) == 0 {
		return nil
	}
	return next
}

// MarkInbox says what the caller did with items of its inbox. The result is *InboxMarking.
type MarkInbox struct {
	Caller Caller
	Status ItemStatus
	// Items are items that the caller has, each once.
	Items []Place
	// Through says, where it is not zero, that all items up to it are meant but those that are
	// archived; Items are then all that the caller sees.
	Through Place
	// Spared are items up to Through that the caller does not see now, and that stay as they are.
	Spared []Place
	// Gone are places that were marked one by one and have no item any more.
	Gone []Place
}

// InboxMarking is the result of MarkInbox: how many items have another status now.
type InboxMarking struct{ Changed int }

func (*InboxMarking) result() {}

// Decide implements Command. SESSION_INVALID, SESSION_EXPIRED. What changes nothing has no event.
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

// InboxMarked notes what an agent did with items of its inbox, or with all of them up to a place.
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

// storedMarks is the part of an agent's section that holds its marks.
type storedMarks struct {
	Steps   []storedMark `cbor:"1,keyasint,omitempty"`
	Singles []storedMark `cbor:"2,keyasint,omitempty"`
}

type storedMark struct {
	Place  Place      `cbor:"1,keyasint,omitzero"`
	Status ItemStatus `cbor:"2,keyasint,omitempty"`
	ReadAt int64      `cbor:"3,keyasint,omitempty"`
}

func (m *Marks) stored() *storedMarks {
	if m == nil {
		return nil
	}
	return &storedMarks{Steps: storedMarksOf(m.steps), Singles: storedMarksOf(m.singles)}
}

func (m *storedMarks) marks() *Marks {
	if m == nil {
		return nil
	}
	return &Marks{steps: marksOf(m.Steps), singles: marksOf(m.Singles)}
}

func storedMarksOf(marks []Mark) (stored []storedMark) {
	for _, mark := range marks {
		stored = append(stored, storedMark(mark))
	}
	return stored
}

func marksOf(stored []storedMark) (marks []Mark) {
	for _, mark := range stored {
		marks = append(marks, Mark(mark))
	}
	return marks
}

// sound reports whether saved marks are such as an agent can have come to hold.
func (m *Marks) sound() bool {
	if m == nil {
		return true
	}
	return len(m.steps)+len(m.singles) > 0 && len(m.steps) <= MarkStepsMax &&
		len(m.singles) <= MarksMax && soundMarks(m.steps) && soundMarks(m.singles)
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
