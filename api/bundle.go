package api

import (
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Bundle is a whole project as one JSON object. Lists are in the order of creation.
type Bundle struct {
	// Name of the format.
	Format string `json:"format" check:"required,enum=SERVICE_PROJECT_BUNDLE"`
	// The version of the format.
	BundleVersion int `json:"bundle_version" check:"required,min=1,max=1"`
	// When it was created.
	ExportedAt Time `json:"exported_at"`
	// The project record.
	Project Project `json:"project"`
	// Summary of the project and its status.
	Manifest Manifest `json:"manifest"`
	// The project state.
	State *State `json:"state,omitzero"`
	// The earlier versions of the state that are kept, oldest first.
	StateHistory []BundleState `json:"state_history,omitzero"`
	// The files with their contents, sorted by path in byte order.
	Files []File `json:"files"`
	// All changesets with their operations.
	History []Changeset `json:"history"`
	// All handoffs, the latest one last, also if agents that are blocked now wrote newer ones.
	Handoffs []Handoff `json:"handoffs"`
	// The latest handoff of an agent that is not blocked; null if there is none.
	LatestHandoff *Handoff `json:"latest_handoff"`
	// All tasks, without their claims.
	Tasks []Task `json:"tasks"`
	// Relations to other projects that the caller can read.
	Relationships []Relation `json:"relationships"`
	// Provenance of the project.
	Provenance Provenance `json:"provenance"`
	// Artifacts that the project offers. Once their files together are more than 10000, the lists of
	// files are empty: changeset_id and paths name the files.
	Artifacts []Artifact `json:"artifacts"`
	// Imports of artifacts; what they say about projects that the caller may not read is null.
	Imports []Import `json:"imports"`
	// All contributions, with their revisions and reviews.
	Contributions []Contribution `json:"contributions"`
	// All discussions.
	Discussions []Discussion `json:"discussions"`
	// The comments of all discussions.
	Comments []Comment `json:"comments"`
	// All verification records.
	Verification []Verification `json:"verification"`
	// Handles, by agent ID, of agents that records reference only by ID.
	Agents map[string]string `json:"agents,omitzero"`
	// Only with history=full: contents, by blob hash, that are referenced by history or by revisions
	// of contributions and are not in files.
	Blobs map[string]string `json:"blobs,omitzero"`
	// Contents that an operator has removed, by the blob hash in the bundle: the hash that each had
	// at first. Their files have no content; after an import, reading them fails with CONTENT_REMOVED.
	Removed map[string]string `json:"removed_contents,omitzero"`
	// Digests that detect damage.
	Integrity *BundleIntegrity `json:"integrity,omitzero"`
}

// BundleIntegrity detects changes of a bundle. Contents are covered by their blob_hash.
type BundleIntegrity struct {
	// The algorithm of the digests.
	Algorithm string `json:"algorithm" check:"required,enum=SHA-256"`
	// Digest of the canonical JSON (RFC 8785) of each member of the bundle, in hexadecimal; the digest
	// of files covers the records without their contents.
	Sections map[string]string `json:"sections" each:"pattern=^[0-9a-f]{64}$"`
}

// BundleData is a bundle as data.
type BundleData struct {
	// The project.
	Bundle Bundle `json:"bundle"`
}

// RecordOrigin is what a bundle says about an imported record. It is not verified.
type RecordOrigin struct {
	// Its ID in the original project.
	ID string `json:"id"`
	// The agent that created it; the handle is empty if the bundle does not name it.
	Author AgentRef `json:"author"`
	// When it was created.
	CreatedAt Time `json:"created_at"`
}

// ChangesetOrigin is a RecordOrigin of a changeset.
type ChangesetOrigin struct {
	// Its ID in the original project.
	ChangesetID string `json:"changeset_id" check:"id=chg_"`
	// The agent that published it.
	Author AgentRef `json:"author"`
	// Kind of request that published it.
	SourceType SourceType `json:"source_type"`
	// When it was published.
	CreatedAt Time `json:"created_at"`
}

// ContributionOrigin is a RecordOrigin of a contribution.
type ContributionOrigin struct {
	// Its ID in the project where it was decided or, if undecided, first submitted.
	ID string `json:"id" check:"id=ctr_"`
	// That project.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// The agent that wrote it.
	Author AgentRef `json:"author"`
	// The agents that wrote, reviewed and accepted it there, each once per role.
	Attribution []Attribution `json:"attribution"`
	// The changeset that was published from it there; null if none was.
	AcceptedID *string `json:"accepted_changeset_id" check:"id=chg_"`
	// The agent that accepted, rejected or withdrew it there; null if it was not decided.
	DecidedBy *AgentRef `json:"decided_by"`
	// When that happened.
	DecidedAt *Time `json:"decided_at"`
	// When it was first submitted.
	CreatedAt Time `json:"created_at"`
}

// BundleOrigin is what a bundle says about its project. It is not verified.
type BundleOrigin struct {
	// ID of the project that the bundle was made of.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// The agent that owned it there.
	Owner AgentRef `json:"owner"`
	// When it was created.
	CreatedAt Time `json:"created_at"`
	// When the bundle was made.
	ExportedAt Time `json:"exported_at"`
	// Where it was forked from; null if the caller may not read that project and is not a member.
	ForkedFrom *ForkedFrom `json:"forked_from"`
	// The agent that wrote the imported state.
	StateBy AgentRef `json:"state_by"`
	// When that happened.
	StateAt Time `json:"state_at"`
	// The project of the first bundle in a chain of imports; null if this bundle is the first.
	First *FirstOrigin `json:"first"`
	// FULL if all changesets were imported; HEAD if the first changeset here replaces the earlier
	// history.
	History string `json:"history" check:"enum=FULL|HEAD"`
}

// FirstOrigin is what the first bundle in a chain of imports says about its project.
type FirstOrigin struct {
	// ID of the project that the first bundle was made of.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// The agent that owned it there.
	Owner AgentRef `json:"owner"`
	// When it was created.
	CreatedAt Time `json:"created_at"`
	// Where it was forked from; null if the caller may not read that project and is not a member.
	ForkedFrom *ForkedFrom `json:"forked_from"`
}

const (
	bundleFormat  = "SERVICE_PROJECT_BUNDLE"
	bundleVersion = 1
)

var bundleOperations = []*Operation{
	declare[None, BundleData](Operation{
		Name: "project.export", Method: "GET", Path: "/api/v1/projects/{project}/export",
		Tool: "project.export",
		ToolDoc: "Export the whole project as one bundle of up to 4 MiB; use HTTP for larger " +
			"ones. If the reuse policy is REFERENCE_ONLY, only members may export.",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Expensive: true,
		Query: []Param{{
			Name: "history", Check: "enum=full",
			Doc: "full adds the contents of all earlier versions, so that an import can " +
				"restore the whole history.",
		}},
		Errors: []fault.Code{fault.ProjectNotFound, fault.ReuseNotPermitted},
		Tag:    "bundles", Summary: "Export a project",
		Doc: "Returns the whole project as one bundle. The response is streamed; a truncated " +
			"response is not a complete bundle. If the reuse policy is REFERENCE_ONLY, only " +
			"members may export.",
	}, exportProject),
	declare[ImportProject, ImportedData](Operation{
		Name: "project.import", Method: "POST", Path: "/api/v1/projects/import",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryCreation, Statuses: []int{201},
		Expensive: true,
		Errors:    []fault.Code{fault.ReusePolicyRequired, fault.InvalidLicense, fault.ProjectNotFound},
		Tag:       "bundles", Summary: "Import a project",
		Doc: "Creates a project from a bundle that project.export returned. All records get " +
			"new IDs, and the caller is their author; what the bundle says about them is kept " +
			"as their origin. An invalid bundle is refused as a whole, with all of its faults.",
	}, importProject),
}

// originRef returns the author that a bundle names.
func originRef(from *work.Origin) AgentRef {
	return AgentRef{AgentID: from.Agent.Format(id.Agent), Handle: from.Handle}
}

func recordOrigin(prefix id.Prefix, from *work.Origin) *RecordOrigin {
	if from == nil {
		return nil
	}
	return &RecordOrigin{
		ID: from.ID.Format(prefix), Author: originRef(from), CreatedAt: Time(from.CreatedAt),
	}
}

func contributionOrigin(from *work.ContributionOrigin) *ContributionOrigin {
	if from == nil {
		return nil
	}
	origin := &ContributionOrigin{
		ID: from.Record.ID.Format(id.Contribution), Author: originRef(&from.Record),
		ProjectID:  from.Project.Format(id.Project),
		AcceptedID: idOrNil(id.Changeset, from.Changeset), CreatedAt: Time(from.Record.CreatedAt),
	}
	for _, one := range from.Attribution() {
		origin.Attribution = append(origin.Attribution, Attribution{
			Role: one.Role.String(), Agent: bundledRef(one.Agent), At: Time(one.At),
		})
	}
	if decision := &from.Decision; !decision.Agent.IsZero() {
		decider, at := originRef(decision), Time(decision.CreatedAt)
		origin.DecidedBy, origin.DecidedAt = &decider, &at
	}
	return origin
}

func changesetOrigin(from *work.Origin) *ChangesetOrigin {
	if from == nil {
		return nil
	}
	return &ChangesetOrigin{
		ChangesetID: from.ID.Format(id.Changeset), Author: originRef(from),
		SourceType: SourceType(from.Source.String()), CreatedAt: Time(from.CreatedAt),
	}
}

func (c *Call) bundleOrigin(p *work.Project) *BundleOrigin {
	from := p.Imported()
	if from == nil {
		return nil
	}
	readable := c.readables()
	shown := func(of id.ID) bool {
		return readable.shows(of) || !of.IsZero() && p.IsMember(c.Agent)
	}
	origin := &BundleOrigin{
		ProjectID: from.Project.ID.Format(id.Project), Owner: originRef(&from.Project),
		CreatedAt: Time(from.Project.CreatedAt), ExportedAt: Time(from.ExportedAt),
		StateBy: originRef(&from.State), StateAt: Time(from.State.CreatedAt), History: "HEAD",
	}
	if from.Whole {
		origin.History = "FULL"
	}
	origin.ForkedFrom = forkOrigin(from.ForkedFrom, from.ForkedAt, shown)
	if first := from.First; first != nil {
		origin.First = &FirstOrigin{
			ProjectID: first.Project.ID.Format(id.Project), Owner: originRef(&first.Project),
			CreatedAt:  Time(first.Project.CreatedAt),
			ForkedFrom: forkOrigin(first.ForkedFrom, first.ForkedAt, shown),
		}
	}
	return origin
}

// forkOrigin returns the source of a fork according to a bundle; nil if it is not a fork, or is not
// to be shown.
func forkOrigin(project, changeset id.ID, shown func(project id.ID) bool) *ForkedFrom {
	if !shown(project) {
		return nil
	}
	return &ForkedFrom{
		ProjectID: project.Format(id.Project), ChangesetID: changeset.Format(id.Changeset),
	}
}
