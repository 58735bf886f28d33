package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pws/api"
	"pws/api/jsonschema"
	"pws/internal/fault"
	"pws/work"
)

// hostile are changes that make a bundle invalid: a path, its value, and the expected fault.
var hostile = []struct {
	set   string
	value any
	want  string
}{
	{"format", "ZIP", "format: must be one of"},
	{"bundle_version", 2, "bundle_version: must be an integer from 1 to 1"},
	{"more", 1, "more: unknown member"},
	{"files.0.more", 1, "files[0].more: unknown member"},
	{"files", 7, "files: must be a list"},
	{"project", nil, "project.id: must be an ID"},
	{"project.id", "prj_x", "project.id"},
	{"project.name", "", "project.name"},
	{"project.name", "two\nlines", "project.name: must be one line"},
	{"project.description", strings.Repeat("x", 4001), "project.description"},
	{"project.kind", "OTHER", "project.kind: must be one of"},
	{"project.topics", []any{"NO"}, "project.topics[0]"},
	{"project.license_spdx", "nothing known", "project.license_spdx: is not an SPDX expression"},
	{
		"project.head_changeset_id", "chg_00000000000000000000000001",
		"head_changeset_id: is not the last",
	},
	{
		"project.created_at", "9999999-01-01T00:00:00Z",
		"project.created_at: must be an RFC 3339 time",
	},
	{"project.owner.handle", strings.Repeat("x", 33), "project.owner.handle"},
	{"exported_at", "yesterday", "exported_at: must be an RFC 3339 time"},
	{"exported_at", "1969-01-01T00:00:00Z", "exported_at: must be between"},
	{"files.0.path", "../a", "files[0].path"},
	{"files.0.path", "b/d.txt", "files[1].path: is duplicated"},
	{"files.0.content", nil, "files[0].content: is required"},
	{"files.0.content", "4", "files[0].content: does not match the hash"},
	{"files.0.content", "3\x00", "files[0].content"},
	{
		"files.0.content", strings.Repeat("x", work.FileBytesMax+1),
		"files[0].content: is longer than",
	},
	{"files.0.content_type", "image/png", "files[0].content_type: is not a supported"},
	{"files.0.content_type", "text/x", "files[0].content_type: is not the media type at"},
	{"files.0.blob_hash", "AA", "files[0].content: must be 64"},
	{"files.0.size_bytes", 2, "files[0].size_bytes: does not match the size"},
	{"files", []any{}, "blob_hash: names content"},
	{"history", []any{}, "history"},
	{"history.1.id", "chg_x", "history[1].id"},
	{"history.1.sequence", 7, "history[1].sequence: must be 2"},
	{"history.1.parent_changeset_id", nil, "history[1].parent_changeset_id"},
	{"history.1.message", strings.Repeat("x", 4001), "history[1].message"},
	{"history.1.author.agent_id", "me", "history[1].author.agent_id"},
	{"history.1.source.type", "MAGIC", "history[1].source.type"},
	{"history.1.operations", nil, "history[1].operations: is required"},
	{"history.1.operations.0.action", "CHANGE", "history[1].operations[0].action"},
	{"history.1.operations.0.action", "MODIFY", "history[1].operations[0].path: There is no file"},
	{"history.1.operations.0.path", "/a", "history[1].operations[0].path"},
	{"history.1.operations.0.path", "b", "history[1].operations[1].path: A path would be both"},
	{"history.1.operations.1.path", "a.txt", "history[1].operations[1].path: There is already"},
	{"history.1.operations.0.previous_path", "x", "previous_path: is only allowed with RENAME"},
	{"history.1.operations.0.blob_hash", strings.Repeat("0", 64), "is not referenced by any"},
	{"history.1.operations.0.blob_hash", nil, "history[1].operations[0].blob_hash: is required"},
	{"history.1.operations.0.size_bytes", 5, "operations[0].size_bytes: does not match the size"},
	{"history.1.operations.0.size_bytes", -1, "operations[0].size_bytes: must be from 0"},
	{"history.1.operations.0.content_type", "no", "operations[0].content_type"},
	{
		"history.2.operations.0.previous_blob_hash", strings.Repeat("0", 64),
		"previous_blob_hash: is not the content",
	},
	{"history.2.operations.1.previous_path", nil, "operations[1].previous_path: is required"},
	{"history.2.operations.0.action", "CREATE", "operations[0].path: There is already"},
	{"blobs", map[string]any{}, "history[1].operations[0].blob_hash: names content"},
	{"blobs.x", "y", "blobs.x: must be 64"},
	{"blobs." + fmt.Sprintf("%x", textBlob("spare").Hash), "spare", "is not referenced by any"},
	{"state.version", 0, "state.version: must be from 1"},
	{
		"state.changeset_id", "chg_00000000000000000000000001",
		"state.changeset_id: names no changeset",
	},
	{"state.summary", strings.Repeat("x", 4001), "state.summary"},
	{"state.custom", []any{}, "state.custom: must be an object"},
	{"handoffs.0.summary", "", "handoffs[0].summary: is required"},
	{
		"handoffs.0.task_ids.0", "tsk_00000000000000000000000001",
		"handoffs[0].task_ids[0]: names no task",
	},
	{
		"handoffs.0.changeset_id", "chg_00000000000000000000000001",
		"handoffs[0].changeset_id: names no",
	},
	{"handoffs.0.changed_files", []any{"a\nb"}, "handoffs[0].changed_files[0]"},
	{"handoffs.1.id", "hnd_00000000000000000000000001", "latest_handoff.id: is not the last"},
	{"tasks.0.title", "", "tasks[0].title: is required"},
	{"tasks.0.status", "", "tasks[0].status"},
	{"tasks.0.priority", "SOON", "tasks[0].priority"},
	{"tasks.0.version", 0, "tasks[0].version"},
	{"tasks.0.attempt_count", -1, "tasks[0].attempt_count"},
	{
		"tasks.0.result.changeset_id", "chg_00000000000000000000000001",
		"result.changeset_id: names no",
	},
	{"tasks.0.result.summary", strings.Repeat("x", 4001), "tasks[0].result.summary"},
	{"tasks.1.blocked", nil, "tasks[1].blocked: must say why"},
	{
		"tasks.1.dependencies.0", "tsk_00000000000000000000000001",
		"tasks[1].dependencies[0]: names no task",
	},
	{
		"tasks.1.parent_task_id", "tsk_00000000000000000000000001",
		"tasks[1].parent_task_id: names no task",
	},
	{"artifacts.0.paths", []any{"none"}, "artifacts[0].paths: names none"},
	{
		"artifacts.0.changeset_id", "chg_00000000000000000000000001",
		"artifacts[0].changeset_id: names no",
	},
	{"artifacts.0.type", "MAGIC", "artifacts[0].type"},
	{
		"verification.0.entity_id", "prj_00000000000000000000000001",
		"verification[0].entity_id: names no entity",
	},
	{"verification.0.external_source", nil, "verification[0].external_source: is required"},
	{"verification.0.outcome", "FINE", "verification[0].outcome"},
	{"relationships.0.direction", "INCOMING", "relationships[0].direction"},
	{"relationships.0.type", "LIKES", "relationships[0].type"},
	{"discussions", []any{map[string]any{}}, "discussions[0].title: is required"},
	{"discussions.0.body", "", "discussions[0].body"},
	{"discussions.0.id", "dsc_1", "discussions[0].id"},
	{"discussions.0.status", "SHUT", "discussions[0].status: must be one of"},
	{"discussions.0.subject", map[string]any{"type": "CLAIM", "id": "x"}, "discussions[0].subject"},
	{
		"discussions.0.subject", map[string]any{"type": "FILE", "id": "../x"},
		"discussions[0].subject.id",
	},
	{
		"discussions.0.subject", map[string]any{
			"type": "TASK", "id": "tsk_00000000000000000000000001",
		}, "discussions[0].subject.id: names no entity",
	},
	{
		"comments.0.discussion_id", "dsc_00000000000000000000000001",
		"comments[0].discussion_id: names no",
	},
	{
		"comments.0.reply_to_id", "cmt_00000000000000000000000001",
		"comments[0].reply_to_id: names no earlier",
	},
	{"comments.0.body", strings.Repeat("x", 20_001), "comments[0].body"},
	{"comments.0.created_at", "soon", "comments[0].created_at"},
	{"contributions.0.id", "x", "contributions[0].id: must be"},
	{"contributions.1.id", sameAs("contributions.0.id"), "contributions[1].id: is duplicated"},
	{"contributions.0.status", "DONE", "contributions[0].status: must be one of"},
	{"contributions.0.status", nil, "contributions[0].status: is required"},
	{"contributions.0.status", "SUBMITTED", "accepted_changeset_id: is only allowed with"},
	{"contributions.1.status", "ACCEPTED", "contributions[1].accepted_changeset_id: is required"},
	{"contributions.1.status", "REJECTED", "contributions[1].decided_by: is required"},
	{"contributions.0.decided_by", nil, "contributions[0].decided_by: is required"},
	{"contributions.0.decided_by", "bob", "contributions[0].decided_by"},
	{"contributions.0.decided_at", "soon", "contributions[0].decided_at"},
	{
		"contributions.0.accepted_changeset_id", "chg_00000000000000000000000001",
		"contributions[0].accepted_changeset_id: names no changeset",
	},
	{"contributions.0.revisions", []any{}, "contributions[0].revisions: must have 1 to"},
	{"contributions.0.current_revision_id", "rev_1", "current_revision_id: must be"},
	{"contributions.0.decision_note", "\x00", "contributions[0].decision_note"},
	{"contributions.1.decision_note", "no", "contributions[1].decision_note: is only allowed with"},
	{
		"contributions.1.decided_by", sameAs("contributions.0.decided_by"),
		"contributions[1].decided_by: is only allowed with",
	},
	{"contributions.1.revisions.0.operations", []any{}, "do not apply to the base"},
	{
		"agents", map[string]any{"agt_00000000000000000000000001": strings.Repeat("x", 33)},
		"agents.agt_0",
	},
	{"tasks.0.origin", map[string]any{}, "tasks[0].origin.id: must be"},
	{
		"provenance.origin.bundle", map[string]any{"project_id": "x"},
		"provenance.origin.bundle.project_id: must be",
	},
	{"contributions.0.revisions.0.number", 2, "revisions[0].number: must be 1"},
	{"contributions.0.revisions.0.id", nil, "revisions[0].id: must be an ID"},
	{
		"contributions.0.revisions.0.base_changeset_id", "chg_00000000000000000000000001",
		"revisions[0].base_changeset_id: names no changeset",
	},
	{"contributions.0.revisions.0.operations.0.path", "../x", "operations[0].path"},
	{
		"contributions.0.revisions.0.operations",
		repeated("contributions.0.revisions.0.operations.0", 401),
		"revisions[0].operations: must have at most 400 items",
	},
	{
		"contributions.0.revisions.0.operations",
		repeated("contributions.0.revisions.0.operations.0", 2), "do not apply to the base",
	},
	{"contributions.0.revisions.0.operations.0.path", "a.txt/x", "do not apply to the base"},
	{"contributions.0.revisions.0.operations.0.path", "a.txt", "do not apply to the base"},
	{"contributions.0.revisions.0.operations.0.action", "MODIFY", "do not apply to the base"},
	{"contributions.1.revisions.0.operations.0.action", "DELETE", "is not referenced by any"},
	{
		"contributions.0.current_revision_id", "rev_00000000000000000000000001",
		"contributions[0].current_revision_id: is not the last",
	},
	{
		"contributions.1.revisions.0.operations.0.previous_blob_hash", strings.Repeat("0", 64),
		"do not apply to the base",
	},
	{
		"contributions.1.revisions.0.operations.0.blob_hash", strings.Repeat("0", 64),
		"operations[0].blob_hash: names content that the bundle does not contain",
	},
	{"contributions.1.revisions.0.operations.0.size_bytes", 4, "size_bytes: does not match the size"},
	{"contributions.1.revisions.0.summary", strings.Repeat("x", 4001), "revisions[0].summary"},
	{
		"contributions.0.reviews.0.revision_id", "rev_00000000000000000000000001",
		"reviews[0].revision_id: names no revision",
	},
	{"contributions.0.reviews.0.verdict", "MAYBE", "reviews[0].verdict"},
	{"contributions.0.reviews.0.comments.0.path", "../x", "reviews[0].comments[0].path"},
	{"contributions.0.reviews.0.comments.0.line", 0, "reviews[0].comments[0].line"},
	{"contributions.0.reviews.0.author.agent_id", "eve", "reviews[0].author.agent_id"},
	{"contributions.0.reviews", repeated("contributions.0.reviews.0", 101), "at most 100 items"},
	{"contributions.0.reviews", repeated("contributions.0.reviews.0", 2), "[1].id: is duplicated"},
	{
		"contributions.1.revisions.0.id", sameAs("contributions.0.revisions.0.id"),
		"contributions[1].revisions[0].id: is duplicated",
	},
	{"contributions.0.revisions", repeated("contributions.0.revisions.0", 51), "1 to 50 items"},
	{"imports.0.id", "x", "imports[0].id: must be"},
	{"imports.0.changeset_id", "chg_00000000000000000000000001", "names no changeset"},
	{"imports.0.file_count", -1, "imports[0].file_count: must be from 0"},
	{"imports.0.target_prefix", "/in", "imports[0].target_prefix"},
	{"imports.0.license_spdx", "mine", "imports[0].license_spdx: is not an SPDX"},
	{"imports.0.artifact_name", "", "imports[0].artifact_name"},
	{"imports.0.artifact_id", nil, "imports[0].source_project_id: must be given together"},
	{"imports.0.source_project_id", "prj_x", "imports[0].source_project_id"},
	{"imports.0.authors.0.agent_id", "ann", "imports[0].authors[0].agent_id"},
	{"imports.0.origins.0.license_spdx", "mine", "imports[0].origins[0].license_spdx: is not an SPDX"},
	{"imports.0.origins.0.project_id", "x", "imports[0].origins[0].project_id: must be"},
	{"imports.0.origins", repeated("imports.0.origins.0", 52), "origins: must have at most 51"},
	{"imports.0.omitted.authors", -1, "imports[0].omitted.authors: must be from 0"},
	{"imports.0.omitted.histories", 1 << 40, "imports[0].omitted.histories: must be from 0"},
	{"provenance.origins.0.license_spdx", "mine", "origins[0].license_spdx: is not an SPDX"},
	{"provenance.origins.0.project_id", "prj_x", "provenance.origins[0].project_id: must be"},
	{"imports.0.authors.0.handle", strings.Repeat("x", 33), "imports[0].authors[0].handle"},
	{"imports", repeated("imports.0", 2), "imports[1].id: is duplicated"},
	{"imports", repeated("imports.0", 1001), "imports: must have at most 1000 items"},
	{"provenance.authors.0.inherited", -1, "provenance.authors[0]: must be from 0"},
	{"provenance.authors.0.agent.agent_id", "ann", "provenance.authors[0].agent.agent_id"},
	{
		"provenance.inherited_contributions", []any{map[string]any{
			"author":      map[string]any{"agent_id": "x"},
			"accepted_by": map[string]any{"agent_id": "agt_00000000000000000000000001"},
			"reviewers":   []any{map[string]any{}},
		}},
		"provenance.inherited_contributions[0].reviewers[0].agent_id: must be an ID",
	},
	{
		"provenance.inherited_contributions",
		slices.Repeat([]any{map[string]any{
			"author":      sameAs("contributions.0.author"),
			"accepted_by": sameAs("contributions.0.author"),
		}}, 101),
		"inherited_contributions: must have at most 100 items",
	},
	{"agents", map[string]any{"agt_1": 7}, "agents.agt_1: must be a string"},
	{"relationships.0.created_by", "ann", "relationships[0].author.agent_id"},
}

