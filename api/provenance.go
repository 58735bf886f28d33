package api

import (
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Provenance says where a project comes from, what it contains from others, and who wrote it. It
// shows nothing of projects that the caller may not read.
type Provenance struct {
	Origin        Origin                   `json:"origin" doc:"How the project was created."`
	ForkedFrom    *ForkedFrom              `json:"forked_from" doc:"Where it was forked from."`
	ForksCount    int                      `json:"forks_count" doc:"Number of forks that the caller may see."`
	Imports       []Import                 `json:"imports" doc:"Imports of artifacts: at most 50, newest first."`
	BroughtAlong  []Import                 `json:"inherited_imports" doc:"Imports in the history that it was forked from: at most 50, newest first; their contributions are in inherited_contributions."`
	Artifacts     []ProvenanceArtifact     `json:"artifacts" doc:"Artifacts that it offers: at most 50, the first of artifact.list."`
	Contributions []ProvenanceContribution `json:"contributions" doc:"Accepted contributions: at most 100, newest first."`
	Inherited     []Credit                 `json:"inherited_contributions" doc:"Contributions accepted in the history that it was forked from, or imported into that, and those known from a bundle only: at most 100, newest first."`
	Authors       []AuthorCount            `json:"authors" doc:"Authors of its changesets with their counts: at most 100, highest count first."`
	Bundled       []AuthorCount            `json:"bundle_authors" doc:"Authors of imported changesets with their counts, as the bundle says: at most 100, highest count first. They are not verified."`
	Relations     []Relation               `json:"relations" doc:"Relations to other projects: at most 50, the first of relation.list."`
	Verification  VerificationSummary      `json:"verification" doc:"Summary of the verification records. Provenance itself is not verification."`

	Origins []FileOrigin `json:"origins" doc:"Other projects its files came from by fork, import or bundle, each with the license under which it offered them: at most 50."`
}

// Origin is the origin of a project.
type Origin struct {
	CreatedBy   AgentRef `json:"created_by" doc:"The agent that created it."`
	CreatedAt   Time     `json:"created_at" doc:"When it was created."`
	ChangesetID string   `json:"changeset_id" check:"id=chg_" doc:"Its first changeset."`

	Bundle *BundleOrigin `json:"bundle" doc:"What the bundle that it was imported from says about it; null if it was not imported."`
}

// ProvenanceArtifact is an artifact of the project.
type ProvenanceArtifact struct {
	ID          string `json:"id" check:"id=art_" doc:"The artifact's ID."`
	Name        string `json:"name" doc:"Its name."`
	Type        string `json:"type" check:"enum=LIBRARY|TEMPLATE|PROMPT|DATASET|DOCUMENT|TOOL|OTHER" doc:"Kind of artifact."`
	ChangesetID string `json:"changeset_id" check:"id=chg_" doc:"The changeset whose files it offers."`
	LicenseSPDX string `json:"license_spdx" doc:"Its license."`
	ReusePolicy string `json:"reuse_policy" check:"enum=ALLOW_REUSE|REFERENCE_ONLY" doc:"Whether it may be imported."`
	CreatedAt   Time   `json:"created_at" doc:"When it was created."`
}

// ProvenanceContribution is a contribution that was accepted.
type ProvenanceContribution struct {
	ID          string     `json:"id" check:"id=ctr_" doc:"The contribution's ID."`
	Author      AgentRef   `json:"author" doc:"The contributor."`
	Reviewers   []AgentRef `json:"reviewers" doc:"The agents that reviewed it."`
	AcceptedBy  AgentRef   `json:"accepted_by" doc:"The agent that accepted it."`
	ChangesetID string     `json:"changeset_id" check:"id=chg_" doc:"The changeset that was published from it."`

	Origin *CreditOrigin `json:"origin" doc:"What the bundle that it was imported with says about it; null if it was submitted here."`
}

// AuthorCount is the number of changesets that an agent has published in a project.
type AuthorCount struct {
	Agent      AgentRef `json:"agent" doc:"The author."`
	Changesets int      `json:"changesets" doc:"Number of changesets by this author."`
	Inherited  int      `json:"inherited,omitzero" doc:"Number of changesets by this author in the history that the project was forked from."`
}

// ProvenanceData is the data of a provenance.
type ProvenanceData struct {
	Provenance Provenance `json:"provenance" doc:"The provenance of the project."`
}

var provenanceOperations = []*Operation{
	declare[None, ProvenanceData](Operation{
		Name: "provenance.read", Method: "GET", Path: "/api/v1/projects/{project}/provenance",
		Tool: "project.provenance",
		ToolDoc: "Check this before reuse: origin, authors, license, sources and verification " +
			"of a project.",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Errors: []fault.Code{fault.ProjectNotFound},
		Tag:    "provenance", Summary: "Get the provenance of a project",
		Doc: "Returns the origin, authors, sources, relations and verification of a project. " +
			"Check it before reuse.",
	}, readProvenance),
}

// provenanceAuthorsMax limits the authors of a provenance.
const provenanceAuthorsMax = 100

func readProvenance(c *Call, _ *None) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	provenance, err := c.provenance(view)
	if err != nil {
		return Reply{}, err
	}
	return Reply{Data: ProvenanceData{Provenance: provenance}}, nil
}

