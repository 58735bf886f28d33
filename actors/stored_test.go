package actors

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pws/api"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// storedQuota is the quota that a write has exceeded, "" for none, and when to retry.
func storedQuota(t testing.TB, err error) (quota string, retry int) {
	t.Helper()
	if err == nil {
		return "", 0
	}
	var refusal *fault.Error
	if !errors.As(err, &refusal) || refusal.Code != fault.QuotaExceeded {
		t.Fatal(err)
	}
	quota, _ = refusal.Details["quota"].(string)
	retry, _ = refusal.Details["retry_after_seconds"].(int)
	return quota, retry
}

func limited(limits api.StoredLimits) func(*Config) {
	return func(c *Config) { c.Stored = limits }
}

// checkAccounts compares the accounts with what the projects say.
func checkAccounts(t testing.TB, e *Engine) {
	t.Helper()
	want, all := map[id.ID]int64{}, int64(0)
	e.handles.Range(func(project id.ID, _ *handle) bool {
		if p := viewOf(t, e, project); p != nil {
			for _, one := range p.StoredByAgents() {
				if !one.Agent.IsZero() {
					want[one.Agent] += one.Bytes
					all += one.Bytes
				}
			}
		}
		return true
	})
	for agent, bytes := range want {
		if got := e.StoredBy(agent, id.ID{}).Bytes; got != bytes {
			t.Errorf("an account has %d bytes, the projects %d", got, bytes)
		}
	}
	e.accounts.of.Range(func(agent id.ID, one *account) bool {
		if one.mu.reserved != 0 {
			t.Errorf("%d bytes are still reserved", one.mu.reserved)
		}
		if _, known := want[agent]; !known && one.mu.bytes != 0 {
			t.Errorf("an account has %d bytes of no project", one.mu.bytes)
		}
		return true
	})
	if got := e.accounts.total.Load(); got != all {
		t.Errorf("all accounts have %d bytes, the projects %d", got, all)
	}
}

// TestStoredQuotaOfAgents fills the quota of an agent from two projects.
func TestStoredQuotaOfAgents(t *testing.T) {
	const limit = 20_000
	e, first, owner := oneProject(t, limited(api.StoredLimits{Agent: limit}))
	second := createProject(t, e, owner, work.Private)
	other := register(t, e, "other")
	others := createProject(t, e, other, work.Public)
	refused := ""
	for n := 0; refused == ""; n++ {
		before := e.StoredBy(owner, id.ID{}).Bytes
		project := []id.ID{first, second}[n%2]
		content := fmt.Sprint(n, strings.Repeat("x", 1000))
		_, err := put(e, project, owner, fmt.Sprint("f", n), content)
		refused, _ = storedQuota(t, err)
		more := e.StoredBy(owner, id.ID{}).Bytes - before
		if refused == "" && more < 1000 || refused != "" && more != 0 {
			t.Fatalf("write %d (%q) counts as %d bytes", n, refused, more)
		}
	}
	used := e.StoredBy(owner, id.ID{})
	if refused != "stored_bytes_of_agent" || used.Bytes > limit || used.Bytes < limit-1200 ||
		used.Limits.Agent != limit {
		t.Errorf("%s at %+v", refused, used)
	}
	mustPut(t, e, others, other, "f", strings.Repeat("y", 2000))
	// What only ends something is accepted and counted.
	private := work.Private
	for {
		_, err := put(e, first, owner, "small", fmt.Sprint(e.StoredBy(owner, id.ID{}).Bytes))
		if err != nil {
			break
		}
	}
	mustDo(t, e, first, owner, &work.UpdateProject{Visibility: private})
	if now := e.StoredBy(owner, id.ID{}).Bytes; now <= used.Bytes {
		t.Errorf("an update did not count: %d, then %d", used.Bytes, now)
	}
	checkAccounts(t, e)
}

// TestStoredQuotaOfAnHour uses up the quota of an hour, waits as long as the refusal says, and
// writes again.
func TestStoredQuotaOfAnHour(t *testing.T) {
	const limit = 36_000
	e, project, owner := oneProject(t, limited(api.StoredLimits{AgentHour: limit}))
	content := func(n int) string { return fmt.Sprint(n, strings.Repeat("x", 5000)) }
	n := 0
	for ; ; n++ {
		_, err := put(e, project, owner, "f", content(n))
		quota, retry := storedQuota(t, err)
		if quota == "" {
			continue
		}
		if quota != "stored_bytes_of_agent_hour" || retry < 1 || retry > 600 {
			t.Fatalf("%s, retry after %d seconds", quota, retry)
		}
		usage := e.StoredBy(owner, id.ID{})
		wait := usage.HourResetAt - e.Now()
		if usage.Hour > limit || usage.Hour < limit-6000 || wait < 2_900_000 || wait > 3_600_000 {
			t.Errorf("%+v, %d ms until it is reset", usage, wait)
		}
		e.Advance(int64(retry) * 1000)
		break
	}
	mustPut(t, e, project, owner, "f", content(n))
	e.Advance(3_600_000)
	if usage := e.StoredBy(owner, id.ID{}); usage.Hour != 0 || usage.Bytes < limit {
		t.Errorf("after an hour: %+v", usage)
	}
	// No time helps a request that is larger than the quota.
	_, err := put(e, project, owner, "g", strings.Repeat("x", limit))
	if quota, retry := storedQuota(t, err); quota != "stored_bytes_of_agent_hour" || retry != 0 {
		t.Errorf("%q, retry after %d seconds", quota, retry)
	}
}

