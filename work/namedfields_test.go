package work

import (
	"reflect"
	"strings"
	"testing"
	"unique"

	"pws/internal/fieldtest"
	"pws/internal/id"
)

// without maps fields of records, or leaves of theirs, to the reason why a rule does not have them.
type without map[string]string

func (w without) has(path string) bool {
	for field := range w {
		if rest, within := strings.CutPrefix(path, field); within &&
			(rest == "" || rest[0] == '.' || rest[0] == '[') {
			return true
		}
	}
	return false
}

// eachDiffers demands that two records are not the same if they differ in one field.
func eachDiffers[T any](t *testing.T, record T, same func(a, b *T) bool, not without) {
	t.Helper()
	if !same(&record, &record) {
		t.Errorf("a %T is not the same as itself", record)
	}
	fieldtest.Changed(record, func(leaf fieldtest.Leaf, changed T) {
		if alike := same(&record, &changed); alike != not.has(leaf.Path) {
			t.Errorf("%T.%s: same is %t; compare it, or say here why not", record, leaf.Path, alike)
		}
	})
}

// TestComparisonsHaveEveryField: a change of a field alone is a change.
func TestComparisonsHaveEveryField(t *testing.T) {
	eachDiffers(t, TaskSpec{}, func(a, b *TaskSpec) bool {
		return (&Task{Spec: *a}).sameSpec(&Task{Spec: *b})
	}, nil)
	eachDiffers(t, Task{}, func(a, b *Task) bool { return a.sameSpec(b) && a.sameWork(b) }, without{
		"ID": "names the task", "Claim": "has events of its own", "Holders": "follow the claims",
		"Token": "follows the claims", "Attempts": "follow the claims",
		"CreatedBy": "never changes", "CreatedAt": "never changes",
		"UpdatedAt": "follows the changes", "Version": "follows the changes",
		"SpecGuest": "follows the spec", "WorkGuest": "follows the progress",
		"waitsFor": "computed from the dependencies",
	})
	eachDiffers(t, About{}, func(a, b *About) bool { return sameAbout(*a, *b) }, nil)
	eachDiffers(t, Statement{}, func(a, b *Statement) bool { return a.differences(b) == 0 }, nil)
	eachDiffers(t, Overlaid{}, (*Overlaid).same, without{"At": "the time of the same content"})
	path := "a"
	file := Op{Path: &path, Type: unique.Make("text/plain")}
	eachDiffers(t, file, func(a, b *Op) bool { return sameFiles([]Op{*a}, []Op{*b}) }, without{
		"From": "a tree has no operations", "Action": "a tree has no operations",
		"at": "a tree has no history",
	})
}

// TestMembersOfStatementsDiffer: each member of a statement has a bit and a name of its own.
func TestMembersOfStatementsDiffer(t *testing.T) {
	seen := map[string]string{}
	fieldtest.Changed(Statement{}, func(leaf fieldtest.Leaf, changed Statement) {
		field := strings.TrimSuffix(leaf.Path, "[]")
		names := changed.filled().Names()
		if len(names) != 1 || seen[names[0]] != "" && seen[names[0]] != field {
			t.Fatalf("%s: %v", leaf.Path, names)
		}
		seen[names[0]] = field
	})
	if len(seen) != len(stateMemberNames) {
		t.Errorf("of the names %v, fields have %v", stateMemberNames, seen)
	}
}

// isText reports whether callers decide how long a leaf is: texts, their sizes where they are
// stored away, bytes and lists of IDs.
func isText(leaf fieldtest.Leaf) bool {
	switch leaf.Type {
	case reflect.TypeFor[[]id.ID](), reflect.TypeFor[[]byte]():
		return true
	case reflect.TypeFor[int]():
		return strings.HasSuffix(leaf.Path, ".Bytes")
	}
	return leaf.Type.Kind() == reflect.String
}

