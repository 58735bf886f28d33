package work_test

import (
	"pws/internal/id"
	"pws/work"
)

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
}}, {"36-project-imported-contributions", &work.ProjectImported{
	Changesets: []work.ChangesetPublished{{
		ID: agent("changeset"), Source: work.SourceImport, SourceID: agent("import"),
	}},
	Status: work.Active,
	Contributions: []*work.Contribution{{
		ID: agent("contribution"), Author: agent("ann"), Status: work.AcceptedStatus,
		Revisions: []id.ID{agent("revision")}, Changeset: agent("changeset"), Note: "n",
		Reviews: []*work.Review{{
			ID: agent("review"), Revision: agent("revision"), Author: agent("ann"),
			Verdict: work.VerdictApprove, Binding: true, Body: "b", CreatedAt: testNow,
		}},
		DecidedBy: agent("ann"), DecidedAt: testNow, CreatedAt: testNow, UpdatedAt: testNow,
		Version: 1,
	}},
	Revisions: []*work.Revision{{
		ID: agent("revision"), Contribution: agent("contribution"), Number: 1,
		Base: agent("changeset"), Summary: "s", CreatedAt: testNow,
		Files: []work.Overlaid{{Path: "a", From: "b", Blob: blob("1").Hash, Size: 1, Type: "text/x"}},
	}},
	Imports: []*work.Import{{
		ID: agent("import"), Changeset: agent("changeset"), Files: 1, License: "MIT", Name: "n",
		CreatedBy: agent("ann"), CreatedAt: testNow, Credits: []work.Credit{frozenSaidCredit()},
		BundledAuthors: []work.BundledAgent{frozenAgent("zoe")},
		Origin:         pointer(frozenOrigin("old import")),
	}},
	Imported: work.Imported{
		Project: frozenOrigin("project"), State: frozenOrigin(""), Whole: true,
		Contributions: []work.ContributionOrigin{{
			Record:    frozenOrigin("old contribution"),
			Revisions: []work.Origin{frozenOrigin("old revision")},
			Reviews:   []work.Origin{frozenOrigin("old review")},
			Decision:  frozenOrigin(""), Changeset: agent("became"),
		}},
		Credits:   []work.Credit{frozenSaidCredit()},
		Authors:   []work.BundledAuthor{{Agent: frozenAgent("carl"), Changesets: 7}},
		Relations: []work.Origin{frozenOrigin("old relation")},
		Imports: []*work.Import{{
			ID: agent("old import"), Changeset: agent("then"), License: "MIT", Name: "n",
			CreatedBy: agent("ann"), CreatedAt: testNow, Project: agent("source"),
		}},
	},
}}, {"36-project-imported-details", &work.ProjectImported{
	Changesets: []work.ChangesetPublished{{ID: agent("changeset"), Source: work.SourceProject}},
	Artifacts: []*work.Artifact{{
		ID: agent("artifact"), Changeset: agent("changeset"), Name: "n", Description: "d",
		Type: work.Library, Paths: []string{"a"}, License: "MIT", Reuse: work.AllowReuse,
		CreatedBy: agent("ann"), CreatedAt: testNow,
	}},
	Contributions: []*work.Contribution{{
		ID: agent("contribution"), Author: agent("ann"), Status: work.RejectedStatus,
		Revisions: []id.ID{agent("revision")},
		Reviews: []*work.Review{{
			ID: agent("review"), Revision: agent("revision"), Author: agent("ann"),
			Verdict: work.VerdictComment, Body: "b", CreatedAt: testNow,
			Comments: []work.ReviewComment{{Path: "a", Line: 7, Body: "why"}},
		}},
	}},
	Imports: []*work.Import{{
		ID: agent("import"), Prefix: "vendor/n", Changeset: agent("changeset"), Files: 1,
		License: "MIT", Name: "n", Authors: []id.ID{agent("bob")}, CreatedBy: agent("ann"),
		CreatedAt: testNow, Origins: frozenOrigins,
		Omitted: work.Omitted{Authors: 1, Credits: 2, Origins: 3, Histories: 4},
	}},
	Imported: work.Imported{
		Project: frozenOrigin("project"), State: frozenOrigin(""),
		First: &work.FirstOrigin{
			Project: frozenOrigin("first"), ForkedFrom: agent("source"), ForkedAt: agent("base"),
		},
		Contributions: []work.ContributionOrigin{{
			Record: frozenOrigin("old contribution"), Decision: frozenOrigin(""),
			Project: agent("source"),
		}},
	},
	Status: work.Active,
}}, {"31-project-forked-bundled", &work.ProjectForked{
	ID: agent("changeset"), Project: agent("source"), Changeset: agent("head"),
	Root: blob("root").Hash, Credits: []work.Credit{frozenSaidCredit()},
	BundledAuthors: []work.BundledAuthor{{Agent: frozenAgent("carl"), Changesets: 7}},
	Imports: []*work.Import{{
		ID: agent("import"), Artifact: agent("artifact"), Source: agent("other"),
		SourceChangeset: agent("there"), Changeset: agent("became"), License: "MIT", Name: "n",
		CreatedBy: agent("ann"), CreatedAt: testNow, Project: agent("source"),
	}},
}}, {"33-artifact-imported-bundled", &work.ArtifactImported{
	ID: agent("import"), Artifact: agent("artifact"), Source: agent("source"),
	SourceChangeset: agent("there"), Changeset: agent("changeset"), License: "MIT", Name: "n",
	Credits:        []work.Credit{frozenSaidCredit()},
	BundledAuthors: []work.BundledAgent{frozenAgent("zoe")},
}}, {"36-project-imported-states", &work.ProjectImported{
	Changesets: []work.ChangesetPublished{{
		ID: agent("changeset"), Source: work.SourceImport,
	}},
	Status: work.Active,
	States: []*work.State{{
		Statement: work.Statement{Summary: "s"}, Changeset: agent("changeset"), Version: 6,
		UpdatedBy: agent("ann"), UpdatedAt: testNow, Changed: 3,
	}},
	State: &work.State{
		Statement: work.Statement{Summary: "t"}, Changeset: agent("changeset"), Version: 7,
		UpdatedBy: agent("ann"), UpdatedAt: testNow, Changed: 1,
	},
	Imported: work.Imported{
		Project: frozenOrigin("project"), State: frozenOrigin(""),
		States: []work.VersionOrigin{
			{Version: 6, Origin: frozenOrigin("")}, {Version: 7, Origin: frozenOrigin("")},
		},
	},
}}}

func frozenAgent(name string) work.BundledAgent {
	return work.BundledAgent{Agent: agent(name), Handle: name}
}

func frozenSaidCredit() work.Credit {
	return work.Credit{
		Project: agent("project"), Author: agent("ann"), AcceptedBy: agent("ann"),
		Origin: &work.CreditOrigin{
			Project: agent("source"), Contribution: agent("old"), Changeset: agent("became"),
			Author: frozenAgent("carl"), Reviewers: []work.BundledAgent{frozenAgent("zoe")},
			AcceptedBy: frozenAgent("ann"),
		},
	}
}

func frozenOrigin(name string) work.Origin {
	return work.Origin{ID: agent(name), Agent: agent("carl"), CreatedAt: 4}
}
