package search

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"pws/identity"
	"pws/internal/id"
	"pws/work"
)

// Kind is what a document is about. The letters are stored in the index.
type Kind byte

// The kinds.
const (
	Project    Kind = 'P'
	Task       Kind = 'T'
	Agent      Kind = 'A'
	Handoff    Kind = 'H'
	Artifact   Kind = 'R'
	File       Kind = 'F'
	Discussion Kind = 'D'
)

var kindNames = map[Kind]string{
	Project: "PROJECT", Task: "TASK", Agent: "AGENT", Handoff: "HANDOFF", Artifact: "ARTIFACT",
	File: "FILE", Discussion: "DISCUSSION",
}

// String is the name on the wire.
func (k Kind) String() string { return kindNames[k] }

// ParseKind reads the name on the wire; zero is no kind.
func ParseKind(name string) Kind {
	for kind, known := range kindNames {
		if known == name {
			return kind
		}
	}
	return 0
}

// Key names a document. The zero Kind is a whole project.
type Key struct {
	Kind Kind
	// Project is zero for an agent.
	Project id.ID
	// Entity is zero for a file and for a project itself.
	Entity id.ID
	// Path is that of a file.
	Path string
}

// Encode is the key as the index holds it.
func (k Key) Encode() string {
	out := make([]byte, 0, 1+2*len(k.Entity)+len(k.Path))
	out = append(append(out, byte(k.Kind)), k.Project[:]...)
	if k.Kind == File {
		return string(append(out, k.Path...))
	}
	return string(append(out, k.Entity[:]...))
}

// DecodeKey reads what Encode wrote.
func DecodeKey(text string) (k Key, ok bool) {
	if len(text) < 1+len(k.Project) {
		return k, false
	}
	k.Kind = Kind(text[0])
	copy(k.Project[:], text[1:])
	rest := text[1+len(k.Project):]
	if k.Kind == File {
		k.Path = rest
		return k, rest != ""
	}
	copy(k.Entity[:], rest)
	return k, kindNames[k.Kind] != "" && len(rest) == len(k.Entity)
}

// The letters that the terms of structured filters begin with.
const (
	termKind         = 'k'
	termProject      = 'p'
	termLanguage     = 'l'
	termTaskType     = 't'
	termStatus       = 's'
	termVerification = 'v'
	termLicense      = 'x'
	termCapability   = 'c'
	termArtifactType = 'a'
	termOpenWork     = 'o'
	termDay          = 'd'
)

// The filters, as terms of documents. Words are compared without regard to case.

// OfKind is the filter of a kind.
func OfKind(kind Kind) string { return string(termKind) + string(rune(kind)) }

// InLanguage is the filter of files in a language, of projects with such files, and of agents that
// say they know it.
func InLanguage(language string) string {
	return string(termLanguage) + strings.ToLower(language)
}

// OfTaskType is the filter of tasks of a type, and of agents that say they take such.
func OfTaskType(name string) string { return string(termTaskType) + strings.ToLower(name) }

// InProjectOf is the filter of all that is in a project with a status.
func InProjectOf(status work.Status) string { return string(termStatus) + status.String() }

// Verified is the filter of projects and artifacts with a verification status, by its name.
func Verified(status string) string { return string(termVerification) + status }

// Licensed is the filter of all that is under a license: an artifact's own, else its project's.
func Licensed(expression string) string {
	return string(termLicense) + strings.ToLower(expression)
}

// Requiring is the filter of tasks that take a skill, and of agents with that capability.
func Requiring(skill string) string { return string(termCapability) + strings.ToLower(skill) }

// OfArtifactType is the filter of artifacts of a type.
func OfArtifactType(t work.ArtifactType) string { return string(termArtifactType) + t.String() }

// WithOpenWork is the filter of open tasks, and of projects that have any; or of the others.
func WithOpenWork(open bool) string {
	if open {
		return string(termOpenWork) + "1"
	}
	return string(termOpenWork) + "0"
}

const dayMillis = 24 * 60 * 60 * 1000

// Since are the filters of what has changed from a time on, the days that it may have changed on.
func Since(from, now int64) (days []string) {
	for day := from / dayMillis; day <= now/dayMillis; day++ {
		days = append(days, onDay(day))
	}
	return days
}

func onDay(day int64) string { return string(termDay) + strconv.FormatInt(day, 10) }

func inProject(project id.ID) string { return string(termProject) + string(project[:]) }

// TextBytesMax is how much of a text is searched.
const TextBytesMax = 200_000

