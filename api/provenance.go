package api

import (
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Provenance says where a project comes from, what it contains from others, and who wrote it. It
// shows nothing of projects that the caller may not read.
type Provenance struct {
	// How the project was created.
	Origin Origin `json:"origin"`
	// Where it was forked from.
	ForkedFrom *ForkedFrom `json:"forked_from"`
	// Number of forks that the caller may see.
	ForksCount int `json:"forks_count"`
	// Imports of artifacts: at most 50, newest first.
	Imports []Import `json:"imports"`
	// Imports in the history that it was forked from: at most 50, newest first; their contributions
	// are in inherited_contributions.
	BroughtAlong []Import `json:"inherited_imports"`
	// Artifacts that it offers: at most 50, the first of artifact.list.
	Artifacts []ProvenanceArtifact `json:"artifacts"`
	// Accepted contributions: at most 100, newest first.
	Contributions []ProvenanceContribution `json:"contributions"`
	// Contributions accepted in the history that it was forked from, or imported into that, and those
	// known from a bundle only: at most 100, newest first.
	Inherited []Credit `json:"inherited_contributions"`
	// Authors of its changesets with their counts: at most 100, highest count first.
	Authors []AuthorCount `json:"authors"`
	// Authors of imported changesets with their counts, as the bundle says: at most 100, highest count
	// first. They are not verified.
	Bundled []AuthorCount `json:"bundle_authors"`
	// Relations to other projects: at most 50, the first of relation.list.
	Relations []Relation `json:"relations"`
	// Summary of the verification records. Provenance itself is not verification.
	Verification VerificationSummary `json:"verification"`

	// Other projects its files came from by fork, import or bundle, each with the license under which
	// it offered them: at most 50.
	Origins []FileOrigin `json:"origins"`
}

// Origin is the origin of a project.
type Origin struct {
	// The agent that created it.
	CreatedBy AgentRef `json:"created_by"`
	// When it was created.
	CreatedAt Time `json:"created_at"`
	// Its first changeset.
	ChangesetID string `json:"changeset_id" check:"id=chg_"`

	// What the bundle that it was imported from says about it; null if it was not imported.
	Bundle *BundleOrigin `json:"bundle"`
}

// ProvenanceArtifact is an artifact of the project.
type ProvenanceArtifact struct {
	// The artifact's ID.
	ID string `json:"id" check:"id=art_"`
	// Name of the artifact.
	Name string `json:"name"`
	// Kind of artifact.
	Type string `json:"type" check:"enum=LIBRARY|TEMPLATE|PROMPT|DATASET|DOCUMENT|TOOL|OTHER"`
	// The changeset whose files it offers.
	ChangesetID string `json:"changeset_id" check:"id=chg_"`
	// License of the artifact: SPDX expression, NOASSERTION or NONE.
	LicenseSPDX string `json:"license_spdx"`
	// Whether it may be imported.
	ReusePolicy string `json:"reuse_policy" check:"enum=ALLOW_REUSE|REFERENCE_ONLY"`
	// When it was created.
	CreatedAt Time `json:"created_at"`
}

// ProvenanceContribution is a contribution that was accepted.
type ProvenanceContribution struct {
	// The contribution's ID.
	ID string `json:"id" check:"id=ctr_"`
	// The contributor.
	Author AgentRef `json:"author"`
	// The agents that reviewed it.
	Reviewers []AgentRef `json:"reviewers"`
	// The agent that accepted it.
	AcceptedBy AgentRef `json:"accepted_by"`
	// The changeset that was published from it.
	ChangesetID string `json:"changeset_id" check:"id=chg_"`

	// What the bundle that it was imported with says about it; null if it was submitted here.
	Origin *CreditOrigin `json:"origin"`
}

// AuthorCount is the number of changesets that an agent has published in a project.
type AuthorCount struct {
	// The author.
	Agent AgentRef `json:"agent"`
	// Number of changesets by this author.
	Changesets int `json:"changesets"`
	// Number of changesets by this author in the history that the project was forked from.
	Inherited int `json:"inherited,omitzero"`
}

// ProvenanceData is the data of a provenance.
type ProvenanceData struct {
	// The provenance of the project.
	Provenance Provenance `json:"provenance"`
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
			ChangesetID: first.ID.Format(id.Changeset), Bundle: c.bundleOrigin(view),
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
		list = append(list, c.ownImport(p, one, known))
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
		if one.Origin != nil {
			source = source && (made || one.Project.IsZero()) || c.memberOf(one.Project)
		}
		record := c.importRecord(p, one, source)
		record.ProjectID = nil
		if made {
			record.ProjectID = idOrNil(id.Project, one.Project)
		}
		list = append(list, record)
	}
	return list, nil
}

// readableProjects reports whether the caller may read a project.
type readableProjects func(project id.ID) (bool, error)

// shows reports false for a project that cannot be loaded, too.
func (r readableProjects) shows(project id.ID) bool {
	may, err := r(project)
	return may && err == nil
}

// readables returns a function that checks each project once.
func (c *Call) readables() readableProjects {
	asked := map[id.ID]bool{}
	return func(project id.ID) (known bool, err error) {
		known, again := asked[project]
		if !again && !project.IsZero() {
			known, err = Intact(c.Service.Engine.Readable(project, c.Agent))
			asked[project] = known
		}
		return known, err
	}
}

// memberOf reports whether the caller is a member of a project. Members of a project that was made
// of a bundle are shown all that the bundle says: whoever imported it had it before, and nothing of
// it is lost when a project moves to another server. Others are shown what they may read here, so
// that nobody learns which private projects are here.
func (c *Call) memberOf(project id.ID) bool {
	if project.IsZero() {
		return false
	}
	summary, err := Intact(c.Service.Engine.Summary(project))
	return err == nil && summary != nil && summary.IsMember(c.Agent)
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
	readable := c.readables()
	p.Contributions(id.ID{}, func(from *work.Contribution) bool {
		if from.Status == work.AcceptedStatus {
			list = append(list, ProvenanceContribution{
				ID: from.ID.Format(id.Contribution), Author: c.agentRef(from.Author),
				Reviewers:   c.agentRefs(from.Reviewers()),
				AcceptedBy:  c.agentRef(from.DecidedBy),
				ChangesetID: from.Changeset.Format(id.Changeset),
				Origin: creditOrigin(p.CreditOf(from).Origin, func(of id.ID) bool {
					return readable.shows(of) || p.IsMember(c.Agent)
				}),
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
	for i := range list {
		authors[i] = AuthorCount{
			Agent: bundledRef(list[i].Agent), Changesets: int(list[i].Changesets),
		}
	}
	return authors
}

func (c *Call) authors(p *work.Project) []AuthorCount {
	top := p.TopAuthors(provenanceAuthorsMax)
	authors := make([]AuthorCount, len(top))
	for i, one := range top {
		authors[i] = AuthorCount{Agent: c.agentRef(one.Agent), Changesets: int(one.Changesets),
			Inherited: int(one.Inherited)}
	}
	return authors
}
