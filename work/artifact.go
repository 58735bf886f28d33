package work

import (
	"slices"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
)

// ArtifactType says what an artifact is for.
type ArtifactType uint8

// The types of artifacts.
const (
	Library ArtifactType = iota + 1
	Template
	Prompt
	Dataset
	Document
	Tool
	Other
)

var artifactTypeNames = [...]string{
	"", "LIBRARY", "TEMPLATE", "PROMPT", "DATASET", "DOCUMENT", "TOOL", "OTHER",
}

// String is the name on the wire.
func (t ArtifactType) String() string { return artifactTypeNames[t] }

// ParseArtifactType reads the name on the wire; zero is no type.
func ParseArtifactType(name string) ArtifactType {
	return ArtifactType(max(0, slices.Index(artifactTypeNames[:], name)))
}

// Artifact is a part of a project that is published for reuse: some of its files after one
// changeset. It is immutable and holds no copy of the files.
type Artifact struct {
	ID          id.ID        `cbor:"1,keyasint"`
	Changeset   id.ID        `cbor:"2,keyasint"`
	Name        string       `cbor:"3,keyasint"`
	Type        ArtifactType `cbor:"4,keyasint"`
	Description string       `cbor:"5,keyasint,omitempty"`
	// Paths are files, and folders with everything below them.
	Paths   []string `cbor:"6,keyasint"`
	License string   `cbor:"7,keyasint"`
	Reuse   Reuse    `cbor:"8,keyasint"`
	// CreatedBy is the agent that offers it.
	CreatedBy id.ID `cbor:"9,keyasint"`
	// CreatedAt is Unix milliseconds.
	CreatedAt int64 `cbor:"10,keyasint"`
}

func (a *Artifact) ident() id.ID { return a.ID }

// sound reports whether a saved artifact is valid.
func (a *Artifact) sound() bool {
	return a != nil && a.Type >= Library && a.Type <= Other && len(a.Paths) > 0 &&
		a.Reuse >= AllowReuse && a.Reuse <= ReferenceOnly
}

func (a *Artifact) bytes() int {
	return len(a.Name) + len(a.Description) + len(a.License) + textBytes(a.Paths)
}

// Entity returns the artifact as the subject of verification records.
func (a *Artifact) Entity() Entity { return Entity{EntityArtifact, a.ID} }

// Artifact finds an artifact by ID.
func (p *Project) Artifact(wanted id.ID) (*Artifact, bool) { return p.artifacts.get(wanted) }

// Artifacts yields the artifacts before an ID, the newest first. A zero ID yields all of them.
func (p *Project) Artifacts(before id.ID, yield func(*Artifact) bool) {
	p.artifacts.newest(before, yield)
}

// ArtifactFiles yields the files of an artifact, each once, in the order of their paths' bytes.
func (p *Project) ArtifactFiles(a *Artifact, yield func(FileInfo) bool) {
	at, ok := p.Changeset(a.Changeset)
	if !ok {
		return
	}
	for _, one := range p.selected(a.Paths, at) {
		more := true
		p.filesOf(one, at, func(info FileInfo) bool {
			more = yield(info)
			return more
		})
		if !more {
			return
		}
	}
}

// selected resolves paths to the files at a changeset, and to folders with a trailing slash. The
// result is in the order of the paths' bytes, without paths inside another one.
func (p *Project) selected(paths []string, at *Changeset) (selected []string) {
	all := make([]string, len(paths))
	for n, path := range paths {
		all[n] = path
		if _, file := p.FileAt(path, at); !file {
			all[n] += "/"
		}
	}
	slices.Sort(all)
	folder := ""
	for _, one := range slices.Compact(all) {
		if folder != "" && strings.HasPrefix(one, folder) {
			continue
		}
		if strings.HasSuffix(one, "/") {
			folder = one
		}
		selected = append(selected, one)
	}
	return selected
}

// filesOf yields a file, or all files below a folder.
func (p *Project) filesOf(selected string, at *Changeset, yield func(FileInfo) bool) {
	if !strings.HasSuffix(selected, "/") {
		if info, ok := p.FileAt(selected, at); ok {
			yield(info)
		}
		return
	}
	p.FilesAt(at, selected, func(info FileInfo) bool {
		return strings.HasPrefix(info.Path, selected) && yield(info)
	})
}

