package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"maps"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// ImportProject is the body of project.import.
type ImportProject struct {
	// A bundle as project.export returns it.
	Bundle BundleInput `json:"bundle" check:"required"`
	// Who can see the new project.
	Visibility string `json:"visibility" check:"required,enum=PUBLIC|UNLISTED|PRIVATE"`
	// Its name; that of the bundle if absent.
	Name *string `json:"name" check:"chars=1..120,line"`
	// Description; that of the bundle if absent.
	Description *string `json:"description" check:"chars=0..4000,text"`
	// Required for PUBLIC and UNLISTED; REFERENCE_ONLY for PRIVATE if absent.
	ReusePolicy string `json:"reuse_policy" check:"enum=ALLOW_REUSE|REFERENCE_ONLY"`
	// SPDX expression, NOASSERTION or NONE; that of the bundle if absent.
	LicenseSPDX *string `json:"license_spdx"`
}

// ImportedData is the data of project.import. IDs is bounded, because a history may be long; the
// records have their origins as well.
type ImportedData struct {
	// The new project.
	Project Project `json:"project"`
	// Its head, without operations.
	Changeset Changeset `json:"changeset"`
	// Counts of what was imported.
	Imported ImportedCounts `json:"imported"`
	// Counts of what was not imported.
	LeftOut LeftOut `json:"left_out"`
	// New IDs by the IDs in the bundle, without revisions, reviews and relations: at most 1000,
	// changesets last and the newest of them first.
	IDs map[string]string `json:"id_map"`
	// Whether id_map is complete. The origin of each record also has its original ID.
	Whole bool `json:"id_map_complete"`
}

// ImportedCounts counts the imported records.
type ImportedCounts struct {
	// Changesets; 1 if the bundle does not have the contents of the history.
	Changesets int `json:"changesets"`
	// Files at the head.
	Files int `json:"files"`
	// Number of handoffs.
	Handoffs int `json:"handoffs"`
	// Number of tasks.
	Tasks int `json:"tasks"`
	// Number of artifacts.
	Artifacts int `json:"artifacts"`
	// Verification records.
	Verifications int `json:"verifications"`
	// Relations to other projects.
	Relations int `json:"relations"`
	// Number of discussions.
	Discussions int `json:"discussions"`
	// Number of comments.
	Comments int `json:"comments"`
	// Number of contributions.
	Contributions int `json:"contributions"`
	// Imports of artifacts.
	Imports int `json:"imports"`
}

// LeftOut counts the records of a bundle that were not imported.
type LeftOut struct {
	// Changesets before the head, if the bundle does not have their contents.
	Changesets int `json:"changesets"`
	// Artifacts whose files differ from those at the head, if only the head was imported.
	Artifacts int `json:"artifacts"`
	// Contributions, if the bundle does not have the contents of the history; the provenance credits
	// the accepted ones.
	Contributions int `json:"contributions"`
	// Verification records about entities that were not imported.
	Verifications int `json:"verifications"`
	// Relations to projects that the caller cannot read.
	Relations int `json:"relations"`
}

// idMapMax bounds the IDs that an answer names.
const idMapMax = 1000

// Reset implements jsonschema.Resetter.
func (b *ImportProject) Reset() {
	*b = ImportProject{Bundle: BundleInput{staged: b.Bundle.staged}}
}

// Validate implements jsonschema.Validator. It adds the faults of the bundle to those of the
// request.
func (b *ImportProject) Validate(known []fault.Field) error {
	i := &importer{faults: known}
	if b.Bundle.read {
		i.read(b)
	}
	return i.refusal()
}

func importProject(c *Call, body *ImportProject) (Reply, error) {
	i := &importer{call: c}
	if err := i.accept(body); err != nil {
		return Reply{}, err
	}
	project := c.requestProjectID()
	if c.Idempotency != nil {
		var err error
		if project, err = c.newProjectID(); err != nil {
			return Reply{}, err
		}
	}
	if err := i.prepare(project); err != nil {
		return Reply{}, err
	}
	return c.answer(project, &i.command, func(p *work.Project, r work.Result) (Reply, error) {
		return Reply{Status: 201, Data: i.data(p, r)}, nil
	})
}

// accept makes the command of a valid bundle.
func (i *importer) accept(body *ImportProject) error {
	i.read(body)
	if err := i.refusal(); err != nil {
		return err
	}
	return i.leaveOutHidden()
}

// prepare makes the events of the new project BEFORE the command is given to it. A project that
// exists has the answer to an earlier request with the key.
func (i *importer) prepare(project id.ID) error {
	i.command.ID = project
	engine := i.call.Service.Engine
	if view, err := engine.Project(project); view != nil || err != nil {
		return err
	}
	return i.command.Prepare(engine.Stamp(i.call.Agent, project))
}

