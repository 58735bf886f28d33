package identity

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"pws/internal/id"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testNow is where the tests' clocks start.
const testNow = int64(1_763_600_000_000)

var testSecret = bytes.Repeat([]byte{7}, SecretBytesMin)

// testKey is the key pair of a seed.
func testKey(seed string) ed25519.PrivateKey {
	sum := sha256.Sum256([]byte(seed))
	return ed25519.NewKeyFromSeed(sum[:])
}

func publicText(key ed25519.PrivateKey) string {
	return base64url.EncodeToString(key.Public().(ed25519.PublicKey))
}

func rawPublic(key ed25519.PrivateKey) [32]byte {
	return [32]byte(key.Public().(ed25519.PublicKey))
}

// prove answers a challenge.
func prove(challenge *Challenge, key ed25519.PrivateKey) Proof {
	signature := ed25519.Sign(key, []byte(challenge.SigningPayload()))
	return Proof{
		ChallengeID: challenge.ID.Format(id.Challenge),
		Challenge:   challenge.Text(),
		Signature:   base64url.EncodeToString(signature),
	}
}

// stored is an event as a log would hold it.
type stored struct {
	kind Kind
	data []byte
	now  int64
}

// server is an owner as the tests need it: it decides, keeps the log, and applies to a clone.
type server struct {
	state *State
	log   []stored
	now   int64
	steps uint64
	// olderMembers says that some programs know no audience.
	olderMembers bool
}

func newServer() *server { return &server{state: New(), now: testNow} }

func (v *server) stamp() Stamp {
	v.steps++
	st := Stamp{Now: v.now, NamesAudience: !v.olderMembers}
	binary.BigEndian.PutUint64(st.Entropy[8:], v.steps)
	return st
}

func (v *server) do(command Command) (Result, error) {
	st := v.stamp()
	out, err := command.Decide(v.state, st)
	v.apply(st.Now, out.Events...)
	return out.Result, err
}

func (v *server) apply(now int64, events ...Event) {
	if len(events) == 0 {
		return
	}
	next := v.state.Clone()
	for _, event := range events {
		data, err := EncodeEvent(nil, event)
		if err != nil {
			panic(err)
		}
		v.log = append(v.log, stored{event.Kind(), data, now})
		next.Apply(event, now)
	}
	v.state = next
}

// register makes an agent whose handle and key are named alike.
func (v *server) register(t testing.TB, name string) *Registration {
	t.Helper()
	key := testKey(name)
	granted, err := v.do(&StartRegistration{PublicKey: publicText(key), Algorithm: Algorithm})
	if err != nil {
		t.Fatal(err)
	}
	result, err := v.do(&CompleteRegistration{
		Proof:  prove(granted.(*ChallengeGranted).Challenge, key),
		Handle: name, ClientName: "client", ClientVersion: "1", Secret: testSecret,
	})
	if err != nil {
		t.Fatal(err)
	}
	return result.(*Registration)
}

// login starts a further session of a key.
func (v *server) login(t testing.TB, key *Key, private ed25519.PrivateKey) *SessionGranted {
	t.Helper()
	granted, err := v.do(&RequestChallenge{
		AgentID: key.AgentID.Format(id.Agent), KeyID: key.ID.Format(id.Key),
	})
	if err != nil {
		t.Fatal(err)
	}
	result, err := v.do(&StartSession{
		Proof:      prove(granted.(*ChallengeGranted).Challenge, private),
		ClientName: "client", ClientVersion: "1", Secret: testSecret,
	})
	if err != nil {
		t.Fatal(err)
	}
	return result.(*SessionGranted)
}

// addKey adds the key of a seed to the caller's agent.
func (v *server) addKey(t testing.TB, caller Caller, seed string) *Key {
	t.Helper()
	private := testKey(seed)
	granted, err := v.do(&StartKey{
		Caller: caller, PublicKey: publicText(private), Algorithm: Algorithm,
	})
	if err != nil {
		t.Fatal(err)
	}
	result, err := v.do(&CompleteKey{
		Caller: caller, Proof: prove(granted.(*ChallengeGranted).Challenge, private),
	})
	if err != nil {
		t.Fatal(err)
	}
	return result.(*KeyAddition).Key
}

func callerOf(session *Session) Caller {
	return Caller{Agent: session.AgentID, Session: session.ID}
}

// canonical is the whole of a State as one text.
func canonical(s *State) []byte {
	var out []byte
	for agent := range s.Agents(id.ID{}) {
		out = append(out, s.EncodeAgent(agent.ID)...)
	}
	for report := range s.Reports(id.ID{}) {
		out = append(out, s.EncodeReport(report.ID)...)
	}
	out = append(out, s.EncodeOperator()...)
	return append(out, s.EncodeChallenges()...)
}

