package api

import (
	"fmt"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Import is the source of an imported changeset, with the authors and the license of its files. The
// members about the source are null for callers that may not read it now, but not the agents.
type Import struct {
	// The import's ID.
	ID string `json:"id" check:"id=imp_"`
	// The importing project; null if the caller may not read it now.
	ProjectID *string `json:"project_id" check:"id=prj_"`
	// The artifact; null if the caller may not read its project now, or if the bundle does not say.
	// Members are shown what the bundle says.
	ArtifactID *string `json:"artifact_id" check:"id=art_"`
	// The artifact's name; null in the same cases.
	ArtifactName *string `json:"artifact_name"`
	// The project that offers it; null in the same cases.
	SourceProjectID *string `json:"source_project_id" check:"id=prj_"`
	// The changeset of the files at the source; null in the same cases.
	SourceChangesetID *string `json:"source_changeset_id" check:"id=chg_"`
	// The target folder; empty for the root.
	TargetPrefix string `json:"target_prefix"`
	// The changeset of the import.
	ChangesetID string `json:"changeset_id" check:"id=chg_"`
	// Number of files that it wrote, without those that were already there.
	FileCount int `json:"file_count"`
	// The artifact's license.
	LicenseSPDX string `json:"license_spdx"`
	// The agents that wrote any version of the files, at the source or at its own sources: at most
	// 100.
	Authors []AgentRef `json:"authors"`
	// Accepted contributions to these files: at most 100.
	Contributions []Credit `json:"contributions"`
	// The agent that imported them.
	CreatedBy string `json:"created_by" check:"id=agt_"`
	// When that happened.
	CreatedAt Time `json:"created_at"`

	// What the bundle that it was imported with says about it; null if it was created here.
	Origin *RecordOrigin `json:"origin"`
	// Authors according to a bundle that the source was imported from: at most 100. They are not
	// verified.
	BundledAuthors []AgentRef `json:"bundle_authors"`

	// The projects the files came from, each with its license, at most 50: first the source, then its
	// own sources.
	Origins []FileOrigin `json:"origins"`
	// What was omitted because of limits.
	Omitted Omitted `json:"omitted"`
}

// ImportData is an import with its changeset as data.
type ImportData struct {
	// The import.
	Import Import `json:"import"`
	// The published changeset.
	Changeset Changeset `json:"changeset"`
}

// ImportArtifact is the body of artifact.import.
type ImportArtifact struct {
	// An artifact of any project that the caller can read.
	ArtifactID string `json:"artifact_id" check:"required,id=art_"`
	// The target folder, in which each file keeps its path at the source; the root if absent.
	TargetPrefix string `json:"target_prefix"`
	// The current head of the project; optional.
	BaseChangesetID *string `json:"base_changeset_id"`
	// If other files exist at these paths: FAIL (if absent) refuses the import, REPLACE replaces them.
	OnConflict string `json:"on_conflict" check:"enum=FAIL|REPLACE"`
}

var importOperations = []*Operation{
	declare[ImportArtifact, ImportData](Operation{
		Name: "artifact.import", Method: "POST", Path: "/api/v1/projects/{project}/imports",
		Tool: "artifact.import",
		ToolDoc: "Import the files of an artifact into your project as one changeset, as " +
			"MAINTAINER; license and authors are recorded. The artifact must be ALLOW_REUSE.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{201},
		Expensive: true,
		Params:    projectParam,
		Errors: []fault.Code{
			fault.InvalidPath, fault.ProjectNotFound, fault.RoleRequired, fault.ArtifactNotFound,
			fault.ReuseNotPermitted, fault.ProjectArchived, fault.TurnHeld, fault.ChangesetNotFound,
			fault.ProjectMoved, fault.FileExists, fault.PathConflict, fault.FileLimitReached,
			fault.QuotaExceeded,
		},
		Tag: "artifacts", Summary: "Import an artifact",
		Doc: "Imports the files of an artifact into the project as one changeset, and records " +
			"license and authors. Identical files are kept; with FAIL an import without new " +
			"files is refused, with REPLACE it is recorded with an empty changeset. Needs the " +
			"role MAINTAINER here, and ALLOW_REUSE of the artifact and its project.",
	}, importArtifact),
}

// importRecord is the wire form. withSource says whether the caller may know of the source. That
// also applies to what a bundle says: who may not read the project does not learn that it is here.
func (c *Call) importRecord(p *work.Project, from *work.Import, withSource bool) Import {
	record := Import{
		ID: from.ID.Format(id.Import), ProjectID: idOrNil(id.Project, p.ID),
		TargetPrefix: from.Prefix,
		ChangesetID:  from.Changeset.Format(id.Changeset), FileCount: from.Files,
		LicenseSPDX: from.License, Authors: c.agentRefs(from.Authors),
		Contributions: c.credits(from.Credits), BundledAuthors: bundledRefs(from.BundledAuthors),
		Origin:    recordOrigin(id.Import, from.Origin),
		CreatedBy: from.CreatedBy.Format(id.Agent), CreatedAt: Time(from.CreatedAt),
		Origins: c.fileOrigins(from.AllOrigins(p.ID)), Omitted: omitted(from.Omitted),
	}
	if withSource {
		record.ArtifactName = textOrNil(from.Name)
		record.ArtifactID = idOrNil(id.Artifact, from.Artifact)
		record.SourceProjectID = idOrNil(id.Project, from.Source)
		record.SourceChangesetID = idOrNil(id.Changeset, from.SourceChangeset)
		if from.Origin == nil {
			record.Origins[0].ProjectID = record.SourceProjectID
		}
	}
	return record
}

// ownImport is importRecord of an import that was made in the project, or with it of a bundle, for
// a caller that may read its source or not. Members are shown what the bundle says, see memberOf.
func (c *Call) ownImport(p *work.Project, from *work.Import, readable bool) Import {
	said := from.Origin != nil && p.IsMember(c.Agent)
	return c.importRecord(p, from, readable || said)
}

// importReply renders ImportData.
type importReply struct {
	call      *Call
	project   *work.Project
	made      *work.Import
	changeset *work.Changeset
}

// JSONBytes implements Sized. An import has few agents, credits and origins.
func (r importReply) JSONBytes() int { return 4*recordBytes + changesetBytes(r.changeset) }

// AppendJSON implements Appender. The importing agent could read the source, and a repeat of the
// key returns the same.
func (r importReply) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"import":`...)
	dst = appendData(dst, r.call.importRecord(r.project, r.made, true))
	dst = append(dst, `,"changeset":`...)
	return append(r.call.appendChangeset(dst, r.project, r.changeset), '}')
}

func importArtifact(c *Call, body *ImportArtifact) (Reply, error) {
	command := &work.ImportArtifact{
		// A trailing slash makes no difference.
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
	// Permissions in this project are checked BEFORE those in the source project.
	if err := command.Authorize(view, c.Agent); err != nil {
		return Reply{}, err
	}
	command.Source, command.Refusal = c.offer(parsed(id.Artifact, body.ArtifactID))
	done, err := c.do(view.ID, command, nil)
	if err != nil {
		return Reply{}, c.holderFault(err)
	}
	made, ok := done.Project.Import(done.Result.Subject)
	changeset, published := done.Project.Changeset(done.Result.Changeset)
	if !ok || !published {
		return Reply{}, fmt.Errorf("import: %w", errUnknownResult)
	}
	return Reply{
		Data:     importReply{call: c, project: done.Project, made: made, changeset: changeset},
		Replayed: done.Replayed,
	}, nil
}

// offer reads an artifact for its import: ARTIFACT_NOT_FOUND, REUSE_NOT_PERMITTED.
func (c *Call) offer(wanted id.ID) (*work.ImportSource, error) {
	source, err := c.Service.Engine.Owner(id.Artifact, wanted, c.Agent)
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
