package index

import (
	"encoding/binary"
	"errors"

	"pws/internal/disk"
	"pws/internal/id"
	"pws/work"
)

// Kinds implements Projection.
func (t *Tasks) Kinds() []work.Kind {
	return kindsOf(
		new(work.TaskCreated), new(work.TaskUpdated), new(work.TaskClaimed),
		new(work.ClaimRenewed), new(work.TaskReleased), new(work.TaskClaimExpired),
		new(work.ProjectImported), new(work.ProjectUpdated), new(work.MemberAdded),
		new(work.MemberChanged), new(work.MemberRemoved),
		new(work.ProjectDeleted), new(work.ProjectRestored), new(work.TaskTextsForgotten),
	)
}

// Update implements Projection.
func (t *Tasks) Update(before, next *work.Project, events []work.Event) {
	if before == nil {
		t.Replace(next.ID, TasksOf(next))
		return
	}
	audience := before.Version != next.Version
	// BEFORE the tasks change: a reader that has seen the state before can park it no more.
	t.Reach(next.ID, next.Revision)
	for _, event := range events {
		task, ok := work.TaskOf(event)
		if !ok {
			continue
		}
		stored, _ := next.Task(task, work.AsStored)
		if stored.Status.Final() {
			t.Drop(next.ID, task)
			continue
		}
		audience = t.Put(next.ID, taskEntry(stored)) || audience
	}
	if audience && t.Has(next.ID) {
		t.Reach(next.ID, next.Revision)
		t.SetAudience(next.ID, next.Visibility == work.Public, membersOf(next))
		t.SetSubjects(next.ID, next.Status == work.Active, SubjectsOf(next))
	}
}

func taskEntry(stored *work.Task) TaskEntry {
	entry := TaskEntry{
		Task: stored.ID, Priority: stored.Spec.Priority, Status: stored.Status,
		Terms: taskTerms(&stored.Spec),
	}
	if stored.Claim != nil {
		entry.Until = stored.Claim.ExpiresAt
		entry.Then = stored.At(entry.Until).Status
	}
	return entry
}

// taskTerms returns the terms by which a task is found.
func taskTerms(spec *work.TaskSpec) Terms {
	words := append([]string{spec.Type}, spec.Skills...)
	for _, file := range spec.RelatedFiles {
		words = append(words, work.LanguageOf(file))
	}
	return MakeTerms(words...)
}

// TasksOf returns everything to store for a project.
func TasksOf(p *work.Project) (all ProjectTasks) {
	if all.Entries = unfinishedTasks(p); len(all.Entries) > 0 {
		all.Public, all.Members = p.Visibility == work.Public, membersOf(p)
		all.Active, all.Subjects = p.Status == work.Active, SubjectsOf(p)
	}
	return all
}

func unfinishedTasks(p *work.Project) []TaskEntry {
	count := 0
	for status := work.TaskOpen; !status.Final(); status++ {
		count += p.TaskCount(status, work.AsStored)
	}
	if count == 0 {
		return nil
	}
	entries := make([]TaskEntry, 0, count)
	p.Tasks(id.ID{}, work.AsStored, func(stored *work.Task) bool {
		if !stored.Status.Final() {
			entries = append(entries, taskEntry(stored))
		}
		return true
	})
	return entries
}

// taskBytesMin is the minimum encoded size of a task.
const taskBytesMin = len(id.ID{}) + 5

// Append implements Projection:
//
//	tasks  uvarint count, then each: 16 bytes ID, 1 byte priority, 1 byte status, and of its claim:
//	       uvarint Unix milliseconds of its end, 0 without one, 1 byte status from then on; then its
//	       terms: uvarint length, then the bytes of Terms.String
func (t *Tasks) Append(out []byte, p *work.Project) []byte {
	entries := unfinishedTasks(p)
	if len(entries) == 0 {
		return out
	}
	out = binary.AppendUvarint(out, uint64(len(entries)))
	for i := range entries {
		entry := &entries[i]
		out = append(out, entry.Task[:]...)
		out = append(out, byte(entry.Priority), byte(entry.Status))
		out = binary.AppendUvarint(out, uint64(entry.Until))
		out = appendText(append(out, byte(entry.Then)), entry.Terms.String())
	}
	return out
}

// Restore implements Projection. The part of Subjects has the subjects of the project.
func (t *Tasks) Restore(c *Card, part *disk.Reader) error {
	count := part.Count()
	all := ProjectTasks{Active: c.Active}
	all.Public, all.Members = c.Visibility == work.Public, c.Members
	all.Entries = make([]TaskEntry, 0, count/uint64(taskBytesMin))
	for range count {
		entry := TaskEntry{
			Task: id.ID(part.Fixed(16)), Priority: work.Priority(part.Byte()),
			Status: work.TaskStatus(part.Byte()), Until: int64(part.Uvarint()),
			Then: work.TaskStatus(part.Byte()), Terms: JoinedTerms(part.Text()),
		}
		if !unfinished(entry.Status) || entry.Until != 0 && !unfinished(entry.Then) {
			return errors.New("a task with an invalid status")
		}
		all.Entries = append(all.Entries, entry)
	}
	t.Replace(c.Project, all)
	return nil
}

func unfinished(status work.TaskStatus) bool { return status != 0 && !status.Final() }
