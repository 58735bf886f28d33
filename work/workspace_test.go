package work_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
	"pws/work/merge"
)

// side is what one side of a merge sees: path to content.
type side map[string]string

func (w *world) tree() side {
	tree := side{}
	w.project.Files("", func(f work.FileInfo) bool {
		tree[f.Path] = string(w.blobs[f.Blob])
		return true
	})
	return tree
}

func (w *world) view(space *work.Workspace) side {
	tree := side{}
	w.project.WorkspaceFiles(space, "", func(f work.WorkspaceFile) bool {
		tree[f.Path] = string(w.blobs[f.Blob])
		return true
	})
	return tree
}

func (s side) equal(other side) bool {
	return fmt.Sprint(map[string]string(s)) == fmt.Sprint(map[string]string(other))
}

// workspaces gives random commands to a project and its workspaces. Every content has unique lines,
// so that a line identifies the change it came from.
type workspaces struct {
	*world
	t      *testing.T
	draw   source
	serial int
	// views are what the workspaces must show.
	views map[id.ID]side
}

func (r *workspaces) fresh(old string) work.Blob {
	r.serial++
	lines := strings.SplitAfter(old, "\n")
	if len(lines) < 4 || r.draw(5) == 0 {
		lines = nil
		for n := range 9 {
			lines = append(lines, fmt.Sprintf("%d of %d\n", n, r.serial))
		}
	} else {
		lines[r.draw(len(lines)-1)] = fmt.Sprintf("line of %d\n", r.serial)
	}
	return blob(strings.Join(lines, ""))
}

// edit is a random change of a workspace by its author, followed in its view.
func (r *workspaces) edit(space *work.Workspace) {
	at, to := r.draw.path(), r.draw.path()
	view := r.views[space.ID]
	old, existed := view[at]
	var command work.Command
	var after func()
	switch r.draw(6) {
	case 0:
		command = &work.DeleteWorkspaceFile{Workspace: space.ID, Path: at}
		after = func() { delete(view, at) }
	case 1:
		command = &work.RenameWorkspaceFile{Workspace: space.ID, Path: at, NewPath: to}
		after = func() { delete(view, at); view[to] = old }
	default:
		content := r.fresh(old)
		if existed && r.draw(8) == 0 {
			content = blob(old)
		}
		if base, ok := r.project.File(at); ok && r.draw(6) == 0 {
			content = blob(string(r.blobs[base.Blob]))
		}
		command = &work.WriteWorkspaceFile{
			Workspace: space.ID, Path: at, Blob: content, ContentType: "text/plain",
		}
		after = func() { view[at] = string(content.Content) }
	}
	if _, err := r.do(space.Agent, command); err == nil {
		after()
	} else if fault.CodeOf(err) == fault.Internal {
		r.t.Fatal(err)
	}
}

// others changes the project itself.
func (r *workspaces) others() {
	for range 1 + r.draw(4) {
		at := r.draw.path()
		old, _ := r.project.File(at)
		var command work.Command
		switch r.draw(5) {
		case 0:
			command = &work.DeleteFile{Path: at}
		case 1:
			command = &work.PublishChangeset{
				Base: r.project.Head().ID, Operations: []work.Operation{renameOp(at, r.draw.path())},
			}
		default:
			command = &work.PutFile{
				Path: at, Blob: r.fresh(string(r.blobs[old.Blob])), ContentType: "text/plain",
			}
		}
		if _, err := r.do(r.project.Owner, command); fault.CodeOf(err) == fault.Internal {
			r.t.Fatal(err)
		}
	}
}

// merged checks a workspace that was put onto the head: base, ours and theirs are what stood there
// before, and on the other side.
func (r *workspaces) merged(space *work.Workspace, base, ours, theirs side, renames bool) {
	r.t.Helper()
	result := r.view(space)
	disputed := map[string]*work.Conflict{}
	inConflicts := ""
	for i := range space.Conflicts {
		c := &space.Conflicts[i]
		disputed[c.Path] = c
		for _, hash := range []work.Hash{c.Base, c.Ours, c.Theirs} {
			inConflicts += string(r.blobs[hash])
		}
	}
	all := inConflicts
	for _, content := range result {
		all += content
	}
	for name, one := range map[string]side{"ours": ours, "theirs": theirs} {
		for path, content := range one {
			for line := range strings.Lines(content) {
				if !strings.Contains(all, line) && !existed(base, line) {
					r.t.Fatalf("%q of %s at %s is lost\nbase %v\nours %v\ntheirs %v\nresult %v %v",
						line, name, path, base, ours, theirs, result, space.Conflicts)
				}
			}
		}
	}
	if renames {
		return
	}
	for _, path := range paths {
		want, clean := joined(base, ours, theirs, path)
		got, exists := result[path]
		c := disputed[path]
		folder := c != nil && c.Kind == work.AddedByBoth && c.Base == (work.Hash{})
		if folder && clean {
			continue
		}
		if clean != (c == nil) || clean && (exists != (want != nil) ||
			exists && got != *want) {
			r.t.Fatalf("%s: clean %v, conflict %+v\nbase %q\nours %q\ntheirs %q\nresult %q", path,
				clean, c, base[path], ours[path], theirs[path], got)
		}
		if _, stays := ours[path]; !clean && (exists != stays || got != ours[path]) {
			r.t.Fatalf("%s: disputed, and not as it was", path)
		}
	}
}