// repeated returns a list of the value at a path of a bundle.
func repeated(path string, times int) any {
	return slices.Repeat([]any{sameAs(path)}, times)
}

// set puts a value at a path of a tree.
func set(tree any, path []string, value any) {
	for {
		switch here := tree.(type) {
		case map[string]any:
			if len(path) == 1 {
				here[path[0]] = value
				return
			}
			tree = here[path[0]]
		case []any:
			var nth int
			_, _ = fmt.Sscan(path[0], &nth)
			if len(path) == 1 {
				here[nth] = value
				return
			}
			tree = here[nth]
		default:
			panic(fmt.Sprint("nothing at ", path))
		}
		path = path[1:]
	}
}

func faultsOf(err error) string {
	var refusal *fault.Error
	if !errors.As(err, &refusal) || refusal.Code != fault.ValidationFailed {
		return fmt.Sprint("another error: ", err)
	}
	var lines []string
	for _, one := range refusal.Details["fields"].([]fault.Field) {
		lines = append(lines, one.Field+": "+one.Problem)
	}
	return strings.Join(lines, "\n")
}

func TestHostileBundles(t *testing.T) {
	data := sampleBundle(t)
	mustImport(t, data)
	for _, row := range hostile {
		tree := object(t, data)
		bundle := tree["bundle"].(map[string]any)
		delete(bundle, "integrity")
		set(bundle, strings.Split(row.set, "."), resolved(bundle, row.value))
		text, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := imports(text, "bob")
		if err == nil {
			t.Errorf("%s %.40q: accepted, %s", row.set, fmt.Sprint(row.value), d.project.Name)
			continue
		}
		if got := faultsOf(err); !strings.Contains(got, row.want) {
			t.Errorf("%s %.40q: %q is not among:\n%.600s", row.set, fmt.Sprint(row.value),
				row.want, got)
		}
	}
}

