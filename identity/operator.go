package identity

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"pws/internal/fault"
	"pws/internal/id"
)

// Action is what an operator did.
type Action uint8

// The actions; the numbers are stored in events and never reused.
const (
	ActionSuspend Action = iota + 1
	ActionRestore
	ActionRegistration
	ActionInvite
	ActionReportHandled
	ActionHide
	ActionShow
	ActionRemove
	ActionPurge
	ActionQuota
)

var actionNames = [...]string{
	"", "SUSPEND", "RESTORE", "REGISTRATION", "INVITE", "REPORT_HANDLED", "HIDE", "SHOW", "REMOVE",
	"PURGE", "QUOTA",
}

// String is the name for operators.
func (a Action) String() string { return actionNames[a] }

func (a Action) known() bool { return a > 0 && int(a) < len(actionNames) }

// Done is an action of an operator, as the log of actions keeps it.
type Done struct {
	Action Action `cbor:"1,keyasint"`
	// Subject is what the action is about: an ID, a hash, a mode.
	Subject string `cbor:"2,keyasint,omitempty"`
	Reason  string `cbor:"3,keyasint,omitempty"`
	// At is Unix milliseconds.
	At int64 `cbor:"4,keyasint"`
}

// operator is what operators have set, and what they did. It is immutable.
type operator struct {
	mode    RegistrationMode
	invites []Invite // the first to expire first
	done    []Done   // the oldest first, at most ActionsMax
	purged  []Purged // by hash
	limits  []Limit  // by subject
	drops   []Drop   // the oldest first
}

// ActionDone is the result of the commands of operators.
type ActionDone struct {
	// Agent is the agent as it was, nil where the action is about none.
	Agent *Agent
	// Code is the code of a new invite; it is not stored.
	Code string
	// ExpiresAt is when the invite expires, in Unix milliseconds.
	ExpiresAt int64
	// Changed is false where everything was so already.
	Changed bool
}

func (*ActionDone) result() {}

// Actions returns what operators did, the oldest first, at most ActionsMax. The slice must not be
// modified.
func (s *State) Actions() []Done { return s.operator.done }

// checkReason checks the text that explains an action: VALIDATION_FAILED.
func checkReason(reason string) error {
	problem := ""
	switch {
	case !utf8.ValidString(reason):
		problem = "must be valid UTF-8"
	case utf8.RuneCountInString(reason) > ActionReasonMax:
		problem = fmt.Sprintf("must have at most %d characters", ActionReasonMax)
	default:
		return nil
	}
	return fault.Invalid(fault.Field{Field: "reason", Problem: problem})
}

// CheckReason checks the reason of an action that has to have one: VALIDATION_FAILED.
func CheckReason(reason string) error {
	if strings.TrimSpace(reason) == "" {
		return fault.Invalid(fault.Field{Field: "reason", Problem: "must be given"})
	}
	return checkReason(reason)
}

// NoteAction enters an action of an operator into the log of actions. The result is *ActionDone.
type NoteAction struct {
	Action  Action
	Subject string
	Reason  string
}

// Decide implements Command. VALIDATION_FAILED.
func (c *NoteAction) Decide(*State, Stamp) (Outcome, error) {
	if err := checkReason(c.Reason); err != nil {
		return Outcome{}, err
	}
	noted := &ActionNoted{Action: c.Action, Subject: c.Subject, Reason: c.Reason}
	return Outcome{Events: []Event{noted}, Result: &ActionDone{Changed: true}}, nil
}

// ActionNoted enters an action into the log of actions. It is the last event of its entry.
type ActionNoted struct {
	Action  Action `cbor:"1,keyasint,omitempty"`
	Subject string `cbor:"2,keyasint,omitempty"`
	Reason  string `cbor:"3,keyasint,omitempty"`
}

// Kind implements Event.
func (*ActionNoted) Kind() Kind { return KindActionNoted }

func (*ActionNoted) touched() (id.ID, bool) { return id.ID{}, false }

func (*ActionNoted) touchesOperator() {}

func (e *ActionNoted) apply(s *State, now int64) {
	if !e.Action.known() {
		panic(fmt.Sprintf("identity: action %d", e.Action))
	}
	s.changeOperator(func(next *operator) {
		over := max(0, len(next.done)+1-ActionsMax)
		next.done = append(slices.Clone(next.done[over:]), Done{
			Action: e.Action, Subject: e.Subject, Reason: e.Reason, At: now,
		})
	})
}

// changeOperator replaces what operators have set by a changed copy.
func (s *State) changeOperator(change func(next *operator)) {
	next := *s.operator
	change(&next)
	s.operator = &next
}

// TouchesOperator reports whether an event changes the snapshot section of the operators.
func TouchesOperator(ev Event) bool {
	_, touches := ev.(interface{ touchesOperator() })
	return touches
}

// operatorSection is the saved form of what operators have set and did.
type operatorSection struct {
	Version uint8            `cbor:"1,keyasint"`
	Mode    RegistrationMode `cbor:"2,keyasint,omitempty"`
	Invites []Invite         `cbor:"3,keyasint,omitempty"`
	Done    []Done           `cbor:"4,keyasint,omitempty"`
	Purged  []Purged         `cbor:"5,keyasint,omitempty"`
	Limits  []Limit          `cbor:"6,keyasint,omitempty"`
	Drops   []Drop           `cbor:"7,keyasint,omitempty"`
}

// EncodeOperator returns the snapshot section of what operators have set and did.
func (s *State) EncodeOperator() []byte {
	return encodeSection(&operatorSection{
		Version: sectionVersion, Mode: s.operator.mode, Invites: s.operator.invites,
		Done: s.operator.done, Purged: s.operator.purged, Limits: s.operator.limits,
		Drops: s.operator.drops,
	})
}

// RestoreOperator restores what operators have set and did into this State, which must not be
// published. On an error, which is ErrCorrupt, the State is unchanged.
func (s *State) RestoreOperator(data []byte) error {
	var section operatorSection
	if err := decodeSection(data, &section); err != nil {
		return err
	}
	if section.Version != sectionVersion || !section.Mode.known() {
		return corrupt("section of operators of version %d, mode %d", section.Version, section.Mode)
	}
	for i, one := range section.Done {
		if !one.Action.known() {
			return corrupt("action %d of operators does not fit", i)
		}
	}
	for i, one := range section.Invites {
		if i > 0 && section.Invites[i-1].ExpiresAt > one.ExpiresAt {
			return corrupt("invite %d is out of order", i)
		}
	}
	for i, one := range section.Purged {
		if i > 0 && byHash(section.Purged[i-1], one.Hash) >= 0 {
			return corrupt("purged content %x is out of order", one.Hash)
		}
	}
	for i, one := range section.Drops {
		if slices.ContainsFunc(section.Drops[:i], func(other Drop) bool {
			return other.Project == one.Project
		}) {
			return corrupt("project %x is dropped twice", one.Project)
		}
	}
	if err := soundLimits(section.Limits); err != nil {
		return err
	}
	s.operator = &operator{
		mode: section.Mode, invites: section.Invites, done: section.Done, purged: section.Purged,
		limits: section.Limits, drops: section.Drops,
	}
	return nil
}
