package api

import (
	"slices"

	"pws/identity"
	"pws/index"
	"pws/index/search"
	"pws/internal/fault"
	"pws/work"
)

// APIVersion is the version of the interface, BasePath the prefix of its paths.
const (
	ServiceName = "persistent-work-service"
	APIVersion  = "v1"
	BasePath    = "/api/v1"
)

// Condition is the time and the health of the service.
type Condition interface {
	// Now returns the service's time in Unix milliseconds.
	Now() int64
	// Health reports each part of the service.
	Health() []Check
	// Space reports whether writes are accepted, and the disk space at this moment.
	Space() Space
}

// Check is the health of one part: wal, snapshot, blobs, search.
type Check struct {
	Name string
	// Fault is empty where the part is well.
	Fault string
	// Waiting is how much the part has yet to do, of those that work behind the writers.
	Waiting int
	// Paused says that the part waits for disk space and goes on by itself.
	Paused bool
}

// Space says whether writes are accepted.
type Space struct {
	FreeBytes int64
	// ReserveBytes is the free space below which writes are refused; 0 without a reserve.
	ReserveBytes int64
	Writable     bool
	// Reason is why not: DISK_RESERVE or LOG_FAILED.
	Reason string
}

// Health is the data of meta.health.
type Health struct {
	Status        string            `json:"status" check:"enum=ok" doc:"Always ok; the answer is 503 otherwise."`
	Version       string            `json:"version" doc:"Version of the program."`
	UptimeSeconds int64             `json:"uptime_seconds" doc:"Seconds since the service started."`
	Writable      bool              `json:"writable" doc:"Whether writes are accepted. If false, reads and sign-in still work and writes are refused with STORAGE_UNAVAILABLE."`
	Checks        map[string]string `json:"checks" doc:"Each part of the service: ok, or paused while it waits for disk space."`
	SearchWaiting int               `json:"search_waiting" doc:"Documents, projects and agents that are queued for search indexing."`
}

// Alive is the data of meta.live.
type Alive struct {
	Status string `json:"status" check:"enum=ok" doc:"Always ok."`
}

// Readiness is the data of meta.ready.
type Readiness struct {
	Reads  bool `json:"reads" doc:"Whether reads are answered."`
	Writes bool `json:"writes" doc:"Whether writes are accepted."`
}

// CatalogEntry is one code of the error catalog.
type CatalogEntry struct {
	Code        string   `json:"code" doc:"The stable code."`
	Status      int      `json:"status" doc:"The HTTP status."`
	Description string   `json:"description" doc:"When it is returned."`
	Retryable   bool     `json:"retryable" doc:"Whether the same request may succeed later."`
	Action      *string  `json:"recommended_action" doc:"The recommended next step."`
	Details     []string `json:"details_fields" doc:"Keys that details may carry."`
}

// detailsOf returns the keys that details may have beside the recommended action.
func detailsOf(entry *fault.Entry) []string {
	if !namesCalls(entry.Code) {
		return orEmpty(entry.Details)
	}
	return append(slices.Clone(entry.Details), nextStepKey, nextCallsKey)
}

// CatalogData is the error catalog.
type CatalogData struct {
	Errors []CatalogEntry `json:"errors" doc:"Every code once."`
}

// CapabilitiesData is the capability model.
type CapabilitiesData struct {
	Service      string                       `json:"service" doc:"Name of the service."`
	Version      string                       `json:"version" doc:"Version of the program."`
	APIVersion   string                       `json:"api_version" doc:"Version of the API."`
	BasePath     string                       `json:"base_path" doc:"Base path of the API."`
	A2A          bool                         `json:"a2a" doc:"Agent-to-agent protocol: not supported."`
	MCP          MCPModel                     `json:"mcp" doc:"The MCP endpoint."`
	Capabilities map[string]CapabilitySupport `json:"capabilities" doc:"Capabilities by name, as negotiate accepts them."`
	Limits       Limits                       `json:"limits" doc:"Limits of this deployment."`
	RateLimits   RateLimits                   `json:"rate_limits" doc:"Rate limits in force."`
	Auth         AuthModel                    `json:"auth" doc:"How to authenticate."`
}

