package work

import (
	"fmt"
	"slices"

	"pws/internal/id"
)

func (b *bundleImport) changeset(named id.ID, field string) id.ID {
	made, known := b.changesets[named]
	if !known {
		b.fault(field, noChangeset)
	}
	return made
}

func (b *bundleImport) importState() {
	if b.State == nil {
		return
	}
	state := *b.State
	state.Changeset = b.changeset(state.Changeset, "state.changeset_id")
	state.UpdatedBy, state.UpdatedAt = b.stamp.Agent, b.stamp.Now
	b.event.State = &state
}

func (b *bundleImport) importTasks() {
	if len(b.Tasks) > TasksMax {
		b.fault("tasks", fmt.Sprintf("must have at most %d items", TasksMax))
		return
	}
	for nth := range b.Tasks {
		task := &b.Tasks[nth].Record
		if _, known := b.tasks[task.ID]; known {
			b.fault(indexed("tasks", nth)+".id", duplicated)
		}
		b.tasks[task.ID] = b.next()
	}
	for nth := range b.Tasks {
		b.importTask(&b.Tasks[nth].Record, indexed("tasks", nth))
		b.event.Imported.Tasks = append(b.event.Imported.Tasks, b.Tasks[nth].Origin)
	}
	b.requireOrder()
}

func (b *bundleImport) importTask(from *Task, field string) {
	task := *from
	task.ID = b.tasks[from.ID]
	task.Spec.Dependencies = b.mapTasks(from.Spec.Dependencies, field+".dependencies")
	if !from.Spec.Parent.IsZero() {
		parent, known := b.tasks[from.Spec.Parent]
		if task.Spec.Parent = parent; !known {
			b.fault(field+".parent_task_id", noTask)
		}
	}
	if from.Result != nil {
		result := *from.Result
		if !result.Contribution.IsZero() {
			known := false
			if result.Contribution, known = b.contributions[result.Contribution]; !known {
				b.fault(field+".result.contribution_id", noContribution)
			}
		}
		if !result.Changeset.IsZero() {
			result.Changeset = b.changeset(result.Changeset, field+".result.changeset_id")
		}
		task.Result = &result
	}
	task.CreatedBy, task.CreatedAt, task.UpdatedAt = b.stamp.Agent, b.stamp.Now, b.stamp.Now
	b.texts += task.bytes()
	b.event.Tasks = append(b.event.Tasks, &task)
}

func (b *bundleImport) mapTasks(list []id.ID, field string) []id.ID {
	if len(list) == 0 {
		return nil
	}
	made := make([]id.ID, len(list))
	for at, named := range list {
		known := false
		if made[at], known = b.tasks[named]; !known {
			b.fault(indexed(field, at), noTask)
		}
	}
	return made
}

// requireOrder finds tasks that wait for themselves, and those that are a part of themselves.
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

// walker goes through a graph of tasks, each once.
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

// walk follows the links of a task and reports each task with a link back to one on the path.
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
	if len(b.Handoffs) > HandoffsMax {
		b.fault("handoffs", fmt.Sprintf("must have at most %d items", HandoffsMax))
		return
	}
	var previous id.ID
	for nth := range b.Handoffs {
		from, field := &b.Handoffs[nth].Record, indexed("handoffs", nth)
		if _, known := b.handoffs[from.ID]; known {
			b.fault(field+".id", duplicated)
		}
		handoff := *from
		handoff.ID, handoff.Previous = b.next(), previous
		b.handoffs[from.ID] = handoff.ID
		handoff.Author, handoff.CreatedAt = b.stamp.Agent, b.stamp.Now
		handoff.WorkSession = b.stamp.ID(sessionNumber)
		handoff.Changeset = b.changeset(from.Changeset, field+".changeset_id")
		handoff.Continuation.Tasks = b.mapTasks(from.Continuation.Tasks, field+".task_ids")
		previous = handoff.ID
		b.texts += handoff.Bytes()
		b.event.Handoffs = append(b.event.Handoffs, &handoff)
		b.event.Imported.Handoffs = append(b.event.Imported.Handoffs, b.Handoffs[nth].Origin)
	}
}

// importArtifacts keeps the artifacts. Without the history, an artifact whose files differ from
// those at the head is skipped, because its files are missing.
func (b *bundleImport) importArtifacts() {
	if len(b.Artifacts) > ArtifactsMax {
		b.fault("artifacts", fmt.Sprintf("must have at most %d items", ArtifactsMax))
		return
	}
	for nth := range b.Artifacts {
		from, field := &b.Artifacts[nth].Record, indexed("artifacts", nth)
		if _, known := b.artifacts[from.ID]; known {
			b.fault(field+".id", duplicated)
		}
		artifact := *from
		artifact.ID, artifact.CreatedBy, artifact.CreatedAt = id.ID{}, b.stamp.Agent, b.stamp.Now
		artifact.Changeset = b.changeset(from.Changeset, field+".changeset_id")
		if b.filesImported(from, field) {
			artifact.ID = b.next()
			b.texts += artifact.bytes()
			b.event.Artifacts = append(b.event.Artifacts, &artifact)
			b.event.Imported.Artifacts = append(b.event.Imported.Artifacts,
				b.Artifacts[nth].Origin)
		}
		b.artifacts[from.ID] = artifact.ID
	}
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

func (b *bundleImport) importVerifications() {
	if len(b.Verifications) > VerificationsMax {
		b.fault("verification", fmt.Sprintf("must have at most %d items", VerificationsMax))
		return
	}
	known := map[id.ID]bool{}
	for nth := range b.Verifications {
		from, field := &b.Verifications[nth].Record, indexed("verification", nth)
		if known[from.ID] {
			b.fault(field+".id", duplicated)
		}
		known[from.ID] = true
		record := *from
		record.ID, record.Author, record.CreatedAt = b.next(), b.stamp.Agent, b.stamp.Now
		if !b.mapEntity(&record.Finding.Entity) {
			b.fault(field+".entity_id", "names no entity of the bundle")
		}
		if record.Finding.Entity.ID.IsZero() {
			// What it is about was left out.
			continue
		}
		b.texts += record.Bytes()
		b.event.Verifications = append(b.event.Verifications, &record)
		b.event.Imported.Verifications = append(b.event.Imported.Verifications,
			b.Verifications[nth].Origin)
	}
}

// mapEntity replaces the ID of an entity in the bundle with its new ID.
func (b *bundleImport) mapEntity(entity *Entity) (known bool) {
	switch entity.Type {
	case EntityProject:
		known = entity.ID == b.Source
		entity.ID = b.ID
	case EntityChangeset:
		entity.ID, known = b.sameChangeset(entity.ID)
	case EntityArtifact:
		entity.ID, known = b.artifacts[entity.ID]
	case EntityContribution:
		entity.ID, known = b.contributions[entity.ID]
	default:
		// Its type was refused.
		return true
	}
	return known
}

// sameChangeset returns the changeset of the new project that equals one of the bundle, zero if it
// was not imported.
func (b *bundleImport) sameChangeset(named id.ID) (made id.ID, known bool) {
	made, known = b.changesets[named]
	if !b.Imported.Whole && known && named != b.History[len(b.History)-1].ID {
		return id.ID{}, true
	}
	return made, known
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
