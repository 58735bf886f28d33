package actors

import (
	"sync"

	"pws/internal/datadir"
	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// summaries keeps the records of passive projects that were read lately. A saved record also has
// what only a whole project needs, of several megabytes at most, so that reading a page of them
// takes long, and much memory for a moment. Each part reads one record at a time.
type summaries struct{ parts [summaryParts]summaryPart }

const (
	// summaryParts is the number of records that are read at one time, summariesMax the number
	// that each part keeps.
	summaryParts = 8
	summariesMax = 128
)

type summaryPart struct {
	mu sync.Mutex
	of map[id.ID]summaryAt
	// oldest are the projects in of, in the order in which they came.
	oldest []id.ID
}

// summaryAt is a record as it was saved at a position of the log.
type summaryAt struct {
	project  *work.Project
	position uint64
}

// read returns the saved record of a project, and the position of the log that it was saved at.
func (s *summaries) read(from *snapshot.Store, project id.ID) (*work.Project, uint64, error) {
	part := &s.parts[project[len(project)-1]%summaryParts]
	key := datadir.ProjectKey(project)
	part.mu.Lock()
	defer part.mu.Unlock()
	kept, known := part.of[project]
	if position, saved := from.SectionPosition(key); known && saved && position == kept.position {
		return kept.project, kept.position, nil
	}
	head, position, ok, err := from.Read(key)
	if err == nil && !ok {
		err = errSectionMissing
	}
	if err != nil {
		return nil, 0, err
	}
	read, err := work.RestoreSummary(head)
	if err != nil {
		return nil, 0, err
	}
	part.keep(project, summaryAt{read, position}, known)
	return read, position, nil
}

// keep keeps a record in place of the oldest one. The lock is held.
func (p *summaryPart) keep(project id.ID, read summaryAt, known bool) {
	if p.of == nil {
		p.of = make(map[id.ID]summaryAt, summariesMax)
	}
	if !known {
		if len(p.oldest) == summariesMax {
			delete(p.of, p.oldest[0])
			p.oldest = p.oldest[1:]
		}
		p.oldest = append(p.oldest, project)
	}
	p.of[project] = read
}
