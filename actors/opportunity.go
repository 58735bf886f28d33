package actors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"pws/identity"
	"pws/index"
	"pws/internal/disk"
	"pws/internal/id"
	"pws/snapshot"
	"pws/work"
)

// SkilledTasks implements api.Engine.
func (e *Engine) SkilledTasks(term string, limit int) []index.TaskPlace {
	e.catchUp()
	return e.tasks.Skilled(index.FoldTerm(term), e.Now(), limit)
}

// WorkingProjects implements api.Engine.
func (e *Engine) WorkingProjects(term string, limit int) []id.ID {
	e.catchUp()
	return e.tasks.Working(index.FoldTerm(term), e.Now(), limit)
}

// ProjectsAbout implements api.Engine.
func (e *Engine) ProjectsAbout(term string, limit int) []id.ID {
	e.catchUp()
	return e.subjects.Find(index.FoldTerm(term), limit)
}

// WaitingReviews implements api.Engine.
func (e *Engine) WaitingReviews(term string, agent id.ID, limit int) []index.ReviewPlace {
	e.catchUp()
	return e.reviews.Public(index.FoldTerm(term), agent, limit)
}

// OwnReviews implements api.Engine.
func (e *Engine) OwnReviews(agent id.ID, limit int) []index.ReviewPlace {
	e.catchUp()
	return e.reviews.Own(agent, limit)
}

// taskTerms are what a task is found by.
func taskTerms(spec *work.TaskSpec) index.Terms {
	words := append([]string{spec.Type}, spec.Skills...)
	for _, file := range spec.RelatedFiles {
		words = append(words, work.LanguageOf(file))
	}
	return index.MakeTerms(words...)
}

// aboutOf is what a project is about: its languages and its topics.
func aboutOf(p *work.Project) index.Terms {
	return index.MakeTerms(append(p.Languages(), p.Topics...)...)
}

// open reports whether everybody finds a project and may be asked to work in it.
func open(p *work.Project) bool { return p.Visibility == work.Public && p.Status == work.Active }

// subjectsOf is what a project is found by; nothing where nobody is to find it so.
func subjectsOf(p *work.Project) index.Terms {
	if p == nil || !open(p) {
		return index.Terms{}
	}
	return aboutOf(p)
}

// reviewEntry is a contribution that waits for a review; ok is false for one that does not.
func reviewEntry(p *work.Project, c *work.Contribution) (entry index.ReviewEntry, ok bool) {
	if c.Status != work.SubmittedStatus {
		return entry, false
	}
	var languages []string
	for _, file := range revisionPaths(p, c) {
		languages = append(languages, work.LanguageOf(file))
	}
	return index.ReviewEntry{
		Contribution: c.ID, Author: c.Author, Terms: index.MakeTerms(languages...),
	}, true
}

// reviewsOf are the contributions to a project that wait for a review.
func reviewsOf(p *work.Project) (all index.ProjectReviews) {
	if p.PendingContributions() == 0 {
		return all
	}
	p.Contributions(id.ID{}, func(c *work.Contribution) bool {
		if entry, waits := reviewEntry(p, c); waits {
			all.Entries = append(all.Entries, entry)
		}
		return true
	})
	if slices.Reverse(all.Entries); len(all.Entries) > 0 {
		all.Public, all.Members = p.Visibility == work.Public, membersOf(p)
	}
	return all
}

// contributionOf is the contribution that an event is about.
func contributionOf(event work.Event) (contribution id.ID, ok bool) {
	switch event := event.(type) {
	case *work.ContributionSubmitted:
		return event.ID, true
	case *work.RevisionSubmitted:
		return event.Contribution, true
	case *work.ContributionReviewed:
		return event.Contribution, true
	case *work.ContributionConflicted:
		return event.Contribution, true
	case *work.ContributionAccepted:
		return event.Contribution, true
	case *work.ContributionRejected:
		return event.Contribution, true
	case *work.ContributionWithdrawn:
		return event.Contribution, true
	}
	return id.ID{}, false
}

// followOffers tells the indexes of profiles, reviews and subjects what events have changed. It
// reports whether that is anything of what is saved for them.
func (e *Engine) followOffers(before, next *work.Project, events []work.Event) (changed bool) {
	if before == nil {
		e.takeOffers(offersOf(next))
		return true
	}
	if before.Visibility != next.Visibility {
		e.profiles.SetPublic(next.ID, next.Visibility == work.Public)
		changed = true
	}
	changed = e.followEvidence(before, next, events) || changed
	return e.followReviews(before, next, events) || changed
}

