package work

import (
	"fmt"
	"slices"

	"pws/internal/id"
)

func (b *bundleImport) importState() {
	if b.State == nil {
		return
	}
	b.importStates()
	state := b.importVersion(b.State, "state")
	b.event.State = state
	b.event.Imported.States = append(b.event.Imported.States, VersionOrigin{
		Version: state.Version, Origin: b.Imported.State,
	})
}

// importStates imports the earlier versions of the state.
func (b *bundleImport) importStates() {
	last := uint64(0)
	for nth := range b.States {
		from, field := &b.States[nth], indexed("state_history", nth)
		if from.Record.Version <= last || from.Record.Version >= b.State.Version {
			b.fault(field+".version", "is not in the order of the versions")
		}
		last = from.Record.Version
		b.event.States = append(b.event.States, b.importVersion(&from.Record, field))
		b.event.Imported.States = append(b.event.Imported.States, VersionOrigin{
			Version: last, Origin: from.Origin,
		})
	}
}

// importVersion returns a version of the state for the new project. What it changed is computed
// from the version before, if that is known.
func (b *bundleImport) importVersion(from *State, field string) *State {
	made := *from
	made.Changeset = b.named(id.Changeset, made.Changeset, field+".changeset_id")
	made.UpdatedBy, made.UpdatedAt = b.stamp.Agent, b.stamp.Now
	before, known := &Statement{}, made.Version == 2
	if count := len(b.event.States); count > 0 {
		earlier := b.event.States[count-1]
		before, known = &earlier.Statement, earlier.Version+1 == made.Version
	}
	made.Changed = 0
	if known {
		made.Changed = made.Statement.differences(before)
	}
	return &made
}

func (b *bundleImport) importTasks() {
	b.event.Tasks, b.event.Imported.Tasks = importRecords(
		b, id.Task, "tasks", TasksMax, b.Tasks, b.importTask)
	b.requireOrder()
}

func (b *bundleImport) importTask(made *Task, fresh id.ID, field string) bool {
	made.ID, made.CreatedBy = fresh, b.stamp.Agent
	made.CreatedAt, made.UpdatedAt = b.stamp.Now, b.stamp.Now
	made.Spec.Dependencies = b.namedTasks(made.Spec.Dependencies, field+".dependencies")
	if parent := &made.Spec.Parent; !parent.IsZero() {
		*parent = b.named(id.Task, *parent, field+".parent_task_id")
	}
	if made.Result != nil {
		result := *made.Result
		if !result.Contribution.IsZero() {
			result.Contribution = b.named(
				id.Contribution, result.Contribution, field+".result.contribution_id")
		}
		if !result.Changeset.IsZero() {
			result.Changeset = b.named(
				id.Changeset, result.Changeset, field+".result.changeset_id")
		}
		made.Result = &result
	}
	b.texts += made.Bytes()
	b.away.spec(&made.Spec)
	made.Blocked, made.Result = b.away.blocked(made.Blocked), b.away.result(made.Result)
	return true
}

func (b *bundleImport) namedTasks(list []id.ID, field string) []id.ID {
	if len(list) == 0 {
		return nil
	}
	made := make([]id.ID, len(list))
	for i, old := range list {
		made[i] = b.named(id.Task, old, indexed(field, i))
	}
	return made
}

// requireOrder finds tasks that wait for themselves, and tasks that are a part of themselves.
func (b *bundleImport) requireOrder() {
	places := make(map[id.ID]int, len(b.Tasks))
	for nth := range b.Tasks {
		places[b.Tasks[nth].Record.ID] = nth
	}
	spec := func(nth int) *TaskSpec { return &b.Tasks[nth].Record.Spec }
	follow := func(field, problem string, next func(nth int) []id.ID) {
		g := walker{places: places, next: next, state: make([]visit, len(b.Tasks))}
		for nth := range b.Tasks {
			g.walk(nth, func(task int) {
				b.fault(indexed("tasks", task)+"."+field, problem)
			})
		}
	}
	follow("dependencies", "would make the task wait for itself",
		func(nth int) []id.ID { return spec(nth).Dependencies })
	follow("parent_task_id", "would make the task a part of itself", func(nth int) []id.ID {
		if parent := spec(nth).Parent; !parent.IsZero() {
			return []id.ID{parent}
		}
		return nil
	})
}

// walker visits each task of a graph once. It reports links without which no ring would be left.
// linkGraph finds every task of a ring instead, which is right for a request that gives tasks new
// links. A bundle with one bad link would have a fault for each task of its ring.
type walker struct {
	places map[id.ID]int
	next   func(nth int) []id.ID
	state  []visit
}

type visit uint8

const (
	onTheWay visit = iota + 1
	seenWhole
)