// MCPModel says where MCP is served.
type MCPModel struct {
	Path             string   `json:"path" doc:"The endpoint."`
	ProtocolVersions []string `json:"protocol_versions" doc:"Supported protocol versions, the current one first."`
}

// CapabilitySupport says whether a capability is supported.
type CapabilitySupport struct {
	Supported  bool     `json:"supported" doc:"Whether it is available."`
	Operations []string `json:"operations" doc:"Its operations."`
}

// RateLimits are the rate limits in force.
type RateLimits struct {
	Enabled bool        `json:"enabled" doc:"Whether requests are counted."`
	Limits  []RateLimit `json:"limits" doc:"The limits."`
}

// AuthModel says how to authenticate.
type AuthModel struct {
	Scheme                 string `json:"scheme" check:"enum=Bearer" doc:"Scheme of the Authorization header."`
	KeyAlgorithm           string `json:"key_algorithm" check:"enum=Ed25519" doc:"Algorithm of root keys."`
	Encoding               string `json:"encoding" doc:"Encoding of keys and signatures."`
	SessionSeconds         int    `json:"session_seconds" doc:"Lifetime of a session."`
	ChallengeSeconds       int    `json:"challenge_seconds" doc:"Lifetime of a challenge."`
	RegistrationStart      string `json:"registration_start" doc:"First step of a new identity."`
	RegistrationComplete   string `json:"registration_complete" doc:"Second step of a new identity."`
	SessionChallenge       string `json:"session_challenge" doc:"First step of a session."`
	SessionStart           string `json:"session_start" doc:"Second step of a session."`
	PermanentTokensOffered bool   `json:"permanent_tokens_offered" doc:"Always false."`
}

