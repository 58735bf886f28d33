package actors

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"pws/actors/offline"
	"pws/identity"
	"pws/index"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/work"
)

// addKey gives an agent a key of its own.
func addKey(t testing.TB, e *Engine, agent id.ID, seed string) (key id.ID) {
	t.Helper()
	sum := sha256.Sum256([]byte(seed))
	private := ed25519.NewKeyFromSeed(sum[:])
	text := base64.RawURLEncoding.EncodeToString
	caller := callerOf(t, e, agent)
	done, err := e.DoIdentity(identityOrderOf(&identity.StartKey{
		Caller: caller, PublicKey: text(private.Public().(ed25519.PublicKey)),
		Algorithm: identity.Algorithm,
	}))
	if err != nil {
		t.Fatal(err)
	}
	challenge := done.Result.(*identity.ChallengeGranted).Challenge
	done, err = e.DoIdentity(identityOrderOf(&identity.CompleteKey{
		Caller: caller, Proof: identity.Proof{
			ChallengeID: challenge.ID.Format(id.Challenge), Challenge: challenge.Text(),
			Signature: text(ed25519.Sign(private, []byte(challenge.SigningPayload()))),
		},
	}))
	if err != nil {
		t.Fatal(err)
	}
	return done.Result.(*identity.KeyAddition).Key.ID
}

func revokeKey(t testing.TB, e *Engine, agent, key id.ID) {
	t.Helper()
	_, err := e.DoIdentity(identityOrderOf(&identity.RevokeKey{
		Caller: callerOf(t, e, agent), KeyID: key.Format(id.Key),
	}))
	if err != nil {
		t.Fatal(err)
	}
}

// keysOf prints the items of an agent's inbox that are about keys: + for one that was added, - for
// one that was revoked, and its letter in names.
func keysOf(e *Engine, agent id.ID, names map[id.ID]string) (all string) {
	items, _ := e.Inbox(agent)
	for _, item := range items {
		if item.Kind == work.NoticeKeyAdded {
			all += "+" + names[item.Subject.ID]
		}
		if item.Kind == work.NoticeKeyRevoked {
			all += "-" + names[item.Subject.ID]
		}
	}
	return all
}

// TestKeyChangesSurviveARestart crashes with items of keys in the log, in a section, and in both.
func TestKeyChangesSurviveARestart(t *testing.T) {
	config := quiet(t.TempDir())
	e := start(t, config)
	ann, bob := register(t, e, "ann"), register(t, e, "bob")
	names, want := map[id.ID]string{}, ""
	again := func(what string) {
		t.Helper()
		before := fullState(t, e)
		copied := crashCopy(t, config.Dir)
		stop(t, e)
		config.Dir = copied
		if _, err := Verify(config.Dir); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		e = start(t, config)
		sameState(t, what, before, fullState(t, e))
		if got := keysOf(e, ann, names); got != want {
			t.Errorf("%s: the inbox has %s, want %s", what, got, want)
		}
		if items, _ := e.Inbox(bob); len(items) > 0 {
			t.Errorf("%s: another agent's inbox has %v", what, items)
		}
	}
	again("only registered")
	first := addKey(t, e, ann, "first")
	names[first], want = "1", "+1"
	again("in the log")
	saveAll(t, e)
	again("saved")
	second := addKey(t, e, ann, "second")
	revokeKey(t, e, ann, first)
	names[second], want = "2", "+1+2-1"
	again("saved, and some in the log behind")
	// What changes nothing delivers nothing.
	revokeKey(t, e, ann, first)
	items, _ := e.Inbox(ann)
	mustMark(t, e, &identity.MarkInbox{
		Caller: callerOf(t, e, ann), Status: identity.ItemArchived,
		Items: []identity.Place{items[0].Place},
	})
	saveAll(t, e)
	again("all saved")
	if items, _ = e.Inbox(ann); !items[0].Archived || items[1].Archived {
		t.Errorf("archived are %v", items)
	}
	stop(t, e)
}

