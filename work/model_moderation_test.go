package work_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// moderationModel follows a project by its outcomes. removed are the texts of deleted records,
// contents those that were stored away.
type moderationModel struct {
	moderator
	files    *model
	removed  map[string]bool
	contents map[work.Hash]bool
}

// anySecret is a text of a moderator.
var anySecret = regexp.MustCompile(secret + `-\d+\.`)

// secretsIn returns the texts of a moderator in some values.
func secretsIn(values ...any) []string {
	data, err := json.Marshal(values)
	if err != nil {
		panic(err)
	}
	return anySecret.FindAllString(string(data), -1)
}

// act gives one random command and checks its outcome.
func (m *moderationModel) act() error {
	w := m.w
	w.now += int64(m.source(2000))
	switch m.source(120) {
	case 0:
		w.now += int64(m.source(work.LeaseSeconds * 2000))
	case 1:
		w.now += int64(m.source(2 * work.EmptyWorkspaceSeconds * 1000))
	case 2:
		// A project that was deleted so long ago is gone for ever.
		if w.project.End() == nil {
			w.now += work.WorkspaceSeconds * 1000
		}
	}
	who, command := m.command()
	_, blocked := w.project.Block(who)
	before := w.project
	texts, contents := textsToRemove(before, command)
	decision, err := w.do(who, command)
	if fault.CodeOf(err) == fault.Internal {
		return fmt.Errorf("%T: %w", command, err)
	}
	if _, leaves := command.(*work.UnwatchProject); blocked && !leaves &&
		(err == nil || w.project != before) {
		return fmt.Errorf("a blocked agent may do %T: %v", command, err)
	}
	if err := checkEnd(before, w, who, command, err); err != nil {
		return fmt.Errorf("%T: %w", command, err)
	}
	if err := m.files.observe(w.project); err != nil {
		return err
	}
	if err == nil && len(decision.Events) > 0 {
		for _, text := range texts {
			m.removed[text] = true
		}
		for _, content := range contents {
			m.contents[content] = true
		}
		if err := m.checkOutcome(before, command); err != nil {
			return fmt.Errorf("%T: %w", command, err)
		}
	}
	return m.checkBlocked(w.project)
}

// textsToRemove returns the texts of the record that a command deletes, and its content.
func textsToRemove(
	p *work.Project, command work.Command,
) (texts []string, contents []work.Hash) {
	switch command := command.(type) {
	case *work.DeleteHandoff:
		if h, ok := p.Handoff(command.Handoff); ok {
			if h.Away != nil {
				contents = append(contents, h.Away.Hash)
			}
			texts = secretsIn(mustWhole(h).Continuation)
		}
	case *work.DeleteVerification:
		if v, ok := p.Verification(command.Verification); ok {
			texts = secretsIn(v.Finding)
		}
	case *work.DeleteDiscussion:
		if d, ok := p.Discussion(command.Discussion); ok {
			texts = secretsIn(d.Title, d.Body)
		}
	case *work.DeleteComment:
		if c, ok := p.Comment(command.Comment); ok {
			texts = secretsIn(c.Body)
		}
	case *work.DeleteReview:
		if c, ok := p.Contribution(command.Contribution); ok {
			if review, ok := c.Review(command.Review); ok {
				texts = secretsIn(review.Body, review.Comments)
			}
		}
	case *work.DeleteContribution:
		if c, ok := p.Contribution(command.Contribution); ok {
			texts = secretsIn(c.Note, p.RevisionsOf(c))
			for _, review := range c.Reviews {
				texts = append(texts, secretsIn(review.Body, review.Comments)...)
			}
		}
	}
	return texts, contents
}

func mustWhole(h *work.Handoff) *work.Handoff {
	texts, err := whole(h)
	if err != nil {
		panic(err)
	}
	return texts
}

// checkOutcome checks what some commands must have led to.
func (m *moderationModel) checkOutcome(before *work.Project, command work.Command) error {
	p := m.w.project
	switch command := command.(type) {
	case *work.EndTurn:
		if turn, held := p.Turn(0); held {
			return fmt.Errorf("the turn is still held: %+v", turn)
		}
	case *work.CloseWorkspace:
		if w, _ := p.Workspace(command.Workspace); w.Status != work.WorkspaceClosed {
			return fmt.Errorf("the workspace is %s", w.Status)
		}
	case *work.WithdrawContribution:
		c, _ := p.Contribution(command.Contribution)
		if w, ok := p.Workspace(c.Workspace); ok && !w.Status.Final() {
			return fmt.Errorf("the workspace is %s", w.Status)
		}
	case *work.RevertChangeset:
		if command.Changeset == before.Head().ID {
			return m.checkReverted(before.ChangesetsCount())
		}
	}
	return nil
}