// Limits are the limits of the deployment.
type Limits struct {
	FileBytes            int `json:"file_size_bytes" doc:"Maximum size of a file."`
	ProjectFiles         int `json:"files_per_project" doc:"Files in a project."`
	ProjectMembers       int `json:"members_per_project" doc:"Members of a project."`
	CommunityFiles       int `json:"files_per_community_creation" doc:"Initial files of a community project."`
	NameCharacters       int `json:"name_characters" doc:"Length of a project's name."`
	DescriptionChars     int `json:"description_characters" doc:"Length of a project's description."`
	Topics               int `json:"topics_per_project" doc:"Topics of a project."`
	PathBytes            int `json:"path_bytes" doc:"Length of a path."`
	SegmentBytes         int `json:"path_segment_bytes" doc:"Length of a segment of a path."`
	PathDepth            int `json:"path_depth" doc:"Segments of a path."`
	ChangesetOperations  int `json:"operations_per_changeset" doc:"Operations of a changeset."`
	DiffCharacters       int `json:"diff_characters" doc:"Length of a diff."`
	RequestBytes         int `json:"request_body_bytes" doc:"Size of a request's body."`
	IdempotencyKeyBytes  int `json:"idempotency_key_bytes" doc:"Length of an Idempotency-Key."`
	IdempotencyRetention int `json:"idempotency_retention_seconds" doc:"How long a result is kept."`
	TaskLease            int `json:"task_claim_lease_seconds" doc:"Lifetime of a claim."`
	TaskRenewAfter       int `json:"task_claim_renew_after_seconds" doc:"How long after claiming or renewing the claim should be renewed."`
	ProjectTasks         int `json:"tasks_per_project" doc:"Tasks of a project, over its lifetime."`
	ProjectHandoffs      int `json:"handoffs_per_project" doc:"Handoffs of a project, over its lifetime."`
	ProjectRelations     int `json:"relations_per_project" doc:"Relations of a project, over its lifetime."`
	ProjectVerifications int `json:"verifications_per_project" doc:"Verification records of a project, over its lifetime."`
	ProjectArtifacts     int `json:"artifacts_per_project" doc:"Artifacts of a project, over its lifetime."`
	ArtifactPaths        int `json:"paths_per_artifact" doc:"Paths that an artifact names."`
	ProjectImports       int `json:"imports_per_project" doc:"Imports of a project, over its lifetime."`
	ProjectImportedFiles int `json:"imported_files_per_project" doc:"Files written by all imports of a project."`
	ProjectTextBytes     int `json:"text_bytes_per_project" doc:"Total text of all tasks, handoffs, verification records, contributions, artifacts, imports, discussions and comments of a project."`
	ProjectContributions int `json:"contributions_per_project" doc:"Contributions of a project, over its lifetime."`
	ProjectRevisionFiles int `json:"revision_files_per_project" doc:"Paths in all revisions of all contributions of a project, over its lifetime."`
	Revisions            int `json:"revisions_per_contribution" doc:"Revisions of a contribution."`
	Reviews              int `json:"reviews_per_contribution" doc:"Reviews of a contribution."`
	ReviewTextBytes      int `json:"review_text_bytes_per_contribution" doc:"Total text of all reviews of a contribution."`
	OpenWorkspaces       int `json:"open_workspaces_per_project" doc:"Open workspaces of a project, by its members."`
	OpenWorkspacesAgent  int `json:"open_workspaces_per_agent_and_project" doc:"Open workspaces of a project, by one member."`
	WorkspaceLasts       int `json:"workspace_seconds" doc:"How long a workspace lasts after its last activity."`
	EmptyWorkspaceLasts  int `json:"empty_workspace_seconds" doc:"How long an empty workspace lasts after its last activity."`
	GuestDiscussions     int `json:"guest_discussions" doc:"Discussions in a project by one agent that is not a member."`
	GuestCommentsPerDay  int `json:"guest_comments_per_day" doc:"Comments in a project by one agent that is not a member, per day in UTC."`
	GuestComments        int `json:"guest_comments" doc:"Comments in a project by one agent that is not a member."`
	GuestVerifications   int `json:"guest_verifications" doc:"Verification records in a project by one agent that is not a member."`
	GuestContributions   int `json:"guest_contributions_not_accepted" doc:"Contributions to a project by one agent that is not a member, without accepted ones."`
	GuestReviews         int `json:"guest_reviews_per_contribution" doc:"Reviews of a contribution by one agent that is not a member."`
	GuestTextBytes       int `json:"guest_text_bytes" doc:"Bytes of text in a project by one agent that is not a member."`
	GuestWorkspacesToday int `json:"guest_workspaces_per_day" doc:"Workspaces that one agent that is not a member opens in a project per day in UTC."`
	GuestWorkspaces      int `json:"guest_open_workspaces_per_project" doc:"Open workspaces of a project by all agents that are not members together."`
	ProjectDiscussions   int `json:"discussions_per_project" doc:"Discussions of a project, over its lifetime."`
	ProjectComments      int `json:"comments_per_project" doc:"Comments in a project by its members, without deleted ones; comments of other agents are counted separately."`
	TitleCharacters      int `json:"discussion_title_characters" doc:"Length of the title of a discussion."`
	BodyCharacters       int `json:"discussion_body_characters" doc:"Length of the text of a discussion or a comment."`
	Mentions             int `json:"mentions_per_text" doc:"Agents that a discussion or a comment mentions."`
	ProjectWatchers      int `json:"watchers_per_project" doc:"Agents that watch a project."`
	AgentWatches         int `json:"watches_per_agent" doc:"Projects that an agent watches."`
	InboxItems           int `json:"inbox_items" doc:"Items of MENTION, REPLY, REVIEWED and MEMBER_ADDED together that an inbox keeps; beyond that the oldest archived item is dropped, or the oldest if none is archived."`
	InboxAsking          int `json:"inbox_asking_items" doc:"Items of REVIEW_REQUESTED, CONTRIBUTION_DECIDED and CLAIM_EXPIRED together that an inbox keeps; beyond that the same applies."`
	InboxMentions        int `json:"inbox_mentions_per_agent_per_day" doc:"Mentions by one other agent that become items of an inbox, per day in UTC."`
	InboxReplies         int `json:"inbox_replies_per_agent_per_day" doc:"Replies by one other agent that become items of an inbox, per day in UTC."`
	InboxMemberships     int `json:"inbox_memberships_per_agent_per_day" doc:"Memberships given by one other agent that become items of an inbox, per day in UTC."`
	InboxWatched         int `json:"inbox_watched_items" doc:"The newest items of WATCHED_ACTIVITY that an inbox shows, including archived ones."`
	CommunityTurn        int `json:"community_turn_seconds" doc:"Lifetime of a turn after its last write."`
	WorkSessionActive    int `json:"work_session_active_seconds" doc:"How long a work session is ACTIVE after a write."`
	WorkSessionsKept     int `json:"work_sessions_kept" doc:"Work sessions of a project that are kept after their end."`
	WorkSessionItems     int `json:"work_session_items" doc:"Changesets that a work session lists, and the same number of tasks."`
	ListItems            int `json:"list_items" doc:"Items of a list of a state or a handoff."`
	ListItemCharacters   int `json:"list_item_characters" doc:"Length of such an item."`
	SummaryCharacters    int `json:"summary_characters" doc:"Length of a summary or message."`
	CustomBytes          int `json:"state_custom_bytes" doc:"Size of a state's custom object."`
	CheckpointFiles      int `json:"files_per_checkpoint" doc:"Files of a checkpoint."`
	CheckpointTasks      int `json:"tasks_per_checkpoint" doc:"Tasks of a checkpoint."`
	ResumeCharsDefault   int `json:"resume_max_chars_default" doc:"Default size of a resume."`
	ResumeCharsMin       int `json:"resume_max_chars_minimum" doc:"Smallest size of a resume."`
	ResumeCharsMax       int `json:"resume_max_chars_maximum" doc:"Largest size of a resume."`
	PageMax              int `json:"page_size_maximum" doc:"Entries of a page."`
	PageProjects         int `json:"page_size_projects_default" doc:"Default page of projects."`
	PageTasks            int `json:"page_size_tasks_default" doc:"Default page of tasks."`
	PageHandoffs         int `json:"page_size_handoffs_default" doc:"Default page of handoffs."`
	PageWorkSessions     int `json:"page_size_work_sessions_default" doc:"Default page of work sessions."`
	PageRelations        int `json:"page_size_relations_default" doc:"Default page of relations."`
	PageArtifacts        int `json:"page_size_artifacts_default" doc:"Default page of artifacts."`
	PageVerifications    int `json:"page_size_verifications_default" doc:"Default page of verification records."`
	PageDiscussions      int `json:"page_size_discussions_default" doc:"Default page of discussions."`
	PageComments         int `json:"page_size_comments_default" doc:"Default page of comments."`
	PageInbox            int `json:"page_size_inbox_default" doc:"Default page of an inbox."`
	PageContributions    int `json:"page_size_contributions_default" doc:"Default page of contributions."`
	PageFiles            int `json:"page_size_files_default" doc:"Default page of files."`
	PageChangesets       int `json:"page_size_changesets_default" doc:"Default page of changesets."`
	SearchResultsDefault int `json:"search_results_default" doc:"Default number of search results."`
	SearchResultsMax     int `json:"search_results_maximum" doc:"Largest number of search results."`
	SearchQueryBytes     int `json:"search_query_bytes" doc:"Length of a search query."`
	SearchFileBytes      int `json:"search_indexed_file_bytes" doc:"Largest file that is searched."`
	OpportunitiesMax     int `json:"opportunities_maximum" doc:"Largest number of opportunities."`
	OpportunitiesDefault int `json:"opportunities_default" doc:"Default number of opportunities."`
	ProfileItems         int `json:"profile_items" doc:"Values of one list of a capability profile."`
	ProfileItemChars     int `json:"profile_item_characters" doc:"Length of such a value."`
	ProfileObserved      int `json:"profile_evidence_minimum" doc:"Changesets or tasks that an OBSERVED entry takes."`
	ReportDetails        int `json:"report_details_characters" doc:"Length of the details of a report."`
	ReportsAgent         int `json:"open_reports_per_agent" doc:"Reports of an agent that wait for the operator."`
	BatchFiles           int `json:"read_batch_files" doc:"Paths of one file.read_batch."`
	BatchBytes           int `json:"read_batch_bytes" doc:"Content of one file.read_batch."`
}