func TestStoredQuotasOfProjectAndServer(t *testing.T) {
	e, project, owner := oneProject(t, limited(api.StoredLimits{Project: 10_000, All: 24_000}))
	guest := register(t, e, "guest")
	eight := strings.Repeat("x", 8000)
	mustPut(t, e, project, owner, "f", eight)
	_, err := put(e, project, owner, "g", eight+"y")
	if quota, _ := storedQuota(t, err); quota != "stored_bytes_of_project" {
		t.Errorf("%q", quota)
	}
	talk := &work.CreateDiscussion{Title: "t", Body: strings.Repeat("b", 2000)}
	_, err = e.Do(api.Order{Project: project, Agent: guest, Command: talk})
	if quota, _ := storedQuota(t, err); quota != "stored_bytes_of_guest" {
		t.Errorf("%q", quota)
	}
	more := createProject(t, e, owner, work.Public)
	mustPut(t, e, more, owner, "f", eight)
	last := createProject(t, e, guest, work.Public)
	_, err = put(e, last, guest, "f", eight+"z")
	if quota, _ := storedQuota(t, err); quota != "stored_bytes" {
		t.Errorf("%q", quota)
	}
	checkAccounts(t, e)
}

// TestStoredQuotaOfParallelWrites lets one agent write to many projects at the same time: together
// they store no more than the quota.
func TestStoredQuotaOfParallelWrites(t *testing.T) {
	const limit, size = 200_000, 3000
	e, _, owner := oneProject(t, limited(api.StoredLimits{Agent: limit}))
	var all sync.WaitGroup
	for n := range 16 {
		project := createProject(t, e, owner, work.Public)
		all.Go(func() {
			for i := range 20 {
				content := fmt.Sprint(n, i, strings.Repeat("x", size))
				_, err := put(e, project, owner, fmt.Sprint(i), content)
				if quota, _ := storedQuota(t, err); quota != "" && quota != "stored_bytes_of_agent" {
					t.Error(quota)
				}
			}
		})
	}
	all.Wait()
	if used := e.StoredBy(owner, id.ID{}).Bytes; used > limit || used < limit-2*size {
		t.Errorf("%d of %d bytes are stored", used, limit)
	}
	checkAccounts(t, e)
}

// TestStoredBytesSurviveACrash compares what is counted with what another engine finds, after a
// crash with the entries in the log, in a snapshot, and in both; and after a project is removed.
func TestStoredBytesSurviveACrash(t *testing.T) {
	limits := limited(api.StoredLimits{Agent: 1 << 30, AgentHour: 1 << 20})
	var config Config
	e, project, owner := oneProject(t, func(c *Config) { limits(c); config = *c })
	second := createProject(t, e, owner, work.Public)
	guest := register(t, e, "guest")
	talk := &work.CreateDiscussion{Title: "t", Body: "b"}
	same := func(when string) {
		t.Helper()
		copied := quiet(crashCopy(t, config.Dir))
		limits(&copied)
		found := start(t, copied)
		checkAccounts(t, found)
		for _, agent := range []id.ID{owner, guest} {
			want, got := e.accounts.account(agent), found.accounts.account(agent)
			if want.mu.bytes != got.mu.bytes || want.mu.emptyAt != got.mu.emptyAt {
				t.Errorf("%s: %d bytes until %d, want %d until %d", when, got.mu.bytes,
					got.mu.emptyAt, want.mu.bytes, want.mu.emptyAt)
			}
		}
		stop(t, found)
		if _, err := Verify(copied.Dir); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	for round := range 3 {
		mustPut(t, e, project, owner, "f", fmt.Sprint("content ", round))
		mustPut(t, e, second, owner, "f", fmt.Sprint("content ", round))
		mustDo(t, e, second, guest, talk)
		same("in the log")
		if round == 1 {
			saveAll(t, e)
			same("in a snapshot")
		}
	}
	before := e.StoredBy(owner, id.ID{}).Bytes
	gone := viewOf(t, e, second).StoredBy(owner)
	mustDo(t, e, second, id.ID{}, &work.RemoveProject{Reason: "malware"})
	if now := e.StoredBy(owner, id.ID{}).Bytes; gone == 0 || now != before-gone {
		t.Errorf("%d bytes after a project with %d of %d was removed", now, gone, before)
	}
	same("removed, in the log")
	saveAll(t, e)
	same("removed, in a snapshot")
}

// TestRefusedWritesStoreNothing refuses writes because the disk is full.
func TestRefusedWritesStoreNothing(t *testing.T) {
	var free atomic.Int64
	free.Store(1 << 40)
	config := smallDisk(t.TempDir(), &free)
	config.Stored = api.StoredLimits{Agent: 1 << 20}
	e := start(t, config)
	owner := register(t, e, "owner")
	project := createProject(t, e, owner, work.Public)
	before := e.StoredBy(owner, id.ID{})
	free.Store(64*mib - 1)
	settleSpace(t, e, false)
	if _, err := put(e, project, owner, "f", "x"); !refusedForSpace(err) {
		t.Fatal(err)
	}
	if now := e.StoredBy(owner, id.ID{}); now != before {
		t.Errorf("%+v, then %+v", before, now)
	}
	checkAccounts(t, e)
}