// checkIndexes compares every index with what the agents hold.
func checkIndexes(s *State) error {
	keys, sessions, due := 0, 0, 0
	for agent := range s.Agents(id.ID{}) {
		if found, ok := s.AgentByHandle(agent.Handle); !ok || found != agent {
			return fmt.Errorf("handle %q does not lead to its agent", agent.Handle)
		}
		if s.checkHandleFree(agent.Handle) == nil {
			return fmt.Errorf("the look of handle %q is free", agent.Handle)
		}
		for _, key := range agent.Keys() {
			keys++
			byID, _ := s.Key(key.ID)
			byPublic, _ := s.KeyByPublicKey(key.PublicKey)
			if byID != key || byPublic != key {
				return fmt.Errorf("key %s is not in its indexes", key.ID.Format(id.Key))
			}
		}
		for _, session := range agent.Sessions() {
			sessions++
			byID, _ := s.SessionByID(session.ID)
			byHash, _ := s.Session(session.Hash)
			if byID != session || byHash != session {
				return fmt.Errorf("session %s is not in its indexes",
					session.ID.Format(id.Session))
			}
		}
		if at := agent.firstDue(); at != agent.dueAt {
			return fmt.Errorf("due at %d, want %d", agent.dueAt, at)
		}
		if agent.dueAt != 0 {
			due++
			if _, ok := s.due.Get(dueEntry{agent.dueAt, agent.ID}); !ok {
				return fmt.Errorf("agent %s is not among the due", agent.ID.Format(id.Agent))
			}
		}
	}
	for agent := range s.Agents(id.ID{}) {
		if s.Suspended(agent.ID) != (agent.SuspendedAt != 0) {
			return fmt.Errorf("suspended at %d, and in the index or not", agent.SuspendedAt)
		}
	}
	if err := errors.Join(checkReports(s), checkChallenges(s)); err != nil {
		return err
	}
	counts := s.Counts()
	got := []int{counts.Keys, s.publicKeys.Len(), counts.Sessions, s.sessionIDs.len(),
		s.due.Len(), s.handles.Len()}
	want := []int{keys, keys, sessions, sessions, due, counts.Agents}
	if !slices.Equal(got, want) {
		return fmt.Errorf("index sizes %v, want %v", got, want)
	}
	return nil
}

// checkChallenges compares the indexes of the challenges with the challenges.
func checkChallenges(s *State) error {
	rooms, waiting := [2]int{}, 0
	var wrong error
	s.challenges.scan(id.ID{}, func(_ id.ID, challenge *Challenge) bool {
		rooms[challenge.room()]++
		_, waits := s.challenges.waiting.Get(challenge.waitingEntry())
		if waits != (challenge.Completion == nil) {
			wrong = fmt.Errorf("challenge %s waits: %v", challenge.ID.Format(id.Challenge), waits)
		}
		if waits {
			waiting++
		}
		return wrong == nil
	})
	got := []int{s.challenges.rooms[0].len(), s.challenges.rooms[1].len(),
		s.challenges.waiting.Len()}
	if want := []int{rooms[0], rooms[1], waiting}; wrong == nil && !slices.Equal(got, want) {
		wrong = fmt.Errorf("index sizes of challenges %v, want %v", got, want)
	}
	return wrong
}

// checkReports compares what is counted of reports with the reports.
func checkReports(s *State) error {
	open, all, unhandled := map[id.ID]int{}, 0, 0
	for report := range s.Reports(id.ID{}) {
		all++
		if report.Status() == ReportReceived {
			open[report.Reporter]++
			unhandled++
		}
	}
	for reporter, count := range open {
		if got := s.OpenReports(reporter); got != count {
			return fmt.Errorf("%d open reports are counted, there are %d", got, count)
		}
	}
	if len(open) != s.openReports.len() || all != s.Counts().Reports || unhandled != s.unhandled {
		return fmt.Errorf("%d reporters of %d reports", s.openReports.len(), s.Counts().Reports)
	}
	return nil
}

// webSession opens a session of the web page.
func (v *server) webSession(t testing.TB, caller Caller) *SessionGranted {
	t.Helper()
	granted, err := v.do(&RequestWebCode{Caller: caller, Secret: testSecret})
	if err != nil {
		t.Fatal(err)
	}
	opened, err := v.do(&OpenWebSession{
		Code: granted.(*WebCodeGranted).Code, Secret: testSecret,
	})
	if err != nil {
		t.Fatal(err)
	}
	return opened.(*SessionGranted)
}

// useWeb opens a session of the web page, uses it, and leaves a code.
func (v *server) useWeb(t testing.TB, caller Caller) {
	t.Helper()
	page := v.webSession(t, caller)
	v.now += SessionSeenMillis
	for _, command := range []Command{
		&SeeSession{Caller: callerOf(page.Session)},
		&RequestWebCode{Caller: caller, Secret: testSecret},
	} {
		if _, err := v.do(command); err != nil {
			t.Fatal(err)
		}
	}
}
