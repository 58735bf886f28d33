package index

import (
	"cmp"
	"slices"
	"sync"

	"pws/internal/id"
	"pws/internal/sorted"
)

// LinkKind says why a project names a target.
type LinkKind uint8

// The kinds of links. Their numbers are in saved sections.
const (
	// LinkRelation leads from a project to those that declare a relation to it.
	LinkRelation LinkKind = iota + 1
	// LinkFork leads from a project to its forks.
	LinkFork
	// LinkImport leads from an artifact to the projects that imported it, once for each import.
	LinkImport
)

// Known reports whether a number is that of a kind.
func (k LinkKind) Known() bool { return k >= LinkRelation && k <= LinkImport }

// Counts reports whether the links of a kind are counted.
func (k LinkKind) Counts() bool { return k == LinkFork || k == LinkImport }

// Link leads from a project or an artifact, the target, to the projects whose own records name it.
type Link struct {
	Kind   LinkKind
	Target id.ID
}

// Compare orders links by kind, then by target.
func (l Link) Compare(other Link) int {
	return cmp.Or(cmp.Compare(l.Kind, other.Kind), l.Target.Compare(other.Target))
}

// LinkCount is the number of times a project names a target; 1 for kinds that are not counted.
type LinkCount struct {
	Link
	Times int
}

// Audience describes who may read a project.
type Audience struct {
	// Open is set if everybody may read it.
	Open bool
	// Members may read the project if it is not open.
	Members []id.ID
}

// ProjectLinks is all links of a project. The audience is stored only if a link counts.
type ProjectLinks struct {
	Audience Audience
	Links    []LinkCount
}

// linkPlace is a link and the project that it leads to.
type linkPlace struct {
	Link
	source id.ID
}

func byLink(a, b linkPlace) bool {
	return cmp.Or(a.Compare(b.Link), a.source.Compare(b.source)) < 0
}

// readerLink is a link and a reader for whom it counts.
type readerLink struct {
	Link
	reader id.ID
}

// Links leads from targets to the projects whose own records name them, and counts them. Such
// records are removed only with all others of a project. It is safe for concurrent use.
type Links struct {
	mu struct {
		sync.RWMutex
		order sorted.Set[linkPlace]
		// counted holds the projects with links that count.
		counted map[id.ID]*countedLinks
		// open counts the links that everybody may see; own counts the others for each reader.
		open map[Link]int
		own  map[readerLink]int
		// heavy holds how often heavy projects name a target.
		heavy map[Link]map[*countedLinks]int
	}
	// talliesMax is usually usualTallies.
	talliesMax int
}

// countedLinks are the links of a project with links that count. Those of a heavy project are in no
// count: a query looks at the project and asks whether the reader is in its audience. So it costs
// little to hide it, however many links and members it has. It stays heavy.
type countedLinks struct {
	ProjectLinks
	heavy bool
}

// usualTallies is the number of counts above which a project with so many is heavy.
const usualTallies = 256

// NewLinks makes an empty index.
func NewLinks() *Links {
	l := &Links{talliesMax: usualTallies}
	l.mu.order = sorted.By(byLink, sorted.Degree).New()
	l.mu.counted = map[id.ID]*countedLinks{}
	l.mu.open, l.mu.own = map[Link]int{}, map[readerLink]int{}
	l.mu.heavy = map[Link]map[*countedLinks]int{}
	return l
}

// Add adds one link from a project to a target. It counts for nobody until SetAudience is called.
func (l *Links) Add(project id.ID, link Link) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(project, LinkCount{link, 1})
}

func (l *Links) add(project id.ID, more LinkCount) {
	l.mu.order.Set(linkPlace{more.Link, project})
	if !more.Kind.Counts() {
		return
	}
	known := l.mu.counted[project]
	if known == nil {
		known = new(countedLinks)
		l.mu.counted[project] = known
	}
	at := slices.IndexFunc(known.Links, func(c LinkCount) bool { return c.Link == more.Link })
	if at < 0 {
		known.Links = append(known.Links, more)
	} else {
		known.Links[at].Times += more.Times
	}
	l.tally(known, more.Link, more.Times)
	if l.tooMany(known, known.Audience) {
		l.makeHeavy(known)
	}
}

