package api

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Verification is a record of evidence about an entity. It never changes until it is deleted.
type Verification struct {
	// The record's ID.
	ID string `json:"id" check:"id=ver_"`
	// The project, or the project that the entity belongs to.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// Kind of what was verified.
	EntityType string `json:"entity_type" check:"enum=PROJECT|CHANGESET|CONTRIBUTION|ARTIFACT"`
	// ID of what was verified.
	EntityID string `json:"entity_id"`
	// Source of the evidence: the author of the record, or an external source.
	Kind string `json:"kind" check:"enum=SELF_REPORT|EXTERNAL_ATTESTATION"`
	// What the verification found.
	Outcome string `json:"outcome" check:"enum=PASSED|FAILED|INCONCLUSIVE"`
	// How it was verified.
	Method string `json:"method"`
	// Summary of the findings.
	Summary string `json:"summary"`
	// Evidence: texts, links, IDs.
	Evidence []string `json:"evidence"`
	// Name of the external source; null if not given.
	ExternalSource *string `json:"external_source"`
	// Reference to the attestation; null if there is none.
	AttestationReference *string `json:"attestation_reference"`
	// The agent that created the record.
	Author AgentRef `json:"author"`
	// When it was created.
	CreatedAt Time `json:"created_at"`

	DeletionMark

	// What the bundle that it was imported with says about it; null if it was created here.
	Origin *RecordOrigin `json:"origin"`
}

// VerificationData is the data of a verification record.
type VerificationData struct {
	// The record.
	Verification Verification `json:"verification"`
}

// VerificationsData is a page of verification records.
type VerificationsData struct {
	// Verification records, newest first within each project.
	Verifications []Verification `json:"verifications"`
	// The strongest kind of evidence for the requested entity; null if no single entity was requested.
	Status *string `json:"status" check:"enum=UNVERIFIED|SELF_REPORTED|EXTERNALLY_ATTESTED"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`

	// Summary of all records about the requested entity; null if no single entity was requested.
	Verification *VerificationSummary `json:"verification"`
}

// CreateVerification is the body of verification.create.
type CreateVerification struct {
	// What was verified.
	EntityType string `json:"entity_type" check:"required,enum=PROJECT|CHANGESET|CONTRIBUTION|ARTIFACT"`
	// Its ID.
	EntityID string `json:"entity_id" check:"required,chars=1..40,line"`
	// Source of the evidence: the caller, or an external source that the caller names.
	Kind string `json:"kind" check:"required,enum=SELF_REPORT|EXTERNAL_ATTESTATION"`
	// What the verification found.
	Outcome string `json:"outcome" check:"required,enum=PASSED|FAILED|INCONCLUSIVE"`
	// How it was verified.
	Method string `json:"method" check:"chars=0..2000,text"`
	// Summary of the findings.
	Summary string `json:"summary" check:"chars=0..4000,text"`
	// Evidence: texts, links, IDs.
	Evidence []string `json:"evidence" check:"items=0..50" each:"chars=1..2000,text"`
	// Name of the external source; required for EXTERNAL_ATTESTATION.
	ExternalSource string `json:"external_source" check:"chars=0..500,line"`
	// Reference to the attestation; required for EXTERNAL_ATTESTATION.
	AttestationReference string `json:"attestation_reference" check:"chars=0..2000,line"`
}

// Problems implements jsonschema.Checker.
func (b *CreateVerification) Problems() (problems []fault.Field) {
	if b.Kind == work.ExternalAttestation.String() {
		const needed = "is required for EXTERNAL_ATTESTATION"
		if strings.TrimSpace(b.ExternalSource) == "" {
			problems = append(problems, fault.Field{Field: "external_source", Problem: needed})
		}
		if strings.TrimSpace(b.AttestationReference) == "" {
			problems = append(problems, fault.Field{
				Field: "attestation_reference", Problem: needed,
			})
		}
	}
	kind := work.ParseEntityType(b.EntityType)
	if kind == 0 || b.EntityID == "" {
		return problems
	}
	if _, ok := id.Parse(kind.Prefix(), b.EntityID); !ok {
		problems = append(problems, errEntityID(kind))
	}
	return problems
}

func errEntityID(kind work.EntityType) fault.Field {
	return fault.Field{
		Field: "entity_id", Problem: fmt.Sprintf("must be the ID of a %s: %s…", kind, kind.Prefix()),
	}
}