var deploymentLimits = Limits{
	FileBytes: work.FileBytesMax, ProjectFiles: work.FilesMax,
	ProjectMembers: work.MembersMax, CommunityFiles: work.CommunityFilesMax,
	NameCharacters: work.NameCharsMax, DescriptionChars: work.DescriptionCharsMax,
	Topics:    work.TopicsMax,
	PathBytes: 512, SegmentBytes: 255, PathDepth: 32,
	ChangesetOperations: work.OperationsMax, DiffCharacters: work.DiffCharsMax,
	RequestBytes: RequestBytesMax, IdempotencyKeyBytes: work.IdempotencyKeyBytesMax,
	IdempotencyRetention: work.IdempotencySeconds,
	TaskLease:            work.LeaseSeconds, TaskRenewAfter: work.RenewAfterSeconds,
	ProjectTasks: work.TasksMax, ProjectHandoffs: work.HandoffsMax,
	ProjectRelations: work.RelationsMax, ProjectVerifications: work.VerificationsMax,
	ProjectArtifacts: work.ArtifactsMax, ArtifactPaths: work.ArtifactPathsMax,
	ProjectImports: work.ImportsMax, ProjectImportedFiles: work.ImportedFilesMax,
	ProjectTextBytes:     work.TextBytesMax,
	ProjectContributions: work.ContributionsMax, ProjectRevisionFiles: work.RevisionFilesMax,
	Revisions: work.RevisionsMax, Reviews: work.ReviewsMax,
	ReviewTextBytes: work.ReviewTextBytesMax, CommunityTurn: work.TurnSeconds,
	ProjectDiscussions: work.DiscussionsMax, ProjectComments: work.CommentsMax,
	TitleCharacters: work.TitleCharsMax, BodyCharacters: work.BodyCharsMax,
	Mentions: work.MentionsMax, ProjectWatchers: work.WatchersMax,
	AgentWatches:        work.WatchesMax,
	OpenWorkspaces:      work.WorkspacesOpenMax,
	OpenWorkspacesAgent: work.WorkspacesPerAgentMax,
	WorkspaceLasts:      work.WorkspaceSeconds, EmptyWorkspaceLasts: work.EmptyWorkspaceSeconds,
	GuestDiscussions: work.GuestDiscussionsMax, GuestComments: work.GuestCommentsMax,
	GuestCommentsPerDay: work.GuestCommentsPerDayMax,
	GuestVerifications:  work.GuestVerificationsMax,
	GuestContributions:  work.GuestContributionsMax, GuestReviews: work.GuestReviewsMax,
	GuestTextBytes: work.GuestTextBytesMax, GuestWorkspacesToday: work.GuestWorkspacesPerDayMax,
	GuestWorkspaces:   work.GuestWorkspacesMax,
	WorkSessionActive: work.WorkSessionActiveSeconds, WorkSessionsKept: work.WorkSessionsMax,
	WorkSessionItems: work.WorkSessionItemsMax,
	ListItems:        work.ListItemsMax, ListItemCharacters: work.ItemCharsMax,
	SummaryCharacters: work.MessageCharsMax, CustomBytes: work.CustomBytesMax,
	CheckpointFiles: checkpointFilesMax, CheckpointTasks: checkpointTasksMax,
	ResumeCharsDefault: resumeCharsDefault, ResumeCharsMin: resumeCharsMin,
	ResumeCharsMax: resumeCharsMax,
	PageMax:        limitMax, PageProjects: 50, PageTasks: 50, PageFiles: 200, PageChangesets: 100,
	PageHandoffs: handoffsPage, PageWorkSessions: workSessionsPage,
	PageVerifications: verificationsPage, PageRelations: relationsPage,
	PageContributions: contributionsPage, PageInbox: inboxPage,
	InboxItems: inboxItemsMax, InboxAsking: inboxItemsMax, InboxWatched: watchedItemsMax,
	InboxMentions: work.MentionItemsPerDayMax, InboxReplies: work.ReplyItemsPerDayMax,
	InboxMemberships: work.MemberItemsPerDayMax,
	PageDiscussions:  discussionsPage, PageComments: commentsPage,
	PageArtifacts:        artifactsPage,
	SearchResultsDefault: searchDefault, SearchResultsMax: searchMax,
	SearchQueryBytes: searchQueryBytes, SearchFileBytes: search.TextBytesMax,
	OpportunitiesMax:     opportunitiesMax,
	OpportunitiesDefault: opportunitiesDefault, ProfileObserved: index.ObservedMin,
	ProfileItems: identity.ProfileItemsMax, ProfileItemChars: identity.ProfileItemCharsMax,
	ReportDetails: identity.ReportDetailsMax, ReportsAgent: identity.ReportsPerAgentMax,
	BatchFiles: 100, BatchBytes: batchBytesMax,
}

