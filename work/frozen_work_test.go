package work_test

import (
	"pws/internal/id"
	"pws/work"
)

func pointer[T any](value T) *T { return &value }

// frozenWorkEvents are those of state, handoffs, checkpoints, work sessions, tasks and claims.
var frozenWorkEvents = []frozenEvent{
	{"7-work-session-opened", &work.WorkSessionOpened{ID: agent("session")}},
	{"8-work-session-ended", &work.WorkSessionEnded{
		ID: agent("session"), Summary: "enough", Handoff: agent("handoff"),
	}},
	{"9-state-updated", &work.StateUpdated{
		Changeset: agent("changeset"),
		Statement: work.Statement{
			Summary: "s", Objective: "o", CurrentFocus: "f",
			Completed: []string{"c1", "c2"}, InProgress: []string{"i"},
			KnownProblems: []string{"k"}, Decisions: []string{"d"}, NextActions: []string{"n"},
			ImportantFiles: []string{"a/b.go"}, Dependencies: []string{"p"},
			OpenQuestions: []string{"q", ""}, Custom: []byte(`{"ä":[1,null]}`),
		},
	}},
	{"10-handoff-created", &work.HandoffCreated{
		ID: agent("handoff"), WorkSession: agent("session"), Changeset: agent("changeset"),
		ChangedFiles: []string{"a", "b/c"},
		Continuation: work.Continuation{
			Summary: "s", CompletedWork: []string{"c"},
			Decisions:        []work.Note{{Text: "plain"}, {Text: "t", Reason: "r", Reasoned: true}},
			FailedApproaches: []work.Note{{Text: "t", Reasoned: true}},
			Blockers:         []string{"b"}, Assumptions: []string{"a"}, Dependencies: []string{"d"},
			OpenQuestions: []string{"q"}, NextActions: []string{"n"},
			Tasks: []id.ID{agent("task"), agent("other")}, ResidualRisks: []string{"r"},
		},
	}},
	{"11-checkpoint-created", &work.CheckpointCreated{ID: agent("checkpoint"), Summary: "s"}},
	{"12-task-created", &work.TaskCreated{ID: agent("task"), Spec: work.TaskSpec{
		Title: "t", Description: "d", Priority: work.PriorityUrgent, Type: "bug",
		Skills: []string{"go"}, Dependencies: []id.ID{agent("one"), agent("two")},
		RelatedFiles: []string{"a"}, ExpectedOutput: "e", Conditions: []string{"c1", "c2"},
		Parent: agent("parent"),
	}}},
	{"13-task-updated", &work.TaskUpdated{
		Task: agent("task"), EndsClaim: true,
		Change: work.TaskChange{
			Title: pointer("t"), Description: pointer("d"), Priority: work.PriorityLow,
			Type: pointer("bug"), Skills: &[]string{"go"}, Dependencies: &[]id.ID{agent("one")},
			RelatedFiles: &[]string{"a"}, ExpectedOutput: pointer("e"), Conditions: &[]string{"c"},
			Parent: pointer(agent("parent")), Status: work.TaskBlocked,
			Blocked: &work.Blocked{Kind: work.BlockedByCapability, Reason: "r"},
			Result: &work.TaskResult{
				Summary: "s", Changeset: agent("changeset"), Contribution: agent("contribution"),
			},
		},
	}},
	{"13-task-emptied", &work.TaskUpdated{Task: agent("task"), Change: work.TaskChange{
		Description: pointer(""), Type: pointer(""), Skills: &[]string{}, Dependencies: &[]id.ID{},
		RelatedFiles: &[]string{}, ExpectedOutput: pointer(""), Conditions: &[]string{},
		Parent: new(id.ID),
	}}},
	{"12-task-created-guest", &work.TaskCreated{
		ID: agent("task"), Spec: work.TaskSpec{Title: "t", Priority: work.PriorityNormal},
		Guest: agent("eve"),
	}},
	{"13-task-updated-guest", &work.TaskUpdated{
		Task: agent("task"), Change: work.TaskChange{Status: work.TaskInReview}, EndsClaim: true,
		Guest: agent("eve"),
	}},
	{"13-task-updated-renewed", &work.TaskUpdated{
		Task: agent("task"), Change: work.TaskChange{Status: work.TaskInReview},
		ExpiresAt: testNow,
	}},
	{"13-task-updated-blocked", &work.TaskUpdated{
		Task: agent("task"), Guest: agent("eve"), ExpiresAt: testNow, WhileHeld: true,
		Change: work.TaskChange{
			Status:  work.TaskBlocked,
			Blocked: &work.Blocked{Kind: work.BlockedByTransient, Reason: "no network"},
		},
	}},
	{"14-task-claimed", &work.TaskClaimed{
		Task: agent("task"), Claim: agent("claim"), Token: 7, WorkSession: agent("session"),
		ExpiresAt: testNow,
	}},
	{"15-claim-renewed", &work.ClaimRenewed{Task: agent("task"), ExpiresAt: testNow}},
	{"16-task-released", &work.TaskReleased{Task: agent("task"), Token: 7}},
	{"17-task-claim-expired", &work.TaskClaimExpired{
		Task: agent("task"), Agent: agent("ann"), Token: 7,
	}},
	{"52-agent-blocked", &work.AgentBlocked{Agent: agent("eve"), Reason: "r"}},
	{"53-agent-unblocked", &work.AgentUnblocked{Agent: agent("eve")}},
	{"54-turn-awaited", &work.TurnAwaited{}},
	{"55-turn-ended", &work.TurnEnded{Agent: agent("eve"), Workspace: agent("workspace")}},
	{"34-relation-created", &work.RelationCreated{
		ID: agent("relation"), Type: work.Supersedes, Target: agent("target"), Note: "n",
	}},
	{"35-verification-created", &work.VerificationCreated{
		ID: agent("record"), Finding: work.Finding{
			Entity: work.Entity{Type: work.EntityArtifact, ID: agent("artifact")},
			Kind:   work.ExternalAttestation, Outcome: work.Inconclusive, Method: "m",
			Summary: "s", Evidence: []string{"e1", "e2"}, Source: "lab", Reference: "17",
		},
	}},
}