// walk follows the links of a task and reports each task with a link back to one on the way.
func (w *walker) walk(from int, back func(nth int)) {
	type step struct {
		nth  int
		rest []id.ID
	}
	if w.state[from] != 0 {
		return
	}
	w.state[from] = onTheWay
	way := []step{{from, w.next(from)}}
	for len(way) > 0 {
		here := &way[len(way)-1]
		if len(here.rest) == 0 {
			w.state[here.nth] = seenWhole
			way = way[:len(way)-1]
			continue
		}
		nth, known := w.places[here.rest[0]]
		here.rest = here.rest[1:]
		switch {
		case known && w.state[nth] == onTheWay:
			back(here.nth)
		case known && w.state[nth] == 0:
			w.state[nth] = onTheWay
			way = append(way, step{nth, w.next(nth)})
		}
	}
}

func (b *bundleImport) importHandoffs() {
	var previous id.ID
	b.event.Handoffs, b.event.Imported.Handoffs = importRecords(
		b, id.Handoff, "handoffs", HandoffsMax, b.Handoffs,
		func(made *Handoff, fresh id.ID, field string) bool {
			made.ID, made.Previous, previous = fresh, previous, fresh
			made.Author, made.CreatedAt = b.stamp.Agent, b.stamp.Now
			made.WorkSession = b.stamp.ID(sessionNumber)
			made.Changeset = b.named(id.Changeset, made.Changeset, field+".changeset_id")
			made.Continuation.Tasks = b.namedTasks(made.Continuation.Tasks, field+".task_ids")
			b.texts += made.Bytes()
			var blobs []Blob
			made.Away, blobs = putHandoffAway(&made.Continuation, &made.ChangedFiles)
			b.away.blobs = append(b.away.blobs, blobs...)
			return true
		})
}

// importArtifacts keeps the artifacts. Without the history, an artifact whose files differ from
// those at the head is left out, because its files are missing.
func (b *bundleImport) importArtifacts() {
	b.event.Artifacts, b.event.Imported.Artifacts = importRecords(
		b, id.Artifact, "artifacts", ArtifactsMax, b.Artifacts,
		func(made *Artifact, fresh id.ID, field string) bool {
			from := *made
			made.ID, made.CreatedBy, made.CreatedAt = fresh, b.stamp.Agent, b.stamp.Now
			made.Changeset = b.named(id.Changeset, from.Changeset, field+".changeset_id")
			if !b.filesImported(&from, field) {
				return false
			}
			b.texts += made.bytes()
			return true
		})
}

// filesImported reports whether the new project has the files of an artifact.
func (b *bundleImport) filesImported(from *Artifact, field string) bool {
	at, ok := b.tree.Changeset(from.Changeset)
	if b.broken || !ok {
		return false
	}
	if absent := b.tree.Absent(from.Paths, at); len(absent) > 0 {
		b.fault(field+".paths", "names "+absent[0]+", which does not exist at the changeset")
		return false
	}
	if b.Imported.Whole {
		return true
	}
	atHead := *from
	atHead.Changeset = b.tree.Head().ID
	return slices.EqualFunc(b.filesOf(from), b.filesOf(&atHead), func(x, y FileInfo) bool {
		return x.Path == y.Path && x.Blob == y.Blob && x.ContentType == y.ContentType
	})
}

func (b *bundleImport) filesOf(a *Artifact) (files []FileInfo) {
	b.tree.ArtifactFiles(a, func(info FileInfo) bool {
		files = append(files, info)
		return true
	})
	return files
}

// importVerifications keeps the verification records of entities that were imported.
func (b *bundleImport) importVerifications() {
	b.event.Verifications, b.event.Imported.Verifications = importRecords(
		b, id.Verification, "verification", VerificationsMax, b.Verifications,
		func(made *Verification, fresh id.ID, field string) bool {
			made.ID, made.Author, made.CreatedAt = fresh, b.stamp.Agent, b.stamp.Now
			entity := &made.Finding.Entity
			// An invalid type has no prefix.
			if kind := entity.Type.Prefix(); kind != "" {
				entity.ID = b.subject(kind, entity.ID, field+".entity_id")
			}
			if entity.ID.IsZero() {
				return false
			}
			b.texts += made.Bytes()
			return true
		})
}

func (b *bundleImport) importRelations() {
	if len(b.Relations) > RelationsMax {
		b.fault("relationships", fmt.Sprintf("must have at most %d items", RelationsMax))
		return
	}
	for nth := range b.Relations {
		relation := b.Relations[nth].Record
		relation.ID = b.next()
		relation.CreatedBy, relation.CreatedAt = b.stamp.Agent, b.stamp.Now
		b.event.Relations = append(b.event.Relations, &relation)
		b.event.Imported.Relations = append(b.event.Imported.Relations, b.Relations[nth].Origin)
	}
}

func (b *bundleImport) requireTextQuota() {
	if b.texts > TextBytesMax {
		b.fault("tasks", fmt.Sprintf(
			"and all other records have more than %d bytes of text", TextBytesMax))
	}
}
