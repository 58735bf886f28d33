package actors

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"pws/api"
	"pws/blobs"
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// PurgeContent purges a content from all projects: it is neither read nor stored any more. It
// returns AFTER the content has left packs, log and search index. After a crash the next start goes
// on, and after an error dropEnded. Errors: VALIDATION_FAILED, QUOTA_EXCEEDED; those of
// requireSound: any project may name it.
func (e *Engine) PurgeContent(hash work.Hash, reason string) error {
	e.erasing.running.Lock()
	defer e.erasing.running.Unlock()
	content, err := e.blobs.Get(blobs.Hash(hash))
	removed, isMark := work.RemovedContent(content)
	switch {
	case isMark:
		return fault.Invalid(fault.Field{
			Field: "hash", Problem: fmt.Sprintf("stands for the content %x, which was removed", removed),
		})
	case errors.Is(err, blobs.ErrNotFound) && !e.Identity().Purged(hash):
		return fault.Invalid(fault.Field{Field: "hash", Problem: "no content has this hash"})
	case work.IsManifest(content):
		return fault.Invalid(fault.Field{
			Field: "hash", Problem: "is that of a list of files, which projects need",
		})
	}
	if err := e.requireSound(e.projects()...); err != nil {
		return err
	}
	command := &identity.PurgeContent{Hash: hash, Reason: reason}
	if _, err := e.OperatorDo(command); err != nil {
		return err
	}
	return e.erasing.erase()
}

// eraser takes purged contents, and the data of removed projects, off the disk. It runs one erasure
// at a time.
type eraser struct {
	engine *Engine
	// running is held by the one erasure at a time, and by those who store what it must not meet.
	running sync.Mutex
	// hook is called between any two steps, with the name of the one that is over. Tests copy the
	// data directory there, or have the erasure fail. It is set while running is held.
	hook stepHook
	// followed has a value when followErasures has to look.
	followed wakeup
	// noted guards the file that says what is due, and counts how often it was written.
	noted struct {
		sync.Mutex
		count int
	}
}

func newEraser(e *Engine) *eraser {
	return &eraser{engine: e, followed: newWakeup()}
}

// step is called between any two steps: SHUTTING_DOWN.
func (r *eraser) step(name string) error {
	if err := r.hook.after(name); err != nil {
		return err
	}
	return r.goOn()
}

// goOn returns SHUTTING_DOWN once the engine stops: no further step begins then. What takes long
// asks often.
func (r *eraser) goOn() error {
	select {
	case <-r.engine.stop:
		return fault.Stopping()
	default:
		return nil
	}
}

// wait returns AFTER the erasure that runs has ended.
func (r *eraser) wait() {
	r.running.Lock()
	//lint:ignore SA2001 taking the lock is the point
	r.running.Unlock()
}

// stepHook is what tests do between the steps of a long work; nil for nothing.
type stepHook func(step string) error

// after calls the hook, if there is one, with the name of the step that is over.
func (h stepHook) after(step string) error {
	if h == nil {
		return nil
	}
	return h(step)
}

// erasureStep is one of the steps of an erasure. It has the name of what is over when it begins.
type erasureStep struct {
	name string
	do   func() error
}