// TestVerifyReportsInboxItemsOfOtherKeys saves items of keys that the agent's record contradicts.
func TestVerifyReportsInboxItemsOfOtherKeys(t *testing.T) {
	config := quiet(t.TempDir())
	e := start(t, config)
	ann, bob := register(t, e, "ann"), register(t, e, "bob")
	key := addKey(t, e, ann, "key")
	addKey(t, e, bob, "of bob")
	of := e.Identity().Keys(ann)[0].ID
	saveAll(t, e)
	good, _ := e.inbox.Saved(ann)
	stop(t, e)
	for name, c := range map[string]struct {
		change func(saved *index.SavedInbox)
		faults int
	}{
		"nothing": {func(*index.SavedInbox) {}, 0},
		// An older version made no items of keys.
		"no item":     {func(saved *index.SavedInbox) { saved.Items = nil }, 0},
		"no such key": {func(saved *index.SavedInbox) { saved.Items[0].Subject.ID = id.ID{1} }, 1},
		"another's key": {func(saved *index.SavedInbox) {
			saved.Items[0].Subject.ID = e.Identity().Keys(bob)[1].ID
		}, 1},
		"the first key": {func(saved *index.SavedInbox) { saved.Items[0].Subject.ID = of }, 1},
		"another time":  {func(saved *index.SavedInbox) { saved.Items[0].At++ }, 1},
		"not revoked": {func(saved *index.SavedInbox) {
			saved.Items[0].Kind = work.NoticeKeyRevoked
		}, 1},
		"by another":   {func(saved *index.SavedInbox) { saved.Items[0].Actor = bob }, 1},
		"in a project": {func(saved *index.SavedInbox) { saved.Items[0].Project = id.ID{1} }, 1},
		"of no key": {func(saved *index.SavedInbox) {
			saved.Items[0].Subject.Type = work.SubjectAgent
		}, 1},
		"twice": {func(saved *index.SavedInbox) {
			saved.Items = append(saved.Items, saved.Items[0])
			saved.Items[1].Place.Nth++
		}, 1},
		"without a project": {func(saved *index.SavedInbox) {
			saved.Items[0].Kind = work.NoticeMention
		}, 1},
	} {
		one := config
		one.Dir = crashCopy(t, config.Dir)
		again := start(t, one)
		saved := good
		saved.Items = slices.Clone(saved.Items)
		c.change(&saved)
		writer, err := again.snapshot.Begin()
		if err != nil {
			t.Fatal(err)
		}
		position, _ := again.snapshot.SectionPosition(datadir.InboxKey(ann))
		if err := writer.Put(datadir.InboxKey(ann), position, encodeInbox(saved)); err != nil {
			t.Fatal(err)
		}
		if err := writer.Commit(again.snapshot.Position()); err != nil {
			t.Fatal(err)
		}
		stop(t, again)
		_, err = Verify(one.Dir)
		var damage *offline.Damage
		errors.As(err, &damage)
		switch {
		case damage == nil && (err != nil || c.faults > 0),
			damage != nil && len(damage.Faults) != c.faults:
			t.Errorf("%s: %v, want %d faults", name, err, c.faults)
		}
	}
	if key == of {
		t.Fatal("the key is the first one")
	}
}

// frozenInbox is a section of version 2 with a count, a reply, and a key that was revoked.
const frozenInbox = "02" + "01" + "02000000000000000000000000000000" + "02" + "a09c01" + "63" +
	"07" + "08" + "05" + "02" + "00" + "01000000000000000000000000000000" +
	"02000000000000000000000000000000" + "0c" + "03000000000000000000000000000000" +
	"00000000000000000000000000000000" +
	"09" + "04" + "06" + "0a" + "01" + "00000000000000000000000000000000" +
	"05000000000000000000000000000000" + "0f" + "06000000000000000000000000000000" +
	"00000000000000000000000000000000"

// TestFrozenInbox reads a section as it was written once, and writes it so.
func TestFrozenInbox(t *testing.T) {
	want := index.SavedInbox{
		Counts: []index.InboxCount{
			{Actor: id.ID{2}, Kind: work.NoticeReply, Day: 20_000, Items: 99},
		},
		Items: []index.InboxItem{{
			Place: identity.Place{Entry: 7, Nth: 8}, At: 5, Kind: work.NoticeReply,
			Project: id.ID{1}, Actor: id.ID{2},
			Subject: work.Subject{Type: work.SubjectComment, ID: id.ID{3}},
		}, {
			Place: identity.Place{Entry: 9, Nth: 4}, At: 6, Kind: work.NoticeKeyRevoked,
			Archived: true, Actor: id.ID{5},
			Subject: work.Subject{Type: work.SubjectKey, ID: id.ID{6}},
		}},
	}
	section, err := hex.DecodeString(frozenInbox)
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeInbox(section)
	if err != nil || !slices.Equal(got.Counts, want.Counts) || !slices.Equal(got.Items, want.Items) {
		t.Fatalf("read as %+v, %v", got, err)
	}
	if text := hex.EncodeToString(encodeInbox(want)); text != frozenInbox {
		t.Fatalf("written as %s", text)
	}
}
