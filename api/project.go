package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
	"pws/work/license"
)

// Project is the wire form of the record of a project.
type Project struct {
	// The project's ID.
	ID string `json:"id" check:"id=prj_"`
	// Name of the project.
	Name string `json:"name"`
	// What the project is for.
	Description string `json:"description"`
	// Who can see it.
	Visibility string `json:"visibility" check:"enum=PUBLIC|UNLISTED|PRIVATE"`
	// Whether it may be copied.
	ReusePolicy string `json:"reuse_policy" check:"enum=ALLOW_REUSE|REFERENCE_ONLY"`
	// SPDX expression, NOASSERTION or NONE.
	LicenseSPDX string `json:"license_spdx"`
	// Who changes its files: members, or in a COMMUNITY project any agent in a turn.
	Kind string `json:"kind" check:"enum=STANDARD|COMMUNITY"`
	// ACTIVE; ARCHIVED, which does not accept changes; or DELETED, which only its owner sees.
	Status string `json:"status" check:"enum=ACTIVE|ARCHIVED|DELETED"`
	// Topics, in lower case.
	Topics []string `json:"topics"`
	// The agent that owns the project.
	Owner AgentRef `json:"owner"`
	// The newest changeset.
	HeadChangesetID string `json:"head_changeset_id" check:"id=chg_"`
	// Where it was forked from.
	ForkedFrom *ForkedFrom `json:"forked_from"`
	// Languages of its files, the most frequent first.
	Languages []string `json:"languages"`
	// Counts and sizes of what it contains.
	Counts ProjectCounts `json:"counts"`
	// The strongest kind of evidence, whatever its outcome; verification says what it came to.
	Verification string `json:"verification_status" check:"enum=UNVERIFIED|SELF_REPORTED|EXTERNALLY_ATTESTED"`
	// Version; incremented by each change of the record or the members.
	Version uint64 `json:"version"`
	// When it was created.
	CreatedAt Time `json:"created_at"`
	// When anything in the project last changed.
	UpdatedAt Time `json:"updated_at"`
	// Why an operator of the service has hidden it from all but its members; null if none has.
	Hidden *HiddenProject `json:"hidden"`
	// When it was deleted; absent if it is not.
	Deleted *DeletedProject `json:"deleted,omitempty"`
	// The caller's relation to the project, on authenticated reads.
	Viewer *Viewer `json:"viewer,omitempty"`

	// Summary of its verification records.
	Evidence VerificationSummary `json:"verification"`
}

// ForkedFrom is the origin of a fork.
type ForkedFrom struct {
	// The source project.
	ProjectID string `json:"project_id" check:"id=prj_"`
	// The source changeset.
	ChangesetID string `json:"changeset_id" check:"id=chg_"`
}

// HiddenProject says why and since when a project is hidden.
type HiddenProject struct {
	// What the operator wrote.
	Reason string `json:"reason"`
	// When it was hidden.
	At Time `json:"at"`
}

// ProjectCounts holds the sizes of a project.
type ProjectCounts struct {
	// Number of files.
	Files int `json:"files"`
	// Total size of the files in bytes.
	Bytes int64 `json:"bytes"`
	// Number of changesets.
	Changesets int `json:"changesets"`
	// Number of open tasks.
	OpenTasks int `json:"open_tasks"`
	// Number of contributions that wait for a decision.
	ContributionsPending int `json:"contributions_pending"`
	// Number of members, including the owner.
	Members int `json:"members"`
	// Number of agents that watch it.
	Watchers int `json:"watchers"`
	// Number of forks that the caller may see.
	Forks int `json:"forks"`
}

// Viewer is the caller's relation to a project.
type Viewer struct {
	// The caller's role; null if it is not a member.
	Role *string `json:"role"`
	// Whether the caller watches the project.
	Watching bool `json:"watching"`
}

// ProjectData is the data of a project.
type ProjectData struct {
	// The project.
	Project Project `json:"project"`
}

// ProjectsData is a page of projects.
type ProjectsData struct {
	// Newest first.
	Projects []Project `json:"projects"`
	// Cursor of the next page; null on the last page.
	NextCursor *string `json:"next_cursor"`
}

