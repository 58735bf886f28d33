package identity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pws/internal/id"
)

// operatorCommand is a command of operators of a table's line.
func (b *table) operatorCommand(command string) Command {
	agent, reason := b.args["agent"], b.args["why"]
	switch command {
	case "suspend":
		return &SuspendAgent{agent, reason}
	case "restore":
		return &RestoreAgent{agent, reason}
	case "registration":
		mode, ok := ParseRegistrationMode(b.args["mode"])
		if !ok {
			b.t.Fatalf("no mode %q", b.args["mode"])
		}
		return &SetRegistration{mode, reason}
	case "purge":
		return &PurgeContent{[32]byte{1}, reason}
	case "erased":
		return &EndErasure{[][32]byte{{1}}}
	case "drop":
		return &DropProject{id.New(1, [10]byte{}), reason, true}
	case "dropped":
		return &EndDrops{[]id.ID{id.New(1, [10]byte{})}}
	case "quota":
		return b.setQuota(agent, reason)
	case "note":
		return &NoteAction{ActionHide, "project", reason}
	}
	lasts, err := strconv.ParseInt(b.arg("lasts", "1000"), 10, 64)
	if err != nil {
		b.t.Fatal(err)
	}
	return &MakeInvite{lasts, reason}
}

func (b *table) setQuota(agent, reason string) Command {
	command := &SetQuota{Agent: agent, Reason: reason, Default: b.args["bytes"] == "default"}
	command.Quota = Quota(max(0, slices.Index(quotaNames[:], b.args["name"])))
	if command.Quota == QuotaProject {
		command.Project = id.New(1, [10]byte{})
	}
	if bytes, err := strconv.ParseInt(b.args["bytes"], 10, 64); err == nil {
		command.Bytes = bytes
	}
	return command
}

// limits lists the quotas that are set.
func (b *table) limits() string {
	var out strings.Builder
	out.WriteString("ok")
	for _, one := range b.v.state.Limits() {
		fmt.Fprintf(&out, " %s=%d", one.Quota, one.Bytes)
		bytes, set := b.v.state.Limit(one.Quota, one.Subject)
		if other, _ := b.v.state.Limit(one.Quota, id.New(9, [10]byte{})); !set || other != 0 ||
			bytes != one.Bytes {
			b.t.Errorf("%+v is found as %d, %v, and %d for others", one, bytes, set, other)
		}
	}
	return out.String()
}

// actions lists what operators did.
func (b *table) actions() string {
	var out strings.Builder
	out.WriteString("ok")
	for _, done := range b.v.state.Actions() {
		fmt.Fprintf(&out, " %s(%s)", done.Action, done.Reason)
	}
	return out.String()
}

// invite is one of those that were made, or none.
func (w *world) invite() string {
	if len(w.invites) == 0 || rapid.Bool().Draw(w.rt, "uninvited") {
		return ""
	}
	return pick(w.rt, "invite", w.invites)
}

func (w *world) operatorCommand() Command {
	rt := w.rt
	handle := pick(rt, "handle", []string{"ada", "bob", "cat", "dan"})
	return pick(rt, "action", []Command{
		&SuspendAgent{handle, "spam"}, &RestoreAgent{handle, ""}, &RestoreAgent{handle, "sorry"},
		&SetRegistration{RegistrationInvite, ""}, &SetRegistration{RegistrationOpen, ""},
		&SetRegistration{RegistrationOpen, "calm"}, &SetRegistration{RegistrationClosed, ""},
		&PurgeContent{[32]byte{byte(rapid.IntRange(1, 9).Draw(rt, "hash"))}, "leaked"},
		&BeginErasure{}, w.erasure(),
		&DropProject{
			id.New(int64(rapid.IntRange(1, 3).Draw(rt, "project")), [10]byte{}), "spam",
			rapid.Bool().Draw(rt, "by operator"),
		},
		&EndDrops{[]id.ID{id.New(1, [10]byte{}), id.New(2, [10]byte{})}},
		&SetQuota{
			Quota: Quota(rapid.IntRange(1, 4).Draw(rt, "quota")), Agent: handle, Reason: "trusted",
			Bytes: int64(rapid.IntRange(0, 2).Draw(rt, "bytes")), Default: rapid.Bool().Draw(rt, "default"),
		},
		&MakeInvite{60_000, "a friend"}, &MakeInvite{1, ""}, &NoteAction{ActionPurge, "x", "y"},
	})
}

// erasure ends the erasure of what was purged.
func (w *world) erasure() Command {
	command := new(EndErasure)
	for _, one := range w.state.PurgedContents() {
		command.Hashes = append(command.Hashes, one.Hash)
	}
	return command
}

func (v *server) invite(t testing.TB) string {
	t.Helper()
	made, err := v.do(&MakeInvite{LastsMillis: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return made.(*ActionDone).Code
}

// registerInvited registers an agent with an invite.
func (v *server) registerInvited(t testing.TB, name string) {
	t.Helper()
	code := v.invite(t)
	granted, err := v.do(&StartRegistration{
		PublicKey: publicText(testKey(name)), Algorithm: Algorithm, Invite: code,
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = v.do(&CompleteRegistration{
		Proof:  prove(granted.(*ChallengeGranted).Challenge, testKey(name)),
		Handle: name, ClientName: "client", ClientVersion: "1", Invite: code, Secret: testSecret,
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The log of actions keeps the newest.
func TestActionsAreBounded(t *testing.T) {
	v := newServer()
	for n := range ActionsMax + 2 {
		if _, err := v.do(&NoteAction{ActionHide, strconv.Itoa(n), "x"}); err != nil {
			t.Fatal(err)
		}
	}
	done := v.state.Actions()
	if len(done) != ActionsMax || done[0].Subject != "2" || done[0].At != testNow {
		t.Errorf("%d actions, the first is %+v", len(done), done[0])
	}
}

// A section that the rules do not allow is corrupt and changes nothing.
func TestDamagedOperatorSections(t *testing.T) {
	v := newServer()
	v.invite(t)
	sound := v.state.EncodeOperator()
	for _, section := range []*operatorSection{
		{Version: 2}, {Version: 1, Mode: 3}, {Version: 1, Done: []Done{{Action: 99}}},
		{Version: 1, Purged: []Purged{{}, {}}}, {Version: 1, Limits: []Limit{{Quota: 5}}},
		{Version: 1, Limits: []Limit{{Quota: 2}, {Quota: 1}}},
		{Version: 1, Limits: []Limit{{Quota: 1, Bytes: -1}}}, {Version: 1, Drops: []Drop{{}, {}}},
		{Version: 1, Invites: []Invite{{ExpiresAt: 2}, {ExpiresAt: 1}}},
	} {
		if err := v.state.RestoreOperator(encodeSection(section)); err == nil {
			t.Errorf("%+v was restored", section)
		}
	}
	for size := range sound {
		if err := v.state.RestoreOperator(sound[:size]); err == nil {
			t.Errorf("%d bytes were restored", size)
		}
	}
	if string(v.state.EncodeOperator()) != string(sound) || v.state.Suspended(id.ID{}) {
		t.Error("a refused section changed the state")
	}
}