// errAnyEntityID is the fault of an ID that is of no type which has verifications.
func errAnyEntityID() fault.Field {
	var names []string
	for kind := work.EntityProject; kind <= work.EntityArtifact; kind++ {
		names = append(names, fmt.Sprintf("%s: %s…", kind, kind.Prefix()))
	}
	last := len(names) - 1
	return fault.Field{
		Field:   "entity_id",
		Problem: "must be the ID of a " + strings.Join(names[:last], ", ") + " or " + names[last],
	}
}

const verificationsPath = "/api/v1/verifications"

// entityErrors are the codes for entities that do not exist.
var entityErrors = []fault.Code{
	fault.ProjectNotFound, fault.ChangesetNotFound, fault.ContributionNotFound,
	fault.ArtifactNotFound,
}

var verificationOperations = []*Operation{
	withValidation(declare[None, VerificationsData](Operation{
		Name: "verification.list", Method: "GET", Path: verificationsPath,
		Tool:    "verification.list",
		ToolDoc: "List the verification records of an entity or a project, newest first.",
		Auth:    Optional, Category: CategoryRead, Expensive: true,
		Statuses: []int{200},
		Query: slices.Concat(pageParams(verificationsPage), []Param{
			{
				Name: "entity_type", Check: "enum=PROJECT|CHANGESET|CONTRIBUTION|ARTIFACT",
				Doc: "Only records about entities of this type.",
			},
			{Name: "entity_id", Check: "chars=1..40", Doc: "Only records about this entity."},
			{
				Name: "project", Check: "chars=1..40",
				Doc: "Only records about this project and its entities.",
			},
		}),
		Errors: slices.Concat(entityErrors, []fault.Code{
			fault.PaginationCursorInvalid, fault.PaginationLimitInvalid,
		}),
		Tag: "verifications", Summary: "List verification records",
		Doc: "Lists verification records that were not deleted, newest first: of one entity, " +
			"with its status and a summary by outcome; of a project; or of all PUBLIC " +
			"projects, newest project first. A page may contain fewer entries than its limit, " +
			"or none, although more pages follow.",
	}, listVerifications), validateEntity),
	declare[CreateVerification, VerificationData](Operation{
		Name: "verification.create", Method: "POST", Path: verificationsPath,
		Tool: "verification.create",
		ToolDoc: "Create an immutable verification record for a project or an entity that you " +
			"tested. The service does not check its claim.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{201},
		Errors: slices.Concat(entityErrors, []fault.Code{
			fault.RoleRequired, fault.Forbidden, fault.ProjectArchived, fault.QuotaExceeded,
		}),
		Tag: "verifications", Summary: "Create a verification record",
		Doc: "Creates an immutable verification record for a project or an entity in it. Any " +
			"agent that can read it may do this; PRIVATE projects require the role " +
			"CONTRIBUTOR. It records what its source claims; the service does not check it.",
	}, createVerification),
	declare[None, VerificationData](Operation{
		Name: "verification.read", Method: "GET", Path: verificationsPath + "/{verification}",
		Tool:    "verification.read",
		ToolDoc: "Get a verification record.",
		Auth:    Optional, Category: CategoryRead, Statuses: []int{200},
		Params: []Param{{Name: "verification", Doc: "The record's ID."}},
		Errors: []fault.Code{fault.VerificationNotFound},
		Tag:    "verifications", Summary: "Get a verification record",
		Doc: "Returns one verification record.",
	}, readVerification),
}

const (
	// verificationsPage is the default page of verification records.
	verificationsPage = 50
	// verificationsPageBytes is the size of the texts after which a page ends.
	verificationsPageBytes = 4 << 20
	// verificationProjectsMax is the maximum number of PUBLIC projects that one request reads.
	verificationProjectsMax = 200
)

// verification returns the wire form.
func (c *Call) verification(p *work.Project, from *work.Verification) Verification {
	said := &from.Finding
	return Verification{
		ID: from.ID.Format(id.Verification), ProjectID: p.ID.Format(id.Project),
		EntityType: said.Entity.Type.String(),
		EntityID:   said.Entity.ID.Format(said.Entity.Type.Prefix()),
		Kind:       said.Kind.String(), Outcome: said.Outcome.String(),
		Method: said.Method, Summary: said.Summary, Evidence: orEmpty(said.Evidence),
		ExternalSource: textOrNil(said.Source), AttestationReference: textOrNil(said.Reference),
		Author: c.agentRef(from.Author), CreatedAt: Time(from.CreatedAt),
		DeletionMark: c.deletionMark(from.Deleted),
		Origin:       recordOrigin(id.Verification, p.VerificationOrigin(from)),
	}
}

