package actors

import (
	"encoding/binary"
	"strings"
	"testing"

	"pws/api"
	"pws/identity"
	"pws/internal/id"
	"pws/work"
)

// TestSetQuotasSurvive sets quotas of an agent between its writes, and compares what another engine
// finds after a crash: with the entries in the log, in a snapshot, and in both.
func TestSetQuotasSurvive(t *testing.T) {
	limits := limited(api.StoredLimits{Agent: 1 << 30, AgentHour: 1 << 20})
	var config Config
	e, project, owner := oneProject(t, func(c *Config) { limits(c); config = *c })
	// What was stored in the hour must not drain.
	now := reading{wall: e.Now()}
	source := func() reading { return now }
	e.clock.source.Store(&source)
	set := func(quota identity.Quota, bytes int64) {
		t.Helper()
		command := &identity.SetQuota{
			Quota: quota, Agent: "owner", Project: project, Bytes: bytes, Default: bytes < 0,
			Reason: "x",
		}
		command.Bytes = max(0, bytes)
		if done, err := e.SetQuota(command); err != nil || !done.Changed {
			t.Fatal(done, err)
		}
	}
	same := func(when string) {
		t.Helper()
		copied := quiet(crashCopy(t, config.Dir))
		limits(&copied)
		found := start(t, copied)
		checkAccounts(t, found)
		want, got := e.accounts.account(owner), found.accounts.account(owner)
		if want.mu.emptyAt != got.mu.emptyAt || want.mu.hourLimit != got.mu.hourLimit {
			t.Errorf("%s: until %d by %d, want until %d by %d", when, got.mu.emptyAt,
				got.mu.hourLimit, want.mu.emptyAt, want.mu.hourLimit)
		}
		limits := e.StoredBy(owner, project).Limits
		if got := found.StoredBy(owner, project).Limits; got != limits {
			t.Errorf("%s: %+v, want %+v", when, got, limits)
		}
		stop(t, found)
		if _, err := Verify(copied.Dir); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	for round, hour := range []int64{2 << 20, 1 << 30, 10_000, 0, -1} {
		before := e.StoredBy(owner, id.ID{}).Hour
		set(identity.QuotaAgentHour, hour)
		if now := e.StoredBy(owner, id.ID{}).Hour; now > before {
			t.Errorf("%d bytes of the hour are used, then %d", before, now)
		}
		mustPut(t, e, project, owner, "f", strings.Repeat("x", 100+round))
		set(identity.QuotaProject, int64(1<<20+round))
		same("in the log")
		if round%2 == 1 {
			saveAll(t, e)
			same("in a snapshot")
		}
	}
	if used := e.StoredBy(owner, id.ID{}); used.Hour < 400 || used.Limits.AgentHour != 1<<20 {
		t.Errorf("%+v", used)
	}
}

// TestAccountSectionVersion1IsRead reads a section of version 1, which has no hourly quota.
func TestAccountSectionVersion1IsRead(t *testing.T) {
	section := binary.AppendUvarint(binary.AppendUvarint([]byte{1}, 700), 9_000_000)
	var one account
	if err := one.decode(section, 5, 1<<20); err != nil {
		t.Fatal(err)
	}
	if one.mu.bytes != 700 || one.mu.emptyAt != 9_000_000 || one.mu.hourLimit != 1<<20 ||
		one.mu.position != 5 {
		t.Errorf("%+v", &one.mu)
	}
	saved, position := one.encode()
	var again account
	if err := again.decode(saved, position, 1); err != nil {
		t.Fatal(err)
	}
	if again.mu.bytes != 700 || again.mu.emptyAt != 9_000_000 || again.mu.hourLimit != 1<<20 {
		t.Errorf("%+v", &again.mu)
	}
	for size := range saved {
		if err := new(account).decode(saved[:size], 1, 1); err == nil {
			t.Errorf("%d of %d bytes are read", size, len(saved))
		}
	}
}

// TestQuotaOfRemovedProject shows and sets none for a project that is gone.
func TestQuotaOfRemovedProject(t *testing.T) {
	e, project, _ := oneProject(t, nil)
	mustDo(t, e, project, id.ID{}, &work.RemoveProject{Reason: "malware"})
	if _, err := e.QuotasOfProject(project); err == nil {
		t.Error("its quotas are shown")
	}
	command := &identity.SetQuota{Quota: identity.QuotaProject, Project: project, Reason: "x"}
	if _, err := e.SetQuota(command); err == nil || len(e.Identity().Limits()) != 0 {
		t.Error("its quota is set")
	}
}