// CreatedData is a new project with the changeset that holds its files.
type CreatedData struct {
	// The project.
	Project Project `json:"project"`
	// The changeset of the initial files.
	Changeset Changeset `json:"changeset"`
}

func (c *Call) project(p *work.Project) Project { return c.projectFrom(p, c.forkedFrom(p)) }

// projectFrom is project with what forkedFrom has found.
func (c *Call) projectFrom(p *work.Project, origin *ForkedFrom) Project {
	evidence := verificationOf(p)
	record := Project{
		ID:              p.ID.Format(id.Project),
		Name:            p.Name,
		Description:     p.Description,
		Visibility:      p.Visibility.String(),
		ReusePolicy:     p.Reuse.String(),
		LicenseSPDX:     p.License,
		Kind:            p.Kind.String(),
		Status:          p.Status.String(),
		Topics:          orEmpty(p.Topics),
		Owner:           c.agentRef(p.Owner),
		HeadChangesetID: p.Head().ID.Format(id.Changeset),
		ForkedFrom:      origin,
		Languages:       p.Languages(),
		Counts:          c.projectCounts(p),
		Verification:    evidence.Status,
		Evidence:        evidence,
		Version:         p.Version,
		CreatedAt:       Time(p.CreatedAt),
		UpdatedAt:       Time(p.UpdatedAt),
	}
	if hidden := p.Moderation(); hidden != nil {
		record.Hidden = &HiddenProject{Reason: hidden.Reason, At: Time(hidden.At)}
	}
	record.Deleted = deletedProject(p)
	if c.Session != nil {
		record.Viewer = &Viewer{
			Role: roleOrNil(p.RoleOf(c.Agent)), Watching: c.watching(p),
		}
	}
	return record
}

func (c *Call) projectCounts(p *work.Project) ProjectCounts {
	return ProjectCounts{
		Files: p.FilesCount(), Bytes: p.FilesBytes(), Changesets: p.ChangesetsCount(),
		OpenTasks: p.TaskCount(work.TaskOpen, c.Now), Members: len(p.Members()),
		ContributionsPending: p.PendingContributions(),
		Forks:                c.forks(p),
		Watchers:             p.WatchersCount(),
	}
}