// Document is what there is to find of one record, file or agent, as it is now.
type Document struct {
	Key Key
	// Title is its name; words in it weigh more. That of a file is its path.
	Title string
	// Body is the rest of its text. That of a file is to be loaded by Blob.
	Body string
	Blob work.Hash
	// UpdatedAt is Unix milliseconds.
	UpdatedAt int64
	// Terms are those of the filters that it passes.
	Terms []string
	// Version is a hash of everything that it is found by. It detects changes, not forgeries:
	// whoever could make two texts of one version would only have the old one found.
	Version uint64
}

// complete bounds the text and makes the version.
func (d *Document) complete() *Document {
	d.Body = cut(d.Body, TextBytesMax)
	d.Terms = append(d.Terms, OfKind(d.Key.Kind), onDay(d.UpdatedAt/dayMillis))
	if !d.Key.Project.IsZero() {
		d.Terms = append(d.Terms, inProject(d.Key.Project))
	}
	sum := xxhash.New()
	var size [8]byte
	put := func(text string) {
		binary.LittleEndian.PutUint64(size[:], uint64(len(text)))
		_, _ = sum.Write(size[:])
		_, _ = sum.WriteString(text)
	}
	put(d.Key.Encode())
	put(d.Title)
	put(d.Body)
	_, _ = sum.Write(d.Blob[:])
	for _, term := range d.Terms {
		put(term)
	}
	d.Version = sum.Sum64()
	return d
}

// Passes reports whether a document passes filters: of each group it has one.
func (d *Document) Passes(filters [][]string) bool {
	for _, group := range filters {
		if !slices.ContainsFunc(group, func(term string) bool {
			return slices.Contains(d.Terms, term)
		}) {
			return false
		}
	}
	return true
}

// Live is the current document of a key, nil where there is none. Projects that are not PUBLIC have
// no documents.
func Live(p *work.Project, key Key, now int64) *Document {
	if p.Visibility != work.Public {
		return nil
	}
	d := &Document{Key: key, Terms: []string{InProjectOf(p.Status)}}
	there := false
	switch key.Kind {
	case Project:
		there = true
		d.ofProject(p, now)
	case Task:
		there = d.ofTask(p, now)
	case Handoff:
		there = d.ofHandoff(p)
	case Artifact:
		there = d.ofArtifact(p)
	case File:
		there = d.ofFile(p)
	case Discussion:
		there = d.ofDiscussion(p)
	}
	if !there {
		return nil
	}
	if key.Kind != Artifact {
		d.Terms = append(d.Terms, Licensed(p.License))
	}
	return d.complete()
}

func (d *Document) ofProject(p *work.Project, now int64) {
	d.Title, d.UpdatedAt = p.Name, p.UpdatedAt
	d.Body = lines(p.Description, strings.Join(p.Topics, " "))
	for _, language := range p.Languages() {
		if language != "" {
			d.Terms = append(d.Terms, InLanguage(language))
		}
	}
	d.Terms = append(d.Terms, Verified(p.OwnTally().Status().String()),
		WithOpenWork(p.TaskCount(work.TaskOpen, now) > 0))
}

func (d *Document) ofTask(p *work.Project, now int64) bool {
	t, ok := p.Task(d.Key.Entity, now)
	if !ok {
		return false
	}
	spec := &t.Spec
	d.Title, d.UpdatedAt = spec.Title, t.UpdatedAt
	d.Body = lines(append([]string{
		spec.Description, spec.Type, strings.Join(spec.Skills, " "), spec.ExpectedOutput,
	}, append(slices.Clip(spec.Conditions), spec.RelatedFiles...)...)...)
	if t.Result != nil {
		d.Body = lines(d.Body, t.Result.Summary)
	}
	if spec.Type != "" {
		d.Terms = append(d.Terms, OfTaskType(spec.Type))
	}
	for _, skill := range spec.Skills {
		d.Terms = append(d.Terms, Requiring(skill))
	}
	d.Terms = append(d.Terms, WithOpenWork(t.Status == work.TaskOpen))
	return true
}

func (d *Document) ofHandoff(p *work.Project) bool {
	h, ok := p.Handoff(d.Key.Entity)
	if !ok {
		return false
	}
	said := &h.Continuation
	// A handoff has no title of its own.
	d.Title, d.UpdatedAt = cut(firstLine(said.Summary), 200), h.CreatedAt
	all := []string{said.Summary}
	for _, list := range [][]string{
		said.CompletedWork, said.Blockers, said.NextActions, said.OpenQuestions,
		said.Assumptions, said.Dependencies, said.ResidualRisks,
	} {
		all = append(all, list...)
	}
	for _, list := range [][]work.Note{said.Decisions, said.FailedApproaches} {
		for _, note := range list {
			all = append(all, note.Text, note.Reason)
		}
	}
	d.Body = lines(all...)
	return true
}