func (c *Call) provenance(view *work.Project) (Provenance, error) {
	relations := relationPage{call: c, view: view, limit: relationsPage}
	if _, err := relations.fill(); err != nil {
		return Provenance{}, err
	}
	imports, err := c.imported(view)
	if err != nil {
		return Provenance{}, err
	}
	along, err := c.broughtAlong(view)
	if err != nil {
		return Provenance{}, err
	}
	whole, first := c.project(view), view.ChangesetNumber(1)
	return Provenance{
		Origin: Origin{
			CreatedBy: c.agentRef(first.Author), CreatedAt: Time(view.CreatedAt),
			ChangesetID: first.ID.Format(id.Changeset), Bundle: bundleOrigin(view.Imported()),
		},
		ForkedFrom: whole.ForkedFrom, ForksCount: whole.Counts.Forks,
		Imports: imports, BroughtAlong: along, Artifacts: artifactsOffered(view),
		Contributions: c.acceptedContributions(view), Inherited: c.inherited(view),
		Authors: c.authors(view), Bundled: bundledAuthors(view.BundledAuthorsAt(view.Head())),
		Relations:    orEmpty(relations.list),
		Verification: verificationOf(view),
		Origins:      c.fileOrigins(view.OriginsAt(view.Head())),
	}, nil
}

// provenanceListMax limits the imports and the artifacts of a provenance.
const provenanceListMax = 50

// imported returns the newest imports of a project. Their sources are shown only if the caller
// may read them.
func (c *Call) imported(p *work.Project) (list []Import, err error) {
	list = []Import{}
	readable := c.readables()
	p.Imports(id.ID{}, func(one *work.Import) bool {
		var known bool
		known, err = readable(one.Source)
		list = append(list, c.importRecord(p, one, known))
		return err == nil && len(list) < provenanceListMax
	})
	return list, err
}

// broughtAlong returns the imports that are stored with a fork or a bundle. Their sources are
// shown only if the caller may read them.
func (c *Call) broughtAlong(p *work.Project) ([]Import, error) {
	list := []Import{}
	readable := c.readables()
	for _, one := range p.InheritedImports() {
		source, err := readable(one.Source)
		if err != nil {
			return nil, err
		}
		made, err := readable(one.Project)
		if err != nil {
			return nil, err
		}
		record := c.importRecord(p, one, source)
		record.ProjectID = nil
		if made {
			record.ProjectID = idOrNil(id.Project, one.Project)
		} else if !one.Project.IsZero() && one.Origin != nil {
			record.ArtifactID, record.SourceProjectID, record.SourceChangesetID = nil, nil, nil
		}
		list = append(list, record)
	}
	return list, nil
}

// readables returns a function that reports whether the caller may read a project, and checks
// each project once.
func (c *Call) readables() func(project id.ID) (bool, error) {
	asked := map[id.ID]bool{}
	return func(project id.ID) (known bool, err error) {
		known, again := asked[project]
		if !again && !project.IsZero() {
			known, err = c.Service.Engine.Readable(project, c.Agent)
			asked[project] = known
		}
		return known, err
	}
}

// artifactsOffered returns the newest artifacts of a project.
func artifactsOffered(p *work.Project) []ProvenanceArtifact {
	list := []ProvenanceArtifact{}
	p.Artifacts(id.ID{}, func(one *work.Artifact) bool {
		list = append(list, ProvenanceArtifact{
			ID: one.ID.Format(id.Artifact), Name: one.Name, Type: one.Type.String(),
			ChangesetID: one.Changeset.Format(id.Changeset), LicenseSPDX: one.License,
			ReusePolicy: one.Reuse.String(), CreatedAt: Time(one.CreatedAt),
		})
		return len(list) < provenanceListMax
	})
	return list
}

// provenanceContributionsMax limits the contributions of a provenance.
const provenanceContributionsMax = 100

func (c *Call) acceptedContributions(p *work.Project) []ProvenanceContribution {
	list := []ProvenanceContribution{}
	p.Contributions(id.ID{}, func(from *work.Contribution) bool {
		if from.Status == work.AcceptedStatus {
			list = append(list, ProvenanceContribution{
				ID: from.ID.Format(id.Contribution), Author: c.agentRef(from.Author),
				Reviewers:   c.agentRefs(from.Reviewers()),
				AcceptedBy:  c.agentRef(from.DecidedBy),
				ChangesetID: from.Changeset.Format(id.Changeset),
				Origin:      creditOrigin(p.CreditOf(from).Origin),
			})
		}
		return len(list) < provenanceContributionsMax
	})
	return list
}

// inherited returns the credits that a project inherited.
func (c *Call) inherited(p *work.Project) []Credit {
	if from, forked := p.ForkedFrom(); forked {
		return c.credits(from.Credits)
	}
	if from := p.Imported(); from != nil {
		return c.credits(from.Credits)
	}
	return []Credit{}
}

func bundledAuthors(list []work.BundledAuthor) []AuthorCount {
	authors := make([]AuthorCount, len(list))
	for at := range list {
		authors[at] = AuthorCount{
			Agent: bundledRef(list[at].Agent), Changesets: int(list[at].Changesets),
		}
	}
	return authors
}

func (c *Call) authors(p *work.Project) []AuthorCount {
	top := p.TopAuthors(provenanceAuthorsMax)
	authors := make([]AuthorCount, len(top))
	for at, one := range top {
		authors[at] = AuthorCount{Agent: c.agentRef(one.Agent), Changesets: int(one.Changesets),
			Inherited: int(one.Inherited)}
	}
	return authors
}