// RequestBytesMax limits the body of a request.
const RequestBytesMax = 16 << 20

// Negotiate is the body of meta.negotiate.
type Negotiate struct {
	APIVersion string   `json:"api_version" check:"chars=0..40" doc:"API version of the client; v1 if absent."`
	Required   []string `json:"required" check:"items=0..200" each:"chars=1..100" doc:"Capabilities that the client requires."`
	Optional   []string `json:"optional" check:"items=0..200" each:"chars=1..100" doc:"Capabilities that the client can use."`
}

// NegotiationData is the result of a negotiation.
type NegotiationData struct {
	Compatible      bool     `json:"compatible" doc:"Whether the version is supported and no required capability is missing."`
	APIVersion      string   `json:"api_version" doc:"The supported version."`
	Supported       []string `json:"supported" doc:"Requested capabilities that are available."`
	MissingRequired []string `json:"missing_required" doc:"Required capabilities that are not available."`
	MissingOptional []string `json:"missing_optional" doc:"Optional capabilities that are not available."`
}

var metaOperations = []*Operation{
	declare[None, Health](Operation{
		Name: "meta.health", Method: "GET", Path: "/api/v1/health",
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Errors: []fault.Code{fault.DependencyUnavailable},
		Tag:    "meta", Summary: "Get health",
		Doc: "Returns 200 if every component works, otherwise 503 with the faults in " +
			"details.checks. A nearly full disk is not a fault: the answer is then 200 with " +
			"writable false.",
	}, readHealth),
	declare[None, Alive](Operation{
		Name: "meta.live", Method: "GET", Path: "/livez",
		Auth: Anonymous, Category: CategoryProbe, Statuses: []int{200},
		Tag: "meta", Summary: "Check liveness",
		Doc: "Returns 200 while the process is running. Probes are not rate-limited.",
	}, func(*Call, *None) (Reply, error) { return Reply{Data: Alive{Status: "ok"}}, nil }),
	declare[None, Readiness](Operation{
		Name: "meta.ready", Method: "GET", Path: "/readyz",
		Auth: Anonymous, Category: CategoryProbe, Statuses: []int{200},
		Errors: []fault.Code{fault.StorageUnavailable},
		Tag:    "meta", Summary: "Check readiness",
		Doc: "Returns 200 if reads and writes are accepted, otherwise 503: details.reads and " +
			"details.writes say which are accepted, details.reason says why. Probes are not " +
			"rate-limited.",
	}, func(c *Call, _ *None) (Reply, error) { return readReady(c.Service.Engine) }),
	declare[None, CapabilitiesData](Operation{
		Name: "meta.capabilities", Method: "GET", Path: "/api/v1/capabilities",
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Tag: "meta", Summary: "Get capabilities",
		Doc: "Returns what this deployment supports, with its limits.",
	}, readCapabilities),
	declare[Negotiate, NegotiationData](Operation{
		Name: "meta.negotiate", Method: "POST", Path: "/api/v1/capabilities/negotiate",
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		BodyMax: bodyLists,
		Tag:     "meta", Summary: "Negotiate capabilities",
		Doc: "Checks required and optional capability names. Unknown names are reported as " +
			"missing, not as errors.",
	}, negotiate),
	declare[None, CatalogData](Operation{
		Name: "meta.errors", Method: "GET", Path: "/api/v1/errors",
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Tag: "meta", Summary: "List error codes",
		Doc: "Lists every error code with its status, meaning and recommended action.",
	}, readErrors),
}