// TestDamagedBundles changes one text after another. The digests must detect it.
func TestDamagedBundles(t *testing.T) {
	data := sampleBundle(t)
	for path, section := range map[string]string{
		"project.description": "project", "history.1.message": "history",
		"handoffs.0.summary": "handoffs", "tasks.0.title": "tasks", "state.summary": "state",
		"artifacts.0.name": "artifacts", "verification.0.method": "verification",
		"relationships.0.note": "relationships", "files.0.content_type": "files",
	} {
		tree := object(t, data)
		set(tree["bundle"], strings.Split(path, "."), "text/damaged")
		text, _ := json.Marshal(tree)
		_, _, err := imports(text, "bob")
		want := "bundle." + section + ": does not match its digest"
		if got := faultsOf(err); !strings.Contains(got, want) {
			t.Errorf("%s: %q is not among:\n%s", path, want, got)
		}
	}
}

func FuzzImportBundle(f *testing.F) {
	f.Add([]byte(leastBundle))
	f.Add(sampleBundle(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		var body api.ImportProject
		if jsonschema.Decode(data, &body) != nil && !strings.HasPrefix(string(data), `{"bundle":`) {
			return
		}
		d, _, err := imports(data, "bob")
		if code := fault.CodeOf(err); code == fault.Internal {
			t.Fatal(err)
		}
		if err == nil {
			mustImport(t, d.export(t, "bob", true))
		}
	})
}

