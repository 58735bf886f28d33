package index

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"pws/internal/disk"
	"pws/internal/id"
	"pws/work"
)

// Kinds implements Projection.
func (l *Links) Kinds() []work.Kind {
	return kindsOf(
		new(work.RelationCreated), new(work.ArtifactImported), new(work.ProjectForked),
		new(work.ProjectImported), new(work.ProjectUpdated), new(work.MemberAdded),
		new(work.MemberChanged), new(work.MemberRemoved),
		new(work.ProjectDeleted), new(work.ProjectRestored),
	)
}

// Update implements Projection.
func (l *Links) Update(before, next *work.Project, events []work.Event) {
	if before == nil {
		l.Replace(next.ID, LinksOf(next))
		return
	}
	audience := before.Version != next.Version
	for _, event := range events {
		if link, ok := linkOf(event); ok {
			l.Add(next.ID, link)
			audience = audience || link.Kind.Counts()
		}
	}
	if audience && l.Counting(next.ID) {
		l.SetAudience(next.ID, audienceOf(next.Visibility, membersOf(next)))
	}
}

// linkOf returns the link that an event creates, if any.
func linkOf(event work.Event) (link Link, ok bool) {
	switch event := event.(type) {
	case *work.RelationCreated:
		return Link{Kind: LinkRelation, Target: event.Target}, true
	case *work.ArtifactImported:
		return Link{Kind: LinkImport, Target: event.Artifact}, true
	}
	return link, false
}

// audienceOf returns who may read a project.
func audienceOf(visibility work.Visibility, members []id.ID) Audience {
	if visibility != work.Private {
		return Audience{Open: true}
	}
	return Audience{Members: members}
}

// LinksOf returns all links of a project, sorted.
func LinksOf(p *work.Project) (all ProjectLinks) {
	var named []Link
	p.Relations(id.ID{}, func(one *work.Relation) bool {
		named = append(named, Link{Kind: LinkRelation, Target: one.Target})
		return true
	})
	p.Imports(id.ID{}, func(one *work.Import) bool {
		if one.Origin != nil {
			// The changeset was made in another project.
			return true
		}
		named = append(named, Link{Kind: LinkImport, Target: one.Artifact})
		return true
	})
	if from, forked := p.ForkedFrom(); forked {
		named = append(named, Link{Kind: LinkFork, Target: from.Project})
	}
	slices.SortFunc(named, Link.Compare)
	for _, link := range named {
		last := len(all.Links) - 1
		switch {
		case last < 0 || all.Links[last].Link != link:
			all.Links = append(all.Links, LinkCount{Link: link, Times: 1})
		case link.Kind.Counts():
			all.Links[last].Times++
		}
		if link.Kind.Counts() {
			all.Audience = audienceOf(p.Visibility, membersOf(p))
		}
	}
	return all
}

// Append implements Projection:
//
//	links  until the end, each: 1 byte kind, 16 bytes ID, uvarint count
func (l *Links) Append(out []byte, p *work.Project) []byte {
	for _, link := range LinksOf(p).Links {
		out = append(append(out, byte(link.Kind)), link.Target[:]...)
		out = binary.AppendUvarint(out, uint64(link.Times))
	}
	return out
}

// Restore implements Projection.
func (l *Links) Restore(c *Card, part *disk.Reader) error {
	var all ProjectLinks
	for part.Len() > 0 {
		var link LinkCount
		link.Kind, link.Target = LinkKind(part.Byte()), id.ID(part.Fixed(16))
		link.Times = int(min(part.Uvarint(), math.MaxInt32))
		if !link.Kind.Known() || link.Times == 0 || link.Times > 1 && !link.Kind.Counts() {
			return fmt.Errorf("invalid link of kind %d with count %d", link.Kind, link.Times)
		}
		if link.Kind.Counts() {
			all.Audience = audienceOf(c.Visibility, c.Members)
		}
		all.Links = append(all.Links, link)
	}
	l.Replace(c.Project, all)
	return nil
}
