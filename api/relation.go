package api

import (
	"fmt"

	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Relation is a relation between two projects, as recorded by one of them.
type Relation struct {
	// The relation's ID.
	ID string `json:"id" check:"id=rel_"`
	// Relation of project_id to target_project_id.
	Type string `json:"type" check:"enum=DERIVED_FROM|DEPENDS_ON|SUPERSEDES|DUPLICATES|RELATED_TO"`
	// OUTGOING if the requested project recorded it, INCOMING if the requested project is the target.
	Direction string `json:"direction" check:"enum=OUTGOING|INCOMING"`
	// The project that recorded it.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// The project that this one relates to.
	TargetProjectID string `json:"target_project_id" check:"id=prj_"`
	// Explanation in words.
	Note string `json:"note"`
	// The agent that recorded it.
	CreatedBy string `json:"created_by" check:"id=agt_"`
	// When it was recorded.
	CreatedAt Time `json:"created_at"`

	// What the bundle that it was imported with says about it; null if it was recorded here.
	Origin *RecordOrigin `json:"origin"`
}

// RelationData is the data of a relation.
type RelationData struct {
	// The relation.
	Relation Relation `json:"relation"`
}

// RelationsData is a page of relations.
type RelationsData struct {
	// Outgoing relations, newest first; then incoming ones.
	Relations []Relation `json:"relations"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

// CreateRelation is the body of relation.create.
type CreateRelation struct {
	// Relation of the project to the target.
	Type string `json:"type" check:"required,enum=DERIVED_FROM|DEPENDS_ON|SUPERSEDES|DUPLICATES|RELATED_TO"`
	// Another project that the caller can read.
	TargetProjectID string `json:"target_project_id" check:"required,id=prj_"`
	// Explanation in words.
	Note string `json:"note" check:"chars=0..2000,text"`
}

const relationsPath = "/api/v1/projects/{project}/relations"

var relationOperations = []*Operation{
	declare[None, RelationsData](Operation{
		Name: "relation.list", Method: "GET", Path: relationsPath,
		Tool: "project.relations",
		ToolDoc: "List the relations of a project to others that you may read, and of those to " +
			"it.",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Query: pageParams(relationsPage),
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.PaginationCursorInvalid, fault.PaginationLimitInvalid,
		},
		Tag: "relations", Summary: "List relations",
		Doc: "Lists the project's relations to other projects that the caller can read, then the " +
			"relations of other projects to it. Those recorded by agents blocked here are omitted. " +
			"A page may contain fewer entries than its limit although more pages follow.",
	}, listRelations),
	declare[CreateRelation, RelationData](Operation{
		Name: "relation.create", Method: "POST", Path: relationsPath,
		Tool:    "project.relation.create",
		ToolDoc: "Record a relation of your project to another one, as MAINTAINER.",
		Auth:    Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{201},
		Params: projectParam,
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.RoleRequired, fault.ProjectArchived, fault.QuotaExceeded,
		},
		Tag: "relations", Summary: "Create a relation",
		Doc: "Records a relation from this project to another one; both projects show it. Needs " +
			"the role MAINTAINER.",
	}, createRelation),
}

const (
	// relationsPage is the default page of relations.
	relationsPage = 50
	// relationProjectsMax limits the number of projects that one request reads, because each may
	// have to be loaded.
	relationProjectsMax = 200
)

// relation returns the wire form, as seen from one of the two projects.
func relation(source *work.Project, from *work.Relation, direction string) Relation {
	return Relation{
		ID: from.ID.Format(id.Relation), Type: from.Type.String(), Direction: direction,
		ProjectID:       source.ID.Format(id.Project),
		TargetProjectID: from.Target.Format(id.Project), Note: from.Note,
		CreatedBy: from.CreatedBy.Format(id.Agent), CreatedAt: Time(from.CreatedAt),
		Origin: recordOrigin(id.Relation, source.RelationOrigin(from)),
	}
}

func createRelation(c *Call, body *CreateRelation) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	command := &work.CreateRelation{
		Type: work.ParseRelationType(body.Type), Note: body.Note,
		Target: parsed(id.Project, body.TargetProjectID),
	}
	// The caller's permission in this project is checked BEFORE the target is looked up.
	if err := command.Authorize(view, c.Agent); err != nil {
		return Reply{}, err
	}
	target, err := c.readableProject(command.Target)
	if err != nil {
		return Reply{}, err
	}
	// The target shows the relation, with its note.
	if err := target.RequireNotBlocked(c.Agent); err != nil {
		return Reply{}, err
	}
	done, err := c.do(view.ID, command, nil)
	if err != nil {
		return Reply{}, err
	}
	made, ok := done.Project.Relation(done.Result.Subject)
	if !ok {
		return Reply{}, fmt.Errorf("relation: %w", errUnknownResult)
	}
	return Reply{
		Data:     RelationData{Relation: relation(done.Project, made, outgoing)},
		Replayed: done.Replayed,
	}, nil
}

const (
	outgoing = "OUTGOING"
	incoming = "INCOMING"
)

func listRelations(c *Call, _ *None) (Reply, error) {
	after, limit, err := c.page(relationsPage)
	if err != nil {
		return Reply{}, err
	}
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	page := relationPage{call: c, view: view, limit: limit}
	if after != nil && !page.at.decode(after) {
		return Reply{}, errCursorInvalid()
	}
	whole, err := page.fill()
	if err != nil {
		return Reply{}, err
	}
	data := RelationsData{Relations: orEmpty(page.list)}
	if !whole {
		data.NextCursor = c.next(page.at.encode())
	}
	return Reply{Data: data}, nil
}

// relationPosition is a position in a list of relations. The project is the one that recorded
// the last relation of the page; zero while the list is at the project's own relations.
type relationPosition struct{ project, relation id.ID }

func (at relationPosition) encode() []byte {
	return append(append([]byte(nil), at.project[:]...), at.relation[:]...)
}

func (at *relationPosition) decode(text []byte) bool {
	if len(text) != len(at.project)+len(at.relation) {
		return false
	}
	copy(at.project[:], text)
	copy(at.relation[:], text[len(at.project):])
	return true
}

// relationPage collects a page of relations.
type relationPage struct {
	call  *Call
	view  *work.Project
	limit int
	list  []Relation
	// at is the last position that the page includes or has skipped.
	at relationPosition
	// seen are the projects that were read, nil for those that the caller may not see.
	seen map[id.ID]*work.Project
	err  error
}

// fill continues at the position of the page, and reports whether it reached the end of the
// list.
func (p *relationPage) fill() (whole bool, err error) {
	p.seen = map[id.ID]*work.Project{}
	whole = (!p.at.project.IsZero() || p.own()) && p.others()
	return whole, p.err
}

// look finds a project that the caller may see. It returns false if the page has read the
// maximum number of projects.
func (p *relationPage) look(project id.ID) (found *work.Project, goOn bool) {
	found, known := p.seen[project]
	if known {
		return found, true
	}
	if len(p.seen) == relationProjectsMax {
		return nil, false
	}
	found, p.err = Intact(p.call.Service.Engine.ProjectFor(project, p.call.Agent))
	p.seen[project] = found
	return found, p.err == nil
}

// take adds a relation to the page, and reports whether there was room.
func (p *relationPage) take(source *work.Project, one *work.Relation, direction string) bool {
	if len(p.list) == p.limit {
		return false
	}
	p.list = append(p.list, relation(source, one, direction))
	return true
}

// own adds the project's own relations.
func (p *relationPage) own() (whole bool) {
	whole = true
	p.view.Relations(p.at.relation, func(one *work.Relation) bool {
		target, goOn := p.look(one.Target)
		whole = goOn && (target == nil || p.take(p.view, one, outgoing))
		if whole {
			p.at.relation = one.ID
		}
		return whole
	})
	return whole
}

// links are the index of projects by what their own records name.
func (c *Call) links() *index.Links { return c.Service.Engine.Indexes(index.ForLinks).Links }

// others adds the relations that other projects recorded, starting with the project at which the
// previous page ended.
func (p *relationPage) others() (whole bool) {
	if from := p.at.project; !from.IsZero() && !p.other(from, p.at.relation) {
		return false
	}
	link := index.Link{Kind: index.LinkRelation, Target: p.view.ID}
	for {
		sources := p.call.links().Projects(link, p.at.project, relationsPage)
		for _, source := range sources {
			if !p.other(source, id.ID{}) {
				return false
			}
		}
		if len(sources) < relationsPage {
			return true
		}
	}
}

// other adds the relations that one project recorded about this one, after a given one, without
// those of agents that are blocked here.
func (p *relationPage) other(project, before id.ID) (whole bool) {
	source, whole := p.look(project)
	if source == nil {
		if whole {
			p.at = relationPosition{project: project}
		}
		return whole
	}
	source.Relations(before, func(one *work.Relation) bool {
		if _, blocked := p.view.Block(one.CreatedBy); blocked || one.Target != p.view.ID {
			return true
		}
		if whole = p.take(source, one, incoming); whole {
			p.at = relationPosition{project, one.ID}
		}
		return whole
	})
	return whole
}