// tally changes the count of a link for the audience of a project.
func (l *Links) tally(of *countedLinks, link Link, times int) {
	switch {
	case of.heavy:
		if l.mu.heavy[link] == nil {
			l.mu.heavy[link] = map[*countedLinks]int{}
		}
		if addTo(l.mu.heavy[link], of, times); len(l.mu.heavy[link]) == 0 {
			delete(l.mu.heavy, link)
		}
	case of.Audience.Open:
		addTo(l.mu.open, link, times)
	default:
		for _, reader := range of.Audience.Members {
			addTo(l.mu.own, readerLink{link, reader}, times)
		}
	}
}

// tallyAll adds all links of a project to the counts, or removes them.
func (l *Links) tallyAll(of *countedLinks, sign int) {
	for _, one := range of.Links {
		l.tally(of, one.Link, sign*one.Times)
	}
}

// SetAudience sets who may read a project from now on. It has no effect on a project without links
// that count.
func (l *Links) SetAudience(project id.ID, readers Audience) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.mu.counted[project]; known != nil {
		l.setAudience(known, readers)
	}
}

func (l *Links) setAudience(known *countedLinks, readers Audience) {
	if known.heavy || l.tooMany(known, readers) {
		l.makeHeavy(known)
		known.Audience = readers
		return
	}
	l.tallyAll(known, -1)
	known.Audience = readers
	l.tallyAll(known, 1)
}

// tooMany reports whether the links of a project would be in too many counts with an audience.
func (l *Links) tooMany(known *countedLinks, readers Audience) bool {
	return len(known.Links)*max(1, len(readers.Members)) > l.talliesMax
}

func (l *Links) makeHeavy(known *countedLinks) {
	if !known.heavy {
		l.tallyAll(known, -1)
		known.heavy = true
		l.tallyAll(known, 1)
	}
}

// Replace replaces all links of a project.
func (l *Links) Replace(project id.ID, all ProjectLinks) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.mu.counted[project]; known != nil {
		l.tallyAll(known, -1)
		delete(l.mu.counted, project)
	}
	for _, one := range all.Links {
		l.add(project, one)
	}
	if known := l.mu.counted[project]; known != nil {
		l.setAudience(known, all.Audience)
	}
}

// Drop removes links of a project that is erased. Replace removes what they count.
func (l *Links) Drop(project id.ID, links []LinkCount) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range links {
		l.mu.order.Delete(linkPlace{one.Link, project})
	}
}

// Counting reports whether a project has links that count.
func (l *Links) Counting(project id.ID) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.mu.counted[project] != nil
}

// Count returns how often a target is named by projects that an agent may read; for the zero ID, by
// projects that everybody may read. Its time grows with the number of heavy projects among them.
func (l *Links) Count(link Link, agent id.ID) int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	count := l.mu.open[link] + l.mu.own[readerLink{link, agent}]
	for project, times := range l.mu.heavy[link] {
		if project.Audience.Open || slices.Contains(project.Audience.Members, agent) {
			count += times
		}
	}
	return count
}

// addTo changes a count, which is removed when it is zero.
func addTo[K comparable](counts map[K]int, key K, more int) {
	if counts[key] += more; counts[key] == 0 {
		delete(counts, key)
	}
}

// Projects returns up to limit projects that a link leads to, sorted by ID, after a given one; the
// zero ID is the start.
func (l *Links) Projects(link Link, after id.ID, limit int) (found []id.ID) {
	if limit <= 0 {
		return nil
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	l.mu.order.Ascend(linkPlace{link, after}, func(place linkPlace) bool {
		if place.Link != link {
			return false
		}
		if place.source != after {
			found = append(found, place.source)
		}
		return len(found) < limit
	})
	return found
}

// Len returns the number of links.
func (l *Links) Len() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.mu.order.Len()
}
