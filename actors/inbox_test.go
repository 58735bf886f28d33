package actors

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pws/actors/offline"
	"pws/api"
	"pws/identity"
	"pws/index"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/work"
)

// markInbox marks some of an agent's items, or all of them.
func (s *simulation) markInbox(caller identity.Caller) {
	items, head := s.e.Inbox(caller.Agent)
	command := &identity.MarkInbox{Caller: caller, Status: identity.ItemStatus(s.pick(3))}
	all := s.pick(4) == 0
	for _, item := range items {
		switch {
		case all || s.pick(4) == 0:
			command.Items = append(command.Items, item.Place)
		case s.pick(4) == 0:
			command.Spared = append(command.Spared, item.Place)
		}
	}
	if all {
		command.Through = identity.Place{Entry: head + 1}
	} else {
		command.Spared = nil
	}
	_, _ = s.identity(command, caller.Agent)
}

// callerOf is an agent in its first session.
func callerOf(t testing.TB, e *Engine, agent id.ID) identity.Caller {
	t.Helper()
	found, ok := e.Identity().Agent(agent)
	if !ok {
		t.Fatal("there is no such agent")
	}
	return identity.Caller{Agent: agent, Session: found.Sessions()[0].ID}
}

func mustMark(t testing.TB, e *Engine, command *identity.MarkInbox) (changed int) {
	t.Helper()
	done, err := e.DoIdentity(identityOrderOf(command))
	if err != nil {
		t.Fatal(err)
	}
	return done.Result.(*identity.InboxMarking).Changed
}