// counted is a client that counts the bytes and keeps nothing.
type counted struct{ bytes int }

func (c *counted) Write(p []byte) (int, error) {
	c.bytes += len(p)
	return len(p), nil
}

// TestExportHoldsLittle exports a project that is much larger than the memory of an export.
func TestExportHoldsLittle(t *testing.T) {
	d := newFakeEngine()
	d.join("ann", "ann")
	d.create(t, work.About{Name: "large"})
	const size = 256 << 10
	var operations []work.Operation
	for n := range 90 {
		content := strings.Repeat(fmt.Sprintf("%08d", n), size/8)
		operations = append(operations, writes(fmt.Sprintf("f%d.txt", n), content))
	}
	d.publish(t, "all", operations...)
	e := &lavish{fakeEngine: d}
	d.service = api.NewService(e, api.Config{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	e.limit = before.HeapAlloc + 16*size
	client := &counted{}
	if err := d.exportTo(client, "ann", true); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if client.bytes < 90*size || e.over > 0 {
		t.Errorf("%d bytes; %d times more than %d bytes were in use", client.bytes, e.over, e.limit)
	}
	if made := after.TotalAlloc - before.TotalAlloc; made > 8<<20 {
		t.Errorf("%d bytes were allocated", made)
	}
}

// lavish measures the heap whenever contents are read.
type lavish struct {
	*fakeEngine
	limit uint64
	over  int
	asked int
}

func (l *lavish) Blob(hash work.Hash) ([]byte, error) {
	if l.asked++; l.asked%10 == 0 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		if stats.HeapAlloc > l.limit {
			l.over++
		}
	}
	return l.fakeEngine.Blob(hash)
}

// TestExportBreaksOff: if a content cannot be read, the text is not valid JSON.
func TestExportBreaksOff(t *testing.T) {
	d := newFakeEngine()
	d.join("ann", "ann")
	d.create(t, work.About{Name: "broken"})
	d.publish(t, "all", writes("a", "1"), writes("b", "2"))
	d.service = api.NewService(&corrupt{fakeEngine: d}, api.Config{})
	var out strings.Builder
	err := d.exportTo(&out, "ann", false)
	if fault.CodeOf(err) != fault.BlobCorrupt || json.Valid([]byte(out.String())) {
		t.Errorf("%v %s", err, out.String())
	}
	errGone := errors.New("gone")
	if err := d.exportTo(gone{errGone}, "ann", false); !errors.Is(err, errGone) {
		t.Errorf("the client is gone: %v", err)
	}
}

type corrupt struct{ *fakeEngine }

func (c *corrupt) Blob(hash work.Hash) ([]byte, error) {
	if hash == textBlob("2").Hash {
		return nil, fault.New(fault.BlobCorrupt, "Damaged.")
	}
	return c.fakeEngine.Blob(hash)
}

type gone struct{ err error }

func (g gone) Write([]byte) (int, error) { return 0, g.err }
