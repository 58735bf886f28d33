package api

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"

	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// ForkProject is the body of project.fork. Absent members are copied from the source.
type ForkProject struct {
	// Name of the fork; that of the source if absent.
	Name *string `json:"name" check:"chars=1..120,line"`
	// Description; that of the source if absent.
	Description *string `json:"description" check:"chars=0..4000,text"`
	// Who can see the fork.
	Visibility string `json:"visibility" check:"required,enum=PUBLIC|UNLISTED|PRIVATE"`
	// Required for PUBLIC and UNLISTED; REFERENCE_ONLY for PRIVATE if absent.
	ReusePolicy string `json:"reuse_policy" check:"enum=ALLOW_REUSE|REFERENCE_ONLY"`
	// The changeset of the source whose files the fork starts with; the head if absent.
	ChangesetID string `json:"changeset_id"`
}

var forkOperations = []*Operation{
	declare[ForkProject, CreatedData](Operation{
		Name: "project.fork", Method: "POST", Path: "/api/v1/projects/{project}/fork",
		Tool:    "project.fork",
		ToolDoc: "Copy an ALLOW_REUSE project into a new one of yours, with files, license and source.",
		Auth:    Bearer, Idempotency: KeyOptional, Category: CategoryCreation, Statuses: []int{201},
		Expensive: true,
		Params:    projectParam,
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.ReuseNotPermitted, fault.ReusePolicyRequired,
			fault.ChangesetNotFound,
		},
		Tag: "projects", Summary: "Fork a project",
		Doc: "Creates a project owned by the caller that starts with the files and the license " +
			"of another one, and records their source. The source must have the reuse_policy " +
			"ALLOW_REUSE.",
	}, forkProject),
}

func forkProject(c *Call, body *ForkProject) (Reply, error) {
	source, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	if err := work.MayReuse.Require(source, c.Agent); err != nil {
		return Reply{}, err
	}
	at := source.Head()
	if body.ChangesetID != "" {
		if at, err = findChangeset(source, body.ChangesetID); err != nil {
			return Reply{}, err
		}
	}
	project, err := c.forkID()
	if err != nil {
		return Reply{}, err
	}
	command := &work.ForkProject{
		ID: project, Source: source.ID, Changeset: at.ID,
		Tree: c.Service.Engine.Tree(source, at), Authors: source.AuthorsAt(at),
		Credits: source.CreditsAt(at), BundledAuthors: source.BundledAuthorsAt(at),
		Imports: source.ImportsAt(at), License: source.License, Origins: source.OriginsAt(at),
		About: work.About{
			Name: source.Name, Description: source.Description,
			License: source.License, Topics: source.Topics,
			Visibility: work.ParseVisibility(body.Visibility),
			Reuse:      work.ParseReuse(body.ReusePolicy),
		},
	}
	if body.Name != nil {
		command.About.Name = *body.Name
	}
	if body.Description != nil {
		command.About.Description = *body.Description
	}
	// The changeset is as long as the tree, so a repeat renders it again. The record of the project
	// may have changed by then, so it is stored.
	done, err := c.do(project, command, func(p *work.Project, _ work.Result) (Reply, error) {
		return Reply{Status: 201, Data: c.project(p)}, nil
	})
	if err != nil {
		return Reply{}, err
	}
	changeset, ok := done.Project.Changeset(done.Result.Changeset)
	if !ok {
		return Reply{}, errUnknownResult
	}
	data := forkReply{call: c, view: done.Project, changeset: changeset, project: done.Body}
	if data.project == nil {
		data.project = appendData(nil, c.project(done.Project))
	}
	return Reply{Data: data, Replayed: done.Replayed}, nil
}

// forkReply renders CreatedData.
type forkReply struct {
	call      *Call
	view      *work.Project
	changeset *work.Changeset
	// project is the record of the project as JSON.
	project []byte
}

// JSONBytes implements Sized.
func (r forkReply) JSONBytes() int { return len(r.project) + changesetBytes(r.changeset) }

// AppendJSON implements Appender.
func (r forkReply) AppendJSON(dst []byte) []byte {
	dst = append(append(dst, `{"project":`...), r.project...)
	dst = append(dst, `,"changeset":`...)
	return append(r.call.appendChangeset(dst, r.view, r.changeset), '}')
}

// forkID returns the ID of the Idempotency-Key, or a new one. Callers cannot predict or choose it.
func (c *Call) forkID() (id.ID, error) {
	if c.Idempotency != nil {
		return c.newProjectID()
	}
	var random [16]byte
	if _, err := rand.Read(random[:]); err != nil {
		return id.ID{}, err
	}
	mac := hmac.New(sha256.New, c.Service.Engine.Secret())
	mac.Write([]byte("fresh project id"))
	mac.Write(random[:])
	return id.New(c.Now, [10]byte(mac.Sum(nil))), nil
}

// forkedFrom returns the source of a fork; nil if the caller may not read it now.
func (c *Call) forkedFrom(p *work.Project) *ForkedFrom {
	from, forked := p.ForkedFrom()
	if !forked {
		return nil
	}
	// A source that fails to load is not shown either.
	if readable, err := c.Service.Engine.Readable(from.Project, c.Agent); err != nil || !readable {
		return nil
	}
	return &ForkedFrom{
		ProjectID: from.Project.Format(id.Project), ChangesetID: from.Changeset.Format(id.Changeset),
	}
}

// forks counts the forks of a project that the caller may see.
func (c *Call) forks(p *work.Project) int {
	return c.links().Count(index.Link{Kind: index.LinkFork, Target: p.ID}, c.Agent)
}
