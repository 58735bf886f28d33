package actors

import (
	"bytes"
	"errors"

	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// readOwners reads of all things whose they are: what was saved, and what the log behind has made.
// A section that does not check is known already.
func (r *rebuilder) readOwners() {
	sound := true
	for key, position := range r.engine.sectionKeys("d") {
		data, _, _, err := r.engine.snapshot.Read(key)
		if err == nil {
			r.checkSection("owners", position)
			err = ownersOf(data, r.ownOne)
		}
		if err != nil {
			sound = false
			if !errors.Is(err, snapshot.ErrCorrupt) {
				r.damage.addf("owners %d: %w", beUint64(key[1:]), err)
			}
		}
	}
	for project, entries := range r.tail {
		for at := range entries {
			// What does not decode is named when its project's turn comes.
			made, _ := madeIn(entries[at].entry.events)
			for _, thing := range made {
				r.ownOne(thing, project)
			}
		}
	}
	r.report.Owned = r.owners.Len()
	if !sound {
		r.owners = nil
	}
}

func (r *rebuilder) ownOne(thing, project id.ID) {
	// Tasks and work sessions do not tell which of both they are.
	name := thing.Format(id.Task)
	if other, known := r.owners.Get(thing); known && other != project {
		r.damage.addf("%s: it belongs to %s and to %s", name, project.Format(id.Project),
			other.Format(id.Project))
	}
	r.owners.Set(thing, project)
	_, saved := r.engine.snapshot.SectionPosition(headKey(project))
	if _, made := r.tail[project]; !saved && !made {
		r.damage.addf("%s: it belongs to %s, which does not exist", name,
			project.Format(id.Project))
	}
}

// checkTasks looks up all that a project has made which is reached by its own ID.
func (r *rebuilder) checkTasks(name string, p *work.Project) {
	check := func(prefix id.Prefix, thing id.ID) {
		if r.owners == nil {
			return
		}
		if owner, ok := r.owners.Get(thing); !ok || owner != p.ID {
			r.damage.addf("%s: %s is not found by its ID", name, thing.Format(prefix))
		}
	}
	p.Tasks(id.ID{}, asStored, func(task *work.Task) bool {
		r.report.Tasks++
		if !task.Status.Final() {
			r.report.Unfinished++
		}
		check(id.Task, task.ID)
		return true
	})
	for _, session := range p.WorkSessions() {
		check(id.WorkSession, session.ID)
	}
}

// checkSavedTasks compares a saved project with what was saved of it for the index of tasks.
func (r *rebuilder) checkSavedTasks(name string, p *work.Project) {
	var want []byte
	if all := tasksOf(p); len(all.Entries) > 0 {
		want = encodeTasks(all)
	}
	saved, _, _, err := r.engine.snapshot.Read(tasksKey(p.ID))
	if err == nil && !bytes.Equal(saved, want) {
		r.damage.addf("%s: its open tasks are not as they are saved for finding them", name)
	}
}
