package api

import (
	"fmt"

	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Artifact is a part of a project that is offered for reuse. It never changes.
type Artifact struct {
	// The artifact's ID.
	ID string `json:"id" check:"id=art_"`
	// The project that offers it.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// The changeset whose files it offers.
	ChangesetID string `json:"changeset_id" check:"id=chg_"`
	// Name of the artifact.
	Name string `json:"name"`
	// Kind of artifact.
	Type string `json:"type" check:"enum=LIBRARY|TEMPLATE|PROMPT|DATASET|DOCUMENT|TOOL|OTHER"`
	// What it does and how to use it.
	Description string `json:"description"`
	// Paths of files, and of folders with everything below them.
	Paths []string `json:"paths"`
	// The files at these paths, sorted by path in byte order, without content.
	Files []File `json:"files"`
	// SPDX expression, NOASSERTION or NONE.
	LicenseSPDX string `json:"license_spdx"`
	// Whether it may be imported; the policy of its project applies too.
	ReusePolicy string `json:"reuse_policy" check:"enum=ALLOW_REUSE|REFERENCE_ONLY"`
	// The strongest kind of evidence for it, whatever its outcome; verification has the outcomes.
	VerificationStatus string `json:"verification_status" check:"enum=UNVERIFIED|SELF_REPORTED|EXTERNALLY_ATTESTED"`
	// How often it was imported, counting imports that the caller may see.
	ImportCount int `json:"import_count"`
	// The agent that created it.
	CreatedBy string `json:"created_by" check:"id=agt_"`
	// When it was created.
	CreatedAt Time `json:"created_at"`

	// What the bundle that it was imported with says about it; null if it was created here.
	Origin *RecordOrigin `json:"origin"`

	// Summary of its verification records.
	Verification VerificationSummary `json:"verification"`

	// The agents that wrote any version of the files, here or at their source: at most 100.
	Authors []AgentRef `json:"authors"`
	// Authors according to a bundle that the project or a source of the files was imported from: at
	// most 100. They are not verified.
	BundledAuthors []AgentRef `json:"bundle_authors"`

	// The projects its files came from, each with its license, at most 50: first the project that
	// offers it, then the sources of that project. All of these licenses apply.
	Origins []FileOrigin `json:"origins"`
	// What was omitted because of limits.
	Omitted Omitted `json:"omitted"`
}

// ArtifactData is the data of an artifact.
type ArtifactData struct {
	// The artifact.
	Artifact Artifact `json:"artifact"`
}

// ArtifactsData is a page of artifacts.
type ArtifactsData struct {
	// Newest first.
	Artifacts []Artifact `json:"artifacts"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

// CreateArtifact is the body of artifact.create.
type CreateArtifact struct {
	// Its name.
	Name string `json:"name" check:"required,chars=1..120,line"`
	// Kind of artifact.
	Type string `json:"type" check:"required,enum=LIBRARY|TEMPLATE|PROMPT|DATASET|DOCUMENT|TOOL|OTHER"`
	// What it does and how to use it.
	Description string `json:"description" check:"chars=0..4000,text"`
	// Paths of files, and of folders with everything below them.
	Paths []string `json:"paths" check:"required,items=1..200"`
	// The changeset of the project whose files are offered; the head if absent.
	ChangesetID *string `json:"changeset_id"`
	// SPDX expression, NOASSERTION or NONE; the license of the project if absent.
	LicenseSPDX string `json:"license_spdx"`
	// Whether it may be imported; the policy of the project if absent.
	ReusePolicy string `json:"reuse_policy" check:"enum=ALLOW_REUSE|REFERENCE_ONLY"`
}

const artifactsPath = "/api/v1/projects/{project}/artifacts"

var artifactOperations = []*Operation{
	declare[None, ArtifactsData](Operation{
		Name: "artifact.list", Method: "GET", Path: artifactsPath,
		Tool:    "artifact.list",
		ToolDoc: "Find the artifacts that a project offers for reuse, newest first.",
		Auth:    Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Query: append(pageParams(artifactsPage), Param{
			Name: "type", Check: "enum=LIBRARY|TEMPLATE|PROMPT|DATASET|DOCUMENT|TOOL|OTHER",
			Doc: "Only artifacts of this type.",
		}),
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.PaginationCursorInvalid, fault.PaginationLimitInvalid,
		},
		Tag: "artifacts", Summary: "List artifacts",
		Doc: "Lists the artifacts that a project offers for reuse, newest first. A page of " +
			"large artifacts may contain fewer entries than its limit although more pages " +
			"follow.",
	}, listArtifacts),
	declare[CreateArtifact, ArtifactData](Operation{
		Name: "artifact.create", Method: "POST", Path: artifactsPath,
		Tool: "artifact.create",
		ToolDoc: "Offer files and folders of one changeset to other projects, as MAINTAINER. " +
			"An artifact is immutable; for a new version create another one.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{201},
		Params: projectParam,
		Errors: []fault.Code{
			fault.InvalidPath, fault.InvalidLicense, fault.ProjectNotFound, fault.RoleRequired,
			fault.ChangesetNotFound, fault.FileNotFound, fault.ProjectArchived, fault.QuotaExceeded,
		},
		Tag: "artifacts", Summary: "Create an artifact",
		Doc: "Creates an immutable artifact: files and folders of one changeset that other " +
			"projects can import. For a new version create another artifact. Needs the role " +
			"MAINTAINER.",
	}, createArtifact),
	declare[None, ArtifactData](Operation{
		Name: "artifact.read", Method: "GET", Path: "/api/v1/artifacts/{artifact}",
		Tool: "artifact.read",
		ToolDoc: "Get an artifact with the metadata of its files. Read their text with " +
			"file.read_batch and its changeset_id.",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200},
		Params: []Param{{Name: "artifact", Doc: "The artifact's ID."}},
		Errors: []fault.Code{fault.ArtifactNotFound},
		Tag:    "artifacts", Summary: "Get an artifact",
		Doc: "Returns an artifact with the metadata of its files. To read the text of its " +
			"files use changeset.file or file.read_batch.",
	}, readArtifact),
}

const (
	// artifactsPage is the default page of artifacts.
	artifactsPage = 50
	// artifactsPageFiles is the number of files after which a page ends.
	artifactsPageFiles = 5000
)

// newArtifact returns the wire form of a new artifact, which has no evidence and no imports.
func (c *Call) newArtifact(p *work.Project, from *work.Artifact) Artifact {
	record := Artifact{
		ID: from.ID.Format(id.Artifact), ProjectID: p.ID.Format(id.Project),
		ChangesetID: from.Changeset.Format(id.Changeset), Name: from.Name,
		Type: from.Type.String(), Description: from.Description, Paths: from.Paths,
		Files: []File{}, LicenseSPDX: from.License, ReusePolicy: from.Reuse.String(),
		CreatedBy: from.CreatedBy.Format(id.Agent), CreatedAt: Time(from.CreatedAt),
		Origin:       recordOrigin(id.Artifact, p.ArtifactOrigin(from)),
		Verification: verificationSummary(work.Evidence{}),
	}
	record.VerificationStatus = record.Verification.Status
	var files []work.FileInfo
	p.ArtifactFiles(from, func(info work.FileInfo) bool {
		files = append(files, info)
		record.Files = append(record.Files, file(info))
		return true
	})
	lineage := p.LineageOf(from, files)
	record.Authors = c.agentRefs(lineage.Authors)
	record.BundledAuthors = bundledRefs(lineage.BundledAuthors)
	record.Origins, record.Omitted = c.fileOrigins(lineage.Origins), omitted(lineage.Omitted)
	return record
}

// artifact returns the current wire form.
func (c *Call) artifact(p *work.Project, from *work.Artifact) Artifact {
	record := c.newArtifact(p, from)
	record.Verification = verificationSummary(p.Evidence(from.Entity()))
	record.VerificationStatus = record.Verification.Status
	record.ImportCount = c.links().Count(index.Link{Kind: index.LinkImport, Target: from.ID}, c.Agent)
	return record
}

// Validate implements jsonschema.Validator.
func (b *CreateArtifact) Validate(known []fault.Field) error {
	faults := b.faults()
	faults.addKnown(known)
	return faults.err()
}

func (b *CreateArtifact) faults() (faults fileFaults) {
	seen := make(map[string]bool, len(b.Paths))
	for i, given := range firstValidated(b.Paths) {
		field := fmt.Sprintf("paths[%d]", i)
		faults.path(field, given)
		if seen[given] {
			faults.add(field, "is duplicated")
		}
		seen[given] = true
	}
	return faults
}

func createArtifact(c *Call, body *CreateArtifact) (Reply, error) {
	command := &work.CreateArtifact{
		Name: body.Name, Type: work.ParseArtifactType(body.Type), Description: body.Description,
		Paths: body.Paths, Reuse: work.ParseReuse(body.ReusePolicy),
	}
	faults := body.faults()
	err := faults.err()
	if err == nil && body.LicenseSPDX != "" {
		command.License, err = canonicalLicense(body.LicenseSPDX)
	}
	if err != nil {
		return Reply{}, err
	}
	if body.ChangesetID != nil {
		at := named(id.Changeset, *body.ChangesetID)
		command.Changeset = &at
	}
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	done, err := c.do(project, command, nil)
	if err != nil {
		return Reply{}, err
	}
	made, ok := done.Project.Artifact(done.Result.Subject)
	if !ok {
		return Reply{}, fmt.Errorf("artifact: %w", errUnknownResult)
	}
	return Reply{
		Data: ArtifactData{Artifact: c.newArtifact(done.Project, made)}, Replayed: done.Replayed,
	}, nil
}

func readArtifact(c *Call, _ *None) (Reply, error) {
	view, wanted, err := c.owner(id.Artifact, work.EntityArtifact.Missing)
	if err != nil {
		return Reply{}, err
	}
	found, ok := view.Artifact(wanted)
	if !ok || !view.Readable(c.Agent) {
		return Reply{}, work.EntityArtifact.Missing()
	}
	return Reply{Data: ArtifactData{Artifact: c.artifact(view, found)}}, nil
}

func listArtifacts(c *Call, _ *None) (Reply, error) {
	view, before, limit, err := c.listed(artifactsPage)
	if err != nil {
		return Reply{}, err
	}
	only := work.ParseArtifactType(c.Query["type"])
	data := ArtifactsData{Artifacts: []Artifact{}}
	files := 0
	view.Artifacts(before, func(one *work.Artifact) bool {
		if only != 0 && one.Type != only {
			return true
		}
		if len(data.Artifacts) == limit || files >= artifactsPageFiles {
			data.NextCursor = c.next(before[:])
			return false
		}
		record := c.artifact(view, one)
		files, before = files+len(record.Files), one.ID
		data.Artifacts = append(data.Artifacts, record)
		return true
	})
	return Reply{Data: data}, nil
}
