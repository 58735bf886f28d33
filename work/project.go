package work

import (
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/internal/logformat"
	"pws/internal/sorted"
)

// Visibility says who can see a project.
type Visibility uint8

// The visibilities: listed and readable by anyone, readable by anyone with the ID, readable by
// members.
const (
	Public Visibility = iota + 1
	Unlisted
	Private
)

var visibilityNames = [...]string{"", "PUBLIC", "UNLISTED", "PRIVATE"}

// String is the name on the wire.
func (v Visibility) String() string { return visibilityNames[v] }

// ParseVisibility reads the name on the wire; zero is no visibility.
func ParseVisibility(name string) Visibility {
	return Visibility(max(0, slices.Index(visibilityNames[:], name)))
}

// Reuse says whether others may copy from a project through the service.
type Reuse uint8

// The reuse policies.
const (
	AllowReuse Reuse = iota + 1
	ReferenceOnly
)

var reuseNames = [...]string{"", "ALLOW_REUSE", "REFERENCE_ONLY"}

// String is the name on the wire.
func (r Reuse) String() string { return reuseNames[r] }

// ParseReuse reads the name on the wire; zero is no policy.
func ParseReuse(name string) Reuse { return Reuse(max(0, slices.Index(reuseNames[:], name))) }

// ProjectKind says how a project is changed: by its members, or by any agent in turns.
type ProjectKind uint8

// The kinds of project.
const (
	Standard ProjectKind = iota + 1
	Community
)

var projectKindNames = [...]string{"", "STANDARD", "COMMUNITY"}

// String is the name on the wire.
func (k ProjectKind) String() string { return projectKindNames[k] }

// Status says whether a project accepts changes.
type Status uint8

// The statuses of a project. Only its owner knows of a deleted one; see ProjectEnd.
const (
	Active Status = iota + 1
	Archived
	Deleted
)

var statusNames = [...]string{"", "ACTIVE", "ARCHIVED", "DELETED"}

// String is the name on the wire.
func (s Status) String() string { return statusNames[s] }

// ParseStatus reads the name on the wire; zero is no status.
func ParseStatus(name string) Status { return Status(max(0, slices.Index(statusNames[:], name))) }

// About is the description of a project.
type About struct {
	Name        string     `cbor:"1,keyasint"`
	Description string     `cbor:"2,keyasint,omitempty"`
	Visibility  Visibility `cbor:"3,keyasint"`
	Reuse       Reuse      `cbor:"4,keyasint"`
	License     string     `cbor:"5,keyasint"`
	Topics      []string   `cbor:"6,keyasint,omitempty"`
	Status      Status     `cbor:"7,keyasint"`
}

// Record holds the public fields of a project that are saved as they are. A field that is added
// here with a new key is saved and restored without further code. Record, savedFields and
// headRecord share one sequence of keys.
type Record struct {
	ID    id.ID `cbor:"1,keyasint"`
	About `cbor:"2,keyasint"`
	Kind  ProjectKind `cbor:"3,keyasint"`
	Owner id.ID       `cbor:"4,keyasint"`
	// CreatedAt and UpdatedAt are Unix milliseconds.
	CreatedAt int64 `cbor:"5,keyasint"`
	UpdatedAt int64 `cbor:"6,keyasint"`
	// Version counts changes of the record and of the members, Revision all changes.
	Version  uint64 `cbor:"7,keyasint"`
	Revision uint64 `cbor:"8,keyasint"`
}

