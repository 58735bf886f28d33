package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"pws/api/jsonschema"
	"pws/internal/id"
	"pws/work"
)

func exportProject(c *Call, _ *None) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	if err := work.MayExport.Require(view, c.Agent); err != nil {
		return Reply{}, err
	}
	call, full := c.detached(), c.Query["history"] == "full"
	return Reply{Data: Stream(func(w io.Writer) error {
		e := export{
			call: call, view: view, full: full, w: w, digest: sha256.New(),
			sections: map[string]string{}, removed: map[string]string{},
		}
		return e.run()
	})}, nil
}

// export writes a bundle. It holds the view and one record or one content at a time.
type export struct {
	call *Call
	view *work.Project
	full bool
	w    io.Writer
	// err is the first error; nothing is written after it.
	err error
	// text is the current record as it is written, canonical the form that is hashed for the
	// digest of its section.
	text, canonical []byte
	digest          hash.Hash
	sections        map[string]string
	// removed are the contents that were found removed, as in the bundle.
	removed map[string]string
	// count is the number of elements in the open list.
	count int
	// artifactFiles is the number of files of artifacts that were listed.
	artifactFiles int
}

// bundleArtifactFiles is the number of files of artifacts after which a bundle lists none. Each of
// the artifacts of a project may have all its files.
const bundleArtifactFiles = 10_000

// exportUnchecked is after how many records of a list the right of the caller is checked again. It
// is checked before each content, too.
const exportUnchecked = 64

func (e *export) run() error {
	e.write(`{"bundle":{"format":"` + bundleFormat + `","bundle_version":1,"exported_at":`)
	e.send(Time(e.call.Now).append(nil))
	record := e.call.project(e.view)
	// The caller's relation to the project is not part of the project.
	record.Viewer = nil
	e.one("project", record)
	// A manifest contains more for the holder of a claim than for others.
	nobody := *e.call
	nobody.Session, nobody.Agent = nil, id.ID{}
	e.one("manifest", nobody.manifest(e.view))
	e.one("state", e.call.state(e.view))
	e.list("state_history", e.states)
	e.list("files", e.files)
	e.list("history", e.history)
	e.list("handoffs", e.handoffs)
	e.latestHandoff()
	e.list("tasks", e.tasks)
	e.list("relationships", e.relations)
	provenance, err := e.call.provenance(e.view)
	e.fail(err)
	e.one("provenance", provenance)
	e.list("artifacts", func() { addAll(e, e.view.Artifacts, e.artifact) })
	e.list("imports", e.imports)
	e.list("contributions", e.contributions)
	e.list("discussions", func() { addAll(e, e.view.Discussions, e.discussion) })
	e.list("comments", e.comments)
	e.list("verification", e.verifications)
	e.agents()
	if e.full {
		e.blobs()
	}
	if len(e.removed) > 0 {
		e.one("removed_contents", e.removed)
	}
	e.write(`,"integrity":`)
	e.send(appendData(nil, BundleIntegrity{Algorithm: "SHA-256", Sections: e.sections}))
	e.write(`}}`)
	return e.err
}

func (e *export) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

func (e *export) send(text []byte) {
	if e.err == nil {
		_, e.err = e.w.Write(text)
	}
}

func (e *export) write(text string) { e.send(bytesOf(text)) }

// render encodes a record, and adds its canonical form to the digest.
func (e *export) render(record any) {
	e.text = appendData(e.text[:0], record)
	canonical := jsontext.Value(append(e.canonical[:0], e.text...))
	e.fail(canonical.Canonicalize())
	e.canonical = canonical
	_, _ = e.digest.Write(canonical)
}

// endSection ends a section.
func (e *export) endSection(name string) {
	e.sections[name] = hex.EncodeToString(e.digest.Sum(nil))
	e.digest.Reset()
}

// one writes a member that is a single record.
func (e *export) one(name string, record any) {
	e.write(`,"` + name + `":`)
	e.render(record)
	e.send(e.text)
	e.endSection(name)
}

// list writes a member that is a list; fill adds its elements.
func (e *export) list(name string, fill func()) {
	e.write(`,"` + name + `":[`)
	_, _ = e.digest.Write([]byte("["))
	e.count = 0
	fill()
	_, _ = e.digest.Write([]byte("]"))
	e.write("]")
	e.endSection(name)
}

// element writes a record of a list. It reports whether to continue.
func (e *export) element(record any) bool {
	if e.count%exportUnchecked == 0 {
		e.fail(e.call.mayStillExport(e.view.ID))
	}
	if e.count > 0 {
		e.write(",")
		_, _ = e.digest.Write([]byte(","))
	}
	e.count++
	e.render(record)
	return e.err == nil
}

// add is element for a record that is written unchanged.
func (e *export) add(record any) bool {
	e.element(record)
	e.send(e.text)
	return e.err == nil
}

func (e *export) files() {
	e.view.Files("", func(info work.FileInfo) bool {
		content, there := e.read(info.Blob)
		if !e.element(file(info)) {
			return false
		}
		if !there {
			e.send(e.text)
			return e.err == nil
		}
		// The content replaces the closing brace of the record.
		e.send(append(bytes.TrimSuffix(e.text, []byte("}")), `,"content":`...))
		e.content(content)
		e.write("}")
		return e.err == nil
	})
}

// content writes a content as a string.
func (e *export) content(content []byte) {
	if e.err == nil {
		e.err = jsonschema.WriteString(e.w, textOf(content))
	}
}

func (e *export) history() {
	for changeset := range e.view.AllChangesets(true) {
		record := e.call.changeset(e.view, changeset)
		e.fail(e.call.textFault)
		if !e.add(record) {
			return
		}
	}
}