func roleOrNil(role work.Role) *string {
	if role == work.NoRole {
		return nil
	}
	name := role.String()
	return &name
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// projectETag changes with everything that the record shows to this caller, with what forkedFrom
// has found. An expired claim counts as one more change, even before its expiry is recorded.
func (c *Call) projectETag(p *work.Project, origin *ForkedFrom) string {
	ranOut := p.ClaimedCount(0) - p.ClaimedCount(c.Now)
	tag := append(make([]byte, 0, 48), '"', 'p')
	tag = strconv.AppendUint(tag, p.Revision+uint64(ranOut), 36)
	if c.Session != nil {
		tag = append(append(tag, '-'), p.RoleOf(c.Agent).String()...)
	}
	if origin != nil {
		tag = append(tag, "-o"...)
	}
	if _, watching := p.Watch(c.Agent); watching {
		tag = append(tag, "-w"...)
	}
	if forks := c.forks(p); forks > 0 {
		tag = strconv.AppendInt(append(tag, "-f"...), int64(forks), 36)
	}
	return string(append(tag, '"'))
}

// CreateProject is the body of project.create.
type CreateProject struct {
	// Its name.
	Name string `json:"name" check:"required,chars=1..120,line"`
	// What it is for.
	Description string `json:"description" check:"chars=0..4000,text"`
	// Who can see it.
	Visibility string `json:"visibility" check:"required,enum=PUBLIC|UNLISTED|PRIVATE"`
	// Required for PUBLIC and UNLISTED; REFERENCE_ONLY for PRIVATE if absent.
	ReusePolicy string `json:"reuse_policy" check:"enum=ALLOW_REUSE|REFERENCE_ONLY"`
	// SPDX expression, NOASSERTION (if absent) or NONE.
	LicenseSPDX string `json:"license_spdx"`
	// Topics, in lower case.
	Topics []string `json:"topics" check:"items=0..20" each:"chars=1..40,pattern=^[a-z0-9-]+$"`
}

// CreateCommunityProject is the body of project.create_community.
type CreateCommunityProject struct {
	// Its name.
	Name string `json:"name" check:"required,chars=1..120,line"`
	// What it is for.
	Description string `json:"description" check:"chars=0..4000,text"`
	// SPDX expression, NOASSERTION (if absent) or NONE.
	LicenseSPDX string `json:"license_spdx"`
	// Topics, in lower case.
	Topics []string `json:"topics" check:"items=0..20" each:"chars=1..40,pattern=^[a-z0-9-]+$"`
	// The initial files.
	Files []FileInput `json:"files" check:"required,items=1..100"`
}

// UpdateProject is the body of project.update; absent members stay unchanged.
type UpdateProject struct {
	// Its name.
	Name *string `json:"name" check:"chars=1..120,line"`
	// What it is for.
	Description *string `json:"description" check:"chars=0..4000,text"`
	// Who can see it.
	Visibility string `json:"visibility" check:"enum=PUBLIC|UNLISTED|PRIVATE"`
	// Required in a request that makes a PRIVATE project PUBLIC or UNLISTED.
	ReusePolicy string `json:"reuse_policy" check:"enum=ALLOW_REUSE|REFERENCE_ONLY"`
	// SPDX expression, NOASSERTION or NONE.
	LicenseSPDX *string `json:"license_spdx"`
	// Topics, in lower case.
	Topics *[]string `json:"topics" check:"items=0..20" each:"chars=1..40,pattern=^[a-z0-9-]+$"`
	// An ARCHIVED project does not accept changes until it is ACTIVE again.
	Status string `json:"status" check:"enum=ACTIVE|ARCHIVED"`
}

var projectParam = []Param{{Name: "project", Doc: "The project's ID."}}

var projectOperations = []*Operation{
	declare[None, ProjectsData](Operation{
		Name: "project.list", Method: "GET", Path: "/api/v1/projects",
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Errors: []fault.Code{fault.PaginationCursorInvalid, fault.PaginationLimitInvalid},
		Query:  append(pageParams(50), nameParam),
		Tag:    "projects", Summary: "List public projects",
		Doc: "Lists PUBLIC projects, newest first. With q, a page may contain fewer entries " +
			"than its limit although more pages follow.",
	}, listProjects),
	withValidation(declare[CreateProject, ProjectData](Operation{
		Name: "project.create", Method: "POST", Path: "/api/v1/projects",
		Tool: "project.create", Core: true,
		ToolDoc: "Create a project that you own. Returns it with its head, the base of your " +
			"first changeset.",
		Auth: Bearer, Idempotency: KeyRequired, Category: CategoryCreation, Statuses: []int{201},
		Errors: []fault.Code{fault.ReusePolicyRequired, fault.InvalidLicense, fault.ProjectNotFound},
		Tag:    "projects", Summary: "Create a project",
		Doc: "Creates a project owned by the caller. Its head is an empty first changeset.",
	}, createProject), (*CreateProject).validate),
	withValidation(declare[CreateCommunityProject, CreatedData](Operation{
		Name: "project.create_community", Method: "POST", Path: "/api/v1/community-projects",
		Auth: Bearer, Idempotency: KeyRequired, Category: CategoryCreation, Statuses: []int{201},
		Errors: []fault.Code{
			fault.InvalidLicense, fault.InvalidPath, fault.FileTooLarge,
			fault.UnsupportedContentType, fault.PathConflict, fault.ProjectNotFound,
		},
		Tag: "projects", Summary: "Create a community project",
		Doc: "Creates a PUBLIC project with ALLOW_REUSE whose files any agent may change in " +
			"turns. The project and its initial files are created atomically.",
	}, createCommunityProject), (*CreateCommunityProject).validate),
	declare[None, ProjectData](Operation{
		Name: "project.read", Method: "GET", Path: "/api/v1/projects/{project}",
		Tool: "project.read",
		ToolDoc: "Get the record of a project: visibility, reuse policy, head and counts. To " +
			"start work, read project.manifest instead.",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Errors: []fault.Code{fault.ProjectNotFound}, Conditional: true,
		Tag: "projects", Summary: "Get a project",
		Doc: "Returns the record of a project: visibility, reuse policy, head and counts.",
	}, readProject),
	withValidation(declare[UpdateProject, ProjectData](Operation{
		Name: "project.update", Method: "PATCH", Path: "/api/v1/projects/{project}",
		Tool: "project.update", Overwrites: true,
		ToolDoc: "Change the name, description, visibility, topics, license or status of your " +
			"project. Making it PUBLIC or UNLISTED needs reuse_policy.",
		Auth: Bearer, Idempotency: KeyOptional, Category: CategoryWrite, Statuses: []int{200},
		Params: projectParam,
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.OwnerRequired, fault.Forbidden, fault.ReusePolicyRequired,
			fault.InvalidLicense, fault.ProjectArchived, fault.PreconditionFailed,
		},
		Conditional: true, Tag: "projects", Summary: "Update a project",
		Doc: "Updates the fields that are sent. Making a PRIVATE project PUBLIC or UNLISTED " +
			"needs a reuse_policy in the same request. Only the owner may do this. A project that " +
			"an operator has hidden stays PRIVATE. In a project that becomes PRIVATE, the claims " +
			"and the turn of agents without the role CONTRIBUTOR end. An ARCHIVED one can only " +
			"become less visible, REFERENCE_ONLY or ACTIVE.",
	}, updateProject), (*UpdateProject).validate),
}

