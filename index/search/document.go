package search

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Kind is the type of the record that a document is about. The letters are stored in the index.
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

// String returns the name on the wire.
func (k Kind) String() string { return kindNames[k] }

// ParseKind parses the name on the wire; zero means unknown.
func ParseKind(name string) Kind {
	for kind, known := range kindNames {
		if known == name {
			return kind
		}
	}
	return 0
}

// Key identifies a document. The zero Kind is a whole project.
type Key struct {
	Kind Kind
	// Project is zero for an agent.
	Project id.ID
	// Entity is zero for files and for projects.
	Entity id.ID
	// Path is set for files only.
	Path string
}

// Encode returns the key as stored in the index.
func (k Key) Encode() string {
	out := make([]byte, 0, 1+2*len(k.Entity)+len(k.Path))
	out = append(append(out, byte(k.Kind)), k.Project[:]...)
	if k.Kind == File {
		return string(append(out, k.Path...))
	}
	return string(append(out, k.Entity[:]...))
}

// DecodeKey parses the result of Encode.
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

// The prefixes of the filter terms.
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

// OfKind is the filter for documents of a kind.
func OfKind(kind Kind) string { return string(termKind) + string(rune(kind)) }

// InLanguage is the filter for files in a language, for projects with such files, and for agents
// that declare it.
func InLanguage(language string) string {
	return string(termLanguage) + strings.ToLower(language)
}

// OfTaskType is the filter for tasks of a type, and for agents that declare it.
func OfTaskType(name string) string { return string(termTaskType) + strings.ToLower(name) }

// InProjectOf is the filter for documents in projects with a status.
func InProjectOf(status work.Status) string { return string(termStatus) + status.String() }

// Verified is the filter for projects and artifacts with a verification status, by its name.
func Verified(status string) string { return string(termVerification) + status }

// Licensed is the filter for documents under a license: an artifact's own, otherwise its project's.
func Licensed(expression string) string {
	return string(termLicense) + strings.ToLower(expression)
}

// Requiring is the filter for tasks that require a skill, and for agents with that capability.
func Requiring(skill string) string { return string(termCapability) + strings.ToLower(skill) }

// OfArtifactType is the filter for artifacts of a type.
func OfArtifactType(t work.ArtifactType) string { return string(termArtifactType) + t.String() }

// WithOpenWork is the filter for open tasks and projects with open tasks, unless the project is
// archived, or for all other documents.
func WithOpenWork(open bool) string {
	if open {
		return string(termOpenWork) + "1"
	}
	return string(termOpenWork) + "0"
}

const dayMillis = 24 * 60 * 60 * 1000

// Since returns the filters for documents changed since a time: the days from then until now.
func Since(from, now int64) (days []string) {
	for day := from / dayMillis; day <= now/dayMillis; day++ {
		days = append(days, onDay(day))
	}
	return days
}

func onDay(day int64) string { return string(termDay) + strconv.FormatInt(day, 10) }

func inProject(project id.ID) string { return string(termProject) + string(project[:]) }

// TextBytesMax is the length of the searchable part of a text.
const TextBytesMax = 200_000

// Document is the searchable content of one record, file or agent in its current state.
type Document struct {
	Key Key
	// Title is its name; words in it have a higher weight. The title of a file is its path.
	Title string
	// Body is the rest of its text. Load sets it if contents have it: the Blob of a file or a handoff,
	// or the long texts of a task or a discussion.
	Body string
	Blob work.Hash
	// handoff is the handoff whose texts Blob has, nil for a file; task is one with texts in contents,
	// and talk are the parts of a discussion if any of them is in a content.
	handoff *work.Handoff
	task    *work.Task
	talk    []said
	// UpdatedAt is Unix milliseconds.
	UpdatedAt int64
	// Terms are the terms of the filters that it passes.
	Terms []string
	// Version is a hash of all searchable content. It detects changes, not forgeries: a constructed
	// collision only keeps an outdated text of its author searchable.
	Version uint64
}

// said is a part of a discussion. Its text is in a content if there is a reference.
type said struct {
	text string
	away *work.Away
}

// complete limits the length of the text and computes the version.
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
	if d.task != nil {
		d.task.Texts().Each(func(one work.Away) { _, _ = sum.Write(one.Hash[:]) })
	}
	for _, one := range d.talk {
		if put(one.text); one.away != nil {
			_, _ = sum.Write(one.away.Hash[:])
		}
	}
	for _, term := range d.Terms {
		put(term)
	}
	d.Version = sum.Sum64()
	return d
}

// Passes reports whether a document passes filters: it has a term of each group.
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

// Live returns the current document of a key, nil if there is none. Projects that are not PUBLIC
// have no documents.
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
		WithOpenWork(p.Status == work.Active && p.TaskCount(work.TaskOpen, now) > 0))
}

func (d *Document) ofTask(p *work.Project, now int64) bool {
	t, ok := p.Task(d.Key.Entity, now)
	if !ok {
		return false
	}
	spec := &t.Spec
	d.Title, d.UpdatedAt = spec.Title, t.UpdatedAt
	d.Body = taskBody(t)
	if !t.Texts().None() {
		d.task = t
	}
	if spec.Type != "" {
		d.Terms = append(d.Terms, OfTaskType(spec.Type))
	}
	for _, skill := range spec.Skills {
		d.Terms = append(d.Terms, Requiring(skill))
	}
	d.Terms = append(d.Terms, WithOpenWork(p.Status == work.Active && t.Status == work.TaskOpen))
	return true
}

