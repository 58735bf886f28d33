package offline

import (
	"pws/internal/id"
	"pws/work"
)

// checkRecords looks up what verification records, handoffs, texts, blocks, relations, artifacts
// and imports name.
func (r *references) checkRecords(
	name string, p *work.Project, missing map[id.ID]bool, dangling map[work.Hash]bool,
) {
	p.AllVerifications(func(one *work.Verification) bool {
		r.checkAgent(name, "author of a verification record", one.Author, missing)
		r.checkDeletion(name, one.Deleted, missing)
		return true
	})
	for _, one := range p.Handoffs() {
		r.checkAgent(name, "author of a handoff", one.Author, missing)
		r.checkDeletion(name, one.Deleted, missing)
	}
	p.LongTexts(func(kind id.Prefix, record id.ID, text work.Away) bool {
		of := func() string { return name + ": " + kind.Noun() + " " + record.Format(kind) }
		r.checkBlob(of, "texts", text.Hash, text.Size, dangling)
		return true
	})
	for _, one := range p.Blocks() {
		r.checkAgent(name, "blocked", one.Agent, missing)
		r.checkAgent(name, "blocker", one.By, missing)
	}
	p.Relations(id.ID{}, func(one *work.Relation) bool {
		r.checkAgent(name, "author of a relation", one.CreatedBy, missing)
		return true
	})
	r.checkArtifacts(name, p, missing)
}

// checkDeletion looks up the agent that deleted a record.
func (r *references) checkDeletion(name string, mark work.Deletion, missing map[id.ID]bool) {
	if mark.Is() {
		r.checkAgent(name, "deleter of a record", mark.By, missing)
	}
}

// checkTalk looks up the agents that discussions, comments and watches name.
func (r *references) checkTalk(name string, p *work.Project, missing map[id.ID]bool) {
	mentioned := func(agents []id.ID) {
		for _, agent := range agents {
			r.checkAgent(name, "mentioned", agent, missing)
		}
	}
	p.Discussions(id.ID{}, func(d *work.Discussion) bool {
		r.checkAgent(name, "author of a discussion", d.Author, missing)
		r.checkDeletion(name, d.Deleted, missing)
		mentioned(d.Mentions)
		p.Comments(d.ID, id.ID{}, func(c *work.Comment) bool {
			r.checkAgent(name, "author of a comment", c.Author, missing)
			r.checkDeletion(name, c.Deleted, missing)
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

// checkArtifacts looks up what the artifacts and the imports of a project name. What an import
// names of its source is of another project, which may have changed hands and policies since.
func (r *references) checkArtifacts(name string, p *work.Project, missing map[id.ID]bool) {
	p.Artifacts(id.ID{}, func(a *work.Artifact) bool {
		of := name + ": artifact " + a.ID.Format(id.Artifact)
		r.checkAgent(name, "author of an artifact", a.CreatedBy, missing)
		at, known := p.Changeset(a.Changeset)
		if !known {
			r.damage.addf("%s: changeset %s does not exist", of, a.Changeset.Format(id.Changeset))
			return true
		}
		for _, path := range p.Absent(a.Paths, at) {
			r.damage.addf("%s: there is nothing at %q", of, path)
		}
		return true
	})
	p.Imports(id.ID{}, func(i *work.Import) bool {
		of := name + ": import " + i.ID.Format(id.Import)
		r.checkAgent(name, "author of an import", i.CreatedBy, missing)
		for _, author := range i.Authors {
			r.checkAgent(name, "author of imported files", author, missing)
		}
		r.checkCredits(name, i.Credits, missing)
		brought, known := p.Changeset(i.Changeset)
		if known && i.Origin != nil && brought.SourceID != i.ID {
			// A bundle brought the record of it, and its changeset is that of the bundle.
			return true
		}
		if !known || brought.Source != work.SourceImport || brought.SourceID != i.ID {
			r.damage.addf("%s: changeset %s did not bring it", of, i.Changeset.Format(id.Changeset))
		} else if brought.OpCount != i.Files {
			r.damage.addf("%s: it brought %d files, and not %d", of, brought.OpCount, i.Files)
		}
		return true
	})
}

// checkCredits looks up the agents to whom something that came from elsewhere is owed.
func (r *references) checkCredits(name string, credits []work.Credit, missing map[id.ID]bool) {
	for i := range credits {
		for _, agent := range credits[i].Agents() {
			r.checkAgent(name, "contributor at the source", agent, missing)
		}
	}
}
