package actors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"pws/index"
	"pws/internal/disk"
	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// Linked implements api.Engine.
func (e *Engine) Linked(link index.Link, after id.ID, limit int) []id.ID {
	return e.links.Projects(link, after, limit)
}

// CountLinked implements api.Engine.
func (e *Engine) CountLinked(link index.Link, agent id.ID) int { return e.links.Count(link, agent) }

// linkOf is the link that an event makes, if it makes one. Each that counts is one more.
func linkOf(event work.Event) (link index.Link, ok bool) {
	switch event := event.(type) {
	case *work.RelationCreated:
		return index.Link{Kind: index.LinkRelation, Thing: event.Target}, true
	case *work.ArtifactImported:
		return index.Link{Kind: index.LinkImport, Thing: event.Artifact}, true
	case *work.ProjectForked:
		return index.Link{Kind: index.LinkFork, Thing: event.Project}, true
	}
	return link, false
}

// audienceOf is who may read a project.
func audienceOf(p *work.Project) index.Audience {
	if p.Visibility != work.Private {
		return index.Audience{Open: true}
	}
	return index.Audience{Members: membersOf(p)}
}

// followLinks tells the index what events have named, and who may read the project where that
// counts. It reports whether what is saved for the index is another then.
func (e *Engine) followLinks(next *work.Project, events []work.Event) (changed bool) {
	judge := false
	for _, event := range events {
		if link, ok := linkOf(event); ok {
			e.links.Add(next.ID, link)
			changed, judge = true, judge || link.Kind.Counts()
		}
		if imported, ok := event.(*work.ProjectImported); ok {
			for _, relation := range imported.Relations {
				e.links.Add(next.ID, index.Link{
					Kind: index.LinkRelation, Thing: relation.Target,
				})
				changed = true
			}
		}
		judge = judge || factsOf(uint16(work.KindOf(event)))&changesAudience != 0
	}
	if judge && e.links.Counting(next.ID) {
		e.links.SetAudience(next.ID, audienceOf(next))
		changed = true
	}
	return changed
}

// linksOf is all that a project names, in order.
func linksOf(p *work.Project) (all index.ProjectLinks) {
	var named []index.Link
	p.Relations(id.ID{}, func(one *work.Relation) bool {
		named = append(named, index.Link{Kind: index.LinkRelation, Thing: one.Target})
		return true
	})
	p.Imports(id.ID{}, func(one *work.Import) bool {
		if one.Origin != nil {
			// It was made elsewhere.
			return true
		}
		named = append(named, index.Link{Kind: index.LinkImport, Thing: one.Artifact})
		return true
	})
	if from, forked := p.ForkedFrom(); forked {
		named = append(named, index.Link{Kind: index.LinkFork, Thing: from.Project})
	}
	slices.SortFunc(named, index.Link.Compare)
	for _, link := range named {
		last := len(all.Links) - 1
		switch {
		case last < 0 || all.Links[last].Link != link:
			all.Links = append(all.Links, index.LinkCount{Link: link, Times: 1})
		case link.Kind.Counts():
			all.Links[last].Times++
		}
		if link.Kind.Counts() {
			all.Audience = audienceOf(p)
		}
	}
	return all
}

// saveLinks writes what a project names where that, or who may read what counts, has changed since
// it was saved.
func (e *Engine) saveLinks(writer *snapshot.Writer, view *published) error {
	key := linksKey(view.project.ID)
	if saved, there := e.snapshot.SectionPosition(key); there && view.linksAt <= saved {
		return nil
	}
	if all := linksOf(view.project); len(all.Links) > 0 {
		return writer.Put(key, view.position, encodeLinks(all))
	}
	return nil
}

// restoreLinks reads what snapshots have saved. A project of which the log behind changes what
// counts, or who may read it, is loaded AFTER.
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
		e.links.Replace(project, all)
	}
	return nil
}

