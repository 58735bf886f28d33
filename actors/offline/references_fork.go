package offline

import (
	"bytes"
	"errors"
	"os"

	"pws/blobs"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/work"
)

// checkedTrees gives a check the manifests of trees, and remembers which trees it has gone through.
type checkedTrees struct {
	// recent are those that only the log has; store has the others, nil where it cannot be opened, for
	// the reason of fault.
	recent map[work.Hash][]byte
	store  *blobs.Store
	fault  error
	// links is the folder that the store works in, for it removes what interrupted runs have left.
	links string
	// seen are the trees whose contents were looked up; sources are projects with one of their forks.
	seen    map[work.Hash]bool
	sources map[id.ID]string
}

var errDamagedManifest = errors.New("it is damaged")

// treeCacheBytes is what a check keeps of manifests.
const treeCacheBytes = 16 << 20

func (t *checkedTrees) init(dir string) {
	t.recent, t.seen = map[work.Hash][]byte{}, map[work.Hash]bool{}
	t.sources = map[id.ID]string{}
	if t.links, t.fault = linkFolder(dir); t.fault == nil {
		t.store, t.fault = blobs.Open(blobs.Options{Dir: t.links, CacheBytes: treeCacheBytes})
	}
}

func (t *checkedTrees) close() (err error) {
	if t.store != nil {
		err = t.store.Close()
	}
	if t.links != "" {
		err = errors.Join(err, os.RemoveAll(t.links))
	}
	return err
}

// keep takes the parts of manifests out of an entry of the log.
func (t *checkedTrees) keep(blob datadir.Blob) {
	if work.IsManifest(blob.Content) {
		t.recent[blob.Hash] = bytes.Clone(blob.Content)
	}
}

func (t *checkedTrees) content(hash work.Hash) ([]byte, error) {
	if content, ok := t.recent[hash]; ok {
		return content, nil
	}
	content, err := []byte(nil), t.fault
	if t.store != nil {
		content, err = t.store.Get(blobs.Hash(hash))
	}
	if errors.Is(err, blobs.ErrCorrupt) {
		// The place is known from the check of the packs; the path here is of a link.
		return nil, errDamagedManifest
	}
	return content, err
}

// checkFork looks up what a fork names, and reports whether the contents of the tree that it began
// with were looked up before.
func (r *references) checkFork(name string, p *work.Project, missing map[id.ID]bool) (known bool) {
	from, forked := p.ForkedFrom()
	if !forked {
		return false
	}
	for _, one := range from.Authors {
		r.checkAgent(name, "author before the fork", one.Agent, missing)
	}
	r.checkCredits(name, from.Credits, missing)
	for _, one := range from.Imports {
		for _, author := range append([]id.ID{one.CreatedBy}, one.Authors...) {
			r.checkAgent(name, "author of what was imported at the source", author, missing)
		}
	}
	r.checkedTrees.sources[from.Project] = name
	known = r.checkedTrees.seen[from.Root]
	r.checkedTrees.seen[from.Root] = true
	return known
}

// checkSources finds forks of projects that are not there. Those that were made behind the snapshot
// are given.
func (r *references) checkSources(made []id.ID) {
	known := map[id.ID]bool{}
	for _, project := range made {
		known[project] = true
	}
	for source, name := range r.checkedTrees.sources {
		_, saved := r.saved.SectionPosition(datadir.ProjectKey(source))
		if !saved && !known[source] {
			r.damage.addf("%s: project %s, which it was forked from, does not exist", name,
				source.Format(id.Project))
		}
	}
}