// requestProjectID returns the ID of the new project for a request without an Idempotency-Key. Like
// those of newProjectID, it is derived from the secret of the server.
func (c *Call) requestProjectID() id.ID {
	mac := hmac.New(sha256.New, c.Service.Engine.Secret())
	mac.Write([]byte("project id of a request"))
	mac.Write(c.Agent[:])
	mac.Write([]byte(c.RequestID))
	return id.New(c.Now, [10]byte(mac.Sum(nil)))
}

// data returns the data of the answer.
func (i *importer) data(p *work.Project, r work.Result) ImportedData {
	head, _ := p.Changeset(r.Changeset)
	kept := p.Imported()
	data := ImportedData{
		Project: i.call.project(p), Changeset: i.call.changesetHead(p, head),
		Imported: ImportedCounts{
			Changesets: p.ChangesetsCount(), Files: p.FilesCount(), Handoffs: len(kept.Handoffs),
			Tasks: len(kept.Tasks), Artifacts: len(kept.Artifacts),
			Verifications: len(kept.Verifications), Relations: len(i.command.Relations),
			Discussions: len(kept.Discussions), Comments: len(kept.Comments),
			Contributions: len(kept.Contributions), Imports: len(i.command.Imports),
		},
		LeftOut: i.leftOut,
	}
	data.LeftOut.Artifacts = len(i.bundle.Artifacts) - len(kept.Artifacts)
	data.LeftOut.Verifications = len(i.bundle.Verification) - len(kept.Verifications)
	data.LeftOut.Contributions = len(i.bundle.Contributions) - len(kept.Contributions)
	ids := idMap{pairs: map[string]string{}}
	for _, one := range i.command.NewIDs {
		if one.Kind != id.Changeset {
			ids.add(one)
		}
	}
	for _, one := range slices.Backward(i.command.NewIDs) {
		if one.Kind == id.Changeset {
			ids.add(one)
		}
	}
	data.IDs, data.Whole = ids.pairs, !ids.full
	return data
}

type idMap struct {
	pairs map[string]string
	full  bool
}

func (m *idMap) add(one work.NewID) {
	if len(m.pairs) >= idMapMax {
		m.full = true
		return
	}
	m.pairs[one.Old.Format(one.Kind)] = one.New.Format(one.Kind)
}

// importer reads a bundle into a command and collects its faults.
type importer struct {
	// call is nil if the request is already refused.
	call    *Call
	bundle  *Bundle
	staged  *stagedContents
	command work.ImportProject
	leftOut LeftOut
	// faults are the faults to report; found counts all. license is the fault of the license in the
	// body, which has its own code if it is the only fault.
	faults  []fault.Field
	found   int
	license error
	// named are the contents that operations name.
	named map[work.Hash]bool
	// removed are the marks of removed contents, by the hashes in the bundle.
	removed map[work.Hash]work.Blob
	// contributors has the origins of contributions that were imported with an earlier bundle.
	contributors map[string]*ContributionOrigin
}

// bundleFaultsMax is the number of faults that one answer reports.
const bundleFaultsMax = 100

func (i *importer) fault(field, problem string) { i.refuse("bundle."+field, problem) }

func (i *importer) refuse(field, problem string) {
	i.found++
	if len(i.faults) < bundleFaultsMax {
		one := []fault.Field{{Field: field, Problem: problem}}
		i.faults = append(i.faults, fault.Unreported(i.faults, one)...)
	}
}

// read makes the command, as far as the bundle can be read.
func (i *importer) read(body *ImportProject) {
	i.bundle, i.staged = &body.Bundle.bundle, body.Bundle.staged
	i.contributors = map[string]*ContributionOrigin{}
	for nth := range i.bundle.Contributions {
		i.contributors[i.bundle.Contributions[nth].ID] = i.bundle.Contributions[nth].Origin
	}
	i.readAgents()
	i.readProject(body)
	i.readContents()
	i.readHistory()
	i.command.Contributions = readList(
		i, "contributions", i.bundle.Contributions, i.readContribution)
	i.requireNamed()
	i.readImports()
	i.readInherited()
	i.readState()
	i.readHandoffs()
	c, from := &i.command, i.bundle
	c.Tasks = readRecords(i, id.Task, "tasks", from.Tasks, i.readTask)
	c.Artifacts = readRecords(i, id.Artifact, "artifacts", from.Artifacts, i.readArtifact)
	c.Verifications = readRecords(
		i, id.Verification, "verification", from.Verification, i.readVerification)
	c.Discussions = readRecords(
		i, id.Discussion, "discussions", from.Discussions, i.readDiscussion)
	c.Comments = readRecords(i, id.Comment, "comments", from.Comments, i.readComment)
	c.Relations = readRecords(
		i, id.Relation, "relationships", from.Relationships, i.readRelation)
}

