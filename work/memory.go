package work

// The sizes of parts of a project in memory, in bytes, with their places in trees and lists.
// TestMemoryBytes compares them with the heap.
const (
	projectMemory = 6 << 10
	// changesetMemory and operationMemory are what they take beside the record of the changeset.
	changesetMemory = 10
	operationMemory = 24
	pathMemory      = 190
	// treeFileMemory is the part of a file of a fork's tree that counts for each fork: forks of equal
	// trees share them.
	treeFileMemory = 40
	taskMemory     = 560
	handoffMemory  = 600
	sessionMemory  = 900
	// resultMemory has the index of the keys, which an actor keeps.
	resultMemory    = 100
	recordMemory    = 330
	overlaidMemory  = 180
	watcherMemory   = 70
	agentMemory     = 260
	originMemory    = 110
	workspaceMemory = 280
	stateMemory     = 360
)

// MemoryBytes estimates how much memory the project takes. It costs no walk over the project.
func (p *Project) MemoryBytes() int64 {
	records := p.verifications.len() + p.relations.len() + p.artifacts.len() + p.imports.len() +
		p.contributions.len() + p.revisions.len() + p.discussions.len() + p.comments.len()
	size := projectMemory + p.historyBytes + int64(p.texts-p.awayBytes) + p.ResultMemoryBytes() +
		int64(p.tasks().len())*taskMemory +
		int64(len(p.handoffs))*handoffMemory +
		int64(p.sessions.len()+len(p.saved.Ended))*sessionMemory + int64(p.endedBytes) +
		int64(len(p.Description)) +
		int64(p.states.bytes) + int64(len(p.states.versions))*stateMemory +
		int64(records)*recordMemory + int64(p.past.len()*len(Hash{})) +
		int64(p.workspaces.len())*workspaceMemory +
		int64(p.revisionFiles+p.overlayFiles)*overlaidMemory +
		int64(p.watchers.all.len())*watcherMemory +
		int64(p.usages.len()+p.authors.len()+p.stored.len())*agentMemory
	if p.saved.State != nil {
		size += int64(p.saved.State.Statement.bytes())
	}
	if b := p.bundled; b != nil {
		origins := len(b.Changesets) + len(b.Handoffs) + len(b.Tasks) + len(b.Verifications) +
			len(b.Artifacts) + len(b.Discussions) + len(b.Comments) + len(b.Contributions) +
			len(b.Relations) + len(b.Credits) + len(b.Authors) + len(b.Origins)
		size += int64(origins) * originMemory
	}
	return size
}

// ResultMemoryBytes is the part of MemoryBytes that the stored results of Idempotency-Keys take.
func (p *Project) ResultMemoryBytes() int64 {
	return int64(p.resultBytes) + int64(p.results.len())*resultMemory
}

// countHistory adds what a changeset takes, AFTER its operations are applied. paths is how many
// paths the project knew BEFORE.
func (p *Project) countHistory(c *Changeset, paths int) {
	_, size := p.history.record(c.Sequence)
	p.historyBytes += changesetMemory + int64(size)
	if c.Sequence == 1 && p.saved.Fork != nil {
		p.historyBytes += int64(len(c.Ops)) * treeFileMemory
		return
	}
	p.historyBytes += int64(len(c.Ops)) * operationMemory
	if more := p.live.Len() + p.gone.Len() - paths; more > 0 {
		p.historyBytes += int64(more) * pathMemory
		for i := range c.Ops {
			p.historyBytes += int64(len(*c.Ops[i].Path))
		}
	}
}
