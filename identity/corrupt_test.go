package identity

import (
	"errors"
	"strings"
	"testing"

	"pws/internal/id"
)

// sectionOf is the section of an agent that passes, made to be spoilt.
func sectionOf(t *testing.T) agentSection {
	v := newServer()
	ada := v.register(t, "ada")
	v.addKey(t, callerOf(ada.Session), "second")
	v.login(t, ada.Key, testKey("ada"))
	var section agentSection
	if err := decodeSection(v.state.EncodeAgent(ada.Agent.ID), &section); err != nil {
		t.Fatal(err)
	}
	return section
}

func TestImpossibleAgentsAreCorrupt(t *testing.T) {
	other := sectionOf(t)
	other.ID = id.New(7, [10]byte{7})
	for name, spoil := range map[string]func(*agentSection){
		"version":            func(a *agentSection) { a.Version = 2 },
		"no version":         func(a *agentSection) { a.Version = 0 },
		"zero id":            func(a *agentSection) { a.ID = id.ID{} },
		"bad handle":         func(a *agentSection) { a.Handle = "a" },
		"key id twice":       func(a *agentSection) { a.Keys[1].ID = a.Keys[0].ID },
		"public key twice":   func(a *agentSection) { a.Keys[1].PublicKey = a.Keys[0].PublicKey },
		"session twice":      func(a *agentSection) { a.Sessions[1].ID = a.Sessions[0].ID },
		"credential twice":   func(a *agentSection) { a.Sessions[1].Hash = a.Sessions[0].Hash },
		"session of no key":  func(a *agentSection) { a.Sessions[0].KeyID = id.ID{} },
		"client is not text": func(a *agentSection) { a.ClientName = "\xff" },
		"empty marks":        func(a *agentSection) { a.Marks = new(Marks) },
		"mark of no place": func(a *agentSection) {
			a.Marks = &Marks{Steps: []Mark{{Status: ItemRead, ReadAt: 1}}}
		},
		"marks twice": func(a *agentSection) {
			one := Mark{Place: Place{Entry: 1}, Status: ItemRead, ReadAt: 1}
			a.Marks = &Marks{Items: []Mark{one, one}}
		},
		"unread and read": func(a *agentSection) {
			a.Marks = &Marks{Items: []Mark{{Place: Place{Entry: 1}, ReadAt: 1}}}
		},
		"status of an item": func(a *agentSection) {
			a.Marks = &Marks{Items: []Mark{{Place{Entry: 1}, 3, 1}}}
		},
	} {
		section := sectionOf(t)
		spoil(&section)
		s := New()
		err := s.RestoreAgent(encodeSection(&section))
		if !errors.Is(err, ErrCorrupt) || s.Counts() != (Counts{}) {
			t.Errorf("%s: %v, %+v", name, err, s.Counts())
		}
	}
	for name, spoil := range map[string]func(*agentSection){
		"handle of another": func(a *agentSection) { a.Keys, a.Sessions = nil, nil },
		"key of another":    func(a *agentSection) { a.Handle, a.Sessions = "bob", nil },
		"public key of another": func(a *agentSection) {
			a.Handle, a.Sessions = "bob", nil
			a.Keys[0].ID, a.Keys[1].ID = id.New(8, [10]byte{}), id.New(9, [10]byte{})
		},
		"session of another": func(a *agentSection) {
			a.Handle = "bob"
			a.Keys[0].ID, a.Keys[0].PublicKey = id.New(8, [10]byte{}), [32]byte{8}
			a.Keys[1].ID, a.Keys[1].PublicKey = id.New(9, [10]byte{}), [32]byte{9}
			a.Sessions[0].KeyID, a.Sessions[1].KeyID = a.Keys[0].ID, a.Keys[0].ID
		},
	} {
		s := New()
		first, section := sectionOf(t), sectionOf(t)
		if err := s.RestoreAgent(encodeSection(&first)); err != nil {
			t.Fatal(err)
		}
		section.ID = other.ID
		spoil(&section)
		if err := s.RestoreAgent(encodeSection(&section)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestImpossibleChallengesAreCorrupt(t *testing.T) {
	v := newServer()
	ada := v.register(t, "ada")
	v.addKey(t, callerOf(ada.Session), "second")
	v.login(t, ada.Key, testKey("ada"))
	data := v.state.EncodeChallenges()
	for name, spoil := range map[string]func(*challengesSection){
		"version": func(c *challengesSection) { c.Version = 9 },
		"order":   func(c *challengesSection) { c.Challenges[1].ID = c.Challenges[0].ID },
		"zero id": func(c *challengesSection) { c.Challenges[0].ID = id.ID{} },
		"purpose": func(c *challengesSection) { c.Challenges[0].Purpose = 4 },
		"agent too many": func(c *challengesSection) {
			for i := range c.Challenges {
				c.Challenges[i].AgentID = ada.Agent.ID
			}
		},
		"completed with no key": func(c *challengesSection) {
			c.Challenges[0].Completion.KeyID = id.ID{}
		},
		"agent missing": func(c *challengesSection) {
			for i := range c.Challenges {
				c.Challenges[i].AgentID = id.ID{}
			}
		},
		"key missing": func(c *challengesSection) {
			for i := range c.Challenges {
				c.Challenges[i].KeyID = id.ID{}
			}
		},
	} {
		s := v.state.Clone()
		s.challenges = newChallenges()
		var section challengesSection
		if err := decodeSection(data, &section); err != nil {
			t.Fatal(err)
		}
		spoil(&section)
		err := s.RestoreChallenges(encodeSection(&section))
		if !errors.Is(err, ErrCorrupt) || s.Counts().Challenges != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := v.state.RestoreChallenges(data); !errors.Is(err, ErrCorrupt) {
		t.Errorf("into a state that holds challenges: %v", err)
	}
	if err := New().RestoreChallenges(data); !errors.Is(err, ErrCorrupt) {
		t.Errorf("before the agents: %v", err)
	}
}

// An event that does not fit the State cannot have come from a decision; going on would serve
// wrong answers, so it panics and names what is wrong.
func TestEventsThatDoNotFitPanic(t *testing.T) {
	v := newServer()
	ada := v.register(t, "ada")
	none := id.New(3, [10]byte{3})
	bob := &AgentRegistered{Agent: id.New(4, [10]byte{4}), Handle: "ADA"}
	for _, event := range []Event{
		&AgentRegistered{Agent: ada.Agent.ID, Handle: "bob"}, bob,
		&KeyAdded{Agent: none, Key: none},
		&KeyAdded{Agent: ada.Agent.ID, Key: none, PublicKey: ada.Key.PublicKey},
		&KeyRevoked{Agent: ada.Agent.ID, Key: none},
		&ChallengeFailed{Challenge: none}, &ChallengeCompleted{Challenge: none},
		&SessionSeen{Agent: ada.Agent.ID, Session: none},
		&SessionStarted{
			Agent: ada.Agent.ID, Key: ada.Key.ID, Session: none, Hash: ada.Session.Hash,
		},
		&ResultStored{Agent: none}, &AgentPruned{Agent: none}, &InboxMarked{Agent: none},
	} {
		func() {
			defer func() {
				text, ok := recover().(string)
				if !ok || !strings.HasPrefix(text, "identity: ") {
					t.Errorf("%T: recovered %q", event, text)
				}
			}()
			v.state.Clone().Apply(event, v.now)
		}()
	}
	if err := checkIndexes(v.state); err != nil {
		t.Fatalf("a clone that panicked touched the state: %v", err)
	}
}
