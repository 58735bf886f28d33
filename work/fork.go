package work

import (
	"pws/internal/fault"
	"pws/internal/id"
)

// Fork is the source of a forked project.
type Fork struct {
	// Project and Changeset are the source of its first tree.
	Project   id.ID `cbor:"1,keyasint"`
	Changeset id.ID `cbor:"2,keyasint"`
	// Root names the tree of its first changeset.
	Root Hash `cbor:"3,keyasint"`
	// Authors are the authors of the history up to that changeset, the highest count first.
	Authors []InheritedAuthor `cbor:"4,keyasint,omitempty"`
	// Credits are for contributions in that history, the newest first.
	Credits []Credit `cbor:"5,keyasint,omitempty"`
	// BundledAuthors are authors of that history according to a bundle.
	BundledAuthors []BundledAuthor `cbor:"6,keyasint,omitempty"`
	// Imports are the imports in that history, the newest first.
	Imports []*Import `cbor:"7,keyasint,omitempty"`
	// License is the license of the source at the time of the fork; empty for forks of earlier
	// versions. Origins are the other projects that the files of the source came from.
	License string       `cbor:"50,keyasint,omitempty"`
	Origins []FileOrigin `cbor:"51,keyasint,omitempty"`

	tree *Tree
}

// ForkedFrom returns the source of a fork; false if the project is not a fork.
func (p *Project) ForkedFrom() (*Fork, bool) { return p.saved.Fork, p.saved.Fork != nil }

// Tree returns the tree of the first changeset; nil in a state that was read for listings.
func (f *Fork) Tree() *Tree { return f.tree }

// ForkProject makes a project that begins with a tree of another project. The caller has checked
// the permission to reuse the source on its published view.
type ForkProject struct {
	ID    id.ID
	About About
	// Source and Changeset are the source of the tree.
	Source    id.ID
	Changeset id.ID
	Tree      *Tree
	// The following fields are as in Fork.
	Authors        []InheritedAuthor
	Credits        []Credit
	BundledAuthors []BundledAuthor
	Imports        []*Import
	License        string
	Origins        []FileOrigin
}

// Creates reports whether a command creates its project.
func Creates(command Command) bool {
	switch command.(type) {
	case *CreateProject, *ForkProject, *ImportProject:
		return true
	}
	return false
}

// Authorize lets any agent fork into an unused ID, as CreateProject does.
func (c *ForkProject) Authorize(p *Project, _ id.ID) error { return mayCreate(p) }

// Decide returns REUSE_POLICY_REQUIRED.
func (c *ForkProject) Decide(p *Project, stamp Stamp) (Decision, error) {
	if p != nil {
		return Decision{}, fault.New(fault.Internal, "the project id is taken")
	}
	about, err := newAbout(c.About)
	if err != nil {
		return Decision{}, err
	}
	forked := &ProjectForked{
		ID: stamp.ID(0), Project: c.Source, Changeset: c.Changeset, Root: c.Tree.Root(),
		Files: c.Tree.FilesCount(), Bytes: c.Tree.FilesBytes(), Authors: c.Authors,
		Credits: c.Credits, BundledAuthors: c.BundledAuthors, Imports: c.Imports,
		License: c.License, Origins: c.Origins, Tree: c.Tree,
	}
	return Decision{
		Events: []Event{
			&ProjectCreated{ID: c.ID, Kind: Standard, About: about, Owner: stamp.Agent},
			forked,
			&RelationCreated{ID: stamp.ID(1), Type: DerivedFrom, Target: c.Source},
		},
		Blobs:  c.Tree.Manifest(),
		Result: Result{Created: true, Changeset: forked.ID},
	}, nil
}

// newAbout fills in the defaults of a new project: REUSE_POLICY_REQUIRED.
func newAbout(about About) (About, error) {
	about.Status = Active
	if about.Reuse == 0 {
		if about.Visibility != Private {
			return about, ErrReusePolicyRequired(about.Visibility)
		}
		about.Reuse = ReferenceOnly
	}
	return about, nil
}

// NeedsTree is an event that names a tree. GiveTree must be called BEFORE the event is applied.
type NeedsTree interface {
	Event
	TreeRoot() Hash
	GiveTree(t *Tree)
}

// ProjectForked is the event of the first changeset of a fork. Its operations are in the tree.
type ProjectForked struct {
	ID        id.ID             `cbor:"1,keyasint"`
	Project   id.ID             `cbor:"2,keyasint"`
	Changeset id.ID             `cbor:"3,keyasint"`
	Root      Hash              `cbor:"4,keyasint"`
	Files     int               `cbor:"5,keyasint,omitempty"`
	Bytes     int64             `cbor:"6,keyasint,omitempty"`
	Authors   []InheritedAuthor `cbor:"7,keyasint,omitempty"`
	Credits   []Credit          `cbor:"8,keyasint,omitempty"`

	BundledAuthors []BundledAuthor `cbor:"9,keyasint,omitempty"`
	Imports        []*Import       `cbor:"10,keyasint,omitempty"`
	License        string          `cbor:"50,keyasint,omitempty"`
	Origins        []FileOrigin    `cbor:"51,keyasint,omitempty"`
	// Tree is not in the log.
	Tree *Tree `cbor:"-"`
}

// TreeRoot implements NeedsTree.
func (e *ProjectForked) TreeRoot() Hash { return e.Root }

// GiveTree implements NeedsTree.
func (e *ProjectForked) GiveTree(t *Tree) { e.Tree = t }

func (e *ProjectForked) apply(p *Project, at Moment) {
	if tree := e.Tree; tree == nil || tree.root != e.Root || tree.FilesCount() != e.Files ||
		tree.bytes != e.Bytes || p.history.len() > 0 {
		panic("a fork without its tree, or in a project that has changesets")
	}
	p.saved.Fork = &Fork{
		Project: e.Project, Changeset: e.Changeset, Root: e.Root, Authors: e.Authors,
		Credits: e.Credits, BundledAuthors: e.BundledAuthors, Imports: e.Imports,
		License: e.License, Origins: e.Origins, tree: e.Tree,
	}
	first := &ChangesetPublished{ID: e.ID, Source: SourceFork, SourceID: e.Changeset}
	p.publish(first, at.Agent, at.Now)
	p.touch(at, 1, id.ID{})
}