// savedFields holds the other fields of a project that are saved as they are. A field that is added
// here with a new key, unique in headRecord, is saved and restored without further code.
type savedFields struct {
	Members []Member `cbor:"9,keyasint"`
	// Bytes is the size of all live files. Bytes, Languages and Pending are computed when a whole
	// project is restored; they are saved for listings.
	Bytes     int64           `cbor:"11,keyasint"`
	Languages []LanguageCount `cbor:"12,keyasint,omitempty"`
	// ResultsFirst is the number of the oldest stored result that is kept. Of guests, those before
	// GuestResultsFirst are not.
	ResultsFirst      uint64 `cbor:"14,keyasint"`
	GuestResultsFirst uint64 `cbor:"86,keyasint,omitempty"`
	// State is nil until an agent writes one, Checkpoint until there is one.
	State      *State      `cbor:"19,keyasint,omitempty"`
	Checkpoint *Checkpoint `cbor:"20,keyasint,omitempty"`
	// Ended holds the ended work sessions that are kept, the oldest first.
	Ended []*WorkSession `cbor:"27,keyasint,omitempty"`
	// Turn is the last turn that was not ended explicitly; it may have expired.
	Turn *Turn `cbor:"28,keyasint,omitempty"`
	// AwaitedTurn is the last turn that was ended explicitly, if another agent waited for it and
	// nobody has taken the turn since.
	AwaitedTurn *Turn `cbor:"87,keyasint,omitempty"`
	// Fork says where the project was forked from; nil if it is not a fork.
	Fork *Fork `cbor:"35,keyasint,omitempty"`
	// Pending counts the contributions without a decision.
	Pending int `cbor:"41,keyasint,omitempty"`
	// Moderation is nil unless an operator has hidden or removed the project.
	Moderation *Moderation `cbor:"60,keyasint,omitempty"`
	// Blocks are the agents that may not write in the project.
	Blocks []Block `cbor:"61,keyasint,omitempty"`
	// End is nil unless the owner has deleted the project.
	End *ProjectEnd `cbor:"85,keyasint,omitempty"`
	// HandoffMarks are the deletions of handoffs, in the order of their IDs.
	HandoffMarks []HandoffMark `cbor:"75,keyasint,omitempty"`
	// GuestHandoffs are the handoffs whose authors could write them only while they held a claim, in
	// the order of their IDs. The record of a handoff does not say so, because events have it too.
	// Handoffs that an older program saved are not among them: they count as those of members.
	GuestHandoffs []id.ID `cbor:"88,keyasint,omitempty"`
}

// Project is one state of a project. Published states are immutable and safe for any number of
// readers. The owner of the newest state makes the next one with Clone and Apply.
//
// A field that must survive a restart belongs in Record or savedFields. The fields below are
// saved in chunks, or computed from the history when a project is restored.
type Project struct {
	Record
	saved savedFields

	// history holds the changesets; their IDs increase. historyBytes is about what they and the files
	// take in memory.
	history      history
	historyBytes int64
	// endedBytes is the size of the summaries of the ended work sessions.
	endedBytes int
	// live holds the files that exist, gone the deleted or renamed ones.
	live sorted.Map[*File]
	gone sorted.Map[*File]

	// sessions holds the open work sessions.
	sessions sessionTable
	queues   *taskQueues
	// queuesShared means that an older state uses the same queues.
	queuesShared bool
	// authors counts changesets by the agents that published them.
	authors smallSet[AuthorCount]
	// stored holds what each agent has stored, storedAll the total.
	stored    smallSet[StoredBytes]
	storedAll int64
	// texts is the size of the texts of tasks, handoffs, verification records, contributions,
	// artifacts, imports, discussions and comments.
	texts int
	// awayBytes is the part of texts that is stored away.
	awayBytes int

	// results holds the results of Idempotency-Keys, resultBytes is the size of their answers.
	results     storedResults
	resultBytes int
	// guestResults are how many of results are those of guests, and guestResultBytes is the part of
	// resultBytes that they take.
	guestResults, guestResultBytes int

	*coordination
	// coordinationShared means that an older state uses the same records.
	coordinationShared bool

	// summary replaces history, live and gone if only the data for listings was read; see
	// Partial.
	summary *summary
}