// keepLinks takes in what an entry behind the snapshot names. It reports whether the index needs
// the project itself. It does not where the project begins with this entry, which then says who may
// read it.
func (e *Engine) keepLinks(in *replayed) (reload bool, err error) {
	counts, judge := false, false
	for _, stored := range in.entry.events {
		facts := factsOf(stored.kind)
		judge = judge || facts&changesAudience != 0
		if facts&makesLinks == 0 {
			continue
		}
		event, err := work.DecodeEvent(work.Kind(stored.kind), stored.data)
		if err != nil {
			return false, err
		}
		if link, ok := linkOf(event); ok {
			e.links.Add(in.entry.id, link)
			counts = counts || link.Kind.Counts()
		}
	}
	if judge {
		_, saved := e.snapshot.SectionPosition(linksKey(in.entry.id))
		return saved || e.links.Counting(in.entry.id), nil
	}
	if !counts {
		return false, nil
	}
	first := in.entry.events[0]
	if first.kind != uint16(work.KindProjectCreated) {
		return true, nil
	}
	event, err := work.DecodeEvent(work.KindProjectCreated, first.data)
	if created, ok := event.(*work.ProjectCreated); ok {
		readers := index.Audience{Open: created.About.Visibility != work.Private}
		if !readers.Open {
			readers.Members = []id.ID{created.Owner}
		}
		e.links.SetAudience(in.entry.id, readers)
	}
	return false, err
}

// linksVersion is the first byte of what a project names, as it is saved:
//
//	version  1 byte
//	open     1 byte: 1 where everybody may read the project; of one that names nothing that counts
//	         it is 0, and so is the number of its members
//	members  uvarint count, then 16 bytes each; none where it is open
//	links    until the end, each: 1 byte kind, 16 bytes ID, uvarint how often
//
// In version 1 stood nothing but links, in order, of 1 byte kind and 16 bytes ID each.
const linksVersion = 2

// linkBytes is the size of a link without how often it is.
const linkBytes = 1 + len(id.ID{})

func encodeLinks(all index.ProjectLinks) []byte {
	size := 2 + binary.MaxVarintLen64 + len(id.ID{})*len(all.Audience.Members) +
		(linkBytes+2)*len(all.Links)
	out := append(make([]byte, 0, size), linksVersion, 0)
	if all.Audience.Open {
		out[1] = 1
	}
	out = binary.AppendUvarint(out, uint64(len(all.Audience.Members)))
	for _, member := range all.Audience.Members {
		out = append(out, member[:]...)
	}
	for _, link := range all.Links {
		out = append(append(out, byte(link.Kind)), link.Thing[:]...)
		out = binary.AppendUvarint(out, uint64(link.Times))
	}
	return out
}

func decodeLinks(data []byte) (all index.ProjectLinks, err error) {
	r := disk.NewReader(data)
	version := r.Byte()
	switch version {
	case 1:
	case linksVersion:
		all.Audience.Open = r.Byte() != 0
		for range r.Count() {
			all.Audience.Members = append(all.Audience.Members, id.ID(r.Fixed(16)))
		}
	default:
		return all, errors.New("the version is unknown")
	}
	for r.Len() > 0 {
		link := index.LinkCount{Times: 1}
		link.Kind, link.Thing = index.LinkKind(r.Byte()), id.ID(r.Fixed(16))
		if version > 1 {
			link.Times = int(min(r.Uvarint(), math.MaxInt32))
		}
		if !link.Kind.Known() || link.Times == 0 || link.Times > 1 && !link.Kind.Counts() {
			return all, fmt.Errorf("kind %d, %d times, is unknown", link.Kind, link.Times)
		}
		all.Links = append(all.Links, link)
	}
	if r.Failed() {
		return all, errShortEntry
	}
	return all, nil
}

func sameLinks(a, b index.ProjectLinks) bool {
	return slices.Equal(a.Links, b.Links) && a.Audience.Open == b.Audience.Open &&
		slices.Equal(a.Audience.Members, b.Audience.Members)
}

// checkSavedLinks compares a saved project with what was saved of it for the index of links.
func (r *rebuilder) checkSavedLinks(name string, p *work.Project) {
	var found index.ProjectLinks
	saved, _, there, err := r.engine.snapshot.Read(linksKey(p.ID))
	if err == nil && there {
		found, err = decodeLinks(saved)
	}
	if err != nil || !sameLinks(found, linksOf(p)) {
		r.damage.addf("%s: what it names is not as it is saved for finding it", name)
	}
}

// checkRecords looks up what verification records, relations, artifacts and imports name.
func (r *rebuilder) checkRecords(name string, p *work.Project, missing map[id.ID]bool) {
	p.Verifications(id.ID{}, func(one *work.Verification) bool {
		r.checkAgent(name, "author of a verification record", one.Author, missing)
		return true
	})
	p.Relations(id.ID{}, func(one *work.Relation) bool {
		r.checkAgent(name, "author of a relation", one.CreatedBy, missing)
		return true
	})
	r.checkOffers(name, p, missing)
}
