package actors

import (
	"path/filepath"

	"pws/internal/datadir"
	"pws/internal/spill"
	"pws/work"
)

// spillReadBytes is how much of spilled histories may be in the memory of the process, read lately.
const spillReadBytes = 32 << 20

// openSpill opens the file for the histories of projects in memory, and replaces one that a killed
// process left. Histories stay in the heap where the disk has too little room for them.
func (e *Engine) openSpill(dir string) (err error) {
	e.spill, err = spill.Open(spill.Config{
		Path: filepath.Join(dir, datadir.SpillName), ExtentBytes: work.SpillBytes,
		ReadBytesMax: spillReadBytes, Roomy: e.space.roomy, OnDamage: e.fail,
	})
	return err
}

// spillHistory moves older changesets out of the heap, see work.Project.SpillHistory. An engine
// that only rebuilds projects (rebuilder) has no file for them.
func (e *Engine) spillHistory(p *work.Project) {
	if e.spill != nil {
		p.SpillHistory(e.spill.Put)
	}
}
