package identity

import (
	"bytes"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"testing"

	"pws/internal/id"
)

// Readers use published states while the owner writes; the race detector reports conflicts.
func TestReadersNeedNoLock(t *testing.T) {
	v := newServer()
	ada := v.register(t, "ada")
	private := testKey("ada")
	var view atomic.Pointer[State]
	view.Store(v.state)
	var done atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for !done.Load() {
				s := view.Load()
				if _, ok := s.FindAgent("ADA"); !ok {
					t.Error("ada is gone")
				}
				if first := canonical(s); !bytes.Equal(first, canonical(s)) {
					t.Error("a published state changed")
				}
				for _, key := range s.Keys(ada.Agent.ID) {
					s.KeyByPublicKey(key.PublicKey)
				}
				s.Session(ada.Session.Hash)
			}
		})
	}
	for i := range 100 {
		v.now += SessionSeenMillis / 10
		if _, err := v.do(&SeeSession{Caller: callerOf(ada.Session)}); err != nil {
			t.Error(err)
		}
		if i%10 == 0 {
			v.login(t, ada.Key, private)
		}
		view.Store(v.state)
	}
	done.Store(true)
	readers.Wait()
}

func TestAuthenticateDoesNotAllocate(t *testing.T) {
	v := newServer()
	ada := v.register(t, "ada")
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := v.state.Authenticate(CredentialHash(ada.Credential), v.now); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Fatalf("%v allocations", allocs)
	}
}

// populated is a State of many agents with a session each, and the hashes of their credentials.
func populated(count int) (*State, [][32]byte) {
	s := New()
	hashes := make([][32]byte, count)
	for i := range count {
		st := Stamp{Now: testNow}
		binary.BigEndian.PutUint64(st.Entropy[:], uint64(i))
		agent, key := st.newID("agent"), st.newID("key")
		hashes[i] = st.derive("hash")
		s.Apply(&AgentRegistered{
			Agent: agent, Handle: agent.Format("h"), ClientName: "client", ClientVersion: "1",
		}, testNow)
		s.Apply(&KeyAdded{Agent: agent, Key: key, PublicKey: st.derive("key")}, testNow)
		s.Apply(&SessionStarted{
			Agent: agent, Key: key, Session: st.newID("session"), Hash: hashes[i],
			ClientName: "client", ClientVersion: "1", ExpiresAt: testNow + SessionMillis,
		}, testNow)
	}
	return s, hashes
}

func BenchmarkAuthenticate100k(b *testing.B) {
	s, hashes := populated(100_000)
	b.ReportAllocs()
	at := 0
	for b.Loop() {
		at = (at + 7919) % len(hashes)
		if _, err := s.Authenticate(hashes[at], testNow); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCredentialHash(b *testing.B) {
	credential := deriveCredential(testSecret, id.ID{}, "signature")
	b.ReportAllocs()
	for b.Loop() {
		CredentialHash(credential)
	}
}

// The owner's share of a registration among 100,000 agents: two decisions, two clones, five
// events; with the signature checked by the owner or ahead of it.
func BenchmarkRegister(b *testing.B) {
	base, _ := populated(100_000)
	key := testKey("ada")
	start := &StartRegistration{PublicKey: publicText(key), Algorithm: Algorithm}
	st := Stamp{Now: testNow, Entropy: [16]byte{255}}
	granted, err := start.Decide(base, st)
	if err != nil {
		b.Fatal(err)
	}
	proof := prove(granted.Result.(*ChallengeGranted).Challenge, key)
	run := func(b *testing.B, proof Proof) {
		b.ReportAllocs()
		complete := &CompleteRegistration{
			Proof: proof, Handle: "ada", ClientName: "c", ClientVersion: "1",
			Secret: testSecret,
		}
		for b.Loop() {
			s := base
			for _, command := range []Command{start, complete} {
				out, err := command.Decide(s, st)
				if err != nil {
					b.Fatal(err)
				}
				s = s.Clone()
				for _, event := range out.Events {
					s.Apply(event, testNow)
				}
			}
		}
	}
	b.Run("checked-by-owner", func(b *testing.B) { run(b, proof) })
	ahead := proof
	s := base.Clone()
	s.Apply(granted.Events[0], testNow)
	ahead.CheckAhead(s)
	b.Run("checked-ahead", func(b *testing.B) { run(b, ahead) })
}

func BenchmarkReplay(b *testing.B) {
	log := everyKind(b).log
	b.ReportAllocs()
	for b.Loop() {
		s := New()
		for _, entry := range log {
			event, err := DecodeEvent(uint16(entry.kind), entry.data)
			if err != nil {
				b.Fatal(err)
			}
			s.Apply(event, entry.now)
		}
	}
	b.ReportMetric(float64(b.N*len(log))/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkClone100k(b *testing.B) {
	s, _ := populated(100_000)
	b.ReportAllocs()
	for b.Loop() {
		s = s.Clone()
	}
}

func BenchmarkEncodeAgent(b *testing.B) {
	s, hashes := populated(1)
	session, _ := s.Session(hashes[0])
	b.ReportAllocs()
	for b.Loop() {
		s.EncodeAgent(session.AgentID)
	}
	b.ReportMetric(float64(len(s.EncodeAgent(session.AgentID))), "B/section")
}

func BenchmarkRestore100k(b *testing.B) {
	s, _ := populated(100_000)
	var sections [][]byte
	for agent := range s.Agents(id.ID{}) {
		sections = append(sections, s.EncodeAgent(agent.ID))
	}
	b.ReportAllocs()
	for b.Loop() {
		restored := New()
		for _, data := range sections {
			if err := restored.RestoreAgent(data); err != nil {
				b.Fatal(err)
			}
		}
	}
	perSecond := float64(b.N*len(sections)) / b.Elapsed().Seconds()
	b.ReportMetric(perSecond, "agents/s")
}