// coordination holds the records of a project that publishing files does not change. Most events
// publish files, so states share it until another event is applied.
type coordination struct {
	handoffs []*Handoff
	// states holds the earlier versions of the state.
	states        stateHistory
	verifications verifications
	relations     recordList[*Relation]
	artifacts     recordList[*Artifact]
	imports       recordList[*Import]
	// imported counts the files that all imports have written.
	imported int
	// workspaces holds all workspaces that ever existed, openWorkspaces those that have not
	// ended, in the order in which they were opened.
	workspaces     recordList[*Workspace]
	openWorkspaces []id.ID
	// overlayFiles counts the paths of the overlays of all workspaces.
	overlayFiles  int
	contributions recordList[*Contribution]
	revisions     recordList[*Revision]
	// revisionFiles counts the paths of all revisions.
	revisionFiles int
	discussions   recordList[*Discussion]
	comments      comments
	watchers      watchers
	// usages holds the usage of each agent, used the totals by kind, and beyondGuests the totals of
	// what beyondGuest returns.
	usages             smallSet[usage]
	used, beyondGuests [quotaKinds]int
	past               pastContents
	// bundled is nil unless the project was imported from a bundle.
	bundled *Imported
}

// NewProject returns a project to which no event was applied.
func NewProject() *Project {
	return &Project{
		coordination: new(coordination),
		live:         sorted.NewMap[*File](), gone: sorted.NewMap[*File](),
	}
}

// LanguageCount is the number of live files in a language.
type LanguageCount struct {
	Language string `cbor:"1,keyasint"`
	Files    int    `cbor:"2,keyasint"`
}

// Clone makes a state that may be changed. It writes to this state too, to share its trees, so no
// other call may run at the same time. Clones of one state grow the same slices: AFTER an event was
// applied to one of them, no other one that has events may be used.
func (p *Project) Clone() *Project {
	next := *p
	next.live = p.live.Copy()
	next.gone = p.gone.Copy()
	next.queuesShared = true
	next.history.namesShared = true
	next.authors.many.shared = true
	next.stored.many.shared = true
	next.coordinationShared = true
	return &next
}

// ownCoordination makes the records changeable: no older state uses them afterwards.
func (p *Project) ownCoordination() {
	if !p.coordinationShared {
		return
	}
	own := *p.coordination
	own.verifications.about.shared = true
	own.comments.of.shared = true
	own.watchers.all.shared = true
	own.usages.many.shared = true
	p.coordination, p.coordinationShared = &own, false
}

// Apply changes the state by one event. It is called on an unpublished clone.
func (p *Project) Apply(event Event, at Moment) {
	if _, files := event.(*ChangesetPublished); !files {
		p.ownCoordination()
	}
	event.apply(p, at)
	p.Revision++
	if !countsAsWork(event) {
		return
	}
	p.UpdatedAt = max(p.UpdatedAt, at.Now)
	// An expired claim is not activity of the agent whose command records it.
	if _, expired := event.(*TaskClaimExpired); !expired {
		p.touch(at, 0, id.ID{})
	}
}

// Has reports whether the project has a record with this ID, of the kind that the prefix names.
// It supports only kinds that are addressed by their own ID.
func (p *Project) Has(kind id.Prefix, wanted id.ID) (has bool) {
	switch kind {
	case id.Changeset:
		has = p.HasChangeset(wanted)
	case id.Task:
		_, has = p.task(wanted)
	case id.WorkSession:
		_, has = p.WorkSession(wanted)
	case id.Workspace:
		_, has = p.Workspace(wanted)
	case id.Verification:
		_, has = p.Verification(wanted)
	case id.Contribution:
		_, has = p.Contribution(wanted)
	case id.Artifact:
		_, has = p.Artifact(wanted)
	case id.Handoff:
		_, has = p.Handoff(wanted)
	case id.Discussion:
		_, has = p.Discussion(wanted)
	case id.Comment:
		_, has = p.Comment(wanted)
	}
	return has
}

// Creator returns the agent that created the project. It never changes; the owner may.
func (p *Project) Creator() id.ID {
	if p.history.len() == 0 {
		return p.Owner
	}
	return p.history.author(1)
}

