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
		counted map[id.ID]*ProjectLinks
		// open counts the links that everybody may see; own counts the others for each reader.
		open map[Link]int
		own  map[readerLink]int
	}
}

// NewLinks makes an empty index.
func NewLinks() *Links {
	l := new(Links)
	l.mu.order = sorted.By(byLink, sorted.Degree).New()
	l.mu.counted = map[id.ID]*ProjectLinks{}
	l.mu.open, l.mu.own = map[Link]int{}, map[readerLink]int{}
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
		known = new(ProjectLinks)
		l.mu.counted[project] = known
	}
	at := slices.IndexFunc(known.Links, func(c LinkCount) bool { return c.Link == more.Link })
	if at < 0 {
		known.Links = append(known.Links, more)
	} else {
		known.Links[at].Times += more.Times
	}
	l.tally(known.Audience, more.Link, more.Times)
}

// tally changes the count of a link for everybody in readers.
func (l *Links) tally(readers Audience, link Link, times int) {
	if readers.Open {
		l.mu.open[link] += times
		if l.mu.open[link] == 0 {
			delete(l.mu.open, link)
		}
		return
	}
	for _, reader := range readers.Members {
		own := readerLink{link, reader}
		if l.mu.own[own] += times; l.mu.own[own] == 0 {
			delete(l.mu.own, own)
		}
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

func (l *Links) setAudience(known *ProjectLinks, readers Audience) {
	for _, one := range known.Links {
		l.tally(known.Audience, one.Link, -one.Times)
		l.tally(readers, one.Link, one.Times)
	}
	known.Audience = readers
}

// Replace replaces all links of a project.
func (l *Links) Replace(project id.ID, all ProjectLinks) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known := l.mu.counted[project]; known != nil {
		l.setAudience(known, Audience{})
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
// projects that everybody may read.
func (l *Links) Count(link Link, agent id.ID) int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.mu.open[link] + l.mu.own[readerLink{link, agent}]
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
