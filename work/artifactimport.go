package work

import (
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work/path"
)

// Import is the artifact that a changeset of a project was imported from, usually of another
// project. It keeps the authors and the license of the files even if the source is changed.
type Import struct {
	ID id.ID `cbor:"1,keyasint"`
	// Artifact, Source and SourceChangeset name the source. They are zero if the import is from a
	// bundle that does not have them.
	Artifact        id.ID `cbor:"2,keyasint"`
	Source          id.ID `cbor:"3,keyasint"`
	SourceChangeset id.ID `cbor:"4,keyasint"`
	// Prefix is the target folder; empty for the root.
	Prefix string `cbor:"5,keyasint,omitempty"`
	// Changeset is the changeset of the import; Files is the number of files that it wrote.
	Changeset id.ID  `cbor:"6,keyasint"`
	Files     int    `cbor:"7,keyasint,omitempty"`
	License   string `cbor:"8,keyasint"`
	Name      string `cbor:"9,keyasint"`
	// Authors are the agents that wrote the files, at most ImportAuthorsMax.
	Authors []id.ID `cbor:"10,keyasint,omitempty"`
	// CreatedBy is the agent that imported the files.
	CreatedBy id.ID `cbor:"11,keyasint"`
	// CreatedAt is Unix milliseconds.
	CreatedAt int64 `cbor:"12,keyasint"`
	// Credits are for contributions to the files, at most CreditsMax.
	Credits []Credit `cbor:"13,keyasint,omitempty"`
	// BundledAuthors are the authors of the files according to a bundle.
	BundledAuthors []BundledAgent `cbor:"14,keyasint,omitempty"`
	// Origin is what a bundle says about the import; nil if it was made on this server.
	Origin *Origin `cbor:"15,keyasint,omitempty"`
	// Project is the importing project; zero if it is the project that has this record.
	Project id.ID `cbor:"16,keyasint,omitzero"`
	// Origins are the projects that the files of the artifact came from, at most OriginsMax.
	Origins []FileOrigin `cbor:"50,keyasint,omitempty"`
	Omitted Omitted      `cbor:"51,keyasint,omitzero"`
}

func (i *Import) ident() id.ID { return i.ID }

// sound reports whether a saved import is valid.
func (i *Import) sound() bool {
	return i != nil && i.Artifact.IsZero() == i.Source.IsZero() && i.Files >= 0
}

func (i *Import) bytes() int { return len(i.Prefix) + len(i.Name) + len(i.License) }

// Import finds an import by ID.
func (p *Project) Import(wanted id.ID) (*Import, bool) { return p.imports.get(wanted) }

// Imports yields the imports before an ID, the newest first. A zero ID yields all of them.
func (p *Project) Imports(before id.ID, yield func(*Import) bool) {
	p.imports.newest(before, yield)
}

// InheritedImportsMax is the number of imports that a fork inherits.
const InheritedImportsMax = 50

// ImportsAt returns the imports of the history up to a changeset, the newest first, and then those
// inherited from a fork. Their credits are among those of CreditsAt, their origins among those of
// OriginsAt.
func (p *Project) ImportsAt(at *Changeset) (imports []*Import) {
	p.Imports(id.ID{}, func(one *Import) bool {
		if one.Changeset.Compare(at.ID) <= 0 {
			inherited := *one
			inherited.Project, inherited.Credits, inherited.Origins = p.ID, nil, nil
			imports = append(imports, &inherited)
		}
		return len(imports) < InheritedImportsMax
	})
	imports = append(imports, p.InheritedImports()...)
	return imports[:min(len(imports), InheritedImportsMax)]
}

// InheritedImports returns the imports that a fork or a bundle inherited, the newest first.
func (p *Project) InheritedImports() []*Import {
	if p.saved.Fork != nil {
		return p.saved.Fork.Imports
	}
	return p.bundle().Imports
}

// ImportSource is what an import copies from an artifact.
type ImportSource struct {
	Artifact, Project, Changeset id.ID
	Name, License                string
	// Hidden means that readers of the importing project may not know the source: it is PRIVATE.
	Hidden bool
	// Files are in the order of their paths' bytes.
	Files          []FileInfo
	Authors        []id.ID
	BundledAuthors []BundledAgent
	Credits        []Credit
	Origins        []FileOrigin
	Omitted        Omitted
}

