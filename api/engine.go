package api

import (
	"errors"

	"pws/index"
	"pws/internal/id"
	"pws/work"
)

// Engine is what the operations stand on: published views to read and commands to give. It is
// implemented by actors; every method is safe for concurrent use.
type Engine interface {
	Projects
	Identities
	Activities
	Searches
	Condition
	Uploads
	Reads
	// Indexes returns the indexes over projects, AFTER those of the set contain all that was
	// published. Callers only read them, and check the results in the live view.
	Indexes(of index.Set) *index.Views
}

// Projects are the published views of projects, and the commands to them.
type Projects interface {
	// Project returns the published view of a project, nil where there is none.
	Project(project id.ID) (*work.Project, error)
	// ProjectFor is Project for a caller that may not be allowed to read it: nil as where there is
	// none. It loads no project for them.
	ProjectFor(project, agent id.ID) (*work.Project, error)
	// Do gives a command to a project and returns AFTER its effects are durable and published.
	Do(order Order) (Done, error)
	// Stamp returns a stamp for what is prepared BEFORE a command to a project.
	Stamp(agent, project id.ID) work.Stamp
	// Blob returns stored content, which callers never modify. Errors are BLOB_CORRUPT faults or
	// internal.
	Blob(hash work.Hash) ([]byte, error)
	// PublicProjects lists PUBLIC projects, newest first, behind the one the position names.
	PublicProjects(after index.Position, limit int) ([]*work.Project, error)
	// Owner returns the project that has an entity of a kind, for the kinds that work.Project.Has
	// knows, and that an agent may read; nil where none is.
	Owner(kind id.Prefix, entity, agent id.ID) (*work.Project, error)
	// Tree returns the tree of a project as it was after a changeset, one for all who ask for the
	// same.
	Tree(p *work.Project, at *work.Changeset) *work.Tree
	// Readable reports whether a project is there and an agent may read it now. It costs little for
	// a project that is not loaded.
	Readable(project, agent id.ID) (bool, error)
	// Summary returns the record of a project and its members, nil where there is none. It costs
	// little for a project that is not loaded, and what else the project has may be missing.
	Summary(project id.ID) (*work.Project, error)
}

// ErrDamaged marks the error of a project that cannot be read because its stored data is damaged.
// An error of the whole server, such as a lack of memory, is another one.
var ErrDamaged = errors.New("the project is damaged")

// Intact is for reads of several projects: a damaged one is for them as one that does not exist, so
// that it takes no other with it.
func Intact[T any](found T, err error) (T, error) {
	if errors.Is(err, ErrDamaged) {
		var none T
		return none, nil
	}
	return found, err
}