// eachCounts demands that a size is larger if one text is.
func eachCounts[T any](t *testing.T, record T, size func(*T) int, not without) {
	t.Helper()
	least := size(&record)
	fieldtest.Changed(record, func(leaf fieldtest.Leaf, changed T) {
		if counts := size(&changed) > least; isText(leaf) && counts == not.has(leaf.Path) {
			t.Errorf("%T.%s: it counts: %t. Count it, or say here why not", record, leaf.Path,
				counts)
		}
	})
}

// TestSizesHaveEveryText: no text of a record is free of quotas.
func TestSizesHaveEveryText(t *testing.T) {
	const bounded = "the service makes it, with a limit of its own"
	reason := without{"Deleted.Reason": "counted beside it, for the project"}
	mentions := without{"Mentions": bounded, "Deleted.Reason": reason["Deleted.Reason"]}
	eachCounts(t, Task{}, (*Task).Bytes, without{"Holders": bounded})
	eachCounts(t, Artifact{}, (*Artifact).bytes, nil)
	eachCounts(t, Import{}, (*Import).bytes, without{
		"Authors": bounded, "BundledAuthors": bounded, "Credits": bounded, "Origins": bounded,
		"Origin": bounded,
	})
	eachCounts(t, Comment{}, (*Comment).Bytes, mentions)
	eachCounts(t, Discussion{}, (*Discussion).Bytes, mentions)
	eachCounts(t, Contribution{}, (*Contribution).Bytes, without{
		"Revisions": "at most RevisionsMax", "Conflicts": "files of its workspace, which count",
	})
	eachCounts(t, Review{}, (*Review).bytes, reason)
	eachCounts(t, Handoff{}, (*Handoff).Bytes, reason)
	eachCounts(t, Verification{}, (*Verification).Bytes, reason)
	eachCounts(t, Statement{}, (*Statement).bytes, nil)
	stored := Away{Size: 1}
	eachCounts(t, TaskTexts{
		Spec: &SpecAway{stored, stored, stored, stored}, Blocked: stored, Result: stored,
	}, func(texts *TaskTexts) int { return texts.Bytes() }, nil)
}

// eachApplies demands that a change makes another record if it differs in one field. A nil pointer
// and one to a zero value may mean the same.
func eachApplies[C any](t *testing.T, change C, apply func(*C) any) {
	t.Helper()
	before := apply(&change)
	fieldtest.Changed(change, func(leaf fieldtest.Leaf, changed C) {
		same := reflect.DeepEqual(before, apply(&changed))
		if same && leaf.Type.Kind() != reflect.Pointer {
			t.Errorf("%T.%s has no effect: apply it", change, leaf.Path)
		}
	})
}

// TestChangesApplyEveryField: no field of a change is without effect.
func TestChangesApplyEveryField(t *testing.T) {
	text, list := "t", []string{"l"}
	eachApplies(t, TaskChange{
		// Away goes with the texts that it is of, Blocked with its status.
		Description: &text, ExpectedOutput: &text, Conditions: &list, RelatedFiles: &list,
		Away: new(SpecAway), Status: TaskBlocked,
	}, func(c *TaskChange) any { return c.on(&Task{Blocked: new(Blocked)}) })
	eachApplies(t, StatementPatch{}, func(c *StatementPatch) any {
		next, err := c.on(&Statement{}, "")
		if err != nil {
			t.Fatal(err)
		}
		return next
	})
	about := About{Visibility: Unlisted, Reuse: AllowReuse, Status: Active}
	p := NewProject()
	p.Apply(&ProjectCreated{ID: id.ID{1}, Kind: Standard, Owner: id.ID{2}, About: about}, Moment{})
	eachApplies(t, UpdateProject{
		Visibility: about.Visibility, Reuse: about.Reuse, Status: about.Status,
	}, func(c *UpdateProject) any {
		decision, err := c.Decide(p, Stamp{Agent: id.ID{2}})
		if err != nil {
			t.Fatal(err)
		}
		return decision.Events
	})
}
