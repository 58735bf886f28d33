package actors

import (
	"errors"
	"fmt"
	"time"

	"pws/blobs"
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// The shortest and the longest time between two attempts to go on with an erasure.
const (
	eraseAgain    = 50 * time.Millisecond
	eraseAgainMax = time.Minute
)

var errErasureStopped = errors.New("actors: the erasure was stopped")

// followErasures erases from the disk of this server what the one that led has erased from its own:
// at the start, for what an earlier run has not finished, and whenever an erasure is followed.
func (r *eraser) followErasures() {
	e := r.engine
	e.whenWoken(r.followed, func(err error) {
		e.log.Error("cannot erase what was purged or removed; this server tries again", "error", err)
	}, func() error {
		return errors.Join(r.eraseFollowed(), r.dropFollowed(), r.dropGivenUp())
	})
}

// wakeup has a value when a goroutine has to look. Many wake-ups BEFORE it does are one.
type wakeup chan struct{}

func newWakeup() wakeup { return make(wakeup, 1) }

// wake does not wait.
func (w wakeup) wake() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// whenWoken does something whenever it is woken, again until it succeeds, and ends with the engine.
// A failure is reported once while it stays the same, and not if the engine stops.
func (e *Engine) whenWoken(woken <-chan struct{}, report func(error), do func() error) {
	defer e.stopped.Done()
	for {
		select {
		case <-e.stop:
			return
		case <-woken:
		}
		said := ""
		err := e.repeat(func() (bool, error) {
			err := do()
			stopped := errors.Is(err, errErasureStopped) || fault.CodeOf(err) == fault.ShuttingDown
			if err != nil && err.Error() != said && !stopped {
				said = err.Error()
				report(err)
			}
			return err == nil, nil
		})
		if err != nil {
			return
		}
	}
}

// repeat does something until it is done or fails, with pauses that get longer. Errors: those of
// do, and errErasureStopped when the engine stops.
func (e *Engine) repeat(do func() (done bool, err error)) error {
	for again := eraseAgain; ; again = min(2*again, eraseAgainMax) {
		if done, err := do(); done || err != nil {
			return err
		}
		timer := time.NewTimer(again)
		select {
		case <-e.stop:
			timer.Stop()
			return errErasureStopped
		case <-timer.C:
		}
	}
}

// wake wakes followErasures.
func (r *eraser) wake() {
	r.followed.wake()
}

// eraseFollowed erases the purged contents that have left the disk of the server that led, and are
// on the disk of this one. The steps are those of erase, without entries of the log. The contents
// leave the packs, and the log, last: a start finds there what is left to be done.
func (r *eraser) eraseFollowed() error {
	e := r.engine
	r.running.Lock()
	defer r.running.Unlock()
	var gone []blobs.Hash
	var texts []work.Hash
	for _, one := range e.Identity().PurgedContents() {
		if one.ErasedAt == 0 {
			continue
		}
		switch _, err := e.blobs.Get(blobs.Hash(one.Hash)); {
		case err == nil, errors.Is(err, blobs.ErrCorrupt):
			gone, texts = append(gone, blobs.Hash(one.Hash)), append(texts, one.Hash)
		case !errors.Is(err, blobs.ErrNotFound):
			return err
		}
	}
	if len(gone) == 0 {
		return nil
	}
	// Tasks have lost what they keep of the texts by entries that this server has followed.
	keeping := map[id.ID]bool{}
	err := r.naming(texts, false, func(project id.ID) error {
		keeping[project] = true
		return nil
	})
	if err != nil {
		return err
	}
	err = r.run([]erasureStep{
		{"followed", func() error { e.blobs.Forget(gone); return r.renewLogFollowed() }},
		{"log", func() error {
			if len(keeping) == 0 {
				return nil
			}
			// The files of a generation stay until the second one after it is there.
			return errors.Join(e.saver.save(keeping, atOnce), e.Save())
		}},
		{"sections", func() error { return r.purgePacks(gone, texts) }},
	})
	if err != nil {
		return err
	}
	e.log.Info("what another server has purged has left the disk of this one", "contents", len(gone))
	return nil
}

// renewLogFollowed is renewLog for a server that may not lead. The entry behind those that leave
// the log is asked for until it is there. Then snapshots are saved until the log was cut. Entries
// that the group has not agreed on stay until it has, so more are asked for until then. Those of a
// damaged project stay until the server is replaced; this does not wait for that. The caller holds
// running.
func (r *eraser) renewLogFollowed() error {
	e := r.engine
	if err := e.requireApplied(); err != nil {
		return err
	}
	edge := e.journal.Durable()
	e.journal.Roll()
	err := e.repeat(func() (bool, error) {
		if e.journal.Durable() <= edge {
			r.askMark()
		}
		return e.journal.Durable() > edge, nil
	})
	if err == nil {
		err = r.step("segment")
	}
	if err != nil {
		return err
	}
	if err := e.search.renew(); err != nil {
		return fmt.Errorf("search index: %w", err)
	}
	if err := r.step("search"); err != nil {
		return err
	}
	return e.repeat(func() (bool, error) {
		if err := e.Save(); err != nil {
			return false, fmt.Errorf("snapshot: %w", err)
		}
		if e.journal.Stats().First > edge {
			return true, nil
		}
		r.askMark()
		return false, e.requireApplied()
	})
}

// askMark has the server that leads append an entry.
func (r *eraser) askMark() {
	e := r.engine
	if e.leading() != 0 {
		e.Mark()
	} else if e.config.AskMark != nil {
		e.config.AskMark()
	}
}

// Mark appends an entry that changes nothing, where this server leads. A server that erases what is
// in its log needs one behind it.
func (e *Engine) Mark() { _, _ = e.OperatorDo(&identity.BeginErasure{}) }