// run takes steps until one fails.
func (r *eraser) run(steps []erasureStep) error {
	for _, one := range steps {
		err := r.step(one.name)
		if err == nil {
			err = one.do()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// erasureDue reports whether identity names what is to be erased. An erasure that runs is among it.
func (r *eraser) erasureDue() bool {
	state := r.engine.Identity()
	return len(state.Drops()) > 0 || slices.ContainsFunc(state.PurgedContents(),
		func(one identity.Purged) bool { return one.ErasedAt == 0 })
}

// resumeErasure erases what was purged, and drops the projects that were removed, BEFORE the
// process died or a step failed.
func (r *eraser) resumeErasure() error {
	r.running.Lock()
	defer r.running.Unlock()
	return errors.Join(r.erase(), r.drop())
}

// erase removes purged contents from the disk. The mark is published, so that later writes of them
// are refused. Then, in this order: orders in flight end; tasks lose what they keep of the texts;
// the log is renewed; packs, and sections of these tasks, are written again. The caller holds
// running.
func (r *eraser) erase() error {
	e := r.engine
	var hashes [][32]byte
	var gone []blobs.Hash
	var texts []work.Hash
	for _, one := range e.Identity().PurgedContents() {
		if one.ErasedAt == 0 {
			hashes, gone = append(hashes, one.Hash), append(gone, blobs.Hash(one.Hash))
			texts = append(texts, one.Hash)
		}
	}
	if len(hashes) == 0 {
		return nil
	}
	var keeping map[id.ID]bool
	return r.run([]erasureStep{
		{"marked", e.settleOrders},
		{"settled", func() (err error) { keeping, err = r.forgetTexts(texts); return err }},
		{"texts", func() error { e.blobs.Forget(gone); return r.renewLog() }},
		{"log", func() error { return r.purgePacks(gone, texts) }},
		{"contents", func() error {
			if len(keeping) == 0 {
				return nil
			}
			// The files of a generation stay until the second one after it is there.
			return errors.Join(e.saver.save(keeping, atOnce), e.Save())
		}},
		{"packs", func() error {
			_, err := e.OperatorDo(&identity.EndErasure{Hashes: hashes})
			return err
		}},
	})
}

// purgePacks removes contents from the packs, those that are damaged, too.
func (r *eraser) purgePacks(gone []blobs.Hash, hashes []work.Hash) error {
	err := r.engine.blobs.Purge(gone)
	if err == nil {
		r.engine.corrupted.clear(hashes...)
	}
	return err
}

// forgetTexts has tasks lose what they keep of purged texts. It returns the projects that name, or
// have named, one of them: earlier sections may have what they kept.
func (r *eraser) forgetTexts(hashes []work.Hash) (keeping map[id.ID]bool, err error) {
	keeping = map[id.ID]bool{}
	err = r.naming(hashes, r.engine.config.SharedJournal, func(project id.ID) error {
		keeping[project] = true
		for {
			order := api.Order{Project: project, Command: &work.ForgetTexts{Hashes: hashes}}
			done, err := r.engine.Do(order)
			if err != nil || done.Project == nil || !done.Project.KeepsTexts(hashes) {
				return err
			}
			if err := r.goOn(); err != nil {
				return err
			}
		}
	})
	return keeping, err
}

// naming calls each for the projects that name one of some texts, or have named it, until that
// fails. A damaged project is left out: it can lose nothing before it is removed. Where all are
// needed it is an error, that of errDamagedHere.
func (r *eraser) naming(
	hashes []work.Hash, needsAll bool, each func(project id.ID) error,
) error {
	e := r.engine
	for _, project := range e.projects() {
		if err := r.goOn(); err != nil {
			return err
		}
		h, ok := e.handles.Load(project)
		if !ok {
			continue
		}
		p, err := e.look(h)
		switch {
		case errors.Is(err, api.ErrDamaged) && !needsAll:
			remedy := "remove it"
			if e.config.SharedJournal {
				remedy = "replace this member"
			}
			e.log.Warn("a damaged project may still have a part of what is purged",
				"project", project.Format(id.Project), "remedy", remedy)
			err = nil
		case err == nil && p != nil && p.NamesTexts(hashes):
			err = each(project)
		}
		if err != nil {
			return e.ofLeader(project, err)
		}
	}
	return nil
}

// renewLog returns AFTER everything that was in the log when it was called has left it, and the
// search index was removed to be made again. The log begins a new segment; the search index is
// renewed; a snapshot is saved, and the log cut in front of that segment.
func (r *eraser) renewLog() error {
	e := r.engine
	if err := e.requireApplied(); err != nil {
		return err
	}
	// The answer says that everything in front of the entry is durable.
	if _, err := e.OperatorDo(&identity.BeginErasure{}); err != nil {
		return err
	}
	edge := e.identity.view.Load().position
	e.journal.Roll()
	if _, err := e.OperatorDo(&identity.BeginErasure{}); err != nil {
		return err
	}
	if err := r.step("segment"); err != nil {
		return err
	}
	if err := e.search.renew(); err != nil {
		return fmt.Errorf("search index: %w", err)
	}
	if err := r.step("search"); err != nil {
		return err
	}
	if err := e.Save(); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if first := e.journal.Stats().First; first <= edge {
		err := fmt.Errorf("the log still has entries from %d on: a project cannot be loaded", first)
		return errors.Join(e.requireApplied(), err)
	}
	return nil
}

// settleOrders returns AFTER all orders that were in flight when it was called are durable.
func (e *Engine) settleOrders() error {
	var busy []id.ID
	e.handles.Range(func(project id.ID, h *handle) bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.mu.inFlight > 0 {
			busy = append(busy, project)
		}
		return true
	})
	for _, project := range busy {
		_, err := e.Do(api.Order{Project: project, Command: new(work.ExpireClaims)})
		if err != nil && fault.CodeOf(err) != fault.ProjectNotFound {
			return err
		}
	}
	return nil
}

// requireUnpurged refuses to store a content that was purged: VALIDATION_FAILED.
func (e *Engine) requireUnpurged(contents []work.Blob) error {
	state := e.Identity()
	for i := range contents {
		if state.Purged(contents[i].Hash) {
			return errPurged(contents[i].Hash)
		}
	}
	return nil
}

// requireStored refuses to name contents that are not stored any more, or were purged. AFTER it has
// found a content, the content stays: see blobs.Store.Has. Errors: RATE_LIMITED, VALIDATION_FAILED.
func (e *Engine) requireStored(contents []work.StoredBlob) error {
	state := e.Identity()
	for i := range contents {
		hash := contents[i].Hash
		if state.Purged(hash) {
			return errPurged(hash)
		}
		if !e.blobs.Has(blobs.Hash(hash)) {
			return errContentsRemoved()
		}
	}
	return nil
}

func errContentsRemoved() *fault.Error {
	return fault.New(fault.RateLimited, "Contents were removed in the meantime; send them again.").
		With("reason", "CONTENTS_REMOVED").With("retry_after_seconds", 1)
}

// requireReadable refuses events that bring back a content which was purged, where no file has it
// now: CONTENT_REMOVED with its path.
func (e *Engine) requireReadable(p *work.Project, events []work.Event) error {
	state := e.Identity()
	for _, event := range events {
		published, ok := event.(*work.ChangesetPublished)
		if !ok {
			continue
		}
		for i := range published.Ops {
			op := &published.Ops[i]
			if op.Action == work.Delete || !state.Purged(op.Blob) {
				continue
			}
			now, exists := p.File(cmp.Or(op.From, op.Path))
			if !exists || now.Blob != op.Blob {
				return errContentRemoved(op.Blob).With("path", op.Path)
			}
		}
	}
	return nil
}

func errPurged(hash work.Hash) error {
	return fault.Invalid(fault.Field{
		Field:   "content",
		Problem: fmt.Sprintf("an operator has removed the content %x", hash),
	})
}

func errContentRemoved(hash work.Hash) *fault.Error {
	return fault.New(fault.ContentRemoved, "An operator of the service has removed the content.").
		With("blob_hash", fmt.Sprintf("%x", hash))
}
