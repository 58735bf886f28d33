package work

import (
	"fmt"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
)

// ImportProject makes a project from a bundle. The caller has checked the form of all records and
// the hashes of the contents. Decide checks that the records fit each other. All records of the new
// project have new IDs, and the caller is their author.
type ImportProject struct {
	ID    id.ID
	Kind  ProjectKind
	About About
	// Imported is about the project; Decide adds the origins of its records.
	Imported Imported
	// Source is the ID that the project has in the bundle.
	Source id.ID
	// Contents are the contents of the files and, with a whole history, of all its operations.
	Contents map[Hash][]byte
	// Stored are the sizes of contents that were stored BEFORE the command, in bytes.
	Stored map[Hash]int
	// Malformed are contents that were refused. Records that name them get no further faults.
	Malformed map[Hash]bool
	// History is in order. If it is not whole, the project begins with its files as one changeset.
	History []BundledChangeset
	Files   []BundledFile
	// State is nil if the project has none.
	State *State
	// States are earlier versions of the state, the oldest first.
	States        []Bundled[State]
	Handoffs      []Bundled[Handoff]
	Tasks         []Bundled[Task]
	Verifications []Bundled[Verification]
	Artifacts     []Bundled[Artifact]
	// Discussions and comments have no mentions, because an import notifies nobody. Each comment
	// follows the one that it replies to.
	Discussions []Bundled[Discussion]
	Comments    []Bundled[Comment]
	// Contributions are in the order in which they were submitted.
	Contributions []BundledContribution
	// Inherited and InheritedAuthors are what the project of the bundle had inherited as a fork or
	// from an earlier bundle. Inherited has the newest first.
	Inherited        []CreditOrigin
	InheritedAuthors []BundledAuthor
	// Relations are those whose targets the caller may see.
	Relations []Bundled[Relation]
	// Imports have the credits of the bundle and no authors. InheritedImports are those that the
	// project of the bundle had inherited, the newest first.
	Imports, InheritedImports []BundledImport
	// Origins are the projects that the files came from, according to the bundle.
	Origins []FileOrigin
	// NewIDs is set by Decide. It has the IDs of the imported records, without revisions, reviews
	// and relations. IDs of one kind are in the order of the bundle.
	NewIDs []NewID

	// prepared is the decision that Prepare has made. Its records are of the time preparedAt in Unix
	// milliseconds, which is that of the newest Decide.
	prepared   *Decision
	preparedAt int64
}

// NewID is the ID that a record of a bundle has in the new project.
type NewID struct {
	Kind     id.Prefix
	Old, New id.ID
}

// Authorize lets any agent import, because any agent may create projects.
func (c *ImportProject) Authorize(p *Project, _ id.ID) error { return mayCreate(p) }

// Prepare makes the decision BEFORE the command is given to the project, because a long history
// takes long. The stamp must be of the caller and of the project. Errors: those of Decide.
func (c *ImportProject) Prepare(stamp Stamp) error {
	decision, err := c.decide(stamp)
	if err == nil {
		c.prepared, c.preparedAt = &decision, stamp.Now
	}
	return err
}

// Decide returns REUSE_POLICY_REQUIRED as CreateProject does, and VALIDATION_FAILED with all faults
// of the bundle.
func (c *ImportProject) Decide(p *Project, stamp Stamp) (Decision, error) {
	switch {
	case p != nil:
		return Decision{}, fault.New(fault.Internal, "the project id is taken")
	case c.prepared != nil:
		for _, event := range c.prepared.Events {
			if imported, ok := event.(*ProjectImported); ok {
				imported.retime(c.preparedAt, stamp.Now)
				for _, one := range imported.Handoffs {
					one.WorkSession = stamp.ID(sessionNumber)
				}
			}
		}
		c.preparedAt = stamp.Now
		return *c.prepared, nil
	}
	return c.decide(stamp)
}

func (c *ImportProject) decide(stamp Stamp) (Decision, error) {
	b := c.rebuild(stamp)
	if faults := b.faultsAfter(nil); len(faults) > 0 {
		return Decision{}, fault.Invalid(faults...)
	}
	about, err := newAbout(c.About)
	if err != nil {
		return Decision{}, err
	}
	b.putTextsAway()
	changesets := b.event.Changesets
	c.NewIDs = b.newIDs
	blobs, stored := b.blobs()
	return Decision{
		Events: []Event{
			&ProjectCreated{ID: c.ID, Kind: c.Kind, About: about, Owner: stamp.Agent}, b.event,
		},
		Blobs: append(blobs, b.away.blobs...), Stored: stored,
		Result: Result{Created: true, Changeset: changesets[len(changesets)-1].ID},
	}, nil
}

// Validate appends the faults of the bundle to the known faults, which are in the form of the
// request. Parts with faults in their form are not validated.
func (c *ImportProject) Validate(known []fault.Field) []fault.Field {
	return c.rebuild(Stamp{}).faultsAfter(known)
}

