package api_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sameAs is replaced by the value at another path of a bundle.
type sameAs string

// manyFaults are requests with faults of several kinds, and the fields of all reported faults.
var manyFaults = map[string]struct {
	set  map[string]any
	want string
}{
	"contents, history, references": {
		map[string]any{
			"bundle.files.0.content": "x", "bundle.tasks.0.dependencies": []any{"tsk_1"},
			"bundle.tasks.1.parent_task_id": "tsk_00000000000000000000000001",
			"bundle.comments.1.reply_to_id": "cmt_00000000000000000000000001",
			"bundle.artifacts.0.paths.0":    "none", "bundle.blobs": map[string]any{},
			"bundle.handoffs.0.id":         sameAs("handoffs.1.id"),
			"bundle.state.changeset_id":    "chg_00000000000000000000000001",
			"bundle.verification.0.method": strings.Repeat("x", 5000),
		},
		"tasks[0].dependencies[0] files[0].content verification[0].method " +
			"history[1].operations[0].blob_hash " +
			"contributions[1].revisions[0].operations[0].blob_hash state.changeset_id " +
			"tasks[1].parent_task_id handoffs[1].id artifacts[0].paths comments[1].reply_to_id",
	},
	"cycles": {
		map[string]any{
			"bundle.tasks.0.dependencies":   []any{sameAs("tasks.1.id")},
			"bundle.tasks.0.parent_task_id": sameAs("tasks.1.id"), "bundle.tasks.1.title": "",
		},
		"tasks[1].title tasks[1].dependencies tasks[1].parent_task_id",
	},
	"bundle and request": {
		map[string]any{
			"visibility": "SECRET", "name": "", "license_spdx": "?", "more": 1,
			"bundle.tasks.1.parent_task_id": "tsk_00000000000000000000000001",
			"bundle.comments.0.body":        "",
		},
		"more name visibility license_spdx comments[0].body tasks[1].parent_task_id",
	},
	"bundle and policy": {
		map[string]any{"visibility": "PUBLIC", "bundle.comments.0.body": ""},
		"comments[0].body reuse_policy",
	},
	"types": {
		map[string]any{
			"bundle.tasks.0.title": 5, "bundle.handoffs.0.more": 1, "bundle.files.1.path": true,
			"bundle.history.1.message":      7,
			"bundle.tasks.1.parent_task_id": "tsk_00000000000000000000000001",
			"bundle.comments.0.body":        "",
		},
		"files[1].path handoffs[0].more history[1].message tasks[0].title " +
			"comments[0].body tasks[1].parent_task_id",
	},
	"invalid operations": {
		map[string]any{
			"bundle.history.1.operations.0.action":     "COPY",
			"bundle.history.2.operations.0.path":       "../x",
			"bundle.history.2.operations.0.blob_hash":  nil,
			"bundle.history.2.parent_changeset_id":     nil,
			"bundle.verification.0.entity_type":        "UNKNOWN",
			"bundle.discussions.0.subject.type":        "UNKNOWN",
			"bundle.relationships.0.target_project_id": "none",
		},
		"discussions[0].subject.type history[1].operations[0].action " +
			"relationships[0].target_project_id verification[0].entity_type " +
			"history[2].parent_changeset_id history[2].operations[0].path " +
			"history[2].operations[0].blob_hash",
	},
	"no bundle": {
		map[string]any{"bundle": 7, "visibility": nil}, "bundle visibility",
	},
}

// TestBundleFaultsTogether checks that one response reports all faults, but none that is only a
// consequence of another one.
func TestBundleFaultsTogether(t *testing.T) {
	data := sampleBundle(t)
	for name, row := range manyFaults {
		tree := object(t, data)
		tree["visibility"] = "PRIVATE"
		delete(tree["bundle"].(map[string]any), "integrity")
		for _, path := range slices.Sorted(maps.Keys(row.set)) {
			set(tree, strings.Split(path, "."), resolved(tree["bundle"], row.set[path]))
		}
		text, err := json.Marshal(tree)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = importsAs(text, "bob")
		var got []string
		for _, line := range strings.Split(faultsOf(err), "\n") {
			field, _, _ := strings.Cut(line, ":")
			got = append(got, strings.TrimPrefix(field, "bundle."))
		}
		if joined := strings.Join(got, " "); joined != row.want {
			t.Errorf("%s:\n got %s\nwant %s", name, strings.Join(got, "\n"), row.want)
		}
	}
}

// resolved replaces each sameAs by the value at its path.
func resolved(bundle, value any) any {
	switch value := value.(type) {
	case sameAs:
		for _, name := range strings.Split(string(value), ".") {
			if list, ok := bundle.([]any); ok {
				nth, _ := strconv.Atoi(name)
				bundle = list[nth]
			} else {
				bundle = bundle.(map[string]any)[name]
			}
		}
		return bundle
	case []any:
		for i := range value {
			value[i] = resolved(bundle, value[i])
		}
	case map[string]any:
		for name := range value {
			value[name] = resolved(bundle, value[name])
		}
	}
	return value
}