// ImportSource reads an artifact for an agent that imports it. ARTIFACT_NOT_FOUND: the agent may
// not see the project. REUSE_NOT_PERMITTED: by the policy of the project or of the artifact.
func (p *Project) ImportSource(a *Artifact, agent id.ID) (*ImportSource, error) {
	if err := MayReuse.requireOr(p, agent, EntityArtifact.Missing()); err != nil {
		return nil, err
	}
	if a.Reuse != AllowReuse {
		return nil, fault.New(fault.ReuseNotPermitted,
			"The artifact may be referenced but not copied.").
			With("reuse_policy", a.Reuse.String())
	}
	source := &ImportSource{
		Artifact: a.ID, Project: p.ID, Changeset: a.Changeset, Name: a.Name, License: a.License,
		Hidden: p.Visibility == Private,
	}
	p.ArtifactFiles(a, func(info FileInfo) bool {
		source.Files = append(source.Files, info)
		return true
	})
	due := p.owedFor(source.Files)
	source.Authors, source.BundledAuthors, source.Credits = due.authors, due.bundled, due.credits
	source.Origins, source.Omitted = due.origins, due.omitted
	return source, nil
}

// ImportArtifact imports the files of an artifact into a project as one changeset.
type ImportArtifact struct {
	// Source was read from the source project when the request came. It is nil with a Refusal, the
	// error for an artifact that the caller may not import. A repeat of a key is answered anyway.
	Source  *ImportSource
	Refusal error
	// Prefix is a canonical path, or empty for the root.
	Prefix string
	// Base is the expected head; nil for any.
	Base *id.ID
	// Replace allows the import to replace other files at these paths.
	Replace bool
}

// Authorize accepts maintainers and owners of the importing project.
func (c *ImportArtifact) Authorize(p *Project, agent id.ID) error {
	return MayWriteFiles.Require(p, agent)
}

// Decide returns the Refusal, INVALID_PATH for invalid paths below the prefix, PROJECT_ARCHIVED,
// TURN_HELD, CHANGESET_NOT_FOUND, PROJECT_MOVED, FILE_EXISTS, PATH_CONFLICT, FILE_LIMIT_REACHED,
// QUOTA_EXCEEDED.
func (c *ImportArtifact) Decide(p *Project, stamp Stamp) (Decision, error) {
	if c.Refusal != nil {
		return Decision{}, c.Refusal
	}
	targets, err := c.targets()
	if err != nil {
		return Decision{}, err
	}
	if err := requireWritable(p, stamp); err != nil {
		return Decision{}, err
	}
	if c.Base != nil {
		if err := p.requireBase(*c.Base); err != nil {
			return Decision{}, err
		}
	}
	ops, err := c.operations(p, targets)
	if err != nil {
		return Decision{}, err
	}
	published := &ChangesetPublished{
		ID: p.nextChangesetID(stamp.ID(0)), Message: c.message(p),
		Source: SourceImport, SourceID: p.imports.next(stamp.ID(1)), Ops: ops,
	}
	imported := &ArtifactImported{
		ID: published.SourceID, Artifact: c.Source.Artifact, Source: c.Source.Project,
		SourceChangeset: c.Source.Changeset, Prefix: c.Prefix, Changeset: published.ID,
		Files: len(ops), License: c.Source.License, Name: c.Source.Name, Authors: c.Source.Authors,
		Credits: c.Source.Credits, BundledAuthors: c.Source.BundledAuthors,
		Origins: c.Source.Origins, Omitted: c.Source.Omitted,
	}
	if err := p.requireImportQuota(imported, stamp.Agent); err != nil {
		return Decision{}, err
	}
	return Decision{
		Events: []Event{published, imported},
		Result: Result{Created: true, Changeset: published.ID, Subject: imported.ID},
	}, nil
}

// message is that of the changeset. It is found by search, so it does not name a hidden source.
func (c *ImportArtifact) message(p *Project) string {
	if c.Source.Hidden && c.Source.Project != p.ID {
		return "Import an artifact"
	}
	return "Import " + c.Source.Name
}

