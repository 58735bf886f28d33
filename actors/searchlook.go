package actors

import (
	"pws/index/search"
	"pws/internal/id"
	"pws/work"
)

// look looks through a part of a project: what is of another version is indexed, what is not there
// any more leaves the index.
func (f *searchFill) look(step *search.Step) error {
	public, err := f.isPublic(step.Project)
	var p *work.Project
	if err == nil && public {
		p, err = f.view(step.Project)
	}
	if err != nil {
		// It is out of service, and nothing of it is shown.
		f.queue.Finish(*step)
		return nil
	}
	if p == nil || step.From == (search.Key{}) {
		if err := f.dropOld(step.Project, p); err != nil {
			return err
		}
	}
	if p == nil {
		f.queue.Finish(*step)
		return nil
	}
	_, forked := p.ForkedFrom()
	last, looked, ended, err := f.lookOn(p, step.From, forked && !step.Copies)
	f.looked += looked
	switch {
	case err != nil:
		return err
	case ended:
		f.queue.Finish(*step)
	default:
		f.queue.Continue(*step, last, forked && last.Kind == search.File, p.Owner, looked)
	}
	return nil
}

// dropOld removes the documents of a project that are not there any more: all of them without p.
// Those that the same batch adds are not in the index yet.
func (f *searchFill) dropOld(project id.ID, p *work.Project) error {
	indexed, err := f.x.KeysOf(project)
	if err != nil {
		return err
	}
	now := f.engine.Now()
	for _, key := range append(indexed, f.batch.KeysOf(project)...) {
		if p == nil || search.Live(p, key, now) == nil {
			f.batch.Drop(key)
		}
	}
	return nil
}

// lookOn looks at the documents of a project after a key, up to the bounds of a step, or up to the
// first file. It returns the last one, their number, and whether there are no more.
func (f *searchFill) lookOn(p *work.Project, after search.Key, beforeFiles bool) (
	last search.Key, looked int, ended bool, err error,
) {
	last, now, stopAt := after, f.engine.Now(), f.batch.Bytes()+searchStepBytes
	atFiles := false
	var documents []*search.Document
	put := func() bool {
		count := 0
		if count, err = f.putChanged(documents, stopAt); count > 0 {
			last = documents[count-1].Key
		}
		looked += count
		complete := count == len(documents)
		documents = documents[:0]
		return err == nil && complete && f.batch.Bytes() < stopAt
	}
	ended = true
	search.Keys(p, now, after, func(key search.Key) bool {
		if beforeFiles && key.Kind == search.File {
			atFiles = true
			return false
		}
		if d := search.Live(p, key, now); d != nil {
			documents = append(documents, d)
		}
		if len(documents) < searchLookMax {
			return true
		}
		ended = put() && looked < searchStepLooks
		return ended
	})
	if len(documents) > 0 {
		ended = put() && ended
	}
	if atFiles && ended {
		last, ended = search.Key{Kind: search.File, Project: p.ID}, false
	}
	return last, looked, ended, err
}

// isPublic asks the saved record of a project that rests, and does not load it.
func (f *searchFill) isPublic(project id.ID) (bool, error) {
	p, err := f.engine.Summary(project)
	return p != nil && p.Visibility == work.Public, err
}

// putChanged indexes those documents that are not indexed as they are, until the batch has so many
// bytes. It returns how many it has looked at.
func (f *searchFill) putChanged(documents []*search.Document, bytes int) (looked int, err error) {
	keys := make([]search.Key, len(documents))
	for i, d := range documents {
		keys[i] = d.Key
	}
	versions, err := f.x.Versions(keys)
	if err != nil {
		return 0, err
	}
	for i, d := range documents {
		if versions[i] == d.Version {
			continue
		}
		if f.put(d); f.batch.Bytes() >= bytes {
			return i + 1, nil
		}
	}
	return len(documents), nil
}

func (f *searchFill) put(d *search.Document) {
	// What is damaged was logged, and what was removed is not searched.
	_ = d.Load(f.engine.Blob)
	f.batch.Put(d)
}