// followSubjects tells the indexes of subjects and of tasks what a project is about now. It reports
// whether that is something else than before.
func (e *Engine) followSubjects(before, next *work.Project) (changed bool) {
	if before == nil || open(before) == open(next) && before.SameLanguages(next) &&
		slices.Equal(before.Topics, next.Topics) {
		return false
	}
	e.subjects.Replace(next.ID, subjectsOf(before), subjectsOf(next))
	e.tasks.SetSubjects(next.ID, next.Status == work.Active, aboutOf(next))
	return true
}

func (e *Engine) followReviews(before, next *work.Project, events []work.Event) (changed bool) {
	audience := before.Version != next.Version
	for _, event := range events {
		contribution, ok := contributionOf(event)
		if !ok {
			continue
		}
		changed = true
		c, _ := next.Contribution(contribution)
		if entry, waits := reviewEntry(next, c); waits {
			audience = e.reviews.Put(next.ID, entry) || audience
		} else {
			e.reviews.Drop(next.ID, contribution)
		}
	}
	if audience && next.PendingContributions() > 0 {
		e.reviews.SetAudience(next.ID, next.Visibility == work.Public, membersOf(next))
		changed = true
	}
	return changed
}

// offers is all that these indexes keep of a project, but for its tasks.
type offers struct {
	project  id.ID
	public   bool
	subjects index.Terms
	reviews  index.ProjectReviews
	evidence []index.Evidence
}

func offersOf(p *work.Project) *offers {
	return &offers{
		project: p.ID, public: p.Visibility == work.Public, subjects: subjectsOf(p),
		reviews: reviewsOf(p), evidence: evidenceOf(p),
	}
}

// takeOffers takes in a project of which the indexes know nothing.
func (e *Engine) takeOffers(o *offers) {
	e.profiles.Add(o.project, o.public, o.evidence)
	e.subjects.Replace(o.project, index.Terms{}, o.subjects)
	e.reviews.Replace(o.project, o.reviews)
}

// latecomers are the projects of which the log behind the snapshot says what changes what these
// indexes keep. A start does not load them for that. Whoever asks first does, unless they were
// touched before.
type latecomers struct {
	// waiting says that the list may hold any.
	waiting atomic.Bool
	mu      struct {
		sync.Mutex
		handles []*handle
	}
}

// late notes at a start that a project has to be loaded before the indexes know of it.
func (e *Engine) late(h *handle) {
	if h.mu.late {
		return
	}
	h.mu.late = true
	e.latecomers.waiting.Store(true)
	e.latecomers.mu.handles = append(e.latecomers.mu.handles, h)
}

// catchUp loads the projects that are late. One that cannot be loaded tells of itself elsewhere.
func (e *Engine) catchUp() {
	if !e.latecomers.waiting.Load() {
		return
	}
	late := &e.latecomers
	late.mu.Lock()
	defer late.mu.Unlock()
	_ = inParallel(len(late.mu.handles), func(at int) error {
		h := late.mu.handles[at]
		h.mu.Lock()
		defer h.mu.Unlock()
		_, _ = e.load(h)
		return nil
	})
	late.mu.handles = nil
	late.waiting.Store(false)
}

// arrive takes in a project that was late; it is called with its first state, BEFORE anybody can
// publish another.
func (e *Engine) arrive(h *handle, p *work.Project) {
	if !h.mu.late {
		return
	}
	h.mu.late = false
	e.takeOffers(offersOf(p))
	e.tasks.SetSubjects(p.ID, p.Status == work.Active, aboutOf(p))
	if !e.offersSaved() {
		e.markDirty(h)
	}
}

// offersMark is the key of a section that is there where what the indexes keep is saved of every
// project: older programs have not saved it.
const offersMark = "e"

func (e *Engine) offersSaved() bool {
	_, saved := e.snapshot.SectionPosition(offersMark)
	return saved
}

func offersKey(project id.ID) string { return "e" + string(project[:]) }

// saveOffers writes what the indexes keep of a project where it has changed since it was saved.
func (e *Engine) saveOffers(writer *snapshot.Writer, view *published) error {
	key := offersKey(view.project.ID)
	saved, there := e.snapshot.SectionPosition(key)
	if there && view.offersAt <= saved {
		return nil
	}
	data := encodeOffers(offersOf(view.project))
	switch {
	case data != nil:
		return writer.Put(key, view.position, data)
	case there:
		return writer.Delete(key)
	}
	return nil
}