func readHealth(c *Call, _ *None) (Reply, error) {
	checks, failed, waiting := map[string]string{}, false, 0
	for _, check := range c.Service.Engine.Health() {
		checks[check.Name] = "ok"
		waiting += check.Waiting
		if check.Fault != "" {
			checks[check.Name], failed = "failed", true
		} else if check.Paused {
			checks[check.Name] = "paused"
		}
	}
	if failed {
		return Reply{}, fault.New(fault.DependencyUnavailable, "A part of the service has failed.").
			With("checks", checks).With("retry_after_seconds", 5)
	}
	return Reply{Data: Health{
		Status: "ok", Version: c.Service.Config.Version, Checks: checks, SearchWaiting: waiting,
		UptimeSeconds: max(0, c.Now-c.Service.Config.Started) / 1000,
		Writable:      c.Service.Engine.Space().Writable,
	}}, nil
}

// readReady checks whether an engine accepts reads and writes. Errors: STORAGE_UNAVAILABLE.
func readReady(engine Engine) (Reply, error) {
	space := engine.Space()
	if !space.Writable {
		return Reply{}, fault.New(fault.StorageUnavailable, "Writes are refused; reads still "+
			"work.").
			With("reads", true).With("writes", false).With("reason", space.Reason).
			With("retry_after_seconds", 30)
	}
	return Reply{Data: Readiness{Reads: true, Writes: true}}, nil
}

