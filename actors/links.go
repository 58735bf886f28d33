package actors

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"pws/index"
	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// Linked implements api.Engine.
func (e *Engine) Linked(link index.Link, after id.ID, limit int) []id.ID {
	return e.links.Projects(link, after, limit)
}

// linkOf is the link that an event makes, if it makes one.
func linkOf(event work.Event) (link index.Link, ok bool) {
	switch event := event.(type) {
	case *work.RelationCreated:
		return index.Link{Kind: index.LinkRelation, Thing: event.Target}, true
	}
	return link, false
}

// followLinks tells the index what events have named. It reports whether that was anything.
func (e *Engine) followLinks(project id.ID, events []work.Event) (changed bool) {
	for _, event := range events {
		if link, ok := linkOf(event); ok {
			e.links.Add(project, link)
			changed = true
		}
	}
	return changed
}

// linksOf is all that a project names, each once and in order.
func linksOf(p *work.Project) (all []index.Link) {
	p.Relations(id.ID{}, func(one *work.Relation) bool {
		all = append(all, index.Link{Kind: index.LinkRelation, Thing: one.Target})
		return true
	})
	slices.SortFunc(all, index.Link.Compare)
	return slices.Compact(all)
}

// saveLinks writes what a project names where that has changed since it was saved.
func (e *Engine) saveLinks(writer *snapshot.Writer, view *published) error {
	key := linksKey(view.project.ID)
	if saved, there := e.snapshot.SectionPosition(key); there && view.linksAt <= saved {
		return nil
	}
	if all := linksOf(view.project); len(all) > 0 {
		return writer.Put(key, view.position, encodeLinks(all))
	}
	return nil
}

// restoreLinks reads what snapshots have saved.
func (e *Engine) restoreLinks() error {
	for key := range e.sectionKeys("x") {
		data, _, _, err := e.snapshot.Read(key)
		if err != nil {
			return err
		}
		project := id.ID([]byte(key[1:]))
		all, err := decodeLinks(data)
		if err != nil {
			return fmt.Errorf("links of project %s: %w", project.Format(id.Project), err)
		}
		for _, link := range all {
			e.links.Add(project, link)
		}
	}
	return nil
}

// keepLinks takes in what an entry behind the snapshot names.
func (e *Engine) keepLinks(project id.ID, stored entryEvent) error {
	if factsOf(stored.kind)&makesLinks == 0 {
		return nil
	}
	event, err := work.DecodeEvent(work.Kind(stored.kind), stored.data)
	if err == nil {
		e.followLinks(project, []work.Event{event})
	}
	return err
}

// linksVersion is the first byte of what a project names, as it is saved. Behind it stand in order
// 1 byte kind and 16 bytes ID of each.
const linksVersion = 1

// linkBytes is the size of a link.
const linkBytes = 1 + len(id.ID{})

func encodeLinks(all []index.Link) []byte {
	out := append(make([]byte, 0, 1+len(all)*linkBytes), linksVersion)
	for _, link := range all {
		out = append(append(out, byte(link.Kind)), link.Thing[:]...)
	}
	return out
}

func decodeLinks(data []byte) (all []index.Link, err error) {
	if len(data) == 0 || data[0] != linksVersion {
		return nil, errors.New("the version is unknown")
	}
	if data = data[1:]; len(data)%linkBytes != 0 {
		return nil, fmt.Errorf("%d bytes are no list of links", len(data))
	}
	for ; len(data) > 0; data = data[linkBytes:] {
		link := index.Link{Kind: index.LinkKind(data[0]), Thing: id.ID(data[1:linkBytes])}
		if link.Kind != index.LinkRelation {
			return nil, fmt.Errorf("kind %d is unknown", link.Kind)
		}
		all = append(all, link)
	}
	return all, nil
}

// checkSavedLinks compares a saved project with what was saved of it for the index of links.
func (r *rebuilder) checkSavedLinks(name string, p *work.Project) {
	var want []byte
	if all := linksOf(p); len(all) > 0 {
		want = encodeLinks(all)
	}
	saved, _, _, err := r.engine.snapshot.Read(linksKey(p.ID))
	if err == nil && !bytes.Equal(saved, want) {
		r.damage.addf("%s: what it names is not as it is saved for finding it", name)
	}
}

// checkRecords looks up those who have left verification records and relations.
func (r *rebuilder) checkRecords(name string, p *work.Project, missing map[id.ID]bool) {
	p.Verifications(id.ID{}, func(one *work.Verification) bool {
		r.checkAgent(name, "author of a verification record", one.Author, missing)
		return true
	})
	p.Relations(id.ID{}, func(one *work.Relation) bool {
		r.checkAgent(name, "author of a relation", one.CreatedBy, missing)
		return true
	})
}