// refusal returns all faults of form and of rules as VALIDATION_FAILED. If the only fault is the
// license of the body, it returns INVALID_LICENSE.
func (i *importer) refusal() error {
	if len(i.faults) == 0 {
		return nil
	}
	faults := i.faults
	if i.bundle != nil {
		faults = i.command.Validate(faults)
	}
	if i.license != nil && len(faults) == 1 {
		return i.license
	}
	return fault.Invalid(faults...)
}

// readAgents refuses invalid handles, once for all records of the agent.
func (i *importer) readAgents() {
	for _, name := range slices.Sorted(maps.Keys(i.bundle.Agents)) {
		found := i.found
		i.id(id.Agent, name, "agents."+name)
		if i.handle(i.bundle.Agents[name], "agents."+name); i.found > found {
			delete(i.bundle.Agents, name)
		}
	}
}

func (i *importer) readProject(body *ImportProject) {
	from := &i.bundle.Project
	input := CreateProject{
		Name: from.Name, Description: from.Description, Visibility: work.Private.String(),
		LicenseSPDX: from.LicenseSPDX, Topics: from.Topics,
	}
	checkForm(i, "project", &input)
	if body.Name != nil {
		input.Name = *body.Name
	}
	if body.Description != nil {
		input.Description = *body.Description
	}
	license, err := canonicalLicense(input.LicenseSPDX)
	original := license
	if err != nil && body.LicenseSPDX == nil {
		i.fault("project.license_spdx", noLicense)
	}
	if body.LicenseSPDX != nil {
		if license, i.license = canonicalLicense(*body.LicenseSPDX); i.license != nil {
			i.refuse("license_spdx", noLicense)
		}
	}
	i.command.Kind = work.Standard
	if from.Kind == work.Community.String() {
		i.command.Kind = work.Community
	}
	i.command.About = work.About{
		Name: input.Name, Description: input.Description, License: license, Topics: input.Topics,
		Visibility: work.ParseVisibility(body.Visibility),
		Reuse:      work.ParseReuse(body.ReusePolicy), Status: work.Active,
	}
	if from.Status == work.Archived.String() {
		i.command.About.Status = work.Archived
	}
	i.command.Source = i.id(id.Project, from.ID, "project.id")
	i.command.Imported = work.Imported{
		Project: work.Origin{
			ID: i.command.Source, Agent: parsed(id.Agent, from.Owner.AgentID),
			Handle:    i.handle(from.Owner.Handle, "project.owner.handle"),
			CreatedAt: i.time(from.CreatedAt, "project.created_at"),
		},
		ExportedAt: i.time(i.bundle.ExportedAt, "exported_at"), Whole: i.bundle.Blobs != nil,
		License: original,
	}
	if from.ForkedFrom != nil {
		i.command.Imported.ForkedFrom = parsed(id.Project, from.ForkedFrom.ProjectID)
		i.command.Imported.ForkedAt = parsed(id.Changeset, from.ForkedFrom.ChangesetID)
	}
	i.readFirst()
}

// readFirst reads the first bundle in a chain of imports, if the project was imported from one.
func (i *importer) readFirst() {
	earlier := i.bundle.Provenance.Origin.Bundle
	if earlier == nil {
		return
	}
	first, field := earlier.First, "provenance.origin.bundle.first"
	if first == nil {
		field = "provenance.origin.bundle"
		first = &FirstOrigin{
			ProjectID: earlier.ProjectID, Owner: earlier.Owner, CreatedAt: earlier.CreatedAt,
			ForkedFrom: earlier.ForkedFrom,
		}
	}
	owner := i.agent(&first.Owner, field+".owner")
	made := &work.FirstOrigin{Project: work.Origin{
		ID: i.id(id.Project, first.ProjectID, field+".project_id"), Agent: owner.Agent,
		Handle: owner.Handle, CreatedAt: i.time(first.CreatedAt, field+".created_at"),
	}}
	if first.ForkedFrom != nil {
		made.ForkedFrom = i.id(id.Project, first.ForkedFrom.ProjectID,
			field+".forked_from.project_id")
		made.ForkedAt = i.id(id.Changeset, first.ForkedFrom.ChangesetID,
			field+".forked_from.changeset_id")
	}
	i.command.Imported.First = made
}
