package api

import (
	"pws/api/sizelimit"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Manifest summarizes a project and its state. Lists have at most 20 items, texts at most 500
// characters.
type Manifest struct {
	// Summary of the project.
	Project ProjectBrief `json:"project"`
	// The objective in the project state; if empty, the description of the project.
	Purpose string `json:"purpose"`
	// Summary of the current status of the work.
	CurrentState ManifestState `json:"current_state"`
	// Paths of important files: those that the state names, otherwise well-known ones at the top
	// level.
	ImportantFiles []string `json:"important_files"`
	// Unfinished tasks: how many of each status, and the first ones.
	OpenWork OpenWork `json:"open_work"`
	// Problems that are known and not solved yet, from the state.
	KnownProblems []string `json:"known_problems"`
	// What the work depends on outside the project, from the state.
	Dependencies []string `json:"dependencies"`
	// Summary of the verification records.
	Verification VerificationSummary `json:"verification"`
	// Verification records with the outcome FAILED, newest first, at most 10. A record is omitted if
	// its author has since recorded PASSED for the same entity.
	FailedChecks []FailedVerification `json:"failed_verifications,omitzero"`
	// Where to continue.
	Continuation ContinuationMetadata `json:"continuation"`
	// Terms of reuse.
	Reuse ReuseTerms `json:"reuse"`
}

// ManifestState is the short form of the continuation state.
type ManifestState struct {
	// Summary of the current status of the work.
	Summary string `json:"summary"`
	// What is being worked on now.
	CurrentFocus string `json:"current_focus"`
	// Version; incremented by each replacement.
	Version uint64 `json:"version"`
	// When it was written.
	UpdatedAt Time `json:"updated_at"`
}

// OpenWork is the open work of a project.
type OpenWork struct {
	// Tasks by status.
	Counts TaskCounts `json:"counts"`
	// At most 10 unfinished tasks: first those that can be claimed, best first, then those in
	// progress, then those that are waiting.
	Tasks []TaskBrief `json:"tasks"`
}

// TaskCounts counts tasks by status; claimed tasks are counted by their status too.
type TaskCounts struct {
	// Tasks with the status OPEN.
	Open int `json:"open"`
	// Tasks with the status IN_PROGRESS.
	InProgress int `json:"in_progress"`
	// Tasks with the status BLOCKED.
	Blocked int `json:"blocked"`
	// Tasks with the status IN_REVIEW.
	InReview int `json:"in_review"`
	// Tasks with the status DONE.
	Done int `json:"done"`
	// Tasks with the status CANCELLED.
	Cancelled int `json:"cancelled"`
	// Tasks with a live claim.
	Claimed int `json:"claimed"`
}

// ContinuationMetadata says where to continue.
type ContinuationMetadata struct {
	// The newest changeset.
	HeadChangesetID string `json:"head_changeset_id" check:"id=chg_"`
	// Version of the state.
	StateVersion uint64 `json:"state_version"`
	// The latest handoff of an agent that is not blocked; null if there is none.
	LatestHandoffID *string `json:"latest_handoff_id" check:"id=hnd_"`
	// The latest checkpoint; absent if there is none.
	LatestCheckpointID *string `json:"latest_checkpoint_id,omitzero" check:"id=ckp_"`
	// When anything in the project last changed.
	LastActivityAt Time `json:"last_activity_at"`
	// Number of active work sessions.
	ActiveSessions int `json:"active_work_sessions"`
}

// ReuseTerms are the terms of a project.
type ReuseTerms struct {
	// Whether it may be copied.
	ReusePolicy string `json:"reuse_policy" check:"enum=ALLOW_REUSE|REFERENCE_ONLY"`
	// SPDX expression, NOASSERTION or NONE.
	LicenseSPDX string `json:"license_spdx"`
}

// ManifestData is the data of a manifest.
type ManifestData struct {
	// The manifest.
	Manifest Manifest `json:"manifest"`
}

// The limits of a manifest.
const (
	manifestItemsMax = 20
	manifestCharsMax = 500
	manifestTasksMax = 10
)

var manifestOperations = []*Operation{
	declare[None, ManifestData](Operation{
		Name: "manifest.read", Method: "GET", Path: "/api/v1/projects/{project}/manifest",
		Tool: "project.manifest",
		ToolDoc: "Read this first in a project that you do not know: its purpose, status, open " +
			"work and where to continue.",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Errors: []fault.Code{fault.ProjectNotFound},
		Tag:    "continuation", Summary: "Get the project manifest",
		Doc: "Returns the purpose, the status and the open work of a project, and where to " +
			"continue. Read it first.",
	}, readManifest),
}

func readManifest(c *Call, _ *None) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	return Reply{Data: ManifestData{Manifest: c.manifest(view)}}, nil
}

