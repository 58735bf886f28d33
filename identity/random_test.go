package identity

import (
	"bytes"
	"crypto/ed25519"
	"maps"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"pws/internal/fault"
	"pws/internal/id"
)

// world drives random commands and keeps, besides the log, the sections that a snapshot would
// have: those that Touched names are written again after every entry.
type world struct {
	*server
	rt         *rapid.T
	challenges []*Challenge
	signers    map[id.ID]string // challenge → seed of the key that should sign
	sessions   []*Session
	keys       []*Key
	agents     map[id.ID][]byte
	reports    map[id.ID][]byte
	waiting    []byte
	operator   []byte
	invites    []string
	codes      []string
	published  []published
	met        *met
}

// met is what all histories of a run came across.
type met struct {
	codes map[fault.Code]bool
	kinds map[Kind]bool
}

// published is a State that readers hold, with what it said when it was published.
type published struct {
	state *State
	text  []byte
}

func newWorld(rt *rapid.T, met *met) *world {
	w := &world{
		server: newServer(), rt: rt, signers: map[id.ID]string{}, agents: map[id.ID][]byte{},
		reports: map[id.ID][]byte{}, met: met,
	}
	w.waiting, w.operator = w.state.EncodeChallenges(), w.state.EncodeOperator()
	return w
}

var seeds = []string{"a", "b", "c", "d", "e"}

var privateKeys = func() map[string]ed25519.PrivateKey {
	keys := map[string]ed25519.PrivateKey{}
	for _, seed := range seeds {
		keys[seed] = testKey(seed)
	}
	return keys
}()

func pick[T any](rt *rapid.T, label string, from []T) T {
	return from[rapid.IntRange(0, len(from)-1).Draw(rt, label)]
}

// caller is mostly one of the latest sessions, at times any or none.
func (w *world) caller() Caller {
	if len(w.sessions) == 0 || rapid.IntRange(0, 19).Draw(w.rt, "stranger") == 0 {
		return Caller{Agent: id.New(1, [10]byte{1}), Session: id.New(1, [10]byte{2})}
	}
	recent := w.sessions[max(0, len(w.sessions)-6):]
	return callerOf(pick(w.rt, "session", recent))
}

// proof answers one of the latest challenges, mostly one of the purpose.
func (w *world) proof(purpose Purpose) Proof {
	var fitting []*Challenge
	for _, challenge := range w.challenges {
		if challenge.Purpose == purpose {
			fitting = append(fitting, challenge)
		}
	}
	if len(fitting) == 0 || rapid.IntRange(0, 9).Draw(w.rt, "any") == 0 {
		fitting = w.challenges
	}
	if len(fitting) == 0 {
		return prove(&Challenge{ID: id.New(1, [10]byte{}), Purpose: PurposeSession},
			privateKeys["a"])
	}
	challenge := pick(w.rt, "challenge", fitting[max(0, len(fitting)-3):])
	seed := w.signers[challenge.ID]
	if rapid.IntRange(0, 5).Draw(w.rt, "wrong") == 0 {
		seed = pick(w.rt, "seed", seeds)
	}
	proof := prove(challenge, privateKeys[seed])
	if rapid.Bool().Draw(w.rt, "ahead") {
		proof.CheckAhead(w.state)
	}
	return proof
}

// code is one of the latest codes of the web page, at times another text.
func (w *world) code() string {
	if len(w.codes) == 0 {
		return "none"
	}
	code := pick(w.rt, "code", w.codes[max(0, len(w.codes)-3):])
	return code + pick(w.rt, "spoilt", []string{"", "", "x"})
}

func (w *world) key() *Key {
	if len(w.keys) == 0 {
		return &Key{ID: id.New(1, [10]byte{3}), AgentID: id.New(1, [10]byte{4})}
	}
	return pick(w.rt, "key", w.keys)
}

// signerOf is the seed of a public key.
func signerOf(publicKey [32]byte) string {
	for seed, key := range privateKeys {
		if rawPublic(key) == publicKey {
			return seed
		}
	}
	panic("a key of no seed")
}

