package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pws/internal/disk"
	"pws/internal/id"
	"pws/work"
)

// Projection is an index over projects. What it stores for a project is a function of the project's
// state. It is safe for concurrent use; Update and Restore of one project never run at the same
// time.
type Projection interface {
	// Kinds returns the kinds of events that may change what is stored for a project.
	Kinds() []work.Kind
	// Update applies the next state of a project and the events that led to it. It is called BEFORE
	// readers see that state. before is nil if nothing is stored for the project yet; then all of
	// next is added, and events may be missing.
	Update(before, next *work.Project, events []work.Event)
	// Append appends the project's part of the card. Nothing appended means that the card has no
	// such part.
	Append(out []byte, p *work.Project) []byte
	// Restore adds a project, of which nothing is stored yet, from its card and the bytes that
	// Append wrote. It reads the part to its end. It is not called where Append wrote nothing.
	Restore(card *Card, part *disk.Reader) error
}

// Set is a set of projections.
type Set uint16

// The projections. Their order is that of the parts of saved cards: a new one is added at the end,
// and none is ever removed.
const (
	ForListing Set = 1 << iota
	ForTasks
	ForLinks
	ForSubjects
	ForReviews
	ForProfiles
	ForWatches
	ForWorkspaces
	ForClaims
	ForMemberships
	ForUndecided
)

// All is the set of all projections.
const All = ForUndecided<<1 - 1

// names are the names of the projections in errors.
var names = [...]string{
	"listing", "tasks", "links", "subjects", "reviews", "evidence", "watchers", "workspaces",
	"claims", "memberships", "undecided contributions",
}

// String returns the names of the projections in the set.
func (s Set) String() string {
	var found []string
	for i, name := range names {
		if s&(1<<i) != 0 {
			found = append(found, name)
		}
	}
	return strings.Join(found, ", ")
}

// Views are the indexes over projects for code that only queries them.
type Views struct {
	Listing     *Listing
	Tasks       *Tasks
	Links       *Links
	Subjects    *Subjects
	Reviews     *Reviews
	Profiles    *Profiles
	Watches     *Watches
	Workspaces  *Workspaces
	Claims      *Claims
	Memberships *Memberships
	Undecided   *Undecided
}

// Projections are the indexes over projects. It updates, saves and restores all of them.
type Projections struct {
	Views

	list []Projection
	// kinds maps the kind of an event to the projections that it may change.
	kinds []Set
}

// NewProjections makes empty indexes.
func NewProjections() *Projections {
	p := &Projections{Views: Views{
		Listing: NewListing(), Tasks: NewTasks(), Links: NewLinks(), Reviews: NewReviews(),
		Profiles: NewProfiles(), Watches: NewWatches(), Workspaces: NewWorkspaces(),
		Claims: NewClaims(), Memberships: NewMemberships(), Undecided: NewUndecided(),
	}}
	p.Subjects = NewSubjects(p.Tasks)
	p.list = []Projection{
		p.Listing, p.Tasks, p.Links, p.Subjects, p.Reviews, p.Profiles, p.Watches, p.Workspaces,
		p.Claims, p.Memberships, p.Undecided,
	}
	for i, one := range p.list {
		for _, kind := range one.Kinds() {
			if more := int(kind) + 1 - len(p.kinds); more > 0 {
				p.kinds = append(p.kinds, make([]Set, more)...)
			}
			p.kinds[kind] |= 1 << i
		}
	}
	if more := int(work.KindProjectErased) + 1 - len(p.kinds); more > 0 {
		p.kinds = append(p.kinds, make([]Set, more)...)
	}
	p.kinds[work.KindProjectErased] = All
	return p
}

// OfKind returns the projections that an event of a kind may change.
func (p *Projections) OfKind(kind work.Kind) Set {
	if int(kind) >= len(p.kinds) {
		return 0
	}
	return p.kinds[kind]
}

// Update applies the next state of a project, and returns the projections that the events may have
// changed.
func (p *Projections) Update(before, next *work.Project, events []work.Event) (changed Set) {
	if before == nil {
		p.Load(All, next)
		return All
	}
	for _, event := range events {
		if _, erased := event.(*work.ProjectErased); erased {
			p.erase(before, next)
			return All
		}
		changed |= p.OfKind(work.KindOf(event))
	}
	for i, one := range p.list {
		if changed&(1<<i) != 0 {
			one.Update(before, next, events)
		}
	}
	return changed
}

// erase replaces all that the indexes store for a project that has lost its records.
func (p *Projections) erase(before, next *work.Project) {
	p.Links.Drop(before.ID, LinksOf(before).Links)
	p.Profiles.Remove(before.ID, EvidenceOf(before))
	before.Watchers(func(one work.Watcher) bool {
		p.Watches.Drop(one.Agent, before.ID)
		return true
	})
	before.Workspaces(func(one *work.Workspace) bool {
		p.Workspaces.Drop(one.Agent, one.ID)
		return true
	})
	p.Claims.drop(before)
	p.Memberships.drop(before)
	p.Load(All, next)
}

// Load adds a project to the indexes of a set, which store nothing for it yet.
func (p *Projections) Load(into Set, state *work.Project) {
	for i, one := range p.list {
		if into&(1<<i) != 0 {
			one.Update(nil, state, nil)
		}
	}
}

