package actors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"pws/api"
	"pws/index"
	"pws/internal/disk"
	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// asStored reads tasks as they are stored, for the index knows of expiry itself.
const asStored = math.MinInt64

// PublicTasks implements api.Engine.
func (e *Engine) PublicTasks(
	status work.TaskStatus, after api.TaskPosition, limit int,
) []api.TaskPlace {
	places := e.tasks.Public(status, e.Now(), index.TaskPosition(after), limit)
	found := make([]api.TaskPlace, len(places))
	for at, place := range places {
		found[at] = api.TaskPlace{
			TaskPosition: api.TaskPosition(place.TaskPosition), Project: place.Project,
		}
	}
	return found
}

// OwnWork implements api.Engine.
func (e *Engine) OwnWork(agent id.ID) []id.ID { return e.tasks.Own(agent, e.Now()) }

// followTasks tells the index what events have changed. It reports whether that may be anything
// that the index keeps of a project.
func (e *Engine) followTasks(before, next *work.Project, events []work.Event) (changed bool) {
	audience := before != nil && before.Version != next.Version
	changed = audience
	for _, event := range events {
		if _, ok := event.(*work.ProjectImported); ok {
			e.tasks.Replace(next.ID, tasksOf(next))
			changed = true
			continue
		}
		task, ok := work.TaskOf(event)
		if !ok {
			continue
		}
		changed = true
		stored, _ := next.Task(task, asStored)
		if stored.Status.Final() {
			e.tasks.Drop(next.ID, task)
			continue
		}
		audience = e.tasks.Put(next.ID, taskEntry(stored)) || audience
	}
	if audience && e.tasks.Has(next.ID) {
		e.tasks.SetAudience(next.ID, next.Visibility == work.Public, membersOf(next))
		e.tasks.SetSubjects(next.ID, next.Status == work.Active, aboutOf(next))
	}
	return changed
}

// kindFacts says of a kind of events what the indexes have to do with it.
type kindFacts uint8

const (
	// changesTasks that are unfinished, or were.
	changesTasks kindFacts = 1 << iota
	// changesAudience: who may find a project.
	changesAudience
	// makesLinks from things to the project.
	makesLinks
	// changesWatches: who watches a project.
	changesWatches
	// changesOffers: what agents have shown in a project, what waits for them, what it is about.
	changesOffers
)

// kindTable is by kind, for a start looks at every event behind the snapshot.
var kindTable = func() (table [64]kindFacts) {
	for _, kind := range []work.Kind{
		work.KindTaskCreated, work.KindTaskUpdated, work.KindTaskClaimed, work.KindClaimRenewed,
		work.KindTaskReleased, work.KindTaskClaimExpired,
	} {
		table[kind] = changesTasks
	}
	table[work.KindProjectWatched] = changesWatches
	table[work.KindProjectUnwatched] = changesWatches
	table[work.KindRelationCreated] = makesLinks
	table[work.KindArtifactImported] = makesLinks
	table[work.KindProjectForked] = makesLinks
	table[work.KindProjectImported] = changesTasks | makesLinks
	for _, event := range []work.Event{
		new(work.ProjectUpdated), new(work.MemberAdded), new(work.MemberChanged),
		new(work.MemberRemoved),
	} {
		table[work.KindOf(event)] = changesAudience | changesOffers
	}
	for _, event := range []work.Event{
		new(work.ProjectCreated), new(work.ProjectForked), new(work.ProjectImported),
		new(work.ChangesetPublished), new(work.TaskUpdated), new(work.VerificationCreated),
		new(work.ContributionSubmitted), new(work.RevisionSubmitted),
		new(work.ContributionReviewed), new(work.ContributionConflicted),
		new(work.ContributionAccepted), new(work.ContributionRejected),
		new(work.ContributionWithdrawn),
	} {
		table[work.KindOf(event)] |= changesOffers
	}
	return table
}()

func factsOf(kind uint16) kindFacts {
	if int(kind) >= len(kindTable) {
		return 0
	}
	return kindTable[kind]
}

func taskEntry(stored *work.Task) index.TaskEntry {
	entry := index.TaskEntry{
		Task: stored.ID, Priority: stored.Spec.Priority, Status: stored.Status,
		Terms: taskTerms(&stored.Spec),
	}
	if stored.Claim != nil {
		entry.Until = stored.Claim.ExpiresAt
		entry.Then = stored.At(entry.Until).Status
	}
	return entry
}

// tasksOf is all that the index keeps of a project.
func tasksOf(p *work.Project) (all index.ProjectTasks) {
	unfinished := 0
	for status := work.TaskOpen; !status.Final(); status++ {
		unfinished += p.TaskCount(status, asStored)
	}
	if unfinished == 0 {
		return all
	}
	all.Public, all.Members = p.Visibility == work.Public, membersOf(p)
	all.Active, all.Subjects = p.Status == work.Active, aboutOf(p)
	all.Entries = make([]index.TaskEntry, 0, unfinished)
	p.Tasks(id.ID{}, asStored, func(stored *work.Task) bool {
		if !stored.Status.Final() {
			all.Entries = append(all.Entries, taskEntry(stored))
		}
		return true
	})
	return all
}

