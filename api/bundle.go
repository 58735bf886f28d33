package api

import (
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Bundle is a project in one piece of text. Lists are in the order in which things were made.
type Bundle struct {
	Format        string            `json:"format" check:"required,enum=SERVICE_PROJECT_BUNDLE" doc:"Says what this is."`
	BundleVersion int               `json:"bundle_version" check:"required,min=1,max=1" doc:"The version of the format."`
	ExportedAt    Time              `json:"exported_at" doc:"When it was made."`
	Project       Project           `json:"project" doc:"The record of the project."`
	Manifest      Manifest          `json:"manifest" doc:"In short what it is and where it stands."`
	State         *State            `json:"state,omitzero" doc:"Its continuation state."`
	Files         []File            `json:"files" doc:"The files with their contents, in the order of the path's bytes."`
	History       []Changeset       `json:"history" doc:"All changesets with their operations."`
	Handoffs      []Handoff         `json:"handoffs" doc:"All handoffs."`
	LatestHandoff *Handoff          `json:"latest_handoff" doc:"The last of handoffs; null where there is none."`
	Tasks         []Task            `json:"tasks" doc:"All tasks, as they read without a claim."`
	Relationships []Relation        `json:"relationships" doc:"What the project says of others, as far as the caller can read them."`
	Provenance    Provenance        `json:"provenance" doc:"Where it comes from."`
	Artifacts     []Artifact        `json:"artifacts" doc:"What it offers."`
	Imports       []Import          `json:"imports" doc:"What it took in from other projects, as far as the caller can read them."`
	Contributions []Contribution    `json:"contributions" doc:"What others have contributed, with all revisions and reviews."`
	Discussions   []Discussion      `json:"discussions" doc:"What was discussed."`
	Comments      []Comment         `json:"comments" doc:"What was said in all discussions."`
	Verification  []Verification    `json:"verification" doc:"All verification records."`
	Agents        map[string]string `json:"agents,omitzero" doc:"By their IDs the handles of the agents that records name by the ID alone."`
	Blobs         map[string]string `json:"blobs,omitzero" doc:"With history=full: by blob hash the contents that history and the revisions of contributions name and files does not hold."`
	Integrity     *BundleIntegrity  `json:"integrity,omitzero" doc:"Tells damage."`
}

// BundleIntegrity tells whether a bundle is as it was made. Contents are told by their blob_hash.
type BundleIntegrity struct {
	Algorithm string            `json:"algorithm" check:"required,enum=SHA-256" doc:"The algorithm of the digests."`
	Sections  map[string]string `json:"sections" each:"pattern=^[0-9a-f]{64}$" doc:"By member of the bundle the digest of its canonical JSON (RFC 8785), in hexadecimal; that of files is of the records without their contents."`
}

// BundleData is a bundle as data.
type BundleData struct {
	Bundle Bundle `json:"bundle" doc:"The project."`
}

// RecordOrigin is what a bundle says of a record that came with it. Nobody here vouches for it.
type RecordOrigin struct {
	ID        string   `json:"id" doc:"The ID that it had."`
	Author    AgentRef `json:"author" doc:"Who made it; the handle is empty where the bundle names none."`
	CreatedAt Time     `json:"created_at" doc:"When it was made."`
}

// ChangesetOrigin is a RecordOrigin of a changeset.
type ChangesetOrigin struct {
	ChangesetID string   `json:"changeset_id" check:"id=chg_" doc:"The ID that it had."`
	Author      AgentRef `json:"author" doc:"Who published it."`
	SourceType  string   `json:"source_type" check:"enum=FILE_PUT|FILE_DELETE|CHANGESET|CHECKPOINT|COMMUNITY_SUBMIT|CONTRIBUTION|FORK|IMPORT|PROJECT" doc:"What kind of request published it."`
	CreatedAt   Time     `json:"created_at" doc:"When it was published."`
}

// ContributionOrigin is a RecordOrigin of a contribution.
type ContributionOrigin struct {
	ID          string        `json:"id" check:"id=ctr_" doc:"The ID that it had where it was decided, or was submitted first."`
	ProjectID   string        `json:"project_id" check:"id=prj_" doc:"The project where that was."`
	Author      AgentRef      `json:"author" doc:"Who wrote it."`
	Attribution []Attribution `json:"attribution" doc:"Who wrote, reviewed and accepted it there, each agent once in each role."`
	AcceptedID  *string       `json:"accepted_changeset_id" check:"id=chg_" doc:"The changeset that it became there; null for none."`
	DecidedBy   *AgentRef     `json:"decided_by" doc:"Who accepted, rejected or withdrew it there; null where that was left open."`
	DecidedAt   *Time         `json:"decided_at" doc:"When that was."`
	CreatedAt   Time          `json:"created_at" doc:"When it was first submitted."`
}

// BundleOrigin is what a bundle says of the project that it was made of. Nobody here vouches for
// it.
type BundleOrigin struct {
	ProjectID  string       `json:"project_id" check:"id=prj_" doc:"The project."`
	Owner      AgentRef     `json:"owner" doc:"Its owner."`
	CreatedAt  Time         `json:"created_at" doc:"When it was created."`
	ExportedAt Time         `json:"exported_at" doc:"When the bundle was made."`
	ForkedFrom *ForkedFrom  `json:"forked_from" doc:"Where it was forked from."`
	StateBy    AgentRef     `json:"state_by" doc:"Who wrote the state that came along."`
	StateAt    Time         `json:"state_at" doc:"When that was."`
	First      *FirstOrigin `json:"first" doc:"The project that the first of several bundles was made of; null where this is the first."`
	History    string       `json:"history" check:"enum=FULL|HEAD" doc:"FULL where all changesets came along; else the first one here stands for them."`
}

// FirstOrigin is what the first of several bundles says of its project.
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
		ToolDoc: "Returns the whole project as one bundle, up to 4 MiB here; larger ones over " +
			"HTTP. Where the reuse policy is REFERENCE_ONLY members may do this.",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Query: []Param{{
			Name: "history", Check: "enum=full",
			Doc: "full adds the contents of all earlier versions, so that an import has the whole history.",
		}},
		Errors: []fault.Code{fault.ProjectNotFound, fault.ReuseNotPermitted},
		Tag:    "bundles", Summary: "Export a project",
		Doc: "Returns the whole project as one bundle of data. It is sent while it is made; an answer " +
			"that breaks off is not whole. Where the reuse policy is REFERENCE_ONLY, members may do this.",
	}, exportProject),
	declare[ImportProject, ImportedData](Operation{
		Name: "project.import", Method: "POST", Path: "/api/v1/projects/import",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryCreation, Statuses: []int{201},
		Errors: []fault.Code{fault.ReusePolicyRequired, fault.InvalidLicense},
		Tag:    "bundles", Summary: "Import a project",
		Doc: "Makes a project of a bundle, as project.export returns it. All things get new IDs, and " +
			"the caller is their author; what the bundle says of them is kept as their origin. A bundle " +
			"that does not fit is refused as a whole, with all that is wrong with it.",
	}, importProject),
}

// originRef is the author that a bundle names.
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

// forkOrigin is where a bundle says that its project was forked from.
func forkOrigin(project, changeset id.ID) *ForkedFrom {
	if project.IsZero() {
		return nil
	}
	return &ForkedFrom{
		ProjectID: project.Format(id.Project), ChangesetID: changeset.Format(id.Changeset),
	}
}
