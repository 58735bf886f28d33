package work_test

import (
	"fmt"
	"slices"

	"pws/internal/id"
	"pws/work"
)

// modelSession is an open work session as the naive model holds it.
type modelSession struct {
	started, last int64
	changesets    []uint32
	tasks         []id.ID
}

// leftModel follows what agents leave behind: state, handoffs, checkpoints and work sessions.
type leftModel struct {
	stateVersion uint64
	summary      string
	// handoffs are in order; heads are the changesets that each was written on.
	handoffs   []id.ID
	heads      []uint32
	checkpoint string
	sessions   map[id.ID]*modelSession
	ended      int
}

func newLeftModel() *leftModel {
	return &leftModel{stateVersion: 1, sessions: map[id.ID]*modelSession{}}
}

// observe takes a command that was accepted and left events. Changesets and tasks are those that it
// brought and was about.
func (m *leftModel) observe(
	p *work.Project, who id.ID, command work.Command, before int, tasks []id.ID, now int64,
) {
	if who.IsZero() {
		return
	}
	one := m.sessions[who]
	if one == nil {
		one = &modelSession{started: now, last: now}
		m.sessions[who] = one
	}
	one.last = max(one.last, now)
	for sequence := before + 1; sequence <= p.ChangesetsCount(); sequence++ {
		one.changesets = append(one.changesets, uint32(sequence))
	}
	for _, task := range tasks {
		if !slices.Contains(one.tasks, task) {
			one.tasks = append(one.tasks, task)
		}
	}
	switch command := command.(type) {
	case *work.UpdateState:
		m.describe(command)
	case *work.CreateHandoff:
		m.leave(p)
	case *work.CreateCheckpoint:
		m.checkpoint = command.Summary
		if command.State != nil {
			m.describe(command.State)
		}
		if command.Handoff != nil {
			m.leave(p)
		}
		if command.EndSession {
			m.end(who)
		}
	case *work.EndWorkSession:
		m.end(who)
	}
}

func (m *leftModel) end(who id.ID) {
	delete(m.sessions, who)
	m.ended++
}

func (m *leftModel) describe(command *work.UpdateState) {
	m.stateVersion++
	m.summary = command.Statement.Summary
}

func (m *leftModel) leave(p *work.Project) {
	m.handoffs = append(m.handoffs, p.LatestHandoff().ID)
	m.heads = append(m.heads, uint32(p.ChangesetsCount()))
}

func (m *leftModel) compare(p *work.Project) error {
	state := p.State()
	if state.Version != m.stateVersion || state.Statement.Summary != m.summary {
		return fmt.Errorf("state %d says %q, want %d and %q", state.Version,
			state.Statement.Summary, m.stateVersion, m.summary)
	}
	checkpoint := ""
	if latest := p.LatestCheckpoint(); latest != nil {
		checkpoint = latest.Summary
	}
	if checkpoint != m.checkpoint {
		return fmt.Errorf("the checkpoint says %q, want %q", checkpoint, m.checkpoint)
	}
	if err := m.compareHandoffs(p); err != nil {
		return err
	}
	return m.compareSessions(p)
}

// compareHandoffs goes along the chain, and asks the history what changed between two links.
func (m *leftModel) compareHandoffs(p *work.Project) error {
	if len(p.Handoffs()) != len(m.handoffs) {
		return fmt.Errorf("%d handoffs, want %d", len(p.Handoffs()), len(m.handoffs))
	}
	var previous id.ID
	since := uint32(1)
	for i, handoff := range p.Handoffs() {
		found, ok := p.Handoff(handoff.ID)
		if !ok || found != handoff || handoff.ID != m.handoffs[i] ||
			handoff.Previous != previous ||
			handoff.Changeset != p.ChangesetNumber(m.heads[i]).ID {
			return fmt.Errorf("handoff %d is %+v", i, handoff)
		}
		changed := touched(p, since, m.heads[i])
		texts, err := whole(handoff)
		if err != nil {
			return fmt.Errorf("handoff %d: %w", i, err)
		}
		if !slices.Equal(texts.ChangedFiles, changed) {
			return fmt.Errorf("handoff %d names %v, want %v", i, texts.ChangedFiles, changed)
		}
		previous, since = handoff.ID, m.heads[i]
	}
	return nil
}

// touched names the paths that changesets after one and up to another had to do with.
func touched(p *work.Project, after, last uint32) []string {
	var paths []string
	for sequence := after + 1; sequence <= last; sequence++ {
		for i := range p.ChangesetNumber(sequence).Ops {
			op := &p.ChangesetNumber(sequence).Ops[i]
			for _, path := range []*string{op.From, op.Path} {
				if path != nil && !slices.Contains(paths, *path) {
					paths = append(paths, *path)
				}
			}
		}
	}
	return paths[:min(len(paths), work.ChangedPathsMax)]
}

func (m *leftModel) compareSessions(p *work.Project) error {
	open, ended := 0, 0
	for _, one := range p.WorkSessions() {
		if found, ok := p.WorkSession(one.ID); !ok || found != one {
			return fmt.Errorf("work session %v is two", one.ID)
		}
		if one.EndedAt != 0 {
			ended++
			continue
		}
		open++
		want := m.sessions[one.Agent]
		if found, ok := p.OpenSession(one.Agent); !ok || found != one || want == nil {
			return fmt.Errorf("work session %v is not open", one.ID)
		}
		if one.StartedAt != want.started || one.LastActiveAt != want.last ||
			!endOf(one.Changesets, want.changesets) || !endOf(one.Tasks, want.tasks) {
			return fmt.Errorf("work session %+v, want %+v", one, want)
		}
	}
	if open != len(m.sessions) || ended != min(m.ended, work.WorkSessionsMax) {
		return fmt.Errorf("%d work sessions are open, %d ended; want %d, %d", open, ended,
			len(m.sessions), m.ended)
	}
	return nil
}

// endOf reports whether a list holds the end of all there were, and enough of them.
func endOf[T comparable](got, all []T) bool {
	return len(got) >= min(len(all), work.WorkSessionItemsMax) && len(got) <= len(all) &&
		slices.Equal(got, all[len(all)-len(got):])
}