func existed(base side, line string) bool {
	for _, content := range base {
		if strings.Contains(content, line) {
			return true
		}
	}
	return false
}

// joined is what must come of one path: what one side alone changed, what both made the same, or
// the merge of their lines; not clean is a contradiction.
func joined(base, ours, theirs side, path string) (want *string, clean bool) {
	at := func(s side) *string {
		content, exists := s[path]
		if !exists {
			return nil
		}
		return &content
	}
	same := func(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }
	b, o, t := at(base), at(ours), at(theirs)
	switch {
	case same(b, o):
		return t, true
	case same(b, t), same(o, t):
		return o, true
	case b == nil || o == nil || t == nil:
		return nil, false
	}
	result := merge.Merge([]byte(*b), []byte(*o), []byte(*t))
	text := string(result.Text)
	return &text, result.Conflicts == 0
}

// anyRenames reports whether a file moved on either side.
func (r *workspaces) anyRenames(space *work.Workspace) bool {
	base, _ := r.project.Changeset(space.Base)
	renamed := slices.ContainsFunc(space.Files, func(one work.Overlaid) bool {
		return one.From != one.Path && one.From != ""
	})
	for _, change := range r.project.Changes(base, r.project.Head()) {
		renamed = renamed || change.Action == work.Rename
	}
	// A file that was created again at the path of another is one of two names as well.
	for n := base.Sequence; int(n) < r.project.ChangesetsCount(); n++ {
		for _, op := range r.project.ChangesetNumber(n + 1).Ops {
			renamed = renamed || op.Action == work.Rename
		}
	}
	return renamed
}

// refresh puts a workspace onto the head and checks the outcome.
func (r *workspaces) refresh(space *work.Workspace, give func(plan *work.MergePlan) work.Command) {
	r.t.Helper()
	before, _ := r.project.Changeset(space.Base)
	base, ours, theirs := side{}, r.view(space), r.tree()
	r.project.FilesAt(before, "", func(f work.FileInfo) bool {
		base[f.Path] = string(r.blobs[f.Blob])
		return true
	})
	renames, disputed := r.anyRenames(space), len(space.Conflicts) > 0
	plan := r.plan(space)
	if plan != nil {
		if _, err := r.do(space.Agent, give(nil)); !work.Stale(err) {
			r.t.Fatalf("without a plan: %v", err)
		}
	}
	if _, err := r.do(space.Agent, give(plan)); err != nil {
		r.t.Fatal(err)
	}
	space, _ = r.project.Workspace(space.ID)
	if space.Base != r.project.Head().ID {
		r.t.Fatal("it does not lie on the head")
	}
	if !disputed {
		r.merged(space, base, ours, theirs, renames)
	}
	r.views[space.ID] = r.view(space)
}

// resolve settles the conflicts of a workspace, each in one of the ways that there are.
func (r *workspaces) resolve(space *work.Workspace) {
	r.t.Helper()
	view := r.views[space.ID]
	for _, c := range space.Conflicts {
		content := r.fresh("")
		_, err := r.do(space.Agent, &work.WriteWorkspaceFile{
			Workspace: space.ID, Path: c.Path, Blob: content, ContentType: "text/plain",
		})
		if err == nil {
			view[c.Path] = string(content.Content)
			continue
		}
		if fault.CodeOf(err) != fault.PathConflict {
			r.t.Fatal(err)
		}
		_, err = r.do(space.Agent, &work.DeleteWorkspaceFile{Workspace: space.ID, Path: c.Path})
		if err != nil {
			r.t.Fatal(err)
		}
		delete(view, c.Path)
	}
	if space, _ = r.project.Workspace(space.ID); len(space.Conflicts) > 0 {
		r.t.Fatalf("conflicts stay: %+v", space.Conflicts)
	}
}