// targets returns the paths of the files after the import: INVALID_PATH.
func (c *ImportArtifact) targets() ([]string, error) {
	targets := make([]string, len(c.Source.Files))
	for i := range c.Source.Files {
		target := c.Source.Files[i].Path
		if c.Prefix != "" {
			target = c.Prefix + "/" + target
			if problem := path.Problem(target); problem != "" {
				return nil, fault.New(fault.InvalidPath, "A path is not canonical below the prefix.").
					With("path", target).With("problem", problem)
			}
		}
		targets[i] = target
	}
	return targets, nil
}

// operations returns the changes of the import. Files that already exist with the same content are
// skipped. Without Replace it returns FILE_EXISTS for other content, and for an import without
// changes. It also returns PATH_CONFLICT and FILE_LIMIT_REACHED.
func (c *ImportArtifact) operations(p *Project, targets []string) (ops []OpRecord, err error) {
	var others, conflicts []string
	files := p.live.Len()
	for i, target := range targets {
		from := &c.Source.Files[i]
		record := OpRecord{
			Action: Create, Path: target, Blob: from.Blob, Size: from.Size, Type: from.ContentType,
		}
		current, exists := p.File(target)
		switch {
		case exists && current.Blob == from.Blob && current.ContentType == from.ContentType:
			continue
		case exists:
			record.Action = Modify
			others = append(others, target)
		default:
			files++
			if other, found := p.conflict(target); found {
				conflicts = append(conflicts, target, other)
			}
		}
		ops = append(ops, record)
	}
	if len(ops) == 0 {
		others = targets
	}
	switch {
	case len(others) > 0 && !c.Replace:
		return nil, fault.New(fault.FileExists, "There are already files at these paths.").
			With("path", others[0]).
			With("paths", slices.Clone(others[:min(len(others), ChangedPathsMax)]))
	case len(conflicts) > 0:
		return nil, errPathConflict(conflicts[0], conflicts[1])
	case files > FilesMax:
		return nil, errFileLimitReached()
	}
	return ops, nil
}

// requireImportQuota refuses more imports than a project may have, or larger ones: QUOTA_EXCEEDED.
func (p *Project) requireImportQuota(next *ArtifactImported, by id.ID) error {
	switch {
	case p.imports.len() >= ImportsMax:
		return errQuota("imports", ImportsMax)
	case p.imported+next.Files > ImportedFilesMax:
		return errQuota("imported_files", ImportedFilesMax)
	}
	return p.requireQuota(by, quotaTexts, next.record(Moment{}).bytes())
}

// ArtifactImported is the event of an import. The event of its changeset precedes it.
type ArtifactImported struct {
	ID              id.ID    `cbor:"1,keyasint"`
	Artifact        id.ID    `cbor:"2,keyasint"`
	Source          id.ID    `cbor:"3,keyasint"`
	SourceChangeset id.ID    `cbor:"4,keyasint"`
	Prefix          string   `cbor:"5,keyasint,omitempty"`
	Changeset       id.ID    `cbor:"6,keyasint"`
	Files           int      `cbor:"7,keyasint,omitempty"`
	License         string   `cbor:"8,keyasint"`
	Name            string   `cbor:"9,keyasint"`
	Authors         []id.ID  `cbor:"10,keyasint,omitempty"`
	Credits         []Credit `cbor:"11,keyasint,omitempty"`

	BundledAuthors []BundledAgent `cbor:"12,keyasint,omitempty"`
	Origins        []FileOrigin   `cbor:"50,keyasint,omitempty"`
	Omitted        Omitted        `cbor:"51,keyasint,omitzero"`
}

func (e *ArtifactImported) record(at Moment) *Import {
	return &Import{
		ID: e.ID, Artifact: e.Artifact, Source: e.Source, SourceChangeset: e.SourceChangeset,
		Prefix: e.Prefix, Changeset: e.Changeset, Files: e.Files, License: e.License, Name: e.Name,
		Authors: e.Authors, Credits: e.Credits, BundledAuthors: e.BundledAuthors,
		Origins: e.Origins, Omitted: e.Omitted,
		CreatedBy: at.Agent, CreatedAt: at.Now,
	}
}

func (e *ArtifactImported) apply(p *Project, at Moment) {
	made := e.record(at)
	p.imports.put(made, p.Revision+1)
	p.keepImport(made)
}

func (p *Project) keepImport(made *Import) {
	p.texts += made.bytes()
	p.imported += made.Files
}
