package identity

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pws/internal/fault"
	"pws/internal/id"
)

func TestOldestLiveSessionEndsBeyondTheLimit(t *testing.T) {
	v := newServer()
	ada := v.register(t, "ada")
	private := testKey("ada")
	hashes := [][32]byte{ada.Session.Hash}
	for range SessionsLiveMax {
		v.now++
		hashes = append(hashes, v.login(t, ada.Key, private).Session.Hash)
	}
	agent, _ := v.state.Agent(ada.Agent.ID)
	if got := len(agent.Sessions()); got != SessionsLiveMax {
		t.Fatalf("%d sessions", got)
	}
	for i, hash := range hashes {
		_, err := v.state.Authenticate(hash, v.now)
		if got := fault.CodeOf(err); i == 0 && got != fault.SessionInvalid ||
			i > 0 && err != nil {
			t.Fatalf("session %d: %v", i, err)
		}
	}
	// Once more as many within the day, and one: the expired ones that are kept are bounded too.
	for range 2 {
		v.now += SessionMillis
		for range SessionsLiveMax {
			v.login(t, ada.Key, private)
		}
	}
	agent, _ = v.state.Agent(ada.Agent.ID)
	if got := len(agent.Sessions()); got != SessionsKeptMax {
		t.Fatalf("%d sessions are kept", got)
	}
	_, err := v.state.Authenticate(hashes[len(hashes)-1], v.now)
	if fault.CodeOf(err) != fault.SessionInvalid {
		t.Fatalf("a session beyond those kept: %v", err)
	}
	if err := checkIndexes(v.state); err != nil {
		t.Fatal(err)
	}
	v.now += SessionMillis + SessionMemoryMillis
	if _, err := v.do(&Prune{}); err != nil {
		t.Fatal(err)
	}
	if got := v.state.Counts().Sessions; got != 0 {
		t.Fatalf("%d sessions a day later", got)
	}
}

func TestKeysOfAllTimeAreBounded(t *testing.T) {
	v := newServer()
	ada := v.register(t, "ada")
	caller := callerOf(ada.Session)
	for i := 1; i < KeysMax; i++ {
		st := v.stamp()
		added := &KeyAdded{
			Agent: ada.Agent.ID, Key: st.newID("key"), PublicKey: st.derive("public key"),
		}
		v.apply(v.now, added, &KeyRevoked{Agent: ada.Agent.ID, Key: added.Key})
	}
	_, err := v.do(&StartKey{
		Caller: caller, PublicKey: publicText(testKey("more")), Algorithm: Algorithm,
	})
	if fault.CodeOf(err) != fault.QuotaExceeded {
		t.Fatalf("err = %v", err)
	}
}

func TestIdempotencyRecordsAreBounded(t *testing.T) {
	v := newServer()
	ada := v.register(t, "ada")
	key := func(at int) [16]byte { return [16]byte{byte(at), byte(at >> 8)} }
	for i := range ResultsMax + 5 {
		v.now++
		v.apply(v.now, NewResultStored(ada.Agent.ID, key(i), [16]byte{}, v.now, 201, nil))
	}
	for i := range ResultsMax + 5 {
		if _, ok := v.state.StoredResult(ada.Agent.ID, key(i), v.now); ok != (i >= 5) {
			t.Fatalf("record %d: %v", i, ok)
		}
	}
}