func (c *Call) manifest(p *work.Project) Manifest {
	state := p.State()
	said := &state.Statement
	purpose := said.Objective
	if purpose == "" {
		purpose = p.Description
	}
	manifest := Manifest{
		Project: c.projectBrief(p), Purpose: inManifest(purpose),
		CurrentState: ManifestState{
			Summary: inManifest(said.Summary), CurrentFocus: inManifest(said.CurrentFocus),
			Version: state.Version, UpdatedAt: Time(state.UpdatedAt),
		},
		ImportantFiles: manifestItems(said.ImportantFiles),
		OpenWork:       OpenWork{Counts: c.taskCounts(p), Tasks: c.bestTasks(p)},
		KnownProblems:  manifestItems(said.KnownProblems),
		Dependencies:   manifestItems(said.Dependencies),
		Verification:   verificationOf(p),
		FailedChecks:   failedIn(p),
		Continuation: ContinuationMetadata{
			HeadChangesetID: p.Head().ID.Format(id.Changeset), StateVersion: state.Version,
			LastActivityAt: Time(p.UpdatedAt), ActiveSessions: p.ActiveSessions(c.Now),
		},
		Reuse: ReuseTerms{ReusePolicy: p.Reuse.String(), LicenseSPDX: p.License},
	}
	manifest.Project.Description = inManifest(manifest.Project.Description)
	if len(said.ImportantFiles) == 0 {
		manifest.ImportantFiles = wellKnownFiles(p)
	}
	if handoff := p.CurrentHandoff(); handoff != nil {
		manifest.Continuation.LatestHandoffID = idOrNil(id.Handoff, handoff.ID)
	}
	if checkpoint := p.LatestCheckpoint(); checkpoint != nil {
		manifest.Continuation.LatestCheckpointID = idOrNil(id.Checkpoint, checkpoint.ID)
	}
	return manifest
}

func inManifest(text string) string { return sizelimit.Shorten(text, manifestCharsMax) }

func manifestItems(list []string) []string {
	items := make([]string, 0, min(len(list), manifestItemsMax))
	for _, text := range list[:min(len(list), manifestItemsMax)] {
		items = append(items, inManifest(text))
	}
	return items
}

// wellKnownFiles looks up files by well-known names; it does not search the tree.
func wellKnownFiles(p *work.Project) []string {
	found := []string{}
	for _, path := range wellKnown {
		if _, exists := p.File(path); exists && len(found) < manifestItemsMax {
			found = append(found, path)
		}
	}
	return found
}

func (c *Call) taskCounts(p *work.Project) TaskCounts {
	count := func(status work.TaskStatus) int { return p.TaskCount(status, c.Now) }
	return TaskCounts{
		Open: count(work.TaskOpen), InProgress: count(work.TaskInProgress),
		Blocked: count(work.TaskBlocked), InReview: count(work.TaskInReview),
		Done: count(work.TaskDone), Cancelled: count(work.TaskCancelled),
		Claimed: p.ClaimedCount(c.Now),
	}
}

// bestTasks returns first the tasks that can be claimed, then the claimed ones, then the waiting
// ones.
func (c *Call) bestTasks(p *work.Project) []TaskBrief {
	best, waiting := make([]*work.Task, 0, manifestTasksMax), make([]*work.Task, 0, manifestTasksMax)
	take := func(t *work.Task) bool {
		if len(best) < manifestTasksMax {
			best = append(best, t)
		}
		return len(best) < manifestTasksMax
	}
	p.OpenTasks(c.Now, func(t *work.Task) bool {
		if !p.Waits(t) {
			return take(t)
		}
		if len(waiting) < manifestTasksMax {
			waiting = append(waiting, t)
		}
		return true
	})
	if len(best) < manifestTasksMax {
		p.ClaimedTasks(c.Now, take)
	}
	if len(best) < manifestTasksMax {
		p.StalledTasks(c.Now, take)
	}
	best = append(best, waiting...)
	briefs := make([]TaskBrief, 0, min(len(best), manifestTasksMax))
	for _, task := range best[:min(len(best), manifestTasksMax)] {
		brief := c.taskBrief(p, task)
		if brief.Blocked != nil {
			brief.Blocked.Reason = inManifest(brief.Blocked.Reason)
		}
		briefs = append(briefs, brief)
	}
	return briefs
}