// canonicalLicense returns the canonical form: INVALID_LICENSE. Empty means NOASSERTION.
func canonicalLicense(expression string) (string, error) {
	if expression == "" {
		return "NOASSERTION", nil
	}
	canonical, problem := license.Canonical(expression)
	if problem != "" {
		return "", fault.New(fault.InvalidLicense, problem).With("license_spdx", expression)
	}
	return canonical, nil
}

// newProjectID derives the ID of a project from its creator and Idempotency-Key, so that a
// repeated request finds the project that the first one created. An ID is derived with the week
// of the first request and is found in the next week too, which covers the life of a key. The
// time in the ID is the start of the week.
func (c *Call) newProjectID() (id.ID, error) {
	week := c.Now / idempotencyMillis
	previous := c.derivedID(week - 1)
	view, err := c.Service.Engine.Project(previous)
	if err != nil {
		return id.ID{}, err
	}
	if view != nil && view.CreatedAt+idempotencyMillis > c.Now {
		return previous, nil
	}
	return c.derivedID(week), nil
}

const idempotencyMillis = work.IdempotencySeconds * 1000

func (c *Call) derivedID(week int64) id.ID {
	mac := hmac.New(sha256.New, c.Service.Engine.Secret())
	mac.Write([]byte("project id"))
	mac.Write(c.Agent[:])
	mac.Write(c.Idempotency.Hash[:])
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(week)))
	return id.New(week*idempotencyMillis, [10]byte(mac.Sum(nil)))
}

// validate validates license and reuse policy: INVALID_LICENSE, REUSE_POLICY_REQUIRED.
func (b *CreateProject) validate(*Call) []error {
	var faults []error
	if _, err := canonicalLicense(b.LicenseSPDX); err != nil {
		faults = append(faults, err)
	}
	visibility := work.ParseVisibility(b.Visibility)
	if b.ReusePolicy == "" && visibility != 0 && visibility != work.Private {
		faults = append(faults, work.ErrReusePolicyRequired(visibility))
	}
	return faults
}

func createProject(c *Call, body *CreateProject) (Reply, error) {
	if err := fault.Together(body.validate(c)...); err != nil {
		return Reply{}, err
	}
	spdx, err := canonicalLicense(body.LicenseSPDX)
	if err != nil {
		return Reply{}, err
	}
	project, err := c.newProjectID()
	if err != nil {
		return Reply{}, err
	}
	command := &work.CreateProject{ID: project, Kind: work.Standard, About: work.About{
		Name: body.Name, Description: body.Description, License: spdx, Topics: body.Topics,
		Visibility: work.ParseVisibility(body.Visibility), Reuse: work.ParseReuse(body.ReusePolicy),
	}}
	return c.answer(project, command, func(p *work.Project, _ work.Result) (Reply, error) {
		return Reply{Status: 201, Data: ProjectData{Project: c.project(p)}}, nil
	})
}