// Card is the part of the saved data of a project that the projections share.
type Card struct {
	Project    id.ID
	Visibility work.Visibility
	// Active is set if the project accepts work.
	Active bool
	// Created is Unix milliseconds.
	Created int64
	// Members are set if the project is not PUBLIC.
	Members []id.ID
}

// cardVersion is the first byte of a card:
//
//	version     1 byte
//	visibility  1 byte
//	active      1 byte: 1 if the project accepts work
//	created     uvarint Unix milliseconds
//	members     uvarint count, then 16 bytes each; none if the project is PUBLIC
//	parts       until the end, in order, each: 1 byte number of the projection, uvarint length, and
//	            the bytes that its Append wrote
const cardVersion = 1

// errPart reports a part of a card that is too short or too long.
var errPart = errors.New("the part is too short or too long")

// EncodeCard encodes the saved data of a project for all indexes.
func (p *Projections) EncodeCard(of *work.Project) []byte {
	out := []byte{cardVersion, byte(of.Visibility), 0}
	if of.Status == work.Active {
		out[2] = 1
	}
	out = binary.AppendUvarint(out, uint64(of.CreatedAt))
	members := membersOf(of)
	out = binary.AppendUvarint(out, uint64(len(members)))
	for _, member := range members {
		out = append(out, member[:]...)
	}
	var part []byte
	for i, one := range p.list {
		if part = one.Append(part[:0], of); len(part) > 0 {
			out = binary.AppendUvarint(append(out, byte(i)), uint64(len(part)))
			out = append(out, part...)
		}
	}
	return out
}

// CreatedOf returns when a project was created, by its saved card.
func CreatedOf(project id.ID, card []byte) (int64, error) {
	r := disk.NewReader(card)
	c, err := decodeCard(project, &r)
	if err != nil {
		return 0, err
	}
	return c.Created, nil
}

// decodeCard reads a card up to its parts.
func decodeCard(project id.ID, r *disk.Reader) (*Card, error) {
	if version := r.Byte(); version != cardVersion {
		return nil, fmt.Errorf("version %d is unknown", version)
	}
	c := &Card{
		Project: project, Visibility: work.Visibility(r.Byte()), Active: r.Byte() == 1,
		Created: int64(r.Uvarint()),
	}
	for range r.Count() {
		c.Members = append(c.Members, id.ID(r.Fixed(16)))
	}
	if r.Failed() || c.Visibility < work.Public || c.Visibility > work.Private {
		return nil, errPart
	}
	return c, nil
}

// eachPart reads the parts of a card, until take returns an error.
func (p *Projections) eachPart(r *disk.Reader, take func(at int, part []byte) error) error {
	for last := -1; r.Len() > 0; {
		at := int(r.Byte())
		part := r.Bytes()
		if r.Failed() {
			return errPart
		}
		if at <= last || at >= len(p.list) || len(part) == 0 {
			return errors.New("unknown, repeated or empty part")
		}
		if err := take(at, part); err != nil {
			return err
		}
		last = at
	}
	return nil
}

// Restore adds a project to the indexes of a set, which store nothing for it, from its saved card.
// After an error some of them may have it.
func (p *Projections) Restore(into Set, project id.ID, card []byte) error {
	r := disk.NewReader(card)
	c, err := decodeCard(project, &r)
	if err != nil {
		return err
	}
	if into&ForListing != 0 {
		p.Listing.restore(c)
	}
	return p.eachPart(&r, func(at int, bytes []byte) error {
		if into&(1<<at) == 0 {
			return nil
		}
		part := disk.NewReader(bytes)
		err := p.list[at].Restore(c, &part)
		if err == nil && (part.Failed() || part.Len() > 0) {
			err = errPart
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", names[at], err)
		}
		return err
	})
}

// Compare finds the parts in which a saved card differs from the state of its project. A difference
// before the parts is reported as one of the listing.
func (p *Projections) Compare(saved []byte, of *work.Project) (differ Set, err error) {
	var heads [2]*Card
	var parts [2][][]byte
	for i, data := range [...][]byte{saved, p.EncodeCard(of)} {
		r := disk.NewReader(data)
		parts[i] = make([][]byte, len(p.list))
		if heads[i], err = decodeCard(of.ID, &r); err == nil {
			err = p.eachPart(&r, func(number int, part []byte) error {
				parts[i][number] = part
				return nil
			})
		}
		if err != nil {
			return 0, err
		}
	}
	for i := range p.list {
		if !bytes.Equal(parts[0][i], parts[1][i]) {
			differ |= 1 << i
		}
	}
	if !heads[0].equal(heads[1]) {
		differ |= ForListing
	}
	return differ, nil
}

func (c *Card) equal(other *Card) bool {
	return c.Project == other.Project && c.Visibility == other.Visibility &&
		c.Active == other.Active && c.Created == other.Created &&
		slices.Equal(c.Members, other.Members)
}

func kindsOf(events ...work.Event) []work.Kind {
	kinds := make([]work.Kind, len(events))
	for i, event := range events {
		kinds[i] = work.KindOf(event)
	}
	return kinds
}

func appendText(out []byte, text string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(text))), text...)
}

// membersOf returns the members of a project, nil if it is public.
func membersOf(p *work.Project) []id.ID {
	if p.Visibility == work.Public {
		return nil
	}
	members := p.Members()
	agents := make([]id.ID, len(members))
	for i := range members {
		agents[i] = members[i].Agent
	}
	return agents
}