// checkReverted compares the files with those before the changeset that was the newest.
func (m *moderationModel) checkReverted(newest int) error {
	short := func(tree map[string]modelFile) map[string]string {
		files := map[string]string{}
		for path, f := range tree {
			files[path] = fmt.Sprintf("%x %d %s", f.blob[:4], f.size, f.contentType)
		}
		return files
	}
	want, got := m.files.trees[newest-1], m.files.trees[len(m.files.trees)-1]
	if diff := cmp.Diff(short(want), short(got)); diff != "" {
		return fmt.Errorf("the files are not those of before: %s", diff)
	}
	return m.files.compareLive(m.w.project)
}

// checkBlocked checks that blocked agents are no members and hold nothing.
func (m *moderationModel) checkBlocked(p *work.Project) error {
	turn, held := p.Turn(m.w.now)
	for _, block := range p.Blocks() {
		if p.RoleOf(block.Agent) != work.NoRole || p.HasClaims(block.Agent) ||
			held && turn.Agent == block.Agent ||
			len(p.OpenWorkspacesOf(block.Agent, 0)) > 0 {
			return fmt.Errorf("a blocked agent has a role, a claim, the turn, or a workspace")
		}
	}
	return nil
}

// compare checks a state: the live one, and the restored one.
func (m *moderationModel) compare(p *work.Project) error {
	if err := p.Recount(); err != nil {
		return err
	}
	if err := m.checkBlocked(p); err != nil {
		return err
	}
	if err := m.checkTexts(p); err != nil {
		return err
	}
	if err := m.checkEvidence(p); err != nil {
		return err
	}
	return checkWorkspaces(p)
}

// checkTexts looks for texts of deleted records in all reads of a project.
func (m *moderationModel) checkTexts(p *work.Project) error {
	var reads []any
	var latest *work.Handoff
	for _, h := range p.Handoffs() {
		reads = append(reads, mustWhole(h))
		if !h.Deleted.Is() {
			latest = h
		}
	}
	if p.LatestHandoff() != latest {
		return fmt.Errorf("the latest handoff is %+v", p.LatestHandoff())
	}
	p.Discussions(id.ID{}, func(d *work.Discussion) bool {
		_, newest := p.CommentCount(d.ID)
		reads = append(reads, d, newest)
		p.Comments(d.ID, id.ID{}, func(c *work.Comment) bool { reads = append(reads, c); return true })
		return true
	})
	p.Workspaces(func(w *work.Workspace) bool { reads = append(reads, w); return true })
	p.AllComments(func(c *work.Comment) bool { reads = append(reads, c); return true })
	for _, v := range recordsOf(p) {
		reads = append(reads, v, p.Evidence(v.Finding.Entity))
	}
	for _, c := range contributionsOf(p) {
		reads = append(reads, c, p.RevisionsOf(c), p.CreditOf(c))
	}
	for n := range p.ChangesetsCount() {
		reads = append(reads, p.ChangesetNumber(uint32(n+1)).Message)
	}
	reads = append(reads, p.LatestHandoff(), p.OwnEvidence(), p.State(), p.LatestCheckpoint(),
		p.WorkSessions())
	for _, text := range secretsIn(reads...) {
		if m.removed[text] {
			return fmt.Errorf("%s of a deleted record can be read", text)
		}
	}
	var named work.Hash
	p.Contents(func(work.Hash) bool { return false }, func(hash work.Hash) {
		if m.contents[hash] {
			named = hash
		}
	})
	if named != (work.Hash{}) {
		return fmt.Errorf("content %x of a deleted record is kept", named)
	}
	return m.checkSaved(p)
}

// checkSaved looks for texts of deleted records in the head and in chunks that are written again.
func (m *moderationModel) checkSaved(p *work.Project) error {
	s, err := save(p)
	if err != nil {
		return err
	}
	all := [][]byte{s.head}
	for name, chunk := range s.chunks {
		if name.Kind.Changes() {
			all = append(all, chunk)
		}
	}
	for _, data := range all {
		for _, text := range anySecret.FindAll(data, -1) {
			if m.removed[string(bytes.Clone(text))] {
				return fmt.Errorf("%s of a deleted record is saved", text)
			}
		}
	}
	return nil
}

