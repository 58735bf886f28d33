package api

import "pws/index"

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