// rebuild makes the new project as far as the bundle is valid.
func (c *ImportProject) rebuild(stamp Stamp) *bundleImport {
	b := &bundleImport{
		ImportProject: c, stamp: stamp, last: stamp.ID(0),
		ids: map[bundledID]id.ID{}, accepted: map[id.ID]bool{}, tree: NewProject(),
		parts: map[bundledID]bool{},
		event: &ProjectImported{Imported: c.Imported, Status: c.About.Status},
	}
	b.keepID(id.Project, c.Source, c.ID)
	b.importHistory()
	b.importContributions()
	b.importImports()
	b.importState()
	b.importTasks()
	b.importHandoffs()
	b.importArtifacts()
	b.importVerifications()
	b.importDiscussions()
	b.importComments()
	b.importRelations()
	b.requireTextQuota()
	return b
}

// bundleFaultsMax is the number of faults of a bundle that are reported.
const bundleFaultsMax = 100

// bundleImport is an import in progress: the faults of the bundle and the event so far.
type bundleImport struct {
	*ImportProject
	stamp  Stamp
	event  *ProjectImported
	faults []fault.Field
	// last is the newest ID.
	last id.ID
	// ids has the new IDs by those of the bundle; zero for records that are left out.
	ids map[bundledID]id.ID
	// parts are the revisions and reviews of contributions.
	parts  map[bundledID]bool
	newIDs []NewID
	// accepted are the changesets of the bundle that accepted contributions published.
	accepted map[id.ID]bool
	texts    int
	// away are the contents of the texts of records.
	away away
	// tree is the result of the history as far as it applies. Broken means that a part of it does
	// not apply.
	tree   *Project
	broken bool
}

func (b *bundleImport) next() id.ID {
	b.last = b.last.Next()
	return b.last
}

func (b *bundleImport) fault(field, problem string) {
	if len(b.faults) < bundleFaultsMax {
		b.faults = append(b.faults, fault.Field{Field: "bundle." + field, Problem: problem})
	}
}

// faultsAfter returns the known faults and those of the bundle, each once, and the fault of a
// missing reuse policy.
func (b *bundleImport) faultsAfter(known []fault.Field) []fault.Field {
	faults := append(known, fault.Unreported(known, b.faults)...)
	faults = faults[:min(len(faults), bundleFaultsMax)]
	if len(faults) > 0 && b.About.Visibility != 0 {
		if _, err := newAbout(b.About); err != nil {
			missing := []fault.Field{{Field: "reuse_policy", Problem: messageOf(err)}}
			faults = append(faults, fault.Unreported(known, missing)...)
		}
	}
	return faults
}

const (
	duplicated = "is duplicated"
	noEntity   = "names no entity of the bundle"
)

// bundledID is an ID of the bundle. IDs of different kinds may be equal.
type bundledID struct {
	kind id.Prefix
	id   id.ID
}

// newID gives a record of the bundle an ID, which is zero if the record is left out.
func (b *bundleImport) newID(kind id.Prefix, old, made id.ID, field string) {
	if _, known := b.ids[bundledID{kind, old}]; known {
		b.fault(field+".id", duplicated)
	}
	b.keepID(kind, old, made)
}

// once refuses the ID of a part of a record that another part has. Nothing else names such parts.
func (b *bundleImport) once(kind id.Prefix, old id.ID, field string) {
	key := bundledID{kind, old}
	if b.parts[key] {
		b.fault(field+".id", duplicated)
	}
	b.parts[key] = true
}

func (b *bundleImport) keepID(kind id.Prefix, old, made id.ID) {
	b.ids[bundledID{kind, old}] = made
	if !made.IsZero() {
		b.newIDs = append(b.newIDs, NewID{Kind: kind, Old: old, New: made})
	}
}

// named returns the new ID of a record that a field names.
func (b *bundleImport) named(kind id.Prefix, old id.ID, field string) id.ID {
	made, known := b.ids[bundledID{kind, old}]
	if !known {
		_, noun, _ := strings.Cut(kind.Noun(), " ")
		b.fault(field, "names no "+noun+" of the bundle")
	}
	return made
}

// subject returns the new ID of the entity that a record is about, zero if it was not imported.
// Without the history only the head was imported.
func (b *bundleImport) subject(kind id.Prefix, old id.ID, field string) id.ID {
	made, known := b.ids[bundledID{kind, old}]
	switch {
	case !known:
		b.fault(field, noEntity)
	case kind == id.Changeset && !b.Imported.Whole && old != b.History[len(b.History)-1].ID:
		return id.ID{}
	}
	return made
}