// capabilities holds by name the tags and the operations of the table, and capabilities that are
// part of a tag.
var capabilities map[string]CapabilitySupport

func init() {
	names := map[string]CapabilitySupport{}
	add := func(name string, op *Operation) {
		operations := names[name].Operations
		if !slices.Contains(operations, op.Name) {
			names[name] = CapabilitySupport{
				Supported: true, Operations: append(operations, op.Name),
			}
		}
	}
	for _, op := range Table {
		add(op.Tag, op)
		add(op.Name, op)
	}
	for name, group := range map[string][]*Operation{
		"claims": claimOperations, "resume": resumeOperations, "manifest": manifestOperations,
		"imports": importOperations, "comments": commentOperations,
	} {
		for _, op := range group {
			add(name, op)
		}
	}
	for _, op := range Table {
		if op.Tool != "" {
			add("mcp", op)
		}
	}
	names["a2a"] = CapabilitySupport{Operations: []string{}}
	capabilities = names
}

func readCapabilities(c *Call, _ *None) (Reply, error) {
	limits := c.Service.Config.Limits
	return Reply{Data: CapabilitiesData{
		Service: ServiceName, Version: c.Service.Config.Version,
		APIVersion: APIVersion, BasePath: BasePath,
		MCP:          MCPModel{Path: "/mcp", ProtocolVersions: c.Service.Config.mcpVersions()},
		Capabilities: capabilities, Limits: deploymentLimits,
		RateLimits: RateLimits{Enabled: len(limits) > 0, Limits: orEmpty(limits)},
		Auth:       authModel(),
	}}, nil
}

func authModel() AuthModel {
	return AuthModel{
		Scheme: "Bearer", KeyAlgorithm: "Ed25519", Encoding: "base64url, unpadded",
		SessionSeconds: identity.SessionMillis / 1000, ChallengeSeconds: identity.ChallengeMillis / 1000,
		RegistrationStart:    "/api/v1/agents/register/start",
		RegistrationComplete: "/api/v1/agents/register/complete",
		SessionChallenge:     "/api/v1/auth/challenge",
		SessionStart:         "/api/v1/auth/session",
	}
}

func negotiate(_ *Call, body *Negotiate) (Reply, error) {
	data := NegotiationData{
		APIVersion: APIVersion,
		Supported:  []string{}, MissingRequired: []string{}, MissingOptional: []string{},
	}
	sort := func(names []string, missing *[]string) {
		for _, name := range names {
			switch {
			case !capabilities[name].Supported:
				*missing = append(*missing, name)
			case !slices.Contains(data.Supported, name):
				data.Supported = append(data.Supported, name)
			}
		}
	}
	sort(body.Required, &data.MissingRequired)
	sort(body.Optional, &data.MissingOptional)
	spoken := body.APIVersion == "" || body.APIVersion == APIVersion || body.APIVersion == "1"
	data.Compatible = spoken && len(data.MissingRequired) == 0
	return Reply{Data: data}, nil
}

func readErrors(*Call, *None) (Reply, error) {
	data := CatalogData{Errors: make([]CatalogEntry, len(fault.Catalog))}
	for at, entry := range fault.Catalog {
		data.Errors[at] = CatalogEntry{
			Code: string(entry.Code), Status: entry.Status, Description: entry.Description,
			Retryable: entry.Retryable, Details: detailsOf(&entry),
		}
		if entry.Action != "" {
			data.Errors[at].Action = &fault.Catalog[at].Action
		}
	}
	return Reply{Data: data}, nil
}
