package actors

import (
	"fmt"
	"slices"

	"pws/index"
	"pws/internal/id"
	"pws/work"
)

// Watched implements api.Engine.
func (e *Engine) Watched(agent id.ID) []index.Watched { return e.watches.Of(agent) }

// Watching implements api.Engine.
func (e *Engine) Watching(agent, project id.ID) bool { return e.watches.Watching(agent, project) }

// followWatches tells the index who watches a project, or does so no more. An event that is told
// again changes nothing.
func (e *Engine) followWatches(p *work.Project, event work.Event) {
	if watched, ok := event.(*work.ProjectWatched); ok {
		since, _ := p.Watch(watched.Agent)
		e.watch(p.ID, since, event)
		return
	}
	e.watch(p.ID, 0, event)
}

func (e *Engine) watch(project id.ID, since int64, event work.Event) {
	switch event := event.(type) {
	case *work.ProjectWatched:
		e.watches.Set(event.Agent, index.Watched{Project: project, Since: since})
	case *work.ProjectUnwatched:
		e.watches.Drop(event.Agent, project)
	}
}

// watchesPrefix is that of the sections with those who watch a project. They are chunks of the
// project, so that nothing is saved twice.
var watchesPrefix = string(rune(work.WatcherChunk))

func watchesKey(project id.ID) string {
	return chunkKey(project, work.Chunk{Kind: work.WatcherChunk})
}

// restoreWatches reads what snapshots have saved, BEFORE the log behind is read.
func (e *Engine) restoreWatches() error {
	for key := range e.sectionKeys(watchesPrefix) {
		data, _, _, err := e.snapshot.Read(key)
		if err != nil {
			return err
		}
		project := id.ID([]byte(key[1:]))
		list, err := work.DecodeWatchers(data)
		if err != nil {
			return fmt.Errorf("watchers of project %s: %w", project.Format(id.Project), err)
		}
		for _, one := range list {
			e.watches.Set(one.Agent, index.Watched{Project: project, Since: one.Since})
		}
	}
	return nil
}

// keepWatches takes in what an entry behind the snapshot says of those who watch.
func (e *Engine) keepWatches(in *replayed) error {
	for _, stored := range in.entry.events {
		if factsOf(stored.kind)&changesWatches == 0 {
			continue
		}
		event, err := work.DecodeEvent(work.Kind(stored.kind), stored.data)
		if err != nil {
			return err
		}
		e.watch(in.entry.id, in.entry.now, event)
	}
	return nil
}

// checkSavedWatches compares a saved project with what a start reads of those who watch it.
func (r *rebuilder) checkSavedWatches(name string, p *work.Project) {
	var want []work.Watcher
	p.Watchers(func(one work.Watcher) bool { want = append(want, one); return true })
	var found []work.Watcher
	saved, _, there, err := r.engine.snapshot.Read(watchesKey(p.ID))
	if err == nil && there {
		found, err = work.DecodeWatchers(saved)
	}
	if err != nil || !slices.Equal(found, want) {
		r.damage.addf("%s: who watches it is not as it is saved for finding it", name)
	}
}

// checkTalk looks up the agents that discussions, comments and watches name.
func (r *rebuilder) checkTalk(name string, p *work.Project, missing map[id.ID]bool) {
	mentioned := func(agents []id.ID) {
		for _, agent := range agents {
			r.checkAgent(name, "mentioned", agent, missing)
		}
	}
	p.Discussions(id.ID{}, func(d *work.Discussion) bool {
		r.checkAgent(name, "author of a discussion", d.Author, missing)
		mentioned(d.Mentions)
		p.Comments(d.ID, id.ID{}, func(c *work.Comment) bool {
			r.checkAgent(name, "author of a comment", c.Author, missing)
			mentioned(c.Mentions)
			return true
		})
		return true
	})
	p.Watchers(func(one work.Watcher) bool {
		r.checkAgent(name, "watcher", one.Agent, missing)
		return true
	})
}