func TestExpiredChallengesAreSwept(t *testing.T) {
	v := newServer()
	start := func(seed string) {
		t.Helper()
		if _, err := v.do(&StartRegistration{
			publicText(testKey(seed)), Algorithm, "", "",
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2*challengesSweptMax + 1 {
		start(fmt.Sprint("ada", i))
	}
	v.now += ChallengeMillis
	for _, want := range []int{challengesSweptMax + 2, 3, 3} {
		start("bob")
		if got := v.state.Counts().Challenges; got != want {
			t.Fatalf("%d challenges, want %d", got, want)
		}
	}
	v.now += ChallengeMillis
	if _, err := v.do(&Prune{}); err != nil || v.state.Counts().Challenges != 0 {
		t.Fatalf("%v, %+v", err, v.state.Counts())
	}
	if out, err := (&Prune{}).Decide(v.state, v.stamp()); err != nil || len(out.Events) > 0 {
		t.Fatalf("nothing is left to prune, but %v, %v", out.Events, err)
	}
}

func TestClientLengthsCountCharacters(t *testing.T) {
	for _, c := range []struct {
		name, version string
		faults        int
	}{
		{strings.Repeat("ä", ClientNameMax), strings.Repeat("日", ClientVersionMax), 0},
		{strings.Repeat("a", ClientNameMax+1), strings.Repeat("b", ClientVersionMax+1), 2},
		{"a b", "1.0 (c)", 0}, {"a\tb", "1\u0085", 2}, {"\x7f", "\xc0\x80", 2}, {"", "", 2},
	} {
		if got := checkClient(nil, c.name, c.version); len(got) != c.faults {
			t.Errorf("%q, %q: %v", c.name, c.version, got)
		}
	}
}

func TestSeenIsNotedOnceAMinute(t *testing.T) {
	v := newServer()
	ada := v.register(t, "ada")
	see := &SeeSession{Caller: callerOf(ada.Session)}
	for _, c := range []struct{ advance, seen int64 }{
		{0, 0}, {SessionSeenMillis - 1, 0}, {1, SessionSeenMillis}, {1, SessionSeenMillis},
		{SessionSeenMillis - 1, 2 * SessionSeenMillis},
	} {
		v.now += c.advance
		if _, err := v.do(see); err != nil {
			t.Fatal(err)
		}
		agent, _ := v.state.Agent(ada.Agent.ID)
		session, _ := v.state.SessionByID(ada.Session.ID)
		for _, got := range []int64{
			agent.LastSeenAt, session.LastSeenAt, agent.Keys()[0].LastUsedAt,
		} {
			if got != testNow+c.seen {
				t.Fatalf("seen at %d, want %d", got-testNow, c.seen)
			}
		}
	}
}

func TestSigningPayloadIsStable(t *testing.T) {
	challenge := &Challenge{
		ID: id.New(testNow, [10]byte{1}), Purpose: PurposeRegister, Nonce: [32]byte{2},
		PublicKey: [32]byte{3}, ExpiresAt: testNow + ChallengeMillis,
	}
	want := "pws/v1|register|cha_01kafc0s000400000000000000|" +
		"AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA|" +
		"AwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA|2025-11-20T00:58:20.000Z"
	if got := challenge.SigningPayload(); got != want {
		t.Errorf("payload is\n%s, want\n%s", got, want)
	}
	challenge.Audience = "https://work.example"
	if got := challenge.SigningPayload(); got != want+"|https://work.example" {
		t.Errorf("payload for an audience is\n%s", got)
	}
	challenge.Purpose, challenge.AgentID = PurposeAddKey, id.New(testNow, [10]byte{4})
	want = strings.Replace(want, "register", "add-key", 1) + "|" +
		challenge.AgentID.Format(id.Agent) + "|https://work.example"
	if got := challenge.SigningPayload(); got != want {
		t.Errorf("payload is\n%s, want\n%s", got, want)
	}
}

func TestFormatTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		millis := rapid.Int64Range(-62_167_219_200_000, 253_402_300_799_999).Draw(t, "millis")
		want := time.UnixMilli(millis).UTC().Format("2006-01-02T15:04:05.000Z")
		if got := formatTime(millis); got != want {
			t.Fatalf("formatTime(%d) = %s, want %s", millis, got, want)
		}
	})
}

func TestKeyTexts(t *testing.T) {
	key := &Key{PublicKey: [32]byte{1}}
	if got := key.Text(); got != "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" {
		t.Errorf("Text = %s", got)
	}
	if got := key.Fingerprint(); got != "SHA256:AdD6vSUfy74rk7S5J7Jq0qGpkHcVLkXe0eZ4r6RdvsU" {
		t.Errorf("Fingerprint = %s", got)
	}
}