// Languages returns the languages of the live files, the most frequent first.
func (p *Project) Languages() []string {
	counts := slices.Clone(p.saved.Languages)
	slices.SortStableFunc(counts, func(a, b LanguageCount) int { return b.Files - a.Files })
	names := make([]string, len(counts))
	for i, count := range counts {
		names[i] = count.Language
	}
	return names
}

// SameLanguages reports whether the live files of two states are in the same languages. It may
// return false if only the order differs.
func (p *Project) SameLanguages(other *Project) bool {
	return slices.EqualFunc(p.saved.Languages, other.saved.Languages, func(a, b LanguageCount) bool {
		return a.Language == b.Language
	})
}

// CreateProject creates a project with a first, empty changeset. If there are initial files, a
// second changeset contains them.
type CreateProject struct {
	ID    id.ID
	Kind  ProjectKind
	About About
	// Files are CREATE operations with their contents.
	Files   []Operation
	Message string
}

// Authorize accepts any agent. The ID exists already only if the same Idempotency-Key led to it
// before, or if two IDs had the same entropy. Errors: those of mayCreate.
func (c *CreateProject) Authorize(p *Project, _ id.ID) error { return mayCreate(p) }

// mayCreate refuses to create a project again that was removed: PROJECT_NOT_FOUND.
func mayCreate(p *Project) error {
	if p != nil && p.Removed() {
		return fault.New(fault.ProjectNotFound, "The project that this Idempotency-Key led to was "+
			"removed. Another key creates another project.")
	}
	return nil
}

// Decide returns VALIDATION_FAILED, REUSE_POLICY_REQUIRED, and the errors of file operations.
func (c *CreateProject) Decide(p *Project, stamp Stamp) (Decision, error) {
	if p != nil {
		return Decision{}, fault.New(fault.Internal, "the project id is taken")
	}
	about, err := newAbout(c.About)
	if err != nil {
		return Decision{}, err
	}
	first := stamp.ID(0)
	events := []Event{
		&ProjectCreated{ID: c.ID, Kind: c.Kind, About: about, Owner: stamp.Agent},
		&ChangesetPublished{ID: first, Source: SourceProject, SourceID: c.ID},
	}
	decision := Decision{Events: events, Result: Result{Created: true, Changeset: first}}
	if len(c.Files) == 0 {
		return decision, nil
	}
	empty := NewProject()
	moment := Moment{Now: stamp.Now, Agent: stamp.Agent}
	for _, event := range events {
		empty.Apply(event, moment)
	}
	published, blobs, err := decideOperations(empty, c.Files)
	if err != nil {
		return Decision{}, err
	}
	published.ID, published.Message = stamp.ID(1), c.Message
	published.Source, published.SourceID = SourceProject, c.ID
	decision.Events = append(decision.Events, published)
	decision.Blobs = blobs
	decision.Result.Changeset = published.ID
	return decision, nil
}

// ErrReusePolicyRequired is the error for a visibility that needs a reuse policy:
// REUSE_POLICY_REQUIRED.
func ErrReusePolicyRequired(visibility Visibility) error {
	return fault.New(fault.ReusePolicyRequired, "reuse_policy must be given with this visibility.").
		With("visibility", visibility.String())
}

// UpdateProject changes the description and settings of a project. Nil fields stay unchanged.
type UpdateProject struct {
	Name        *string
	Description *string
	Visibility  Visibility
	Reuse       Reuse
	License     *string
	Topics      *[]string
	Status      Status
	// IfMatch is called with the current state; nil checks nothing. It returns PRECONDITION_FAILED.
	IfMatch func(p *Project) error
}

// Authorize accepts only the owner.
func (c *UpdateProject) Authorize(p *Project, agent id.ID) error {
	return MayAdminister.Require(p, agent)
}