// importRecords makes the records of a list. Each gets an ID first, because a record may name later
// ones. Complete makes a record one of the new project, or reports false to leave it out.
func importRecords[T any, R interface {
	*T
	ident() id.ID
}](
	b *bundleImport, kind id.Prefix, name string, most int, list []Bundled[T],
	complete func(made R, fresh id.ID, field string) bool,
) (records []R, origins []Origin) {
	if len(list) > most {
		b.fault(name, fmt.Sprintf("must have at most %d items", most))
		return nil, nil
	}
	fresh := make([]id.ID, len(list))
	for nth := range list {
		key := bundledID{kind, R(&list[nth].Record).ident()}
		if _, known := b.ids[key]; !known {
			fresh[nth] = b.next()
			b.ids[key] = fresh[nth]
		}
	}
	for nth := range list {
		record, field := list[nth].Record, indexed(name, nth)
		old := R(&record).ident()
		if fresh[nth].IsZero() {
			b.fault(field+".id", duplicated)
		}
		if complete(&record, fresh[nth], field) {
			b.keepID(kind, old, fresh[nth])
			records, origins = append(records, &record), append(origins, list[nth].Origin)
		} else {
			b.ids[bundledID{kind, old}] = id.ID{}
		}
	}
	return records, origins
}

// ProjectImported is the event of an imported bundle. It follows ProjectCreated.
type ProjectImported struct {
	Changesets    []ChangesetPublished `cbor:"1,keyasint"`
	State         *State               `cbor:"2,keyasint,omitempty"`
	Handoffs      []*Handoff           `cbor:"3,keyasint,omitempty"`
	Tasks         []*Task              `cbor:"4,keyasint,omitempty"`
	Verifications []*Verification      `cbor:"5,keyasint,omitempty"`
	Relations     []*Relation          `cbor:"6,keyasint,omitempty"`
	Imported      Imported             `cbor:"7,keyasint"`
	// Status is the status of the project in the bundle.
	Status    Status      `cbor:"8,keyasint"`
	Artifacts []*Artifact `cbor:"9,keyasint,omitempty"`

	Discussions []*Discussion `cbor:"10,keyasint,omitempty"`
	Comments    []*Comment    `cbor:"11,keyasint,omitempty"`

	Contributions []*Contribution `cbor:"12,keyasint,omitempty"`
	Revisions     []*Revision     `cbor:"13,keyasint,omitempty"`
	Imports       []*Import       `cbor:"14,keyasint,omitempty"`
	// States are the earlier versions of the state, the oldest first.
	States []*State `cbor:"70,keyasint,omitempty"`
}

// retime gives the records that were made at one time another one: that of the project, by which a
// record is known that did not change since the import.
func (e *ProjectImported) retime(from, to int64) {
	move := func(times ...*int64) {
		for _, at := range times {
			if *at == from {
				*at = to
			}
		}
	}
	if e.State != nil {
		move(&e.State.UpdatedAt)
	}
	for _, state := range e.States {
		move(&state.UpdatedAt)
	}
	for _, one := range e.Handoffs {
		move(&one.CreatedAt)
	}
	for _, one := range e.Tasks {
		move(&one.CreatedAt, &one.UpdatedAt)
	}
	for _, one := range e.Verifications {
		move(&one.CreatedAt)
	}
	for _, one := range e.Relations {
		move(&one.CreatedAt)
	}
	for _, one := range e.Artifacts {
		move(&one.CreatedAt)
	}
	for _, one := range e.Discussions {
		move(&one.CreatedAt, &one.ChangedAt, &one.Deleted.At)
	}
	for _, one := range e.Comments {
		move(&one.CreatedAt, &one.Deleted.At)
	}
	for _, one := range e.Contributions {
		move(&one.CreatedAt, &one.UpdatedAt, &one.DecidedAt)
		for _, review := range one.Reviews {
			move(&review.CreatedAt)
		}
	}
	for _, one := range e.Revisions {
		move(&one.CreatedAt)
	}
	for _, one := range e.Imports {
		move(&one.CreatedAt)
	}
}

func (e *ProjectImported) apply(p *Project, at Moment) {
	for nth := range e.Changesets {
		p.publish(&e.Changesets[nth], at.Agent, at.Now)
	}
	p.saved.State, p.Status = e.State, e.Status
	if len(e.States) > 0 {
		p.states.keep(e.States, p.Revision+1)
	}
	for _, handoff := range e.Handoffs {
		p.keepHandoff(handoff)
	}
	for _, task := range e.Tasks {
		p.storeTask(task)
	}
	p.linkTasks()
	for _, record := range e.Verifications {
		p.verifications.put(record, p.Revision+1)
		p.keepVerification(record)
	}
	for _, artifact := range e.Artifacts {
		p.artifacts.put(artifact, p.Revision+1)
		p.keepArtifact(artifact)
	}
	for _, discussion := range e.Discussions {
		p.addDiscussion(discussion)
	}
	for _, comment := range e.Comments {
		p.addComment(comment)
	}
	for _, made := range e.Imports {
		p.imports.put(made, p.Revision+1)
		p.keepImport(made)
	}
	for _, revision := range e.Revisions {
		p.revisions.put(revision, p.Revision+1)
		p.countRevision(revision)
	}
	for _, contribution := range e.Contributions {
		p.putContribution(contribution)
	}
	for _, relation := range e.Relations {
		p.relations.put(relation, p.Revision+1)
	}
	imported := e.Imported
	p.bundled = &imported
}
