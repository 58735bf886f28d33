package identity

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// RegistrationMode says who may register.
type RegistrationMode uint8

// The modes; the numbers are stored in events.
const (
	RegistrationOpen RegistrationMode = iota
	RegistrationInvite
	RegistrationClosed
)

var registrationModes = [...]string{"OPEN", "INVITE", "CLOSED"}

// String is the name on the wire.
func (m RegistrationMode) String() string { return registrationModes[m] }

func (m RegistrationMode) known() bool { return int(m) < len(registrationModes) }

// ParseRegistrationMode reads the name on the wire.
func ParseRegistrationMode(name string) (RegistrationMode, bool) {
	at := slices.Index(registrationModes[:], name)
	return RegistrationMode(max(at, 0)), at >= 0
}

// Registration returns the mode of registration.
func (s *State) Registration() RegistrationMode { return s.operator.mode }

// invitePrefix starts every invite, so that secret scanners can find leaked ones.
const invitePrefix = "inv_"

// Invite permits one registration. Only the hash of its code is stored.
type Invite struct {
	Hash [32]byte `cbor:"1,keyasint"`
	// ExpiresAt is Unix milliseconds.
	ExpiresAt int64 `cbor:"2,keyasint"`
}

// Invites returns how many invites can still be used.
func (s *State) Invites(now int64) (count int) {
	for _, invite := range s.operator.invites {
		if invite.ExpiresAt > now {
			count++
		}
	}
	return count
}

// checkRegistration checks that a registration is permitted, and returns the event that uses up its
// invite, nil where none is needed: REGISTRATION_CLOSED.
func (s *State) checkRegistration(code string, now int64) (*InviteUsed, error) {
	reason := ""
	switch s.operator.mode {
	case RegistrationOpen:
		return nil, nil
	case RegistrationClosed:
		reason = "CLOSED"
	case RegistrationInvite:
		hash := sha256.Sum256([]byte(code))
		for _, invite := range s.operator.invites {
			if invite.Hash == hash && invite.ExpiresAt > now {
				return &InviteUsed{Hash: hash}, nil
			}
		}
		reason = "INVITE_INVALID"
		if code == "" {
			reason = "INVITE_REQUIRED"
		}
	}
	return nil, fault.New(fault.RegistrationClosed, "The service does not accept this registration.").
		With("registration", s.operator.mode.String()).With("reason", reason)
}

// SetRegistration sets the mode of registration. The result is *ActionDone.
type SetRegistration struct {
	Mode   RegistrationMode
	Reason string
}

// Decide implements Command. VALIDATION_FAILED.
func (c *SetRegistration) Decide(s *State, _ Stamp) (Outcome, error) {
	if err := checkReason(c.Reason); err != nil {
		return Outcome{}, err
	}
	if s.operator.mode == c.Mode {
		return Outcome{Result: &ActionDone{}}, nil
	}
	return Outcome{
		Events: []Event{
			&RegistrationSet{Mode: c.Mode},
			&ActionNoted{Action: ActionRegistration, Subject: c.Mode.String(), Reason: c.Reason},
		},
		Result: &ActionDone{Changed: true},
	}, nil
}

// MakeInvite makes an invite. The result is *ActionDone with the code.
type MakeInvite struct {
	LastsMillis int64
	Reason      string
}

// Decide implements Command. VALIDATION_FAILED, QUOTA_EXCEEDED.
func (c *MakeInvite) Decide(s *State, st Stamp) (Outcome, error) {
	if err := checkReason(c.Reason); err != nil {
		return Outcome{}, err
	}
	if c.LastsMillis <= 0 || c.LastsMillis > InviteMillisMax {
		return Outcome{}, fault.Invalid(fault.Field{
			Field: "expires_in", Problem: "must be positive and at most 90 days",
		})
	}
	if s.Invites(st.Now) >= InvitesMax {
		return Outcome{}, fault.New(fault.QuotaExceeded, "There are too many unused invites.").
			With("quota", "invites").With("limit", InvitesMax)
	}
	random := st.derive("invite")
	code := invitePrefix + base64url.EncodeToString(random[:16])
	issued := &InviteIssued{
		Hash: sha256.Sum256([]byte(code)), ExpiresAt: st.Now + c.LastsMillis,
	}
	noted := &ActionNoted{
		Action: ActionInvite, Subject: "until " + formatTime(issued.ExpiresAt), Reason: c.Reason,
	}
	return Outcome{
		Events: []Event{issued, noted},
		Result: &ActionDone{Code: code, ExpiresAt: issued.ExpiresAt, Changed: true},
	}, nil
}

// RegistrationSet sets the mode of registration.
type RegistrationSet struct {
	Mode RegistrationMode `cbor:"1,keyasint,omitempty"`
}

// Kind implements Event.
func (*RegistrationSet) Kind() Kind { return KindRegistrationSet }

func (*RegistrationSet) touched() (id.ID, bool) { return id.ID{}, false }

func (*RegistrationSet) touchesOperator() {}

func (e *RegistrationSet) apply(s *State, _ int64) {
	if !e.Mode.known() {
		panic(fmt.Sprintf("identity: registration mode %d", e.Mode))
	}
	s.changeOperator(func(next *operator) { next.mode = e.Mode })
}

// InviteIssued makes an invite, and drops those that have expired.
type InviteIssued struct {
	Hash      [32]byte `cbor:"1,keyasint,omitzero"`
	ExpiresAt int64    `cbor:"2,keyasint,omitempty"`
}

// Kind implements Event.
func (*InviteIssued) Kind() Kind { return KindInviteIssued }

func (*InviteIssued) touched() (id.ID, bool) { return id.ID{}, false }

func (*InviteIssued) touchesOperator() {}

func (e *InviteIssued) apply(s *State, now int64) {
	s.changeOperator(func(next *operator) {
		kept := make([]Invite, 0, len(next.invites)+1)
		for _, invite := range next.invites {
			if invite.ExpiresAt > now {
				kept = append(kept, invite)
			}
		}
		next.invites = append(kept, Invite{Hash: e.Hash, ExpiresAt: e.ExpiresAt})
		slices.SortStableFunc(next.invites, func(a, b Invite) int {
			return int(min(max(a.ExpiresAt-b.ExpiresAt, -1), 1))
		})
	})
}

// InviteUsed uses up an invite, in the entry of the registration.
type InviteUsed struct {
	Hash [32]byte `cbor:"1,keyasint,omitzero"`
}

// Kind implements Event.
func (*InviteUsed) Kind() Kind { return KindInviteUsed }

func (*InviteUsed) touched() (id.ID, bool) { return id.ID{}, false }

func (*InviteUsed) touchesOperator() {}

func (e *InviteUsed) apply(s *State, _ int64) {
	s.changeOperator(func(next *operator) {
		next.invites = slices.DeleteFunc(slices.Clone(next.invites), func(invite Invite) bool {
			return invite.Hash == e.Hash
		})
	})
}