// Decide returns PRECONDITION_FAILED, REUSE_POLICY_REQUIRED if a PRIVATE project is published
// without a policy, and PROJECT_ARCHIVED for a change of a project that stays ARCHIVED, unless it
// only withdraws it from others.
func (c *UpdateProject) Decide(p *Project, stamp Stamp) (Decision, error) {
	if c.IfMatch != nil {
		if err := c.IfMatch(p); err != nil {
			return Decision{}, err
		}
	}
	about := p.About
	if c.Visibility != 0 && c.Visibility != Private {
		if err := requireUnmoderated(p); err != nil {
			return Decision{}, err
		}
	}
	if c.Visibility != 0 {
		if p.Visibility == Private && c.Visibility != Private && c.Reuse == 0 {
			return Decision{}, ErrReusePolicyRequired(c.Visibility)
		}
		about.Visibility = c.Visibility
	}
	about.Name = valueOr(c.Name, about.Name)
	about.Description = valueOr(c.Description, about.Description)
	about.License = valueOr(c.License, about.License)
	about.Topics = valueOr(c.Topics, about.Topics)
	if c.Reuse != 0 {
		about.Reuse = c.Reuse
	}
	if c.Status != 0 {
		about.Status = c.Status
	}
	updated := &ProjectUpdated{About: about}
	if hidden := p.saved.Moderation; hidden != nil {
		updated.StaysPrivate = c.Visibility == Private && hidden.Was != Private
	}
	if sameAbout(about, p.About) && !updated.StaysPrivate {
		return Decision{}, nil
	}
	if about.Status == Archived && !p.withdrawnTo(about) {
		if err := requireActive(p); err != nil {
			return Decision{}, err
		}
	}
	events := []Event{updated}
	if about.Visibility != p.Visibility {
		updated.Was = p.Visibility
		if about.Visibility == Private {
			events = append(events, p.endsOfOthers(stamp)...)
		}
	}
	return Decision{Events: events}, nil
}

// withdrawnTo reports whether a change gives others fewer permissions and changes nothing else.
func (p *Project) withdrawnTo(about About) bool {
	narrower := about.Visibility >= p.Visibility && about.Reuse >= p.Reuse
	about.Visibility, about.Reuse = p.Visibility, p.Reuse
	return narrower && sameAbout(about, p.About)
}

func sameAbout(a, b About) bool {
	return slices.Equal(a.Topics, b.Topics) && a.Name == b.Name && a.License == b.License &&
		a.Description == b.Description && a.Visibility == b.Visibility &&
		a.Reuse == b.Reuse && a.Status == b.Status
}

func valueOr[T any](given *T, otherwise T) T {
	if given != nil {
		return *given
	}
	return otherwise
}

// ProjectCreated is the first event of a project.
type ProjectCreated struct {
	ID    id.ID       `cbor:"1,keyasint"`
	Kind  ProjectKind `cbor:"2,keyasint"`
	About About       `cbor:"3,keyasint"`
	Owner id.ID       `cbor:"4,keyasint"`
}

func (e *ProjectCreated) apply(p *Project, at Moment) {
	p.ID, p.Kind, p.About, p.Owner = e.ID, e.Kind, e.About, e.Owner
	p.CreatedAt, p.UpdatedAt = at.Now, at.Now
	p.Version = 1
	p.saved.Members = []Member{{Agent: e.Owner, Role: Owner, AddedBy: e.Owner, AddedAt: at.Now}}
}

// ProjectUpdated is the event of a changed record; it contains the whole record.
type ProjectUpdated struct {
	About About `cbor:"1,keyasint"`
	// Was is the previous visibility, zero if it did not change.
	Was Visibility `cbor:"2,keyasint,omitempty"`
	// StaysPrivate means that a hidden project will be PRIVATE when it is shown again.
	StaysPrivate bool `cbor:"3,keyasint,omitempty"`
}

// Format implements datadir.Newer.
func (e *ProjectUpdated) Format() uint64 {
	if e.StaysPrivate {
		return logformat.StaysPrivate
	}
	return 0
}

func (e *ProjectUpdated) apply(p *Project, _ Moment) {
	p.About = e.About
	if e.StaysPrivate && p.saved.Moderation != nil {
		next := *p.saved.Moderation
		next.Was = Private
		p.saved.Moderation = &next
	}
	p.Version++
}