// textOrNil returns nil for the empty text.
func textOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// entity finds an entity and its project for a caller that may see it. The error is that for a
// missing entity.
func (c *Call) entity(kind work.EntityType, entityID id.ID) (p *work.Project, err error) {
	if kind == work.EntityProject {
		p, err = c.Service.Engine.ProjectFor(entityID, c.Agent)
	} else {
		p, err = c.Service.Engine.Owner(kind.Prefix(), entityID, c.Agent)
	}
	if err == nil && p == nil {
		err = kind.Missing()
	}
	return p, err
}

// finding returns the form for the rules. The ID has already been validated.
func (b *CreateVerification) finding() work.Finding {
	kind := work.ParseEntityType(b.EntityType)
	return work.Finding{
		Entity: work.Entity{Type: kind, ID: parsed(kind.Prefix(), b.EntityID)},
		Kind:   work.ParseVerificationKind(b.Kind), Outcome: work.ParseOutcome(b.Outcome),
		Method: b.Method, Summary: b.Summary, Evidence: b.Evidence,
		Source: b.ExternalSource, Reference: b.AttestationReference,
	}
}

func createVerification(c *Call, body *CreateVerification) (Reply, error) {
	kind := work.ParseEntityType(body.EntityType)
	entityID := parsed(kind.Prefix(), body.EntityID)
	view, err := c.entity(kind, entityID)
	if err != nil {
		return Reply{}, err
	}
	c.named = view.ID
	done, err := c.do(view.ID, &work.CreateVerification{Finding: body.finding()}, nil)
	if err != nil {
		return Reply{}, err
	}
	record, ok := done.Project.Verification(done.Result.Subject)
	if !ok {
		return Reply{}, fmt.Errorf("verification: %w", errUnknownResult)
	}
	return Reply{
		Data:     VerificationData{Verification: c.verification(done.Project, record)},
		Replayed: done.Replayed,
	}, nil
}

func readVerification(c *Call, _ *None) (Reply, error) {
	view, wanted, err := c.owner(id.Verification, errVerificationNotFound)
	if err != nil {
		return Reply{}, err
	}
	record, ok := view.Verification(wanted)
	if !ok || !view.Readable(c.Agent) {
		return Reply{}, errVerificationNotFound()
	}
	return Reply{Data: VerificationData{Verification: c.verification(view, record)}}, nil
}

func errVerificationNotFound() error {
	return fault.New(fault.VerificationNotFound, "There is no such verification record.")
}

// verificationPage collects a page of verification records.
type verificationPage struct {
	call  *Call
	limit int
	// asked limits the list to an entity, or to a type if it has no ID.
	asked work.Entity
	data  VerificationsData
	bytes int
	// before is the last record on the page.
	before id.ID
}

// take adds a record to the page, and reports whether there was room.
func (p *verificationPage) take(view *work.Project, record *work.Verification) bool {
	about := record.Finding.Entity.Type
	if p.asked.ID.IsZero() && p.asked.Type != 0 && about != p.asked.Type {
		return true
	}
	if len(p.data.Verifications) == p.limit || p.bytes >= verificationsPageBytes {
		return false
	}
	p.bytes, p.before = p.bytes+record.Bytes(), record.ID
	p.data.Verifications = append(p.data.Verifications, p.call.verification(view, record))
	return true
}

// of adds the records of one project, and reports whether it reached their end.
func (p *verificationPage) of(view *work.Project) (whole bool) {
	whole = true
	take := func(record *work.Verification) bool {
		whole = p.take(view, record)
		return whole
	}
	if p.asked.ID.IsZero() {
		view.Verifications(p.before, take)
	} else {
		view.VerificationsOf(p.asked, p.before, take)
	}
	return whole
}