func taskBody(t *work.Task) string {
	spec := &t.Spec
	body := lines(append([]string{
		spec.Description, spec.Type, strings.Join(spec.Skills, " "), spec.ExpectedOutput,
	}, append(slices.Clip(spec.Conditions), spec.RelatedFiles...)...)...)
	if t.Result != nil {
		body = lines(body, t.Result.Summary)
	}
	return body
}

func (d *Document) ofHandoff(p *work.Project) bool {
	h, ok := p.Handoff(d.Key.Entity)
	if !ok || h.Deleted.Is() {
		return false
	}
	// A handoff has no title of its own.
	d.Title, d.UpdatedAt = cut(firstLine(h.Continuation.Summary), 200), h.CreatedAt
	if h.Away != nil {
		d.Blob, d.handoff = h.Away.Hash, h
		return true
	}
	d.Body = handoffBody(h)
	return true
}

func handoffBody(h *work.Handoff) string {
	said := &h.Continuation
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
	return lines(all...)
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

// ofDiscussion adds the comments to the body.
func (d *Document) ofDiscussion(p *work.Project) bool {
	opened, ok := p.Discussion(d.Key.Entity)
	if !ok || opened.Deleted.Is() {
		return false
	}
	d.Title, d.UpdatedAt = opened.Title, opened.CreatedAt
	parts, size, long := []said{{opened.Body, opened.Away}}, opened.Bytes(), opened.Away != nil
	p.Comments(opened.ID, id.ID{}, func(c *work.Comment) bool {
		parts, long = append(parts, said{c.Body, c.Away}), long || c.Away != nil
		size += 1 + c.Bytes()
		return size < TextBytesMax
	})
	if long {
		d.talk = parts
	} else {
		d.Body = bodyOf(parts)
	}
	if _, newest := p.CommentCount(opened.ID); newest != nil {
		d.UpdatedAt = newest.CreatedAt
	}
	return true
}

// bodyOf joins the parts of a discussion that have their texts.
func bodyOf(parts []said) string {
	var body strings.Builder
	for i, one := range parts {
		if i > 0 {
			body.WriteByte('\n')
		}
		body.WriteString(one.text)
	}
	return body.String()
}

// loadTalk sets the body of a discussion. Texts that an operator has removed are left out.
func (d *Document) loadTalk(get func(work.Hash) ([]byte, error)) error {
	parts := slices.Clone(d.talk)
	for i := range parts {
		one := &parts[i]
		if one.away == nil {
			continue
		}
		text, err := one.away.Text(get)
		if err != nil && fault.CodeOf(err) != fault.ContentRemoved {
			return err
		}
		one.text = text
	}
	d.Body = cut(bodyOf(parts), TextBytesMax)
	return nil
}

// LiveAgent returns the document of an agent, nil if there is none.
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

// Load sets the body if contents have it; get returns them. The body stays incomplete if get fails,
// and its error is returned.
func (d *Document) Load(get func(work.Hash) ([]byte, error)) error {
	if d.task != nil {
		whole, err := d.task.WithTexts(get)
		if err == nil {
			d.Body = cut(taskBody(whole), TextBytesMax)
		}
		return err
	}
	if d.talk != nil {
		return d.loadTalk(get)
	}
	if d.Blob == (work.Hash{}) {
		return nil
	}
	content, err := get(d.Blob)
	if err != nil {
		return err
	}
	if d.handoff != nil {
		whole, err := d.handoff.WithTexts(content)
		if err == nil {
			d.Body = cut(handoffBody(whole), TextBytesMax)
		}
		return err
	}
	// Keep one more byte, so that cut can see whether a character ends at the limit.
	if len(content) > TextBytesMax+1 {
		content = content[:TextBytesMax+1]
	}
	d.Body = cut(string(content), TextBytesMax)
	return nil
}

// kindOrder has the kinds of a project's documents in the order of Keys.
var kindOrder = [...]Kind{Project, Task, Handoff, Artifact, Discussion, File}

// Keys yields the keys of the documents of a project that come after a key, or all of them after
// the zero Key: the project itself first, and its files last. A document that is added between two
// calls may be left out.
func Keys(p *work.Project, now int64, after Key, yield func(Key) bool) {
	if p.Visibility != work.Public {
		return
	}
	begin := max(0, slices.Index(kindOrder[:], after.Kind))
	for i, kind := range kindOrder[begin:] {
		from := after
		if i > 0 {
			from = Key{}
		}
		if !keysOf(p, now, kind, from, yield) {
			return
		}
	}
}

// keysOf yields the keys of one kind; it reports false if yield did.
func keysOf(p *work.Project, now int64, kind Kind, after Key, yield func(Key) bool) bool {
	more := true
	record := func(record id.ID) bool {
		more = yield(Key{Kind: kind, Project: p.ID, Entity: record})
		return more
	}
	switch kind {
	case Project:
		if after.Kind == 0 {
			record(id.ID{})
		}
	case Task:
		p.Tasks(after.Entity, now, func(t *work.Task) bool { return record(t.ID) })
	case Handoff:
		for _, h := range p.Handoffs() {
			if more && h.ID.Compare(after.Entity) > 0 {
				record(h.ID)
			}
		}
	case Artifact:
		p.Artifacts(after.Entity, func(a *work.Artifact) bool { return record(a.ID) })
	case Discussion:
		p.Discussions(after.Entity, func(d *work.Discussion) bool { return record(d.ID) })
	case File:
		from := after.Path
		if from != "" {
			from += "\x00"
		}
		p.Files(from, func(f work.FileInfo) bool {
			more = yield(Key{Kind: File, Project: p.ID, Path: f.Path})
			return more
		})
	}
	return more
}

// lines joins the texts that are not empty.
func lines(texts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(texts),
		func(text string) bool { return text == "" }), "\n")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
