package work

import (
	"fmt"
	"slices"

	"pws/internal/id"
)

// recount holds counts that were computed again from all records of a project.
type recount struct {
	agents map[id.ID]*usage
	texts  int
}

func (r *recount) of(agent id.ID) *usage {
	if r.agents[agent] == nil {
		r.agents[agent] = &usage{agent: agent}
	}
	return r.agents[agent]
}

func (r *recount) text(agent id.ID, bytes int) { r.of(agent).counts[quotaTexts] += bytes }

// today counts a comment or a workspace of an agent if it is of the newest day of that agent.
func (r *recount) today(agent id.ID, at int64) *usage {
	u := r.of(agent)
	*u = u.on(at)
	if at/dayMillis == u.day {
		return u
	}
	return new(usage)
}

// kept reports whether a record counts against the quota of its author.
func kept(mark Deletion, author id.ID) bool { return mark == Deletion{} || mark.By == author }

// Recount compares all counts of a project with those of its records.
func (p *Project) Recount() error {
	r := &recount{agents: map[id.ID]*usage{}}
	away := r.countRecords(p)
	away += r.countTalk(p)
	r.countContributions(p)
	overlaid, open := 0, []id.ID{}
	p.Workspaces(func(w *Workspace) bool {
		r.today(w.Agent, w.CreatedAt).workspaces++
		overlaid += len(w.Files)
		if w.Status != WorkspaceClosed && w.Status != WorkspaceDone {
			open = append(open, w.ID)
		}
		return true
	})
	if p.texts != r.texts || p.awayBytes != away || p.overlayFiles != overlaid {
		return fmt.Errorf("texts %d, away %d, overlays %d; the records have %d, %d, %d", p.texts,
			p.awayBytes, p.overlayFiles, r.texts, away, overlaid)
	}
	if !slices.Equal(p.openWorkspaces, open) {
		return fmt.Errorf("the open workspaces are %v, want %v", p.openWorkspaces, open)
	}
	return r.compare(p)
}

// countRecords counts tasks, handoffs, verification records, artifacts and imports. It returns the
// size of the texts that are stored away.
func (r *recount) countRecords(p *Project) (away int) {
	p.Tasks(id.ID{}, 0, func(t *Task) bool {
		r.of(t.CreatedBy).counts[quotaTasks]++
		if t.awaitsMember() {
			r.of(t.WorkGuest).counts[quotaUnconfirmed]++
		}
		r.texts += t.Spec.bytes() + t.workBytes()
		r.text(t.SpecGuest, t.Spec.bytes())
		r.text(t.WorkGuest, t.workBytes())
		away += t.Texts().Bytes()
		return true
	})
	for _, h := range p.Handoffs() {
		if kept(h.Deleted, h.Author) {
			r.of(h.Author).counts[quotaHandoffs]++
		}
		r.text(h.Author, h.Bytes())
		r.texts += h.Bytes() + len(h.Deleted.Reason)
		if h.Away != nil {
			away += h.Away.Bytes - h.Away.Kept
		}
	}
	p.AllVerifications(func(v *Verification) bool {
		if kept(v.Deleted, v.Author) {
			r.of(v.Author).counts[quotaVerifications]++
		}
		r.text(v.Author, v.Bytes())
		r.texts += v.Bytes() + len(v.Deleted.Reason)
		return true
	})
	p.Artifacts(id.ID{}, func(a *Artifact) bool { r.texts += a.bytes(); return true })
	p.Imports(id.ID{}, func(i *Import) bool { r.texts += i.bytes(); return true })
	return away
}

// countTalk counts discussions and comments. It returns the size of the texts that are stored away.
func (r *recount) countTalk(p *Project) (away int) {
	p.Discussions(id.ID{}, func(d *Discussion) bool {
		if !d.Deleted.Is() {
			r.of(d.Author).counts[quotaDiscussions]++
		}
		away += d.Away.bytes()
		r.text(d.Author, d.Bytes())
		r.texts += d.Bytes() + len(d.Deleted.Reason)
		return true
	})
	p.AllComments(func(c *Comment) bool {
		if !c.Deleted.Is() {
			r.of(c.Author).counts[quotaComments]++
		}
		r.today(c.Author, c.CreatedAt).comments++
		away += c.Away.bytes()
		r.text(c.Author, c.Bytes())
		r.texts += c.Bytes() + len(c.Deleted.Reason)
		return true
	})
	return away
}

func (r *recount) countContributions(p *Project) {
	p.Contributions(id.ID{}, func(c *Contribution) bool {
		author := r.of(c.Author)
		if kept(c.Deleted, c.Author) {
			author.counts[quotaContributions]++
			if c.Status != AcceptedStatus {
				author.counts[quotaUndecided]++
			}
		}
		r.texts += len(c.Note) + len(c.Deleted.Reason)
		for _, review := range c.Reviews {
			r.text(review.Author, review.bytes())
			r.texts += review.bytes() + len(review.Deleted.Reason)
		}
		for _, revision := range p.RevisionsOf(c) {
			author.counts[quotaFiles] += len(revision.Files)
			author.counts[quotaTexts] += len(revision.Summary)
			r.texts += len(revision.Summary)
		}
		return true
	})
}

// compare compares the counts of each agent and their sums.
func (r *recount) compare(p *Project) error {
	delete(r.agents, id.ID{})
	var sums [quotaKinds]int
	for agent, want := range r.agents {
		if got := p.usageOf(agent); got != *want {
			return fmt.Errorf("the usage is %+v; the records have %+v", got, *want)
		}
		for kind, count := range want.counts {
			sums[kind] += count
		}
	}
	if p.used != sums {
		return fmt.Errorf("%v are used in all; the records have %v", p.used, sums)
	}
	return nil
}
