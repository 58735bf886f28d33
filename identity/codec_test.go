package identity

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"pws/internal/id"
)

func FuzzDecodeEvent(f *testing.F) {
	for _, entry := range everyKind(f).log {
		f.Add(uint16(entry.kind), entry.data)
	}
	f.Fuzz(func(t *testing.T, kind uint16, data []byte) {
		event, err := DecodeEvent(kind, data)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatalf("not marked: %v", err)
			}
			return
		}
		first, err := EncodeEvent(nil, event)
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeEvent(kind, first)
		if err != nil {
			t.Fatal(err)
		}
		second, _ := EncodeEvent(nil, again)
		if !bytes.Equal(first, second) {
			t.Fatalf("%x, then %x", first, second)
		}
	})
}

func FuzzRestoreAgent(f *testing.F) {
	v := everyKind(f)
	for agent := range v.state.Agents(id.ID{}) {
		f.Add(v.state.EncodeAgent(agent.ID))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := New()
		if err := s.RestoreAgent(data); err != nil {
			if !errors.Is(err, ErrCorrupt) || s.Counts() != (Counts{}) {
				t.Fatalf("%v, %+v", err, s.Counts())
			}
			return
		}
		if err := checkIndexes(s); err != nil {
			t.Fatal(err)
		}
		if got := canonical(s); !bytes.HasPrefix(got, data) {
			t.Fatalf("%x became %x", data, got)
		}
		if err := s.RestoreAgent(data); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("the same agent twice: %v", err)
		}
	})
}

func FuzzRestoreChallenges(f *testing.F) {
	v := everyKind(f)
	f.Add(v.state.EncodeChallenges())
	f.Fuzz(func(t *testing.T, data []byte) {
		s := v.state.Clone()
		s.challenges = newChallenges()
		if err := s.RestoreChallenges(data); err != nil {
			if !errors.Is(err, ErrCorrupt) || s.Counts().Challenges > 0 {
				t.Fatalf("%v, %+v", err, s.Counts())
			}
			return
		}
		if got := s.EncodeChallenges(); !bytes.Equal(got, data) {
			t.Fatalf("%x became %x", data, got)
		}
		s.challenges.scan(id.ID{}, func(_ id.ID, challenge *Challenge) bool {
			return challenge.SigningPayload() != ""
		})
	})
}

// Every cut and every changed byte of a section is refused or means another section; none is
// read as what was written.
func TestDamagedSectionsAreNoticed(t *testing.T) {
	v := everyKind(t)
	for agent := range v.state.Agents(id.ID{}) {
		data := v.state.EncodeAgent(agent.ID)
		for i := range data {
			if err := New().RestoreAgent(data[:i]); !errors.Is(err, ErrCorrupt) {
				t.Fatalf("cut at %d: %v", i, err)
			}
			damaged := bytes.Clone(data)
			damaged[i] ^= 0x20
			s := New()
			if err := s.RestoreAgent(damaged); err != nil {
				continue
			}
			if bytes.HasPrefix(canonical(s), data) {
				t.Fatalf("byte %d does not matter", i)
			}
		}
		if err := New().RestoreAgent(append(bytes.Clone(data), 0)); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("a byte too many: %v", err)
		}
	}
}

func TestUnknownKindsAndFieldsAreCorrupt(t *testing.T) {
	for _, c := range []struct {
		kind uint16
		data string
	}{
		{0, "\xa0"}, {9999, "\xa0"}, {65535, ""},
		{1, ""}, {1, "\xa1\x18\x63\x01"}, {1, "\xa2\x02\x61a\x02\x61b"}, {1, "\xa0\x00"},
		{1, "\xbf\xff"}, {1, "\xa1\x02\x62\xff\xfe"},
	} {
		if event, err := DecodeEvent(c.kind, []byte(c.data)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("kind %d, %x = %+v, %v", c.kind, c.data, event, err)
		}
	}
}

func TestEncodeEventAppends(t *testing.T) {
	out, err := EncodeEvent([]byte("before"), &AgentPruned{Agent: id.New(1, [10]byte{1})})
	if err != nil || !strings.HasPrefix(string(out), "before\xa1\x01") {
		t.Fatalf("%q, %v", out, err)
	}
}

// The challenges section takes as many as there may be.
func TestFullChallengesSection(t *testing.T) {
	if testing.Short() {
		t.Skip("so many challenges under the race detector take seconds")
	}
	s := New()
	agent, key := id.New(testNow, [10]byte{1}), id.New(testNow, [10]byte{2})
	s.Apply(&AgentRegistered{Agent: agent, Handle: "ada"}, testNow)
	s.Apply(&KeyAdded{Agent: agent, Key: key}, testNow)
	for i := range 2 * ChallengesMax {
		challenge := &Challenge{
			ID: id.New(testNow, [10]byte{}), Purpose: PurposeRegister, ExpiresAt: testNow,
		}
		if i%2 == 0 {
			challenge.Purpose, challenge.AgentID, challenge.KeyID = PurposeSession, agent, key
		}
		binary.BigEndian.PutUint32(challenge.ID[12:], uint32(i))
		s.challenges.set(challenge.ID, challenge)
	}
	restored := New()
	if err := restored.RestoreAgent(s.EncodeAgent(agent)); err != nil {
		t.Fatal(err)
	}
	if err := restored.RestoreChallenges(s.EncodeChallenges()); err != nil {
		t.Fatal(err)
	}
	if got := restored.Counts().Challenges; got != 2*ChallengesMax {
		t.Fatalf("%d challenges", got)
	}
}