// oldestFirst collects a list that is yielded newest first.
func oldestFirst[T any](list func(before id.ID, yield func(T) bool)) []T {
	var all []T
	list(id.ID{}, func(one T) bool {
		all = append(all, one)
		return true
	})
	slices.Reverse(all)
	return all
}

// handoffs has the one that readers are shown at the end, also if blocked agents wrote newer ones:
// an import makes the last one the latest of the new project, which has no blocks.
func (e *export) handoffs() {
	add := func(handoff *work.Handoff) bool {
		whole, err := e.call.wholeHandoff(e.view, handoff)
		e.fail(err)
		return e.add(whole)
	}
	latest := e.view.CurrentHandoff()
	for _, handoff := range e.view.Handoffs() {
		if handoff.Deleted.Is() || handoff == latest {
			continue
		}
		if !add(handoff) {
			return
		}
	}
	if latest != nil {
		add(latest)
	}
}

func (e *export) latestHandoff() {
	if latest := e.view.CurrentHandoff(); latest != nil {
		whole, err := e.call.wholeHandoff(e.view, latest)
		e.fail(err)
		e.one("latest_handoff", whole)
		return
	}
	e.one("latest_handoff", Raw("null"))
}

func (e *export) tasks() {
	e.view.Tasks(id.ID{}, e.call.Now, func(t *work.Task) bool {
		record, err := e.call.wholeTask(e.view, t.Unclaimed())
		e.fail(err)
		if t.Result != nil && e.contributionDeleted(t.Result.Contribution) {
			record.Result.ContributionID = nil
		}
		return e.add(record)
	})
}

// relations are in the order in which they were recorded. Each target is looked up only when it
// is written, because it may have to be loaded.
func (e *export) relations() {
	for _, one := range oldestFirst(e.view.Relations) {
		target, err := Intact(e.call.Service.Engine.ProjectFor(one.Target, e.call.Agent))
		e.fail(err)
		if target == nil {
			continue
		}
		if !e.add(relation(e.view, one, outgoing)) {
			return
		}
	}
}

// addAll adds the records of a list, the oldest first.
func addAll[T, R any](
	e *export, list func(before id.ID, yield func(T) bool), render func(*work.Project, T) R,
) {
	for _, one := range oldestFirst(list) {
		if !e.add(render(e.view, one)) {
			return
		}
	}
}

// artifact is an artifact, with its files if they are not too many.
func (e *export) artifact(p *work.Project, from *work.Artifact) Artifact {
	record := e.call.artifact(p, from)
	if e.artifactFiles += len(record.Files); e.artifactFiles > bundleArtifactFiles {
		record.Files = []File{}
	}
	return record
}

func (e *export) imports() {
	for _, one := range oldestFirst(e.view.Imports) {
		known, err := Intact(e.call.Service.Engine.Readable(one.Source, e.call.Agent))
		e.fail(err)
		if !e.add(e.call.ownImport(e.view, one, known)) {
			return
		}
	}
}

// agents writes the handles of the agents that records name only by ID.
func (e *export) agents() {
	named := map[id.ID]bool{}
	e.view.StateVersions(0, func(s *work.State) bool {
		named[s.UpdatedBy] = true
		return true
	})
	e.view.Tasks(id.ID{}, e.call.Now, func(t *work.Task) bool {
		named[t.CreatedBy] = true
		return true
	})
	for _, one := range oldestFirst(e.view.Artifacts) {
		named[one.CreatedBy] = true
	}
	for _, one := range oldestFirst(e.view.Relations) {
		named[one.CreatedBy] = true
	}
	for _, one := range oldestFirst(e.view.Imports) {
		named[one.CreatedBy] = true
	}
	for _, one := range oldestFirst(e.view.Contributions) {
		if !one.Deleted.Is() {
			named[one.DecidedBy] = true
		}
	}
	delete(named, id.ID{})
	text := []byte{'{'}
	for i, agent := range slices.SortedFunc(maps.Keys(named), id.ID.Compare) {
		if i > 0 {
			text = append(text, ',')
		}
		ref := e.call.agentRef(agent)
		text = append(jsonschema.AppendString(text, ref.AgentID), ':')
		text = jsonschema.AppendString(text, ref.Handle)
		if i == agentsNamedMax-1 {
			break
		}
	}
	e.one("agents", Raw(append(text, '}')))
}

// blobs writes the contents that the history and the revisions of contributions name but no file
// has, in the order of their hashes.
func (e *export) blobs() {
	live := map[work.Hash]bool{}
	e.view.Files("", func(info work.FileInfo) bool {
		live[info.Blob] = true
		return true
	})
	var past []work.Hash
	for changeset := range e.view.AllChangesets(true) {
		for i := range changeset.Ops {
			op := &changeset.Ops[i]
			if op.Action != work.Delete && !live[op.Blob] {
				past = append(past, op.Blob)
			}
		}
	}
	e.view.Contributions(id.ID{}, func(c *work.Contribution) bool {
		for _, revision := range e.view.RevisionsOf(c) {
			for _, op := range e.view.RevisionOperations(revision) {
				if op.Action != work.Delete && !live[op.Blob] {
					past = append(past, op.Blob)
				}
			}
		}
		return true
	})
	slices.SortFunc(past, func(a, b work.Hash) int { return bytes.Compare(a[:], b[:]) })
	e.write(`,"blobs":{`)
	count := 0
	for _, blob := range slices.Compact(past) {
		content, there := e.read(blob)
		if !there {
			continue
		}
		if count > 0 {
			e.write(",")
		}
		count++
		e.write(`"` + hexHash(blob) + `":`)
		if e.content(content); e.err != nil {
			return
		}
	}
	e.write("}")
}
