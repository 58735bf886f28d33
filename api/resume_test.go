package api_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	validator "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// resumeOf is data.resume, as text of the answer and decoded.
func (d *fakeEngine) resumeOf(t failer, who string, query ...string) ([]byte, map[string]any) {
	t.Helper()
	data, err := d.read("resume.read", who, query...)
	if err != nil {
		t.Fatalf("%v: %v", query, err)
	}
	text := data[len(`{"resume":`) : len(data)-1]
	return text, object(t, text)
}

// nasty are texts whose JSON is as long as it gets, and others.
func nasty(chars int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		size := rapid.OneOf(rapid.IntRange(1, chars), rapid.Just(chars), rapid.IntRange(1, 40)).
			Draw(t, "size")
		unit := rapid.SampledFrom([]string{
			"x", "😀", `"`, `\`, "\t", "é", "<", "\u2028", "word ", "\ufeff",
		}).Draw(t, "unit")
		return string([]rune(strings.Repeat(unit, size))[:size])
	})
}

// filler fills projects with lists and texts of some size.
type filler struct {
	*rapid.T
	items, chars, operations int
}

// most fills with all that a project can hold, some with what fits the largest answer.
func most(t *rapid.T) filler { return filler{t, work.ListItemsMax, work.ItemCharsMax, 99} }

func some(t *rapid.T) filler { return filler{t, 6, 150, 3} }

func (t filler) text(label string) string { return nasty(t.chars).Draw(t.T, label) }

func (t filler) texts(label string) []string {
	longest := rapid.SampledFrom([]int{0, 0, 2, 10, t.items}).Draw(t.T, label+" most")
	count := rapid.IntRange(0, min(longest, t.items)).Draw(t.T, label+" count")
	return slices.Repeat([]string{t.text(label)}, count)
}

func (t filler) notes(label string) []work.Note {
	var list []work.Note
	for _, text := range t.texts(label) {
		note := work.Note{Text: text, Reasoned: rapid.Bool().Draw(t.T, "reasoned")}
		if note.Reasoned && rapid.Bool().Draw(t.T, "with reason") {
			note.Reason = t.text("reason")
		}
		list = append(list, note)
	}
	return list
}

// project is one that holds anything.
func (t filler) project() *fakeEngine {
	d := newFakeEngine()
	d.join("ann", strings.Repeat("a", 32))
	d.join("bob", strings.Repeat("b", 32))
	d.create(t, work.About{
		Name: nasty(work.NameCharsMax).Draw(t.T, "name"), Description: "of all kinds",
		Topics: slices.Repeat([]string{strings.Repeat("t", 40)},
			rapid.IntRange(0, 20).Draw(t.T, "topics")),
	})
	t.files(d)
	if rapid.Bool().Draw(t.T, "has state") {
		d.do(t, "ann", &work.UpdateState{Statement: work.Statement{
			Summary: t.text("summary"), Objective: t.text("objective"),
			KnownProblems: t.texts("problems"), Decisions: t.texts("state decisions"),
			NextActions: t.texts("state actions"), Completed: t.texts("completed"),
			ImportantFiles: append(t.texts("important"), "src/0.go", "README.md"),
			Custom: rapid.SampledFrom([][]byte{
				nil, []byte(`{"a":[1,2]}`), []byte(`{"a":"` + strings.Repeat("é", 9000) + `"}`),
			}).Draw(t.T, "custom"),
		}})
	}
	t.tasks(d)
	for range rapid.IntRange(0, 2).Draw(t.T, "handoffs") {
		d.do(t, rapid.SampledFrom([]string{"ann", "bob"}).Draw(t.T, "author"), &work.CreateHandoff{
			Continuation: work.Continuation{
				Summary: t.text("handoff"), NextActions: t.texts("actions"),
				Blockers: t.texts("blockers"), FailedApproaches: t.notes("failures"),
				Decisions: t.notes("decisions"), CompletedWork: t.texts("work"),
			},
		})
	}
	return d
}

func (t filler) files(d *fakeEngine) {
	for n := range rapid.SampledFrom([]int{0, 1, 3, 12}).Draw(t.T, "changesets") {
		code := "package main\n\nfunc main() {}\n"
		operations := []work.Operation{writes(fmt.Sprintf("src/%d.go", n), code)}
		for k := range rapid.SampledFrom([]int{0, 0, 1, t.operations}).Draw(t.T, "operations") {
			deep := strings.Repeat(strings.Repeat("p", 40)+"/", 9)
			operations = append(operations, writes(fmt.Sprintf("%s%d/%d.md", deep, n, k), "# One\n"))
		}
		d.publish(t, t.text("message"), operations...)
	}
}

func (t filler) tasks(d *fakeEngine) {
	d.do(t, "ann", &work.AddMember{Agent: agent("bob"), Role: work.Maintainer})
	var last id.ID
	for range rapid.SampledFrom([]int{0, 2, 12}).Draw(t.T, "tasks") {
		spec := work.TaskSpec{
			Title: nasty(200).Draw(t.T, "title"), Description: t.text("description"),
			Skills: []string{"go"}, Conditions: t.texts("conditions"),
		}
		step := rapid.IntRange(0, 5).Draw(t.T, "step")
		if step == 0 && !last.IsZero() {
			spec.Dependencies = []id.ID{last}
		}
		last = d.task(t, spec)
		switch step {
		case 1:
			d.do(t, "bob", &work.ClaimTask{Task: last})
		case 2:
			d.do(t, "ann", &work.ClaimTask{Task: last})
		case 3:
			d.block(t, last, t.text("reason"))
		}
	}
}

// asked is one way to ask for a resume.
type asked struct {
	who      string
	query    []string
	most     int
	excluded []string
}

func anyQuery(t *rapid.T, d *fakeEngine) asked {
	q := asked{who: rapid.SampledFrom([]string{"", "ann", "bob"}).Draw(t, "who"), most: 12_000}
	set := func(name, value string) { q.query = append(q.query, name, value) }
	set("detail", rapid.SampledFrom([]string{"compact", "standard", "full"}).Draw(t, "detail"))
	if rapid.Bool().Draw(t, "sized") {
		wanted := rapid.OneOf(
			rapid.Just(1000), rapid.IntRange(1000, 2000), rapid.IntRange(1000, 200_000),
			rapid.SampledFrom([]int{-5, 0, 999, 200_001, 1 << 40}),
		).Draw(t, "max_chars")
		set("max_chars", strconv.Itoa(wanted))
		q.most = min(max(wanted, 1000), 200_000)
	}
	if rapid.Bool().Draw(t, "since") {
		since := uint32(rapid.IntRange(1, d.project.ChangesetsCount()).Draw(t, "sequence"))
		set("since_changeset", d.project.ChangesetNumber(since).ID.Format(id.Changeset))
	}
	if rapid.IntRange(0, 3).Draw(t, "excludes") == 0 {
		q.excluded = rapid.SliceOfNDistinct(rapid.SampledFrom(sections), 1, 4, rapid.ID).
			Draw(t, "excluded")
		set("exclude", strings.Join(q.excluded, ","))
	}
	return q
}

var sections = []string{
	"state", "handoff", "changes", "files", "tasks", "failures", "decisions", "open_questions",
	"residual_risks", "blockers", "next_actions", "failed_verifications", "work_sessions", "you",
}

// TestResumeNeverTooLong: whatever a project holds and whatever is asked, the answer is strict JSON
// that fits its schema, is not longer than it may be, and says its length.
func TestResumeNeverTooLong(t *testing.T) {
	answer := schema(t, "resume.read")
	rapid.Check(t, func(t *rapid.T) {
		d := most(t).project()
		for range 5 {
			checkResume(t, d, anyQuery(t, d), answer)
		}
	})
}

func checkResume(t *rapid.T, d *fakeEngine, q asked, answer *validator.Schema) {
	text, got := d.resumeOf(t, q.who, q.query...)
	if len(text) > q.most {
		t.Fatalf("%v: %d bytes: %s", q.query, len(text), text)
	}
	if !utf8.Valid(text) || got["approximate_chars"] != float64(len(text)) {
		t.Fatalf("%v: %v, not %d", q.query, got["approximate_chars"], len(text))
	}
	fits(t, answer, slices.Concat([]byte(`{"resume":`), text, []byte("}")))
	for _, section := range sections {
		if _, there := got[section]; there && slices.Contains(q.excluded, section) {
			t.Fatalf("%v: %s is there", q.query, section)
		}
	}
	noneEmpty(t, "", got)
	// What matters most is there in the smallest answer too.
	var actions, blockers, failures int
	if handoff := d.project.LatestHandoff(); handoff != nil {
		actions, blockers = len(handoff.Continuation.NextActions), len(handoff.Continuation.Blockers)
		failures = len(handoff.Continuation.FailedApproaches)
	}
	for section, count := range map[string]int{
		"next_actions": actions, "blockers": blockers, "failures": failures,
	} {
		if list, _ := got[section].([]any); count > 0 && len(list) == 0 &&
			!slices.Contains(q.excluded, section) {
			t.Fatalf("%v: no %s: %s", q.query, section, text)
		}
	}
}

// noneEmpty expects that no member is null or empty, but for what an agent wrote itself.
func noneEmpty(t failer, path string, value any) {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		for key, member := range value {
			switch text := fmt.Sprint(member); {
			case path == ".state" && key == "custom":
			case member == nil || text == "" || text == "[]":
				t.Fatalf("%s.%s is there and empty", path, key)
			default:
				noneEmpty(t, path+"."+key, member)
			}
		}
	case []any:
		for _, one := range value {
			noneEmpty(t, path+"[]", one)
		}
	}
}

// TestResumeReportsOmittedItems: what is named is exactly what differs from the whole.
func TestResumeReportsOmittedItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := some(t).project()
		who := rapid.SampledFrom([]string{"", "bob"}).Draw(t, "who")
		_, whole := d.resumeOf(t, who, "detail", "full", "max_chars", "200000")
		if whole["truncated_sections"] != nil {
			t.Skip("too much for any answer")
		}
		bytes := rapid.IntRange(1000, 20_000).Draw(t, "max_chars")
		_, less := d.resumeOf(t, who, "detail", "full", "max_chars", strconv.Itoa(bytes))
		named := map[string]bool{}
		names, _ := less["truncated_sections"].([]any)
		for _, name := range names {
			named[name.(string)] = true
		}
		for _, section := range append(sections, "project") {
			same := fmt.Sprint(once(less[section])) == fmt.Sprint(once(whole[section]))
			if same == named[section] {
				t.Fatalf("%s: named %v, the same %v", section, named[section], same)
			}
		}
	})
}

// shownTwice are members of state and handoff that have a section of their own.
var shownTwice = []string{
	"next_actions", "blockers", "failed_approaches", "decisions", "open_questions",
	"residual_risks",
}

// once is a section without what is shown in another one.
func once(value any) any {
	object, isObject := value.(map[string]any)
	if !isObject {
		return value
	}
	out := maps.Clone(object)
	for _, key := range shownTwice {
		delete(out, key)
	}
	return out
}

// sample is a small project with something in every section. Ann left, bob goes on.
func sample(t testing.TB) (d *fakeEngine, first, last id.ID) {
	d = newFakeEngine()
	d.join("ann", "ann")
	d.join("bob", "bob")
	d.create(t, work.About{Name: "Parser", Description: "Reads dates", Topics: []string{"go"}})
	first = d.publish(t, "begin", writes("parse.go", "package parse\n\nfunc Parse() {\n}\n"),
		writes("README.md", "# Parser\n\ntext\n\n## Use\n"), writes("old.go", "package old\n"))
	last = d.publish(t, "move", work.Operation{Action: work.Delete, Path: "old.go"},
		writes("Makefile", "build: all\n\tgo build\n"))
	d.do(t, "ann", &work.UpdateState{Statement: work.Statement{
		Summary: "half", Objective: "all dates", NextActions: []string{"b", "c"},
		ImportantFiles: []string{"parse.go", "gone.go"}, Custom: []byte(`{"k":[1]}`),
	}})
	d.do(t, "ann", &work.CreateHandoff{Continuation: work.Continuation{
		Summary: "left", NextActions: []string{"a", "b"}, Blockers: []string{"no samples"},
		FailedApproaches: []work.Note{
			{Text: "regexp", Reason: "slow", Reasoned: true}, {Text: "guessing"},
		},
	}})
	return d, first, last
}

func TestResumeContainsAllSections(t *testing.T) {
	d, first, last := sample(t)
	free := d.task(t, work.TaskSpec{Title: "free", Skills: []string{"go"}})
	urgent := d.task(t, work.TaskSpec{Title: "urgent", Priority: work.PriorityUrgent})
	waits := d.task(t, work.TaskSpec{Title: "waits", Dependencies: []id.ID{free}})
	stuck := d.task(t, work.TaskSpec{Title: "stuck"})
	d.block(t, stuck, "which format?")
	mine, theirs := d.task(t, work.TaskSpec{Title: "mine"}), d.task(t, work.TaskSpec{Title: "theirs"})
	d.now += 1000
	d.do(t, "ann", &work.ClaimTask{Task: theirs})
	d.now += 1000
	d.do(t, "bob", &work.ClaimTask{Task: mine})

	_, got := d.resumeOf(t, "bob")
	for _, c := range []struct {
		want any
		path []any
	}{
		{"Parser", []any{"project", "name"}},
		{"ann", []any{"project", "owner", "handle"}},
		{last.Format(id.Changeset), []any{"head_changeset_id"}},
		{[]any{"a", "b", "c"}, []any{"next_actions"}},
		{[]any{"no samples", "stuck (" + stuck.Format(id.Task) + "): which format?"}, []any{"blockers"}},
		{map[string]any{
			"approach": "regexp", "reason": "slow",
			"handoff_id": d.project.LatestHandoff().ID.Format(id.Handoff),
		}, []any{"failures", 0}},
		{"Reads dates", []any{"project", "description"}},
		{6, []any{"tasks", "total"}},
		{"guessing", []any{"failures", 1, "approach"}},
		{nil, []any{"failures", 1, "reason"}},
		{"left", []any{"handoff", "summary"}},
		{nil, []any{"handoff", "previous_handoff_id"}},
		{"all dates", []any{"state", "objective"}},
		{[]any{float64(1)}, []any{"state", "custom", "k"}},
		{urgent.Format(id.Task), []any{"tasks", "open", 0, "id"}},
		{free.Format(id.Task), []any{"tasks", "open", 1, "id"}},
		{nil, []any{"tasks", "open", 2}},
		{mine.Format(id.Task), []any{"tasks", "claimed", 0, "id"}},
		{true, []any{"tasks", "claimed", 0, "held"}},
		{float64(1), []any{"tasks", "claimed", 0, "claim", "fencing_token"}},
		{theirs.Format(id.Task), []any{"tasks", "claimed", 1, "id"}},
		{nil, []any{"tasks", "claimed", 1, "held"}},
		{nil, []any{"tasks", "claimed", 1, "claim", "fencing_token"}},
		{agent("ann").Format(id.Agent), []any{"tasks", "claimed", 1, "claim", "agent_id"}},
		{stuck.Format(id.Task), []any{"tasks", "blocked", 0, "id"}},
		{waits.Format(id.Task), []any{"tasks", "blocked", 1, "id"}},
		{"DEPENDENCY", []any{"tasks", "blocked", 1, "blocked", "kind"}},
		{last.Format(id.Changeset), []any{"changes", 0, "id"}},
		{[]any{"old.go", "Makefile"}, []any{"changes", 0, "paths"}},
		{first.Format(id.Changeset), []any{"changes", 1, "id"}},
		{"parse.go", []any{"files", 0, "path"}},
		{"Makefile", []any{"files", 1, "path"}},
		{"README.md", []any{"files", 2, "path"}},
		{nil, []any{"files", 3}},
		{"bob", []any{"work_sessions", 0, "agent", "handle"}},
		{"ACTIVE", []any{"work_sessions", 1, "status"}},
		{nil, []any{"since_changeset_id"}},
		{nil, []any{"truncated_sections"}},
	} {
		if here := at(got, c.path...); fmt.Sprint(here) != fmt.Sprint(c.want) {
			t.Errorf("%v is %v, not %v", c.path, here, c.want)
		}
	}
}

// TestResumeOfEmptyProject: of a project that holds nothing there is no empty member.
func TestResumeOfEmptyProject(t *testing.T) {
	d := newFakeEngine()
	d.join("ann", "ann")
	d.create(t, work.About{Name: "empty"})
	_, got := d.resumeOf(t, "")
	want := []string{
		"approximate_chars", "changes", "head_changeset_id", "project", "state", "tasks",
		"work_sessions",
	}
	if keys := slices.Sorted(maps.Keys(got)); !slices.Equal(keys, want) {
		t.Errorf("members %v", keys)
	}
	noneEmpty(t, "", got)
}

func TestResumeDetail(t *testing.T) {
	d, _, _ := sample(t)
	long := strings.Repeat("é", 1999)
	d.task(t, work.TaskSpec{Title: "t", Description: long, Conditions: []string{"done"}})
	d.do(t, "ann", &work.UpdateState{Statement: work.Statement{
		Summary: long, Custom: []byte(`{"k":"` + long + `"}`),
	}})
	for _, c := range []struct {
		detail           string
		summary, details int
		custom, outline  bool
		lost             string
	}{
		{"compact", 200, 0, false, false, "[state]"},
		{"standard", 1000, 1000, false, false, "[state tasks]"},
		{"full", 1999, 1999, true, true, "<nil>"},
	} {
		_, got := d.resumeOf(t, "ann", "detail", c.detail, "max_chars", "100000")
		count := func(value any) int { return utf8.RuneCountInString(fmt.Sprint(value)) }
		if n := count(at(got, "state", "summary")); n != c.summary {
			t.Errorf("%s: the summary has %d characters", c.detail, n)
		}
		description, shown := at(got, "tasks", "open", 0, "description").(string)
		if shown != (c.details > 0) || utf8.RuneCountInString(description) != c.details {
			t.Errorf("%s: description %s", c.detail, description)
		}
		if custom := at(got, "state", "custom"); (custom != nil) != c.custom {
			t.Errorf("%s: custom %v", c.detail, custom)
		}
		outline := fmt.Sprint(at(got, "files", 0, "outline"))
		if (outline == "[build: all]") != c.outline {
			t.Errorf("%s: outline %s", c.detail, outline)
		}
		whole := at(got, "changes", 0, "operations") != nil
		if whole != (c.detail == "full") {
			t.Errorf("%s: operations are there: %v", c.detail, whole)
		}
		if lost := got["truncated_sections"]; fmt.Sprint(lost) != c.lost {
			t.Errorf("%s: lost %v, not %v", c.detail, lost, c.lost)
		}
	}
}

func TestResumeSinceChangeset(t *testing.T) {
	d := newFakeEngine()
	d.create(t, work.About{Name: "long"})
	since := d.project.Head().ID
	for n := range 230 {
		d.publish(t, fmt.Sprint(n), writes(fmt.Sprintf("%d.txt", n), "x"))
	}
	for _, c := range []struct {
		since, detail string
		count         int
		lost          bool
	}{
		{"", "compact", 5, true}, {"", "standard", 20, true}, {"", "full", 100, true},
		{since.Format(id.Changeset), "compact", 200, true},
		{d.project.ChangesetNumber(131).ID.Format(id.Changeset), "compact", 100, false},
		{d.project.Head().ID.Format(id.Changeset), "full", 0, false},
	} {
		query := []string{"detail", c.detail, "max_chars", "200000", "include", "changes"}
		if c.since != "" {
			query = append(query, "since_changeset", c.since)
		}
		_, got := d.resumeOf(t, "", query...)
		changes, _ := got["changes"].([]any)
		if len(changes) != c.count {
			t.Errorf("%v: %d changes", query, len(changes))
		}
		if c.count > 0 && at(changes, 0, "message") != "229" {
			t.Errorf("%v: the first is %v", query, at(changes, 0))
		}
		names, _ := got["truncated_sections"].([]any)
		if lost := slices.Contains(names, any("changes")); lost != c.lost {
			t.Errorf("%v: lost is %v", query, lost)
		}
		if c.since != "" && got["since_changeset_id"] != c.since {
			t.Errorf("%v: since %v", query, got["since_changeset_id"])
		}
	}
}

func TestResumeSections(t *testing.T) {
	d, _, _ := sample(t)
	frame := []string{"project", "head_changeset_id", "approximate_chars"}
	always := append(frame[:3:3], "state", "failures", "blockers", "next_actions", "work_sessions")
	for _, c := range []struct {
		include, exclude string
		want             []string
	}{
		{"", "", append(always[:8:8], "handoff", "changes", "files", "tasks")},
		{" ", " ", append(always[:8:8], "handoff", "changes", "files", "tasks")},
		{"files", "", append(always[:8:8], "files")},
		{"files, handoff", "", append(always[:8:8], "files", "handoff")},
		{"files,handoff", "handoff", append(always[:8:8], "files")},
		{"files", strings.Join(sections, ","), frame},
	} {
		_, got := d.resumeOf(t, "", "include", c.include, "exclude", c.exclude)
		slices.Sort(c.want)
		if keys := slices.Sorted(maps.Keys(got)); !slices.Equal(keys, c.want) {
			t.Errorf("include %q, exclude %q: %v", c.include, c.exclude, keys)
		}
	}
}

func TestResumeRejectsInvalidParameters(t *testing.T) {
	d, _, _ := sample(t)
	for _, c := range []struct {
		name, value string
		code        fault.Code
	}{
		{"detail", "all", fault.ValidationFailed}, {"detail", "", fault.ValidationFailed},
		{"include", "state", fault.ValidationFailed}, {"include", "files,", fault.ValidationFailed},
		{"include", "FILES", fault.ValidationFailed}, {"exclude", "project", fault.ValidationFailed},
		{"max_chars", "many", fault.ValidationFailed}, {"max_chars", "1e4", fault.ValidationFailed},
		{"max_chars", "", fault.ValidationFailed},
		{"since_changeset", "chg_unknown", fault.ChangesetNotFound},
		{"since_changeset", agent("none").Format(id.Changeset), fault.ChangesetNotFound},
	} {
		_, err := d.read("resume.read", "", c.name, c.value)
		if code := fault.CodeOf(err); code != c.code {
			t.Errorf("%s=%q: %v", c.name, c.value, err)
			continue
		}
		if fields, named := err.(*fault.Error).Details["fields"].([]fault.Field); named &&
			(len(fields) != 1 || fields[0].Field != c.name) {
			t.Errorf("%s=%q: %v", c.name, c.value, fields)
		}
	}
}

// TestResumeOfManySessions: the ten that were active last, whatever the order of their agents.
func TestResumeOfManySessions(t *testing.T) {
	d := newFakeEngine()
	d.create(t, work.About{Name: "busy"})
	task := d.task(t, work.TaskSpec{Title: "t"})
	for n := range 25 {
		d.now += 60_000
		name := fmt.Sprintf("%c%d", 'a'+n*7%26, n)
		d.join(name, "agent-"+name)
		d.do(t, name, &work.ClaimTask{Task: task})
		d.do(t, name, &work.ReleaseTask{Task: task})
	}
	_, got := d.resumeOf(t, "", "max_chars", "50000")
	sessions := got["work_sessions"].([]any)
	if len(sessions) != 10 || fmt.Sprint(got["truncated_sections"]) != "[work_sessions]" {
		t.Fatalf("%d sessions, lost %v", len(sessions), got["truncated_sections"])
	}
	for nth := range 9 {
		this, next := at(sessions, nth, "last_active_at"), at(sessions, nth+1, "last_active_at")
		if fmt.Sprint(this) <= fmt.Sprint(next) {
			t.Errorf("session %d is not before the next: %v", nth, sessions)
		}
	}
	if at(sessions, 0, "status") != "ACTIVE" || at(sessions, 9, "status") != "IDLE" {
		t.Errorf("%v", sessions)
	}
}

// TestResumeListsTheCallersTasksFirst: a claimed task is shown to its holder wherever another task
// is shown, however short the answer and however long the texts before it are.
func TestResumeListsTheCallersTasksFirst(t *testing.T) {
	d := newFakeEngine()
	d.join("ann", "ann")
	d.join("bob", "bob")
	d.create(t, work.About{Name: "held"})
	d.do(t, "ann", &work.AddMember{Agent: agent("bob"), Role: work.Maintainer})
	long := strings.Repeat("long ", 600)
	five := slices.Repeat([]string{strings.Repeat("x", 60)}, 5)
	d.do(t, "ann", &work.UpdateState{Statement: work.Statement{Summary: long, NextActions: five}})
	for n := range 12 {
		d.do(t, "ann", &work.CreateTask{Spec: work.TaskSpec{
			Title: fmt.Sprint("other", n), Priority: work.PriorityUrgent,
		}})
	}
	held := d.task(t, work.TaskSpec{Title: "mine", Priority: work.PriorityLow})
	d.do(t, "bob", &work.ClaimTask{Task: held})
	three := slices.Repeat([]string{strings.Repeat("y", 300)}, 3)
	tried := slices.Repeat([]work.Note{{Text: three[0]}}, 3)
	d.do(t, "ann", &work.CreateHandoff{Continuation: work.Continuation{
		Summary: long, NextActions: five, Blockers: three, FailedApproaches: tried,
	}})
	shown := 0
	for bytes := 1000; bytes <= 6000; bytes += 50 {
		for _, level := range []string{"compact", "standard", "full"} {
			_, got := d.resumeOf(t, "bob", "detail", level, "max_chars", strconv.Itoa(bytes))
			tasks, _ := got["tasks"].(map[string]any)
			open, _ := tasks["open"].([]any)
			claimed, _ := tasks["claimed"].([]any)
			if len(open) > 0 && len(claimed) == 0 {
				t.Errorf("%d bytes, %s: another's task and not the caller's", bytes, level)
			}
			if len(claimed) > 0 {
				shown++
			}
		}
	}
	if shown < 200 {
		t.Errorf("the caller's task was shown in %d answers", shown)
	}
}