// membersOf are the members where it matters who they are.
func membersOf(p *work.Project) []id.ID {
	if p.Visibility == work.Public {
		return nil
	}
	members := p.Members()
	agents := make([]id.ID, len(members))
	for at := range members {
		agents[at] = members[at].Agent
	}
	return agents
}

// saveTasks writes what the index keeps of a project where it has changed since it was saved.
func (e *Engine) saveTasks(writer *snapshot.Writer, view *published) error {
	key := tasksKey(view.project.ID)
	saved, there := e.snapshot.SectionPosition(key)
	if there && view.tasksAt <= saved {
		return nil
	}
	all := tasksOf(view.project)
	switch {
	case len(all.Entries) > 0:
		return writer.Put(key, view.position, encodeTasks(all))
	case there:
		return writer.Delete(key)
	}
	return nil
}

// restoreTasks reads what snapshots have saved of the projects that reload does not name.
func (e *Engine) restoreTasks(reload map[*handle]struct{}) error {
	var keys []string
	for key := range e.sectionKeys("q") {
		h, ok := e.handles.Load(id.ID([]byte(key[1:])))
		if _, later := reload[h]; ok && !later {
			keys = append(keys, key)
		}
	}
	return inParallel(len(keys), func(at int) error {
		data, _, _, err := e.snapshot.Read(keys[at])
		if err != nil {
			return err
		}
		project := id.ID([]byte(keys[at][1:]))
		all, err := decodeTasks(data)
		if err == errOldTasks {
			h, _ := e.handles.Load(project)
			e.markDirty(h)
			return e.relist(h)
		}
		if err != nil {
			return fmt.Errorf("tasks of project %s: %w", project.Format(id.Project), err)
		}
		e.tasks.Replace(project, all)
		return nil
	})
}

// tasksVersion is the first byte of what the index keeps of a project, as it is saved:
//
//	version  1 byte
//	public   1 byte: 1 where everybody may find the project
//	members  uvarint count, then 16 bytes each; none where it is public
//	active   1 byte: 1 where its tasks can be taken
//	subjects terms: uvarint length, then as index.Terms writes them
//	tasks    uvarint count, then each: 16 bytes ID, 1 byte priority, 1 byte status, and of its
//	         claim: uvarint Unix milliseconds of its end, 0 without one, 1 byte status from then on;
//	         then its terms
//
// Version 1 had neither active nor subjects nor terms; a project that was saved so is loaded.
const tasksVersion = 2

var errOldTasks = errors.New("version 1 does not say what tasks are found by")

// taskBytesMin is the least that a task takes.
const taskBytesMin = len(id.ID{}) + 5

func encodeTasks(all index.ProjectTasks) []byte {
	size := 2 + 2*binary.MaxVarintLen64 + len(id.ID{})*len(all.Members) +
		(taskBytesMin+binary.MaxVarintLen64)*len(all.Entries)
	out := append(make([]byte, 0, size), tasksVersion, 0)
	if all.Public {
		out[1] = 1
	}
	out = binary.AppendUvarint(out, uint64(len(all.Members)))
	for _, member := range all.Members {
		out = append(out, member[:]...)
	}
	active := byte(0)
	if all.Active {
		active = 1
	}
	out = appendText(append(out, active), all.Subjects.String())
	out = binary.AppendUvarint(out, uint64(len(all.Entries)))
	for at := range all.Entries {
		entry := &all.Entries[at]
		out = append(out, entry.Task[:]...)
		out = append(out, byte(entry.Priority), byte(entry.Status))
		out = binary.AppendUvarint(out, uint64(entry.Until))
		out = appendText(append(out, byte(entry.Then)), entry.Terms.String())
	}
	return out
}

func decodeTasks(data []byte) (all index.ProjectTasks, err error) {
	r := disk.NewReader(data)
	switch version := r.Byte(); version {
	case tasksVersion:
	case 1:
		return all, errOldTasks
	default:
		return all, fmt.Errorf("version %d is unknown", version)
	}
	all.Public = r.Byte() != 0
	for range r.Count() {
		all.Members = append(all.Members, id.ID(r.Fixed(16)))
	}
	all.Active = r.Byte() != 0
	all.Subjects = index.JoinedTerms(r.Text())
	count := r.Count()
	all.Entries = make([]index.TaskEntry, 0, count/uint64(taskBytesMin))
	for range count {
		entry := index.TaskEntry{
			Task: id.ID(r.Fixed(16)), Priority: work.Priority(r.Byte()),
			Status: work.TaskStatus(r.Byte()), Until: int64(r.Uvarint()),
			Then: work.TaskStatus(r.Byte()), Terms: index.JoinedTerms(r.Text()),
		}
		if !unfinished(entry.Status) || entry.Until != 0 && !unfinished(entry.Then) {
			return all, errors.New("a task without a status")
		}
		all.Entries = append(all.Entries, entry)
	}
	if r.Failed() || r.Len() > 0 {
		return all, errors.New("it ends too soon or too late")
	}
	return all, nil
}

func unfinished(status work.TaskStatus) bool { return status != 0 && !status.Final() }