// check compares all that a workspace shows with what its commands said.
func (r *workspaces) check(old saved, oldLog int) {
	r.t.Helper()
	for one, want := range r.views {
		space, _ := r.project.Workspace(one)
		if got := r.view(space); !got.equal(want) {
			r.t.Fatalf("a workspace shows %v, want %v", got, want)
		}
	}
	if err := checkEqual(r.world, old, oldLog); err != nil {
		r.t.Fatal(err)
	}
}

func newWorkspaces(t *testing.T, seed uint64, kind work.ProjectKind) *workspaces {
	r := &workspaces{
		world: newWorld(), t: t, draw: rand.New(rand.NewPCG(seed, 1)).IntN,
		views: map[id.ID]side{},
	}
	r.must(t, &work.CreateProject{
		ID: agent("project"), Kind: kind,
		About: work.About{
			Name: "sample", Visibility: work.Public, Reuse: work.AllowReuse, License: "MIT",
		},
	})
	r.others()
	return r
}

// rounds is how many histories each random test goes through.
const rounds = 40

// TestRandomWorkspaces lets agents change workspaces while the project goes on: what a workspace
// shows is what was written, and a refresh loses nothing that either side changed.
func TestRandomWorkspaces(t *testing.T) {
	for range rounds {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := newWorkspaces(t, seed, work.Standard)
			spaces := []id.ID{}
			for _, who := range []string{"eve", "bob"} {
				decision, err := r.do(agent(who), new(work.OpenWorkspace))
				if err != nil {
					t.Fatal(err)
				}
				spaces = append(spaces, decision.Result.Subject)
				r.views[decision.Result.Subject] = r.tree()
			}
			old, oldLog := mustSave(t, r.project), len(r.log)
			for range 6 {
				space := spaces[r.draw(2)]
				for range r.draw(6) {
					one, _ := r.project.Workspace(space)
					r.edit(one)
				}
				r.check(old, oldLog)
				r.others()
				one, _ := r.project.Workspace(space)
				r.refresh(one, func(plan *work.MergePlan) work.Command {
					return &work.RefreshWorkspace{Workspace: space, Plan: plan}
				})
				if one, _ = r.project.Workspace(space); r.draw(3) > 0 {
					r.resolve(one)
				}
				r.check(old, oldLog)
			}
		})
	}
}

// TestRandomTurns lets agents take turns, lose and submit them: what is published is what the
// workspace showed.
func TestRandomTurns(t *testing.T) {
	for range rounds {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := newWorkspaces(t, seed, work.Community)
			old, oldLog := mustSave(t, r.project), len(r.log)
			for range 8 {
				r.turn(agent([]string{"eve", "bob", "ann"}[r.draw(3)]))
				r.check(old, oldLog)
			}
		})
	}
}

// turn is one turn of an agent, in which it may do what agents do.
func (r *workspaces) turn(who id.ID) {
	r.t.Helper()
	// Another agent has waited for the last turn. AFTER this pause the same one may take it again.
	r.now += work.TurnReservedSeconds * 1000
	space := r.project.CommunityWorkspace(who, 0)
	if space == nil {
		decision, err := r.do(who, new(work.TakeTurn))
		if err != nil {
			r.t.Fatal(err)
		}
		r.views[decision.Result.Subject] = r.tree()
	} else {
		r.refresh(space, func(plan *work.MergePlan) work.Command {
			return &work.TakeTurn{Plan: plan}
		})
	}
	space = r.project.CommunityWorkspace(who, 0)
	if _, err := r.do(agent("carl"), new(work.TakeTurn)); fault.CodeOf(err) != fault.TurnHeld {
		r.t.Fatalf("another takes it as well: %v", err)
	}
	for range r.draw(6) {
		space, _ = r.project.Workspace(space.ID)
		r.edit(space)
	}
	if r.draw(4) == 0 {
		r.now += work.TurnSeconds * 1000
		r.others()
		return
	}
	space, _ = r.project.Workspace(space.ID)
	r.resolve(space)
	_, err := r.do(who, &work.SubmitTurn{Summary: "done"})
	switch fault.CodeOf(err) {
	case "":
		if got, want := r.tree(), r.views[space.ID]; !got.equal(want) {
			r.t.Fatalf("published is %v, want %v", got, want)
		}
	case fault.NothingToSubmit:
		if got, want := r.tree(), r.views[space.ID]; !got.equal(want) {
			r.t.Fatalf("nothing to submit, and it shows %v on %v", want, got)
		}
		r.now += work.TurnSeconds * 1000
	default:
		r.t.Fatal(err)
	}
}