// Absent returns the paths at which there was neither a file nor a folder after a changeset.
func (p *Project) Absent(paths []string, at *Changeset) (absent []string) {
	for _, path := range paths {
		_, found := p.FileAt(path, at)
		if !found {
			p.filesOf(path+"/", at, func(FileInfo) bool { found = true; return false })
		}
		if !found {
			absent = append(absent, path)
		}
	}
	return absent
}

// CreateArtifact offers a part of a project for reuse.
type CreateArtifact struct {
	Name        string
	Type        ArtifactType
	Description string
	// Paths are canonical and differ.
	Paths []string
	// Changeset is the changeset of the files; nil means the head.
	Changeset *id.ID
	// License is empty, and Reuse zero, to use those of the project.
	License string
	Reuse   Reuse
}

// Authorize accepts maintainers and owners.
func (c *CreateArtifact) Authorize(p *Project, agent id.ID) error {
	return MayWriteFiles.Require(p, agent)
}

// Decide returns PROJECT_ARCHIVED, CHANGESET_NOT_FOUND, FILE_NOT_FOUND with all missing paths,
// QUOTA_EXCEEDED, and VALIDATION_FAILED if there is no path.
func (c *CreateArtifact) Decide(p *Project, stamp Stamp) (Decision, error) {
	if len(c.Paths) == 0 {
		return Decision{}, fault.Invalid(fault.Field{Field: "paths", Problem: "is required"})
	}
	if err := requireActive(p); err != nil {
		return Decision{}, err
	}
	at := p.Head()
	if c.Changeset != nil {
		known, ok := p.Changeset(*c.Changeset)
		if !ok {
			return Decision{}, fault.NoChangeset()
		}
		at = known
	}
	if absent := p.Absent(c.Paths, at); len(absent) > 0 {
		return Decision{}, fault.New(fault.FileNotFound,
			"There is neither a file nor a folder at some of the paths.").
			With("path", absent[0]).With("paths", absent)
	}
	created := &ArtifactCreated{
		ID: p.artifacts.next(stamp.ID(0)), Changeset: at.ID, Name: c.Name, Type: c.Type,
		Description: c.Description, Paths: c.Paths, License: c.License, Reuse: c.Reuse,
	}
	if created.License == "" {
		created.License = p.License
	}
	if created.Reuse == 0 {
		created.Reuse = p.Reuse
	}
	if p.artifacts.len() >= ArtifactsMax {
		return Decision{}, errQuota("artifacts", ArtifactsMax)
	}
	bytes := created.artifact(Moment{}).bytes()
	if err := p.requireQuota(stamp.Agent, quotaTexts, bytes); err != nil {
		return Decision{}, err
	}
	return Decision{
		Events: []Event{created}, Result: Result{Created: true, Subject: created.ID},
	}, nil
}

// ArtifactCreated is the event of a new artifact.
type ArtifactCreated struct {
	ID          id.ID        `cbor:"1,keyasint"`
	Changeset   id.ID        `cbor:"2,keyasint"`
	Name        string       `cbor:"3,keyasint"`
	Type        ArtifactType `cbor:"4,keyasint"`
	Description string       `cbor:"5,keyasint,omitempty"`
	Paths       []string     `cbor:"6,keyasint"`
	License     string       `cbor:"7,keyasint"`
	Reuse       Reuse        `cbor:"8,keyasint"`
}

func (e *ArtifactCreated) artifact(at Moment) *Artifact {
	return &Artifact{
		ID: e.ID, Changeset: e.Changeset, Name: e.Name, Type: e.Type, Description: e.Description,
		Paths: e.Paths, License: e.License, Reuse: e.Reuse, CreatedBy: at.Agent, CreatedAt: at.Now,
	}
}

func (e *ArtifactCreated) apply(p *Project, at Moment) {
	made := e.artifact(at)
	p.artifacts.put(made, p.Revision+1)
	p.keepArtifact(made)
}

func (p *Project) keepArtifact(made *Artifact) { p.texts += made.bytes() }