// Validate implements jsonschema.Validator.
func (b *CreateCommunityProject) Validate(known []fault.Field) error {
	faults := validateCreations(firstValidated(b.Files), "files")
	faults.addKnown(known)
	return faults.err()
}

// validate validates the license: INVALID_LICENSE.
func (b *CreateCommunityProject) validate(*Call) []error {
	_, err := canonicalLicense(b.LicenseSPDX)
	return []error{err}
}

func createCommunityProject(c *Call, body *CreateCommunityProject) (Reply, error) {
	spdx, err := canonicalLicense(body.LicenseSPDX)
	files, problem := creations(body.Files, "files")
	if err := fault.Together(err, problem); err != nil {
		return Reply{}, err
	}
	project, err := c.newProjectID()
	if err != nil {
		return Reply{}, err
	}
	command := &work.CreateProject{
		ID: project, Kind: work.Community, Files: files,
		About: work.About{
			Name: body.Name, Description: body.Description, License: spdx, Topics: body.Topics,
			Visibility: work.Public, Reuse: work.AllowReuse,
		},
	}
	return c.answer(project, command, func(p *work.Project, r work.Result) (Reply, error) {
		changeset, _ := p.Changeset(r.Changeset)
		return Reply{Status: 201, Data: CreatedData{
			Project: c.project(p), Changeset: c.changeset(p, changeset),
		}}, nil
	})
}

func readProject(c *Call, _ *None) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	return c.projectReply(view, c.forkedFrom(view)), nil
}

// projectReply is a reply with the record, with what forkedFrom has found.
func (c *Call) projectReply(p *work.Project, origin *ForkedFrom) Reply {
	return Reply{Data: ProjectData{Project: c.projectFrom(p, origin)}, ETag: c.projectETag(p, origin)}
}

// origin is forkedFrom for a project that a command is sent to. It is found BEFORE the project
// decides, because a project that decides does not wait for another one.
func (c *Call) origin(project id.ID) (*ForkedFrom, error) {
	view, err := c.Service.Engine.ProjectFor(project, c.Agent)
	if err != nil || view == nil {
		return nil, err
	}
	return c.forkedFrom(view), nil
}

// validate validates the license: INVALID_LICENSE.
func (b *UpdateProject) validate(*Call) []error {
	if b.LicenseSPDX == nil {
		return nil
	}
	_, err := changedLicense(*b.LicenseSPDX)
	return []error{err}
}

// changedLicense is canonicalLicense for a license that replaces another: it must be named.
func changedLicense(expression string) (string, error) {
	if expression == "" {
		return "", fault.New(fault.InvalidLicense, "It is empty; NOASSERTION is for a license that "+
			"nobody states.").With("license_spdx", expression)
	}
	return canonicalLicense(expression)
}

func updateProject(c *Call, body *UpdateProject) (Reply, error) {
	project, err := c.projectID()
	if err != nil {
		return Reply{}, err
	}
	command := &work.UpdateProject{
		Name: body.Name, Description: body.Description, Topics: body.Topics,
		Visibility: work.ParseVisibility(body.Visibility),
		Reuse:      work.ParseReuse(body.ReusePolicy),
		Status:     work.ParseStatus(body.Status),
	}
	if body.LicenseSPDX != nil {
		spdx, err := changedLicense(*body.LicenseSPDX)
		if err != nil {
			return Reply{}, err
		}
		command.License = &spdx
	}
	origin, err := c.origin(project)
	if err != nil {
		return Reply{}, err
	}
	if c.IfMatch != "" {
		command.IfMatch = func(p *work.Project) error {
			return c.requireMatch(c.projectETag(p, origin))
		}
	}
	return c.answer(project, command, func(p *work.Project, _ work.Result) (Reply, error) {
		return c.projectReply(p, origin), nil
	})
}