// inboxOf prints an agent's inbox: the kinds of its items, with a star where an item is archived.
func inboxOf(e *Engine, agent id.ID) string {
	var all []string
	items, _ := e.Inbox(agent)
	for _, item := range items {
		text := item.Kind.String()
		if item.Archived {
			text += "*"
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

// checkInboxes compares the inboxes of two agents.
func checkInboxes(t *testing.T, what string, e *Engine, want map[id.ID]string) {
	t.Helper()
	for agent, want := range want {
		if got := inboxOf(e, agent); got != want {
			t.Errorf("%s: the inbox has %s, want %s", what, got, want)
		}
	}
}

// submitted is a contribution of an agent and its revision.
func submitted(t *testing.T, e *Engine, project, author id.ID) (contribution, revision id.ID) {
	t.Helper()
	workspace := mustDo(t, e, project, author, new(work.OpenWorkspace)).Result.Subject
	mustDo(t, e, project, author, &work.WriteWorkspaceFile{
		Workspace: workspace, Path: "of/" + workspace.Format(id.Workspace), Blob: blobOf("new"),
		ContentType: "text/plain",
	})
	done := mustDo(t, e, project, author, &work.SubmitWorkspace{Workspace: workspace, Summary: "s"})
	c, _ := done.Project.Contribution(done.Result.Subject)
	return c.ID, c.Current()
}

// TestInboxesSurviveARestart follows inbox items and their marks over restarts: with nothing
// saved, with all saved, and with some in the log behind.
func TestInboxesSurviveARestart(t *testing.T) {
	config := quiet(t.TempDir())
	e := start(t, config)
	ann, bob := register(t, e, "ann"), register(t, e, "bob")
	project := createProject(t, e, ann, work.Public)
	mustPut(t, e, project, ann, "a", "1")
	want := map[id.ID]string{}
	again := func(what string) {
		t.Helper()
		checkInboxes(t, what, e, want)
		before := fullState(t, e)
		stop(t, e)
		if _, err := Verify(config.Dir); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		e = start(t, config)
		checkInboxes(t, what+", after a start", e, want)
		sameState(t, what, before, fullState(t, e))
	}
	discussion := mustDo(t, e, project, ann, &work.CreateDiscussion{
		Title: "t", Body: "b", Mentions: []id.ID{bob},
	}).Result.Subject
	contribution, revision := submitted(t, e, project, bob)
	want[ann], want[bob] = "REVIEW_REQUESTED", "MENTION"
	again("in the log")
	mustDo(t, e, project, ann, &work.AcceptContribution{
		Contribution: contribution, Revision: revision,
	})
	mustDo(t, e, project, bob, &work.AddComment{Discussion: discussion, Body: "c"})
	saveAll(t, e)
	want[ann], want[bob] = "REVIEW_REQUESTED REPLY", "MENTION CONTRIBUTION_DECIDED"
	again("saved")
	items, head := e.Inbox(bob)
	mustMark(t, e, &identity.MarkInbox{
		Caller: callerOf(t, e, bob), Status: identity.ItemArchived,
		Items: []identity.Place{items[0].Place},
	})
	want[bob] = "MENTION* CONTRIBUTION_DECIDED"
	again("a mark in the log behind")
	task := createTasks(t, e, project, ann, 1)[0]
	mustDo(t, e, project, bob, &work.ClaimTask{Task: task})
	e.Advance(work.LeaseSeconds * 1000)
	want[bob] += " CLAIM_EXPIRED"
	checkInboxes(t, "a claim ran out", e, want)
	mustMark(t, e, &identity.MarkInbox{
		Caller: callerOf(t, e, bob), Status: identity.ItemArchived,
		Items: []identity.Place{items[1].Place}, Through: identity.Place{Entry: head + 1},
	})
	saveAll(t, e)
	want[bob] = "MENTION* CONTRIBUTION_DECIDED* CLAIM_EXPIRED"
	again("all saved")
	agent, _ := e.Identity().Agent(bob)
	if mark := agent.Marks().At(items[1].Place); mark.Status != identity.ItemArchived {
		t.Errorf("the second item is %s", mark.Status)
	}
	stop(t, e)
}

// TestInboxesReachTheSnapshot starts from a snapshot whose newest entries are in no inbox: inboxes
// are complete up to it, and what others do in watched projects is shown as far.
func TestInboxesReachTheSnapshot(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	mustPut(t, e, project, owner, "a", "a")
	saveAll(t, e)
	_, before := e.Inbox(owner)
	again := openAt(t, crashCopy(t, e.config.Dir))
	if _, head := again.Inbox(owner); head != before {
		t.Errorf("up to %d AFTER a start, and %d BEFORE", head, before)
	}
}

// TestMentionsOfADayAreLimited counts mentions of one author over a crash, with the counts in the
// log and in a section, where the items that were counted are gone already, and again on the next
// day.
func TestMentionsOfADayAreLimited(t *testing.T) {
	config := quiet(t.TempDir())
	e := start(t, config)
	ann, bob := register(t, e, "ann"), register(t, e, "bob")
	beginDay(e)
	project := createProject(t, e, ann, work.Public)
	discussion := mustDo(t, e, project, ann, &work.CreateDiscussion{
		Title: "t", Body: "b",
	}).Result.Subject
	mention := func(author id.ID, count int) {
		t.Helper()
		for range count {
			mustDo(t, e, project, author, &work.AddComment{
				Discussion: discussion, Body: "c", Mentions: []id.ID{bob},
			})
		}
	}
	again := func(what string, want int) {
		t.Helper()
		before := fullState(t, e)
		if items, _ := e.Inbox(bob); len(items) != want {
			t.Errorf("%s: %d items, want %d", what, len(items), want)
		}
		copied := crashCopy(t, config.Dir)
		stop(t, e)
		config.Dir = copied
		if _, err := Verify(config.Dir); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		e = start(t, config)
		sameState(t, what, before, fullState(t, e))
	}
	mention(ann, 12)
	again("in the log", 12)
	mention(ann, 3)
	saveAll(t, e)
	mention(ann, 2)
	again("saved, and some in the log behind", 17)
	mention(ann, 9)
	again("the limit is reached", 20)
	saveAll(t, e)
	for n := range 52 {
		mention(register(t, e, fmt.Sprint("eve", n)), 20)
	}
	saveAll(t, e)
	again("pushed out", index.InboxItemsMax)
	ofAnn := func() (n int) {
		items, _ := e.Inbox(bob)
		for _, item := range items {
			if item.Actor == ann {
				n++
			}
		}
		return n
	}
	kept := ofAnn()
	mention(ann, 5)
	if got := ofAnn(); got != kept {
		t.Fatalf("mentions beyond the limit became items: %d, not %d", got, kept)
	}
	e.Advance(24 * 3600 * 1000)
	mention(ann, 1)
	if items, _ := e.Inbox(bob); items[len(items)-1].Actor != ann {
		t.Error("a mention of the next day became no item")
	}
	stop(t, e)
}

// TestVerifyReportsWrongInboxItems saves inboxes that are not what the project says.
func TestVerifyReportsWrongInboxItems(t *testing.T) {
	config := quiet(t.TempDir())
	e := start(t, config)
	ann, bob := register(t, e, "ann"), register(t, e, "bob")
	project := createProject(t, e, ann, work.Public)
	mustPut(t, e, project, ann, "a", "1")
	mustDo(t, e, project, ann, &work.CreateDiscussion{
		Title: "t", Body: "b", Mentions: []id.ID{bob},
	})
	submitted(t, e, project, bob)
	saveAll(t, e)
	good := map[id.ID]index.SavedInbox{}
	for _, agent := range []id.ID{ann, bob} {
		good[agent], _ = e.inbox.Saved(agent)
	}
	stop(t, e)
	for name, c := range map[string]struct {
		agent  id.ID
		change func(item *index.InboxItem)
		faults int
	}{
		"nothing":       {bob, func(*index.InboxItem) {}, 0},
		"no mention":    {bob, func(item *index.InboxItem) { item.Subject.ID = id.ID{1} }, 2},
		"of its own":    {bob, func(item *index.InboxItem) { item.Actor = bob }, 2},
		"no project":    {bob, func(item *index.InboxItem) { item.Project = id.ID{1} }, 2},
		"no revision":   {ann, func(item *index.InboxItem) { item.Part = id.ID{1} }, 1},
		"another time":  {ann, func(item *index.InboxItem) { item.At++ }, 1},
		"another kind":  {ann, func(item *index.InboxItem) { item.Kind = work.NoticeClaimExpired }, 1},
		"another actor": {ann, func(item *index.InboxItem) { item.Actor = id.ID{1} }, 2},
		"cannot be":     {ann, func(item *index.InboxItem) { item.Kind = 0 }, 1},
	} {
		one := config
		one.Dir = crashCopy(t, config.Dir)
		e := start(t, one)
		writer, err := e.snapshot.Begin()
		if err != nil {
			t.Fatal(err)
		}
		saved := good[c.agent]
		saved.Items = slices.Clone(saved.Items)
		c.change(&saved.Items[0])
		position, _ := e.snapshot.SectionPosition(datadir.InboxKey(c.agent))
		if err := writer.Put(datadir.InboxKey(c.agent), position, encodeInbox(saved)); err != nil {
			t.Fatal(err)
		}
		if err := writer.Commit(e.snapshot.Position()); err != nil {
			t.Fatal(err)
		}
		stop(t, e)
		_, err = Verify(one.Dir)
		var damage *offline.Damage
		errors.As(err, &damage)
		if got := 0; damage != nil {
			if got = len(damage.Faults); got != c.faults {
				t.Errorf("%s: found %v, want %d faults", name, err, c.faults)
			}
		} else if err != nil || c.faults > 0 {
			t.Errorf("%s: %v, want %d faults", name, err, c.faults)
		}
	}
}

// TestInvalidInboxSectionsAreRefused decodes what nobody has saved.
func TestInvalidInboxSectionsAreRefused(t *testing.T) {
	want := []index.InboxItem{{
		Place: identity.Place{Entry: 7, Nth: 8}, At: 5, Kind: work.NoticeReply,
		Project: id.ID{1}, Actor: id.ID{2},
		Subject: work.Subject{Type: work.SubjectComment, ID: id.ID{3}},
	}, {
		Place: identity.Place{Entry: 7, Nth: 300}, At: 1 << 41, Kind: work.NoticeReviewRequested,
		Archived: true, Project: id.ID{1}, Actor: id.ID{2},
		Subject: work.Subject{Type: work.SubjectContribution, ID: id.ID{3}}, Part: id.ID{4},
	}}
	counts := []index.InboxCount{
		{Actor: id.ID{2}, Kind: work.NoticeReply, Day: 20_000, Items: 99},
		{Actor: id.ID{2}, Kind: work.NoticeMention, Day: 20_001, Items: 20},
	}
	whole := func(items []index.InboxItem) []byte {
		return encodeInbox(index.SavedInbox{Items: items, Counts: counts})
	}
	good := whole(want)
	if got, err := decodeInbox(good); err != nil || !slices.Equal(got.Items, want) ||
		!slices.Equal(got.Counts, counts) {
		t.Fatalf("read as %v, %v", got, err)
	}
	// A section of the first version has no counts, and is counted by its items.
	plain := append([]byte{1}, encodeInbox(index.SavedInbox{Items: want})[2:]...)
	counted := []index.InboxCount{
		{Actor: id.ID{2}, Kind: work.NoticeReviewRequested, Day: 25_451, Items: 1},
	}
	if got, err := decodeInbox(plain); err != nil || !slices.Equal(got.Items, want) ||
		!slices.Equal(got.Counts, counted) {
		t.Fatalf("the first version is read as %v, %v", got, err)
	}
	countsOf := func(counts ...index.InboxCount) []byte {
		return encodeInbox(index.SavedInbox{Counts: counts})
	}
	other := func(change func(item *index.InboxItem)) []byte {
		items := slices.Clone(want)
		change(&items[1])
		return whole(items)
	}
	for name, bad := range map[string][]byte{
		"nothing": {}, "another version": append([]byte{9}, good[1:]...),
		"too short": good[:len(good)-1], "too long": append(good[:len(good):len(good)], 0),
		"no kind": other(func(item *index.InboxItem) {
			item.Kind = work.NoticeWatchedActivity
		}),
		"no subject":          other(func(item *index.InboxItem) { item.Subject.Type = 99 }),
		"no order":            other(func(item *index.InboxItem) { item.Place = want[0].Place }),
		"a count twice":       countsOf(counts[0], counts[0]),
		"a count of nothing":  countsOf(index.InboxCount{Kind: work.NoticeMention}),
		"a count of no kind":  countsOf(index.InboxCount{Items: 1}),
		"counts that are cut": countsOf(counts...)[:20],
		"too many": whole(func() (many []index.InboxItem) {
			for n := range index.InboxItemsMax + 1 {
				item := want[0]
				item.Place.Entry += uint64(n)
				many = append(many, item)
			}
			return many
		}()),
	} {
		if saved, err := decodeInbox(bad); err == nil {
			t.Errorf("%s: read as %d items", name, len(saved.Items))
		}
	}
}

const inboxCrashDirEnv = "PWS_INBOX_CRASH_DIR"

// TestInboxCrashChild is the child process of TestInboxCrash: one agent mentions the other, which
// marks its items, until the process is killed.
func TestInboxCrashChild(t *testing.T) {
	dir := os.Getenv(inboxCrashDirEnv)
	if dir == "" {
		t.Skip("it is the child of TestInboxCrash")
	}
	first, _ := strconv.Atoi(os.Getenv("PWS_CRASH_STEPS"))
	e := start(t, quiet(dir))
	go func() {
		for {
			if err := e.Save(); err != nil {
				fmt.Println("failed to save:", err)
			}
		}
	}()
	for step := first; ; step++ {
		if err := inboxStep(e, step); err != nil {
			fmt.Println("failed", step, err)
			return
		}
		fmt.Println("done", step)
	}
}

const inboxAuthors = 100

// inboxStep is one step: two comments that mention bob, then a mark of one, or of all.
func inboxStep(e *Engine, step int) error {
	// Of one author only some mentions a day become items.
	ann, _ := e.Identity().AgentByHandle(fmt.Sprint("ann", step%inboxAuthors))
	bob, _ := e.Identity().AgentByHandle("bob")
	list, err := e.PublicProjects(index.Position{}, 1)
	if err != nil || len(list) != 1 {
		return fmt.Errorf("%d projects: %w", len(list), err)
	}
	items, head := e.Inbox(bob.ID)
	command := &identity.MarkInbox{
		Caller: identity.Caller{Agent: bob.ID, Session: bob.Sessions()[0].ID},
		Status: identity.ItemStatus(1 + step/3%2),
	}
	switch {
	case step%3 < 2:
		var discussion id.ID
		// What is listed is a summary, which need not have them.
		p, err := e.Project(list[0].ID)
		if err != nil {
			return err
		}
		p.Discussions(id.ID{}, func(d *work.Discussion) bool {
			discussion = d.ID
			return false
		})
		_, err = e.Do(api.Order{Project: list[0].ID, Agent: ann.ID, Command: &work.AddComment{
			Discussion: discussion, Body: fmt.Sprint(step), Mentions: []id.ID{bob.ID},
		}})
		return err
	case step%4 == 0:
		command.Through = identity.Place{Entry: head + 1}
		for _, item := range items {
			command.Items = append(command.Items, item.Place)
		}
	default:
		command.Items = []identity.Place{items[len(items)-1].Place}
	}
	_, err = e.DoIdentity(identityOrderOf(command))
	return err
}

// TestInboxCrash kills a process in which an agent receives items and marks them, again and again.
// What was acknowledged is there: each mention once, and each mark.
func TestInboxCrash(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	e := start(t, quiet(dir))
	ann, bob := register(t, e, "ann"), register(t, e, "bob")
	project := createProject(t, e, ann, work.Public)
	mustDo(t, e, project, ann, &work.CreateDiscussion{Title: "t", Body: "b"})
	for n := range inboxAuthors {
		register(t, e, fmt.Sprint("ann", n))
	}
	stop(t, e)
	random := rand.New(rand.NewPCG(seedOf(t), 0))
	step := 0
	for range 4 {
		killAfter(t, "TestInboxCrashChild", 30+random.IntN(200), func(line string) {
			var done int
			if n, _ := fmt.Sscanf(line, "done %d\n", &done); n != 1 || done != step {
				t.Errorf("the child says %q, and the next step is %d", line, step)
				return
			}
			step++
		}, inboxCrashDirEnv+"="+dir, "PWS_CRASH_STEPS="+strconv.Itoa(step))
		if _, err := Verify(dir); err != nil {
			t.Fatal(err)
		}
		e := start(t, quiet(dir))
		items, _ := e.Inbox(bob)
		mentions := step/3*2 + min(step%3, 2)
		if got := len(items); got != min(mentions, index.InboxItemsMax) &&
			got != min(mentions+1, index.InboxItemsMax) {
			t.Fatalf("%d items after %d steps", got, step)
		}
		bodies := map[string]bool{}
		for _, item := range items {
			comment, _ := viewOf(t, e, project).Comment(item.Subject.ID)
			bodies[comment.Body] = true
			agent, _ := e.Identity().Agent(bob)
			mark := agent.Marks().At(item.Place)
			if item.Archived != (mark.Status == identity.ItemArchived) {
				t.Fatalf("an item is archived: %t, and marked %s", item.Archived, mark.Status)
			}
		}
		if len(bodies) != len(items) {
			t.Fatalf("%d comments in %d items", len(bodies), len(items))
		}
		// The step that was under way when the process was killed may have happened.
		for step%3 < 2 && len(items) > step/3*2+step%3 {
			step++
		}
		if err := inboxStep(e, step); err != nil {
			t.Fatal(err)
		}
		step++
		before := fullState(t, e)
		stop(t, e)
		again := start(t, quiet(dir))
		sameState(t, "after another start", before, fullState(t, again))
		stop(t, again)
	}
}
