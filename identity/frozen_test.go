package identity

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pws/internal/id"
)

var freeze = flag.String("freeze", "", "write a new frozen history of this name into testdata")

// A frozen history has a line per event, "event KIND NOW HEX", and then the sections of the
// resulting State, "agent HEX", "report HEX", "operator HEX" and "challenges HEX". The files are
// never rewritten: they represent logs and snapshots on disks of users.
func TestFrozenHistories(t *testing.T) {
	if *freeze != "" {
		writeHistory(t, filepath.Join("testdata", *freeze+".history"))
	}
	files, err := filepath.Glob("testdata/*.history")
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories: %v", err)
	}
	kinds := map[Kind]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { readHistory(t, file, kinds) })
	}
	for kind := range makers {
		if !kinds[kind] {
			t.Errorf("no frozen event of kind %d", kind)
		}
	}
}

func readHistory(t *testing.T, file string, kinds map[Kind]bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	replayed, restored := New(), New()
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		words := strings.Fields(line)
		data, err := hex.DecodeString(words[len(words)-1])
		if err != nil {
			t.Fatal(err)
		}
		switch words[0] {
		case "event":
			kind, _ := strconv.ParseUint(words[1], 10, 16)
			now, _ := strconv.ParseInt(words[2], 10, 64)
			event, err := DecodeEvent(uint16(kind), data)
			if err != nil {
				t.Fatalf("%s:%d: %v", file, i+1, err)
			}
			again, err := EncodeEvent(nil, event)
			if err != nil || !bytes.Equal(again, data) {
				t.Errorf("%s:%d: is now %x, %v", file, i+1, again, err)
			}
			replayed.Apply(event, now)
			kinds[event.Kind()] = true
		case "agent":
			err = restored.RestoreAgent(data)
		case "report":
			err = restored.RestoreReport(data)
		case "operator":
			err = restored.RestoreOperator(data)
		case "challenges":
			err = restored.RestoreChallenges(data)
		}
		if err != nil {
			t.Fatalf("%s:%d: %v", file, i+1, err)
		}
	}
	if got, want := canonical(replayed), canonical(restored); !bytes.Equal(got, want) {
		t.Errorf("replayed %x\nrestored %x", got, want)
	}
}

func writeHistory(t *testing.T, file string) {
	v := everyKind(t)
	var out strings.Builder
	for _, entry := range v.log {
		fmt.Fprintf(&out, "event %d %d %x\n", entry.kind, entry.now, entry.data)
	}
	for agent := range v.state.Agents(id.ID{}) {
		fmt.Fprintf(&out, "agent %x\n", v.state.EncodeAgent(agent.ID))
	}
	for report := range v.state.Reports(id.ID{}) {
		fmt.Fprintf(&out, "report %x\n", v.state.EncodeReport(report.ID))
	}
	fmt.Fprintf(&out, "operator %x\n", v.state.EncodeOperator())
	fmt.Fprintf(&out, "challenges %x\n", v.state.EncodeChallenges())
	handle, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := handle.WriteString(out.String()); err != nil {
		t.Fatal(err)
	}
	if err := handle.Close(); err != nil {
		t.Fatal(err)
	}
}

// everyKind is a server whose log holds every kind of event.
func everyKind(t testing.TB) *server {
	v := newServer()
	do := func(command Command) Result {
		t.Helper()
		result, err := v.do(command)
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	gone := v.register(t, "gone")
	v.apply(v.now,
		NewResultStored(gone.Agent.ID, [16]byte{1}, [16]byte{2}, v.now, 201, []byte(`{"ok":true}`)))
	v.now += SessionMillis + SessionMemoryMillis
	do(&Prune{})
	ada := v.register(t, "Ada")
	caller := callerOf(ada.Session)
	v.now += SessionSeenMillis
	do(&SeeSession{Caller: caller})
	second := v.addKey(t, caller, "second")
	v.login(t, second, testKey("second"))
	do(&RevokeKey{Caller: caller, KeyID: second.ID.Format(id.Key)})
	other := v.login(t, ada.Key, testKey("Ada"))
	do(&EndSession{Caller: callerOf(other.Session)})
	v.login(t, ada.Key, testKey("Ada"))
	v.reportEach(t, ada.Agent.ID)
	v.apply(v.now, NewResultStored(ada.Agent.ID, [16]byte{3}, [16]byte{4}, v.now, 409, nil))
	do(&MarkInbox{Caller: caller, Status: ItemArchived, Items: []Place{{Entry: 3}, {5, 17}}})
	do(&MarkInbox{
		Caller: caller, Status: ItemRead, Items: []Place{{Entry: 4}, {9, 8}}, Through: Place{Entry: 10},
		Spared: []Place{{Entry: 2}}, Gone: []Place{{Entry: 3}},
	})
	do(&MarkInbox{Caller: caller, Items: []Place{{9, 8}}})
	bad := v.register(t, "bad")
	do(&SuspendAgent{Agent: bad.Agent.Handle, Reason: "spam"})
	do(&SuspendAgent{Agent: "gone", Reason: "old"})
	do(&RestoreAgent{Agent: "gone"})
	do(&SetRegistration{Mode: RegistrationInvite, Reason: "a flood"})
	do(&MakeInvite{LastsMillis: 1000})
	v.registerInvited(t, "guest")
	do(&PurgeContent{Hash: [32]byte{2}, Reason: "leaked"})
	do(&PurgeContent{Hash: [32]byte{1}, Reason: "leaked too"})
	do(&BeginErasure{})
	do(&EndErasure{Hashes: [][32]byte{{2}}})
	do(&SetQuota{Quota: QuotaAgent, Agent: "gone", Bytes: 5, Reason: "trusted"})
	do(&SetQuota{Quota: QuotaServer, Reason: "a larger disk"})
	do(&SetQuota{Quota: QuotaServer, Default: true, Reason: "it was none"})
	do(&DropProject{Project: id.New(1, [10]byte{1}), Reason: "spam", ByOperator: true})
	do(&DropProject{Project: id.New(2, [10]byte{2}), Reason: "the owner"})
	do(&EndDrops{Projects: []id.ID{id.New(1, [10]byte{1})}})
	login := v.login(t, ada.Key, testKey("Ada"))
	do(&DeclareProfile{Caller: callerOf(login.Session), Lists: everyList})
	granted := do(&StartRegistration{
		PublicKey: publicText(testKey("x")), Algorithm: Algorithm, Invite: v.invite(t),
	})
	_, err := v.do(&CompleteRegistration{
		Proof:  prove(granted.(*ChallengeGranted).Challenge, testKey("y")),
		Handle: "xxx", ClientName: "c", ClientVersion: "1", Secret: testSecret,
	})
	if err == nil {
		t.Fatal("a wrong proof holds")
	}
	v.useWeb(t, callerOf(login.Session))
	for range ChallengesPerKeyMax + 1 {
		do(&RequestChallenge{
			ada.Agent.ID.Format(id.Agent), ada.Key.ID.Format(id.Key), "https://work.example",
		})
	}
	return v
}
