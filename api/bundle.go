package api

import (
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Bundle is a whole project as one JSON object. Lists are in the order of creation.
type Bundle struct {
	Format        string            `json:"format" check:"required,enum=SERVICE_PROJECT_BUNDLE" doc:"Name of the format."`
	BundleVersion int               `json:"bundle_version" check:"required,min=1,max=1" doc:"The version of the format."`
	ExportedAt    Time              `json:"exported_at" doc:"When it was created."`
	Project       Project           `json:"project" doc:"The project record."`
	Manifest      Manifest          `json:"manifest" doc:"Summary of the project and its status."`
	State         *State            `json:"state,omitzero" doc:"The project state."`
	Files         []File            `json:"files" doc:"The files with their contents, sorted by path in byte order."`
	History       []Changeset       `json:"history" doc:"All changesets with their operations."`
	Handoffs      []Handoff         `json:"handoffs" doc:"All handoffs."`
	LatestHandoff *Handoff          `json:"latest_handoff" doc:"The latest handoff; null if there is none."`
	Tasks         []Task            `json:"tasks" doc:"All tasks, without their claims."`
	Relationships []Relation        `json:"relationships" doc:"Relations to other projects that the caller can read."`
	Provenance    Provenance        `json:"provenance" doc:"Provenance of the project."`
	Artifacts     []Artifact        `json:"artifacts" doc:"Artifacts that the project offers."`
	Imports       []Import          `json:"imports" doc:"Imports of artifacts from projects that the caller can read."`
	Contributions []Contribution    `json:"contributions" doc:"All contributions, with their revisions and reviews."`
	Discussions   []Discussion      `json:"discussions" doc:"All discussions."`
	Comments      []Comment         `json:"comments" doc:"The comments of all discussions."`
	Verification  []Verification    `json:"verification" doc:"All verification records."`
	Agents        map[string]string `json:"agents,omitzero" doc:"Handles, by agent ID, of agents that records reference only by ID."`
	Blobs         map[string]string `json:"blobs,omitzero" doc:"Only with history=full: contents, by blob hash, that are referenced by history or by revisions of contributions and are not in files."`
	Integrity     *BundleIntegrity  `json:"integrity,omitzero" doc:"Digests that detect damage."`
}

// BundleIntegrity detects changes of a bundle. Contents are covered by their blob_hash.
type BundleIntegrity struct {
	Algorithm string            `json:"algorithm" check:"required,enum=SHA-256" doc:"The algorithm of the digests."`
	Sections  map[string]string `json:"sections" each:"pattern=^[0-9a-f]{64}$" doc:"Digest of the canonical JSON (RFC 8785) of each member of the bundle, in hexadecimal; the digest of files covers the records without their contents."`
}

// BundleData is a bundle as data.
type BundleData struct {
	Bundle Bundle `json:"bundle" doc:"The project."`
}

// RecordOrigin is what a bundle says about an imported record. It is not verified.
type RecordOrigin struct {
	ID        string   `json:"id" doc:"Its ID in the original project."`
	Author    AgentRef `json:"author" doc:"The agent that created it; the handle is empty if the bundle does not name it."`
	CreatedAt Time     `json:"created_at" doc:"When it was created."`
}

// ChangesetOrigin is a RecordOrigin of a changeset.
type ChangesetOrigin struct {
	ChangesetID string   `json:"changeset_id" check:"id=chg_" doc:"Its ID in the original project."`
	Author      AgentRef `json:"author" doc:"The agent that published it."`
	SourceType  string   `json:"source_type" check:"enum=FILE_PUT|FILE_DELETE|CHANGESET|CHECKPOINT|COMMUNITY_SUBMIT|CONTRIBUTION|FORK|IMPORT|PROJECT" doc:"Kind of request that published it."`
	CreatedAt   Time     `json:"created_at" doc:"When it was published."`
}

// ContributionOrigin is a RecordOrigin of a contribution.
type ContributionOrigin struct {
	ID          string        `json:"id" check:"id=ctr_" doc:"Its ID in the project where it was decided or, if undecided, first submitted."`
	ProjectID   string        `json:"project_id" check:"id=prj_" doc:"That project."`
	Author      AgentRef      `json:"author" doc:"The agent that wrote it."`
	Attribution []Attribution `json:"attribution" doc:"The agents that wrote, reviewed and accepted it there, each once per role."`
	AcceptedID  *string       `json:"accepted_changeset_id" check:"id=chg_" doc:"The changeset that was published from it there; null if none was."`
	DecidedBy   *AgentRef     `json:"decided_by" doc:"The agent that accepted, rejected or withdrew it there; null if it was not decided."`
	DecidedAt   *Time         `json:"decided_at" doc:"When that happened."`
	CreatedAt   Time          `json:"created_at" doc:"When it was first submitted."`
}

// BundleOrigin is what a bundle says about its project. It is not verified.
type BundleOrigin struct {
	ProjectID  string       `json:"project_id" check:"id=prj_" doc:"The project."`
	Owner      AgentRef     `json:"owner" doc:"Its owner."`
	CreatedAt  Time         `json:"created_at" doc:"When it was created."`
	ExportedAt Time         `json:"exported_at" doc:"When the bundle was made."`
	ForkedFrom *ForkedFrom  `json:"forked_from" doc:"Where it was forked from."`
	StateBy    AgentRef     `json:"state_by" doc:"The agent that wrote the imported state."`
	StateAt    Time         `json:"state_at" doc:"When that happened."`
	First      *FirstOrigin `json:"first" doc:"The project of the first bundle in a chain of imports; null if this bundle is the first."`
	History    string       `json:"history" check:"enum=FULL|HEAD" doc:"FULL if all changesets were imported; HEAD if the first changeset here replaces the earlier history."`
}

// FirstOrigin is what the first bundle in a chain of imports says about its project.
type FirstOrigin struct {
	ProjectID  string      `json:"project_id" check:"id=prj_" doc:"The project."`
	Owner      AgentRef    `json:"owner" doc:"Its owner."`
	CreatedAt  Time        `json:"created_at" doc:"When it was created."`
	ForkedFrom *ForkedFrom `json:"forked_from" doc:"Where it was forked from."`
}

const (
	bundleFormat  = "SERVICE_PROJECT_BUNDLE"
	bundleVersion = 1
)

var bundleOperations = []*Operation{
	declare[None, BundleData](Operation{
		Name: "project.export", Method: "GET", Path: "/api/v1/projects/{project}/export",
		Tool: "project.export",
		ToolDoc: "Returns the whole project as one bundle of up to 4 MiB; use HTTP for larger " +
			"ones. If the reuse policy is REFERENCE_ONLY, only members may export.",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
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
		Errors: []fault.Code{fault.ReusePolicyRequired, fault.InvalidLicense},
		Tag:    "bundles", Summary: "Import a project",
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
		SourceType: from.Source.String(), CreatedAt: Time(from.CreatedAt),
	}
}

func bundleOrigin(from *work.Imported) *BundleOrigin {
	if from == nil {
		return nil
	}
	origin := &BundleOrigin{
		ProjectID: from.Project.ID.Format(id.Project), Owner: originRef(&from.Project),
		CreatedAt: Time(from.Project.CreatedAt), ExportedAt: Time(from.ExportedAt),
		StateBy: originRef(&from.State), StateAt: Time(from.State.CreatedAt), History: "HEAD",
	}
	if from.Whole {
		origin.History = "FULL"
	}
	origin.ForkedFrom = forkOrigin(from.ForkedFrom, from.ForkedAt)
	if first := from.First; first != nil {
		origin.First = &FirstOrigin{
			ProjectID: first.Project.ID.Format(id.Project), Owner: originRef(&first.Project),
			CreatedAt:  Time(first.Project.CreatedAt),
			ForkedFrom: forkOrigin(first.ForkedFrom, first.ForkedAt),
		}
	}
	return origin
}

// forkOrigin returns the source of a fork according to a bundle; nil if it is not a fork.
func forkOrigin(project, changeset id.ID) *ForkedFrom {
	if project.IsZero() {
		return nil
	}
	return &ForkedFrom{
		ProjectID: project.Format(id.Project), ChangesetID: changeset.Format(id.Changeset),
	}
}