// restoreOffers reads what snapshots have saved of the projects that are not late.
func (e *Engine) restoreOffers() error {
	if !e.offersSaved() {
		e.handles.Range(func(_ id.ID, h *handle) bool {
			e.late(h)
			return true
		})
		return nil
	}
	var keys []string
	for key := range e.sectionKeys("e") {
		if key == offersMark {
			continue
		}
		if h, ok := e.handles.Load(id.ID([]byte(key[1:]))); ok && !h.mu.late {
			keys = append(keys, key)
		}
	}
	return inParallel(len(keys), func(at int) error {
		project := id.ID([]byte(keys[at][1:]))
		data, _, _, err := e.snapshot.Read(keys[at])
		var o *offers
		if err == nil {
			o, err = decodeOffers(project, data)
		}
		if err != nil {
			return fmt.Errorf("offers of project %s: %w", project.Format(id.Project), err)
		}
		e.takeOffers(o)
		return nil
	})
}

// offersVersion is the first byte of what the indexes keep of a project, as it is saved:
//
//	version   1 byte
//	public    1 byte: 1 where it is PUBLIC
//	subjects  terms: uvarint length, then as index.Terms writes them
//	members   uvarint count, then 16 bytes each: those who find the reviews of a project that is not
//	          PUBLIC
//	reviews   uvarint count, then each: 16 bytes contribution, 16 bytes author, terms
//	evidence  uvarint count, then each: 16 bytes agent, 1 byte provenance, 1 byte category, value:
//	          uvarint length and bytes, uvarint count, uvarint Unix milliseconds
const offersVersion = 1

// encodeOffers is nil for a project of which nothing is kept.
func encodeOffers(o *offers) []byte {
	if o.subjects == (index.Terms{}) && len(o.reviews.Entries) == 0 && len(o.evidence) == 0 {
		return nil
	}
	out := []byte{offersVersion, 0}
	if o.public {
		out[1] = 1
	}
	out = appendText(out, o.subjects.String())
	out = binary.AppendUvarint(out, uint64(len(o.reviews.Members)))
	for _, member := range o.reviews.Members {
		out = append(out, member[:]...)
	}
	out = binary.AppendUvarint(out, uint64(len(o.reviews.Entries)))
	for at := range o.reviews.Entries {
		entry := &o.reviews.Entries[at]
		out = append(append(out, entry.Contribution[:]...), entry.Author[:]...)
		out = appendText(out, entry.Terms.String())
	}
	out = binary.AppendUvarint(out, uint64(len(o.evidence)))
	for at := range o.evidence {
		one := &o.evidence[at]
		out = append(out, one.Agent[:]...)
		out = append(out, byte(one.Trait.Provenance), byte(one.Trait.Category))
		out = appendText(out, one.Trait.Value)
		out = binary.AppendUvarint(out, uint64(one.Count))
		out = binary.AppendUvarint(out, uint64(one.At))
	}
	return out
}

func appendText(out []byte, text string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(text))), text...)
}

func decodeOffers(project id.ID, data []byte) (*offers, error) {
	r := disk.NewReader(data)
	if version := r.Byte(); version != offersVersion {
		return nil, fmt.Errorf("version %d is unknown", version)
	}
	o := &offers{project: project, public: r.Byte() != 0}
	o.subjects = index.JoinedTerms(r.Text())
	o.reviews.Public = o.public
	for range r.Count() {
		o.reviews.Members = append(o.reviews.Members, id.ID(r.Fixed(16)))
	}
	for range r.Count() {
		o.reviews.Entries = append(o.reviews.Entries, index.ReviewEntry{
			Contribution: id.ID(r.Fixed(16)), Author: id.ID(r.Fixed(16)),
			Terms: index.JoinedTerms(r.Text()),
		})
	}
	for range r.Count() {
		one := index.Evidence{Agent: id.ID(r.Fixed(16))}
		one.Trait.Provenance = index.Provenance(r.Byte())
		one.Trait.Category = identity.ProfileCategory(r.Byte())
		one.Trait.Value = r.Text()
		one.Count, one.At = int(r.Uvarint()), int64(r.Uvarint())
		if one.Trait.Category >= identity.ProfileCategories {
			return nil, errors.New("evidence of no category")
		}
		o.evidence = append(o.evidence, one)
	}
	if r.Failed() || r.Len() > 0 {
		return nil, errors.New("it ends too soon or too late")
	}
	return o, nil
}

// checkSavedOffers compares a saved project with what was saved of it for these indexes.
func (r *rebuilder) checkSavedOffers(name string, p *work.Project) {
	saved, _, _, err := r.engine.snapshot.Read(offersKey(p.ID))
	if err == nil && r.engine.offersSaved() && !slices.Equal(saved, encodeOffers(offersOf(p))) {
		r.damage.addf("%s: what agents have shown in it, and what waits for them, is not as it is "+
			"saved for finding it", name)
	}
}