func (d *Document) ofArtifact(p *work.Project) bool {
	a, ok := p.Artifact(d.Key.Entity)
	if !ok {
		return false
	}
	d.Title, d.UpdatedAt = a.Name, a.CreatedAt
	d.Body = lines(append([]string{a.Description}, a.Paths...)...)
	d.Terms = append(d.Terms, OfArtifactType(a.Type), Licensed(a.License),
		Verified(p.Tally(a.Entity()).Status().String()))
	return true
}

func (d *Document) ofFile(p *work.Project) bool {
	f, ok := p.File(d.Key.Path)
	if !ok {
		return false
	}
	d.Title, d.Blob, d.UpdatedAt = f.Path, f.Blob, f.Updated.CreatedAt
	if f.Language != "" {
		d.Terms = append(d.Terms, InLanguage(f.Language))
	}
	return true
}

// ofDiscussion takes the comments as part of what is said.
func (d *Document) ofDiscussion(p *work.Project) bool {
	opened, ok := p.Discussion(d.Key.Entity)
	if !ok || opened.Deleted.Is() {
		return false
	}
	d.Title, d.UpdatedAt = opened.Title, opened.CreatedAt
	var said strings.Builder
	said.WriteString(opened.Body)
	p.Comments(opened.ID, id.ID{}, func(c *work.Comment) bool {
		said.WriteByte('\n')
		said.WriteString(c.Body)
		return said.Len() < TextBytesMax
	})
	d.Body = said.String()
	if _, newest := p.CommentCount(opened.ID); newest != nil {
		d.UpdatedAt = newest.CreatedAt
	}
	return true
}

// LiveAgent is the document of an agent, nil where there is none.
func LiveAgent(state *identity.State, agent id.ID) *Document {
	a, ok := state.Agent(agent)
	if !ok {
		return nil
	}
	d := &Document{
		Key:   Key{Kind: Agent, Entity: agent},
		Title: a.Handle, Body: a.ClientName, UpdatedAt: a.CreatedAt,
	}
	said := a.Profile()
	if said == nil {
		return d.complete()
	}
	d.UpdatedAt = max(d.UpdatedAt, said.DeclaredAt)
	for category, list := range said.Lists {
		d.Body = lines(append([]string{d.Body}, list...)...)
		for _, value := range list {
			switch identity.ProfileCategory(category) {
			case identity.ProfileLanguages:
				d.Terms = append(d.Terms, InLanguage(value))
			case identity.ProfileTaskTypes:
				d.Terms = append(d.Terms, OfTaskType(value))
			case identity.ProfileCapabilities:
				d.Terms = append(d.Terms, Requiring(value))
			}
		}
	}
	return d.complete()
}

// Load gives the document of a file its content.
func (d *Document) Load(content []byte) {
	// With one byte more, cut can see whether a character ends there.
	if len(content) > TextBytesMax+1 {
		content = content[:TextBytesMax+1]
	}
	d.Body = cut(string(content), TextBytesMax)
}

// Keys yields the documents that a project has.
func Keys(p *work.Project, now int64, yield func(Key) bool) {
	if p.Visibility != work.Public || !yield(Key{Kind: Project, Project: p.ID}) {
		return
	}
	more := true
	record := func(kind Kind, record id.ID) bool {
		more = more && yield(Key{Kind: kind, Project: p.ID, Entity: record})
		return more
	}
	p.Tasks(id.ID{}, now, func(t *work.Task) bool { return record(Task, t.ID) })
	for _, h := range p.Handoffs() {
		if !more {
			return
		}
		record(Handoff, h.ID)
	}
	p.Artifacts(id.ID{}, func(a *work.Artifact) bool { return record(Artifact, a.ID) })
	p.Discussions(id.ID{}, func(d *work.Discussion) bool { return record(Discussion, d.ID) })
	p.Files("", func(f work.FileInfo) bool {
		return more && yield(Key{Kind: File, Project: p.ID, Path: f.Path})
	})
}

// lines joins texts, without the empty ones.
func lines(texts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(texts),
		func(text string) bool { return text == "" }), "\n")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