func listVerifications(c *Call, _ *None) (Reply, error) {
	after, limit, err := c.page(verificationsPage)
	if err != nil {
		return Reply{}, err
	}
	page := verificationPage{
		call: c, limit: limit, data: VerificationsData{Verifications: []Verification{}},
	}
	_, inProject := c.Query["project"]
	if _, ofEntity := c.Query["entity_id"]; !inProject && !ofEntity {
		page.asked.Type = work.ParseEntityType(c.Query["entity_type"])
		if err := page.public(after); err != nil {
			return Reply{}, err
		}
		return Reply{Data: page.data}, nil
	}
	view, asked, err := c.verificationsAsked()
	if err != nil {
		return Reply{}, err
	}
	if after != nil {
		if len(after) != len(page.before) {
			return Reply{}, errCursorInvalid()
		}
		page.before = id.ID(after)
	}
	if page.asked = asked; !page.of(view) {
		page.data.NextCursor = c.next(page.before[:])
	}
	if !asked.ID.IsZero() {
		summary := verificationSummary(view.Evidence(asked))
		page.data.Status, page.data.Verification = &summary.Status, &summary
	}
	return Reply{Data: page.data}, nil
}

// public adds the records of all PUBLIC projects, starting with the newest project. One request
// reads a limited number of projects.
func (p *verificationPage) public(after []byte) error {
	var at index.Position
	if after != nil {
		const positionBytes = 8 + len(at.ID)
		if len(after) != positionBytes+len(p.before) {
			return errCursorInvalid()
		}
		at = index.Position{
			Millis: int64(binary.BigEndian.Uint64(after)), ID: id.ID(after[8:positionBytes]),
		}
		p.before = id.ID(after[positionBytes:])
		if whole, err := p.publicOne(at.ID); err != nil || !whole {
			p.rest(at)
			return err
		}
	}
	engine := p.call.Service.Engine
	for range verificationProjectsMax / verificationsPage {
		views, err := engine.PublicProjects(at, verificationsPage)
		if err != nil {
			return err
		}
		for _, view := range views {
			at, p.before = index.Position{Millis: view.CreatedAt, ID: view.ID}, id.ID{}
			if !view.HasVerifications() {
				continue
			}
			if whole, err := p.publicOne(view.ID); err != nil || !whole {
				p.rest(at)
				return err
			}
		}
		if len(views) < verificationsPage {
			return nil
		}
	}
	p.rest(at)
	return nil
}

// publicOne adds the records of one project while it is PUBLIC.
func (p *verificationPage) publicOne(project id.ID) (whole bool, err error) {
	view, err := Intact(p.call.Service.Engine.Project(project))
	if err != nil || view == nil || view.Visibility != work.Public {
		return true, err
	}
	return p.of(view), nil
}

// rest sets where the next page continues: in the project at a position, after the last record.
func (p *verificationPage) rest(at index.Position) {
	position := binary.BigEndian.AppendUint64(nil, uint64(at.Millis))
	p.data.NextCursor = p.call.next(append(append(position, at.ID[:]...), p.before[:]...))
}

// verificationsAsked reads the parameters of the list: the project, and the entity if there is
// one. A type alone filters the list of a project. The type can be omitted if the ID implies it.
func (c *Call) verificationsAsked() (p *work.Project, asked work.Entity, err error) {
	projectText, inProject := c.Query["project"]
	project, _ := id.Parse(id.Project, projectText)
	asked, err = c.entityAsked()
	if err != nil {
		return nil, asked, err
	}
	if asked.ID.IsZero() {
		p, err = c.entity(work.EntityProject, project)
		return p, asked, err
	}
	p, err = c.entity(asked.Type, asked.ID)
	if err == nil && inProject && p.ID != project {
		err = asked.Type.Missing()
	}
	return p, asked, err
}

// entityAsked reads the parameters of an entity: VALIDATION_FAILED. Without entity_id it has no ID.
func (c *Call) entityAsked() (asked work.Entity, err error) {
	text, ofEntity := c.Query["entity_id"]
	asked.Type = work.ParseEntityType(c.Query["entity_type"])
	if !ofEntity {
		return asked, nil
	}
	if asked.Type == 0 {
		asked.Type = work.EntityTypeOf(text)
	}
	if asked.Type == 0 {
		return asked, fault.Invalid(errAnyEntityID())
	}
	if _, ok := id.Parse(asked.Type.Prefix(), text); !ok {
		return asked, fault.Invalid(errEntityID(asked.Type))
	}
	asked.ID = named(asked.Type.Prefix(), text)
	return asked, nil
}

// validateEntity validates the query parameters of the list: VALIDATION_FAILED.
func validateEntity(_ *None, c *Call) []error {
	_, err := c.entityAsked()
	return []error{err}
}
