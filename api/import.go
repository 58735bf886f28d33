package api

import (
	"fmt"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Import says where a changeset came from: whom its files are owed to, and under which license.
// What is of the source is null for callers who may not read it now; the agents stay.
type Import struct {
	ID                string     `json:"id" check:"id=imp_" doc:"The import's ID."`
	ProjectID         *string    `json:"project_id" check:"id=prj_" doc:"The project that took the files in; null for callers who may not read it now."`
	ArtifactID        *string    `json:"artifact_id" check:"id=art_" doc:"The artifact; null for callers who may not read it now, and where a bundle does not tell."`
	ArtifactName      string     `json:"artifact_name" doc:"The artifact's name."`
	SourceProjectID   *string    `json:"source_project_id" check:"id=prj_" doc:"The project that offers it; null likewise."`
	SourceChangesetID *string    `json:"source_changeset_id" check:"id=chg_" doc:"Where the files are from; null likewise."`
	TargetPrefix      string     `json:"target_prefix" doc:"The folder that the files came into, empty for the root."`
	ChangesetID       string     `json:"changeset_id" check:"id=chg_" doc:"The changeset that brought them."`
	FileCount         int        `json:"file_count" doc:"How many files it wrote; others stood there already."`
	LicenseSPDX       string     `json:"license_spdx" doc:"The artifact's license."`
	Authors           []AgentRef `json:"authors" doc:"Who wrote any version of the files, at the source and where that had them from: at most 100."`
	Contributions     []Credit   `json:"contributions" doc:"Accepted contributions that wrote them: at most 100."`
	CreatedBy         string     `json:"created_by" check:"id=agt_" doc:"Who brought them in."`
	CreatedAt         Time       `json:"created_at" doc:"When that was."`

	Origin         *RecordOrigin `json:"origin" doc:"What the bundle that it came with says of it; null where it was made here."`
	BundledAuthors []AgentRef    `json:"bundle_authors" doc:"Who wrote them as a bundle says that came to the source: at most 100."`

	Origins []FileOrigin `json:"origins" doc:"Where the files came from, each with its license: the source first, behind it those that it had them from itself, at most 50."`
	Omitted Omitted      `json:"omitted" doc:"What was too much to be kept."`
}

// ImportData is an import with its changeset as data.
type ImportData struct {
	Import    Import    `json:"import" doc:"The import."`
	Changeset Changeset `json:"changeset" doc:"What was published."`
}

// ImportArtifact is the body of artifact.import.
type ImportArtifact struct {
	ArtifactID      string  `json:"artifact_id" check:"required,id=art_" doc:"The artifact, of any project that the caller can read."`
	TargetPrefix    string  `json:"target_prefix" doc:"The folder that the files come into, each under its path at the source; the root if absent."`
	BaseChangesetID *string `json:"base_changeset_id" doc:"Must be the head of the project where it is given."`
	OnConflict      string  `json:"on_conflict" check:"enum=FAIL|REPLACE" doc:"What becomes of other files at those paths: FAIL (if absent) refuses, REPLACE puts these in their place."`
}

var importOperations = []*Operation{
	declare[ImportArtifact, ImportData](Operation{
		Name: "artifact.import", Method: "POST", Path: "/api/v1/projects/{project}/imports",
		Tool: "artifact.import",
		ToolDoc: "Bring the files of an artifact into your project as one changeset, with " +
			"license and authors recorded, as MAINTAINER. Files that stand there already " +
			"are left alone; the artifact has to be ALLOW_REUSE.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{201},
		Params: projectParam,
		Errors: []fault.Code{
			fault.InvalidPath, fault.ProjectNotFound, fault.RoleRequired, fault.ArtifactNotFound,
			fault.ReuseNotPermitted, fault.ProjectArchived, fault.TurnHeld, fault.ChangesetNotFound,
			fault.ProjectMoved, fault.FileExists, fault.PathConflict, fault.FileLimitReached,
			fault.QuotaExceeded,
		},
		BodyMax: bodyText,
		Tag:     "artifacts", Summary: "Import an artifact",
		Doc: "Brings the files of an artifact into the project as one changeset, and records license " +
			"and authors. Files that stand there already are left alone; with FAIL an import that " +
			"would bring nothing new is refused too. Needs the role MAINTAINER here, and " +
			"ALLOW_REUSE of the artifact and of its project.",
	}, importArtifact),
}

// importRecord is the wire form; withSource says whether the caller may know of the source.
func (c *Call) importRecord(p *work.Project, from *work.Import, withSource bool) Import {
	record := Import{
		ID: from.ID.Format(id.Import), ProjectID: idOrNil(id.Project, p.ID),
		ArtifactName: from.Name, TargetPrefix: from.Prefix,
		ChangesetID: from.Changeset.Format(id.Changeset), FileCount: from.Files,
		LicenseSPDX: from.License, Authors: c.agentRefs(from.Authors),
		Contributions: c.credits(from.Credits), BundledAuthors: bundledRefs(from.BundledAuthors),
		Origin:    recordOrigin(id.Import, from.Origin),
		CreatedBy: from.CreatedBy.Format(id.Agent), CreatedAt: Time(from.CreatedAt),
		Origins: c.fileOrigins(from.AllOrigins(p.ID)), Omitted: omitted(from.Omitted),
	}
	// What a bundle tells is told as it is.
	if withSource && from.Origin == nil || from.Origin != nil && !from.Artifact.IsZero() {
		artifact, project := from.Artifact.Format(id.Artifact), from.Source.Format(id.Project)
		changeset := from.SourceChangeset.Format(id.Changeset)
		record.ArtifactID, record.SourceProjectID = &artifact, &project
		record.SourceChangesetID = &changeset
		if from.Origin == nil {
			record.Origins[0].ProjectID = &project
		}
	}
	return record
}

// importReply is ImportData in the making.
type importReply struct {
	call    *Call
	project *work.Project
	made    *work.Import
	brought *work.Changeset
}

// AppendJSON implements Appender. Who made the import knew the source, and a repeat of the key
// tells the same again.
func (r importReply) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"import":`...)
	dst = appendData(dst, r.call.importRecord(r.project, r.made, true))
	dst = append(dst, `,"changeset":`...)
	return append(r.call.appendChangeset(dst, r.project, r.brought), '}')
}

func importArtifact(c *Call, body *ImportArtifact) (Reply, error) {
	command := &work.ImportArtifact{
		// A folder is the same with a slash behind it.
		Prefix:  strings.TrimSuffix(body.TargetPrefix, "/"),
		Replace: body.OnConflict == "REPLACE",
	}
	if body.TargetPrefix != "" {
		var faults fileFaults
		faults.path("target_prefix", command.Prefix)
		if err := faults.err(); err != nil {
			return Reply{}, err
		}
	}
	if body.BaseChangesetID != nil {
		base := named(id.Changeset, *body.BaseChangesetID)
		command.Base = &base
	}
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	// What the caller may do here comes BEFORE what it may see elsewhere.
	if err := command.Authorize(view, c.Agent); err != nil {
		return Reply{}, err
	}
	command.Source, command.Refusal = c.offer(parsed(id.Artifact, body.ArtifactID))
	done, err := c.do(view.ID, command, nil)
	if err != nil {
		return Reply{}, c.holderFault(err)
	}
	made, ok := done.Project.Import(done.Result.Subject)
	brought, published := done.Project.Changeset(done.Result.Changeset)
	if !ok || !published {
		return Reply{}, fmt.Errorf("import: %w", errUnknownResult)
	}
	return Reply{
		Data:     importReply{call: c, project: done.Project, made: made, brought: brought},
		Replayed: done.Replayed,
	}, nil
}

// offer reads what an artifact offers now: ARTIFACT_NOT_FOUND, REUSE_NOT_PERMITTED.
func (c *Call) offer(wanted id.ID) (*work.ImportSource, error) {
	source, err := c.Service.Engine.Owner(id.Artifact, wanted)
	if err != nil {
		return nil, err
	}
	if source != nil {
		if found, ok := source.Artifact(wanted); ok {
			return source.ImportSource(found, c.Agent)
		}
	}
	return nil, work.EntityArtifact.Missing()
}
