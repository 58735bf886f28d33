package work_test

import "pws/work"

// frozenBundleEvents are the events of bundles.
var frozenBundleEvents = []frozenEvent{{"36-project-imported", &work.ProjectImported{
	Changesets: []work.ChangesetPublished{{
		ID: agent("changeset"), Message: "m", Source: work.SourceImport,
		Ops: []work.OpRecord{{
			Action: work.Create, Path: "a", Blob: blob("1").Hash, Size: 1, Type: "text/plain",
		}},
	}},
	State: &work.State{
		Statement: frozenStatement(), Changeset: agent("changeset"), Version: 7,
		UpdatedBy: agent("ann"), UpdatedAt: testNow,
	},
	Handoffs: []*work.Handoff{{
		ID: agent("handoff"), Author: agent("ann"), WorkSession: agent("session"),
		Continuation: frozenContinuation(agent("task")), Changeset: agent("changeset"),
		ChangedFiles: []string{"a"}, CreatedAt: testNow,
	}},
	Tasks: []*work.Task{{
		ID: agent("task"), Spec: frozenSpec(agent("other")), Status: work.TaskDone, Attempts: 2,
		Result:    &work.TaskResult{Summary: "done", Changeset: agent("changeset")},
		CreatedBy: agent("ann"), CreatedAt: testNow, UpdatedAt: testNow, Version: 5,
	}},
	Verifications: []*work.Verification{{
		ID: agent("verification"), Author: agent("ann"), CreatedAt: testNow,
		Finding: work.Finding{
			Entity: work.Entity{Type: work.EntityChangeset, ID: agent("changeset")},
			Kind:   work.SelfReport, Outcome: work.Passed,
		},
	}},
	Relations: []*work.Relation{{
		ID: agent("relation"), Type: work.DependsOn, Target: agent("target"), Note: "n",
		CreatedBy: agent("ann"), CreatedAt: testNow,
	}},
	Artifacts: []*work.Artifact{{
		ID: agent("artifact"), Changeset: agent("changeset"), Name: "n", Type: work.Library,
		Paths: []string{"a"}, License: "MIT", Reuse: work.AllowReuse, CreatedBy: agent("ann"),
		CreatedAt: testNow,
	}},
	Imported: work.Imported{
		Project:    frozenOrigin("project"),
		ExportedAt: testNow - 1, ForkedFrom: agent("source"), ForkedAt: agent("base"),
		State: frozenOrigin(""), Whole: true,
		Changesets: []work.Origin{{
			ID: agent("old"), Agent: agent("carl"), Handle: "carl", CreatedAt: 5,
			Source: work.SourceFilePut,
		}},
		Handoffs:      []work.Origin{frozenOrigin("old handoff")},
		Tasks:         []work.Origin{frozenOrigin("old task")},
		Verifications: []work.Origin{frozenOrigin("old record")},
		Artifacts:     []work.Origin{frozenOrigin("old artifact")},
	},
	Status: work.Archived,
}}}

func frozenOrigin(name string) work.Origin {
	return work.Origin{ID: agent(name), Agent: agent("carl"), CreatedAt: 4}
}