func (w *world) command() Command {
	rt := w.rt
	publicKey := func() string { return publicText(privateKeys[pick(rt, "seed", seeds)]) }
	audience := func() string {
		return pick(rt, "audience", []string{"", "https://a.example", "https://b.example:8443/b"})
	}
	version := func() string { return pick(rt, "version", []string{"1", "1", "1", "2", ""}) }
	switch rapid.IntRange(0, 14).Draw(rt, "command") {
	case 0, 1:
		return &StartRegistration{publicKey(), Algorithm, w.invite(), audience()}
	case 2, 3:
		handle := pick(rt, "handle", []string{"ada", "Ada", "bob", "cat", "dan", "x"})
		proof := w.proof(PurposeRegister)
		return &CompleteRegistration{
			proof, handle, "client", version(), w.invite(), testSecret,
		}
	case 4, 5:
		key := w.key()
		return &RequestChallenge{
			key.AgentID.Format(id.Agent), key.ID.Format(id.Key), audience(),
		}
	case 6, 7:
		return &StartSession{w.proof(PurposeSession), "client", version(), testSecret}
	case 8:
		return pick(rt, "end", []Command{
			&SeeSession{w.caller()}, &SeeSession{w.caller()}, &EndSession{w.caller()}, &Prune{},
			&RequestWebCode{w.caller(), testSecret}, &RequestWebCode{w.caller(), testSecret},
			&OpenWebSession{w.code(), testSecret}, &OpenWebSession{w.code(), testSecret},
			&NoteChoice{
				Caller: w.caller(), Key: [16]byte{1: pick(rt, "key", []byte("abc"))},
				Fingerprint: [16]byte{pick(rt, "print", []byte("xxxy"))}, Choice: id.ID{9},
			},
		})
	case 9:
		return &StartKey{w.caller(), publicKey(), Algorithm, audience()}
	case 10:
		return pick(rt, "complete", []Command{
			&CompleteKey{w.proof(PurposeAddKey), w.caller()}, w.marking(),
		})
	case 11:
		return w.reportCommand()
	case 12:
		return w.declaration()
	case 13:
		return w.operatorCommand()
	}
	caller, key := w.caller(), w.key()
	if own := w.state.Keys(caller.Agent); len(own) > 0 && rapid.Bool().Draw(rt, "own") {
		key = pick(rt, "own key", own)
	}
	return &RevokeKey{caller, key.ID.Format(id.Key)}
}

func (w *world) step() {
	if rapid.IntRange(0, 3).Draw(w.rt, "pause") == 0 {
		w.now += pick(w.rt, "advance", []int64{1, 1, 1, 1, 40_000, 40_000, 61_000, 61_000,
			299_999, 300_000, -5000, SessionMillis, SessionMemoryMillis, ResultMillis})
	}
	command, st := w.command(), w.stamp()
	before := canonical(w.state)
	out, err := command.Decide(w.state, st)
	w.met.codes[fault.CodeOf(err)] = true
	if !bytes.Equal(before, canonical(w.state)) {
		w.rt.Fatalf("%T changed the state it decided on", command)
	}
	w.published = append(w.published, published{w.state, before})
	if key, ok := command.(*StartKey); ok && err == nil {
		out.Events = append(out.Events, NewResultStored(key.Caller.Agent, st.Entropy,
			[16]byte{1}, st.Now, 201, []byte("{}")))
	}
	w.apply(st.Now, out.Events...)
	w.write(out.Events)
	if err == nil {
		w.learn(out.Result)
	}
}

// write brings the sections up to date that the events name, and sees whether that is all.
func (w *world) write(events []Event) {
	for _, event := range events {
		w.met.kinds[event.Kind()] = true
		agent, challenges := Touched(event)
		if !agent.IsZero() {
			w.agents[agent] = w.state.EncodeAgent(agent)
		}
		if challenges {
			w.waiting = w.state.EncodeChallenges()
		}
		if TouchesOperator(event) {
			w.operator = w.state.EncodeOperator()
		}
		if report := TouchedReport(event); !report.IsZero() {
			if section := w.state.EncodeReport(report); section != nil {
				w.reports[report] = section
			} else {
				delete(w.reports, report)
			}
		}
	}
	for report := range w.state.Reports(id.ID{}) {
		if !bytes.Equal(w.state.EncodeReport(report.ID), w.reports[report.ID]) {
			w.rt.Fatalf("%v left the section of a report behind", events)
		}
	}
	if got := w.state.Counts().Reports; got != len(w.reports) {
		w.rt.Fatalf("%d sections of %d reports", len(w.reports), got)
	}
	if !bytes.Equal(w.state.EncodeOperator(), w.operator) {
		w.rt.Fatalf("%v left the section of the operators behind", events)
	}
	if !bytes.Equal(w.state.EncodeChallenges(), w.waiting) {
		w.rt.Fatalf("%v left the section of the challenges behind", events)
	}
	count := 0
	for agent := range w.state.Agents(id.ID{}) {
		count++
		if !bytes.Equal(w.state.EncodeAgent(agent.ID), w.agents[agent.ID]) {
			w.rt.Fatalf("%v left the section of an agent behind", events)
		}
	}
	if count != len(w.agents) {
		w.rt.Fatalf("%d sections of %d agents", len(w.agents), count)
	}
}