// checkEvidence compares the evidence for each entity with the records that were not deleted.
func (m *moderationModel) checkEvidence(p *work.Project) error {
	var records recordModel
	entities := map[work.Entity]bool{p.Entity(): true}
	for _, v := range recordsOf(p) {
		entities[v.Finding.Entity] = true
		if !v.Deleted.Is() {
			records.findings = append(records.findings, v)
		}
	}
	for entity := range entities {
		want := records.evidence(entity)
		if diff := cmp.Diff(want, p.Evidence(entity)); diff != "" {
			return fmt.Errorf("the evidence: %s", diff)
		}
		if p.Tally(entity) != want.Tally || entity == p.Entity() && p.OwnTally() != want.Tally {
			return fmt.Errorf("the tally is %+v, want %+v", p.Tally(entity), want.Tally)
		}
	}
	return nil
}

// checkWorkspaces looks at workspaces just before they expire and then.
func checkWorkspaces(p *work.Project) (err error) {
	turn, held := p.Turn(0)
	p.Workspaces(func(w *work.Workspace) bool {
		expires := p.WorkspaceExpiry(w)
		last, _ := p.WorkspaceAt(w.ID, expires-1)
		then, _ := p.WorkspaceAt(w.ID, max(expires, 1))
		switch {
		case last != w, !then.Status.Final(),
			!w.Status.Final() && len(then.Files)+len(then.Conflicts) > 0:
			err = fmt.Errorf("workspace %+v expires as %+v", last, then)
		case w.Status.Final() != (expires == 0):
			err = fmt.Errorf("workspace %+v expires at %d", w, expires)
		case held && turn.Workspace == w.ID && (w.Agent != turn.Agent || expires < turn.ExpiresAt):
			err = fmt.Errorf("turn %+v has workspace %+v, which expires at %d", turn, w, expires)
		}
		for _, open := range p.OpenWorkspacesOf(w.Agent, expires) {
			if open.ID == w.ID {
				err = fmt.Errorf("workspace %+v is open after its end", w)
			}
		}
		return err == nil
	})
	return err
}

// moderate runs random commands and compares the states now and then.
func moderate(t testing.TB, kind work.ProjectKind, steps, every int, draw source) error {
	w := newWorld()
	for n := range 12 {
		content := blob(fmt.Sprint("content ", n))
		w.blobs[content.Hash] = content.Content
	}
	w.must(t, &work.CreateProject{ID: agent("project"), Kind: kind, About: work.About{
		Name: "sample", Visibility: work.Public, Reuse: work.AllowReuse, License: "MIT",
	}})
	m := &moderationModel{
		moderator: moderator{source: draw, w: w}, files: newModel(),
		removed: map[string]bool{}, contents: map[work.Hash]bool{},
	}
	for range 3 {
		w.must(t, &work.CreateTask{Spec: work.TaskSpec{Title: "one"}})
	}
	old, oldLog := mustSave(t, w.project), len(w.log)
	for step := range steps {
		err := m.act()
		if err == nil && (step+1)%every == 0 {
			if err = m.compare(w.project); err == nil {
				err = checkEqual(w, old, oldLog)
			}
			if err == nil {
				old, oldLog = mustSave(t, w.project), len(w.log)
				// checkEqual may have replaced the project by an equal one.
				var restored *work.Project
				if restored, err = old.restore(); err == nil {
					err = m.compare(restored)
				}
			}
		}
		if err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	return nil
}

// TestRandomModeration runs random commands of guests, blocked agents and moderators.
func TestRandomModeration(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := source(func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "n") })
		kind := work.ProjectKind(1 + draw(2))
		err := moderate(t, kind, rapid.IntRange(5, 45).Draw(rt, "steps"), 11, draw)
		if err != nil {
			rt.Fatal(err)
		}
	})
}

// TestLongModeration runs more commands, which are drawn evenly.
func TestLongModeration(t *testing.T) {
	seed := rand.Uint64()
	for _, kind := range []work.ProjectKind{work.Standard, work.Community} {
		if err := moderate(t, kind, 800, 80, rand.New(rand.NewPCG(seed, 0)).IntN); err != nil {
			t.Errorf("seed %d, %s: %v", seed, kind, err)
		}
	}
}