// learn keeps what a result contains, and compares it with the state after the events.
func (w *world) learn(result Result) {
	same := func(got, held any) {
		if !reflect.DeepEqual(got, held) {
			w.rt.Fatalf("returned %+v, stored %+v", got, held)
		}
	}
	keySame := func(got *Key) {
		held, _ := w.state.Key(got.ID)
		same(got, held)
	}
	sessionSame := func(got *Session, credential string) {
		held, err := w.state.Authenticate(CredentialHash(credential), w.now)
		if err != nil {
			w.rt.Fatal(err)
		}
		same(got, held)
		w.sessions = append(w.sessions, got)
	}
	switch r := result.(type) {
	case *ChallengeGranted:
		held, _ := w.state.Challenge(r.Challenge.ID)
		same(r.Challenge, held)
		w.challenges = append(w.challenges, r.Challenge)
		w.signers[r.Challenge.ID] = signerOf(r.Challenge.PublicKey)
	case *Registration:
		held, _ := w.state.Agent(r.Agent.ID)
		keySame(r.Key)
		same(r.Agent, held)
		if r.Replayed {
			return
		}
		sessionSame(r.Session, r.Credential)
		w.keys = append(w.keys, r.Key)
	case *SessionGranted:
		sessionSame(r.Session, r.Credential)
	case *KeyAddition:
		keySame(r.Key)
		if !r.Replayed {
			w.keys = append(w.keys, r.Key)
		}
	case *KeyRevocation:
		keySame(r.Key)
	case *ActionDone:
		if r.Code != "" {
			w.invites = append(w.invites, r.Code)
		}
	case *WebCodeGranted:
		w.codes = append(w.codes, r.Code)
	case *SessionEnded:
		if _, ok := w.state.SessionByID(r.Session.ID); ok {
			w.rt.Fatal("an ended session is still known")
		}
	}
}

// image is a snapshot and its position in the log.
type image struct {
	agents  map[id.ID][]byte
	reports map[id.ID][]byte
	waiting []byte
	// operator is the section of the operators.
	operator []byte
	log      int
}

func (w *world) image() image {
	return image{
		maps.Clone(w.agents), maps.Clone(w.reports), w.waiting, w.operator, len(w.log),
	}
}

// restored is the State of a snapshot and the log behind it.
func (w *world) restored(from image) *State {
	s := New()
	for _, data := range from.agents {
		if err := s.RestoreAgent(data); err != nil {
			w.rt.Fatal(err)
		}
	}
	for _, data := range from.reports {
		if err := s.RestoreReport(data); err != nil {
			w.rt.Fatal(err)
		}
	}
	if err := s.RestoreOperator(from.operator); err != nil {
		w.rt.Fatal(err)
	}
	if err := s.RestoreChallenges(from.waiting); err != nil {
		w.rt.Fatal(err)
	}
	for _, entry := range w.log[from.log:] {
		event, err := DecodeEvent(uint16(entry.kind), entry.data)
		if err != nil {
			w.rt.Fatal(err)
		}
		again, err := EncodeEvent(nil, event)
		if err != nil || !bytes.Equal(again, entry.data) {
			w.rt.Fatalf("event %d: %x, then %x, %v", entry.kind, entry.data, again, err)
		}
		s.Apply(event, entry.now)
	}
	return s
}

// Live == replayed == snapshot and tail, by every byte and every index, whatever the commands.
func TestLiveReplayedAndRestoredAreOne(t *testing.T) {
	met := &met{codes: map[fault.Code]bool{}, kinds: map[Kind]bool{}}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(rt, met)
		images := []image{{waiting: w.waiting, operator: w.operator}}
		for range rapid.IntRange(1, 120).Draw(rt, "steps") {
			w.step()
			if rapid.IntRange(0, 29).Draw(rt, "snapshot") == 0 {
				images = append(images, w.image())
			}
		}
		live := canonical(w.state)
		for _, from := range images {
			s := w.restored(from)
			if got := canonical(s); !bytes.Equal(got, live) {
				rt.Fatalf("from %d of %d entries:\n got %x\nlive %x", from.log, len(w.log),
					got, live)
			}
			if err := checkIndexes(s); err != nil {
				rt.Fatal(err)
			}
		}
		if err := checkIndexes(w.state); err != nil {
			rt.Fatal(err)
		}
		for _, old := range w.published {
			if !bytes.Equal(canonical(old.state), old.text) {
				rt.Fatal("a published state changed")
			}
		}
	})
	t.Logf("met %v and events %v", met.codes, met.kinds)
	for kind := range makers {
		if !met.kinds[kind] {
			t.Logf("no event of kind %d came up", kind)
		}
	}
}
